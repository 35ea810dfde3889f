//! Uses: what is said of them in the preparation, in differences, and on data.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use ostrakon_field::Gf64;
use ostrakon_graph::ruffle2::factors::Factors;
use ostrakon_graph::ruffle2::fault::{Accused, Evidence, Stop};
use ostrakon_graph::ruffle2::run::Run;
use ostrakon_graph::ruffle2::seeds::{FreshSeeds, Phase};
use ostrakon_graph::ruffle2::shuffle::{Applied, Shuffler};
use ostrakon_graph::ruffle2::steps::Kind;
use ostrakon_graph::spec::Direction;
use ostrakon_party::{Header, Instance, Message, PartyId};
use ostrakon_testkit::Network;

use super::{End, Scene, honest, spoil};
use crate::common::*;

/// Words of uses, by where they are said.
struct Words {
    phase: Phase,
    kinds: &'static [Kind],
    /// Of a server's messages of one kind the last one is spoilt, else the first.
    last: bool,
}

const SHUFFLE_PAIRS: &[Kind] = &[Kind::ShufflePair1, Kind::ShufflePair2, Kind::ShufflePair3];
const OPENINGS: &[Kind] = &[Kind::Opening, Kind::OpeningDigest];
const DELTAS: &[Kind] = &[
    Kind::Delta1,
    Kind::Delta1Digest,
    Kind::Delta2,
    Kind::Delta2Digest,
    Kind::Delta3,
    Kind::Delta3Digest,
];

/// Of the order check, whose uses are no inverses, whatever the job's direction is.
const OF_THE_CHECK: [Words; 3] = [
    Words { phase: Phase::Slice(0), kinds: SHUFFLE_PAIRS, last: false },
    Words { phase: Phase::Link, kinds: OPENINGS, last: false },
    Words { phase: Phase::Link, kinds: DELTAS, last: false },
];

/// Of the hops. Their differences are opened at the link's end.
const OF_HOPS: [Words; 5] = [
    Words { phase: Phase::Slice(1), kinds: SHUFFLE_PAIRS, last: false },
    Words { phase: Phase::Slice(1), kinds: SHUFFLE_PAIRS, last: true },
    Words { phase: Phase::Link, kinds: OPENINGS, last: true },
    Words { phase: Phase::Query, kinds: DELTAS, last: false },
    Words { phase: Phase::Query, kinds: DELTAS, last: true },
];

/// The numbers in the tags of a server's messages of one kind in one phase.
fn said(network: &Network, from: u8, (instance, kind): (Instance, Kind)) -> Vec<u32> {
    let of = |message: &Message| {
        let Header { from: by, tag, .. } = message.signed.header;
        let is = (by.0, tag.instance, tag.step) == (from, instance, kind.step());
        is.then_some(tag.sequence)
    };
    network.sent().iter().filter_map(|(_, message)| of(message)).collect()
}

/// Spoils one message, if a server of the honest run sends any of the kind, and says whether it
/// does.
fn is_caught(
    words: &Words,
    (direction, usual): (Direction, &Network),
    (corrupt, kind): (u8, Kind),
) -> bool {
    let scene = Scene::new(20, direction);
    let of = (scene.spec.name().instance(words.phase), kind);
    let numbers = said(usual, corrupt, of);
    let Some(last) = numbers.len().checked_sub(1) else { return false };
    let which = if words.last { last } else { 0 };
    if words.kinds == OPENINGS {
        assert_eq!(numbers[which] >> 31 == 1, words.last, "differences of hops have high numbers");
    }
    let seen = AtomicUsize::new(0);
    let network = scene.corrupt(corrupt, move |_, message| {
        let tag = message.signed.header.tag;
        let is = (tag.instance, tag.step) == (of.0, kind.step());
        (is && seen.fetch_add(1, Ordering::SeqCst) == which).then(|| spoil(&message.body))
    });
    let ends = scene.play(&network);
    let what = format!("{kind:?} {which} of P{corrupt} in {:?}, {direction:?}", words.phase);
    for i in honest(corrupt) {
        assert!(!matches!(ends[i], End::Reached(_)), "{what}: {:?}", ends[i]);
        scene.assert_just(&ends[i], corrupt, &what);
    }
    let stopped = |i: usize| matches!(ends[i], End::Stopped(_));
    assert!(honest(corrupt).into_iter().any(stopped), "{what}");
    true
}

#[test]
fn an_error_in_any_message_of_a_use_is_caught() {
    let runs = [Direction::Forward, Direction::Backward].map(|direction| {
        let (scene, network) = (Scene::new(20, direction), Network::default());
        let inverse = scene.spec.hop_use(0, 0, 0).id.inverse;
        assert_eq!(inverse, direction == Direction::Backward);
        assert!(scene.play(&network).iter().all(|end| matches!(end, End::Reached(_))));
        (direction, network)
    });
    let check = OF_THE_CHECK.iter().map(|words| (words, &runs[0]));
    let hops = runs.iter().flat_map(|run| OF_HOPS.iter().map(move |words| (words, run)));
    let mut caught = 0;
    for (words, (direction, usual)) in check.chain(hops) {
        for corrupt in 0..3 {
            let of = |kind: &&Kind| is_caught(words, (*direction, usual), (corrupt, **kind));
            caught += words.kinds.iter().filter(of).count();
        }
    }
    // P2 is in no middle pair, sends δ1 and never its digest, and so on: of three, two and six
    // kinds the three servers send 8, 6 and 10.
    let (pairs, openings, deltas) = (8, 6, 10);
    assert_eq!(caught, pairs + openings + deltas + 2 * (2 * pairs + openings + 2 * deltas));
}

