//! The state that the servers agree on: rooms, epochs, slots, batches. Pure: no I/O, no clock, no randomness.
//!
//! [`World::judge`] says what an announcement changes ([`Change`]), if it is valid. The change is written to disk, in one
//! transaction with the mark that the announcement was delivered, and then [`World::apply`]d, which says what is to be
//! done next ([`Effect`]).
//!
//! **The order of concurrent announcements does not matter**, so all servers come to the same state:
//! * opening, closing and voiding of epochs, and the plans for batches, come from one log, the scheduler's (P0);
//! * every server gives out slots of its own class only, so assignments of different servers never meet; which of them
//!   count in an epoch is said by the announcement that closes it (its `after`), not by the order of arrival;
//! * readiness of batches only grows, and an epoch may only be opened with a batch that every server had said is ready;
//! * what hosts do comes from the scheduler's log too, so every epoch is opened after the same actions everywhere, and who
//!   is admitted follows from what a server had heard of that log (`docs/spec/hosting.md`, step 4);
//! * what is valid never depends on anything that a concurrent announcement changes: of rooms, batches and epochs a server
//!   may speak that it had heard of, by its announcement's `after`, whatever its receivers have heard of meanwhile.
//!
//! **Bounds.** A server may create [`MOST_ROOMS`] rooms; [`BATCHES_KEPT`] batches are remembered, and those that
//! epochs collect with; an epoch has at most as many slots as the room's capacity.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostrakon_broadcast::EpochContext;
use ostrakon_broadcast::engine::{Shape, slot_class};
use ostrakon_broadcast::hosting::HostLog;
use ostrakon_broadcast::room::{EpochId, RoomDescriptor, RoomId, Servers};
use ostrakon_crypto::{Digest, VerifyingKey};
use ostrakon_decide::DecisionId;
use ostrakon_party::{PartyId, wire};
use ostrakon_store::Change;

use crate::announcement::{Announcement, Body, MOST_SLOTS};
use crate::config::SERVERS;
use crate::decisions::Decisions;
use crate::interface::{LastEpoch, MixingPhase};

mod batches;

pub use batches::{BatchInfo, Held};

/// The server that opens and closes epochs and plans batches. It can delay, and it can close an epoch before it has delivered somebody's
/// slot (`SECURITY.md`, limits); it learns nothing by either.
pub const SCHEDULER: PartyId = PartyId(0);
/// Rooms that one server may create.
pub const MOST_ROOMS: usize = 10_000;
/// Batches that are remembered, counted back from the newest. No epoch is opened with an older one; one that an epoch collects with is
/// remembered until that is sealed or given up.
pub const BATCHES_KEPT: u64 = 1000;

/// The server that may create a room, by its nonce: so no two can create the same one, and all know who did.
pub fn room_class(descriptor: &RoomDescriptor) -> PartyId {
    slot_class(descriptor.nonce[0].into(), SERVERS)
}

/// A nonce from random bytes, of a room of this server.
pub fn room_nonce(mut random: [u8; 16], author: PartyId) -> [u8; 16] {
    let servers = SERVERS as u8;
    random[0] = random[0] % (u8::MAX / servers) * servers + author.0;
    random
}

/// An announcement that no honest server makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub &'static str);

/// What is to be done after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Prepare a batch, or decline to.
    Prepare(u64),
    /// All servers hold a batch: forget the messages of its preparation.
    Retire(u64),
    /// Stop preparing a batch and delete it: it will never be used.
    Discard(u64),
    /// Take an epoch's batch into use.
    Load(EpochId),
    /// Compute a sealed epoch.
    Compute(EpochId),
    /// Examine a decision that was closed, and open it.
    Open(DecisionId),
    /// Do what a host's action asks of every server: the action of this number in the room's host log.
    Hosted(RoomId, u64),
}

