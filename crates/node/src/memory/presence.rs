//! Who is there. In memory only: a participant says so again every few seconds.
//!
//! Bounded by the room's capacity: a room has no use for more participants than slots. Which of
//! them came first says who is served first. No address and no time of a visit is kept beyond
//! [`LASTING_MS`].

use std::collections::BTreeMap;

use ostrakon_crypto::VerifyingKey;
use ostrakon_mixing::room::RoomId;

use crate::state::announcement::MOST_SLOTS;
use crate::state::scheduling::Waiting;
use ostrakon_protocol::ServiceError;

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

/// How often to look for those whose time is over.
const SEARCH_MS: u64 = 1000;

/// What is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The room's table.
    Room,
    /// The part of it that one origin may have.
    Share,
}

impl From<Full> for ServiceError {
    fn from(full: Full) -> Self {
        ServiceError::Busy(match full {
            Full::Room => {
                "the room has as many participants as slots; try another server, or later".into()
            }
            Full::Share => {
                "too many participants of this address are in the room; try another server, or later"
                    .into()
            }
        })
    }
}

#[derive(Clone, Copy)]
struct Visit {
    until: u64,
    arrival: u64,
    origin: Option<u64>,
    /// In which epoch it has waited for a slot, and since when.
    waits: Option<(u64, u64)>,
    /// Whether it has waited in vain for other servers to fill.
    stays: bool,
}

/// Participants in one room.
#[derive(Default)]
struct Visits {
    by_key: BTreeMap<VerifyingKey, Visit>,
    by_arrival: BTreeMap<u64, VerifyingKey>,
    by_origin: BTreeMap<u64, u32>,
    /// When those whose time is over were last looked for.
    searched: u64,
    /// An epoch, and up to which arrival everybody has a slot in it.
    seated: (u64, u64),
    /// Grows whenever somebody comes or leaves.
    changes: u64,
    /// How many had no slot, at which version of the room and after how many changes.
    without_slot: Option<((u64, u64), u32)>,
}

impl Visits {
    fn insert(&mut self, key: VerifyingKey, visit: Visit) {
        self.changes += 1;
        if let Some(origin) = visit.origin {
            *self.by_origin.entry(origin).or_default() += 1;
        }
        self.by_arrival.insert(visit.arrival, key);
        self.by_key.insert(key, visit);
    }

    fn remove(&mut self, key: &VerifyingKey) {
        if let Some(visit) = self.by_key.remove(key) {
            self.leave(visit);
        }
    }

    /// Forgets whose time is over, unless that was done a moment ago: it takes a look at everybody.
    fn forget(&mut self, now: u64) {
        if now < self.searched.saturating_add(SEARCH_MS) {
            return;
        }
        self.searched = now;
        for (_, visit) in
            self.by_key.extract_if(.., |_, visit| visit.until <= now).collect::<Vec<_>>()
        {
            self.leave(visit);
        }
    }

    fn leave(&mut self, visit: Visit) {
        self.changes += 1;
        self.by_arrival.remove(&visit.arrival);
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
    pub fn note(
        &mut self,
        room: RoomId,
        visitor: Visitor,
        now: u64,
        bound: Bound,
    ) -> Result<(), Full> {
        let Visitor { key, origin } = visitor;
        let visits = self.rooms.entry(room).or_default();
        let until = now + LASTING_MS;
        if let Some(visit) = visits.by_key.get_mut(&key) {
            visit.until = until;
            return Ok(());
        }
        if visits.full(origin, bound).is_some() {
            visits.forget(now);
            if let Some(full) = visits.full(origin, bound) {
                return Err(full);
            }
        }
        self.arrivals += 1;
        let arrival = self.arrivals;
        visits.insert(key, Visit { until, arrival, origin, waits: None, stays: false });
        Ok(())
    }

    /// Notes that a participant had a slot in an epoch that was sealed without a submission of its.
    /// Unless it said only a moment ago that it is there, it has left: counting it would send
    /// others to another server, and give it slots that stay empty.
    pub fn missed(&mut self, room: &RoomId, key: &VerifyingKey, now: u64) {
        if let Some(visits) = self.rooms.get_mut(room)
            && visits
                .by_key
                .get(key)
                .is_some_and(|visit| visit.until + RENEWED_MS < now + LASTING_MS)
        {
            visits.remove(key);
        }
    }

    /// Notes that another server gave these participants slots: they are at home there now, unless
    /// they have one of this server's, too.
    pub fn moved<'a>(
        &mut self,
        room: &RoomId,
        keys: impl Iterator<Item = &'a VerifyingKey>,
        seated_here: impl Fn(&VerifyingKey) -> bool,
    ) {
        let Some(visits) = self.rooms.get_mut(room) else { return };
        for key in keys.filter(|key| !seated_here(key)) {
            visits.remove(key);
        }
    }

