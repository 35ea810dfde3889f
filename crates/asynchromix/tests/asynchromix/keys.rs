//! Keys of a world of tests: keyed hashes in place of curves, so that schedules are fast. Whoever
//! plays a corrupt server here uses its own keys only.

use ostrakon_agreement::Keys;
use ostrakon_agreement::coin::CoinShare;
use ostrakon_crypto::hash::keyed;
use ostrakon_crypto::{Digest, Signature};
use ostrakon_party::PartyId;

#[derive(Clone)]
pub struct TestKeys {
    pub party: PartyId,
    pub parties: usize,
    pub needed: usize,
    pub seed: u64,
}

impl TestKeys {
    fn hash(&self, purpose: u8, party: PartyId, statement: &Digest) -> [u8; 32] {
        let mut key = [purpose; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        key[8] = party.0;
        *keyed(&key, &statement.0).expose()
    }

    fn signature(&self, party: PartyId, statement: &Digest) -> Signature {
        let mut bytes = [0; 64];
        bytes[..32].copy_from_slice(&self.hash(1, party, statement));
        Signature(bytes)
    }

    fn share_of(&self, party: PartyId, label: &Digest) -> CoinShare {
        CoinShare { point: self.hash(2, party, label), challenge: [0; 32], response: [0; 32] }
    }
}

impl Keys for TestKeys {
    fn party(&self) -> PartyId {
        self.party
    }

    fn sign(&self, statement: &Digest) -> Signature {
        self.signature(self.party, statement)
    }

    fn verifies(&self, party: PartyId, statement: &Digest, signature: &Signature) -> bool {
        party.index() < self.parties && *signature == self.signature(party, statement)
    }

    fn share(&self, label: &Digest) -> Option<CoinShare> {
        Some(self.share_of(self.party, label))
    }

    fn share_verifies(&self, party: PartyId, label: &Digest, share: &CoinShare) -> bool {
        *share == self.share_of(party, label)
    }

    fn combine(&self, label: &Digest, shares: &[(PartyId, CoinShare)]) -> Option<Digest> {
        let coin = Digest(self.hash(3, PartyId(0), label));
        (shares.len() >= self.needed).then_some(coin)
    }
}
