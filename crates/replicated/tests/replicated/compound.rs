//! Attacks that need several lies at once, a restart at the right moment, or a hostile order of
//! messages.

mod disputes;
mod few;
mod lives;
mod mischief;
mod restarts;

use std::task::Poll;

use crate::common::*;
use futures::FutureExt;
use ostrakon_crypto::hash::digest;
use ostrakon_kernels::{Prg, gather, permutation};
use ostrakon_party::{Header, Message, PartyId, Recipient, SignedHeader, Step, Tag, wire};
use ostrakon_replicated::Stock;
use ostrakon_replicated::epoch::{self, Opened, Unmixed};
use ostrakon_replicated::fault::{Evidence, Fault, Statement};
use ostrakon_replicated::messages::{
    DETAILS_ENTRY, EpochSpec, Kind, LIST_ENTRY, PairStatement, Subject, length,
};
use ostrakon_replicated::seal::Slot;
use ostrakon_replicated::slots::{masked_digest, submission_digest};
use ostrakon_testkit::{Network, Saboteur};

const WIDTH: u32 = 24;
const TAKEN: [u32; 4] = [0, 1, 2, 4];

type Outcomes = Vec<Option<Result<Opened, Unmixed>>>;

struct Scene {
    deployment: Deployment,
    stock: Vec<Vec<u8>>,
    spec: EpochSpec,
    slots: Vec<Slot>,
    marks: [Memory; 3],
}

impl Scene {
    fn new(seed: u64, robust: bool) -> Self {
        let deployment = Deployment::new(seed);
        let spec = epoch_of(batch(3, 6, WIDTH), 1, robust);
        let stock = deployment.stock(spec.batch);
        let slots = deployment.slots(&stock, &spec, &rows_of(TAKEN, WIDTH));
        Self { deployment, stock, spec, slots, marks: Default::default() }
    }

    /// Runs the epoch, or goes on with it after all servers were restarted: marks stay.
    fn run(&self, network: &Network) -> Outcomes {
        self.deployment.epoch(network, &self.stock, self.spec, |_| self.slots.clone(), &self.marks)
    }

    /// Runs the epoch until `victim` has posted a message of a kind, and loses `victim` then.
    fn run_until(&self, network: &Network, victim: PartyId, kind: Kind) {
        let is_lost = |id| id == victim && posted(network, victim, kind).is_some();
        self.live(network, is_lost, |_| Some(self.slots.clone()));
    }

    /// Runs the epoch with these slots, or goes on with it, each server until it is lost. One
    /// without slots is not there.
    fn live(
        &self,
        network: &Network,
        is_lost: impl Fn(PartyId) -> bool,
        slots: impl Fn(PartyId) -> Option<Vec<Slot>>,
    ) -> Outcomes {
        let (world, is_lost) = (&self.deployment.world, &is_lost);
        let ends = world.run(network, |party| {
            let stock = Stock::from_bytes(&self.stock[party.id.index()], &world.roster).unwrap();
            let (id, slots, randomness) =
                (party.id, slots(party.id), world.randomness(party.id, "trusted"));
            async move {
                let slots = slots?;
                let marks = &self.marks[id.index()];
                let opened = async {
                    let mixed = epoch::mix(&party, stock, self.spec, slots, marks, randomness);
                    Ok(mixed.await?.open().await)
                };
                let mut opened = std::pin::pin!(opened);
                std::future::poll_fn(|context| {
                    if is_lost(id) {
                        return Poll::Ready(None);
                    }
                    let polled = opened.as_mut().poll(context).map(Some);
                    if is_lost(id) { Poll::Ready(None) } else { polled }
                })
                .await
            }
            .boxed_local()
        });
        ends.into_iter().map(Option::flatten).collect()
    }