    /// Forgets whose time is over, in every room.
    pub fn forget(&mut self, now: u64) {
        self.rooms.retain(|_, visits| {
            visits.forget(now);
            !visits.by_key.is_empty()
        });
    }

    /// Whether somebody has said that it is there, and may be still.
    pub fn knows(&self, room: &RoomId, key: &VerifyingKey) -> bool {
        self.rooms.get(room).is_some_and(|visits| visits.by_key.contains_key(key))
    }

    /// How many are there, give or take those whose time was over within the last second.
    pub fn count(&mut self, room: &RoomId, now: u64) -> u32 {
        let Some(visits) = self.rooms.get_mut(room) else { return 0 };
        visits.forget(now);
        u32::try_from(visits.by_key.len()).unwrap_or(u32::MAX)
    }

    /// How many of the latest who came, [`MOST_SLOTS`] at most, are not `seated`. A change of the
    /// room wakes all who follow it at once: they are counted once for each of its versions.
    pub fn count_waiting(
        &mut self,
        room: &RoomId,
        version: u64,
        seated: impl Fn(&VerifyingKey) -> bool,
    ) -> u32 {
        let Some(visits) = self.rooms.get_mut(room) else { return 0 };
        let state = (version, visits.changes);
        if let Some((_, count)) = visits.without_slot.filter(|(counted, _)| *counted == state) {
            return count;
        }
        let latest = visits.by_arrival.values().rev().take(MOST_SLOTS);
        let count = u32::try_from(latest.filter(|key| !seated(key)).count()).unwrap_or(u32::MAX);
        visits.without_slot = Some((state, count));
        count
    }

