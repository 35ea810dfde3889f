//! The sabotage sweep: every message of every corrupt set of c − 1 parties is changed.
//!
//! Each message of one party is changed by itself, and judged at all others, each of which stands
//! for the honest one of a set of c − 1; and each step of c − 1 parties is changed at all of them
//! at once. Base transfers are dealt but where their own messages are swept. Whatever is done: an
//! honest party has the right output, or stops, or waits; and where it
//! names somebody for a message, that one is corrupt. `OSTRAKON_NIGHTLY` runs every mutation of
//! every message, and more seeds; otherwise each message of two parties has two mutations of the
//! ten, every other one of three has one, and neighbours together have all.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use ostrakon_authbits::circuit::{Builder, Circuit};
use ostrakon_authbits::{Abort, Bits, Kind, Refused, Segment, SegmentSpec, Unprepared};
use ostrakon_party::{Party, PartyId, Step};
use ostrakon_testkit::{Mutation, Network, Saboteur, Target};

use crate::world::{Committee, all, bits, deal, nightly, small};

/// x·y ⊕ z and (x·y)·z.
fn circuit() -> Circuit {
    let mut builder = Builder::new(3);
    let [x, y, z] = [0, 1, 2].map(|i| builder.input(i));
    let xy = builder.and(x, y);
    let sum = builder.xor(xy, z);
    let product = builder.and(xy, z);
    builder.open(sum);
    builder.open(product);
    builder.finish()
}

type Outcome = Option<Result<Result<Bits, Refused>, Unprepared>>;

/// Which messages are swept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Swept {
    /// Those of step 1.
    BaseTransfers,
    /// All others.
    Rest,
    /// Those from the masks of an import on: the circuit is computed under another key than the
    /// input has come under.
    Import,
}

struct Scene {
    committee: Committee,
    spec: SegmentSpec,
    input: Vec<bool>,
    circuit: Circuit,
    swept: Swept,
}

/// The segment into which bits are imported.
fn target() -> SegmentSpec {
    SegmentSpec { number: 2, ..small(3) }
}

impl Scene {
    fn new(seed: u64, parties: usize, swept: Swept) -> Self {
        let committee = match swept {
            Swept::BaseTransfers => Committee::from_nothing(seed, parties),
            Swept::Rest | Swept::Import => Committee::new(seed, parties),
        };
        let (input, circuit) = (bits(seed, 3), circuit());
        Self { committee, spec: small(3), input, circuit, swept }
    }

    fn run(&self, network: &Network) -> Vec<Outcome> {
        if self.swept == Swept::Import {
            return self.committee.world.run(network, |party| self.import(party).boxed_local());
        }
        let parties = self.committee.parties;
        self.committee.run(network, self.spec, async |mut segment: Segment| {
            let dealt = deal(5, parties, segment.party().index(), &self.input);
            let shares = segment.authenticate(&dealt).await?;
            let outputs = segment.evaluate(&self.circuit, &shares).await?;
            segment.reveal(&outputs).await
        })
    }

    async fn import(&self, party: Party) -> Result<Result<Bits, Refused>, Unprepared> {
        let mut source = self.committee.prepare(&party, self.spec).await?;
        let mut target = self.committee.prepare(&party, target()).await?;
        let dealt = deal(5, self.committee.parties, party.id.index(), &self.input);
        let opened = async {
            let shares = source.authenticate(&dealt).await?;
            let shares = target.import(&mut source, &shares).await?;
            let outputs = target.evaluate(&self.circuit, &shares).await?;
            target.reveal(&outputs).await
        };
        Ok(opened.await)
    }

    /// Which of the messages that a party posted are swept.
    fn places(&self, network: &Network, party: PartyId) -> Vec<usize> {
        let sent = network.sent();
        let own: Vec<_> = sent.iter().filter(|(_, m)| m.signed.header.from == party).collect();
        let tag = |n: usize| own[n].1.signed.header.tag;
        let masks = (0..own.len()).rfind(|n| {
            tag(*n).instance == target().instance() && tag(*n).step == Kind::Corrections.step()
        });
        let swept = |n: &usize| match self.swept {
            Swept::BaseTransfers => tag(*n).step == Kind::BasePoints.step(),
            Swept::Rest => true,
            Swept::Import => *n >= masks.expect("it imports"),
        };
        (0..own.len()).filter(swept).collect()
    }

    /// Which of a run's steps are swept.
    fn steps(&self, network: &Network, party: PartyId) -> BTreeSet<Step> {
        match self.swept {
            Swept::BaseTransfers => BTreeSet::from([Kind::BasePoints.step()]),
            Swept::Rest | Swept::Import => {
                let sent = network.sent();
                let own = sent.iter().filter(|(_, m)| m.signed.header.from == party);
                own.map(|(_, m)| m.signed.header.tag.step).collect()
            }
        }
    }

    /// Checks what an honest party came to; whether it has stopped by itself.
    fn check(&self, outcome: &Outcome, corrupt: &[PartyId], harmless: bool, case: &str) -> bool {
        let abort = match outcome {
            None => {
                assert!(!harmless, "{case}: waiting after a delay or a repetition");
                return false;
            }
            Some(Ok(Ok(opened))) => {
                let expected = self.circuit.evaluate(&self.input);
                let right = (0..expected.len()).all(|i| opened.get(i) == expected[i]);
                assert!(right, "{case}: a wrong output");
                return false;
            }
            Some(Ok(Err(Refused::Aborted(abort)))) | Some(Err(Unprepared::Aborted(abort))) => abort,
            Some(Ok(Err(other))) => panic!("{case}: {other}"),
            Some(Err(other)) => panic!("{case}: {other}"),
        };
        assert!(!harmless, "{case}: stopped after a delay or a repetition: {abort}");
        match abort {
            Abort::Length(party)
            | Abort::Malformed(party)
            | Abort::Trees(party)
            | Abort::Correlation(party)
            | Abort::Commitment(party) => {
                assert!(corrupt.contains(party), "{case}: an honest party is named: {abort}");
                true
            }
            Abort::View(_) | Abort::MacCheck => true,
            Abort::Stopped(_) => false,
        }
    }
}

