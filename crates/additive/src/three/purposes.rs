//! The seeds that grow from a pair's key, and which of them are opened (`docs/spec/clarion.md`, K1
//! and K2).

use ostrakon_crypto::Digest;
use ostrakon_crypto::hash::digest;
use ostrakon_threeparty::pair::Pair;

use super::{K12, K13, K23};

/// What a pair's seed is for; the names are the specification's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "section 2 of the specification says what each of them is")]
pub enum Purpose {
    Pi12,
    H,
    W,
    Pi1,
    APrime,
    B,
    QPrime,
    GPrime,
    GSecond,
    BColumn,
    Pi2,
    A,
    D,
    Q,
    G,
    QSecond,
    V,
    SaltZ2,
    SaltZ1,
    SaltS,
    SaltDelta,
}

impl Purpose {
    /// The pair whose key it grows from, and its name in what is derived.
    pub(super) fn named(self) -> (Pair, &'static [u8]) {
        match self {
            Purpose::Pi12 => (K12, b"pi12"),
            Purpose::H => (K12, b"h"),
            Purpose::W => (K12, b"w"),
            Purpose::Pi1 => (K13, b"pi1"),
            Purpose::APrime => (K13, b"a'"),
            Purpose::B => (K13, b"b"),
            Purpose::QPrime => (K13, b"q'"),
            Purpose::GPrime => (K13, b"g'"),
            Purpose::GSecond => (K13, b"g''"),
            Purpose::BColumn => (K13, b"b^q"),
            Purpose::Pi2 => (K23, b"pi2"),
            Purpose::A => (K23, b"a"),
            Purpose::D => (K23, b"d"),
            Purpose::Q => (K23, b"q"),
            Purpose::G => (K23, b"g"),
            Purpose::QSecond => (K23, b"q''"),
            Purpose::V => (K23, b"v"),
            Purpose::SaltZ2 => (K12, b"salt z2"),
            Purpose::SaltZ1 => (K12, b"salt z1"),
            Purpose::SaltS => (K12, b"salt s"),
            Purpose::SaltDelta => (K23, b"salt delta"),
        }
    }

    /// The pair whose key it grows from.
    pub fn pair(self) -> Pair {
        self.named().0
    }
}

/// The purpose of a pair's seed that is opened in the end.
pub fn opened_of(pair: Pair) -> Option<Purpose> {
    if pair == K13 {
        Some(Purpose::B)
    } else if pair == K23 {
        Some(Purpose::D)
    } else {
        None
    }
}

/// The digest by which a seed is stated. A seed has 256 bits of entropy, so the digest hides it.
pub fn seed_digest(seed: &[u8]) -> Digest {
    digest("ostrakon/v1/clarion/seed", seed)
}
