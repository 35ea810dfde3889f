//! What a running server answers to the requests of [`crate::Service`].

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use ostrakon_crypto::VerifyingKey;
use ostrakon_mixing::engine::Rejected;
use ostrakon_mixing::envelope;
use ostrakon_mixing::envelope::{IssueName, Issued};
use ostrakon_mixing::room::{RoomId, Servers};
use ostrakon_mixing::{Batch, EpochContext};
use ostrakon_net::Reach;
use ostrakon_party::PartyId;
use ostrakon_store::{FaultRow, Intake, SubmissionRow, Taken};
use tokio::sync::mpsc;

use crate::answers::{epoch_over, internal, no_room};
use crate::boards::archive::BoardArchive;
use crate::boards::erasure;
use crate::boards::reading::read_sound_board;
use crate::config::Config;
use crate::core::Core;
use crate::intake::Pending;
use crate::ledger::agree::NOTICE;
use crate::ledger::evidence::FaultFile;
use crate::memory::batches::LoadedBatch;
use crate::memory::presence::{Bound, Visitor};
use crate::memory::quotas::Creator;
use crate::platform::Platform;
use crate::rooms::taking_part::Source;
use crate::state::announcement::Body;
use crate::state::{Collecting, Room, World, overdue, room_nonce, scheduling};
use ostrakon_protocol::{
    BoardPage, CollectPhase, EpochStatus, FaultInfo, MixingStatus, NewRoom, Overdue, PeerStatus,
    RoomInfo, RoomState, ServerInfo, ServersInfo, ServiceError, Status,
};

/// A room that this server shows.
pub(crate) fn shown<'a>(world: &'a World, id: &RoomId) -> Result<&'a Room, ServiceError> {
    let room = world.rooms.get(id).ok_or_else(no_room)?;
    if room.deleted {
        return Err(ServiceError::NotFound(
            "the operator of this server has deleted this room".into(),
        ));
    }
    Ok(room)
}

