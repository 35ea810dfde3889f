//! A party's shares of bits and of their MACs.

use ostrakon_crypto::Digest;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::bits::Bits;

/// Names a key: the digest of the segment's instance. Public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyId(pub Digest);

/// A party's part of a MAC key. Wiped when dropped; it does not print.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct MacKey(u64);

impl MacKey {
    pub(crate) fn new(share: u64) -> Self {
        Self(share)
    }

    /// The share, for handing it over.
    pub fn expose(&self) -> u64 {
        self.0
    }
}

/// A party's shares of bits with MACs under one key. Sums of shares need no communication. They
/// may be used again, and so are `Clone`; they do not print.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Shares {
    #[zeroize(skip)]
    key: KeyId,
    bits: Bits,
    macs: Vec<u64>,
}

impl Shares {
    pub(crate) fn new(key: KeyId, bits: Bits, macs: Vec<u64>) -> Self {
        assert_eq!(bits.len(), macs.len(), "one MAC for each bit");
        Self { key, bits, macs }
    }

    /// The key that the MACs are under.
    pub fn key(&self) -> KeyId {
        self.key
    }

    /// How many bits there are.
    pub fn len(&self) -> usize {
        self.bits.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// The own shares of the bits, for handing them over. The sum over all parties is the bits.
    /// One share by itself may be what a party has put in: only [`crate::Segment::reveal`], which
    /// masks the shares, may show bits to others.
    pub fn bits(&self) -> &Bits {
        &self.bits
    }

    /// The own shares of the MACs. The sum over all parties is bit·Δ.
    pub fn macs(&self) -> &[u64] {
        &self.macs
    }

    /// Adds shares of as many bits, bit by bit.
    ///
    /// # Panics
    /// If the lengths or the keys differ.
    pub fn xor(&mut self, other: &Self) {
        assert_eq!(self.key, other.key, "shares under one key");
        self.bits.xor(&other.bits);
        self.macs.iter_mut().zip(&other.macs).for_each(|(a, b)| *a ^= b);
    }

    /// Adds public bits. `first` is whether this party is P0, which alone changes its bits.
    pub(crate) fn xor_public(&mut self, public: &Bits, delta: u64, first: bool) {
        if first {
            self.bits.xor(public);
        }
        for (i, mac) in self.macs.iter_mut().enumerate() {
            *mac ^= public.mask(i) & delta;
        }
    }

    /// The shares of bits `start..start + len`.
    pub fn slice(&self, start: usize, len: usize) -> Self {
        let macs = self.macs[start..start + len].to_vec();
        Self::new(self.key, self.bits.slice(start, len), macs)
    }

    /// Appends shares under the same key.
    ///
    /// # Panics
    /// If the keys differ.
    pub fn append(&mut self, other: &Self) {
        assert_eq!(self.key, other.key, "shares under one key");
        self.bits.append(&other.bits);
        self.macs.extend_from_slice(&other.macs);
    }
}
