//! The sweep: one server's messages of each kind are changed in each way, while another one
//! restarts, one is cut off until its rounds are dropped, and one loses its disk. Everything is
//! ordered, everywhere alike.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use ostrakon_agreement::Event;
use ostrakon_agreement::dag::Disk;
use ostrakon_testkit::{Draw, Mutation};

use crate::attacks::run_for;
use crate::nightly;
use crate::world::{App, Role, World, id, params};

const N: usize = 7;
const CORRUPT: usize = 6;
/// Kinds of messages, by their first bytes.
const KINDS: [&str; 11] = [
    "block",
    "vote",
    "certificate",
    "item",
    "status",
    "checkpoint",
    "hello",
    "welcome",
    "ask",
    "answer",
    "petition",
];

/// Runs the world; how many messages were changed.
fn sabotage(kind: usize, mutation: Mutation, seed: u64) -> usize {
    let mut roles = vec![Role::Honest; N];
    roles[CORRUPT] = Role::Sabotaged;
    let mut world = World::new(params(N, 8, 2), &roles, seed);
    let changed = Rc::new(Cell::new(0));
    let (count, mut last, mut draw) = (Rc::clone(&changed), Vec::new(), Draw(seed));
    world.sabotage = Some(Box::new(move |bytes| {
        if usize::from(bytes[0]) != kind {
            return vec![bytes.clone()];
        }
        count.set(count.get() + 1);
        let before = std::mem::replace(&mut last, bytes.to_vec());
        let before = if before.is_empty() { &bytes[..] } else { &before };
        mutation.of_unsigned(bytes, before, &mut draw).into_iter().map(Arc::from).collect()
    }));
    run_for(&mut world, 2, "together");
    world.restart(1);
    run_for(&mut world, 2, "restarted");
    world.machines[0].disk = Disk::default();
    world.machines[0].app = App { lost: true, ..App::default() };
    world.restart(0);
    world.settle();
    world.cut.extend((0..2).map(|other| (id(other), id(2))));
    world.cut.extend((3..N).map(|other| (id(2), id(other))));
    for i in 0..16 {
        world.propose(3 + i % 3, format!("without it {i}").into_bytes());
        world.deliver_all(usize::MAX);
        world.pool.clear();
        world.tick_all();
    }
    world.settle();
    world.restart(CORRUPT);
    world.event(CORRUPT, Event::Readmit([3; 32]));
    run_for(&mut world, 2, "readmitted");
    world.settle();
    world.check();
    changed.get()
}

#[test]
fn every_kind_of_message_changed_in_each_way_stops_and_splits_nothing() {
    for (kind, name) in KINDS.iter().enumerate() {
        let mut changed = 0;
        for (number, mutation) in Mutation::UNSIGNED.into_iter().enumerate() {
            // Over the kinds each mutation has its turn.
            if !nightly() && number != kind % Mutation::UNSIGNED.len() {
                continue;
            }
            for seed in 0..if nightly() { 20 } else { 1 } {
                println!("{name}, {mutation:?}, seed {seed}");
                changed += sabotage(kind, mutation, 100 * number as u64 + seed);
            }
        }
        assert!(changed > 0, "no {name} was sent");
    }
}
