//! When to do what: pure decisions, with the clock passed in.
//!
//! **Every server** gives slots of its class to the participants that are present at it
//! ([`assign`]).
//!
//! **Every server** says that an epoch is *due* ([`due`]), by its own clock and by what was handed
//! in at it (`docs/spec/rooms.md`, section 3):
//! * the epoch's clock starts with its first participant, so an idle room uses up no stock;
//! * it is due when the clock has run out and as many have handed in as meet the minimum however
//!   the servers spread them. If there are so many only after the clock had run out, it begins anew
//!   then: whoever comes after others have left is not sealed at once, with whom it finds;
//! * another server's word that it is due counts as its word that there are so many;
//! * it is due before its time when every slot was used;
//! * if the minimum is missed all the same, because people are badly spread, it ends with too few,
//!   and participants at the fullest server move (docs/spec/participant.md, P3.6);
//! * after twice its time it is due without its minimum when a class has no slot left
//!   (participants came and went), so that newcomers get in.
//!
//! **The scheduler** ([`crate::state::SCHEDULER`]) decides the rest ([`decide`]), one announcement
//! at a time:
//! * an epoch opens as soon as the room has none that collects and a batch is ready;
//! * it closes when all servers have said that it is due, not while [`MOST_COMPUTING`] earlier ones
//!   are unfinished;
//! * it is voided if a server lost its batch before it was sealed, or a host has lowered the
//!   minimum while it waits for more people;
//! * batches are planned so that every form in use has its target; after setbacks, more and more
//!   slowly. A room that nobody uses costs one batch, the one that its epoch waits with. First come
//!   forms of which a room can open no epoch, with what is planned for it: in turn, since small
//!   ones may need one all the time. Then come those that can wait, the small ones first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ostrakon_crypto::VerifyingKey;
use ostrakon_mixing::engine::Form;
use ostrakon_mixing::room::{RoomId, most_beside, people_for};
use ostrakon_party::PartyId;

use crate::state::announcement::{Body, MOST_SLOTS};
use crate::state::{Collecting, Room, World};

/// Epochs of a room that may be sealed and not yet finished at all servers.
pub const MOST_COMPUTING: usize = 4;
/// Batches that are planned and not yet ready or dropped.
const MOST_IN_PREPARATION: usize = 2;
/// A room counts as used for so long after somebody got a slot, and after it was created; in
/// milliseconds.
const USED_MS: u64 = 24 * 3600 * 1000;
/// How much later than the end of an epoch's time it may be that there are enough, at most, if its
/// clock is not to begin anew; in milliseconds.
const LATE_MS: u64 = 2_000;
/// The longest pause after a setback, in milliseconds.
const LONGEST_PAUSE: u64 = 60_000;

/// The next announcement of the scheduler; `None` if there is nothing to do now. `now` in
/// milliseconds since 1970.
pub fn decide(world: &World, now: u64, ready: u32) -> Option<Body> {
    let rooms = || world.rooms.iter();
    let end = rooms().find_map(|(id, room)| end(world, id, room, now));
    let open = || rooms().find_map(|(id, room)| open(world, id, room));
    end.or_else(open).or_else(|| plan(world, now, ready))
}

/// When an epoch's time is over, in milliseconds since 1970; `None` until its clock runs.
pub(super) fn ends_at(collecting: &Collecting, room: &Room) -> Option<u64> {
    let period = u64::from(room.descriptor.seconds) * 1000;
    let first = collecting.begun_at? + period;
    // Clocks and hand-ins that come about together count as before the end.
    let late = |at: &u64| *at > first + LATE_MS.min(period / 4);
    Some(collecting.enough_at.filter(late).map_or(first, |at| at + period))
}

/// Milliseconds until an epoch's clock has run out; `None` until it runs.
pub fn remaining(collecting: &Collecting, room: &Room, now: u64) -> Option<u64> {
    Some(ends_at(collecting, room)?.saturating_sub(now))
}

/// Whether as many have handed in as meet the minimum however the servers spread them, or another
/// server says so.
fn is_enough(collecting: &Collecting) -> bool {
    let count = u32::try_from(collecting.submitted.len()).unwrap_or(u32::MAX);
    count >= people_for(collecting.minimum, &collecting.trust)
        || collecting.due.iter().any(|(_, said)| said.is_some())
}