    /// Who is there and is not `seated` in an epoch, first come first, as many as one announcement
    /// gives slots to. Those who came before everybody that is returned are not asked for again: a
    /// slot is not taken back. Who has waited for longer than `patience` in one epoch stays.
    pub fn waiting(
        &mut self,
        room: &RoomId,
        (epoch, patience): (u64, u64),
        now: u64,
        seated: impl Fn(&VerifyingKey) -> bool,
    ) -> Vec<Waiting> {
        let Some(visits) = self.rooms.get_mut(room) else { return Vec::new() };
        visits.forget(now);
        if visits.by_key.is_empty() {
            self.rooms.remove(room);
            return Vec::new();
        }
        if visits.seated.0 != epoch {
            visits.seated = (epoch, 0);
        }
        let mut waiting = Vec::new();
        for (arrival, key) in visits.by_arrival.range(visits.seated.1 + 1..) {
            if !seated(key) {
                let visit = visits.by_key.get_mut(key).expect("whoever arrived is there");
                let (_, since) = *visit
                    .waits
                    .insert(visit.waits.filter(|waits| waits.0 == epoch).unwrap_or((epoch, now)));
                visit.stays |= since + patience <= now;
                waiting.push(Waiting { key: *key, stays: visit.stays });
            } else if waiting.is_empty() {
                visits.seated.1 = *arrival;
            }
            if waiting.len() == MOST_SLOTS {
                break;
            }
        }
        waiting
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

    fn everybody(presence: &mut Presence, now: u64) -> Vec<VerifyingKey> {
        keys(presence.waiting(&ROOM, (0, 0), now, |_| false))
    }

    fn keys(waiting: Vec<Waiting>) -> Vec<VerifyingKey> {
        waiting.into_iter().map(|waiting| waiting.key).collect()
    }

    #[test]
    fn who_has_waited_in_vain_stays_until_it_leaves() {
        let mut presence = Presence::default();
        presence.note(ROOM, visitor(1), 0, NINE).unwrap();
        let mut stays = |epoch, now| presence.waiting(&ROOM, (epoch, 500), now, |_| false)[0].stays;
        assert_eq!([stays(0, 0), stays(0, 499), stays(1, 600), stays(1, 1_099)], [false; 4]);
        assert_eq!([stays(1, 1_100), stays(2, 1_200)], [true; 2]);
    }

    #[test]
    fn whoever_has_a_slot_is_not_asked_for_again_in_the_same_epoch() {
        let mut presence = Presence::default();
        for n in 1..=4 {
            presence.note(ROOM, visitor(n), 0, NINE).unwrap();
        }
        let waiting = |presence: &mut Presence, epoch: u64, seated: &[u8]| {
            let asked = std::cell::RefCell::new(Vec::new());
            let found = presence.waiting(&ROOM, (epoch, 0), 1, |key| {
                asked.borrow_mut().push(*key);
                seated.iter().any(|n| *key == VerifyingKey([*n; 32]))
            });
            (keys(found), asked.into_inner().len())
        };
        assert_eq!(waiting(&mut presence, 7, &[]), (vec![key(1), key(2), key(3), key(4)], 4));
        assert_eq!(waiting(&mut presence, 7, &[1, 2, 4]), (vec![key(3)], 4));
        assert_eq!(
            waiting(&mut presence, 7, &[1, 2, 4]),
            (vec![key(3)], 2),
            "the first two are known to have one"
        );
        assert_eq!(waiting(&mut presence, 7, &[1, 2, 3, 4]), (vec![], 2));
        presence.note(ROOM, visitor(5), 1, NINE).unwrap();
        assert_eq!(waiting(&mut presence, 7, &[1, 2, 3, 4]), (vec![key(5)], 1));
        assert_eq!(waiting(&mut presence, 8, &[]).0.len(), 5, "another epoch, other slots");
    }

    #[test]
    fn who_has_no_slot_is_counted_once_for_each_version_of_the_room() {
        let mut presence = Presence::default();
        for n in 1..=4 {
            presence.note(ROOM, visitor(n), 0, NINE).unwrap();
        }
        let count = |presence: &mut Presence, version: u64, seated: &[u8]| {
            let asked = std::cell::Cell::new(0);
            let waiting = presence.count_waiting(&ROOM, version, |known| {
                asked.set(asked.get() + 1);
                seated.iter().any(|n| *known == key(*n))
            });
            (waiting, asked.get())
        };
        assert_eq!(count(&mut presence, 1, &[1]), (3, 4));
        assert_eq!(count(&mut presence, 1, &[1]), (3, 0), "nothing has changed");
        assert_eq!(count(&mut presence, 2, &[1, 2]), (2, 4), "slots were given out");
        presence.note(ROOM, visitor(5), 0, NINE).unwrap();
        assert_eq!(count(&mut presence, 2, &[1, 2]), (3, 5), "somebody came");
        presence.missed(&ROOM, &key(4), LASTING_MS);
        assert_eq!(count(&mut presence, 2, &[1, 2]), (2, 4), "somebody left");
    }

    #[test]
    fn who_has_a_slot_of_another_server_is_not_counted_here_any_more() {
        let mut presence = Presence::default();
        for n in 1..=3 {
            presence.note(ROOM, visitor(n), 0, NINE).unwrap();
        }
        presence.moved(&ROOM, [key(1), key(2), key(9)].iter(), |known| *known == key(2));
        assert_eq!(everybody(&mut presence, 1), [key(2), key(3)]);
    }

    #[test]
    fn who_hands_in_nothing_and_says_nothing_has_left() {
        let mut presence = Presence::default();
        presence.note(ROOM, visitor(1), 0, NINE).unwrap();
        presence.note(ROOM, visitor(2), 5_000, NINE).unwrap();
        for gone in [key(1), key(2), key(3)] {
            presence.missed(&ROOM, &gone, RENEWED_MS + 1);
        }
        assert_eq!(
            everybody(&mut presence, RENEWED_MS + 1),
            [key(2)],
            "it has said so a moment ago"
        );
    }

    #[test]
    fn the_table_is_bounded_and_forgets() {
        let mut presence = Presence::default();
        presence.note(ROOM, visitor(9), 0, TWO).unwrap();
        presence.note(ROOM, visitor(1), 10, TWO).unwrap();
        assert_eq!(presence.note(ROOM, visitor(3), 20, TWO), Err(Full::Room));
        assert_eq!(everybody(&mut presence, 20), [key(9), key(1)], "first come, first");
        presence.note(ROOM, visitor(1), 20_000, TWO).unwrap();
        assert_eq!(presence.count(&ROOM, LASTING_MS), 1);
        presence.note(ROOM, visitor(3), LASTING_MS, TWO).unwrap();
        assert_eq!(everybody(&mut presence, LASTING_MS + SEARCH_MS), [key(1), key(3)]);
        assert!(everybody(&mut presence, 10 * LASTING_MS).is_empty());
        assert!(presence.rooms.is_empty());
    }

    #[test]
    fn who_left_a_room_in_which_nothing_happens_any_more_is_forgotten_too() {
        let mut presence = Presence::default();
        presence.note(ROOM, visitor(1), 0, NINE).unwrap();
        presence.note(RoomId([2; 16]), visitor(2), LASTING_MS, NINE).unwrap();
        presence.forget(LASTING_MS);
        assert!(!presence.knows(&ROOM, &key(1)) && presence.knows(&RoomId([2; 16]), &key(2)));
        assert_eq!(presence.rooms.len(), 1);
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
        assert!(everybody(&mut presence, 10 * LASTING_MS).is_empty());
    }
}
