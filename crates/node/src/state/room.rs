//! A room as the servers agree on it, and its epochs that collect or are computed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostrakon_broadcast::hosting::HostLog;
use ostrakon_crypto::{Digest, VerifyingKey};
use ostrakon_mixing::EpochContext;
use ostrakon_mixing::engine::{Shape, slot_class};
use ostrakon_mixing::room::{EpochId, RoomDescriptor, Servers, most_beside};
use ostrakon_party::{ByParty, PartyId, Trust};

use ostrakon_protocol::{LastEpoch, MixingPhase, Outcome};

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
    /// The minimum that holds for it.
    pub minimum: u32,
    /// What its engine bears.
    pub trust: Trust,
    /// When this server first knew of enough submissions. Not agreed on, and not kept: what is
    /// enough at a restart counts as having been so when the clock began.
    pub enough_at: Option<u64>,
    /// Whether this server has told that the epoch is overdue. Neither agreed on nor kept.
    pub told_overdue: bool,
    /// For each server, the number of the announcement by which it said that the epoch is due.
    pub due: ByParty<Option<u64>>,
    /// Slots that have an owner.
    pub slots: BTreeMap<u32, Owner>,
    /// The same slots in the order in which this server learned of their owners.
    pub order: Vec<u32>,
    /// How many of them each server gave out.
    pub assigned: ByParty<u32>,
    /// The same by announcement, of which each server may have heard of some.
    pub given: ByParty<BTreeMap<u64, u32>>,
    /// The lowest slot of each server's class that has no owner; beyond the room's capacity once
    /// all have one.
    pub lowest_free: ByParty<u32>,
    /// Slots of each key. An honest server gives a key one; with a corrupt one there may be one per
    /// server.
    pub keys: BTreeMap<VerifyingKey, BTreeSet<u32>>,
    /// Slots whose submission this server holds. Not agreed on: the engine does that.
    pub submitted: BTreeSet<u32>,
    /// Who may have a slot, as the host log was when the epoch was opened; everybody, if there is
    /// no list.
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
        minimum: u32,
        members: Option<Arc<BTreeSet<VerifyingKey>>>,
        trust: Trust,
    ) -> Self {
        let (slots, order, keys, submitted, admitted) = Default::default();
        let parties = trust.parties();
        Self {
            number,
            batch,
            opened: 0,
            opened_at,
            begun_at: None,
            minimum,
            trust,
            enough_at: None,
            told_overdue: false,
            due: ByParty::new(parties, |_| None),
            slots,
            order,
            assigned: ByParty::new(parties, |_| 0),
            given: ByParty::new(parties, |_| BTreeMap::new()),
            lowest_free: ByParty::new(parties, |class| u32::from(class.0)),
            keys,
            submitted,
            members,
            admitted,
        }
    }

    /// Whether a server that knows so many of the scheduler's announcements may give the key a
    /// slot. What it knew is part of its word, so all judge that alike, however much they know
    /// themselves.
    pub fn admits(&self, key: &VerifyingKey, known: u64) -> bool {
        let Some(members) = &self.members else { return true };
        members.contains(key)
            || self.admitted.get(key).is_some_and(|announcement| *announcement < known)
    }

    /// Admits keys to an epoch that collects, by this announcement of the scheduler. Who is
    /// admitted already stays so.
    pub fn admit(&mut self, keys: &[VerifyingKey], announcement: u64) {
        let Some(members) = &self.members else { return };
        for key in keys.iter().filter(|key| !members.contains(key)) {
            self.admitted.entry(*key).or_insert(announcement);
        }
    }

    /// Gives a slot an owner.
    pub fn assign(&mut self, slot: u32, owner: Owner) {
        if self.slots.insert(slot, owner).is_none() {
            let parties = self.trust.parties();
            let class = slot_class(slot, parties);
            self.order.push(slot);
            self.assigned[class] += 1;
            *self.given[class].entry(owner.announcement).or_default() += 1;
            // No slot is taken back, so nobody need look at those below again.
            while self.slots.contains_key(&self.lowest_free[class]) {
                self.lowest_free[class] += u32::try_from(parties).expect("few servers");
            }
        }
        self.keys.entry(owner.key).or_default().insert(slot);
    }

    /// How many slots a server that knows so many announcements of each may have given out:
    /// [`most_beside`] the fullest of the others that must be honest, if this one is not, so that
    /// the corrupt ones cannot seat everybody in their own classes, where they do not count
    /// ([`ostrakon_mixing::room::people_for`]).
    pub fn most_for(&self, author: PartyId, after: &[u64]) -> u32 {
        let others = self.given.iter().zip(after).filter(|((class, _), _)| *class != author);
        let known = |((_, given), known): ((PartyId, &BTreeMap<u64, u32>), &u64)| {
            given.range(..known).map(|(_, n)| n).sum::<u32>()
        };
        let mut known: Vec<u32> = others.map(known).collect();
        known.sort_unstable_by(|a, b| b.cmp(a));
        let also_corrupt = self.trust.corrupt().saturating_sub(1);
        let honest = known.get(also_corrupt..).unwrap_or_default();
        let fuller = honest.first().copied().unwrap_or(0);
        most_beside(fuller, honest.iter().sum(), self.minimum, &self.trust)
    }

    /// How many of the room's slots are of a server's class, if it has so many.
    pub fn slots_of(&self, class: PartyId, capacity: u32) -> u32 {
        let parties = u32::try_from(self.trust.parties()).expect("few servers");
        (capacity + parties - 1 - u32::from(class.0)) / parties
    }

    /// The slot of a key: the lowest, should a corrupt server have given it another.
    pub fn slot_of(&self, key: &VerifyingKey) -> Option<u32> {
        self.keys.get(key)?.first().copied()
    }
}

