//! What servers say in the ledger (spec V2).

use ostrakon_crypto::{Digest, Signature, VerifyingKey};
use ostrakon_party::wire;
use serde::{Deserialize, Serialize};

use crate::evidence::Shown;

/// Assignments in one record at most: as many as the ledger takes in one.
pub const MAX_ASSIGNED: usize = 120;
/// Declarations in one record at most, likewise.
pub const MAX_DECLARED: usize = 128;

/// That a server has written down a participant's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declaration {
    /// Whose place.
    pub slot: u32,
    /// The masked row's digest.
    pub row: Digest,
    /// The participant's signature on place and row: without it a corrupt server could declare a
    /// second row for a slot and have it thrown out.
    pub signature: Signature,
}

/// A participant's request for a place, as its home passes it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// The participant.
    pub client: VerifyingKey,
    /// Its exchange key.
    pub exchange: [u8; 32],
    /// Its signature on [`crate::message::Request`]: without it a corrupt server could give places
    /// of its own to keys that it saw, and with the t homes that have most leave them out.
    pub signature: Signature,
}

/// A record of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Word {
    /// About a batch's preparation ([`ostrakon_robust::offline::Record`]): a commitment, or that
    /// the own part is right.
    Batch(u64, Vec<u8>),
    /// What the author shows of a batch that does not come out: a complaint, or what it has of the
    /// batch once it is burnt.
    Show(u64, Shown),
    /// The author has no part in a batch any more: it has restarted since it began it.
    Out(u64),
    /// Participants who ask the author for a place in an epoch.
    Assign(u64, Vec<Assignment>),
    /// Rows that the author has written down.
    Declare(u64, Vec<Declaration>),
    /// The author's vote to close an epoch.
    Close(u64),
    /// The author declares nothing more in an epoch.
    Final(u64),
    /// The digest of the board's entry, with the author's signature on it.
    Board(u64, Digest, Signature),
}

impl Word {
    /// The record's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Reads a record. Anything else that a server has ordered is as if it were not there.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let word = wire::decode(bytes).ok()?;
        let fits = match &word {
            Word::Assign(_, assigned) => assigned.len() <= MAX_ASSIGNED,
            Word::Declare(_, declarations) => declarations.len() <= MAX_DECLARED,
            _ => true,
        };
        fits.then_some(word)
    }
}
