//! t servers are killed, frozen or corrupt, one is restored: among four, and at night among five,
//! seven and ten, too.

use std::time::Duration;

use ostrakon_asynchromix::evidence::Deed;
use ostrakon_asynchromix::visitor::End;
use ostrakon_testkit::nightly;

use crate::lies::Lie;
use crate::turncoat::{Turncoat, Will};
use crate::world::{Devices, PATIENCE, World, copy, id, standing, stocked, wait};

/// Rounds at most in which a server that has turned takes part.
const MORE_ROUNDS: u8 = 10;

fn sizes() -> &'static [usize] {
    if nightly() { &[4, 5, 7, 10] } else { &[4] }
}

fn lines(of: &str, count: usize) -> Vec<String> {
    (0..count).map(|i| format!("{of} {i:02}")).collect()
}

/// A row is in, and none is on the board.
fn under_way(devices: &Devices) -> bool {
    devices.visitors.iter().any(|v| v.participant().is_some_and(|p| p.is_in()))
}

/// t servers are killed when a row is in; then one of them comes back.
#[tokio::test]
async fn killed_servers_cost_nobody_its_line_and_return() {
    for &n in sizes() {
        let mut world = World::new(n);
        stocked(&world).await;
        let said = lines("killed", n + 3);
        let mut devices = Devices::saying(&world, &said, 1);
        devices.until(&world, "in", under_way).await;
        let killed = 2..2 + world.corrupt();
        killed.for_each(|i| world.kill(i));
        devices.until(&world, "said", Devices::all_said).await;
        assert_eq!(devices.read(), said);
        world.start(2, false);
        let entries = standing(&world, 0).await.entries;
        wait(&world, "return", 2, |s| s.runs && s.entries >= entries).await;
    }
}

/// As SIGSTOP does: their sockets stay open, and nothing is read or said.
#[tokio::test]
async fn frozen_servers_cost_nobody_its_line_and_go_on() {
    for &n in sizes() {
        let world = World::new(n);
        stocked(&world).await;
        let said = lines("frozen", n + 3);
        let mut devices = Devices::saying(&world, &said, 2);
        devices.until(&world, "in", under_way).await;
        let frozen = 1..=world.corrupt();
        let thaw: Vec<_> = frozen.clone().map(|i| world.freeze(i)).collect();
        devices.until(&world, "said", Devices::all_said).await;
        assert_eq!(devices.read(), said);
        drop(thaw);
        world.frozen.borrow_mut().clear();
        let entries = standing(&world, 0).await.entries;
        for i in frozen {
            wait(&world, "going on", i, |s| s.runs && s.entries >= entries).await;
        }
    }
}

/// Servers that were honest until there was stock say whatever they like from then on: noise,
/// frames without an end, other servers' messages, two answers to one question.
#[tokio::test]
async fn servers_that_speak_garbage_cost_nobody_its_line() {
    for &n in sizes() {
        turned(n, Will::Garbage, 50).await;
    }
}

/// Servers that were honest until there was stock, with the state that they had then; how often
/// they contradicted themselves.
async fn turned(n: usize, will: Will, seed: u8) -> (World, usize) {
    let mut world = World::new(n);
    stocked(&world).await;
    let said = lines("turned", n + 3);
    let mut devices = Devices::saying(&world, &said, seed);
    devices.until(&world, "in", under_way).await;
    let mut turncoats = Vec::new();
    for i in 1..=world.corrupt() {
        world.kill(i);
        turncoats.push(Turncoat::start(&world.place(i), will).await);
    }
    // Of 3t + 1 servers each is needed for more stock, and may keep it back, by being late, too.
    // Rounds that are promised can be over on a slow machine before everybody is in one.
    let needed = n == 3 * world.corrupt() + 1;
    let over = |devices: &Devices| devices.all_said() || needed && devices.out_of_stock();
    devices.until(&world, "said", over).await;
    devices.until(&world, "told", Devices::nothing_is_lost).await;
    let read = devices.read();
    let right = read.iter().all(|line| said.contains(line));
    assert!(read == said || needed && right && !read.is_empty(), "{read:?}");
    // Other rounds, all of them with the turncoats: they come back when they have caught up.
    let contradictions = || turncoats.iter().map(Turncoat::contradictions).sum();
    for round in 1..=MORE_ROUNDS {
        let more = lines(&format!("more {round}"), n + 3);
        let mut devices = Devices::saying(&world, &more, seed + round);
        // Whom the others convict makes no more stock with them: who came too late for a round that
        // there was stock for has none to come out in.
        let ended = |devices: &Devices| {
            devices.all_said() || (needed || contradictions() > 0) && devices.out_of_stock()
        };
        devices.until(&world, "more", ended).await;
        if contradictions() > 0 || will != Will::Equivocates {
            break;
        }
    }
    (world, contradictions())
}

