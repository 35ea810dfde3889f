//! Why a run stops, and what a third person can see of it.

use ostrakon_crypto::Digest;
use ostrakon_party::{Header, Instance, PartyId, Roster, SignedHeader, wire};
use serde::{Deserialize, Serialize};

use super::steps::{DIGEST, VOUCHED};

/// Signed statements that cannot all be honest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Evidence {
    /// Two different statements of one server under one tag.
    Equivocation(Box<[SignedHeader; 2]>),
    /// One server's table, and another server's digest of what that table should be: one of the
    /// two servers lied. Which one is not looked for, because that would open seeds.
    Conflict {
        /// The table, as its sender signed it.
        table: Box<SignedHeader>,
        /// The message that the digest came in.
        digest: Box<SignedHeader>,
        /// The digest, which is all of that message's body.
        stated: Digest,
    },
}

/// Who is accused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accused {
    /// This server is corrupt.
    One(PartyId),
    /// One of these two servers is corrupt.
    OneOf(PartyId, PartyId),
}

impl Accused {
    /// Whether the server is among the accused.
    #[must_use]
    pub fn includes(self, party: PartyId) -> bool {
        match self {
            Accused::One(a) => a == party,
            Accused::OneOf(a, b) => a == party || b == party,
        }
    }
}

impl Evidence {
    /// Whom the evidence accuses before somebody who knows the roster and the run; `None` if it
    /// proves nothing.
    #[must_use]
    pub fn accused(&self, roster: &Roster, instance: &Instance) -> Option<Accused> {
        let of_run = |signed: &SignedHeader| {
            signed.header.tag.instance == *instance && roster.vouches(signed)
        };
        match self {
            Evidence::Equivocation(statements) => {
                let [a, b] = &**statements;
                (of_run(a) && of_run(b) && a.contradicts(b)).then_some(Accused::One(a.header.from))
            }
            Evidence::Conflict { table, digest, stated } => {
                let (t, d) = (&table.header, &digest.header);
                let one_matter =
                    VOUCHED.iter().any(|(x, y)| (t.tag.step, d.tag.step) == (x.step(), y.step()))
                        && t.tag.sequence == d.tag.sequence
                        && t.to == d.to
                        && t.from != d.from;
                let said = d.length == DIGEST && d.digest == Header::digest_of(&stated.0);
                let proven = of_run(table) && of_run(digest) && one_matter && said;
                (proven && t.digest != *stated).then_some(Accused::OneOf(t.from, d.from))
            }
        }
    }

    /// Bytes for storing and sending.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Reads what [`Evidence::encode`] writes.
    ///
    /// # Errors
    /// [`wire::Malformed`].
    pub fn decode(bytes: &[u8]) -> Result<Self, wire::Malformed> {
        wire::decode(bytes)
    }
}

/// Why a run ended without its result. Nothing is opened after any of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// Signed statements that cannot all be honest; they are shown to everybody.
    #[error("the servers' signed statements contradict each other")]
    Evidence(Evidence),
    /// A server signed a message that its step forbids.
    #[error("{} signed a message that its step forbids", .0.header.from)]
    Malformed(Box<SignedHeader>),
    /// A server's opening is not of its commitment, or its vote is not for what the others found.
    #[error("{0} does not stand by {1}")]
    Broken(PartyId, &'static str),
    /// The members of a pair state different things about the pair's seeds.
    #[error("two servers state different seeds")]
    Disagreement,
    /// A check failed that cannot tell whose fault it is.
    #[error("the check of {0} failed")]
    Check(&'static str),
    /// The journal says that this has been begun, or was done with something else.
    #[error("{0} is spent")]
    Spent(String),
    /// A mark could not be written.
    #[error("a durable mark could not be written: {0}")]
    Journal(String),
}