/// After a restart: whether there were enough before the epoch's end is not known any more, so what
/// is enough by now counts as having been so in time. The clock does not begin anew because a
/// server was away when it ran out.
pub fn restored(collecting: &mut Collecting) {
    if is_enough(collecting) {
        collecting.enough_at = collecting.begun_at;
    }
}

/// Rooms whose epoch has enough submissions since the last beat.
pub fn newly_enough(world: &World) -> Vec<RoomId> {
    let is_new = |collecting: &Collecting| collecting.enough_at.is_none() && is_enough(collecting);
    let rooms = world.rooms.iter();
    let found = rooms.filter(|(_, room)| room.collecting.as_ref().is_some_and(is_new));
    found.map(|(id, _)| *id).collect()
}

/// Notes when there were enough.
pub fn note_enough(world: &mut World, rooms: &[RoomId], now: u64) {
    for id in rooms {
        if let Some(room) = world.rooms.get_mut(id)
            && let Some(collecting) = &mut room.collecting
        {
            collecting.enough_at.get_or_insert(now);
        }
        world.touch(id);
    }
}

/// What `me` says of an epoch that is due by its clock; `None` if there is nothing to be said.
pub fn due(world: &World, me: PartyId, now: u64) -> Option<Body> {
    let found = world.rooms.iter().find(|(_, room)| {
        let Some(collecting) = &room.collecting else { return false };
        let there =
            world.batches.get(&collecting.batch).is_some_and(|batch| batch.dropped.is_empty());
        there && collecting.due[me].is_none() && is_due(collecting, room, now)
    });
    let (id, room) = found?;
    Some(Body::EpochDue { room: *id, number: room.collecting.as_ref()?.number })
}

fn end(world: &World, id: &RoomId, room: &Room, now: u64) -> Option<Body> {
    let collecting = room.collecting.as_ref()?;
    let number = collecting.number;
    let lost = world.batches.get(&collecting.batch).is_none_or(|batch| !batch.dropped.is_empty());
    let enough = is_enough(collecting);
    let eased = collecting.minimum > room.log.minimum() && !enough;
    let over = remaining(collecting, room, now).is_none_or(|left| left == 0);
    if lost || eased || (!room.open && over && !enough) {
        return Some(Body::EpochVoided { room: *id, number });
    }
    let agreed = collecting.due.iter().all(|(_, said)| said.is_some());
    let closes = agreed && room.computing.len() < MOST_COMPUTING;
    closes.then_some(Body::EpochClosed { room: *id, number })
}

pub(super) fn is_due(collecting: &Collecting, room: &Room, now: u64) -> bool {
    let capacity = room.descriptor.capacity;
    if collecting.submitted.len() == capacity as usize {
        return true;
    }
    let (Some(begun_at), Some(end)) = (collecting.begun_at, ends_at(collecting, room)) else {
        return false;
    };
    if collecting.enough_at.is_some() && now >= end {
        return true;
    }
    let full = |(class, count): (PartyId, &u32)| *count == collecting.slots_of(class, capacity);
    let exhausted = collecting.assigned.iter().any(full);
    exhausted && now >= begun_at + 2 * u64::from(room.descriptor.seconds) * 1000
}

fn open(world: &World, id: &RoomId, room: &Room) -> Option<Body> {
    if !room.open || room.collecting.is_some() {
        return None;
    }
    let form = Form::of(&room.descriptor);
    let (batch, _) =
        world.batches.iter().find(|(_, batch)| batch.is_usable() && batch.form == form)?;
    Some(Body::EpochOpened { room: *id, number: room.next_epoch, batch: *batch })
}

/// What rooms of one form need, and what there is for them.
#[derive(Default)]
struct Lack {
    rooms: i64,
    /// One more for every further room of the form, since each may take one at any time.
    spares: i64,
    /// Rooms that have no epoch that collects.
    waiting: i64,
    /// Batches that are ready or will be.
    supply: i64,
    /// The newest batch of the form; 0 if none is remembered.
    newest: u64,
}

impl Lack {
    /// How many batches are missing.
    fn batches(&self) -> i64 {
        self.rooms + self.spares - self.supply
    }

    /// Whose turn it is; the least comes first. Preparing a batch of a large form keeps all others
    /// waiting, so it is begun when a room of that form can do nothing without it, or nobody else
    /// lacks anything. Who can do nothing has had to wait since its form's newest batch was
    /// planned.
    fn turn(&self, form: &Form) -> (bool, u64, u64, Reverse<i64>) {
        let can_wait = self.waiting <= self.supply;
        let since = if can_wait { 0 } else { self.newest };
        let bytes = u64::from(form.shape.rows) * u64::from(form.shape.width);
        (can_wait, since, bytes, Reverse(self.batches()))
    }
}