#[tokio::test]
async fn servers_that_say_two_things_cost_nobody_its_line() {
    for &n in sizes() {
        let (world, contradictions) = turned(n, Will::Equivocates, 60).await;
        assert!(contradictions > 0, "they said nothing twice");
        // Whether anybody notices depends on who is faster: 2t + 1 are enough for everything. That
        // it is noticed when it is looked at is tested in virtual time.
        let faults = world.faults.lock().unwrap();
        let corrupt = |of: usize| (1..=world.corrupt()).contains(&of);
        let by_honest = faults.iter().filter(|(by, ..)| !corrupt(*by));
        assert!(by_honest.clone().all(|(_, of, _)| corrupt(of.index())), "{faults:?}");
    }
}

#[tokio::test]
async fn servers_that_are_always_late_cost_nobody_its_line() {
    for &n in sizes() {
        let (world, _) = turned(n, Will::Delays, 70).await;
        assert!(world.faults.lock().unwrap().is_empty(), "to be late is no fault");
    }
}

/// A server that was honest until there was stock lies when more is prepared: all others convict
/// it, know it after a start, and show the evidence to whoever asks; devices are told what ends.
/// Four by day, whose room ends; five, who go on, at night (by day in virtual time, `asynchromix`).
#[tokio::test]
async fn a_liar_in_preparation_is_convicted_before_everybody() {
    let lies = [(4, Lie::Numbers, Deed::FalseNumbers), (5, Lie::Result, Deed::FalseResult)];
    for (n, lie, deed) in lies.into_iter().filter(|(n, ..)| nightly() || *n == 4) {
        let mut world = World::new(n);
        stocked(&world).await;
        let liar = n - 1;
        world.kill(liar);
        let _turncoat = Turncoat::start(&world.place(liar), Will::Lies(lie)).await;
        let mut devices = Devices::saying(&world, &lines("liar", n + 3), 80);
        devices.until(&world, "said", Devices::all_said).await;
        // With five servers two rounds may use up what was prepared without it.
        for round in 1..3 {
            if !standing(&world, 0).await.convicted.is_empty() {
                break;
            }
            devices = Devices::saying(&world, &lines("more", n + 3), 80 + round);
            let ended = |devices: &Devices| devices.all_said() || devices.out_of_stock();
            devices.until(&world, "more", ended).await;
        }
        let known = [(id(liar), deed)];
        for i in 0..liar {
            wait(&world, "conviction", i, |standing| standing.convicted == known).await;
        }
        world.kill(0);
        world.start(0, false);
        wait(&world, "start", 0, |standing| standing.runs && standing.convicted == known).await;
        let shown = async {
            loop {
                let health = world.servers[0].as_ref().unwrap().visits.health();
                if let Some(of) = health.convicted.get(&id(liar)) {
                    return of.evidence.convicts(&world.room);
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        assert_eq!(tokio::time::timeout(PATIENCE, shown).await, Ok(Some(known[0])));
        let told = |devices: &Devices| devices.visitors[0].here().convicted == known;
        devices.until(&world, "telling", told).await;
        let ended = devices.visitors[0].here().ended;
        assert_eq!(ended, (n == 4).then_some(End::Convicted));
        if n == 5 {
            for round in 0..2 {
                let mut devices = Devices::saying(&world, &lines("later", n + 3), 90 + round);
                devices.until(&world, "later", Devices::all_said).await;
            }
        }
        let faults = world.faults.lock().unwrap();
        let by_honest = faults.iter().filter(|(by, ..)| *by != liar);
        assert!(by_honest.clone().all(|(_, of, _)| *of == id(liar)), "{faults:?}");
    }
}

/// An old copy is put back: by command the server takes part again as one that remembers nothing,
/// and there is new stock with it.
#[tokio::test]
async fn a_server_restored_from_a_copy_is_readmitted() {
    let mut world = World::new(4);
    stocked(&world).await;
    world.kill(3);
    let old = world.directory.path().join("old");
    copy(&world.home(3), &old);
    world.start(3, false);
    wait(&world, "back", 3, |s| s.runs).await;
    let first = lines("first", 7);
    let mut devices = Devices::saying(&world, &first, 4);
    devices.until(&world, "first", Devices::all_said).await;
    world.kill(3);
    std::fs::remove_dir_all(world.home(3)).unwrap();
    copy(&old, &world.home(3));
    world.start(3, true);
    wait(&world, "readmitted", 3, |s| s.runs).await;
    let entries = standing(&world, 0).await.entries;
    wait(&world, "caught up", 3, |s| s.entries >= entries).await;
    // More epochs than were in stock: they need shares of all four.
    for round in 0..4 {
        let more = lines("more", 7);
        let mut devices = Devices::saying(&world, &more, 10 + round);
        devices.until(&world, "more", Devices::all_said).await;
    }
}