impl Core {
    pub(crate) fn servers_info(&self) -> ServersInfo {
        let describe = |(party, server): (u8, &crate::config::ServerConfig)| ServerInfo {
            party,
            name: server.name.clone(),
            url: server.url.clone(),
            key: server.key.to_hex(),
        };
        ServersInfo {
            you: self.me().0,
            session: self.servers.session.0.to_hex(),
            digest: self.servers.digest().to_hex(),
            servers: (0u8..).zip(&self.config.servers).map(describe).collect(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            create: self.config.rooms.create,
            limits: self.config.rooms.limits(),
            mail: self.mailer.is_some(),
        }
    }

    fn room_info(&self, id: &RoomId) -> Result<RoomInfo, ServiceError> {
        let world = self.world();
        let room = shown(&world, id)?;
        Ok(RoomInfo::of(&room.descriptor, room.open))
    }

    pub(crate) fn rooms(&self) -> Vec<RoomInfo> {
        let world = self.world();
        let there = world.rooms.values().filter(|room| !room.deleted);
        there.map(|room| RoomInfo::of(&room.descriptor, room.open)).collect()
    }

    pub(crate) fn room(&self, id: RoomId) -> Result<RoomInfo, ServiceError> {
        self.room_info(&id)
    }

    /// The names of the servers that cannot be reached.
    pub(crate) fn missing(&self) -> Vec<String> {
        let name = |id: &PartyId| {
            self.config.servers.get(id.index()).map_or(id.to_string(), |server| server.name.clone())
        };
        self.unreachable().iter().map(name).collect()
    }

    fn unreachable(&self) -> Vec<PartyId> {
        let states = self.mesh.peer_states();
        let gone = states.iter().filter(|(_, state)| state.reach == Reach::No);
        gone.map(|(id, _)| *id).collect()
    }

    /// The servers that cannot be reached, or have not echoed for a while what this one said.
    pub(crate) fn silent(&self, now: u64) -> Vec<PartyId> {
        let mut silent = self.unreachable();
        silent.extend(self.logs.silent(now));
        silent.sort_unstable();
        silent.dedup();
        silent
    }

    /// Creates a room. A host who has not got the answer asks for the same once more, and gets the
    /// room that is there.
    pub(crate) async fn create_room(
        self: &Arc<Self>,
        room: NewRoom,
        creator: Creator,
    ) -> Result<RoomInfo, ServiceError> {
        if let Some(there) = self.room_as_wished(&room) {
            return Ok(there);
        }
        let nonce = room_nonce(self.platform.random(), self.me(), self.trusts.parties());
        let descriptor = room.descriptor(nonce);
        descriptor.validate().map_err(|error| ServiceError::Refused(error.to_string()))?;
        self.engine(descriptor.engine).map_err(ServiceError::Refused)?;
        if let Creator::Guest(origin) = creator {
            self.admit_guest_room(&descriptor, origin)?;
        }
        let id = descriptor.id();
        self.announce_and_wait(Body::RoomCreated(descriptor)).await?;
        self.room_info(&id)
    }

    /// The open room of the same host with the same settings.
    fn room_as_wished(&self, wish: &NewRoom) -> Option<RoomInfo> {
        wish.host?;
        let world = self.world();
        let is_same = |room: &&Room| {
            let there = &room.descriptor;
            room.open
                && !room.deleted
                && there.host == wish.host
                && *there == wish.clone().descriptor(there.nonce)
        };
        world.rooms.values().find(is_same).map(|room| RoomInfo::of(&room.descriptor, room.open))
    }

    pub(crate) async fn close_room(self: &Arc<Self>, id: RoomId) -> Result<RoomInfo, ServiceError> {
        if self.room_info(&id)?.state == RoomState::Open {
            self.announce_and_wait(Body::RoomClosed(id)).await?;
        }
        self.room_info(&id)
    }

    /// Deletes a room at this server, for good (`docs/spec/hosting.md`, step 14). The same once
    /// more changes nothing.
    pub(crate) async fn delete_room(self: &Arc<Self>, id: RoomId) -> Result<(), ServiceError> {
        let (open, deleted) = {
            let world = self.world();
            let room = world.rooms.get(&id).ok_or_else(no_room)?;
            (room.open, room.deleted)
        };
        if deleted {
            return Ok(());
        }
        if open {
            self.announce_and_wait(Body::RoomClosed(id)).await?;
        }
        self.store.delete_room(&id.0).await.map_err(internal)?;
        self.change(|world| {
            if let Some(room) = world.rooms.get_mut(&id) {
                room.deleted = true;
            }
            world.touch(&id);
        });
        // It goes on after the answer, and at the next start if it has to.
        let core = Arc::clone(self);
        self.spawn(async move { erasure::erase_room(&core, id).await });
        Ok(())
    }

    /// Announces something and gives the others a while to take notice. Without them it holds here
    /// all the same, and they will learn of it.
    pub(crate) async fn announce_and_wait(
        self: &Arc<Self>,
        body: Body,
    ) -> Result<(), ServiceError> {
        let late = || {
            ServiceError::Unavailable(
                "the other servers do not answer; try again when they do".into(),
            )
        };
        let noticed =
            self.platform.timeout(NOTICE, self.announce(body)).await.ok_or_else(late)??;
        self.platform.timeout(NOTICE, noticed).await;
        Ok(())
    }

    pub(crate) fn room_size(&self, id: &RoomId) -> Option<(u32, u32)> {
        let world = self.world();
        let descriptor = &shown(&world, id).ok()?.descriptor;
        Some((descriptor.capacity, descriptor.seconds))
    }

    pub(crate) async fn status(
        &self,
        id: RoomId,
        after: u64,
        wait: Duration,
    ) -> Result<Status, ServiceError> {
        self.room_info(&id)?;
        let newer = |world: &World| world.rooms.get(&id).is_none_or(|room| room.version > after);
        self.platform.timeout(wait, self.wait_until_in(&id, newer)).await;
        self.status_now(&id)
    }

    pub(crate) fn status_now(&self, id: &RoomId) -> Result<Status, ServiceError> {
        let now = self.platform.now_ms();
        let own = self.presence.lock().expect("no panic while held").count(id, now);
        let world = self.world();
        let room = shown(&world, id)?;
        let form = ostrakon_mixing::engine::Form::of(&room.descriptor);
        let assigned = room.collecting.as_ref().map(|epoch| epoch.assigned.as_slice().to_vec());
        let mut places = assigned.unwrap_or_else(|| vec![0; self.trusts.parties()]);
        let (me, mut present) = (self.me().index(), places.clone());
        (places[me], present[me]) = (places[me] + self.count_waiting(id, room), own);
        let computing = room
            .computing
            .iter()
            .filter_map(|(number, computing)| Some((*number, computing.phase?)));
        let usable =
            world.batches.values().filter(|batch| batch.is_usable() && batch.form == form).count();
        let states = self.mesh.peer_states();
        let peer = |(id, state): (&ostrakon_party::PartyId, &ostrakon_net::PeerState)| PeerStatus {
            party: id.0,
            reachable: state.reach != Reach::No,
        };
        Ok(Status {
            version: room.version,
            epoch: epoch_status(room, now),
            mixing: computing.map(|(number, phase)| MixingStatus { number, phase }).collect(),
            last: room.last.clone(),
            may_have_opened: room.may_have_opened.iter().copied().collect(),
            minimum: room.log.minimum(),
            present: present.to_vec(),
            places: places.to_vec(),
            board_length: room.board_length,
            actions: room.log.length(),
            stock: u32::try_from(usable).unwrap_or(u32::MAX),
            peers: states.iter().map(peer).collect(),
            overdue: overdue(room, self.me(), &self.silent(now), now),
            context: room
                .collecting
                .as_ref()
                .map(|epoch| room.context(epoch.number, epoch.batch, epoch.minimum)),
        })
    }

    /// How many are present here and have no slot.
    fn count_waiting(&self, id: &RoomId, room: &Room) -> u32 {
        let mut presence = self.presence.lock().expect("no panic while held");
        presence.count_waiting(id, room.version, |key| {
            room.collecting.as_ref().is_some_and(|epoch| epoch.slot_of(key).is_some())
        })
    }

    /// What an epoch that collects is made for and made from.
    fn collecting(
        &self,
        id: &RoomId,
        epoch: u64,
    ) -> Result<(EpochContext, LoadedBatch), ServiceError> {
        let world = self.world();
        let room = shown(&world, id)?;
        let collecting = in_epoch(room, epoch)?;
        let loading = || {
            ServiceError::Unavailable(
                "the epoch's batch is just being read; try again in a moment".into(),
            )
        };
        let loaded = self.loaded.get(collecting.batch).ok_or_else(loading)?;
        Ok((room.context(epoch, collecting.batch, collecting.minimum), loaded))
    }

    /// The slot that `key` has in an epoch that collects. It may have two, if it changed its home:
    /// then the one that it was first told, or another one that is `wanted`.
    fn own_slot(
        &self,
        id: &RoomId,
        epoch: u64,
        key: &VerifyingKey,
        wanted: Option<u32>,
    ) -> Result<u32, ServiceError> {
        let world = self.world();
        let collecting = in_epoch(shown(&world, id)?, epoch)?;
        let own =
            collecting.slot_of(key).ok_or_else(|| ServiceError::NotFound("no slot yet".into()))?;
        let slot = wanted.unwrap_or(own);
        if !collecting.keys.get(key).is_some_and(|slots| slots.contains(&slot)) {
            return Err(ServiceError::NotFound(format!("slot {slot} is not the key's")));
        }
        Ok(slot)
    }

    pub(crate) async fn board_reaches(
        &self,
        id: RoomId,
        from: u64,
        wait: Duration,
    ) -> Result<(), ServiceError> {
        drop(self.room_info(&id)?);
        let longer =
            |world: &World| world.rooms.get(&id).is_none_or(|room| room.board_length > from);
        self.platform.timeout(wait, self.wait_until_in(&id, longer)).await;
        Ok(())
    }

    pub(crate) async fn board(
        &self,
        id: RoomId,
        from: u64,
        wait: Duration,
    ) -> Result<BoardPage, ServiceError> {
        self.board_reaches(id, from, wait).await?;
        let damaged = {
            let damaged = self.damaged.lock().expect("no panic while held");
            damaged.get(&id).and_then(|places| places.range(from..).next().copied())
        };
        let (servers, room) = (&self.servers, self.room_info(&id)?.descriptor);
        let of = (servers, &self.trusts.of(room.engine), &room);
        read_sound_board((&self.store, &self.verified), of, from, damaged).await
    }

    pub(crate) fn archive(&self, id: RoomId) -> Result<BoardArchive, ServiceError> {
        let room = self.room_info(&id)?.descriptor;
        let of = (self.servers.clone(), self.trusts.of(room.engine));
        Ok(BoardArchive::new(self.store.clone(), of, room, self.verified.clone()))
    }

    pub(crate) async fn fault_files(&self) -> Result<Vec<FaultFile>, ServiceError> {
        let rows = self.store.faults().await.map_err(internal)?;
        let (servers, jobs) = (self.servers.clone(), self.provider.jobs());
        // Some evidence is judged by computing a batch again.
        let file = move |row| FaultFile::new(&servers, &jobs, row);
        let judge = move || rows.into_iter().map(file).collect();
        self.platform.blocking(judge).await.ok_or(ServiceError::Internal)
    }

    pub(crate) async fn faults(&self) -> Result<Vec<FaultInfo>, ServiceError> {
        let rows = self.store.faults().await.map_err(internal)?;
        let info = |row: FaultRow| FaultInfo {
            seen_at: row.seen_at / 1000,
            culprit: row.culprit.0,
            what: row.what,
            evidence: row.evidence,
        };
        Ok(rows.into_iter().map(info).collect())
    }
}

impl Source for Core {
    /// What the epoch is made for, and its batch.
    type Given = (EpochContext, LoadedBatch);

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
        Ok(self.servers.clone())
    }

