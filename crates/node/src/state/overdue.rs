//! What could have been said of a room's epoch for a while and has not been: that it is due, that
//! it is closed, that the next one opens, or that a batch is planned for it. Without every server's
//! word nothing is published, and nobody can step in for anybody (`docs/spec/rooms.md`, 3.8): so
//! whoever waits is told whose word is missing.

use std::collections::BTreeMap;

use ostrakon_mixing::engine::Form;
use ostrakon_mixing::room::RoomId;
use ostrakon_party::PartyId;

use crate::state::scheduling::{self, MOST_COMPUTING};
use crate::state::{BatchInfo, Collecting, Next, Owed, Room, SCHEDULER, World};

/// So long after it could have been closed or opened an epoch counts as overdue, in milliseconds: a
/// server that is started again is back before that.
pub const OVERDUE_MS: u64 = 20_000;

/// An epoch that is not closed, or not opened, although it could be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overdue {
    /// Since when it could have been, in milliseconds since 1970.
    pub since: u64,
    /// Whose word is missing, whoever keeps it back; nobody's, if earlier epochs are to be finished
    /// first.
    pub by: Vec<PartyId>,
}

/// Whether a room's epoch is overdue, as far as `me` knows, and has been for [`OVERDUE_MS`]: by
/// those who have not said that it is due, or else by the scheduler, who does not close it or does
/// not open the next one. While some are `silent`, gone or without an echo of what this server
/// says, it is these, and nobody else: whatever is said needs everybody's echo. It convicts nobody:
/// their word may wait for another's in turn (`docs/spec/rooms.md`, 3.9).
pub fn overdue(room: &Room, me: PartyId, silent: &[PartyId], now: u64) -> Option<Overdue> {
    let found = match &room.collecting {
        Some(collecting) => unclosed(collecting, room, me, now)?,
        None => Overdue { since: room.owed.filter(|_| room.open)?.since, by: vec![SCHEDULER] },
    };
    if now < found.since + OVERDUE_MS {
        return None;
    }
    let by = if silent.is_empty() { found.by } else { silent.to_vec() };
    Some(Overdue { by, ..found })
}

/// An epoch that could be closed.
fn unclosed(collecting: &Collecting, room: &Room, me: PartyId, now: u64) -> Option<Overdue> {
    let period = u64::from(room.descriptor.seconds) * 1000;
    let since = match collecting.enough_at {
        Some(_) => scheduling::ends_at(collecting, room)?,
        None => collecting.begun_at? + 2 * period,
    };
    if !scheduling::is_due(collecting, room, now) {
        return None;
    }
    // What it says itself is delivered when the others have echoed it.
    let silent = collecting.due.iter().filter(|(party, said)| *party != me && said.is_none());
    let mut by: Vec<PartyId> = silent.map(|(party, _)| party).collect();
    if by.is_empty() && room.computing.len() < MOST_COMPUTING {
        by.push(SCHEDULER);
    }
    Some(Overdue { since, by })
}

/// Notes since when which rooms have waited for the scheduler's word in vain. What an honest
/// scheduler says at its next beat does not stand here for long: each batch that is planned or used
/// meanwhile, for whatever room, begins another wait. While batches are prepared, nothing is noted.
pub fn note_owed(world: &mut World, now: u64) {
    let waits = |room: &Room| room.open && room.collecting.is_none();
    if !world.rooms.values().any(|room| waits(room) || room.owed.is_some()) {
        return;
    }
    // The first usable batch of each form of which there are any, or will be.
    let mut supply: BTreeMap<Form, Option<u64>> = BTreeMap::new();
    for (number, batch) in world.batches.iter().filter(|(_, batch)| batch.is_supply()) {
        let first = supply.entry(batch.form).or_default();
        *first = first.or_else(|| batch.is_usable().then_some(*number));
    }
    let planned = scheduling::plan(world, now, 1).map(|_| Next::Planned(world.next_batch()));
    let World { rooms, batches, .. } = world;
    let stands = |owed: &Owed| match owed.next {
        Next::Opened(batch) => batches.get(&batch).is_some_and(BatchInfo::is_usable),
        Next::Planned(_) => planned == Some(owed.next),
    };
    for room in rooms.values_mut() {
        let next = match supply.get(&Form::of(&room.descriptor)) {
            _ if !waits(room) => None,
            Some(first) => first.map(Next::Opened),
            None => planned,
        };
        let since = |next| Owed { next, since: now, told: false };
        room.owed = next.map(|next| room.owed.filter(stands).unwrap_or(since(next)));
    }
}

/// Rooms whose epoch is overdue since the last beat.
pub fn newly_overdue(world: &World, me: PartyId, now: u64) -> Vec<RoomId> {
    let is_told = |room: &Room| match &room.collecting {
        Some(collecting) => collecting.told_overdue,
        None => room.owed.is_some_and(|owed| owed.told),
    };
    let is_new = |room: &Room| !is_told(room) && overdue(room, me, &[], now).is_some();
    let rooms = world.rooms.iter().filter(|(_, room)| is_new(room));
    rooms.map(|(id, _)| *id).collect()
}

/// Notes that epochs are overdue, so that whoever waits for news hears of it.
pub fn note_overdue(world: &mut World, rooms: &[RoomId]) {
    for id in rooms {
        if let Some(room) = world.rooms.get_mut(id) {
            match (&mut room.collecting, &mut room.owed) {
                (Some(collecting), _) => collecting.told_overdue = true,
                (None, Some(owed)) => owed.told = true,
                (None, None) => {}
            }
        }
        world.touch(id);
    }
}

#[cfg(test)]
mod tests;
