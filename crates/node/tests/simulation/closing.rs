//! When epochs close, and for how few people.

mod erased;
pub mod letters;
mod mending;
mod overdue;
mod stories;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use ostrakon_mixing::engine::ClientEngine;
use ostrakon_mixing::room::people_for;
use ostrakon_mixing::{EngineKind, RoomDescriptor, Servers, engines};
use ostrakon_node::{EngineProvider, ThreeServers};
use ostrakon_party::{PartyId, Trust};
use ostrakon_protocol::{EpochStatus, Status};

use crate::checks::parties;
use crate::deployment::Deployment;
use crate::engine::PlainProvider;
use crate::executor::{Executor, OUTSIDE};
use crate::ledger::{Ledger, Watched};
use crate::line::Line;
use crate::participant::{Device, Participant};
use crate::scenario::PlainClient;

/// Three servers with a room, and people in it.
struct Scene {
    deployment: Arc<Deployment>,
    room: Arc<RoomDescriptor>,
    servers: Arc<Servers>,
    engine: &'static (dyn ClientEngine + Send + Sync),
}

impl Scene {
    fn new(seed: u64, seconds: u32, minimum: u32) -> Self {
        Self::with(seed, (seconds, minimum, 24, 64))
    }

    /// With seconds, minimum, places, and bytes of a message.
    fn with(seed: u64, settings: (u32, u32, u32, u32)) -> Self {
        Self::mixed(seed, settings, None)
    }

    /// The same with an engine that mixes, if one is named.
    fn mixed(
        seed: u64,
        (seconds, minimum, capacity, payload): (u32, u32, u32, u32),
        mixer: Option<EngineKind>,
    ) -> Self {
        let executor = Executor::new(seed);
        let ledger = Arc::new(Ledger::default());
        let inner: Arc<dyn EngineProvider> = match mixer {
            Some(_) => Arc::new(ThreeServers),
            None => Arc::new(PlainProvider(Arc::default())),
        };
        let provider = Arc::new(Watched { inner, ledger: Arc::clone(&ledger) });
        let deployment = Deployment::new(3, executor.clone(), provider, ledger);
        parties().for_each(|party| deployment.start(party));
        let mut servers = None;
        executor.run_until(Duration::from_secs(60), Duration::from_millis(200), || {
            servers = parties().map(|party| deployment.pinned(party)).collect::<Option<Vec<_>>>();
            servers.is_some()
        });
        let settings = serde_json::json!({
            "name": "a room", "payload": payload, "capacity": capacity, "seconds": seconds,
            "minimum": minimum, "engine": mixer.unwrap_or(EngineKind::Ruffle),
        });
        let settings = serde_json::from_value(settings).expect("a room's settings");
        let info = deployment
            .call(PartyId(1), |server| async move { server.create_room(settings).await }.boxed());
        let room = info.expect("P1 answers").expect("a room is created").descriptor;
        // The first epoch is open.
        executor.run_for(Duration::from_secs(3));
        let servers = servers.expect("the servers set up their session").remove(0);
        let engine: &'static (dyn ClientEngine + Send + Sync) = match mixer {
            Some(kind) => engines::client(kind),
            None => &PlainClient,
        };
        Self { deployment, room: Arc::new(room), servers: Arc::new(servers), engine }
    }

    /// Somebody comes and has something to say.
    fn join(&self, number: u8) {
        let device = self.enter(number);
        device.lock().unwrap().wishes.push(format!("{number} says something"));
    }

    /// Somebody comes and has nothing to say yet.
    fn enter(&self, number: u8) -> Arc<Mutex<Device>> {
        let device = Device::new([number + 1; 32], false, None);
        let device = Arc::new(Mutex::new(device));
        let participant = Participant {
            line: Line { number: number.into(), deployment: Arc::clone(&self.deployment) },
            device: Arc::clone(&device),
            room: Arc::clone(&self.room),
            servers: Arc::clone(&self.servers),
            engine: self.engine,
            honest: true,
        };
        self.deployment.executor.spawn(OUTSIDE, participant.take_part().boxed());
        device
    }

    /// What each server that answers says of the room.
    fn statuses(&self) -> Vec<Status> {
        let room = self.room.id();
        let ask = |party| {
            self.deployment.call(party, |server| {
                async move { server.status(room, 0, Duration::ZERO).await }.boxed()
            })
        };
        parties().filter_map(ask).filter_map(Result::ok).collect()
    }

    /// After how long something is on every board, in milliseconds; `None` if nothing is within
    /// that time.
    fn published_after(&self, longest: Duration) -> Option<u64> {
        let begun = self.deployment.executor.now_ms();
        let end = begun + longest.as_millis() as u64;
        loop {
            let statuses = self.statuses();
            let now = self.deployment.executor.now_ms();
            if statuses.iter().all(|status| status.board_length > 0) {
                return Some(now - begun);
            }
            if now > end {
                return None;
            }
            self.deployment.executor.run_for(Duration::from_millis(100));
        }
    }
}