/// The owner of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The key.
    pub key: VerifyingKey,
    /// The number of the announcement, of the slot's class's server.
    pub announcement: u64,
}

/// An epoch that collects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collecting {
    /// Its number.
    pub number: u64,
    /// Its batch.
    pub batch: u64,
    /// The number of the scheduler's announcement that opened it.
    pub opened: u64,
    /// When it was opened, in milliseconds since 1970.
    pub opened_at: u64,
    /// When its first slot was assigned: its clock runs from then on.
    pub begun_at: Option<u64>,
    /// Slots that have an owner.
    pub slots: BTreeMap<u32, Owner>,
    /// The same slots in the order in which this server learned of their owners.
    pub order: Vec<u32>,
    /// How many of them each server gave out.
    pub assigned: [u32; SERVERS],
    /// The lowest slot of each server's class that has no owner; beyond the room's capacity once all have one.
    pub lowest_free: [u32; SERVERS],
    /// Slots of each key. An honest server gives a key one; with a corrupt one there may be one per server.
    pub keys: BTreeMap<VerifyingKey, BTreeSet<u32>>,
    /// Slots whose submission this server holds. Not agreed on: the engine does that.
    pub submitted: BTreeSet<u32>,
    /// Who may have a slot, as the host log was when the epoch was opened; everybody, if there is no list.
    pub members: Option<Arc<BTreeSet<VerifyingKey>>>,
    /// Who was admitted since, each with the number of the scheduler's announcement that said so.
    pub admitted: BTreeMap<VerifyingKey, u64>,
}

impl Collecting {
    /// An epoch without participants, to which `members` are admitted, or everybody.
    pub fn new(
        number: u64,
        batch: u64,
        opened_at: u64,
        members: Option<Arc<BTreeSet<VerifyingKey>>>,
    ) -> Self {
        let (slots, order, assigned, keys, submitted, admitted) = Default::default();
        let lowest_free = std::array::from_fn(|class| class as u32);
        Self {
            number,
            batch,
            opened: 0,
            opened_at,
            begun_at: None,
            slots,
            order,
            assigned,
            lowest_free,
            keys,
            submitted,
            members,
            admitted,
        }
    }

    /// Whether a server that knows so many of the scheduler's announcements may give the key a slot. What it knew is part of
    /// its word, so all judge that alike, however much they know themselves.
    pub fn admits(&self, key: &VerifyingKey, known: u64) -> bool {
        let Some(members) = &self.members else { return true };
        members.contains(key)
            || self.admitted.get(key).is_some_and(|announcement| *announcement < known)
    }

    /// Admits keys to an epoch that collects, by this announcement of the scheduler. Who is admitted already stays so.
    pub fn admit(&mut self, keys: &[VerifyingKey], announcement: u64) {
        let Some(members) = &self.members else { return };
        for key in keys.iter().filter(|key| !members.contains(key)) {
            self.admitted.entry(*key).or_insert(announcement);
        }
    }

    /// Gives a slot an owner.
    pub fn assign(&mut self, slot: u32, owner: Owner) {
        if self.slots.insert(slot, owner).is_none() {
            let class = slot_class(slot, SERVERS).index();
            self.order.push(slot);
            self.assigned[class] += 1;
            // No slot is taken back, so nobody need look at those below again.
            while self.slots.contains_key(&self.lowest_free[class]) {
                self.lowest_free[class] += SERVERS as u32;
            }
        }
        self.keys.entry(owner.key).or_default().insert(slot);
    }

    /// The slot of a key: the lowest, should a corrupt server have given it another.
    pub fn slot_of(&self, key: &VerifyingKey) -> Option<u32> {
        self.keys.get(key)?.first().copied()
    }

    /// How many of `slots` each server gave out.
    pub fn by_class<'a>(slots: impl IntoIterator<Item = &'a u32>) -> [u32; SERVERS] {
        let mut counts = [0; SERVERS];
        for slot in slots {
            counts[slot_class(*slot, SERVERS).index()] += 1;
        }
        counts
    }
}

