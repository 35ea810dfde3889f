//! A server of four is killed, frozen, restored or corrupt.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_asynchromix::message::{Message, RunId};
use ostrakon_mixer::{Links, Peers};
use ostrakon_net::Identity;

use crate::turncoat::{Turncoat, Will};
use crate::world::{Devices, World, copy, id, identity, standing, stocked, wait};

/// Rounds at most in which a server that has turned takes part.
const MORE_ROUNDS: u8 = 10;

fn lines(of: &str, count: usize) -> Vec<String> {
    (0..count).map(|i| format!("{of} {i}")).collect()
}

/// A row is in, and none is on the board.
fn under_way(devices: &Devices) -> bool {
    devices.visitors.iter().any(|v| v.participant().is_some_and(|p| p.is_in()))
}

/// t servers are killed when a row is in; then one of them comes back.
#[tokio::test]
async fn killed_servers_cost_nobody_its_line_and_return() {
    let nightly = std::env::var_os("OSTRAKON_NIGHTLY").is_some();
    for n in if nightly { &[4, 5, 7, 10][..] } else { &[4] } {
        let mut world = World::new(*n);
        stocked(&world).await;
        let said = lines("killed", n + 3);
        let mut devices = Devices::saying(&world, &said, 1);
        devices.until(&world, "in", under_way).await;
        let killed = 2..2 + world.room.trust().corrupt();
        killed.for_each(|i| world.kill(i));
        devices.until(&world, "said", Devices::all_said).await;
        assert_eq!(devices.read(), said);
        world.start(2, false);
        let entries = standing(&world, 0).await.entries;
        wait(&world, "return", 2, |s| s.runs && s.entries >= entries).await;
    }
}

/// As SIGSTOP does: its sockets stay open, and nothing is read or said.
#[tokio::test]
async fn a_frozen_server_costs_nobody_its_line_and_goes_on() {
    let world = World::new(4);
    stocked(&world).await;
    let said = lines("frozen", 7);
    let mut devices = Devices::saying(&world, &said, 2);
    devices.until(&world, "in", under_way).await;
    let thaw = world.freeze(1);
    devices.until(&world, "said", Devices::all_said).await;
    assert_eq!(devices.read(), said);
    drop(thaw);
    world.frozen.set(None);
    let entries = standing(&world, 0).await.entries;
    wait(&world, "going on", 1, |s| s.runs && s.entries >= entries).await;
}

/// A server that was honest until there was stock says whatever it likes from then on: noise,
/// frames without an end, other servers' messages, two answers to one question.
#[tokio::test]
async fn a_server_that_speaks_garbage_costs_nobody_its_line() {
    let mut world = World::new(4);
    stocked(&world).await;
    let said = lines("garbage", 7);
    let mut devices = Devices::saying(&world, &said, 3);
    devices.until(&world, "in", under_way).await;
    // The first one dials all others.
    world.kill(0);
    let keys = world.room.identities().as_slice().to_vec();
    let others = keys.iter().copied().zip(world.addresses.iter().cloned()).skip(1);
    let dialled: Vec<_> = others.collect();
    let peers =
        Peers { dialling: Vec::new(), dialled: dialled.clone(), longest: world.room.longest() };
    let own = Identity::from_seed(identity(0).expose());
    let (links, mut frames) = Links::start(&own, None, peers);
    let hostile = tokio::spawn(async move {
        let mut round = 0_usize;
        loop {
            round += 1;
            for (key, _) in &dialled {
                let noise: Vec<u8> = (0..97).map(|i| (i * round % 251) as u8).collect();
                links.send(key, noise.into());
                links.send(key, vec![0xff; 1 << 18].into());
                for (epoch, byte) in [(0, 1), (0, 2), (u64::MAX, 3)] {
                    let run = RunId::Epoch(epoch);
                    let forged = Message::Run(run, vec![byte; 200].into()).encode();
                    links.send(key, forged.into());
                    let asked = Message::Again(run, vec![[byte; 3]; 300]).encode();
                    links.send(key, asked.into());
                    links.send(key, Message::AskState(epoch).encode().into());
                    links.send(key, Message::Row(epoch, 0, vec![byte; 9].into()).encode().into());
                }
            }
            // What it hears it says to all others, as its own.
            while let Ok(frame) = frames.try_recv() {
                let bytes: Arc<[u8]> = frame.bytes.into();
                dialled.iter().for_each(|(key, _)| links.send(key, Arc::clone(&bytes)));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    devices.until(&world, "said", Devices::all_said).await;
    hostile.abort();
    assert_eq!(devices.read(), said);
}

/// A server that was honest until there was stock, with the state that it had then; how often it
/// contradicted itself.
async fn turned(will: Will, seed: u8) -> (World, usize) {
    let mut world = World::new(4);
    stocked(&world).await;
    let said = lines("turned", 7);
    let mut devices = Devices::saying(&world, &said, seed);
    devices.until(&world, "in", under_way).await;
    world.kill(1);
    let turncoat = Turncoat::start(&world, 1, will).await;
    devices.until(&world, "said", Devices::all_said).await;
    assert_eq!(devices.read(), said);
    // Other rounds, all of them with the turncoat: it comes back when it has caught up.
    for round in 1..=MORE_ROUNDS {
        let more = lines(&format!("more {round}"), 7);
        let mut devices = Devices::saying(&world, &more, seed + round);
        devices.until(&world, "more", Devices::all_said).await;
        if turncoat.contradictions() > 0 || will != Will::Equivocates {
            break;
        }
    }
    (world, turncoat.contradictions())
}

#[tokio::test]
async fn a_server_that_says_two_things_costs_nobody_its_line() {
    let (world, contradictions) = turned(Will::Equivocates, 60).await;
    assert!(contradictions > 0, "it said nothing twice");
    // Whether anybody notices depends on who is faster: three are enough for everything. That it is
    // noticed when it is looked at is tested in virtual time.
    let faults = world.faults.lock().unwrap();
    assert!(faults.iter().all(|(_, of, _)| *of == id(1)), "{faults:?}");
}

#[tokio::test]
async fn a_server_that_is_always_late_costs_nobody_its_line() {
    let (world, _) = turned(Will::Delays, 70).await;
    assert!(world.faults.lock().unwrap().is_empty(), "to be late is no fault");
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
