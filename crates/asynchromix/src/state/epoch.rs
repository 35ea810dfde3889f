//! An epoch, as the order has it: places, declarations, the seal, the entry (spec V4 to V7).

use std::collections::{BTreeMap, BTreeSet};

use ostrakon_crypto::{Digest, Signature, Transcript, VerifyingKey};
use ostrakon_party::PartyId;
use ostrakon_robust::client;
use serde::{Deserialize, Serialize};

use crate::board::statement;
use crate::message::Request;
use crate::room::Room;
use crate::word::{Assignment, Declaration, Word};

use super::Change;

/// A place that is taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// By whom.
    pub client: VerifyingKey,
    /// The home at which it asked.
    pub home: PartyId,
    /// The first declaration of each server.
    declared: BTreeMap<PartyId, (Digest, Signature)>,
}

/// What goes into an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// By place: the row's digest, if there is one.
    pub rows: Vec<Option<Digest>>,
    /// Whether there are enough of them.
    pub enough: bool,
}

/// An epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epoch {
    /// The batch whose masks and matrices it uses.
    pub batch: u64,
    /// Places, in the order in which they were taken.
    pub places: Vec<Place>,
    closing: BTreeSet<PartyId>,
    finals: BTreeSet<PartyId>,
    closed: bool,
    /// What goes in, once that is decided.
    pub seal: Option<Seal>,
    signed: BTreeMap<PartyId, (Digest, Signature)>,
    rows: usize,
}

impl Epoch {
    pub(super) fn new(room: &Room, batch: u64) -> Self {
        Self {
            batch,
            places: Vec::new(),
            closing: BTreeSet::new(),
            finals: BTreeSet::new(),
            closed: false,
            seal: None,
            signed: BTreeMap::new(),
            rows: room.shape().rows,
        }
    }

    /// Whether it takes participants.
    #[must_use]
    pub fn collects(&self) -> bool {
        !self.closed
    }

