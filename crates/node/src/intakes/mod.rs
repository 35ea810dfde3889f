//! An intake process: it serves participants from the database that an engine process shares with
//! it, and has no key.
//!
//! It checks what participants send as the engine does, by the same functions
//! ([`taking_part`](crate::rooms::taking_part)), writes down who is there and what is handed in,
//! and closes for a slot's owner what the engine has signed for it. Nothing in its memory matters:
//! it can be killed at any moment, and others beside it go on. What must be announced to the other
//! servers it leaves to the engine.

pub(crate) mod engine_side;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ostrakon_broadcast::hosting::HostLog;
use ostrakon_crypto::{Digest, VerifyingKey};
use ostrakon_mixing::EpochContext;
use ostrakon_mixing::engine::Rejected;
use ostrakon_mixing::envelope::IssueName;
use ostrakon_mixing::room::{RoomDescriptor, RoomId, Servers};
use ostrakon_party::{SessionId, Trust};
use ostrakon_store::{Intake, SubmissionRow, View};
use tokio::sync::{mpsc, watch};

use crate::answers::{epoch_over, internal, no_room};
use crate::boards::archive::BoardArchive;
use crate::boards::reading::read_sound_board;
use crate::config::Config;
use crate::disk::{Disk, TRY_EVERY};
use crate::intake::{self, Pending};
use crate::intakes::engine_side::{ALIVE, ALIVE_MS, Alive, RoomView, Trouble};
use crate::memory::presence::{self, Bound, Full, Visitor};
use crate::memory::verified::Verified;
use crate::memory::watchers::Watchers;
use crate::platform::{Platform, StartError};
use crate::provider::EngineProvider;
use crate::rooms::hosting::read_actions;
use crate::rooms::taking_part::Source;
use ostrakon_protocol::{
    ActionsPage, BoardPage, CollectPhase, Readiness, RoomInfo, RoomState, ServersInfo,
    ServiceError, Status,
};

/// How often the engine's views are read.
const LOOK: Duration = Duration::from_millis(100);
/// After so many milliseconds without a sign of life the engine is missed.
const MISSED_MS: u64 = 10 * ALIVE_MS;

/// An intake process.
pub(crate) struct IntakeProcess {
    config: Arc<Config>,
    platform: Arc<dyn Platform>,
    provider: Arc<dyn EngineProvider>,
    store: Disk,
    shown: Mutex<Shown>,
    /// Those who wait for a room.
    watchers: Watchers<RoomId>,
    /// The host logs of rooms for members, as far as read.
    logs: tokio::sync::Mutex<BTreeMap<RoomId, HostLog>>,
    /// Who said here that it is there.
    presence: Mutex<presence::Presence>,
    intake: mpsc::Sender<Pending>,
    verified: Verified,
    certificate_expires: AtomicU64,
    stop: watch::Sender<bool>,
}

/// What the engine has shown.
#[derive(Default)]
struct Shown {
    /// The highest number read.
    number: u64,
    rooms: BTreeMap<RoomId, Seen<RoomView>>,
    alive: Option<Seen<Alive>>,
}

/// Something that the engine has shown, with its number, and when it was first read.
struct Seen<T> {
    shown: T,
    number: u64,
    at: u64,
}

impl<T: serde::de::DeserializeOwned> Seen<T> {
    /// What is read now. The same once more, because everything is read again, is no news of the
    /// engine.
    fn read(view: &View, before: Option<Self>, now: u64) -> Option<Self> {
        let at =
            before.filter(|before| before.number == view.number).map_or(now, |before| before.at);
        let shown = serde_json::from_slice(&view.value).ok()?;
        Some(Self { shown, number: view.number, at })
    }
}

/// Starts an intake process.
pub(crate) async fn start(
    config: Config,
    provider: Arc<dyn EngineProvider>,
    platform: Arc<dyn Platform>,
) -> Result<Arc<IntakeProcess>, StartError> {
    let store = Disk::join(&config.database()?, Arc::clone(&platform)).await?;
    let (intake, arriving) = mpsc::channel(intake::WAITING);
    let intake = Arc::new(IntakeProcess {
        config: Arc::new(config),
        platform: Arc::clone(&platform),
        provider,
        store: store.clone(),
        shown: Mutex::default(),
        watchers: Watchers::default(),
        logs: tokio::sync::Mutex::default(),
        presence: Mutex::default(),
        intake,
        verified: Verified::default(),
        certificate_expires: AtomicU64::new(0),
        stop: watch::Sender::new(false),
    });
    intake.spawn(intake::run(store, arriving, |_, _| {}));
    intake.spawn(look(Arc::clone(&intake)));
    intake.spawn(keep_trying(Arc::clone(&intake)));
    Ok(intake)
}

