//! When to do what: pure decisions, with the clock passed in.
//!
//! **Every server** gives slots of its class to the participants that are present at it ([`assign`]).
//!
//! **The scheduler** ([`crate::rooms::SCHEDULER`]) decides the rest ([`decide`]), one announcement at a time:
//! * an epoch opens as soon as the room has none that collects and a batch is ready;
//! * its clock starts with its first participant, so an idle room uses up no stock;
//! * it closes when the clock has run out and the scheduler holds enough submissions for the room's minimum, without the
//!   class of which it holds most; or when every slot has submitted;
//! * it closes after twice the time without its minimum when a class has no slot left (participants came and went), so that
//!   newcomers get in, or when it would have its minimum if the same submissions were spread evenly over the classes:
//!   then it ends with too few, and participants at the fullest server move ([`ostrakon_broadcast::client::is_crowded`]);
//! * it does not close while [`MOST_COMPUTING`] earlier ones are unfinished;
//! * it is voided if a server lost its batch before it was sealed;
//! * batches are planned so that every shape in use has its target; after setbacks, more and more slowly. A room that nobody
//!   uses costs one batch, the one that its epoch waits with.

use std::collections::BTreeMap;

use ostrakon_broadcast::engine::Shape;
use ostrakon_broadcast::room::RoomId;
use ostrakon_crypto::VerifyingKey;
use ostrakon_party::PartyId;

use crate::announcement::{Body, MOST_SLOTS};
use crate::config::SERVERS;
use crate::rooms::{Collecting, Room, World};

/// Epochs of a room that may be sealed and not yet finished at all servers.
pub const MOST_COMPUTING: usize = 4;
/// Batches that are planned and not yet ready or dropped.
const MOST_IN_PREPARATION: usize = 2;
/// A room counts as used for so long after somebody got a slot, and after it was created; in milliseconds.
const USED_MS: u64 = 24 * 3600 * 1000;
/// The longest pause after a setback, in milliseconds.
const LONGEST_PAUSE: u64 = 60_000;

/// The next announcement of the scheduler; `None` if there is nothing to do now. `now` in milliseconds since 1970.
pub fn decide(world: &World, now: u64, ready: u32) -> Option<Body> {
    let rooms = || world.rooms.iter();
    let end = rooms().find_map(|(id, room)| end(world, id, room, now));
    let open = || rooms().find_map(|(id, room)| open(world, id, room));
    end.or_else(open).or_else(|| plan(world, now, ready))
}

/// Milliseconds until an epoch's clock has run out; `None` until it runs.
pub fn remaining(collecting: &Collecting, room: &Room, now: u64) -> Option<u64> {
    let end = collecting.begun_at? + u64::from(room.descriptor.seconds) * 1000;
    Some(end.saturating_sub(now))
}

fn end(world: &World, id: &RoomId, room: &Room, now: u64) -> Option<Body> {
    let collecting = room.collecting.as_ref()?;
    let number = collecting.number;
    let lost = world.batches.get(&collecting.batch).is_none_or(|batch| batch.dropped != 0);
    if lost {
        return Some(Body::EpochVoided { room: *id, number });
    }
    if !room.open
        && remaining(collecting, room, now).is_none_or(|left| left == 0)
        && !meets_minimum(collecting, room)
    {
        return Some(Body::EpochVoided { room: *id, number });
    }
    let closes = is_due(collecting, room, now) && room.computing.len() < MOST_COMPUTING;
    closes.then_some(Body::EpochClosed { room: *id, number })
}

fn meets_minimum(collecting: &Collecting, room: &Room) -> bool {
    let counts = Collecting::by_class(&collecting.submitted);
    let largest = counts.iter().max().copied().unwrap_or(0);
    counts.iter().sum::<u32>() - largest >= room.descriptor.minimum
}

/// Whether as many submissions as there are would meet the minimum if they were spread evenly over the classes.
fn could_meet_minimum(collecting: &Collecting, room: &Room) -> bool {
    let total = u32::try_from(collecting.submitted.len()).unwrap_or(u32::MAX);
    total - total.div_ceil(SERVERS as u32) >= room.descriptor.minimum
}

