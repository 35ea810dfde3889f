//! Drawn schedules: orders of delivery, cuts, crashes between writes and sends, corrupt servers.

use ostrakon_agreement::Event;
use ostrakon_agreement::dag::Disk;
use ostrakon_crypto::Digest;

use crate::nightly;
use crate::world::{App, Role, World, id, params};

/// What the adversary of a run may do.
#[derive(Clone, Copy)]
struct Powers {
    corrupt: Option<Role>,
    crashes: bool,
    cuts: bool,
    /// Whether one honest server loses its disk, or has an old copy put back, on the way. It counts
    /// as one of the t.
    loss: bool,
}

/// Runs `steps` drawn steps, then lets the world come to rest and checks it.
fn run(n: usize, seed: u64, steps: usize, powers: Powers) -> World {
    let t = params(n, 16, 4).believed() - 1;
    let mut roles = vec![Role::Honest; n];
    if let Some(corrupt) = powers.corrupt {
        roles[n - t + usize::from(powers.loss)..].fill(corrupt);
        roles.rotate_left((seed % n as u64) as usize);
    }
    let mut world = World::new(params(n, 16, 4), &roles, seed);
    let mut said = 0;
    world.crash_once_in = if powers.crashes { 60 } else { 0 };
    let mut copy = None;
    for step in 0..steps {
        if powers.loss {
            copy = lose(&mut world, step, steps, copy);
        }
        if powers.cuts && world.draw.once_in(200) {
            cut(&mut world);
        }
        if world.draw.once_in(40) {
            let who = world.draw.below(n);
            said += 1;
            world.propose(who, format!("{who} says {said}").into_bytes());
        }
        if world.draw.once_in(300) {
            let name = Digest([(step / 300) as u8; 32]);
            for i in 0..n {
                world.event(i, Event::Beacon(name));
            }
        }
        for i in 0..n {
            let down = world.machines[i].ledger.is_none() && world.machines[i].role == Role::Honest;
            if down && world.draw.once_in(30) {
                world.restart(i);
            }
        }
        if world.draw.once_in(20) || world.pool.is_empty() {
            let who = world.draw.below(n);
            world.event(who, Event::Tick);
        } else {
            let at = world.draw.below(world.pool.len());
            let (from, to, _) = world.pool[at];
            if !world.is_cut(from, to) {
                world.deliver(at);
            }
        }
        while world.pool.len() > 3000 {
            let at = world.draw.below(world.pool.len());
            world.pool.swap_remove(at);
        }
    }
    world.settle();
    world.check();
    world
}

/// Copies an honest server's disk early on, or not, and puts the copy in place of the disk later,
/// by the command: a copy whose gaps only a corrupt server knows is not noticed by itself.
fn lose(
    world: &mut World,
    step: usize,
    steps: usize,
    copy: Option<(Disk, App)>,
) -> Option<(Disk, App)> {
    let who = world.honest()[0];
    let early = step == steps / 4 && world.seed.is_multiple_of(2);
    if step == steps / 2 {
        let (disk, app) = copy.clone().unwrap_or_default();
        world.machines[who].disk = disk;
        world.machines[who].app = app;
        // Whoever gives the command sees to it that it is carried out.
        let crash = std::mem::take(&mut world.crash_once_in);
        world.restart(who);
        let nonce = world.draw.bytes();
        world.event(who, Event::Readmit(nonce));
        world.crash_once_in = crash;
        world.machines[who].app.lost = true;
    }
    if early {
        Some((world.machines[who].disk.clone(), world.machines[who].app.clone()))
    } else {
        copy
    }
}

/// Cuts a drawn set of servers off, or mends everything.
fn cut(world: &mut World) {
    world.cut.clear();
    if world.draw.once_in(2) {
        return;
    }
    let n = world.machines.len();
    let side: Vec<_> = (0..n).map(|_| world.draw.once_in(2)).collect();
    for a in 0..n {
        for b in a + 1..n {
            if side[a] != side[b] {
                world.cut.insert((id(a), id(b)));
            }
        }
    }
}

/// Runs seeds for each size, fewer of the larger ones: 112 schedules, which take 1.6 seconds of a
/// processor; a thousand in all nine sweeps of this file, and a hundred times as many at night.
fn sweep(base: u64, powers: Powers) {
    for (n, seeds, steps) in [(4, 60, 1200), (5, 30, 1200), (7, 15, 2000), (10, 7, 3000)] {
        let seeds = if nightly() { seeds * 100 } else { seeds };
        // Sizes have seeds of their own.
        let base = base * 100_000 + n as u64 * 10_000;
        for seed in base..base + seeds {
            run(n, seed, steps, powers);
        }
    }
}

#[test]
fn honest_servers_agree_in_any_order_of_delivery() {
    sweep(1000, Powers { corrupt: None, crashes: false, cuts: true, loss: false });
}

#[test]
fn honest_servers_that_crash_between_writes_and_sends_agree() {
    sweep(2000, Powers { corrupt: None, crashes: true, cuts: true, loss: false });
}

#[test]
fn t_dead_servers_stop_nothing() {
    sweep(3000, Powers { corrupt: Some(Role::Dead), crashes: true, cuts: true, loss: false });
}

#[test]
fn t_servers_that_say_two_things_split_nothing() {
    sweep(4000, Powers { corrupt: Some(Role::Twins), crashes: true, cuts: true, loss: false });
}

#[test]
fn t_servers_that_vote_for_everything_split_nothing() {
    sweep(
        5000,
        Powers { corrupt: Some(Role::VotesForAll), crashes: true, cuts: true, loss: false },
    );
}

#[test]
fn t_servers_that_spoil_messages_stop_nothing() {
    sweep(6000, Powers { corrupt: Some(Role::Spoils), crashes: false, cuts: true, loss: false });
}

#[test]
fn t_servers_that_withhold_messages_stop_nothing() {
    sweep(7000, Powers { corrupt: Some(Role::Withholds), crashes: true, cuts: true, loss: false });
}

#[test]
fn a_server_that_loses_its_disk_splits_nothing_and_comes_back() {
    sweep(8000, Powers { corrupt: None, crashes: false, cuts: true, loss: true });
}

#[test]
fn a_disk_is_lost_while_others_say_two_things() {
    let powers = Powers { corrupt: Some(Role::Twins), crashes: true, cuts: true, loss: true };
    sweep(9000, powers);
}
