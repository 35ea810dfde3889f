//! The state that the servers agree on: rooms, epochs, slots, batches. Pure: no I/O, no clock, no
//! randomness.
//!
//! [`World::judge`] says what an announcement changes ([`Change`]), if it is valid. The change is
//! written to disk, in one transaction with the mark that the announcement was delivered, and then
//! [`World::apply`]d, which says what is to be done next ([`Effect`]).
//!
//! **The order of concurrent announcements does not matter**, so all servers come to the same
//! state:
//! * opening, closing and voiding of epochs, and the plans for batches, come from one log, the
//!   scheduler's (P0);
//! * every server gives out slots of its own class only, so assignments of different servers never
//!   meet; an epoch is closed when every server has said that it is due, and gives out no more
//!   slots, so all that were given out count;
//! * readiness of batches only grows, and an epoch may only be opened with a batch that every
//!   server had said is ready;
//! * what hosts do comes from the scheduler's log too, so every epoch is opened after the same
//!   actions everywhere, and who is admitted follows from what a server had heard of that log
//!   (`docs/spec/hosting.md`, step 4);
//! * what is valid never depends on anything that a concurrent announcement changes: of rooms,
//!   batches and epochs a server may speak that it had heard of, by its announcement's `after`,
//!   whatever its receivers have heard of meanwhile.
//!
//! **Bounds.** A server may create [`MOST_ROOMS`] rooms; [`BATCHES_KEPT`] batches are remembered,
//! and those that epochs collect with; an epoch has at most as many slots as the room's capacity.

use std::collections::{BTreeMap, BTreeSet};

use ostrakon_crypto::VerifyingKey;
pub use ostrakon_job::Invalid;
use ostrakon_job::{Deed, Said, Subject};
use ostrakon_mixing::engine::{Form, Shape, slot_class};
use ostrakon_mixing::room::{EngineKind, EpochId, RoomDescriptor, RoomId, Servers, people_for};
use ostrakon_party::{PartyId, wire};
use ostrakon_store::{Change, JobWord};

use crate::jobs::{Jobs, filing};
use crate::provider::trusts::{self, Trusts};
use crate::state::announcement::{Announcement, Body, MOST_SLOTS};
use ostrakon_protocol::MixingPhase;

pub mod announcement;
mod batches;
pub(crate) mod epochs;
pub(crate) mod hosting;
pub(crate) mod overdue;
mod room;
pub(crate) mod scheduling;

pub use batches::{BatchInfo, Held};
pub use room::{Collecting, Computing, Next, Owed, Owner, Room};

/// The server that opens and closes epochs and plans batches. It can delay. It closes an epoch only
/// when by each other server's own clock it is due, and with all slots that were given out.
pub use ostrakon_job::SCHEDULER;

/// Rooms that one server may create.
pub const MOST_ROOMS: usize = 10_000;
/// Batches that are remembered, counted back from the newest. No epoch is opened with an older one;
/// one that an epoch collects with is remembered until that is sealed or given up.
pub const BATCHES_KEPT: u64 = 1000;

/// The server that may create a room, by its nonce: so no two can create the same one, and all know
/// who did.
pub fn room_class(descriptor: &RoomDescriptor, servers: usize) -> PartyId {
    slot_class(descriptor.nonce[0].into(), servers)
}

/// A nonce from random bytes, of a room of this one of so many servers, at most 255.
pub fn room_nonce(mut random: [u8; 16], author: PartyId, servers: usize) -> [u8; 16] {
    let servers = u8::try_from(servers).expect("fewer than 256 servers");
    random[0] = random[0] % (u8::MAX / servers) * servers + author.0;
    random
}

/// What is to be done after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Prepare a batch, or decline to.
    Prepare(u64),
    /// All servers hold a batch: forget the messages of its preparation.
    Retire(u64),
    /// Stop preparing a batch and delete it: it will never be used.
    Discard(u64),
    /// A server no longer has a batch that it said it holds: put that on record.
    Withdrawn(u64, PartyId),
    /// Take an epoch's batch into use.
    Load(EpochId),
    /// Compute a sealed epoch.
    Compute(EpochId),
    /// Do what a host's action asks of every server: the action of this number in the room's host
    /// log.
    Hosted(RoomId, u64),
    /// Do what a word of this job asks of every server.
    Job(u8, Deed),
}

/// Everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// The servers: the hosts sign for them.
    pub servers: Servers,
    /// How many there are, and what they bear.
    pub trusts: Trusts,
    /// Rooms by id.
    pub rooms: BTreeMap<RoomId, Room>,
    /// Batches by number.
    pub batches: BTreeMap<u64, BatchInfo>,
    /// Batches below this number belong to earlier generations.
    pub first_batch: u64,
    /// What else is agreed on.
    pub(crate) jobs: Jobs,
    /// Grows with every change.
    pub version: u64,
    /// Batches that could not be prepared since the last one became ready, and when one was last
    /// dropped. What is lost that was ready counts as one.
    pub setbacks: (u32, u64),
}

impl World {
    /// Nothing yet.
    pub fn new(servers: Servers, trusts: Trusts) -> Self {
        let (rooms, batches, first_batch, jobs) = Default::default();
        let (version, setbacks) = Default::default();
        Self { servers, trusts, rooms, batches, first_batch, jobs, version, setbacks }
    }

    /// The version after a change to `room`.
    pub fn touch(&mut self, room: &RoomId) {
        self.version += 1;
        if let Some(room) = self.rooms.get_mut(room) {
            room.version = self.version;
        }
    }

    /// What announcement `number` of `author` changes; `None` if it is valid and changes nothing
    /// (any more). `at` is this server's clock.
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
        let after = announcement.after.as_slice();
        if after.len() != self.trusts.parties() || author.index() >= after.len() {
            return Err(Invalid("an announcement says of every log how much of it was known"));
        }
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
            Body::BatchPlanned { number, form } => self.judge_plan(author, after, *number, *form),
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
            Body::EpochDue { room, number } => self.judge_due(author, after, room, *number),
            Body::EpochClosed { room, number } => {
                let collecting = self.scheduled(author, room, *number)?;
                let due = collecting.due.iter().zip(after);
                let said = due.filter(|((party, said), known)| {
                    *party == SCHEDULER || said.is_some_and(|said| said < **known)
                });
                if said.count() < trusts::take_part(&collecting.trust) {
                    return Err(Invalid(
                        "an epoch is closed when it is due by every server's clock",
                    ));
                }
                Ok(Some(Change::SealEpoch { room: room.0, epoch: *number, cut: after.to_vec() }))
            }
            Body::EpochVoided { room, number } => {
                self.scheduled(author, room, *number)?;
                let outcome = wire::encode(&crate::state::epochs::void(*number));
                Ok(Some(Change::VoidEpoch { room: room.0, epoch: *number, outcome }))
            }
            Body::Hosted { room, action } => self.judge_action(author, after, room, action),
            Body::Job { job, subject, word } => {
                let said = Said { author, number, after };
                Ok(self.judge_word(&said, *job, subject, word)?.map(Change::Job))
            }
        }
    }

    /// What a word of a job changes.
    fn judge_word(
        &self,
        said: &Said<'_>,
        job: u8,
        subject: &Subject,
        word: &[u8],
    ) -> Result<Option<JobWord>, Invalid> {
        let judged = self.jobs.judge(said, job, subject, word)?;
        if judged == Some(false) {
            return Ok(None);
        }
        let unjudged = judged.is_none().then(|| said.after.to_vec());
        let filed = filing::stored(self.jobs.filed(said.author, job, subject, word));
        let (author, subject, word) = (said.author, *subject, word.to_vec());
        Ok(Some(JobWord { job, subject, author, word, filed, unjudged }))
    }

    /// A room, if a server that knows so many announcements of each knows of it.
    pub(crate) fn known_room(&self, room: &RoomId, after: &[u64]) -> Result<&Room, Invalid> {
        let room = self.rooms.get(room).filter(|room| room.is_known_by(after));
        room.ok_or(Invalid("no such room was created"))
    }

    /// Whether a server that knows so many announcements of each knows of a batch, and it is still
    /// remembered.
    fn knows_batch(&self, number: u64, after: &[u64]) -> bool {
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
        if !self.trusts.has(descriptor.engine) {
            return Err(Invalid("a room is of an engine that the servers have"));
        }
        let trust = self.trusts.of(descriptor.engine);
        if people_for(descriptor.minimum, &trust) > descriptor.capacity {
            return Err(Invalid("a room has a slot for everybody who its minimum asks for"));
        }
        if room_class(descriptor, self.trusts.parties()) != author {
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
        after: &[u64],
        number: u64,
        form: Form,
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
            .any(|room| Form::of(&room.descriptor) == form && room.is_known_by(after))
        {
            return Err(Invalid("a batch must have the form of a room's"));
        }
        let Form { engine, shape: Shape { rows, width } } = form;
        Ok(Some(Change::PlanBatch { number, engine: engine.number(), rows, width }))
    }

    fn judge_opening(
        &self,
        author: PartyId,
        after: &[u64],
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
        // Whether it was dropped is not asked: that may be concurrent. The scheduler then voids the
        // epoch.
        if info.used || !info.is_ready_by(after) || info.form != Form::of(&known.descriptor) {
            return Err(Invalid("the epoch's batch is not ready, used up, or of another form"));
        }
        // Only earlier announcements of the scheduler have lowered it.
        let minimum = known.log.minimum();
        Ok(Some(Change::OpenEpoch { room: room.0, epoch: number, batch, minimum, at }))
    }

    /// Whether a server that knows so many announcements of each knows that an epoch was opened.
    fn known_epoch(&self, room: &RoomId, epoch: u64, after: &[u64]) -> Result<&Room, Invalid> {
        let known = self.known_room(room, after)?;
        let unheard =
            known.collecting(epoch).is_some_and(|epoch| epoch.opened >= after[SCHEDULER.index()]);
        if epoch >= known.next_epoch || unheard {
            return Err(Invalid(
                "slots are given out in epochs that were opened, and these are due",
            ));
        }
        Ok(known)
    }

    fn judge_due(
        &self,
        author: PartyId,
        after: &[u64],
        room: &RoomId,
        epoch: u64,
    ) -> Result<Option<Change>, Invalid> {
        // It may have been given up meanwhile.
        let Some(collecting) = self.known_epoch(room, epoch, after)?.collecting(epoch) else {
            return Ok(None);
        };
        if collecting.due[author].is_some() {
            return Err(Invalid("a server says once that an epoch is due"));
        }
        Ok(Some(Change::EpochDue { room: room.0, epoch, party: author }))
    }

    fn judge_assignment(
        &self,
        author: PartyId,
        after: &[u64],
        room: &RoomId,
        epoch: u64,
        slots: &[(u32, VerifyingKey)],
        at: u64,
    ) -> Result<Option<Change>, Invalid> {
        let known = self.known_epoch(room, epoch, after)?;
        if slots.is_empty() || slots.len() > MOST_SLOTS {
            return Err(Invalid("an assignment has 1 to 1024 slots"));
        }
        let Some(collecting) = known.collecting(epoch) else { return Ok(None) };
        if collecting.due[author].is_some() {
            return Err(Invalid("no slot is given out of an epoch that is due"));
        }
        let class = |slot: u32| slot_class(slot, self.trusts.parties());
        let mut keys = BTreeSet::new();
        let mut seen = BTreeSet::new();
        for (slot, key) in slots {
            if *slot >= known.descriptor.capacity || class(*slot) != author {
                return Err(Invalid("a server gives out slots of its own class only"));
            }
            // Earlier assignments of the same class are of the same author, hence delivered before
            // on every server.
            if !collecting.admits(key, after[SCHEDULER.index()]) {
                return Err(Invalid(
                    "in a room of members, slots are given to those of whose admission the server knew",
                ));
            }
            if collecting.slots.contains_key(slot) || !seen.insert(*slot) {
                return Err(Invalid("a slot is given out once"));
            }
            let owned = collecting.keys.get(key).into_iter().flatten();
            if owned.into_iter().any(|slot| class(*slot) == author) || !keys.insert(*key) {
                return Err(Invalid("a server gives a key one slot"));
            }
        }
        let given = u32::try_from(slots.len()).expect("at most 1024 slots");
        if collecting.assigned[author] + given > collecting.most_for(author, after) {
            return Err(Invalid("a server gives out hardly more slots than the fuller other one"));
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

    fn scheduled(
        &self,
        author: PartyId,
        room: &RoomId,
        number: u64,
    ) -> Result<&Collecting, Invalid> {
        if author != SCHEDULER {
            return Err(Invalid("only the scheduler closes epochs"));
        }
        let room = self.rooms.get(room).ok_or(Invalid("no such room was created"))?;
        room.collecting(number).ok_or(Invalid("only the epoch that collects can be closed"))
    }

    /// Carries out a change that [`World::judge`] has returned for announcement `number` of its
    /// author, and the disk has taken.
    pub fn apply(&mut self, number: u64, change: &Change, now: u64) -> Vec<Effect> {
        match change {
            Change::CreateRoom { room, descriptor, author } => {
                let descriptor = wire::decode(descriptor).expect("encoded when it was judged");
                let new = Room::new(descriptor, *author, &self.servers);
                let new = Room { created: number, active_at: now, ..new };
                self.rooms.insert(RoomId(*room), new);
                self.touch(&RoomId(*room));
                Vec::new()
            }
            Change::CloseRoom { room } => {
                self.change_room(room, |room| room.open = false);
                Vec::new()
            }
            Change::PlanBatch { number: batch, engine, rows, width } => {
                let shape = Shape { rows: *rows, width: *width };
                let engine = EngineKind::of_number(*engine).expect("it was judged");
                self.plan_batch(*batch, Form { engine, shape }, number)
            }
            Change::BatchReady { number: batch, party } => self.batch_ready(*batch, *party, number),
            Change::BatchDropped { number, party } => self.batch_dropped(*number, *party, now),
            Change::OpenEpoch { room, epoch, batch, minimum, at } => {
                if let Some(info) = self.batches.get_mut(batch) {
                    info.used = true;
                }
                let trusts = self.trusts.clone();
                self.change_room(room, |room| {
                    let (members, trust) = (room.log.roster(), trusts.of(room.descriptor.engine));
                    let new = Collecting::new(*epoch, *batch, *at, *minimum, members, trust);
                    room.next_epoch = epoch + 1;
                    room.collecting = Some(Collecting { opened: number, ..new });
                    room.owed = None;
                });
                vec![Effect::Load(EpochId { room: RoomId(*room), number: *epoch })]
            }
            Change::Assign { room, announcement, slots, at, .. } => {
                let owned = slots
                    .iter()
                    .map(|(slot, key)| (*slot, Owner { key: *key, announcement: *announcement }));
                self.change_room(room, |room| room.assign(owned, *at));
                Vec::new()
            }
            Change::EpochDue { room, party, .. } => {
                self.change_room(room, |room| {
                    room.collecting.iter_mut().for_each(|epoch| epoch.due[*party] = Some(number));
                });
                Vec::new()
            }
            Change::SealEpoch { room, epoch, .. } => self.seal_epoch(room, *epoch),
            Change::HostAction { room, body, .. } => {
                let effect = self.act(&RoomId(*room), body);
                self.touch(&RoomId(*room));
                effect.into_iter().collect()
            }
            Change::Job(said) => {
                let deeds = self.take_word(said, number);
                deeds.into_iter().map(|deed| Effect::Job(said.job, deed)).collect()
            }
            Change::VoidEpoch { room, epoch, .. } => {
                let mut batch = None;
                self.change_room(room, |room| {
                    batch = room.collecting.take().map(|collecting| collecting.batch);
                    room.ended(crate::state::epochs::void(*epoch));
                });
                batch.map(Effect::Discard).into_iter().collect()
            }
        }
    }

    fn seal_epoch(&mut self, room: &[u8; 16], epoch: u64) -> Vec<Effect> {
        self.change_room(room, |room| {
            let Some(Collecting { batch, minimum, .. }) = room.collecting.take() else { return };
            let phase = Some(MixingPhase::Mixing);
            room.computing.insert(epoch, Computing { batch, minimum, phase });
        });
        vec![Effect::Compute(EpochId { room: RoomId(*room), number: epoch })]
    }

    /// What a word of a job that was delivered before this server knew the job turns out to be;
    /// nothing if it is not valid, or changes nothing. Itself if the job is not known yet.
    pub fn judge_late(&self, number: u64, said: &JobWord) -> Option<JobWord> {
        let after = said.unjudged.as_ref()?;
        let by = Said { author: said.author, number, after };
        self.judge_word(&by, said.job, &said.subject, &said.word).ok().flatten()
    }

    /// Takes a word of a job, of announcement `number`.
    pub fn take_word(&mut self, said: &JobWord, number: u64) -> Vec<Deed> {
        let JobWord { job, subject, author, word, .. } = said;
        self.version += 1;
        self.jobs.apply(*job, (*author, number), (subject, word), self.version)
    }

    /// Takes a word of a job again that was taken before a restart.
    ///
    /// # Errors
    /// [`Invalid`] if it cannot be what was taken.
    pub fn replay_word(&mut self, said: &JobWord, number: u64) -> Result<(), Invalid> {
        let JobWord { job, subject, author, word, .. } = said;
        self.version += 1;
        self.jobs.replay(*job, (*author, number), (subject, word), self.version)
    }

    fn change_room(&mut self, room: &[u8; 16], change: impl FnOnce(&mut Room)) {
        if let Some(room) = self.rooms.get_mut(&RoomId(*room)) {
            change(room);
        }
        self.touch(&RoomId(*room));
    }

    /// Rooms whose batches have a form.
    fn rooms_of(&self, form: Form) -> impl Iterator<Item = RoomId> + '_ {
        let matching =
            self.rooms.iter().filter(move |(_, room)| Form::of(&room.descriptor) == form);
        matching.map(|(id, _)| *id)
    }
}

#[cfg(test)]
mod tests;