pub(super) fn plan(world: &World, now: u64, ready: u32) -> Option<Body> {
    let (setbacks, since) = world.setbacks;
    let pause = if setbacks == 0 { 0 } else { (500 << setbacks.min(10)).min(LONGEST_PAUSE) };
    let preparing =
        world.batches.values().filter(|batch| batch.is_supply() && !batch.is_usable()).count();
    if now < since.saturating_add(pause) || preparing >= MOST_IN_PREPARATION {
        return None;
    }
    let mut lacking: BTreeMap<Form, Lack> = BTreeMap::new();
    for room in world.rooms.values().filter(|room| room.open) {
        let used = now < room.active_at.saturating_add(USED_MS);
        if !used && room.collecting.is_some() {
            continue;
        }
        let lack = lacking.entry(Form::of(&room.descriptor)).or_default();
        lack.rooms += 1;
        lack.waiting += i64::from(room.collecting.is_none());
        lack.spares = lack.spares.max(if used { i64::from(ready) - 1 } else { 0 });
    }
    for (number, batch) in &world.batches {
        if let Some(lack) = lacking.get_mut(&batch.form) {
            lack.supply += i64::from(batch.is_supply());
            lack.newest = *number;
        }
    }
    let lacking = lacking.into_iter().filter(|(_, lack)| lack.batches() > 0);
    let (form, _) = lacking.min_by_key(|(form, lack)| lack.turn(form))?;
    Some(Body::BatchPlanned { number: world.next_batch(), form })
}

/// Somebody who is present and has no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The participant.
    pub key: VerifyingKey,
    /// Whether it has waited so long that it can go nowhere else, or does not want to.
    pub stays: bool,
}

/// How long somebody waits at a server that is fuller than another one before it is given a slot
/// all the same, in milliseconds: long enough to move.
pub fn patience(room: &Room) -> u64 {
    (u64::from(room.descriptor.seconds) * 333).clamp(700, 5_000)
}

/// Gives slots of `me`'s class to those who are present and have none in the room's epoch; `None`
/// if there is nobody or no slot left. In order of `present`, lowest slots first.
///
/// No server gives out more than [`most_beside`] another one that has slots left, as if the rest
/// had no more than that one: then a number of people is enough or not, however they came. Those
/// who are too many move, and if they do not, get a slot as long as this is not beyond the same
/// bound beside the fuller of the others ([`Collecting::most_for`]).
pub fn assign(world: &World, me: PartyId, id: &RoomId, present: &[Waiting]) -> Option<Body> {
    let room = world.rooms.get(id)?;
    let collecting = room.collecting.as_ref()?;
    let lost = world.batches.get(&collecting.batch).is_none_or(|batch| !batch.dropped.is_empty());
    if lost || collecting.due[me].is_some() {
        return None;
    }
    let capacity = room.descriptor.capacity;
    let mut free = (collecting.lowest_free[me]..capacity)
        .step_by(world.trusts.parties())
        .filter(|slot| !collecting.slots.contains_key(slot))
        .peekable();
    free.peek()?;
    let others = collecting.assigned.iter();
    let others = others
        .filter(|(class, count)| *class != me && **count < collecting.slots_of(*class, capacity));
    let trust = &collecting.trust;
    let honest = u32::try_from(trust.parties() - trust.corrupt()).expect("few servers");
    let beside =
        |count: u32| most_beside(count, honest.saturating_mul(count), collecting.minimum, trust);
    let most = others.map(|(_, count)| beside(*count)).min().unwrap_or(capacity);
    let own = collecting.assigned[me];
    let mut even = most.saturating_sub(own);
    let bound =
        collecting.most_for(me, &vec![u64::MAX; world.trusts.parties()]).saturating_sub(own);
    let mut keys = Vec::new();
    for Waiting { key, stays } in present {
        if !collecting.admits(key, u64::MAX) || collecting.slot_of(key).is_some() {
            continue;
        }
        if even > 0 || *stays {
            even = even.saturating_sub(1);
            keys.push(*key);
        }
    }
    keys.truncate(bound as usize);
    let slots: Vec<_> = free.zip(keys).take(MOST_SLOTS).collect();
    (!slots.is_empty()).then_some(Body::Assigned { room: *id, epoch: collecting.number, slots })
}

#[cfg(test)]
pub(crate) mod tests;