/// Reads what the engine shows, until the process stops.
async fn look(intake: Arc<IntakeProcess>) {
    let mut trouble = Trouble::default();
    loop {
        let read = intake.read_views().await;
        let failed = read.as_ref().err().map(|_| "read").into_iter().collect();
        match (trouble.is_news(failed, intake.platform.now_ms()), read) {
            (true, Err(error)) => {
                tracing::warn!(%error, "what the engine shows cannot be read; trying again");
            }
            (true, Ok(())) => tracing::info!("what the engine shows can be read again"),
            (false, _) => (),
        }
        intake.presence.lock().expect("no panic while held").forget(intake.platform.now_ms());
        intake.platform.sleep(LOOK).await;
    }
}

/// While nothing can be written, tries to: whoever looks whether this process is ready may send
/// nobody to it meanwhile. What it writes is of no room, and counts for nothing.
async fn keep_trying(intake: Arc<IntakeProcess>) {
    let key = intake.config.servers[usize::from(intake.config.party)].key;
    loop {
        intake.platform.sleep(TRY_EVERY).await;
        if intake.store.trouble().is_some() {
            let seen = ostrakon_store::Seen { room: [0; 16], key, at: intake.platform.now_ms() };
            // Its failure is noted.
            drop(intake.store.take_in(&[Intake::Presence(seen)]).await);
        }
    }
}