/// An epoch that was sealed and is not finished at all servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Computing {
    /// Its batch.
    pub batch: u64,
    /// The minimum that holds for it.
    pub minimum: u32,
    /// How far it is; `None` once its outcome stands.
    pub phase: Option<MixingPhase>,
}

/// What the scheduler could announce for a room in which no epoch collects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// That this batch is planned: none is there for the room, nor under way.
    Planned(u64),
    /// That an epoch opens with this batch.
    Opened(u64),
}

/// The same, as long as a server waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owed {
    /// What.
    pub next: Next,
    /// Since when, in milliseconds since 1970.
    pub since: u64,
    /// Whether this server has told that the epoch is overdue.
    pub told: bool,
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
    /// While none collects, what this server waits for the scheduler to announce. Neither agreed
    /// on nor kept.
    pub owed: Option<Owed>,
    /// Epochs that are not finished.
    pub computing: BTreeMap<u64, Computing>,
    /// How the last one ended.
    pub last: Option<LastEpoch>,
    /// Epochs whose messages may be known to somebody and are not on the board: those that this
    /// server has begun to open, and those that ended as [`Outcome::MayHaveOpened`], however long
    /// ago, since a device may have been away since. Not agreed on.
    pub may_have_opened: BTreeSet<u64>,
    /// Entries on the board.
    pub board_length: u64,
    /// Digest of the last entry, zeros if there is none.
    pub head: Digest,
    /// What its hosts did.
    pub log: HostLog,
    /// When somebody last got a slot, or the room came into being; in milliseconds since 1970 by
    /// this server's clock. Not agreed on.
    pub active_at: u64,
    /// The world's version at its last change.
    pub version: u64,
}

impl Room {
    /// Gives slots of the epoch that collects their owners, by an announcement that arrived `at`.
    pub(super) fn assign(&mut self, slots: impl Iterator<Item = (u32, Owner)>, at: u64) {
        self.active_at = self.active_at.max(at);
        let Some(collecting) = &mut self.collecting else { return };
        collecting.begun_at.get_or_insert(at);
        slots.for_each(|(slot, owner)| collecting.assign(slot, owner));
    }

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
            owed: None,
            computing: BTreeMap::new(),
            last: None,
            may_have_opened: BTreeSet::new(),
            board_length: 0,
            head: Digest([0; 32]),
            version: 1,
        }
    }

    /// Takes in how an epoch ended.
    pub(crate) fn ended(&mut self, last: LastEpoch) {
        if last.outcome == Outcome::MayHaveOpened {
            self.may_have_opened.insert(last.number);
        } else {
            self.may_have_opened.remove(&last.number);
        }
        self.last = Some(last);
    }

    /// Whether a server that knows so many announcements of each knows of it.
    pub(super) fn is_known_by(&self, after: &[u64]) -> bool {
        self.created < after[self.author.index()]
    }

    /// The context of one of its epochs, with its batch and minimum.
    pub fn context(&self, number: u64, batch: u64, minimum: u32) -> EpochContext {
        EpochContext {
            epoch: EpochId { room: self.descriptor.id(), number },
            batch,
            engine: self.descriptor.engine,
            shape: Shape::of(&self.descriptor),
            mode: self.descriptor.mode,
            minimum,
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

#[cfg(test)]
mod tests {
    use ostrakon_broadcast::board::Entry;
    use ostrakon_broadcast::outbox::{Observed, Outbox};
    use ostrakon_party::SessionId;

    use super::*;

    fn ended(number: u64, outcome: Outcome) -> LastEpoch {
        LastEpoch { number, outcome, detail: String::new() }
    }

    /// A device that was away since long before the message's epoch was given up is still told.
    #[test]
    fn an_epoch_in_doubt_is_not_forgotten() {
        let servers = Servers { session: SessionId(Digest([9; 32])), keys: Vec::new() };
        let mut room = Room::new(RoomDescriptor::new("r"), PartyId(0), &servers);
        let mut outbox = Outbox::default();
        outbox.put(b"hello".to_vec()).unwrap();
        assert!(outbox.content(3).is_some());
        for number in 0..=12 {
            room.may_have_opened.insert(number);
            let given_up = if number == 3 { Outcome::MayHaveOpened } else { Outcome::Published };
            room.ended(ended(number, given_up));
        }
        assert_eq!(room.may_have_opened, BTreeSet::from([3]));
        room.may_have_opened.iter().for_each(|number| outbox.doubt(*number));
        let epoch = EpochId { room: room.descriptor.id(), number: 12 };
        let entry = Entry { epoch, previous: room.head, accepted: 3, messages: Vec::new() };
        assert_eq!(outbox.observe(&entry), Observed::Held);
        assert_eq!(outbox.held(), Some(3));
    }

    #[test]
    fn an_epoch_that_ends_otherwise_is_in_doubt_no_longer() {
        let servers = Servers { session: SessionId(Digest([9; 32])), keys: Vec::new() };
        let mut room = Room::new(RoomDescriptor::new("r"), PartyId(0), &servers);
        for (number, outcome) in (0..).zip([Outcome::Published, Outcome::Cheated, Outcome::Failed])
        {
            room.may_have_opened.insert(number);
            room.ended(ended(number, outcome));
        }
        assert_eq!(room.may_have_opened, BTreeSet::new());
    }
}
