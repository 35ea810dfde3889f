//! The sabotage sweep: every message of every corrupt set of c − 1 parties is changed.
//!
//! Each message of one party is changed by itself, and judged at all others, each of which stands
//! for the honest one of a set of c − 1; and each step of c − 1 parties is changed at all of them
//! at
//! once. Whatever is done: an honest party has the right output, or stops, or waits; and where it
//! names somebody for a message, that one is corrupt. `OSTRAKON_NIGHTLY` runs every mutation of
//! every message, and more seeds; otherwise each message has one mutation or two of the ten, and
//! neighbours together have all.

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

struct Scene {
    committee: Committee,
    spec: SegmentSpec,
    input: Vec<bool>,
    circuit: Circuit,
    /// Whether the circuit is computed under another key than the input has come under.
    imports: bool,
}

/// The segment into which bits are imported.
fn target() -> SegmentSpec {
    SegmentSpec { number: 2, ..small(3) }
}

impl Scene {
    fn new(seed: u64, parties: usize) -> Self {
        let committee = Committee::new(seed, parties);
        let (input, circuit) = (bits(seed, 3), circuit());
        Self { committee, spec: small(3), input, circuit, imports: false }
    }

    fn importing(seed: u64, parties: usize) -> Self {
        Self { imports: true, ..Self::new(seed, parties) }
    }

    fn run(&self, network: &Network) -> Vec<Outcome> {
        if self.imports {
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

    /// Which of the messages that a party posted are swept: all, or those from the masks of an
    /// import on.
    fn places(&self, network: &Network, party: PartyId) -> Vec<usize> {
        let sent = network.sent();
        let own: Vec<_> = sent.iter().filter(|(_, m)| m.signed.header.from == party).collect();
        let masks = own.iter().rposition(|(_, message)| {
            let tag = message.signed.header.tag;
            tag.instance == target().instance() && tag.step == Kind::Corrections.step()
        });
        let first = if self.imports { masks.expect("it imports") } else { 0 };
        (first..own.len()).collect()
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
fn script(network: &Network, party: PartyId) -> (Arc<Vec<Bytes>>, BTreeSet<Step>) {
    let sent = network.sent();
    let own: Vec<_> = sent.iter().filter(|(_, m)| m.signed.header.from == party).collect();
    let bodies = own.iter().map(|(_, m)| m.body.clone()).collect();
    (Arc::new(bodies), own.iter().map(|(_, m)| m.signed.header.tag.step).collect())
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
    sweep_by(&Scene::new(seed, parties), &all, every);
}

/// The sweep of each of `some` alone, and of all but it together.
fn sweep_by(scene: &Scene, some: &[u8], every: usize) {
    let (seed, parties) = (scene.committee.world.seed, scene.committee.parties);
    let (network, other) = (Network::default(), Network::default());
    all(scene.run(&network)).into_iter().for_each(|opened| drop(opened.unwrap()));
    Scene { imports: scene.imports, ..Scene::new(seed + 1000, parties) }.run(&other);
    let ids: Vec<PartyId> = scene.committee.world.roster.parties().collect();
    let replay: Vec<_> = ids.iter().map(|id| script(&other, *id).0).collect();
    let mut found = 0;
    for party in some.iter().copied().map(PartyId) {
        let steps = script(&network, party).1;
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
        for step in steps {
            for (i, mutation) in Mutation::ALL.into_iter().enumerate() {
                if (i + usize::from(step.0)) % every == 0 {
                    let target = Target::Step(step);
                    found += sabotage(scene, &others, seed, &target, mutation, &replay);
                }
            }
        }
    }
    // A few cases need not reach a check.
    assert!(found > 20 || every > 10, "the sweep reached the checks only {found} times");
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
        sweep(seed, 3, if nightly() { 1 } else { 10 });
    }
}

/// Sets of four of five, all at night. Their messages are as many times more as pairs; the day
/// draws some of one set.
#[test]
fn every_message_of_four_of_five() {
    if nightly() {
        sweep(7, 5, 1);
    } else {
        sweep_by(&Scene::new(7, 5), &[2], 211);
    }
}

/// Every message from an import's masks on, in both segments' runs.
#[test]
fn every_message_of_an_import_between_two() {
    sweep_by(&Scene::importing(8, 2), &[0, 1], if nightly() { 1 } else { 10 });
}

#[test]
fn every_message_of_an_import_by_two_of_three() {
    sweep_by(&Scene::importing(9, 3), &[1], if nightly() { 1 } else { 17 });
}
