//! Accusations: what is none stops nobody, and what is one names nobody honest alone.

use ostrakon_crypto::Digest;
use ostrakon_graph::ruffle2::fault::{Accused, Evidence, Stop};
use ostrakon_graph::ruffle2::run::Run;
use ostrakon_graph::ruffle2::seeds::Phase;
use ostrakon_graph::ruffle2::steps::Kind;
use ostrakon_graph::spec::{Direction, JobSpec};
use ostrakon_party::{Header, Instance, Message, PartyId, Recipient, SignedHeader, Tag};
use ostrakon_testkit::Network;

use super::uses::{SPOILT, Spoilt};
use super::{End, Scene, honest};
use crate::common::*;

const SEED: u64 = 35;

fn scene() -> Scene {
    Scene::new(SEED, Direction::Forward)
}

/// Another job of the same servers.
fn other_job() -> Scene {
    let scene = scene();
    let spec = JobSpec { number: 5, ..scene.spec.clone() };
    Scene { spec, ..scene }
}

/// What the honest receiver of a false table has in hand.
fn conflict(scene: &Scene, spoilt: &Spoilt) -> Evidence {
    match spoilt.play(scene).1.swap_remove(usize::from(spoilt.receiver)) {
        End::Stopped(Stop::Evidence(evidence)) => evidence,
        other => panic!("{other:?}"),
    }
}

/// A server's signed statement.
fn statement(
    scene: &Scene,
    (from, to): (u8, Recipient),
    (instance, kind): (Instance, Kind),
    body: &[u8],
) -> SignedHeader {
    let header = Header {
        session: scene.deployment.world.roster.session,
        tag: Tag { instance, step: kind.step(), sequence: 0 },
        from: PartyId(from),
        to,
        length: body.len() as u64,
        digest: Header::digest_of(body),
    };
    header.sign(&scene.deployment.world.key(PartyId(from)))
}

/// What a server signs if it says two things to all in one place.
fn two_words(scene: &Scene, from: u8, instance: Instance) -> Evidence {
    let of = |body: &[u8]| statement(scene, (from, Recipient::All), (instance, Kind::Vote), body);
    Evidence::Equivocation(Box::new([of(&[1; 32]), of(&[2; 32])]))
}

/// A table and a digest of it, both of one server.
fn own_conflict(scene: &Scene, from: u8, instance: Instance) -> Evidence {
    let (to, stated) = (Recipient::One(PartyId((from + 1) % 3)), Digest([3; 32]));
    let of = |kind, body: &[u8]| Box::new(statement(scene, (from, to), (instance, kind), body));
    let table = of(Kind::Opening, &[4; 64]);
    Evidence::Conflict { table, digest: of(Kind::OpeningDigest, &stated.0), stated }
}

/// The first message of a kind in a phase that one honest server sent to another server.
fn of_honest(
    sent: &[(PartyId, Message)],
    from: u8,
    (instance, kind): (Instance, Kind),
) -> SignedHeader {
    let of = |message: &Message| {
        let header = &message.signed.header;
        (header.from.0, header.tag.instance, header.tag.step) == (from, instance, kind.step())
    };
    sent.iter().find(|(_, message)| of(message)).expect("it was sent").1.signed
}

/// Evidence that proves nothing in the phase of a job, made of what honest servers say there and of
/// the corrupt one's own words.
fn worthless(
    scene: &Scene,
    sent: &[(PartyId, Message)],
    corrupt: u8,
    instance: Instance,
) -> Vec<Vec<u8>> {
    let link = scene.spec.name().instance(Phase::Link);
    let said = |from, kind| of_honest(sent, from, (link, kind));
    let [a, b] = honest(corrupt).map(|party| party as u8);
    let one_server = [said(a, Kind::Vote), said(a, Kind::CoinCommitment)];
    let two_servers = [said(a, Kind::Vote), said(b, Kind::Vote)];
    // δ1 goes from P2 to P1, its digest from P0: nobody has lied, the digest was another one.
    let (table, digest) = (said(2, Kind::Delta1), said(0, Kind::Delta1Digest));
    let (table, digest) = (Box::new(table), Box::new(digest));
    let misread = Evidence::Conflict { table, digest, stated: Digest([5; 32]) };
    let of_other_job = SPOILT.iter().find(|spoilt| spoilt.corrupt == corrupt);
    let evidence = [
        conflict(&other_job(), of_other_job.expect("one for each server")),
        two_words(&other_job(), corrupt, other_job().spec.name().instance(Phase::Query)),
        Evidence::Equivocation(Box::new(one_server)),
        Evidence::Equivocation(Box::new(two_servers)),
        misread,
        own_conflict(scene, corrupt, instance),
    ];
    let mut random = vec![0; 5000];
    let mut draw = Draw::new(SEED);
    random.fill_with(|| draw.below(256) as u8);
    let garbage = [0, 1, 200, 4096, 5000].map(|length| random[..length].to_vec());
    evidence.iter().map(Evidence::encode).chain(garbage).collect()
}