/// What a party posted in an honest run.
fn script(network: &Network, party: PartyId) -> Arc<Vec<Bytes>> {
    let sent = network.sent();
    let own = sent.iter().filter(|(_, m)| m.signed.header.from == party);
    Arc::new(own.map(|(_, m)| m.body.clone()).collect())
}

fn is_harmless(mutation: Mutation) -> bool {
    matches!(mutation, Mutation::Duplicate | Mutation::Delay)
}

fn sabotage(
    scene: &Scene,
    corrupt: &[PartyId],
    seed: u64,
    target: &Target,
    mutation: Mutation,
    replay: &[Arc<Vec<Bytes>>],
) -> usize {
    let network = Network::default();
    for &party in corrupt {
        let key = scene.committee.world.key(party);
        let other = replay[party.index()].clone();
        network.corrupt(Saboteur::new(party, key, seed, target.clone(), mutation, other));
    }
    let case = format!("seed {seed}, corrupt {corrupt:?}, {target:?}, {mutation:?}");
    let results = scene.run(&network);
    let honest = (0..results.len()).filter(|i| !corrupt.contains(&PartyId(*i as u8)));
    honest.filter(|i| scene.check(&results[*i], corrupt, is_harmless(mutation), &case)).count()
}

fn sweep(seed: u64, parties: usize, every: usize) {
    let all: Vec<u8> = (0..u8::try_from(parties).unwrap()).collect();
    let found = sweep_by(&Scene::new(seed, parties, Swept::Rest), &all, every);
    assert!(found > 20, "the sweep reached the checks only {found} times");
}

/// The sweep of each of `some` alone, and of all but it together. Returns how often an honest party
/// has stopped by itself.
fn sweep_by(scene: &Scene, some: &[u8], every: usize) -> usize {
    let (seed, parties) = (scene.committee.world.seed, scene.committee.parties);
    let (network, other) = (Network::default(), Network::default());
    all(scene.run(&network)).into_iter().for_each(|opened| drop(opened.unwrap()));
    Scene::new(seed + 1000, parties, scene.swept).run(&other);
    let ids: Vec<PartyId> = scene.committee.world.roster.parties().collect();
    let replay: Vec<_> = ids.iter().map(|id| script(&other, *id)).collect();
    let mut found = 0;
    for party in some.iter().copied().map(PartyId) {
        for n in scene.places(&network, party) {
            for (i, mutation) in Mutation::ALL.into_iter().enumerate() {
                if (i + n) % every == 0 {
                    let target = Target::Nth(n);
                    found += sabotage(scene, &[party], seed, &target, mutation, &replay);
                }
            }
        }
        // All but this one together.
        let others: Vec<PartyId> = ids.iter().copied().filter(|id| *id != party).collect();
        for step in scene.steps(&network, party) {
            for (i, mutation) in Mutation::ALL.into_iter().enumerate() {
                if (i + usize::from(step.0)) % every == 0 {
                    let target = Target::Step(step);
                    found += sabotage(scene, &others, seed, &target, mutation, &replay);
                }
            }
        }
    }
    found
}

/// With the real step 1, which takes most of the time of such a run. Messages to two peers have all
/// mutations together. What is no point, or of another length, is found by the message itself; keys
/// that do not fit are found at both ends, of which one may hear first that the other has stopped.
#[test]
fn every_message_of_base_transfers_of_one_of_two_and_of_two_of_three() {
    let one = Scene::new(11, 2, Swept::BaseTransfers);
    let found = sweep_by(&one, &[1], 1);
    assert!(found >= 10, "the sweep reached the checks only {found} times");
    let three = Scene::new(12, 3, Swept::BaseTransfers);
    let (some, every): (&[u8], _) = if nightly() { (&[0, 1, 2], 1) } else { (&[1], 2) };
    let found = sweep_by(&three, some, every);
    assert!(found >= 6, "the sweep reached the checks only {found} times");
}

#[test]
fn every_message_of_one_of_two() {
    for seed in 0..if nightly() { 10 } else { 1 } {
        sweep(seed, 2, if nightly() { 1 } else { 5 });
    }
}

#[test]
fn every_message_of_two_of_three() {
    for seed in 0..if nightly() { 5 } else { 1 } {
        sweep(seed, 3, if nightly() { 1 } else { 19 });
    }
}

/// Sets of four of five, all at night. Their messages are as many times more as pairs; the day
/// draws some of one set.
#[test]
fn every_message_of_four_of_five() {
    if nightly() {
        sweep(7, 5, 1);
    } else {
        sweep_by(&Scene::new(7, 5, Swept::Rest), &[2], 211);
    }
}

/// Every message from an import's masks on, in both segments' runs.
#[test]
fn every_message_of_an_import_between_two() {
    let scene = Scene::new(8, 2, Swept::Import);
    let found = sweep_by(&scene, &[0, 1], if nightly() { 1 } else { 10 });
    assert!(found > 20, "the sweep reached the checks only {found} times");
}

#[test]
fn every_message_of_an_import_by_two_of_three() {
    sweep_by(&Scene::new(9, 3, Swept::Import), &[1], if nightly() { 1 } else { 29 });
}
