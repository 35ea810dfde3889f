//! What a third person can see to be wrong in a message, whatever the protocol computes.
//! [`evidence`](crate::evidence) is how it is seen.

use ostrakon_party::{Received, Roster, SignedHeader};
use serde::{Deserialize, Serialize};

/// A signed statement with its body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// What the sender signed.
    pub signed: SignedHeader,
    /// The body that the header's digest is of.
    pub body: Vec<u8>,
}

impl Statement {
    /// Whether the signature is the sender's and the body is the one that it signed.
    #[must_use]
    pub fn holds(&self, roster: &Roster) -> bool {
        let header = &self.signed.header;
        let body = header.length == self.body.len() as u64
            && header.digest == ostrakon_party::Header::digest_of(&self.body);
        body && roster.vouches(&self.signed)
    }
}

impl From<&Received> for Statement {
    fn from(received: &Received) -> Self {
        Self { signed: received.signed, body: received.body.to_vec() }
    }
}

/// A breach of rules that all protocols have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Offence {
    /// Two different statements under one tag.
    Equivocation(Box<[SignedHeader; 2]>),
    /// A message whose length, address or content its step forbids. The body is empty if length or
    /// address is the offence.
    Malformed(Box<Statement>),
    /// A commitment and what was said to open it, and does not.
    Opening {
        /// The commitment.
        commitment: Box<Statement>,
        /// The opening.
        opening: Box<Statement>,
    },
}
