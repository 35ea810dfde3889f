//! Servers that come back: what they say from their marks alone, and what they refuse to begin.

mod lives;
mod setup;

use ostrakon_additive::three::epoch::{Unmixed, may_have_opened};
use ostrakon_additive::three::messages::Kind;
use ostrakon_party::{Message, PartyId, wire};
use ostrakon_testkit::{Network, Saboteur};
use ostrakon_threeparty::pair::Pair;
use ostrakon_threeparty::protocol::steps;

use crate::registrations::sign;
use crate::world::*;

const WIDTH: usize = 16;

/// All are ready, P1 tells P2 alone, P2 begins to open and crashes before P3 has its collection,
/// and P1 is silent from then on. P2 says again what it has on record, without mixing again.
#[test]
fn who_was_ready_says_so_again_without_a_peer() {
    let scene = Scene::new(71, 4, WIDTH as u32);
    let world = &scene.deployment.world;
    let marks: [Memory; 3] = Default::default();
    let first = scene.deployment.corrupt(0, |to, message| {
        let told = is(message, Kind::Ready) || is(message, Kind::Collection);
        (told && to == PartyId(2)).then(|| vec![0; message.body.len()])
    });
    // What P2 sends to P3 in this moment is lost with the crash.
    let lost = Saboteur::rewriting(PartyId(1), world.key(PartyId(1)), |to, message| {
        (is(message, Kind::Collection) && to == PartyId(2)).then(Vec::new)
    });
    first.corrupt(lost);
    let results = scene.run_with(&first, |_| scene.slots.clone(), &marks);
    assert!(results[2].is_none(), "P3 waits");
    assert!(posted(&first, 1, Kind::OpenD), "P2 opens");
    assert!(!posted(&first, 2, Kind::Collection));
    let second = Network::default();
    let results = scene.run_without(PartyId(0), &second, &marks);
    assert!(results.iter().all(Option::is_none), "the tables need all three");
    for server in [1, 2] {
        assert!(posted(&second, server, Kind::Collection), "P{} has the collection", server + 1);
        assert!(may_have_opened(&scene.spec, &marks[usize::from(server)].all()));
    }
}

/// A server that had stopped, or withdrawn, says so at once when it comes back: nobody waits for
/// it.
#[test]
fn who_has_stopped_says_so_again_without_a_peer() {
    let scene = Scene::new(72, 4, WIDTH as u32);
    let marks: [Memory; 3] = Default::default();
    let first = scene
        .deployment
        .corrupt(0, |_, message| is(message, Kind::WordsL).then(|| vec![0; message.body.len()]));
    let results = scene.run_with(&first, |_| scene.slots.clone(), &marks);
    let stopped = |result: &Option<_>| matches!(result, Some(Err(Unmixed::Aborted { .. })));
    assert!(stopped(&results[1]) && stopped(&results[2]));
    let second = Network::default();
    let results = scene.run_without(PartyId(0), &second, &marks);
    assert!(stopped(&results[1]) && stopped(&results[2]));
    assert!(posted(&second, 1, Kind::Withdrawn), "P2 was ready before it heard");
    assert!(posted(&second, 2, Kind::Abort));
    assert!(!may_have_opened(&scene.spec, &marks[2].all()));
}

/// An epoch with which its participants register. P1 cannot open the box of one of them.
struct Registering {
    scene: Scene,
}

impl Registering {
    fn new(seed: u64) -> Self {
        let deployment = Deployment::new(seed);
        let mut list: Vec<_> = (0..4).map(|number| deployment.register(number, 0)).collect();
        list[1].0.boxes[0].closed[5] ^= 1;
        sign(&deployment, &mut list[1].0, 1);
        Self { scene: Scene::registering_with(deployment, list, WIDTH as u32) }
    }

    /// Runs the epoch, or goes on with it after all servers were restarted.
    fn run(&self, network: &Network, marks: &[Memory; 3]) -> Result3 {
        self.scene.run_with(network, |_| self.scene.slots.clone(), marks)
    }

    /// What P3 does to stop P1 by registrations: a malformed list, or a false seed.
    fn deceptions(&self) -> [Network; 2] {
        let malformed = |to, message: &Message| {
            let step = message.signed.header.tag.step;
            (step == steps::SUBMISSION_LIST && to == PartyId(0)).then(|| vec![0; 7])
        };
        let falsely = |_, message: &Message| {
            let mut body = message.body.to_vec();
            is(message, Kind::Seeds).then(|| {
                body[10] ^= 1;
                body
            })
        };
        let deployment = &self.scene.deployment;
        [deployment.corrupt(2, malformed), deployment.corrupt(2, falsely)]
    }
}

/// All are ready, P2 opens, and P1 is restarted before it knows. It registers participants again,
/// and P3, who can read everything by now, spoils that. P1 does not stop: it says again that it was
/// ready, and passes on the collection.
#[test]
fn who_was_ready_is_not_stopped_by_registrations_after_a_crash() {
    let epoch = Registering::new(76);
    let world = &epoch.scene.deployment.world;
    for deception in epoch.deceptions() {
        let marks: [Memory; 3] = Default::default();
        let first = epoch.scene.deployment.corrupt(2, |to, message| {
            let told = is(message, Kind::Ready) || is(message, Kind::Collection);
            (told && to == PartyId(0)).then(|| vec![0; message.body.len()])
        });
        let lost = Saboteur::rewriting(PartyId(1), world.key(PartyId(1)), |to, message| {
            (is(message, Kind::Collection) && to == PartyId(0)).then(Vec::new)
        });
        first.corrupt(lost);
        let results = epoch.run(&first, &marks);
        assert!(results[0].is_none(), "P1 waits");
        assert!(posted(&first, 1, Kind::Collection), "P2 opens");
        assert!(posted(&first, 0, Kind::Ready) && !posted(&first, 0, Kind::Collection));
        let results = epoch.run(&deception, &marks);
        let stopped = results[0].as_ref().and_then(|result| result.as_ref().err());
        assert_eq!(stopped, None, "P1 was ready");
        assert!(!posted(&deception, 0, Kind::Abort));
        assert!(posted(&deception, 0, Kind::Collection), "P1 helps whoever lacks it");
    }
}