/// An epoch that was sealed and is not finished at all servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Computing {
    /// Its batch.
    pub batch: u64,
    /// How far it is; `None` once its outcome stands.
    pub phase: Option<MixingPhase>,
}

/// A room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// What it is.
    pub descriptor: RoomDescriptor,
    /// The server whose operator created it.
    pub author: PartyId,
    /// The number of the announcement by which it did.
    pub created: u64,
    /// Whether it is open.
    pub open: bool,
    /// Whether this server's operator has deleted it. Not agreed on.
    pub deleted: bool,
    /// The number of the next epoch to be opened.
    pub next_epoch: u64,
    /// The epoch that collects.
    pub collecting: Option<Collecting>,
    /// Epochs that are not finished.
    pub computing: BTreeMap<u64, Computing>,
    /// How the last one ended.
    pub last: Option<LastEpoch>,
    /// Entries on the board.
    pub board_length: u64,
    /// Digest of the last entry, zeros if there is none.
    pub head: Digest,
    /// What its hosts did.
    pub log: HostLog,
    /// When somebody last got a slot, or the room came into being; in milliseconds since 1970 by this server's clock. Not
    /// agreed on.
    pub active_at: u64,
    /// The world's version at its last change.
    pub version: u64,
}

impl Room {
    /// A new room.
    pub fn new(descriptor: RoomDescriptor, author: PartyId, servers: &Servers) -> Self {
        Self {
            log: HostLog::new(servers, &descriptor),
            active_at: 0,
            descriptor,
            author,
            created: 0,
            open: true,
            deleted: false,
            next_epoch: 0,
            collecting: None,
            computing: BTreeMap::new(),
            last: None,
            board_length: 0,
            head: Digest([0; 32]),
            version: 1,
        }
    }

    /// Whether a server that knows so many announcements of each knows of it.
    fn is_known_by(&self, after: &[u64; SERVERS]) -> bool {
        self.created < after[self.author.index()]
    }

    /// The context of one of its epochs.
    pub fn context(&self, number: u64, batch: u64) -> EpochContext {
        EpochContext {
            epoch: EpochId { room: self.descriptor.id(), number },
            batch,
            shape: Shape::of(&self.descriptor),
            mode: self.descriptor.mode,
            minimum: self.descriptor.minimum,
        }
    }

    /// Whether an epoch that is not finished has this batch.
    pub fn uses(&self, batch: u64) -> bool {
        let collecting =
            self.collecting.as_ref().is_some_and(|collecting| collecting.batch == batch);
        collecting || self.computing.values().any(|computing| computing.batch == batch)
    }

    /// The epoch that collects, if it is this one.
    pub fn collecting(&self, number: u64) -> Option<&Collecting> {
        self.collecting.as_ref().filter(|epoch| epoch.number == number)
    }
}

/// Everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// The servers: the hosts sign for them.
    pub servers: Servers,
    /// Rooms by id.
    pub rooms: BTreeMap<RoomId, Room>,
    /// Batches by number.
    pub batches: BTreeMap<u64, BatchInfo>,
    /// Batches below this number belong to earlier generations.
    pub first_batch: u64,
    /// Private decisions.
    pub decisions: Decisions,
    /// Grows with every change.
    pub version: u64,
    /// Batches dropped since the last one became ready, and when the last was.
    pub setbacks: (u32, u64),
}

impl World {
    /// Nothing yet.
    pub fn new(servers: Servers) -> Self {
        let (rooms, batches, first_batch, decisions, version, setbacks) = Default::default();
        Self { servers, rooms, batches, first_batch, decisions, version, setbacks }
    }

    /// The version after a change to `room`.
    pub fn touch(&mut self, room: &RoomId) {
        self.version += 1;
        if let Some(room) = self.rooms.get_mut(room) {
            room.version = self.version;
        }
    }

