//! The agreed state: a function of the ledger's order, the same at every honest server after the
//! same number of commits (spec V2 to V7).

mod epoch;
mod stock;

use std::collections::BTreeMap;

use ostrakon_crypto::{Digest, Signature, Transcript};
use ostrakon_party::{PartyId, wire};
use ostrakon_robust::offline::Verdict;
use serde::{Deserialize, Serialize};

use crate::room::{KEPT, Room};
use crate::word::Word;

pub use self::epoch::{Epoch, Place, Seal, place};
pub use self::stock::{Batch, Stock};

/// Epochs that may be under way: one collects while the one before is mixed.
pub const UNDER_WAY: usize = 2;

/// An entry's digest, with the signatures of at least t + 1 servers.
pub type Proof = (Digest, Vec<(PartyId, Signature)>);

/// What a word of the ledger has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Batches were begun.
    Begun(u64),
    /// A batch is ready.
    Ready(u64),
    /// A batch is no more: nothing of it is ever used.
    Dropped(u64),
    /// A complaint burns a batch: all show what they have of it.
    Burnt(u64),
    /// A burnt batch is judged; nobody, if it failed by bad luck.
    Judged(u64, Option<Verdict>),
    /// An epoch collects.
    Opened(u64),
    /// An epoch takes no more participants.
    Closed(u64),
    /// What goes into an epoch is decided.
    Sealed(u64),
    /// t + 1 servers signed the entry of this digest.
    Published {
        /// The epoch.
        epoch: u64,
        /// Its batch, which is used up.
        batch: u64,
        /// The entry.
        entry: Digest,
        /// The signatures.
        signatures: Vec<(PartyId, Signature)>,
    },
}

/// The agreed state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Batches under way and in stock.
    pub stock: Stock,
    /// Epochs that are not on the board.
    pub epochs: BTreeMap<u64, Epoch>,
    /// The next epoch's number.
    pub next: u64,
    /// The digest of the newest entry.
    pub head: Digest,
    /// Entries on the board.
    pub entries: u64,
    /// Proofs of the newest entries. Whoever has an entry without having seen how it was signed, as
    /// it went on from a checkpoint, finds here that it is the right one.
    proofs: BTreeMap<u64, Proof>,
}

impl State {
    /// The state before anything was ordered.
    #[must_use]
    pub fn new(room: &Room) -> Self {
        let mut state = Self {
            stock: Stock::new(room),
            epochs: BTreeMap::new(),
            next: 0,
            head: Digest([0; 32]),
            entries: 0,
            proofs: BTreeMap::new(),
        };
        drop(state.stock.begin(room));
        state
    }

    /// The state's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// The digest of a state's bytes.
    #[must_use]
    pub fn digest(bytes: &[u8]) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/asynchromix/state");
        transcript.bulk_field(bytes);
        transcript.finish()
    }

    /// The epoch that collects.
    #[must_use]
    pub fn collecting(&self) -> Option<(u64, &Epoch)> {
        let (number, epoch) = self.epochs.last_key_value()?;
        epoch.collects().then_some((*number, epoch))
    }

    /// The proof of an entry, if it is one of the newest.
    #[must_use]
    pub fn proof(&self, number: u64) -> Option<&Proof> {
        self.proofs.get(&number)
    }

    /// Takes the next word of the order. What does not fit is as if it had not been said.
    pub fn apply(&mut self, room: &Room, author: PartyId, word: &Word) -> Vec<Change> {
        let mut changes = match word {
            Word::Batch(number, record) => self.stock.record(room, *number, author, record),
            Word::Show(number, shown) => self.stock.show(room, *number, author, shown),
            Word::Out(number) => self.stock.out(room, *number, author),
            Word::Board(epoch, entry, signature) => {
                self.publish(room, *epoch, author, (*entry, *signature))
            }
            Word::Assign(epoch, _)
            | Word::Declare(epoch, _)
            | Word::Close(epoch)
            | Word::Final(epoch) => match self.epochs.get_mut(epoch) {
                Some(of) => of.apply(room, *epoch, author, word),
                None => Vec::new(),
            },
        };
        changes.extend(self.go_on(room));
        changes
    }

    /// A server takes part again without its data: what others hold shares of with it is of no use
    /// while it counts on them.
    pub fn readmitted(&mut self, room: &Room, party: PartyId) -> Vec<Change> {
        let mut changes = self.stock.forsake(room, party);
        changes.extend(self.go_on(room));
        changes
    }

    /// What follows by rule: an epoch is opened when there is stock for it and none collects, and a
    /// batch is begun for every set that has room.
    fn go_on(&mut self, room: &Room) -> Vec<Change> {
        let mut changes = Vec::new();
        if self.collecting().is_none()
            && self.epochs.len() < UNDER_WAY
            && let Some(batch) = self.stock.take()
        {
            self.epochs.insert(self.next, Epoch::new(room, batch));
            changes.push(Change::Opened(self.next));
            self.next += 1;
        }
        changes.extend(self.stock.begin(room).into_iter().map(Change::Begun));
        changes
    }

    fn publish(
        &mut self,
        room: &Room,
        number: u64,
        author: PartyId,
        word: (Digest, Signature),
    ) -> Vec<Change> {
        // Entries are chained, so they come in order.
        let Some(epoch) = self.epochs.get_mut(&number).filter(|_| number == self.entries) else {
            return Vec::new();
        };
        let Some(entry) = epoch.signed(room, number, author, word) else { return Vec::new() };
        let (batch, signatures) = (epoch.batch, epoch.signatures(&entry));
        self.head = entry;
        self.entries += 1;
        self.epochs.remove(&number);
        self.proofs.insert(number, (entry, signatures.clone()));
        if self.proofs.len() > KEPT {
            self.proofs.pop_first();
        }
        vec![Change::Published { epoch: number, batch, entry, signatures }]
    }
}
