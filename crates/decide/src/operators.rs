//! The three servers, as decisions know them.

use ostrakon_crypto::{Digest, Transcript, VerifyingKey};
use ostrakon_party::{PartyId, Servers, Trust};

/// How many servers a deployment has.
pub const SERVERS: usize = 3;

/// The servers' digest, which everything signed names, and their identity keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operators {
    /// [`Servers::digest`].
    pub digest: Digest,
    /// By party number.
    pub keys: [VerifyingKey; SERVERS],
}

/// What private decisions bear of the operators: one of the three may be corrupt.
#[must_use]
pub fn trust() -> Trust {
    Trust::one_of_three()
}

impl Operators {
    /// The operators of a deployment; `None` if it does not have three servers.
    pub fn new(servers: &Servers) -> Option<Self> {
        let keys = servers.keys.as_slice().try_into().ok()?;
        Some(Self { digest: servers.digest(), keys })
    }

    /// The identity key of P0, which orders the records.
    pub fn sequencer(&self) -> &VerifyingKey {
        &self.keys[0]
    }

    /// The key of a server.
    pub(crate) fn key(&self, party: PartyId) -> Option<&VerifyingKey> {
        self.keys.get(party.index())
    }

    /// A transcript that begins with the servers' digest.
    pub(crate) fn transcript(&self, context: &'static str) -> Transcript {
        let mut transcript = Transcript::new(context);
        transcript.field(&self.digest.0);
        transcript
    }
}