/// The disk's threads need a runtime.
pub fn inside<T>(work: impl FnOnce() -> T) -> T {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _inside = runtime.enter();
    work()
}

/// The scheduler's operator sets its clock forward when those have handed in whom it wants to see
/// alone; whoever would have come within the quarter of an hour is left out.
#[test]
fn a_scheduler_whose_clock_is_ahead_closes_nothing_early() {
    inside(|| {
        // Two at each server: whose home refuses them, because its clock is wrong, may have handed
        // in or not, and without them the others are enough.
        let scene = Scene::new(1, 900, 2);
        (0..6).for_each(|number| scene.join(number));
        scene.deployment.executor.run_for(Duration::from_secs(60));
        scene.deployment.set_clock(PartyId(0), 2 * 3600 * 1000);
        scene.deployment.start(PartyId(0));
        scene.deployment.executor.run_for(Duration::from_secs(450));
        let early = scene.statuses().iter().any(|status| status.board_length > 0);
        assert!(!early, "the others' clocks have not run out");
        let rest = scene.published_after(Duration::from_secs(900));
        assert!(rest.is_some_and(|rest| rest > 375_000), "{rest:?}");
        scene.deployment.end();
    });
}

/// Each server may give out hardly more slots than another one, so those who are there when an
/// epoch opens get theirs by turns: as fast as the servers hear of each other, not one turn a beat.
#[test]
fn a_group_that_comes_at_once_does_not_come_in_by_the_beat() {
    inside(|| {
        let after = |seed| {
            let scene = Scene::with(seed, (6, 2, 96, 64));
            (0..48).for_each(|number| scene.join(number));
            let executor = &scene.deployment.executor;
            let once_all = |condition: &dyn Fn(EpochStatus) -> bool| {
                let holds = |status: &Status| status.epoch.is_some_and(condition);
                while !scene.statuses().iter().all(holds) {
                    executor.run_for(Duration::from_millis(5));
                }
                executor.now_ms()
            };
            let opened = once_all(&|epoch| epoch.number > 0 && epoch.batch.is_some());
            let seated = once_all(&|epoch| epoch.assigned >= 48);
            scene.deployment.end();
            seated - opened
        };
        // The fastest: with some seeds somebody is looking for another home just then.
        let after = (1..5).map(after).min().expect("four seeds");
        // Seven turns.
        assert!(after < 450, "after {after} ms");
    });
}

/// However they come in: as many people as are said to be enough are, and one fewer is not.
#[test]
fn a_group_of_any_size_publishes_when_as_many_are_there_as_is_said() {
    inside(|| {
        let seeds = if ostrakon_testkit::nightly() { 6 } else { 1 };
        for seed in 0..seeds {
            for minimum in [0, 2, 3] {
                let enough = u8::try_from(people_for(minimum, &Trust::one_of_three())).unwrap();
                let scene = Scene::new(seed, 6, minimum);
                (1..enough).for_each(|number| scene.join(number));
                let early = scene.published_after(Duration::from_secs(30));
                assert_eq!(early, None, "seed {seed}, minimum {minimum}: {enough} are enough");
                scene.join(0);
                let after = scene.published_after(Duration::from_secs(60));
                // A while to find a place, an epoch, and its computation.
                assert!(
                    after.is_some_and(|after| after < 12_000),
                    "seed {seed}, {minimum}: {after:?}"
                );
                scene.deployment.end();
                let scene = Scene::new(seed, 6, minimum);
                (0..enough).for_each(|number| scene.join(number));
                let after = scene.published_after(Duration::from_secs(60));
                assert!(
                    after.is_some_and(|after| after < 12_000),
                    "seed {seed}, {minimum}: {after:?}"
                );
                scene.deployment.end();
            }
        }
    });
}
