//! The board: a chain of entries, each signed by t + 1 servers (spec V7).

use ostrakon_crypto::{Digest, Signature, Transcript};
use ostrakon_party::{PartyId, wire};
use serde::{Deserialize, Serialize};

use crate::room::Room;

/// What came of an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The messages, in the order in which they came out of the shuffle.
    Messages(Vec<Vec<u8>>),
    /// Fewer rows than the minimum: nothing was opened.
    TooFew,
}

/// The board's entry about an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The epoch; entries are numbered like epochs.
    pub epoch: u64,
    /// The digest of the entry before; zeros before the first.
    pub previous: Digest,
    /// The slots whose rows were sealed.
    pub sealed: Vec<u32>,
    /// What came of it.
    pub outcome: Outcome,
}

impl Entry {
    /// The entry's digest in a room.
    #[must_use]
    pub fn digest(&self, room: &Digest) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/asynchromix/entry");
        transcript.field(&room.0).field(&wire::encode(self));
        transcript.finish()
    }
}

/// What a server signs of an entry.
pub(crate) fn statement(room: &Digest, epoch: u64, entry: &Digest) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/asynchromix/board");
    transcript.field(&room.0).number(epoch).field(&entry.0);
    transcript.finish()
}

/// What a server signs of a slot that is in: the committed state has t + 1 declarations of the row.
pub(crate) fn in_statement(room: &Digest, epoch: u64, slot: u32, row: &Digest) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/asynchromix/in");
    transcript.field(&room.0).number(epoch).number(slot.into()).field(&row.0);
    transcript.finish()
}

/// An entry with the servers' signatures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedEntry {
    /// The entry.
    pub entry: Entry,
    /// Signatures by ascending server.
    pub signatures: Vec<(PartyId, Signature)>,
}

impl SignedEntry {
    /// Its bytes, about, and never none.
    pub(crate) fn size(&self) -> usize {
        let messages = match &self.entry.outcome {
            Outcome::Messages(messages) => messages.iter().map(|message| message.len() + 4).sum(),
            Outcome::TooFew => 0,
        };
        128 + 4 * self.entry.sealed.len() + 66 * self.signatures.len() + messages
    }

    /// Whether t + 1 servers of the room signed it: one of them is honest.
    #[must_use]
    pub fn verifies(&self, room: &Room) -> bool {
        let digest = self.entry.digest(&room.digest());
        let statement = statement(&room.digest(), self.entry.epoch, &digest);
        let signed = |(party, signature): &(PartyId, Signature)| {
            room.identities().get(*party).is_some_and(|key| key.verifies(&statement, signature))
        };
        self.signatures.len() >= room.trust().believed()
            && self.signatures.is_sorted_by(|a, b| a.0 < b.0)
            && self.signatures.iter().all(signed)
    }
}
