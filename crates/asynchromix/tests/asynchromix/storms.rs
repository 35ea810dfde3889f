//! Everything at once, with checkpoints every few commits: servers crash, are cut off and come back
//! past checkpoints, messages are lost, while epoch follows epoch.

use std::cell::Cell;
use std::rc::Rc;

use ostrakon_asynchromix::Participant;
use ostrakon_testkit::Draw;

use crate::nightly;
use crate::world::{End, SHAPE, World, room};

/// Three epochs or more under one seed's weather. At most t servers are cut off at a time, and
/// everybody comes back.
fn storm(seed: u64) -> usize {
    let mut draw = Draw(seed ^ 0x5707);
    let n = [4, 5][draw.below(2)];
    let (horizon, interval) = ([8, 16, 64][draw.below(3)], 2 + draw.below(4) as u64);
    let mut world = World::deep(room(n, SHAPE), seed, horizon, interval);
    world.crash_once_in = [0, 400, 1500][draw.below(3)];
    world.lose_once_in = [0, 40, 200][draw.below(3)];
    world.tick_once_in = [100, 400, 1500][draw.below(3)];
    let cut = Rc::new(Cell::new(None));
    let is_cut = Rc::clone(&cut);
    world.meddle = Box::new(move |from, to, bytes| {
        let away = is_cut.get().map(End::Server);
        (away != Some(from) && away != Some(to)).then(|| bytes.to_vec())
    });
    let mut said = Vec::new();
    for round in 0..3 {
        for line in 0..8 {
            said.push(format!("{round}.{line}"));
            world.join(said.last().map(String::as_str));
        }
        world.run(6000, |world| {
            if draw.once_in(40) {
                cut.set(Some(draw.below(n)));
            } else if draw.once_in(25) {
                cut.set(None);
            }
            world.participants.iter().all(Participant::is_done)
        });
        world.forget_clients();
    }
    cut.set(None);
    world.crash_once_in = 0;
    for i in 0..n {
        if world.services[i].is_none() {
            world.restart(i);
        }
    }
    let entries = world.entries();
    world.run(2500, |world| world.have(entries));
    assert_eq!(world.messages(), said, "seed {seed}");
    world.assert_nobody_honest_blamed();
    world.crashes
}

#[test]
fn storms_cost_nobody_its_line() {
    let first = std::env::var("OSTRAKON_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let count = if nightly() { 200 } else { 4 };
    let crashes: usize = (first..first + count)
        .map(|seed| {
            eprintln!("seed {seed}");
            storm(seed)
        })
        .sum();
    assert!(crashes > 0, "nothing crashed");
}
