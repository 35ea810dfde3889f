//! The sabotage sweep: every message of a corrupt P0, P1, P2, in every protocol, is changed in
//! every way.
//!
//! Whatever the corrupt server does: no honest one gets a wrong output, honest ones agree on having
//! one, whoever is convicted is the corrupt one and the evidence holds before a third person, and
//! silence convicts nobody. `OSTRAKON_NIGHTLY` runs more seeds; a failure prints the seed and the
//! case, which repeat it.

use crate::common::*;
use ostrakon_party::{PartyId, Roster};
use ostrakon_replicated::Stock;
use ostrakon_replicated::epoch::{Opened, Unmixed};
use ostrakon_replicated::fault::{Fault, Stop};
use ostrakon_replicated::messages::EpochSpec;
use ostrakon_replicated::seal::Slot;
use ostrakon_replicated::setup::{self, SharedKeys};
use ostrakon_testkit::{Case, Mutation, Network, Script, World};

const ROWS: u32 = 6;
const WIDTH: u32 = 24;
const TAKEN: [u32; 4] = [0, 1, 2, 4];

fn seeds() -> std::ops::Range<u64> {
    if ostrakon_testkit::nightly() { 100..120 } else { 100..101 }
}

fn honest(corrupt: PartyId) -> [usize; 2] {
    match corrupt.0 {
        0 => [1, 2],
        1 => [0, 2],
        _ => [0, 1],
    }
}

fn assert_convicts(case: &Case, roster: &Roster, fault: &Fault) {
    assert_eq!(fault.culprit, case.corrupt, "{case:?}: an honest server is blamed: {fault}");
    assert!(case.mutation.lies(), "{case:?}: convicted for silence, delay or noise: {fault}");
    assert!(fault.verify(roster), "{case:?}: the evidence does not hold: {fault}");
    let copied = Fault::decode(&fault.encode()).unwrap();
    assert!(copied.verify(roster), "{case:?}: the evidence does not survive the wire");
}

/// Whether a case must end as if nothing had happened.
fn is_harmless(case: &Case) -> bool {
    matches!(case.mutation, Mutation::Duplicate | Mutation::Delay)
}

fn marks() -> [Memory; 3] {
    Default::default()
}

#[test]
fn set_up() {
    for seed in seeds() {
        let world = World::new(seed, 3);
        let world = world.with_session(setup::setup_session(&world.roster.keys));
        let other = World::new(seed + 1000, 3);
        for corrupt in (0..3).map(PartyId) {
            let (network, replay) = (Network::default(), Network::default());
            run_setup(&world, &network, &marks());
            let other_session = setup::setup_session(&other.roster.keys);
            run_setup(&other.with_session(other_session), &replay, &marks());
            let other = Script::of(&replay, corrupt);
            for case in Script::of(&network, corrupt).cases(seed, 3) {
                let results = run_setup(&world, &case.network(&world, &other), &marks());
                let honest = honest(corrupt).map(|i| results[i].as_ref());
                check_set_up(&case, &world.roster, honest);
            }
        }
    }
}

fn check_set_up(case: &Case, roster: &Roster, results: [Option<&Result<SharedKeys, Stop>>; 2]) {
    for result in results.into_iter().flatten() {
        match result {
            Err(Stop::Fault(fault)) => assert_convicts(case, roster, fault),
            Err(Stop::Disagreement(pair)) => assert!(pair.contains(case.corrupt.0), "{case:?}"),
            Err(Stop::Marks(why)) => panic!("{case:?}: {why}"),
            Ok(_) => {}
        }
    }
    if let [Some(Ok(a)), Some(Ok(b))] = results {
        assert_eq!(a.session(), b.session(), "{case:?}");
        for (pair, key) in a.pairs() {
            let theirs = b.pairs().into_iter().find(|(other, _)| *other == pair);
            assert!(
                theirs.is_none_or(|(_, other)| other.expose() == key.expose()),
                "{case:?}: different keys"
            );
        }
    }
    if is_harmless(case) {
        assert!(
            results.iter().all(|r| matches!(r, Some(Ok(_)))),
            "{case:?}: stopped by a delay or a repetition"
        );
    }
}

#[test]
fn preprocessing() {
    for seed in seeds() {
        let deployment = Deployment::new(seed);
        let spec = batch(3, ROWS, WIDTH);
        let network = Network::default();
        let reference: Vec<Stock> = deployment
            .prepare(&network, spec)
            .into_iter()
            .map(|stock| stock.unwrap().unwrap())
            .collect();
        let replay = Network::default();
        deployment.prepare(&replay, batch(4, ROWS, WIDTH));
        for corrupt in (0..3).map(PartyId) {
            let other = Script::of(&replay, corrupt);
            let mut convicted = 0;
            for case in Script::of(&network, corrupt).cases(seed, 3) {
                let results = deployment.prepare(&case.network(&deployment.world, &other), spec);
                for i in honest(corrupt) {
                    match &results[i] {
                        Some(Ok(stock)) => {
                            assert_eq!(
                                stock.last_digest, reference[i].last_digest,
                                "{case:?}: a wrong batch passed"
                            );
                            assert!(
                                stock.last == reference[i].last,
                                "{case:?}: a wrong batch passed"
                            );
                        }
                        Some(Err(Stop::Fault(fault))) => {
                            convicted += 1;
                            assert_convicts(&case, &deployment.world.roster, fault);
                        }
                        Some(Err(Stop::Disagreement(pair))) => {
                            assert!(pair.contains(corrupt.0), "{case:?}")
                        }
                        Some(Err(Stop::Marks(why))) => panic!("{case:?}: {why}"),
                        None => assert!(
                            !is_harmless(&case),
                            "{case:?}: stopped by a delay or a repetition"
                        ),
                    }
                }
            }
            assert!(convicted > 50, "the sweep reached the checks only {convicted} times");
        }
    }
}

