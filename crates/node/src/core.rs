//! What all parts of a running server share, and how a change sets them in motion.

use std::future::Future;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard};

use futures::FutureExt;
use ostrakon_crypto::{SigningKey, VerifyingKey};
use ostrakon_job::Subject;
use ostrakon_mixing::engine::slot_class;
use ostrakon_mixing::room::{RoomId, Servers};
use ostrakon_mixing::{Engine, EngineKind};
use ostrakon_party::{ByParty, Party, PartyId};
use ostrakon_store::Change;
use tokio::sync::{mpsc, oneshot, watch};

use crate::config::Config;
use crate::disk::Disk;
use crate::intake::Pending;
use crate::memory::batches::LoadedBatches;
use crate::memory::history::History;
use crate::memory::introduction::{Introduction, Standing};
use crate::memory::logs::Logs;
use crate::memory::presence::Presence;
use crate::memory::under_way::UnderWay;
use crate::memory::verified::{Damaged, Verified};
use crate::memory::watchers::Watchers;
use crate::platform::mailer::Mailer;
use crate::platform::{Links, Platform};
use crate::provider::trusts::Trusts;
use crate::provider::{EngineProvider, Engines};
use crate::state::{Effect, World};

/// A running server.
pub(crate) struct Core {
    pub config: Arc<Config>,
    pub platform: Arc<dyn Platform>,
    pub party: Party,
    /// The server's identity key.
    pub identity: Arc<SigningKey>,
    pub servers: Servers,
    /// How many they are, and what they bear.
    pub trusts: Trusts,
    pub mesh: Arc<dyn Links>,
    pub store: Disk,
    /// Looks at submissions without a batch.
    pub provider: Arc<dyn EngineProvider>,
    pub engines: Engines,
    pub logs: Logs,
    pub introduction: Arc<Introduction>,
    /// Whether this server may say anything to the others.
    pub standing: watch::Sender<Standing>,
    pub presence: Mutex<Presence>,
    pub loaded: LoadedBatches,
    pub under_way: UnderWay,
    /// Hands e-mail to the configured server.
    pub mailer: Option<Arc<Mailer>>,
    pub intake: mpsc::Sender<Pending>,
    /// What follows from changes, in their order.
    pub effects: mpsc::UnboundedSender<Effect>,
    /// The world's version.
    pub changed: watch::Sender<u64>,
    /// Those who wait for a room.
    pub watchers: Watchers<RoomId>,
    /// Who waits for news of a job's subjects.
    pub subjects: Watchers<(u8, Subject)>,
    /// True once the server is to stop.
    pub stopping: watch::Receiver<bool>,
    pub counters: Counters,
    /// Entries that are not shown before they are mended.
    pub damaged: Mutex<Damaged>,
    /// Entries that may be shown.
    pub verified: Verified,
    pub(crate) past: Mutex<History>,
    pub(crate) state: Mutex<World>,
}

/// What is counted since the start.
pub(crate) struct Counters {
    pub published: AtomicU64,
    pub too_few: AtomicU64,
    pub stopped: AtomicU64,
    pub prepared: AtomicU64,
    /// Batches that each server dropped after it had said that it holds them.
    pub withdrawn: ByParty<AtomicU64>,
}

impl Counters {
    /// Nothing yet, of so many servers.
    pub fn new(parties: usize) -> Self {
        let (published, too_few, stopped, prepared) = Default::default();
        let withdrawn = ByParty::new(parties, |_| AtomicU64::default());
        Self { published, too_few, stopped, prepared, withdrawn }
    }
}

impl Core {
    pub fn me(&self) -> PartyId {
        self.party.id
    }

