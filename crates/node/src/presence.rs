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

/// Somebody who wants to be counted as present.
#[derive(Clone, Copy)]
pub struct Visitor {
    /// The participant.
    pub key: VerifyingKey,
    /// A number that stands for the address; `None` for those whom no limit by address concerns.
    pub origin: Option<u64>,
}

/// How many may be present in a room.
#[derive(Clone, Copy)]
pub struct Bound {
    /// In all.
    pub all: u32,
    /// Of one origin.
    pub of_origin: u32,
}

/// What is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The room's table.
    Room,
    /// The part of it that one origin may have.
    Share,
}

#[derive(Clone, Copy)]
struct Visit {
    until: u64,
    arrival: u64,
    origin: Option<u64>,
}

/// Participants in one room.
#[derive(Default)]
struct Visits {
    by_key: BTreeMap<VerifyingKey, Visit>,
    by_origin: BTreeMap<u64, u32>,
}

impl Visits {
    fn insert(&mut self, key: VerifyingKey, visit: Visit) {
        if let Some(origin) = visit.origin {
            *self.by_origin.entry(origin).or_default() += 1;
        }
        self.by_key.insert(key, visit);
    }

    fn remove(&mut self, key: &VerifyingKey) {
        if let Some(visit) = self.by_key.remove(key) {
            self.leave(visit);
        }
    }

    fn retain_lasting(&mut self, now: u64) {
        for (_, visit) in self.by_key.extract_if(.., |_, visit| visit.until <= now).collect::<Vec<_>>() {
            self.leave(visit);
        }
    }

    fn leave(&mut self, visit: Visit) {
        if let Some(origin) = visit.origin
            && let Some(count) = self.by_origin.get_mut(&origin)
        {
            *count -= 1;
            if *count == 0 {
                self.by_origin.remove(&origin);
            }
        }
    }

    /// What keeps a newcomer out.
    fn full(&self, origin: Option<u64>, bound: Bound) -> Option<Full> {
        let of_origin = origin.and_then(|origin| self.by_origin.get(&origin)).copied().unwrap_or(0);
        match self.by_key.len() >= bound.all as usize {
            true => Some(Full::Room),
            false => (of_origin >= bound.of_origin).then_some(Full::Share),
        }
    }
}

/// Participants whose home is this server, by room.
#[derive(Default)]
pub struct Presence {
    rooms: BTreeMap<RoomId, Visits>,
    arrivals: u64,
}

impl Presence {
    /// Notes that a participant is there.
    ///
    /// # Errors
    /// [`Full`] if as many others are as the bound admits.
    pub fn note(&mut self, room: RoomId, visitor: Visitor, now: u64, bound: Bound) -> Result<(), Full> {
        let Visitor { key, origin } = visitor;
        let visits = self.rooms.entry(room).or_default();
        let until = now + LASTING_MS;
        if let Some(visit) = visits.by_key.get_mut(&key) {
            visit.until = until;
            return Ok(());
        }
        if visits.full(origin, bound).is_some() {
            visits.retain_lasting(now);
            if let Some(full) = visits.full(origin, bound) {
                return Err(full);
            }
        }
        self.arrivals += 1;
        visits.insert(key, Visit { until, arrival: self.arrivals, origin });
        Ok(())
    }

    /// Notes that a participant had a slot in an epoch that was sealed without a submission of its. Unless it said only a moment ago that it
    /// is there, it has left: counting it would send others to another server, and give it slots that stay empty.
    pub fn missed(&mut self, room: &RoomId, key: &VerifyingKey, now: u64) {
        if let Some(visits) = self.rooms.get_mut(room)
            && visits.by_key.get(key).is_some_and(|visit| visit.until + RENEWED_MS < now + LASTING_MS)
        {
            visits.remove(key);
        }
    }

    /// How many are there.
    pub fn count(&self, room: &RoomId, now: u64) -> u32 {
        let visits = self.rooms.get(room).into_iter().flat_map(|visits| visits.by_key.values());
        u32::try_from(visits.filter(|visit| visit.until > now).count()).unwrap_or(u32::MAX)
    }

    /// Who is there, first come first; and forgets who is not.
    pub fn present(&mut self, room: &RoomId, now: u64) -> Vec<VerifyingKey> {
        let Some(visits) = self.rooms.get_mut(room) else { return Vec::new() };
        visits.retain_lasting(now);
        let mut keys: Vec<_> = visits.by_key.iter().map(|(key, visit)| (visit.arrival, *key)).collect();
        if visits.by_key.is_empty() {
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
    const NINE: Bound = Bound { all: 9, of_origin: 9 };
    const TWO: Bound = Bound { all: 2, of_origin: 1 };

    fn visitor(n: u8) -> Visitor {
        Visitor { key: key(n), origin: None }
    }

    fn key(n: u8) -> VerifyingKey {
        VerifyingKey([n; 32])
    }

    #[test]
    fn who_hands_in_nothing_and_says_nothing_has_left() {
        let mut presence = Presence::default();
        presence.note(ROOM, visitor(1), 0, NINE).unwrap();
        presence.note(ROOM, visitor(2), 5_000, NINE).unwrap();
        for gone in [key(1), key(2), key(3)] {
            presence.missed(&ROOM, &gone, RENEWED_MS + 1);
        }
        assert_eq!(presence.present(&ROOM, RENEWED_MS + 1), [key(2)], "it has said so a moment ago");
    }

    #[test]
    fn the_table_is_bounded_and_forgets() {
        let mut presence = Presence::default();
        presence.note(ROOM, visitor(9), 0, TWO).unwrap();
        presence.note(ROOM, visitor(1), 10, TWO).unwrap();
        assert_eq!(presence.note(ROOM, visitor(3), 20, TWO), Err(Full::Room));
        assert_eq!(presence.present(&ROOM, 20), [key(9), key(1)], "first come, first");
        presence.note(ROOM, visitor(1), 20_000, TWO).unwrap();
        assert_eq!(presence.count(&ROOM, LASTING_MS), 1);
        presence.note(ROOM, visitor(3), LASTING_MS, TWO).unwrap();
        assert_eq!(presence.present(&ROOM, LASTING_MS), [key(1), key(3)]);
        assert!(presence.present(&ROOM, 10 * LASTING_MS).is_empty());
        assert!(presence.rooms.is_empty());
    }

    #[test]
    fn one_origin_takes_its_share_and_no_more_until_somebody_leaves() {
        let mut presence = Presence::default();
        let bound = Bound { all: 9, of_origin: 2 };
        let of = |origin: u64, n: u8| Visitor { key: key(n), origin: Some(origin) };
        presence.note(ROOM, of(1, 1), 0, bound).unwrap();
        presence.note(ROOM, of(1, 2), 5_000, bound).unwrap();
        assert_eq!(presence.note(ROOM, of(1, 3), 6_000, bound), Err(Full::Share));
        presence.note(ROOM, of(1, 2), 6_000, bound).expect("it is there already");
        presence.note(ROOM, of(2, 3), 6_000, bound).expect("another origin has its own share");
        presence.missed(&ROOM, &key(1), RENEWED_MS + 1);
        presence.note(ROOM, of(1, 4), RENEWED_MS + 1, bound).expect("one has left");
        assert_eq!(presence.note(ROOM, of(1, 5), 20_000, bound), Err(Full::Share));
        presence.note(ROOM, of(1, 5), 6_000 + LASTING_MS, bound).expect("the others' time is over");
        assert!(presence.present(&ROOM, 10 * LASTING_MS).is_empty());
    }
}
