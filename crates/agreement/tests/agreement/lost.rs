//! Lost data, old copies, and the way back.

use std::collections::BTreeSet;

use ostrakon_agreement::Event;
use ostrakon_agreement::dag::{Disk, Phase};
use ostrakon_agreement::message::Message;

use crate::attacks::{certified, roles, run_for};
use crate::world::{App, Role, World, id, params};

/// Puts the disk of server 0 back to an earlier copy, or empties it. It must fall silent before it
/// signs anything, be readmitted, and sign nothing twice.
fn lose_data(n: usize, copy: bool, command: bool) {
    let mut world = World::new(params(n, 16, 4), &vec![Role::Honest; n], 3);
    run_for(&mut world, 3, "before");
    let (disk, app) = if copy {
        (world.machines[0].disk.clone(), world.machines[0].app.clone())
    } else {
        (Disk::default(), App::default())
    };
    run_for(&mut world, 3, "after");
    world.machines[0].disk = disk;
    world.machines[0].app = App { lost: true, ..app };
    world.machines[0].ledger = None;
    world.pool.clear();
    let top = world.machines[1].ledger.as_ref().unwrap().top();
    world.restart(0);
    if command {
        world.event(0, Event::Readmit([9; 32]));
    }
    world.deliver_all(usize::MAX);
    let phase = world.machines[0].ledger.as_ref().unwrap().phase();
    assert!(command || phase == Phase::Lost, "n = {n}: an old copy was not noticed");
    run_for(&mut world, 2, "meanwhile");
    world.settle();
    run_for(&mut world, 3, "again");
    world.settle();
    world.check();
    assert_eq!(world.machines[0].readmitted, 1, "n = {n}");
    let agreed = world.machines[1].ledger.as_ref().unwrap().agreed();
    assert_eq!(agreed.incarnations[0].number, 1);
    assert!(agreed.incarnations[0].from >= top + 2, "n = {n}: R0 is past every vote");
    let again = (id(0), b"again 0".to_vec());
    assert!(world.machines[2].app.records().contains(&again), "n = {n}: it takes part again");
}

#[test]
fn old_copy_restored() {
    for n in [4, 5, 7] {
        lose_data(n, true, false);
        lose_data(n, true, true);
        lose_data(n, false, false);
    }
}

/// A copy holds its server's newest vote, and lacks one that it gave afterwards for an older block:
/// others that hold that block's certificate notice it.
#[test]
fn old_copy_without_an_older_vote() {
    let mut world = World::new(params(4, 16, 4), &roles(4, Role::Dead), 3);
    run_for(&mut world, 2, "before");
    let top = world.machines[1].ledger.as_ref().unwrap().top();
    assert!((4..16).contains(&top), "round 1 is neither the newest nor too old: {top}");
    let disk = world.machines[0].disk.clone();
    let (late, certificate) = certified(&mut world, 3, b"late");
    let item = Message::Item(Box::new(late), certificate).encode();
    world.receive(id(3), id(1), &item);
    world.receive(id(3), id(2), &item);
    world.pool.clear();
    world.machines[0].disk = disk;
    world.restart(0);
    world.pool.retain(|(from, ..)| *from == id(0));
    world.deliver_in_order(2);
    world.pool.retain(|(.., bytes)| {
        matches!(Message::decode(bytes, &world.params), Ok(Message::Welcome(_)))
    });
    world.deliver_all(usize::MAX);
    assert_eq!(world.machines[0].ledger.as_ref().unwrap().phase(), Phase::Lost);
}

/// A welcome is long, and what asks for it is short: a server has one a tick.
#[test]
fn questions_at_a_start_are_answered_once_a_tick() {
    let mut world = World::new(params(4, 16, 4), &[Role::Honest; 4], 3);
    for _ in 0..2 {
        for _ in 0..5 {
            world.receive(id(3), id(0), &Message::Hello([1; 32]).encode());
        }
        world.event(0, Event::Tick);
    }
    assert_eq!(world.sent["start"], 2);
}

/// A petition of an earlier life begins an incarnation: a server that has lost its data once more
/// since does not go on from that one's R0.
#[test]
fn old_petition_begins_nothing() {
    let mut world = World::new(params(4, 16, 4), &[Role::Honest; 4], 3);
    run_for(&mut world, 3, "before");
    world.event(0, Event::Readmit([1; 32]));
    // The petition goes out, and the server loses its data before it sees what comes of it.
    for _ in 0..3 {
        let mut open: Vec<_> = (0..world.pool.len()).collect();
        open.retain(|at| {
            let message = Message::decode(&world.pool[*at].2, &world.params);
            matches!(message, Ok(Message::Ask(_) | Message::Answer(_) | Message::Petition(_)))
        });
        for at in open.into_iter().rev() {
            world.deliver(at);
        }
    }
    world.machines[0].disk = Disk::default();
    world.machines[0].app = App { lost: true, ..App::default() };
    world.restart(0);
    world.event(0, Event::Readmit([2; 32]));
    for _ in 0..6 {
        world.deliver_all(usize::MAX);
        world.tick_all();
    }
    world.settle();
    let agreed = world.machines[1].ledger.as_ref().unwrap().agreed();
    assert_eq!(agreed.incarnations[0].nonce[0], 2, "it goes on from its own question only");
    world.check();
}

/// A server that is being readmitted restarts twice before its petition has reached more than one
/// other. Each life's petition shows other answers, and all votes for one of them are ordered; the
/// last life's must be heard by those who voted for an earlier one's.
#[test]
fn restarts_between_petitions() {
    let mut world = World::new(params(4, 16, 4), &[Role::Honest; 4], 3);
    run_for(&mut world, 3, "before");
    world.event(0, Event::Readmit([1; 32]));
    for voter in 1..4 {
        while !world.pool.is_empty() {
            let (from, to, bytes) = world.pool.remove(0);
            match Message::decode(&bytes, &world.params).unwrap() {
                Message::Petition(_) if to != id(voter) => {}
                Message::Ask(_) | Message::Answer(_) | Message::Petition(_) => {
                    world.receive(from, to, &bytes);
                }
                _ => {}
            }
        }
        for i in 0..4 {
            world.propose(1 + i % 3, format!("life {voter} {i}").into_bytes());
            for _ in 0..3 {
                while let Some((from, to, bytes)) = world.pool.pop() {
                    if from != id(0) && to != id(0) {
                        world.receive(from, to, &bytes);
                    }
                }
                (1..4).for_each(|i| world.event(i, Event::Tick));
            }
        }
        world.pool.clear();
        world.restart(0);
    }
    let votes = &world.machines[1].ledger.as_ref().unwrap().agreed().readmissions;
    let rounds: BTreeSet<_> = votes.values().map(|vote| vote.from).collect();
    assert_eq!(rounds.len(), 3, "each life's petition has another R0: {votes:?}");
    world.settle();
    world.check();
    assert_eq!(world.machines[0].readmitted, 1);
}