    pub fn world(&self) -> MutexGuard<'_, World> {
        self.state.lock().expect("no panic while the state is changed")
    }

    /// The record for the operator. Locked after the world, if both are needed.
    pub fn history(&self) -> MutexGuard<'_, History> {
        self.past.lock().expect("no panic while held")
    }

    /// Carries out a change that is on disk, made by announcement `number` of its author.
    pub fn apply(&self, number: u64, change: &Change, now: u64) -> Vec<Effect> {
        let world = self.world();
        self.history().note(&world, change, now);
        drop(world);
        let effects = self.change(|world| world.apply(number, change, now));
        self.note_moved(change);
        effects
    }

    /// The engine of this kind.
    ///
    /// # Errors
    /// That this server does not have it, in words.
    pub fn engine(&self, kind: EngineKind) -> Result<&Arc<dyn Engine>, String> {
        self.engines.get(&kind).ok_or_else(|| format!("this server has no engine {kind:?}"))
    }

    /// Who was given a slot by another server has gone there.
    fn note_moved(&self, change: &Change) {
        let Change::Assign { room, epoch, author, slots, .. } = change else { return };
        if *author == self.me() {
            return;
        }
        let room = RoomId(*room);
        let world = self.world();
        let collecting = world.rooms.get(&room).and_then(|room| room.collecting(*epoch));
        let seated_here = |key: &VerifyingKey| {
            let slots = collecting.and_then(|collecting| collecting.keys.get(key));
            let own = |slot: &u32| slot_class(*slot, self.trusts.parties()) == self.me();
            slots.is_some_and(|slots| slots.iter().any(own))
        };
        let mut presence = self.presence.lock().expect("no panic while held");
        presence.moved(&room, slots.iter().map(|(_, key)| key), seated_here);
    }

    /// Changes the state, and wakes whoever waits for a change. News of a room raises its version,
    /// or takes it away.
    pub fn change<T>(&self, work: impl FnOnce(&mut World) -> T) -> T {
        let mut world = self.world();
        let before = world.version;
        let result = work(&mut world);
        let version = world.version;
        self.watchers.wake(|id| world.rooms.get(id).is_none_or(|room| room.version > before));
        self.subjects.wake(|(job, subject)| world.jobs.version(*job, subject) > before);
        drop(world);
        self.changed.send_replace(version);
        result
    }

    /// Hands on what follows from a change, to whoever sets it in motion.
    pub fn dispatch(&self, effects: Vec<Effect>) {
        for effect in effects {
            // The receiver ends with the server.
            let _ = self.effects.send(effect);
        }
    }

    /// Runs something until it ends or the server stops.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut stopping = self.stopping.clone();
        self.platform.spawn(Box::pin(async move {
            tokio::select! {
                biased;
                _ = stopping.wait_for(|stop| *stop) => {}
                () = work => {}
            }
        }));
    }

    /// Runs the engine's work on a thread of its own, away from the threads that serve the network.
    /// `None` if `cancel` resolved first or the server stops.
    pub async fn on_engine_thread<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
        cancel: impl Future<Output = ()> + Send + 'static,
    ) -> Option<T> {
        let (done, result) = oneshot::channel();
        let mut stopping = self.stopping.clone();
        let started = self.platform.spawn_engine(Box::pin(async move {
            let stop = async move { drop(stopping.wait_for(|stop| *stop).await) };
            let result = futures::select_biased! {
                result = Box::pin(work.fuse()) => Some(result),
                () = Box::pin(cancel.fuse()) => None,
                () = Box::pin(stop.fuse()) => None,
            };
            drop(done.send(result));
        }));
        if let Err(error) = started {
            tracing::error!(%error, "no thread can be started for the engine; raise the limit on processes");
            return None;
        }
        // If the engine panicked, the sender is gone.
        result.await.ok().flatten()
    }

    /// Waits until the state is as `condition` asks for.
    pub async fn wait_until(&self, mut condition: impl FnMut(&World) -> bool) {
        let mut changed = self.changed.subscribe();
        loop {
            changed.mark_unchanged();
            if condition(&self.world()) {
                return;
            }
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    /// Waits until a room is as `condition` asks for. It is asked again when there is news of the
    /// room.
    pub async fn wait_until_in(&self, room: &RoomId, condition: impl Fn(&World) -> bool) {
        self.watchers.wait(room, || condition(&self.world())).await;
    }
}
