//! The board: a chain of entries, each signed by t + 1 servers (spec V7).

use std::fmt;
use std::marker::PhantomData;

use ostrakon_crypto::{Digest, Signature, Transcript};
use ostrakon_party::{PartyId, wire};
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::room::{MAX_ROWS, Room};

/// Reads a list of at most so many items. An item may take many times more memory than bytes of
/// what is read: an empty message takes one byte, and a vector.
pub(crate) fn at_most<'de, D, T, const MOST: usize>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Few<T, const MOST: usize>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Few<T, MOST> {
        type Value = Vec<T>;

        fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(text, "at most {MOST} items")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
            let mut read = Vec::new();
            while let Some(item) = items.next_element()? {
                if read.len() == MOST {
                    return Err(A::Error::invalid_length(MOST + 1, &self));
                }
                read.push(item);
            }
            Ok(read)
        }
    }

    from.deserialize_seq(Few::<T, MOST>(PhantomData))
}

/// What came of an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The messages, in the order in which they came out of the shuffle.
    Messages(#[serde(deserialize_with = "at_most::<_, _, MAX_ROWS>")] Vec<Vec<u8>>),
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
    #[serde(deserialize_with = "at_most::<_, _, MAX_ROWS>")]
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