impl IntakeProcess {
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut stopping = self.stop.subscribe();
        self.platform.spawn(Box::pin(async move {
            tokio::select! {
                biased;
                () = work => {}
                _ = stopping.wait_for(|stop| *stop) => {}
            }
        }));
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().expect("no panic while held")
    }

    async fn read_views(&self) -> Result<(), ostrakon_store::Error> {
        let after = self.shown().number;
        let views = self.store.views(after).await?;
        let now = self.platform.now_ms();
        let mut shown = self.shown();
        if views.is_empty() {
            // If the database crashed, it has forgotten what was shown, and the numbers begin anew.
            if shown.alive.as_ref().is_some_and(|alive| alive.at + MISSED_MS < now) {
                shown.number = 0;
            }
            return Ok(());
        }
        let mut news = BTreeSet::new();
        for view in views {
            shown.number = view.number;
            if view.name == ALIVE {
                shown.alive = Seen::read(&view, shown.alive.take(), now);
            } else if let Some(room) = RoomId::from_hex(&view.name)
                && let Some(seen) = Seen::read(&view, shown.rooms.remove(&room), now)
            {
                shown.rooms.insert(room, seen);
            }
            news.extend(RoomId::from_hex(&view.name));
        }
        drop(shown);
        self.watchers.wake(|room| news.contains(room));
        Ok(())
    }

    fn alive(&self) -> Result<Alive, ServiceError> {
        let waits = || ServiceError::Unavailable("waiting for this server's engine process".into());
        self.shown().alive.as_ref().map(|alive| alive.shown.clone()).ok_or_else(waits)
    }

    pub fn servers_info(&self) -> Result<ServersInfo, ServiceError> {
        Ok(self.alive()?.servers)
    }

    /// A room's view, with the time that is left by now.
    fn view(&self, id: &RoomId) -> Result<RoomView, ServiceError> {
        let now = self.platform.now_ms();
        let shown = self.shown();
        let Seen { shown: view, at, .. } = shown.rooms.get(id).ok_or_else(no_room)?;
        let mut view = view.clone();
        let past = now.saturating_sub(*at);
        if let Some(epoch) = &mut view.status.epoch {
            epoch.closes_in_ms = epoch.closes_in_ms.map(|left| left.saturating_sub(past));
        }
        if let Some(overdue) = &mut view.status.overdue {
            overdue.for_ms += past;
        }
        Ok(view)
    }

    pub fn rooms(&self) -> Vec<RoomInfo> {
        self.shown().rooms.values().map(|view| view.shown.info.clone()).collect()
    }

    pub fn room(&self, id: &RoomId) -> Result<RoomInfo, ServiceError> {
        Ok(self.view(id)?.info)
    }

    pub async fn actions_reach(
        &self,
        id: RoomId,
        from: u64,
        wait: Duration,
    ) -> Result<(), ServiceError> {
        self.view(&id)?;
        self.wait(&id, wait, |status| status.actions > from).await;
        Ok(())
    }

    pub async fn actions(&self, id: RoomId, from: u64) -> Result<ActionsPage, ServiceError> {
        self.view(&id)?;
        read_actions(&self.store, &id, from).await
    }

    /// Waits until a room's view is as asked for, or gone, or the time is over.
    async fn wait(&self, id: &RoomId, wait: Duration, condition: impl Fn(&Status) -> bool) {
        let holds = || self.shown().rooms.get(id).is_none_or(|view| condition(&view.shown.status));
        self.platform.timeout(wait, self.watchers.wait(id, holds)).await;
    }

    pub async fn status(
        &self,
        id: RoomId,
        after: u64,
        wait: Duration,
    ) -> Result<Status, ServiceError> {
        self.view(&id)?;
        self.wait(&id, wait, |status| status.version > after).await;
        Ok(self.view(&id)?.status)
    }

    /// A room's view, if an epoch collects there.
    fn collecting(&self, id: &RoomId, epoch: u64) -> Result<RoomView, ServiceError> {
        let view = self.view(id)?;
        match view.status.epoch {
            Some(status) if status.number == epoch && status.phase == CollectPhase::Collecting => {
                Ok(view)
            }
            Some(status) if status.number > epoch => Err(epoch_over(epoch)),
            None => Err(epoch_over(epoch)),
            Some(_) => Err(ServiceError::NotFound(format!("epoch {epoch} is not open yet"))),
        }
    }

    pub async fn board_reaches(
        &self,
        id: RoomId,
        from: u64,
        wait: Duration,
    ) -> Result<(), ServiceError> {
        self.view(&id)?;
        self.wait(&id, wait, |status| status.board_length > from).await;
        Ok(())
    }

    pub async fn board(
        &self,
        id: RoomId,
        from: u64,
        wait: Duration,
    ) -> Result<BoardPage, ServiceError> {
        self.board_reaches(id, from, wait).await?;
        let (servers, room) = (self.servers()?, self.room(&id)?.descriptor);
        let damaged = self.store.damaged(&id.0, from).await.map_err(internal)?;
        let trust = self.trust(&room)?;
        let of = (&servers, &trust, &room);
        read_sound_board((&self.store, &self.verified), of, from, damaged).await
    }

    /// What a room's engine bears.
    fn trust(&self, room: &RoomDescriptor) -> Result<Trust, ServiceError> {
        let trusts = self.provider.trusts(self.config.servers.len());
        Ok(trusts.map_err(ServiceError::Unavailable)?.of(room.engine))
    }

    pub fn archive(&self, id: RoomId) -> Result<BoardArchive, ServiceError> {
        let room = self.room(&id)?.descriptor;
        Ok(BoardArchive::new(
            self.store.clone(),
            (self.servers()?, self.trust(&room)?),
            room,
            self.verified.clone(),
        ))
    }

    /// What this process does not do.
    pub fn elsewhere(&self) -> ServiceError {
        let at = self
            .config
            .process
            .engine
            .as_deref()
            .map_or(String::new(), |url| format!(", at {url}"));
        ServiceError::Elsewhere(format!(
            "this process serves participants: ask this server's engine process{at}"
        ))
    }

    pub fn set_certificate_expires(&self, time: u64) {
        self.certificate_expires.store(time, Ordering::Relaxed);
    }

    pub fn certificate_expires(&self) -> Option<u64> {
        Some(self.certificate_expires.load(Ordering::Relaxed)).filter(|time| *time != 0)
    }

    pub fn readiness(&self) -> Readiness {
        let now = self.platform.now_ms();
        let certificate_expires = self.certificate_expires();
        let shown = self.shown();
        let (missing, detail) = match &shown.alive {
            None => (Vec::new(), "waiting for this server's engine process".to_owned()),
            Some(alive) if alive.at + MISSED_MS < now => (
                Vec::new(),
                "this server's engine process is not at work; what is handed in is kept for it"
                    .to_owned(),
            ),
            Some(Seen { shown: Alive { missing, .. }, .. }) if !missing.is_empty() => {
                (missing.clone(), format!("{} cannot be reached", missing.join(", ")))
            }
            Some(Seen { shown: Alive { unwritable, .. }, .. }) => {
                let why = self.store.trouble().or_else(|| unwritable.clone());
                (
                    Vec::new(),
                    why.map_or(String::new(), |why| format!("nothing can be written: {why}")),
                )
            }
        };
        Readiness { ready: detail.is_empty(), missing, detail, certificate_expires }
    }

    /// Stops everything. There is nothing that remains.
    pub async fn stop(&self) {
        self.stop.send_replace(true);
        self.store.close().await;
    }
}