    /// Whether it takes declarations.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.seal.is_some()
    }

    /// The slot of a participant.
    #[must_use]
    pub fn slot_of(&self, client: &VerifyingKey) -> Option<u32> {
        let at = self.places.iter().position(|place| place.client == *client)?;
        u32::try_from(at).ok()
    }

    /// The place of a slot.
    #[must_use]
    pub fn place(&self, slot: u32) -> Option<&Place> {
        self.places.get(usize::try_from(slot).ok()?)
    }

    /// Places that a home has given out.
    #[must_use]
    pub fn of_home(&self, home: PartyId) -> usize {
        self.places.iter().filter(|place| place.home == home).count()
    }

    /// Whether a server has voted to close.
    #[must_use]
    pub fn has_voted(&self, server: PartyId) -> bool {
        self.closing.contains(&server)
    }

    /// Whether a server has said that it declares nothing more.
    #[must_use]
    pub fn is_final(&self, server: PartyId) -> bool {
        self.finals.contains(&server)
    }

    /// Whether a server has signed an entry.
    #[must_use]
    pub fn has_signed(&self, server: PartyId) -> bool {
        self.signed.contains_key(&server)
    }

    /// Rows that are in so far.
    #[must_use]
    pub fn rows_in(&self, room: &Room) -> usize {
        let believed = room.trust().believed();
        self.places.iter().filter(|place| place.agreed(believed).is_some()).count()
    }

    /// Whether something is in. What one server alone declares may be nothing: if it counted, one
    /// would end epoch after epoch without rows, each at the price of a batch.
    #[must_use]
    pub fn has_rows(&self, room: &Room) -> bool {
        let believed = room.trust().believed();
        self.places.iter().any(|place| place.agreed(believed).is_some())
    }

    /// Whether what is declared so far is the minimum.
    #[must_use]
    pub fn has_minimum(&self, room: &Room) -> bool {
        let believed = room.trust().believed();
        let rows: Vec<_> = self.places.iter().map(|place| place.agreed(believed)).collect();
        self.is_enough(room, &rows)
    }

    /// Whether all k places have handed in. "All that are taken" would let who takes the minimum of
    /// places close early.
    #[must_use]
    pub fn is_full(&self, room: &Room) -> bool {
        self.places.len() == self.rows
            && self.places.iter().all(|place| place.agreed(room.trust().believed()).is_some())
    }

    pub(super) fn apply(
        &mut self,
        room: &Room,
        number: u64,
        author: PartyId,
        word: &Word,
    ) -> Vec<Change> {
        if self.is_sealed() {
            return Vec::new();
        }
        match word {
            Word::Assign(_, assigned) if !self.closed => {
                assigned.iter().for_each(|assigned| self.assign(room, number, author, assigned));
            }
            Word::Declare(_, declarations) => {
                declarations.iter().for_each(|declaration| self.declare(author, declaration));
            }
            Word::Close(_) if !self.closed => {
                self.closing.insert(author);
                if self.closing.len() >= room.trust().believed() {
                    self.closed = true;
                    return vec![Change::Closed(number)];
                }
            }
            // A final list counts once the epoch is closed: before, more may be handed in.
            Word::Final(_) if self.closed => {
                self.finals.insert(author);
                if self.finals.len() >= room.trust().awaited() {
                    self.seal = Some(self.sealed(room, number));
                    return vec![Change::Sealed(number)];
                }
            }
            _ => {}
        }
        Vec::new()
    }

    /// One place for a key, and so many for a home, which the participant has named; the first one
    /// ordered counts, unless a later one makes the homes more alike.
    fn assign(&mut self, room: &Room, epoch: u64, home: PartyId, assigned: &Assignment) {
        let Assignment { client, exchange, signature } = *assigned;
        let at = self.places.iter().position(|place| place.client == client);
        let fits = match at {
            Some(at) => self.evens_out(room, &self.places[at], home),
            None => self.places.len() < self.rows && room.admits(&client),
        };
        let request = Request { epoch, client, exchange, home, signature };
        if !fits || self.of_home(home) >= room.quota() || !request.verifies(room) {
            return;
        }
        match at {
            Some(at) => self.places[at].home = home,
            None => self.places.push(Place { client, home, declared: BTreeMap::new() }),
        }
    }

    /// Whether a place may become another home's: its row is in, the minimum is not, and homes have
    /// rows more alike then. Places without rows count for nothing, or whoever takes many could
    /// gather others' rows where they count least. Each move makes homes more alike, so there are
    /// few.
    #[must_use]
    pub fn evens_out(&self, room: &Room, place: &Place, to: PartyId) -> bool {
        let believed = room.trust().believed();
        let is_in = |place: &Place| place.agreed(believed).is_some();
        let rows_of =
            |home| self.places.iter().filter(|place| place.home == home && is_in(place)).count();
        is_in(place) && !self.has_minimum(room) && rows_of(to) + 1 < rows_of(place.home)
    }

    /// A server's first word about a slot counts; it takes none back.
    fn declare(&mut self, author: PartyId, declaration: &Declaration) {
        let at = usize::try_from(declaration.slot).ok();
        if let Some(place) = at.and_then(|at| self.places.get_mut(at)) {
            place.declared.entry(author).or_insert((declaration.row, declaration.signature));
        }
    }

    /// What counts of all declarations up to the q-th final list (spec V5).
    fn sealed(&self, room: &Room, number: u64) -> Seal {
        let believed = room.trust().believed();
        let places = (0u32..).zip(&self.places);
        let mut rows: Vec<_> = places
            .map(|(slot, place)| {
                let row = place.agreed(believed)?;
                let at = self.place_in(room, number, slot);
                (!place.has_second(&at, &row)).then_some(row)
            })
            .collect();
        rows.resize(self.rows, None);
        let enough = self.is_enough(room, &rows);
        Seal { rows, enough }
    }

    /// Whether the minimum is there without the rows of the t homes that have most: those may all
    /// be one's.
    fn is_enough(&self, room: &Room, rows: &[Option<Digest>]) -> bool {
        let mut homes: BTreeMap<PartyId, usize> = BTreeMap::new();
        for (place, _) in self.places.iter().zip(rows).filter(|(_, row)| row.is_some()) {
            *homes.entry(place.home).or_default() += 1;
        }
        let mut counts: Vec<_> = homes.into_values().collect();
        counts.sort_unstable();
        // A trial hides nobody, so nobody can be outnumbered in it.
        let left_out = if room.is_trial() { 0 } else { room.trust().corrupt() };
        let rest = counts.iter().rev().skip(left_out);
        rest.sum::<usize>() >= room.shape().minimum
    }

    /// What a participant's signature in a slot is bound to.
    #[must_use]
    pub fn place_in(&self, room: &Room, number: u64, slot: u32) -> client::Place {
        place(room, number, slot, self.batch)
    }

    /// What the batch is spent on: everything public that decides what is computed.
    #[must_use]
    pub fn purpose(&self, room: &Room, number: u64) -> Option<Digest> {
        let seal = self.seal.as_ref()?;
        let mut transcript = Transcript::new("ostrakon/v1/asynchromix/purpose");
        transcript.field(&room.digest().0).number(number).number(self.batch);
        for row in &seal.rows {
            transcript.field(row.as_ref().map_or(&[][..], |row| &row.0));
        }
        Some(transcript.finish())
    }

    /// Counts a signature on an entry; the entry's digest once t + 1 are alike.
    pub(super) fn signed(
        &mut self,
        room: &Room,
        number: u64,
        author: PartyId,
        (entry, signature): (Digest, Signature),
    ) -> Option<Digest> {
        let statement = statement(&room.digest(), number, &entry);
        let right = room.identities().get(author)?.verifies(&statement, &signature);
        if !self.is_sealed() || !right {
            return None;
        }
        self.signed.entry(author).or_insert((entry, signature));
        let alike = self.signed.values().filter(|(other, _)| *other == entry).count();
        (alike >= room.trust().believed()).then_some(entry)
    }

    /// The signatures on an entry.
    #[must_use]
    pub fn signatures(&self, entry: &Digest) -> Vec<(PartyId, Signature)> {
        let of = |(party, (other, signature)): (&PartyId, &(Digest, Signature))| {
            (other == entry).then_some((*party, *signature))
        };
        self.signed.iter().filter_map(of).collect()
    }
}