/// An epoch, ready to be run again and again.
struct Scene {
    deployment: Deployment,
    stock: Vec<Vec<u8>>,
    spec: EpochSpec,
    slots: Vec<Slot>,
    other: Network,
}

impl Scene {
    fn new(seed: u64, robust: bool) -> Self {
        let deployment = Deployment::new(seed);
        let spec = epoch_of(batch(3, ROWS, WIDTH), 1, robust);
        let stock = deployment.stock(spec.batch);
        let slots = deployment.slots(&stock, &spec, &rows_of(TAKEN, WIDTH));
        let other = Network::default();
        let other_spec = epoch_of(batch(4, ROWS, WIDTH), 1, robust);
        let other_stock = deployment.stock(other_spec.batch);
        let other_slots = deployment.slots(&other_stock, &other_spec, &rows_of(TAKEN, WIDTH));
        deployment.epoch(
            &other,
            &other_stock,
            other_spec,
            |_| other_slots.clone(),
            &Default::default(),
        );
        Self { deployment, stock, spec, slots, other }
    }

    fn run(&self, network: &Network) -> Vec<Option<Result<Opened, Unmixed>>> {
        // The third participant's submission has not reached P1, so that forwarding is part of the
        // sweep.
        let slots = |party: PartyId| {
            let mut slots = self.slots.clone();
            if party == PartyId(1) {
                slots[2].submission = None;
            }
            slots
        };
        self.deployment.epoch(network, &self.stock, self.spec, slots, &Default::default())
    }
}

fn epochs(robust: bool, corrupt: PartyId) {
    for seed in seeds() {
        let scene = Scene::new(seed, robust);
        let network = Network::default();
        scene.run(&network);
        let other = Script::of(&scene.other, corrupt);
        let (mut convicted, mut finished_alone) = (0, 0);
        for case in Script::of(&network, corrupt).cases(seed, 3) {
            let results = scene.run(&case.network(&scene.deployment.world, &other));
            let honest = honest(corrupt).map(|i| results[i].as_ref());
            check_epoch(&case, &scene, honest);
            convicted +=
                honest.iter().flatten().filter(|r| matches!(r, Err(Unmixed::Fault(_)))).count();
            finished_alone += honest
                .iter()
                .flatten()
                .filter(|r| r.as_ref().is_ok_and(|o| o.trusted.is_some()))
                .count();
        }
        if robust {
            assert!(finished_alone > 20, "only {finished_alone} runs needed a trusted server");
        } else {
            assert!(convicted > 20, "the sweep reached the checks only {convicted} times");
        }
    }
}

fn check_epoch(case: &Case, scene: &Scene, results: [Option<&Result<Opened, Unmixed>>; 2]) {
    let roster = &scene.deployment.world.roster;
    for result in results.into_iter().flatten() {
        match result {
            Ok(opened) => {
                let slots = recognised(&opened.table, &rows_of(TAKEN, WIDTH));
                assert_eq!(slots, TAKEN, "{case:?}: a wrong or partial board");
                assert_eq!(opened.accepted, 4, "{case:?}");
                opened.faults.iter().for_each(|fault| assert_convicts(case, roster, fault));
            }
            Err(Unmixed::Fault(fault)) => {
                assert!(!scene.spec.robust, "{case:?}: a provable fault stopped a robust epoch");
                assert_convicts(case, roster, fault);
            }
            Err(other) => panic!("{case:?}: {other}"),
        }
    }
    match results {
        [Some(Ok(a)), Some(Ok(b))] => assert_eq!(a.table, b.table, "{case:?}: two boards"),
        [Some(Ok(_)), _] | [_, Some(Ok(_))] => {
            panic!("{case:?}: one honest server has the board, the other has not")
        }
        [Some(Err(_)), None] | [None, Some(Err(_))] => {
            panic!("{case:?}: one honest server stopped, the other waits")
        }
        _ => {}
    }
    if is_harmless(case) {
        assert!(
            results.iter().all(|r| matches!(r, Some(Ok(_)))),
            "{case:?}: stopped by a delay or a repetition"
        );
    }
}

#[test]
fn fair_epochs_with_a_corrupt_p0() {
    epochs(false, PartyId(0));
}

#[test]
fn fair_epochs_with_a_corrupt_p1() {
    epochs(false, PartyId(1));
}

#[test]
fn fair_epochs_with_a_corrupt_p2() {
    epochs(false, PartyId(2));
}

#[test]
fn robust_epochs_with_a_corrupt_p0() {
    epochs(true, PartyId(0));
}

#[test]
fn robust_epochs_with_a_corrupt_p1() {
    epochs(true, PartyId(1));
}

#[test]
fn robust_epochs_with_a_corrupt_p2() {
    epochs(true, PartyId(2));
}