    /// What announcement `number` of `author` changes; `None` if it is valid and changes nothing (any more). `at` is this
    /// server's clock.
    ///
    /// # Errors
    /// [`Invalid`]: then it changes nothing, on any server.
    pub fn judge(
        &self,
        author: PartyId,
        number: u64,
        announcement: &Announcement,
        at: u64,
    ) -> Result<Option<Change>, Invalid> {
        let after = &announcement.after;
        if after[author.index()] != number {
            return Err(Invalid(
                "an announcement comes after all earlier ones of its author, and no other",
            ));
        }
        match &announcement.body {
            Body::RoomCreated(descriptor) => self.judge_new_room(author, descriptor),
            Body::RoomClosed(room) => {
                self.known_room(room, after)?;
                Ok(Some(Change::CloseRoom { room: room.0 }))
            }
            Body::BatchPlanned { number, shape } => self.judge_plan(author, after, *number, *shape),
            Body::BatchReady { number } => {
                let change = Change::BatchReady { number: *number, party: author };
                Ok(self.knows_batch(*number, after).then_some(change))
            }
            Body::BatchDropped { number } => {
                let change = Change::BatchDropped { number: *number, party: author };
                Ok(self.knows_batch(*number, after).then_some(change))
            }
            Body::EpochOpened { room, number, batch } => {
                self.judge_opening(author, after, room, (*number, *batch), at)
            }
            Body::Assigned { room, epoch, slots } => {
                self.judge_assignment(author, after, room, *epoch, slots, at)
            }
            Body::EpochClosed { room, number } => {
                self.scheduled(author, room, *number)?;
                Ok(Some(Change::SealEpoch { room: room.0, epoch: *number, cut: after.to_vec() }))
            }
            Body::EpochVoided { room, number } => {
                self.scheduled(author, room, *number)?;
                let outcome = wire::encode(&crate::epochs::void(*number));
                Ok(Some(Change::VoidEpoch { room: room.0, epoch: *number, outcome }))
            }
            Body::Hosted { room, action } => self.judge_action(author, after, room, action),
            Body::Decided { decision, record } => {
                self.judge_record(author, number, decision, record)
            }
            Body::DecisionOpened { decision, opening } => {
                self.judge_decryption(author, after, decision, opening)
            }
        }
    }

    /// A room, if a server that knows so many announcements of each knows of it.
    pub(crate) fn known_room(
        &self,
        room: &RoomId,
        after: &[u64; SERVERS],
    ) -> Result<&Room, Invalid> {
        let room = self.rooms.get(room).filter(|room| room.is_known_by(after));
        room.ok_or(Invalid("no such room was created"))
    }

    /// Whether a server that knows so many announcements of each knows of a batch, and it is still remembered.
    fn knows_batch(&self, number: u64, after: &[u64; SERVERS]) -> bool {
        self.batches.get(&number).is_some_and(|batch| batch.planned < after[SCHEDULER.index()])
    }

    fn judge_new_room(
        &self,
        author: PartyId,
        descriptor: &RoomDescriptor,
    ) -> Result<Option<Change>, Invalid> {
        descriptor
            .validate()
            .map_err(|_| Invalid("a room's settings must be within the limits"))?;
        if room_class(descriptor) != author {
            return Err(Invalid("a server creates rooms of its own class only"));
        }
        let id = descriptor.id();
        if self.rooms.contains_key(&id) {
            return Ok(None);
        }
        if self.rooms.values().filter(|room| room.author == author).count() >= MOST_ROOMS {
            return Err(Invalid("a server creates a limited number of rooms"));
        }
        Ok(Some(Change::CreateRoom { room: id.0, descriptor: wire::encode(descriptor), author }))
    }