/// What a participant's signature is bound to: the room, the epoch, the slot, and the batch whose
/// masks it used, by its number, which is never used twice.
#[must_use]
pub fn place(room: &Room, epoch: u64, slot: u32, batch: u64) -> client::Place {
    let mut transcript = Transcript::new("ostrakon/v1/asynchromix/batch");
    transcript.field(&room.digest().0).number(batch);
    client::Place { room: room.digest(), epoch, slot, batch: transcript.finish() }
}

impl Place {
    /// The row that so many servers declared.
    #[must_use]
    pub fn agreed(&self, believed: usize) -> Option<Digest> {
        let count = |row: &Digest| self.declared.values().filter(|(other, _)| other == row).count();
        self.declared.values().map(|(row, _)| *row).find(|row| count(row) >= believed)
    }

    /// Who declared a row.
    pub fn holders(&self, row: Digest) -> impl Iterator<Item = PartyId> {
        self.declared.iter().filter(move |(_, (other, _))| *other == row).map(|(party, _)| *party)
    }

    /// Whether a server has declared a row.
    #[must_use]
    pub fn is_declared_by(&self, server: PartyId) -> bool {
        self.declared.contains_key(&server)
    }

    /// Whether the owner signed another row, too. A declaration without its signature is nothing.
    fn has_second(&self, at: &client::Place, row: &Digest) -> bool {
        self.declared.values().any(|(other, signature)| {
            other != row && self.client.verifies(&at.digest(&self.client, other), signature)
        })
    }
}