/// What a server has said in a phase: kinds and numbers, besides accusations.
fn words_of(network: &Network, from: u8, instance: Instance) -> Vec<(u16, u32)> {
    let of = |message: &Message| {
        let header = &message.signed.header;
        let said = header.from.0 == from && header.tag.instance == instance;
        let tag = (header.tag.step.0, header.tag.sequence);
        (said && header.tag.step != Kind::Accusation.step()).then_some(tag)
    };
    network.sent().iter().filter_map(|(_, message)| of(message)).collect()
}

/// A table that a server spoils in the first use that is made.
pub struct Spoilt {
    pub corrupt: u8,
    pub table: Kind,
    /// Who gets it, and the word that would depend on it.
    pub receiver: u8,
    pub next: Kind,
    /// Whose digest it is compared with.
    pub vouches: u8,
}

/// One for each role. In the first use X, Y, Z are P0, P1, P2; in the second one P0 is Y.
pub const SPOILT: [Spoilt; 3] = [
    Spoilt { corrupt: 2, table: Kind::Delta1, receiver: 1, next: Kind::Delta2Digest, vouches: 0 },
    Spoilt { corrupt: 0, table: Kind::Delta2, receiver: 2, next: Kind::Delta3Digest, vouches: 1 },
    Spoilt { corrupt: 1, table: Kind::Delta3, receiver: 0, next: Kind::Delta2Digest, vouches: 2 },
];

impl Spoilt {
    /// What happens then.
    pub fn play(&self, scene: &Scene) -> (Network, Vec<End>) {
        let step = self.table.step();
        let network = scene.corrupt(self.corrupt, move |_, message| {
            (message.signed.header.tag.step == step).then(|| spoil(&message.body))
        });
        let ends = scene.play(&network);
        (network, ends)
    }
}

#[test]
fn nobody_sends_what_depends_on_a_table_that_nobody_vouches_for() {
    // P0 gets δ3 from P1. If P2 told the digest of a δ3 that it computed from another δ2, P0 could
    // try where a row went. P2 compares δ2 with P1's digest first, and then says nothing. So do P1,
    // which gets δ1, and P0, which gets δ3.
    let honest = Network::default();
    Scene::new(22, Direction::Forward).play(&honest);
    for spoilt in SPOILT {
        let Spoilt { corrupt, receiver, vouches, .. } = spoilt;
        let scene = Scene::new(22, Direction::Forward);
        let link = scene.spec.name().instance(Phase::Link);
        let (network, ends) = spoilt.play(&scene);
        let End::Stopped(Stop::Evidence(evidence)) = &ends[usize::from(receiver)] else {
            panic!("{:?}", ends[usize::from(receiver)])
        };
        // It has said what it says to honest ones, up to the first word that depends on the table.
        let would = words_of(&honest, receiver, link);
        let next = would.iter().position(|(step, _)| *step == spoilt.next.step().0).unwrap();
        assert_eq!(words_of(&network, receiver, link), would[..next], "P{receiver} is an oracle");
        // The evidence names the pair of the two makers to everybody, and nobody alone.
        let roster = &scene.deployment.world.roster;
        let pair = Accused::OneOf(PartyId(corrupt), PartyId(vouches));
        assert_eq!(evidence.accused(roster, &link), Some(pair));
        assert_eq!(evidence.accused(roster, &scene.spec.name().instance(Phase::Query)), None);
        let copy = Evidence::decode(&evidence.encode()).unwrap();
        assert_eq!(copy.accused(roster, &link), Some(pair));
        assert!(pair.includes(PartyId(corrupt)) && !pair.includes(PartyId(receiver)));
        // The other honest one hears of it and stops, too.
        let other = &ends[usize::from(vouches)];
        assert!(matches!(other, End::Stopped(Stop::Evidence(e)) if e == evidence), "{other:?}");
        // No seed was opened for it.
        let opening = |m: &Message| m.signed.header.tag.step == Kind::SeedOpening.step();
        assert!(!network.sent().iter().any(|(_, m)| opening(m)));
    }
}

#[test]
fn a_use_is_not_spent_on_a_second_table_after_a_restart() {
    let scene = Scene::new(24, Direction::Forward);
    let of = scene.spec.hop_use(0, 0, 0);
    let tables = [vec![1; of.bytes()], vec![2; of.bytes()]];
    let apply = |table: &Vec<u8>| {
        let network = Network::default();
        let results = scene.deployment.world.run(&network, |party| {
            let keys = scene.deployment.keys_of(party.id);
            let seeds = FreshSeeds::of_party(&keys, &scene.spec.name()).into_seeds();
            let factors = Factors::expand(&seeds, [of].iter());
            let journal = &scene.journals[party.id.index()];
            let instance = scene.spec.name().instance(Phase::Query);
            let beta = table.clone();
            async move {
                let run = Run { party, instance };
                let shuffler = Shuffler {
                    run: &run,
                    job: scene.spec.number,
                    seeds: &seeds,
                    factors: &factors,
                    journal,
                };
                shuffler.apply::<Gf64>(vec![Applied { of, sequence: 0, beta }]).await
            }
            .boxed_local()
        });
        (results, network.sent().len())
    };
    let (first, _) = apply(&tables[0]);
    let first = all(first);
    assert!(first[0] == first[1] && first[1] == first[2]);
    let (again, _) = apply(&tables[0]);
    assert!(all(again) == first, "the same words again");
    let (other, sent) = apply(&tables[1]);
    assert!(other.iter().all(|r| matches!(r, Some(Err(Stop::Spent(_))))), "{other:?}");
    assert_eq!(sent, 0, "refused before the first message");
}