    fn judge_plan(
        &self,
        author: PartyId,
        after: &[u64; SERVERS],
        number: u64,
        shape: Shape,
    ) -> Result<Option<Change>, Invalid> {
        if author != SCHEDULER {
            return Err(Invalid("only the scheduler plans batches"));
        }
        // A jump would push all batches out of memory, and exhaust the numbers.
        if number != self.next_batch() {
            return Err(Invalid("batches are numbered one after another"));
        }
        // Rooms never vanish.
        if !self
            .rooms
            .values()
            .any(|room| Shape::of(&room.descriptor) == shape && room.is_known_by(after))
        {
            return Err(Invalid("a batch must have the shape of a room's tables"));
        }
        Ok(Some(Change::PlanBatch { number, rows: shape.rows, width: shape.width }))
    }

    fn judge_opening(
        &self,
        author: PartyId,
        after: &[u64; SERVERS],
        room: &RoomId,
        (number, batch): (u64, u64),
        at: u64,
    ) -> Result<Option<Change>, Invalid> {
        if author != SCHEDULER {
            return Err(Invalid("only the scheduler opens epochs"));
        }
        let known = self.known_room(room, after)?;
        if known.collecting.is_some() || number != known.next_epoch {
            return Err(Invalid("a room's epochs collect one after another"));
        }
        let info = self
            .batches
            .get(&batch)
            .ok_or(Invalid("the epoch's batch was never planned, or long ago"))?;
        // Whether it was dropped is not asked: that may be concurrent. The scheduler then voids the epoch.
        if info.used || !info.is_ready_by(after) || info.shape != Shape::of(&known.descriptor) {
            return Err(Invalid("the epoch's batch is not ready, used up, or of another shape"));
        }
        Ok(Some(Change::OpenEpoch { room: room.0, epoch: number, batch, at }))
    }

    fn judge_assignment(
        &self,
        author: PartyId,
        after: &[u64; SERVERS],
        room: &RoomId,
        epoch: u64,
        slots: &[(u32, VerifyingKey)],
        at: u64,
    ) -> Result<Option<Change>, Invalid> {
        let known = self.known_room(room, after)?;
        let unheard =
            known.collecting(epoch).is_some_and(|epoch| epoch.opened >= after[SCHEDULER.index()]);
        if epoch >= known.next_epoch || unheard {
            return Err(Invalid("slots are given out in epochs that were opened"));
        }
        if slots.is_empty() || slots.len() > MOST_SLOTS {
            return Err(Invalid("an assignment has 1 to 1024 slots"));
        }
        let Some(collecting) = known.collecting(epoch) else { return Ok(None) };
        let mut keys = BTreeSet::new();
        let mut seen = BTreeSet::new();
        for (slot, key) in slots {
            if *slot >= known.descriptor.capacity || slot_class(*slot, SERVERS) != author {
                return Err(Invalid("a server gives out slots of its own class only"));
            }
            // Earlier assignments of the same class are of the same author, hence delivered before on every server.
            if !collecting.admits(key, after[SCHEDULER.index()]) {
                return Err(Invalid(
                    "in a room of members, slots are given to those of whose admission the server knew",
                ));
            }
            if collecting.slots.contains_key(slot) || !seen.insert(*slot) {
                return Err(Invalid("a slot is given out once"));
            }
            let owned = collecting.keys.get(key).into_iter().flatten();
            if owned.into_iter().any(|slot| slot_class(*slot, SERVERS) == author)
                || !keys.insert(*key)
            {
                return Err(Invalid("a server gives a key one slot"));
            }
        }
        let announcement = after[author.index()];
        Ok(Some(Change::Assign {
            room: room.0,
            epoch,
            author,
            announcement,
            slots: slots.to_vec(),
            at,
        }))
    }

    fn scheduled(&self, author: PartyId, room: &RoomId, number: u64) -> Result<(), Invalid> {
        if author != SCHEDULER {
            return Err(Invalid("only the scheduler closes epochs"));
        }
        let room = self.rooms.get(room).ok_or(Invalid("no such room was created"))?;
        room.collecting(number)
            .map(|_| ())
            .ok_or(Invalid("only the epoch that collects can be closed"))
    }