    fn corrupt(
        &self,
        party: u8,
        rewrite: impl Fn(PartyId, &Message) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Network {
        let network = Network::default();
        let key = self.deployment.world.key(PartyId(party));
        network.corrupt(Saboteur::rewriting(PartyId(party), key, rewrite));
        network
    }

    fn forge(&self, party: u8, step: Step, body: Vec<u8>) -> Message {
        let tag = Tag { instance: self.spec.instance(), step, sequence: 0 };
        self.sign(party, Recipient::All, tag, body)
    }

    fn sign(&self, party: u8, to: Recipient, tag: Tag, body: Vec<u8>) -> Message {
        let header = Header {
            session: self.deployment.world.roster.session,
            tag,
            from: PartyId(party),
            to,
            length: body.len() as u64,
            digest: Header::digest_of(&body),
        };
        Message {
            signed: header.sign(&self.deployment.world.key(PartyId(party))),
            body: body.into(),
            depth: 0,
        }
    }

    /// What P0 has to show for a dispute about δ_12, from the messages of a run.
    fn dispute(&self, network: &Network) -> Message {
        let table = posted(network, PartyId(1), Kind::Delta12).unwrap();
        let digest = posted(network, PartyId(2), Kind::Delta12Digest).unwrap();
        let digest = Statement { signed: digest.signed, body: digest.body.to_vec() };
        // As `blame::Conflict` is laid out: which table, its header, the digest.
        let conflict: (u32, SignedHeader, Statement) = (2, table.signed, digest);
        self.forge(0, Kind::Dispute.step(), wire::encode(&conflict))
    }
}

fn is(message: &Message, kind: Kind) -> bool {
    message.signed.header.tag.step == kind.step()
}

fn posted(network: &Network, from: PartyId, kind: Kind) -> Option<Message> {
    network.sent().into_iter().map(|(_, m)| m).find(|m| m.signed.header.from == from && is(m, kind))
}

fn flipped(message: &Message) -> Vec<u8> {
    let mut body = message.body.to_vec();
    body[0] ^= 1;
    body
}

fn culprit(result: &Option<Result<Opened, Unmixed>>) -> PartyId {
    match result {
        Some(Err(Unmixed::Fault(fault))) => fault.culprit,
        Some(Err(other)) => panic!("stopped otherwise: {other}"),
        Some(Ok(_)) => panic!("not stopped"),
        None => panic!("still waiting"),
    }
}

/// Whether an honest server has given away the seeds of π_12.
fn shows_the_last_permutation(network: &Network) -> bool {
    let of_last_table =
        |m: &Message| is(m, Kind::DisputeMaterial) && m.signed.header.tag.sequence == 2;
    network
        .sent()
        .iter()
        .any(|(_, m)| of_last_table(m) && m.signed.header.from != PartyId(0) && m.body.len() > 64)
}

/// P0 gives P2 a δ_01 that is wrong in one row and keeps P1's digest of the true one away from P2.
/// From P1 it has δ_12 itself, so P2's digest of the other table lets it try where π_12 took that
/// row. P2 is restarted. If P0 could give it the true δ_01 now, the epoch would be opened and the
/// row's author known.
#[test]
fn a_restart_does_not_take_a_false_table_back() {
    for robust in [false, true] {
        let scene = Scene::new(41, robust);
        let network =
            scene.corrupt(0, |_, message| is(message, Kind::Delta01).then(|| flipped(message)));
        scene.run_until(&network, PartyId(2), Kind::Delta12Digest);
        let before = posted(&network, PartyId(2), Kind::Delta12Digest).unwrap();

        let restarted = Network::default();
        for honest in [1, 2] {
            restarted.inject(PartyId(honest), scene.dispute(&network), 1);
        }
        let results = scene.run(&restarted);
        for honest in [1, 2] {
            if robust {
                let opened = results[honest].as_ref().unwrap().as_ref().unwrap();
                assert_eq!((opened.trusted, opened.faults[0].culprit), (Some(1), PartyId(0)));
            } else {
                assert_eq!(culprit(&results[honest]), PartyId(0));
            }
        }
        let opening = |m: &Message| is(m, Kind::LastTable) || is(m, Kind::LastSeed);
        assert!(
            !restarted.sent().iter().any(|(_, m)| m.signed.header.from != PartyId(0) && opening(m))
        );
        assert!(!shows_the_last_permutation(&restarted));
        let after = posted(&restarted, PartyId(2), Kind::Delta12Digest);
        assert!(
            after.is_none_or(|after| !after.signed.contradicts(&before.signed)),
            "P2 contradicts itself"
        );
    }
}

/// P0 provokes a conflict about δ_12 in which nobody of its pair has lied. π_12, which P0 lacks,
/// stays closed.
#[test]
fn a_dispute_without_a_liar_in_the_pair_opens_nothing() {
    let scene = Scene::new(42, false);
    let lie = |_: PartyId, message: &Message| is(message, Kind::Delta01).then(|| flipped(message));
    let rehearsal = scene.corrupt(0, lie);
    scene.run_until(&rehearsal, PartyId(2), Kind::Delta12Digest);
    let network = scene.corrupt(0, lie);
    network.schedule(
        |to, message| if to == PartyId(2) && is(message, Kind::Delta01Digest) { 5 } else { 0 },
    );
    for honest in [1, 2] {
        network.inject(PartyId(honest), scene.dispute(&rehearsal), 1);
    }
    let results = scene.run(&network);
    for honest in [1, 2] {
        assert_eq!(culprit(&results[honest]), PartyId(0));
    }
    assert!(!shows_the_last_permutation(&network));
}

/// P1 lies about δ_12, sends P2 its true digest of δ_01 only after P0 has shown the conflict, and
/// contributes nothing: P2 holds all that the evidence takes, however late the last piece came.
#[test]
fn a_dispute_that_came_too_early_is_not_forgotten() {
    for rests in [0, 1, 2, 5] {
        let scene = Scene::new(43, true);
        let network = scene.corrupt(1, |_, message| match () {
            () if is(message, Kind::Delta12) => Some(flipped(message)),
            () if is(message, Kind::DisputeMaterial) || is(message, Kind::Accusation) => {
                Some(vec![0xff; 3])
            }
            () => None,
        });
        network.schedule(move |to, message| {
            if to == PartyId(2) && is(message, Kind::Delta01Digest) { rests } else { 0 }
        });
        let results = scene.run(&network);
        for honest in [0, 2] {
            let opened = results[honest].as_ref().expect("somebody waits").as_ref().unwrap();
            assert_eq!((opened.trusted, opened.faults[0].culprit), (Some(0), PartyId(1)));
            assert_eq!(recognised(&opened.table, &rows_of(TAKEN, WIDTH)), TAKEN);
        }
    }
}

/// Every two of a corrupt server's messages of the shuffle are wrong at once, in every order of
/// arrival at the others: a robust epoch is finished by an honest server, a fair one ends alike at
/// both.
#[test]
fn two_lies_at_once_are_decided() {
    let kinds = [
        (0, [Kind::Delta02Digest, Kind::Delta01, Kind::DisputeMaterial, Kind::Dispute]),
        (1, [Kind::Delta01Digest, Kind::Delta12, Kind::DisputeMaterial, Kind::Dispute]),
        (2, [Kind::Delta02, Kind::Delta12Digest, Kind::DisputeMaterial, Kind::Dispute]),
    ];
    for robust in [false, true] {
        let scene = Scene::new(44, robust);
        for (liar, own) in kinds {
            for (i, first) in own.into_iter().enumerate() {
                for second in own.into_iter().skip(i + 1) {
                    for late in 0..6 {
                        let scene = scene.again();
                        let network = scene.corrupt(liar, move |_, message| {
                            let lies = is(message, first)
                                || is(message, second)
                                || is(message, Kind::Accusation);
                            lies.then(|| flipped(message))
                        });
                        network.schedule(move |to, message| {
                            let from_liar = message.signed.header.from == PartyId(liar);
                            if from_liar && (u32::from(to.0) + late) % 3 == 0 { late } else { 0 }
                        });
                        check(
                            &scene,
                            liar,
                            &scene.run(&network),
                            &format!("P{liar}: {first:?}, {second:?}, {late}"),
                        );
                    }
                }
            }
        }
    }
}

impl Scene {
    /// The same epoch before anything has happened in it.
    fn again(&self) -> Self {
        let (stock, slots) = (self.stock.clone(), self.slots.clone());
        Self {
            deployment: copy(&self.deployment),
            stock,
            spec: self.spec,
            slots,
            marks: Default::default(),
        }
    }
}

fn copy(deployment: &Deployment) -> Deployment {
    let world = deployment.world.with_session(deployment.world.roster.session);
    Deployment { world, keys: deployment.keys.clone() }
}

fn check(scene: &Scene, liar: u8, results: &Outcomes, case: &str) {
    let honest: Vec<_> =
        (0..3).filter(|i| *i != liar).map(|i| results[usize::from(i)].as_ref()).collect();
    for result in honest.iter().flatten() {
        match result {
            Ok(opened) => {
                assert_eq!(recognised(&opened.table, &rows_of(TAKEN, WIDTH)), TAKEN, "{case}");
                assert!(opened.faults.iter().all(|fault| fault.culprit == PartyId(liar)), "{case}");
            }
            Err(Unmixed::Fault(fault)) => {
                assert!(!scene.spec.robust, "{case}: a provable fault stopped a robust epoch");
                assert_eq!(fault.culprit, PartyId(liar), "{case}");
                assert!(fault.verify(&scene.deployment.world.roster), "{case}");
            }
            Err(other) => panic!("{case}: {other}"),
        }
    }
    let ends: Vec<_> = honest.iter().map(|result| result.map(|result| result.is_ok())).collect();
    assert!(ends[0] == ends[1] && ends[0].is_some(), "{case}: the honest servers end as {ends:?}");
}

/// A participant has signed two rows and given one of them to a corrupt server alone, which shows
/// its signature to one honest server and not to the other. The two do not go different ways, and
/// it is convicted.
#[test]
fn a_signature_shown_to_one_server_only_splits_nobody() {
    let mut scene = Scene::new(45, false);
    scene.spec.minimum = 2;
    scene.slots = scene.deployment.slots(&scene.stock, &scene.spec, &rows_of(TAKEN, WIDTH));
    let other = scene.deployment.submission(
        &scene.stock,
        &scene.spec,
        2,
        &row(77, WIDTH as usize),
        &participant(2),
    );
    let owner = participant(2).verifying_key();
    let digest = submission_digest(&scene.spec.context, 2, &owner.0, other.masked());
    let entry =
        [&2u32.to_le_bytes(), &masked_digest(other.masked()).0[..], &other.signature().0].concat();
    // P2 lists the second row, and shows its signature to some.
    let network = || {
        scene.corrupt(2, move |_, message| {
            is(message, Kind::SubmissionList).then(|| {
                let mut body = message.body.to_vec();
                body[2 * LIST_ENTRY + 4..3 * LIST_ENTRY].copy_from_slice(&digest.0);
                body
            })
        })
    };
    let rehearsal = network();
    let rehearsed = scene.again();
    rehearsed.run(&rehearsal);
    let details =
        [0, 1].map(|id| posted(&rehearsal, PartyId(id), Kind::ConflictDetails).unwrap().signed);
    let run = |shown_to: &[u8]| {
        let network = network();
        for honest in [0u8, 1] {
            let body = if shown_to.contains(&honest) { entry.clone() } else { Vec::new() };
            network.inject(PartyId(honest), scene.forge(2, Kind::ConflictDetails.step(), body), 1);
            let echo = scene.forge(2, Kind::ConflictDetails.echo(), wire::encode(&details));
            network.inject(PartyId(honest), echo, 1);
        }
        scene.run(&network)
    };
    for shown_to in [&[0][..], &[1]] {
        let results = run(shown_to);
        assert_eq!([0, 1].map(|honest: usize| culprit(&results[honest])), [PartyId(2); 2]);
        scene.marks.iter().for_each(|marks| marks.0.lock().unwrap().clear());
    }
    // Shown to nobody, the row that two servers list is taken.
    let results = run(&[]);
    for honest in [0, 1] {
        let opened = results[honest].as_ref().unwrap().as_ref().unwrap();
        assert_eq!(recognised(&opened.table, &rows_of(TAKEN, WIDTH)), TAKEN);
    }
    // Shown to both after they have opened and were restarted, it makes neither of them say that
    // there was nothing.
    let results = run(&[0, 1]);
    assert!(results[0].is_none() && results[1].is_none(), "a server that was ready has stopped");
}

/// P0 shuffles with seeds of its own invention, and proves with them that P1 lied: it states them
/// in a second B1, and its evidence reaches P2 before anything else about the dispute does. In
/// robust mode it would be trusted for that, and read everything.
#[test]
fn seeds_stated_afterwards_convict_nobody() {
    for robust in [false, true] {
        let scene = Scene::new(48, robust);
        let rehearsal = Network::default();
        scene.again().run(&rehearsal);
        let said = |from: u8, kind: Kind| posted(&rehearsal, PartyId(from), kind).unwrap();
        let statement =
            |message: &Message| Statement { signed: message.signed, body: message.body.to_vec() };

        let input = said(2, Kind::Delta02);
        let invented = [[1; 32], [2; 32]];
        let [permutation, mask] = invented.each_ref().map(Prg::new);
        let (mut masked, mut table) = (input.body.to_vec(), input.body.to_vec());
        mask.xor_at(0, &mut masked);
        let index = permutation::sample(&permutation, scene.spec.batch.shape.rows as usize);
        gather(&mut table, &masked, WIDTH as usize, &index);

        let subject = Subject::Epoch(scene.spec);
        let to_p2 = Recipient::One(PartyId(2));
        let false_table = scene.sign(0, to_p2, subject.tag(Kind::Delta01), table.clone());
        let stock = Stock::from_bytes(&scene.stock[0], &scene.deployment.world.roster).unwrap();
        let mut seeds = PairStatement::decode(&stock.statements[0].body);
        let stated = |seed: &[u8; 32]| digest("ostrakon/v1/threeparty/seed", seed);
        (seeds[0].permutation, seeds[0].mask) = (stated(&invented[0]), stated(&invented[1]));
        let batch_tag = Subject::Batch(scene.spec.batch).tag(Kind::SeedStatement);
        let second = scene.sign(0, Recipient::All, batch_tag, PairStatement::encode(&seeds));
        // As `blame::ShuffleEvidence` is laid out: the conflict about δ_01, its input with two
        // statements about it, the seeds, B1.
        let conflict: (u32, SignedHeader, Statement) =
            (1, false_table.signed, statement(&said(1, Kind::Delta01Digest)));
        let agreed = vec![statement(&input), statement(&said(0, Kind::Delta02Digest))];
        let evidence =
            (conflict, input.body.to_vec(), agreed, invented.concat(), statement(&second));
        let blamed = wire::encode(&(PartyId(1), subject, 5u32, evidence));
        let fault = Fault::decode(&blamed).unwrap();
        assert!(matches!(fault.evidence, Evidence::Shuffle(_)));
        assert!(!fault.verify(&scene.deployment.world.roster), "P1 is framed");

        let network = scene.corrupt(0, move |_, message| match () {
            () if is(message, Kind::Delta01) => Some(table.clone()),
            () if is(message, Kind::DisputeMaterial) || is(message, Kind::Accusation) => {
                Some(vec![0xff; 3])
            }
            () => None,
        });
        network.schedule(|to, message| {
            let in_dispute = is(message, Kind::DisputeMaterial) || is(message, Kind::Accusation);
            if to == PartyId(2) && in_dispute { 5 } else { 0 }
        });
        network.inject(PartyId(2), scene.forge(0, Kind::Accusation.step(), blamed), 1);
        let results = scene.run(&network);
        check(&scene, 0, &results, "invented seeds");
        let shown = |m: &Message| is(m, Kind::TrustedSubmissions) || is(m, Kind::TrustedMasks);
        assert!(
            !network.sent().iter().any(|(to, m)| *to == PartyId(0) && shown(m)),
            "P0 is given the inputs"
        );
    }
}

/// The longest evidence fits the accusation that carries it; otherwise the accuser would itself
/// have sent something malformed.
#[test]
fn evidence_fits_its_accusation() {
    let deployment = Deployment::new(46);
    for width in [8, 16, 24] {
        let spec = epoch_of(batch(3, 40_000, width), 1, false);
        let subject = Subject::Epoch(spec);
        let scene = Scene {
            deployment: copy(&deployment),
            stock: Vec::new(),
            spec,
            slots: Vec::new(),
            marks: Default::default(),
        };
        let body = vec![0; 40_000 * DETAILS_ENTRY];
        let message = scene.forge(1, Kind::ConflictDetails.step(), body.clone());
        assert!(length(&subject, Kind::ConflictDetails.step()).admits(body.len() as u64));
        let evidence = Evidence::Malformed(Box::new(Statement { signed: message.signed, body }));
        let fault = Fault { culprit: PartyId(1), subject, evidence };
        assert!(fault.verify(&deployment.world.roster));
        assert!(
            length(&subject, Kind::Accusation.step()).admits(fault.encode().len() as u64),
            "width {width}"
        );
    }
}