/// A job in which the corrupt server accuses from the first round on, in every phase, with what it
/// has made for the phase.
fn accused(scene: &Scene, corrupt: u8, accusation: impl Fn(Instance) -> Vec<u8>) -> Vec<End> {
    let network = Network::default();
    let party = scene.deployment.world.party(&network, PartyId(corrupt));
    for instance in instances_of(&scene.spec) {
        let run = Run { party: party.clone(), instance };
        run.send_all(Kind::Accusation, 0, accusation(instance));
    }
    scene.play(&network)
}

#[test]
fn accusations_that_prove_nothing_stop_nobody() {
    let network = Network::default();
    scene().play(&network);
    let sent = network.sent();
    for corrupt in 0..3 {
        let of = |instance| worthless(&scene(), &sent, corrupt, instance);
        let made: Vec<(Instance, Vec<Vec<u8>>)> =
            instances_of(&scene().spec).into_iter().map(|phase| (phase, of(phase))).collect();
        for which in 0..made[0].1.len() {
            let scene = scene();
            let of = |phase| {
                made.iter().find(|(other, _)| *other == phase).expect("made").1[which].clone()
            };
            let ends = accused(&scene, corrupt, of);
            for i in honest(corrupt) {
                let right = matches!(&ends[i], End::Reached(bits) if bits == &[true; 3]);
                assert!(right, "P{corrupt}, {which}: {:?}", ends[i]);
            }
        }
    }
}

#[test]
fn who_shows_two_words_of_its_own_is_named_and_nobody_else() {
    for corrupt in 0..3 {
        let scene = scene();
        let ends = accused(&scene, corrupt, |phase| two_words(&scene, corrupt, phase).encode());
        for i in honest(corrupt) {
            let End::Stopped(Stop::Evidence(evidence)) = &ends[i] else { panic!("{:?}", ends[i]) };
            let seeds = scene.spec.name().instance(Phase::Seeds);
            let named = evidence.accused(&scene.deployment.world.roster, &seeds);
            assert_eq!(named, Some(Accused::One(PartyId(corrupt))));
        }
    }
}

/// The sweeps ask of whatever an honest server stops for whether it is just: of a false accusation
/// it is not.
#[test]
fn false_accusations_are_seen_to_be_unjust() {
    let scene = scene();
    let (roster, instances) = (&scene.deployment.world.roster, instances_of(&scene.spec));
    let query = scene.spec.name().instance(Phase::Query);
    for spoilt in SPOILT {
        let by_conflict = Stop::Evidence(conflict(&self::scene(), &spoilt));
        let (corrupt, vouches) = (spoilt.corrupt, spoilt.vouches);
        let two_words = Stop::Evidence(two_words(&scene, corrupt, query));
        let of_other_job = Stop::Evidence(conflict(&other_job(), &spoilt));
        let own = Stop::Evidence(own_conflict(&scene, corrupt, query));
        let broken = Stop::Broken(PartyId(corrupt), "its word");
        let vote = statement(&scene, (corrupt, Recipient::All), (query, Kind::Vote), &[]);
        let malformed = Stop::Malformed(Box::new(vote));
        let forged = Header { from: PartyId(vouches), ..vote.header };
        let forged = SignedHeader { header: forged, ..vote };
        let forged = Stop::Malformed(Box::new(forged));
        let just = |stop: &Stop, corrupt| is_just(stop, PartyId(corrupt), roster, &instances);
        for party in 0..3 {
            let is_it = party == corrupt;
            assert!(is_it == just(&two_words, party) && is_it == just(&broken, party));
            assert_eq!(just(&malformed, party), is_it);
            assert_eq!(just(&by_conflict, party), is_it || party == vouches);
            assert!(!just(&of_other_job, party) && !just(&own, party) && !just(&forged, party));
        }
    }
}