    /// Carries out a change that [`World::judge`] has returned for announcement `number` of its author, and the disk has taken.
    pub fn apply(&mut self, number: u64, change: &Change, now: u64) -> Vec<Effect> {
        match change {
            Change::CreateRoom { room, descriptor, author } => {
                let descriptor = wire::decode(descriptor).expect("encoded when it was judged");
                let room_state = Room {
                    created: number,
                    active_at: now,
                    ..Room::new(descriptor, *author, &self.servers)
                };
                self.rooms.insert(RoomId(*room), room_state);
                self.touch(&RoomId(*room));
                Vec::new()
            }
            Change::CloseRoom { room } => {
                self.change_room(room, |room| room.open = false);
                Vec::new()
            }
            Change::PlanBatch { number: batch, rows, width } => {
                self.plan_batch(*batch, Shape { rows: *rows, width: *width }, number)
            }
            Change::BatchReady { number: batch, party } => self.batch_ready(*batch, *party, number),
            Change::BatchDropped { number, party } => self.batch_dropped(*number, *party, now),
            Change::OpenEpoch { room, epoch, batch, at } => {
                if let Some(info) = self.batches.get_mut(batch) {
                    info.used = true;
                }
                self.change_room(room, |room| {
                    room.next_epoch = epoch + 1;
                    let collecting = Collecting::new(*epoch, *batch, *at, room.log.roster());
                    room.collecting = Some(Collecting { opened: number, ..collecting });
                });
                vec![Effect::Load(EpochId { room: RoomId(*room), number: *epoch })]
            }
            Change::Assign { room, announcement, slots, at, .. } => {
                self.change_room(room, |room| {
                    room.active_at = room.active_at.max(*at);
                    let Some(collecting) = &mut room.collecting else { return };
                    collecting.begun_at.get_or_insert(*at);
                    for (slot, key) in slots {
                        collecting.assign(*slot, Owner { key: *key, announcement: *announcement });
                    }
                });
                Vec::new()
            }
            Change::SealEpoch { room, epoch, .. } => {
                self.change_room(room, |room| {
                    let Some(collecting) = room.collecting.take() else { return };
                    let computing =
                        Computing { batch: collecting.batch, phase: Some(MixingPhase::Mixing) };
                    room.computing.insert(*epoch, computing);
                });
                vec![Effect::Compute(EpochId { room: RoomId(*room), number: *epoch })]
            }
            Change::HostAction { room, body, .. } => {
                let effect = self.act(&RoomId(*room), body);
                self.touch(&RoomId(*room));
                effect.into_iter().collect()
            }
            Change::DecisionRecord(record) => self.take_record(record),
            Change::DecisionOpening { decision, party, body } => {
                self.take_opening(decision, *party, body)
            }
            Change::VoidEpoch { room, epoch, .. } => {
                let mut batch = None;
                self.change_room(room, |room| {
                    batch = room.collecting.take().map(|collecting| collecting.batch);
                    room.last = Some(crate::epochs::void(*epoch));
                });
                batch.map(Effect::Discard).into_iter().collect()
            }
        }
    }

    fn change_room(&mut self, room: &[u8; 16], change: impl FnOnce(&mut Room)) {
        if let Some(room) = self.rooms.get_mut(&RoomId(*room)) {
            change(room);
        }
        self.touch(&RoomId(*room));
    }

    /// Rooms whose tables have a shape.
    fn rooms_of(&self, shape: Shape) -> impl Iterator<Item = RoomId> + '_ {
        let matching =
            self.rooms.iter().filter(move |(_, room)| Shape::of(&room.descriptor) == shape);
        matching.map(|(id, _)| *id)
    }
}

#[cfg(test)]
mod tests;