impl Source for IntakeProcess {
    /// The engine's offer.
    type Given = Vec<u8>;

    fn platform(&self) -> &dyn Platform {
        &*self.platform
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn intake(&self) -> &mpsc::Sender<Pending> {
        &self.intake
    }

    fn servers(&self) -> Result<Servers, ServiceError> {
        let session =
            Digest::from_hex(&self.servers_info()?.session).ok_or(ServiceError::Internal)?;
        let keys = self.config.servers.iter().map(|server| server.key).collect();
        Ok(Servers { session: SessionId(session), keys })
    }

    fn places(&self, id: &RoomId) -> Result<Option<u32>, ServiceError> {
        let info = self.view(id)?.info;
        Ok((info.state == RoomState::Open).then_some(info.descriptor.capacity))
    }

    /// By the host log, which every process reads for itself.
    async fn admits(&self, id: &RoomId, key: &VerifyingKey) -> Result<bool, ServiceError> {
        let RoomView { info, status } = self.view(id)?;
        if info.descriptor.admission.takes_all() {
            return Ok(true);
        }
        let servers = self.servers()?;
        let mut logs = self.logs.lock().await;
        let log = logs.entry(*id).or_insert_with(|| HostLog::new(&servers, &info.descriptor));
        while log.length() < status.actions {
            let page = read_actions(&self.store, id, log.length()).await?;
            if page.actions.is_empty() {
                break;
            }
            for action in page.actions {
                log.apply(&action).map_err(|_| ServiceError::Internal)?;
            }
        }
        Ok(log.admits(key))
    }

    async fn note(
        &self,
        id: RoomId,
        visitor: Visitor,
        now: u64,
        bound: Bound,
    ) -> Result<(), ServiceError> {
        let present = self.view(&id)?.status.present;
        let key = visitor.key;
        {
            let mut presence = self.presence.lock().expect("no panic while held");
            let others = present.get(self.config.id().index()).copied().unwrap_or(0);
            if others >= bound.all && !presence.knows(&id, &key) {
                return Err(Full::Room.into());
            }
            presence.note(id, visitor, now, bound)?;
        }
        let seen = ostrakon_store::Seen { room: id.0, key, at: now };
        intake::take_in(&self.intake, Intake::Presence(seen)).await.map(drop)
    }

    fn collects(&self, id: &RoomId, epoch: u64) -> Result<(), ServiceError> {
        self.collecting(id, epoch).map(drop)
    }

    fn context(&self, id: &RoomId, epoch: u64) -> Result<EpochContext, ServiceError> {
        self.collecting(id, epoch)?.status.context.ok_or_else(|| epoch_over(epoch))
    }

    async fn slot_of(
        &self,
        name: &IssueName,
        key: &VerifyingKey,
    ) -> Result<(u32, Self::Given), ServiceError> {
        let offer = self.store.offer(&name.room.0, name.number, key).await.map_err(internal)?;
        let offer = offer.ok_or_else(|| ServiceError::NotFound("no slot yet".into()))?;
        Ok((offer.slot, offer.offer))
    }

    fn offer(
        &self,
        _: &IssueName,
        _: &VerifyingKey,
        _: u32,
        given: Self::Given,
    ) -> Result<Vec<u8>, ServiceError> {
        Ok(given)
    }

    /// Whose the slot is, the database knows that takes the row.
    async fn check(
        &self,
        _: &RoomId,
        context: EpochContext,
        row: SubmissionRow,
    ) -> Result<SubmissionRow, ServiceError> {
        let (provider, session) = (Arc::clone(&self.provider), self.servers()?.session);
        let check = move || {
            let SubmissionRow { slot, key, body } = &row;
            provider.check(&session, &context, *slot, key, body).map(|()| row)
        };
        let checked = self.platform.blocking(check).await.ok_or(ServiceError::Internal)?;
        checked.map_err(|Rejected(reason)| ServiceError::Refused(reason.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_again_is_no_sign_of_life() {
        let view = |number| View { name: "x".into(), number, value: b"7".to_vec() };
        let first = Seen::<u8>::read(&view(3), None, 1000);
        let again = Seen::read(&view(3), first, 5000).unwrap();
        assert_eq!((again.shown, again.at), (7, 1000));
        let next = Seen::read(&view(4), Some(again), 6000).unwrap();
        assert_eq!(next.at, 6000);
        assert_eq!(
            Seen::read(&view(1), Some(next), 7000).unwrap().at,
            7000,
            "the numbers began anew"
        );
    }
}