fn is_due(collecting: &Collecting, room: &Room, now: u64) -> bool {
    let capacity = room.descriptor.capacity;
    if collecting.submitted.len() == capacity as usize {
        return true;
    }
    let Some(begun_at) = collecting.begun_at else { return false };
    let elapsed = now.saturating_sub(begun_at);
    let period = u64::from(room.descriptor.seconds) * 1000;
    if elapsed < period {
        return false;
    }
    let full = |(class, count): (usize, u32)| count == slots_of_class(capacity, class);
    let exhausted = || collecting.assigned.into_iter().enumerate().any(full);
    let stuck = || exhausted() || could_meet_minimum(collecting, room);
    meets_minimum(collecting, room) || (elapsed >= 2 * period && stuck())
}

/// How many of `capacity` slots are of a server's class.
fn slots_of_class(capacity: u32, class: usize) -> u32 {
    let servers = SERVERS as u32;
    (capacity + servers - 1 - class as u32) / servers
}

fn open(world: &World, id: &RoomId, room: &Room) -> Option<Body> {
    if !room.open || room.collecting.is_some() {
        return None;
    }
    let shape = Shape::of(&room.descriptor);
    let (batch, _) =
        world.batches.iter().find(|(_, batch)| batch.is_usable() && batch.shape == shape)?;
    Some(Body::EpochOpened { room: *id, number: room.next_epoch, batch: *batch })
}

fn plan(world: &World, now: u64, ready: u32) -> Option<Body> {
    let (setbacks, since) = world.setbacks;
    let pause = if setbacks == 0 { 0 } else { (500 << setbacks.min(10)).min(LONGEST_PAUSE) };
    let preparing =
        world.batches.values().filter(|batch| batch.is_supply() && !batch.is_usable()).count();
    if now < since.saturating_add(pause) || preparing >= MOST_IN_PREPARATION {
        return None;
    }
    // What every shape lacks; the one that lacks most comes first.
    let mut lacking: BTreeMap<Shape, (i64, i64)> = BTreeMap::new();
    for room in world.rooms.values().filter(|room| room.open) {
        let used = now < room.active_at.saturating_add(USED_MS);
        if !used && room.collecting.is_some() {
            continue;
        }
        let spare = if used { i64::from(ready) - 1 } else { 0 };
        // One more for every further room of the shape, since each may take one at any time.
        let (rooms, spares) = lacking.entry(Shape::of(&room.descriptor)).or_default();
        *rooms += 1;
        *spares = spare.max(*spares);
    }
    let mut lacking: BTreeMap<Shape, i64> =
        lacking.into_iter().map(|(shape, (rooms, spares))| (shape, rooms + spares)).collect();
    for batch in world.batches.values().filter(|batch| batch.is_supply()) {
        if let Some(lack) = lacking.get_mut(&batch.shape) {
            *lack -= 1;
        }
    }
    let (shape, _) =
        lacking.into_iter().filter(|(_, lack)| *lack > 0).max_by_key(|(_, lack)| *lack)?;
    Some(Body::BatchPlanned { number: world.next_batch(), shape })
}

/// Gives slots of `me`'s class to those who are present and have none in the room's epoch; `None` if there is nobody or no
/// slot left. In order of `present`, lowest slots first.
pub fn assign(world: &World, me: PartyId, id: &RoomId, present: &[VerifyingKey]) -> Option<Body> {
    let room = world.rooms.get(id)?;
    let collecting = room.collecting.as_ref()?;
    if world.batches.get(&collecting.batch).is_none_or(|batch| batch.dropped != 0) {
        return None;
    }
    let mut free = (collecting.lowest_free[me.index()]..room.descriptor.capacity)
        .step_by(SERVERS)
        .filter(|slot| !collecting.slots.contains_key(slot))
        .peekable();
    free.peek()?;
    let without = present
        .iter()
        .filter(|key| collecting.admits(key, u64::MAX) && collecting.slot_of(key).is_none());
    let slots: Vec<_> = free.zip(without.copied()).take(MOST_SLOTS).collect();
    (!slots.is_empty()).then_some(Body::Assigned { room: *id, epoch: collecting.number, slots })
}

#[cfg(test)]
mod tests;