    fn places(&self, id: &RoomId) -> Result<Option<u32>, ServiceError> {
        let world = self.world();
        let room = shown(&world, id)?;
        Ok(room.open.then_some(room.descriptor.capacity))
    }

    async fn admits(&self, id: &RoomId, key: &VerifyingKey) -> Result<bool, ServiceError> {
        Ok(shown(&self.world(), id)?.log.admits(key))
    }

    async fn note(
        &self,
        id: RoomId,
        visitor: Visitor,
        now: u64,
        bound: Bound,
    ) -> Result<(), ServiceError> {
        Ok(self.presence.lock().expect("no panic while held").note(id, visitor, now, bound)?)
    }

    fn collects(&self, id: &RoomId, epoch: u64) -> Result<(), ServiceError> {
        in_epoch(shown(&self.world(), id)?, epoch).map(drop)
    }

    fn context(&self, id: &RoomId, epoch: u64) -> Result<EpochContext, ServiceError> {
        Ok(self.collecting(id, epoch)?.0)
    }

    async fn slot_of(
        &self,
        name: &IssueName,
        key: &VerifyingKey,
    ) -> Result<(u32, Self::Given), ServiceError> {
        let slot = self.own_slot(&name.room, name.number, key, None)?;
        Ok((slot, self.collecting(&name.room, name.number)?))
    }

