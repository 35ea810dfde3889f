//! The sabotage sweep: every message of a corrupt P1, P2, P3 is changed in ways drawn from a seed,
//! and so is every step alike to both peers.
//!
//! Whatever the corrupt server does: no honest one gets a wrong board; if one opens, the other one
//! does; whoever is convicted is the corrupt one, by evidence that holds before a third person, and
//! silence convicts nobody; an abort without proof names a pair that the corrupt one is in; and who
//! is honest comes to an end, unless the corrupt one is silent or votes for another list
//! ([`may_wait`]). In every second case an honest server dies at one of its marks, before or behind
//! it, and sends again.
//! `OSTRAKON_NIGHTLY` runs 1,000 seeds, `OSTRAKON_SEEDS` as many as it says; a failure prints the
//! case, which repeats it. A seed takes about 0.3 s of a core in each of the six sweeps, so that
//! the night's form takes half an hour of one core.

use ostrakon_additive::three::epoch::{Opened, Unmixed};
use ostrakon_additive::three::fault::Fault;
use ostrakon_additive::three::messages::Kind;
use ostrakon_party::{Message, PartyId, Roster, Step};
use ostrakon_testkit::{Case, Mutation, Network, Script, Target};
use ostrakon_threeparty::protocol::steps;

use crate::registrations::sign;
use crate::world::*;

const ROWS: u32 = 5;
const WIDTH: u32 = 16;

pub fn seeds() -> std::ops::Range<u64> {
    let told = std::env::var("OSTRAKON_SEEDS").ok().and_then(|count| count.parse::<u64>().ok());
    100..100 + told.unwrap_or(if nightly() { 1000 } else { 1 })
}

/// How many ways are drawn for each message.
const DRAWN: u64 = 2;

pub fn honest(corrupt: PartyId) -> [usize; 2] {
    match corrupt.0 {
        0 => [1, 2],
        1 => [0, 2],
        _ => [0, 1],
    }
}

pub fn assert_convicts(case: &Case, roster: &Roster, fault: &Fault) {
    assert_eq!(fault.culprit, case.corrupt, "{case:?}: an honest server is blamed: {fault}");
    assert!(case.mutation.lies(), "{case:?}: convicted for silence, delay or noise: {fault}");
    assert!(fault.verify(roster), "{case:?}: the evidence does not hold: {fault}");
    let copied = Fault::decode(&fault.encode()).unwrap();
    assert!(copied.verify(roster), "{case:?}: the evidence does not survive the wire");
}

/// Marks of P3 in an epoch, which receives no table.
const FEWEST_MARKS: u64 = 8;
/// Marks of the others, at least.
const MARKS: u64 = 11;

/// Which honest server dies in a case, and at which of so many marks.
pub fn crash(number: u64, corrupt: PartyId, marks: u64) -> Option<Crash> {
    let (number, odd) = (number / 2, number % 2 == 1);
    let victim = PartyId(honest(corrupt)[(number % 2) as usize] as u8);
    let (mark, written) = (number / 2 % marks, number / 2 / marks % 2 == 1);
    odd.then_some(Crash { victim, mark, written })
}

/// With honest peers, a server may die at each of its marks, before and behind it: what it says
/// again is what it said, and nobody notices.
#[test]
fn a_crash_at_any_mark_changes_nothing() {
    crashes_change_nothing(&Scene::new(90, 4, WIDTH));
}

/// The same where participants register with the epoch.
#[test]
fn a_crash_at_any_mark_of_registering_too_changes_nothing() {
    crashes_change_nothing(&registering(90));
}

/// Whose boxes do not all open, where participants register with the epoch.
const SPOILED: [u32; 2] = [0, 1];

/// An epoch with which its participants register. The first one's box does not open at P1, the
/// second one's not at P3.
fn registering(seed: u64) -> Scene {
    let deployment = Deployment::new(seed);
    let mut list: Vec<_> = (0..ROWS).map(|number| deployment.register(number, 0)).collect();
    for (number, server) in SPOILED.into_iter().zip([0, 2]) {
        let registration = &mut list[number as usize].0;
        registration.boxes[server].closed[5] ^= 1;
        sign(&deployment, registration, number);
    }
    Scene::registering_with(deployment, list, WIDTH)
}

fn crashes_change_nothing(scene: &Scene) {
    for victim in (0..3).map(PartyId) {
        let marks: [Memory; 3] = Default::default();
        scene.run_with(&Network::default(), |_| scene.slots.clone(), &marks);
        let count = marks[victim.index()].all().len() as u64;
        let tables = if victim == PartyId(2) { 0 } else { 2 };
        assert_eq!(count, FEWEST_MARKS + tables, "{victim}");
        for (mark, written) in (0..count).flat_map(|mark| [(mark, false), (mark, true)]) {
            let crash = Crash { victim, mark, written };
            let marks: [Memory; 3] = Default::default();
            let slots = |_: PartyId| scene.slots.clone();
            let results = scene.run_crashing(&Network::default(), slots, &marks, crash);
            for result in &results {
                scene.assert_whole(result);
                assert!(result.as_ref().unwrap().as_ref().unwrap().faults.is_empty(), "{crash:?}");
            }
        }
    }
}

/// How often the sweep reached what.
#[derive(Default)]
struct Reached {
    convicted: usize,
    aborted: usize,
    opened: usize,
    waited: usize,
}

