//! What a ledger signs with and tosses coins with.

use std::fmt;

use ostrakon_crypto::{Digest, Signature, SigningKey, VerifyingKey};
use ostrakon_party::{ByParty, PartyId};

use crate::coin::{CoinKeys, CoinSecret, CoinShare};

/// A server's keys, and everybody's public ones. The ledger reaches cryptography through this
/// alone, so that thousands of schedules can be run without waiting for curves.
pub trait Keys {
    /// This server.
    fn party(&self) -> PartyId;
    /// Signs a statement as this server; the same statement gives the same bytes.
    fn sign(&self, statement: &Digest) -> Signature;
    /// Whether `signature` is `party`'s on `statement`; never for a party that is not there.
    fn verifies(&self, party: PartyId, statement: &Digest, signature: &Signature) -> bool;
    /// This server's share of the coin of `label`, a function of it; `None` if its part of the
    /// coin's key is lost.
    fn share(&self, label: &Digest) -> Option<CoinShare>;
    /// Whether `share` is `party`'s share of the coin of `label`.
    fn share_verifies(&self, party: PartyId, label: &Digest, share: &CoinShare) -> bool;
    /// The coin of `label` from verified shares of distinct parties; `None` below t + 1 of them.
    fn combine(&self, label: &Digest, shares: &[(PartyId, CoinShare)]) -> Option<Digest>;
}

/// The keys of a server in service: Ed25519 for statements, the threshold coin for leaders.
pub struct ServerKeys {
    party: PartyId,
    signing: SigningKey,
    identities: ByParty<VerifyingKey>,
    coin: CoinKeys,
    secret: Option<CoinSecret>,
}

impl fmt::Debug for ServerKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerKeys of {}", self.party)
    }
}

impl ServerKeys {
    /// Keys of `party` among the servers with these `identities`. Without `secret` the server takes
    /// part in everything but coins.
    pub fn new(
        party: PartyId,
        signing: SigningKey,
        identities: ByParty<VerifyingKey>,
        coin: CoinKeys,
        secret: Option<CoinSecret>,
    ) -> Self {
        Self { party, signing, identities, coin, secret }
    }
}

impl Keys for ServerKeys {
    fn party(&self) -> PartyId {
        self.party
    }

    fn sign(&self, statement: &Digest) -> Signature {
        self.signing.sign(statement)
    }

    fn verifies(&self, party: PartyId, statement: &Digest, signature: &Signature) -> bool {
        self.identities.get(party).is_some_and(|key| key.verifies(statement, signature))
    }

    fn share(&self, label: &Digest) -> Option<CoinShare> {
        self.secret.as_ref().map(|secret| secret.share(self.party, label))
    }

    fn share_verifies(&self, party: PartyId, label: &Digest, share: &CoinShare) -> bool {
        self.coin.verifies(party, label, share)
    }

    fn combine(&self, label: &Digest, shares: &[(PartyId, CoinShare)]) -> Option<Digest> {
        self.coin.combine(label, shares)
    }
}