    fn offer(
        &self,
        name: &IssueName,
        key: &VerifyingKey,
        slot: u32,
        (context, loaded): Self::Given,
    ) -> Result<Vec<u8>, ServiceError> {
        let issue = with(&loaded, |batch| batch.issue(slot));
        let issue = issue.ok_or_else(|| epoch_over(name.number))?;
        let issued = Issued { context, slot, issue };
        Ok(envelope::offer(&self.servers, name, key, issued, |digest| self.party.sign(digest)))
    }

    async fn check(
        &self,
        id: &RoomId,
        context: EpochContext,
        row: SubmissionRow,
    ) -> Result<SubmissionRow, ServiceError> {
        let SubmissionRow { slot, key, body } = &row;
        let epoch = context.epoch.number;
        let (_, loaded) = self.collecting(id, epoch)?;
        // A server takes one submission of a key.
        let owned = self.own_slot(id, epoch, key, Some(*slot));
        let checked = match owned {
            Ok(_) => with(&loaded, |batch| batch.check(&context, *slot, key, body)),
            // A batch keeps what it finds, so it looks at nothing that is not a slot owner's.
            Err(_) => {
                let session = &self.servers.session;
                Some(self.provider.check(session, &context, *slot, key, body))
            }
        };
        let checked = checked.ok_or_else(|| epoch_over(epoch))?;
        checked.map_err(|Rejected(reason)| ServiceError::Refused(reason.into()))?;
        // Only now, as for issues.
        owned?;
        Ok(row)
    }
}