fn sweep(corrupt: PartyId, scene_of: impl Fn(u64) -> Scene) {
    for seed in seeds() {
        let scene = scene_of(seed);
        // The third participant's submission has not reached the server after the corrupt one, so
        // that forwarding is part of the sweep.
        let lacking = PartyId((corrupt.0 + 1) % 3);
        let slots = |party: PartyId| {
            let mut slots = scene.slots.clone();
            if party == lacking {
                slots[2].submission = None;
            }
            slots
        };
        let run = |network: &Network| scene.run_with(network, slots, &Default::default());
        let network = Network::default();
        run(&network).iter().for_each(|result| scene.assert_whole(result));
        let replay = Network::default();
        scene_of(seed + 5000).run(&replay);
        let other = Script::of(&replay, corrupt);
        let own = |message: &Message| message.signed.header.from == corrupt;
        let sent = network.sent();
        let posted: Vec<Step> =
            sent.iter().filter(|(_, m)| own(m)).map(|(_, m)| m.signed.header.tag.step).collect();
        let mut reached = Reached::default();
        let cases = Script::of(&network, corrupt).drawn_cases(seed, 3, DRAWN);
        for (number, case) in (seed..).zip(cases) {
            let network = case.network(&scene.deployment.world, &other);
            let results = match crash(number, corrupt, MARKS) {
                Some(crash) => scene.run_crashing(&network, slots, &Default::default(), crash),
                None => run(&network),
            };
            let honest = honest(corrupt).map(|i| results[i].as_ref());
            judge(&case, &posted, &scene, honest, &mut reached);
        }
        assert!(reached.convicted > 20, "only {} convictions", reached.convicted);
        assert!(reached.aborted > 5, "only {} aborts", reached.aborted);
        assert!(reached.opened > 40, "only {} boards", reached.opened);
        let Reached { convicted, aborted, opened, waited } = reached;
        println!(
            "{corrupt}, seed {seed}: {convicted} convicted, {aborted} aborted, {opened} boards, \
             {waited} wait"
        );
    }
}

/// Whether a table has all rows, perhaps without those whose participants gave boxes that do not
/// open.
fn is_board(scene: &Scene, table: &[u8]) -> bool {
    let (rows, all) = (rows_of(table, WIDTH as usize), scene.rows());
    let least = match &scene.registering {
        Some(_) => scene.rows_but(&SPOILED),
        None => all.clone(),
    };
    rows.iter().all(|row| all.contains(row))
        && rows.is_sorted_by(|one, next| one < next)
        && least.iter().all(|row| rows.contains(row))
}

/// Whether honest servers may wait for ever: where the corrupt one says nothing, or nothing that is
/// its own; where it votes for another list, which counts as no vote, or speaks of what lacks in
/// another one; and where it gives another list than it goes on with, and so never says the
/// details of conflicts that only the others see. Nothing is lost by that but the epoch.
fn may_wait(case: &Case, posted: &[Step]) -> bool {
    let step = match &case.target {
        Target::Nth(number) => posted.get(*number).copied(),
        Target::Step(step) => Some(*step),
        Target::To(_) => None,
    };
    let silent = matches!(case.mutation, Mutation::Drop | Mutation::Garble);
    let other = [steps::SEAL_VOTE, steps::SUBMISSION_LIST, Kind::Lacking.step()];
    silent || step.is_some_and(|step| other.contains(&step))
}

fn judge(
    case: &Case,
    posted: &[Step],
    scene: &Scene,
    results: [Option<&Result<Opened, Unmixed>>; 2],
    reached: &mut Reached,
) {
    let roster = &scene.deployment.world.roster;
    for result in results {
        let Some(result) = result else {
            assert!(may_wait(case, posted), "{case:?}: waits for ever, without silence");
            reached.waited += 1;
            continue;
        };
        match result {
            Ok(opened) => {
                reached.opened += 1;
                assert!(is_board(scene, &opened.table), "{case:?}: a wrong board");
                opened.faults.iter().for_each(|fault| assert_convicts(case, roster, fault));
            }
            Err(Unmixed::Fault(fault)) => {
                reached.convicted += 1;
                assert_convicts(case, roster, fault);
            }
            Err(Unmixed::Aborted { pair, .. }) => {
                reached.aborted += 1;
                let named = pair.is_none_or(|pair| pair.contains(case.corrupt.0));
                assert!(named, "{case:?}: two honest servers are suspected");
            }
            Err(other) => panic!("{case:?}: {other}"),
        }
    }
    match results {
        [Some(Ok(a)), Some(Ok(b))] => assert_eq!(a.table, b.table, "{case:?}: two boards"),
        [Some(Ok(_)), _] | [_, Some(Ok(_))] => {
            panic!("{case:?}: one honest server has the board, the other has not")
        }
        _ => {}
    }
    if matches!(case.mutation, Mutation::Duplicate | Mutation::Delay) {
        assert!(
            results.iter().all(|r| matches!(r, Some(Ok(_)))),
            "{case:?}: stopped by a delay or a repetition"
        );
    }
    let opening = [Kind::OpenB, Kind::OpenD, Kind::OpenZ1, Kind::Collection];
    if matches!(&case.target, Target::Step(step) if opening.iter().any(|k| k.step() == *step)) {
        let all = results.iter().all(|r| matches!(r, Some(Ok(_))));
        assert!(all, "{case:?}: what comes after Ready stops nobody");
    }
}

fn registered(seed: u64) -> Scene {
    Scene::new(seed, ROWS, WIDTH)
}

#[test]
fn a_corrupt_p1() {
    sweep(PartyId(0), registered);
}

#[test]
fn a_corrupt_p2() {
    sweep(PartyId(1), registered);
}

#[test]
fn a_corrupt_p3() {
    sweep(PartyId(2), registered);
}

#[test]
fn a_corrupt_p1_while_participants_register() {
    sweep(PartyId(0), registering);
}

#[test]
fn a_corrupt_p2_while_participants_register() {
    sweep(PartyId(1), registering);
}

#[test]
fn a_corrupt_p3_while_participants_register() {
    sweep(PartyId(2), registering);
}
