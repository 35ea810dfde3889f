//! Everything at once, with checkpoints every few commits: servers crash, are cut off and come back
//! past checkpoints, messages are lost, while epoch follows epoch.

use std::cell::Cell;
use std::rc::Rc;

use ostrakon_asynchromix::Participant;
use ostrakon_testkit::Draw;

use crate::nightly;
use crate::world::{End, SHAPE, World, room};

/// For so many ticks at most a storm rages over what is said in a round.
const STORM: usize = 600;

/// Three epochs or more under one seed's weather. At most t servers are cut off at a time, and
/// everybody comes back. Each storm ends: a batch is prepared by whom nothing stops meanwhile, and
/// who starts needs the others' answers before it stops again, so nothing is promised while all
/// servers stop more often than what is said arrives.
fn storm(seed: u64) -> usize {
    let mut draw = Draw(seed ^ 0x5707);
    let n = [4, 5][draw.below(2)];
    let (horizon, interval) = ([8, 16, 64][draw.below(3)], 2 + draw.below(4) as u64);
    let mut world = World::deep(room(n, SHAPE), seed, horizon, interval);
    let crash_once_in = [0, 400, 1500][draw.below(3)];
    world.lose_once_in = [0, 40, 200][draw.below(3)];
    world.tick_once_in = [100, 400, 1500][draw.below(3)];
    let pace = world.tick_once_in;
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
        world.crash_once_in = crash_once_in;
        world.tick_once_in = pace;
        let mut left = draw.below(STORM);
        world.run(STORM, |world| {
            if draw.once_in(40) {
                cut.set(Some(draw.below(n)));
            } else if draw.once_in(25) {
                cut.set(None);
            }
            left = left.saturating_sub(1);
            left == 0 || world.participants.iter().all(Participant::is_done)
        });
        cut.set(None);
        calm(&mut world);
        world.all_said();
        world.forget_clients();
    }
    assert_eq!(world.messages(), said, "seed {seed}");
    world.assert_nobody_honest_blamed();
    world.crashes
}

/// Everybody is back and nobody stops any more; of what is said at every tick most arrives before
/// the next one.
fn calm(world: &mut World) {
    world.crash_once_in = 0;
    world.tick_once_in = world.tick_once_in.max(400);
    for i in 0..world.services.len() {
        if world.services[i].is_none() {
            world.restart(i);
        }
    }
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