/// Does what a request needs of a batch, if it is not spent: some ten microseconds of work, less
/// than handing it to another thread and back would take.
fn with<T>(loaded: &LoadedBatch, work: impl FnOnce(&dyn Batch) -> T) -> Option<T> {
    let loaded = loaded.read().unwrap_or_else(PoisonError::into_inner);
    loaded.as_deref().map(work)
}

fn in_epoch(room: &Room, epoch: u64) -> Result<&Collecting, ServiceError> {
    room.collecting(epoch).ok_or_else(|| {
        if epoch < room.next_epoch {
            return epoch_over(epoch);
        }
        ServiceError::NotFound(format!("epoch {epoch} is not open yet"))
    })
}

fn epoch_status(room: &Room, now: u64) -> Option<EpochStatus> {
    let Some(collecting) = &room.collecting else {
        let phase = CollectPhase::WaitingForStock;
        let number = room.next_epoch;
        let waiting = EpochStatus {
            number,
            batch: None,
            phase,
            closes_in_ms: None,
            assigned: 0,
            submitted: 0,
        };
        return room.open.then_some(waiting);
    };
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    Some(EpochStatus {
        number: collecting.number,
        batch: Some(collecting.batch),
        phase: CollectPhase::Collecting,
        closes_in_ms: scheduling::remaining(collecting, room, now),
        assigned: count(collecting.slots.len()),
        submitted: count(collecting.submitted.len()),
    })
}

/// Why a room's epoch is not closed or opened, if it is overdue.
pub(crate) fn overdue(room: &Room, me: PartyId, silent: &[PartyId], now: u64) -> Option<Overdue> {
    let overdue::Overdue { since, by } = overdue::overdue(room, me, silent, now)?;
    let by = by.into_iter().map(|party| party.0).collect();
    Some(Overdue { for_ms: now.saturating_sub(since), by })
}

/// Notes in memory which slots have submitted. It wakes nobody: participants learn nothing new from
/// it.
pub(crate) fn note(core: &Core, intakes: &[Intake], taken: &[Taken]) {
    let mut world = core.world();
    for (intake, taken) in intakes.iter().zip(taken) {
        if let (Intake::Submission { room, epoch, row }, Taken::Recorded) = (intake, taken)
            && let Some(room) = world.rooms.get_mut(&RoomId(*room))
            && let Some(collecting) =
                room.collecting.as_mut().filter(|collecting| collecting.number == *epoch)
        {
            collecting.submitted.insert(row.slot);
        }
    }
}
