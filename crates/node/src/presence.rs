//! Who is there. In memory only: a participant says so again every few seconds.
//!
//! Bounded by the room's capacity: a room has no use for more participants than slots. Which of them came first says
//! who is served first. No address and no time of a visit is kept beyond [`LASTING_MS`].

use std::collections::BTreeMap;

use ostrakon_broadcast::room::RoomId;
use ostrakon_crypto::VerifyingKey;

/// How long a participant counts as present after it last said so, in milliseconds.
pub const LASTING_MS: u64 = 30_000;

/// Within so many milliseconds a participant that is still there has said so again.
pub const RENEWED_MS: u64 = 11_000;

/// The table is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

#[derive(Clone, Copy)]
struct Visit {
    until: u64,
    arrival: u64,
}

/// Participants whose home is this server, by room.
#[derive(Default)]
pub struct Presence {
    rooms: BTreeMap<RoomId, BTreeMap<VerifyingKey, Visit>>,
    arrivals: u64,
}

impl Presence {
    /// Notes that a participant is there.
    ///
    /// # Errors
    /// [`Full`] if `limit` others are.
    pub fn note(&mut self, room: RoomId, key: VerifyingKey, now: u64, limit: u32) -> Result<(), Full> {
        let visits = self.rooms.entry(room).or_default();
        let until = now + LASTING_MS;
        if let Some(visit) = visits.get_mut(&key) {
            visit.until = until;
            return Ok(());
        }
        if visits.len() >= limit as usize {
            visits.retain(|_, visit| visit.until > now);
            if visits.len() >= limit as usize {
                return Err(Full);
            }
        }
        self.arrivals += 1;
        visits.insert(key, Visit { until, arrival: self.arrivals });
        Ok(())
    }

    /// Notes that a participant had a slot in an epoch that was sealed without a submission of its. Unless it said only a moment ago that it
    /// is there, it has left: counting it would send others to another server, and give it slots that stay empty.
    pub fn missed(&mut self, room: &RoomId, key: &VerifyingKey, now: u64) {
        if let Some(visits) = self.rooms.get_mut(room)
            && visits.get(key).is_some_and(|visit| visit.until + RENEWED_MS < now + LASTING_MS)
        {
            visits.remove(key);
        }
    }

    /// How many are there.
    pub fn count(&self, room: &RoomId, now: u64) -> u32 {
        let visits = self.rooms.get(room).into_iter().flat_map(BTreeMap::values);
        u32::try_from(visits.filter(|visit| visit.until > now).count()).unwrap_or(u32::MAX)
    }

    /// Who is there, first come first; and forgets who is not.
    pub fn present(&mut self, room: &RoomId, now: u64) -> Vec<VerifyingKey> {
        let Some(visits) = self.rooms.get_mut(room) else { return Vec::new() };
        visits.retain(|_, visit| visit.until > now);
        let mut keys: Vec<_> = visits.iter().map(|(key, visit)| (visit.arrival, *key)).collect();
        if visits.is_empty() {
            self.rooms.remove(room);
        }
        keys.sort_unstable();
        keys.into_iter().map(|(_, key)| key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: RoomId = RoomId([1; 16]);

    fn key(n: u8) -> VerifyingKey {
        VerifyingKey([n; 32])
    }

    #[test]
    fn who_hands_in_nothing_and_says_nothing_has_left() {
        let mut presence = Presence::default();
        presence.note(ROOM, key(1), 0, 9).unwrap();
        presence.note(ROOM, key(2), 5_000, 9).unwrap();
        for gone in [key(1), key(2), key(3)] {
            presence.missed(&ROOM, &gone, RENEWED_MS + 1);
        }
        assert_eq!(presence.present(&ROOM, RENEWED_MS + 1), [key(2)], "it has said so a moment ago");
    }

    #[test]
    fn the_table_is_bounded_and_forgets() {
        let mut presence = Presence::default();
        presence.note(ROOM, key(9), 0, 2).unwrap();
        presence.note(ROOM, key(1), 10, 2).unwrap();
        assert_eq!(presence.note(ROOM, key(3), 20, 2), Err(Full));
        assert_eq!(presence.present(&ROOM, 20), [key(9), key(1)], "first come, first");
        presence.note(ROOM, key(1), 20_000, 2).unwrap();
        assert_eq!(presence.count(&ROOM, LASTING_MS), 1);
        presence.note(ROOM, key(3), LASTING_MS, 2).unwrap();
        assert_eq!(presence.present(&ROOM, LASTING_MS), [key(1), key(3)]);
        assert!(presence.present(&ROOM, 10 * LASTING_MS).is_empty());
        assert!(presence.rooms.is_empty());
    }
}