/// P3 stops P1 by registrations. All are restarted, and P3 behaves: what P1 has said stands, so
/// nobody is ever ready, and nothing is read of an epoch that P1 has given up.
#[test]
fn who_was_stopped_by_registrations_is_never_ready() {
    let epoch = Registering::new(77);
    for (deception, proved) in epoch.deceptions().into_iter().zip([true, false]) {
        let marks: [Memory; 3] = Default::default();
        let results = epoch.run(&deception, &marks);
        let stopped = |results: &Result3| {
            match &results[0] {
                Some(Err(Unmixed::Fault(fault))) => {
                    assert!(proved && fault.verify(&epoch.scene.deployment.world.roster));
                }
                Some(Err(Unmixed::Aborted { by, pair })) => {
                    assert_eq!((proved, *by, *pair), (false, PartyId(0), Some(Pair::of(0, 2))));
                }
                _ => panic!("P1 goes on"),
            }
            match &results[1] {
                Some(Err(Unmixed::Fault(_))) => assert!(proved, "P2 is shown"),
                Some(Err(Unmixed::Aborted { .. })) => assert!(!proved, "P2 is told"),
                _ => panic!("P2 goes on"),
            }
        };
        stopped(&results);
        let again = Network::default();
        stopped(&epoch.run(&again, &marks));
        assert!(!(0..3).any(|server| posted(&again, server, Kind::Ready)));
    }
}

/// Moves a scene to the next round of its participants' seeds, in the same context.
fn next_round(scene: &mut Scene) {
    scene.spec.round += 1;
    let round = scene.spec.round;
    scene.registries.iter_mut().for_each(|registry| registry.advance_to(round).unwrap());
    scene.seeds.iter_mut().for_each(|seeds| seeds.advance_to(round).unwrap());
    scene.slots = (0..scene.spec.slots).map(|slot| scene.slot(slot)).collect();
}

/// Two epochs have one context. A corrupt server lists a submission of the first one in the second
/// one: it is not its owner's word there, so the owner is not dropped for having said two things.
#[test]
fn a_submission_of_another_round_drops_nobody() {
    let mut scene = Scene::new(73, 4, WIDTH as u32);
    let old = scene.slots[1].submission.clone();
    next_round(&mut scene);
    let new = scene.slots[1].submission.clone();
    assert_ne!(old.as_ref().unwrap().padded, new.unwrap().padded, "other pads");
    for corrupt in (0..3).map(PartyId) {
        let results = scene.run_with(
            &Network::default(),
            |party| {
                let mut slots = scene.slots.clone();
                if party == corrupt {
                    slots[1].submission = old.clone();
                }
                slots
            },
            &Default::default(),
        );
        results.iter().for_each(|result| scene.assert_whole(result));
    }
}

/// A registry that was not moved on would give two epochs the same pads, and a row the width of
/// nothing: such calls are refused before anything is said.
#[test]
fn what_does_not_fit_is_not_begun() {
    let mut scene = Scene::new(74, 3, WIDTH as u32);
    scene.spec.round += 1;
    let network = Network::default();
    let results = scene.run(&network);
    assert!(results.iter().all(|r| matches!(r, Some(Err(Unmixed::Unfit(_))))));
    assert!(network.sent().is_empty());
    scene.spec.round -= 1;
    for width in [0, 12, 1 << 20] {
        let right = std::mem::replace(&mut scene.spec.width, width);
        let results = scene.run(&network);
        assert!(results.iter().all(|r| matches!(r, Some(Err(Unmixed::Unfit(_))))));
        scene.spec.width = right;
    }
    assert!(network.sent().is_empty());
    // A slot that the epoch does not have is left out; in a list it would convict who lists it.
    scene.spec.slots = 2;
    let two: Vec<_> = (0..2).flat_map(|slot| scene.row(slot)).collect();
    for result in scene.run(&network) {
        assert_eq!(rows_of(&result.unwrap().unwrap().table, WIDTH), rows_of(&two, WIDTH));
    }
}

/// Marks are read with what they were written as.
#[test]
fn a_damaged_outcome_is_no_outcome() {
    let scene = Scene::new(75, 3, WIDTH as u32);
    let marks: [Memory; 3] = Default::default();
    scene.run_with(&Network::default(), |_| scene.slots.clone(), &marks);
    for marks in &marks {
        let mut marks = marks.0.lock().unwrap();
        let (_, mark) = marks.iter_mut().find(|(name, _)| name.ends_with(" outcome")).unwrap();
        *mark = wire::encode(&[7u8; 3]);
    }
    let results = scene.run_with(&Network::default(), |_| scene.slots.clone(), &marks);
    assert!(results.iter().all(|r| matches!(r, Some(Err(Unmixed::Marks(_))))));
}
