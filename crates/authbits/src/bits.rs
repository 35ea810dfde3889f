//! Strings of bits, 64 to a word, and how they travel.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// A string of bits; bit `i` is bit `i mod 64` of word `i / 64`, and the bits beyond the end are
/// zero. It may be secret: it is wiped when dropped and does not print.
#[derive(Clone, Default, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)], len }
    }

    /// The bits of whole words, cut off at `len`.
    ///
    /// # Panics
    /// If there are too few words.
    pub(crate) fn from_words(mut words: Vec<u64>, len: usize) -> Self {
        assert!(len <= 64 * words.len(), "enough words for {len} bits");
        words.truncate(len.div_ceil(64));
        let mut bits = Self { words, len };
        bits.clear_tail();
        bits
    }

    fn clear_tail(&mut self) {
        if let (Some(last), used @ 1..) = (self.words.last_mut(), self.len % 64) {
            *last &= (1 << used) - 1;
        }
    }

    /// How many bits there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The words.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Bit `i`.
    pub fn get(&self, i: usize) -> bool {
        self.words[i / 64] >> (i % 64) & 1 == 1
    }

    /// All ones if bit `i` is one, else zero.
    pub(crate) fn mask(&self, i: usize) -> u64 {
        mask(self.words[i / 64] >> (i % 64))
    }

    /// XORs `bit` into bit `i`.
    pub fn xor_bit(&mut self, i: usize, bit: bool) {
        self.words[i / 64] ^= u64::from(bit) << (i % 64);
    }

    /// XORs a word into word `i`; what lies beyond the end stays zero.
    pub(crate) fn xor_word(&mut self, i: usize, word: u64) {
        self.words[i] ^= word;
        self.clear_tail();
    }

    /// XORs a string of the same length.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn xor(&mut self, other: &Self) {
        assert_eq!(self.len, other.len, "strings of one length");
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a ^= b);
    }

    /// Appends the bits of another string.
    pub fn append(&mut self, other: &Self) {
        let (place, used) = (self.len / 64, self.len % 64);
        self.len += other.len;
        // One word more than there may be, for what is shifted out.
        self.words.resize(place + other.words.len() + 1, 0);
        for (i, word) in other.words.iter().enumerate() {
            self.words[place + i] |= word << used;
            self.words[place + i + 1] |= word.checked_shr(64 - used as u32).unwrap_or(0);
        }
        self.words.truncate(self.len.div_ceil(64));
    }

    /// Bits `start..start + len`.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn slice(&self, start: usize, len: usize) -> Self {
        assert!(start + len <= self.len, "bits {start} to {} of {}", start + len, self.len);
        let (place, used) = (start / 64, start % 64);
        let word = |i: usize| {
            let next = self.words.get(place + i + 1).copied().unwrap_or(0);
            self.words[place + i] >> used | next.checked_shl(64 - used as u32).unwrap_or(0)
        };
        Self::from_words((0..len.div_ceil(64)).map(word).collect(), len)
    }

    /// One byte for eight bits, the first bit lowest.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = bytes_of(&self.words);
        bytes.truncate(self.len.div_ceil(8));
        bytes
    }

    /// Reads what [`Bits::to_bytes`] writes for `len` bits; `None` for anything else, ones beyond
    /// the end included.
    pub fn from_bytes(bytes: &[u8], len: usize) -> Option<Self> {
        let beyond = bytes.last().map_or(0, |last| last.checked_shr(len as u32 % 8).unwrap_or(0));
        let bits = Self::first_of(bytes, len)?;
        (len.is_multiple_of(8) || beyond == 0).then_some(bits)
    }

    /// The first `len` bits of bytes of which the last one has the last bit; `None` for more or
    /// fewer bytes.
    pub fn first_of(bytes: &[u8], len: usize) -> Option<Self> {
        if bytes.len() != len.div_ceil(8) {
            return None;
        }
        let (whole, rest) = bytes.as_chunks::<8>();
        let mut words: Vec<u64> = whole.iter().map(|word| u64::from_le_bytes(*word)).collect();
        if !rest.is_empty() {
            let last = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            words.push(last);
        }
        Some(Self::from_words(words, len))
    }
}

impl FromIterator<bool> for Bits {
    fn from_iter<I: IntoIterator<Item = bool>>(bits: I) -> Self {
        let mut words = Vec::new();
        let mut len = 0;
        for bit in bits {
            if len % 64 == 0 {
                words.push(0);
            }
            *words.last_mut().expect("just pushed") |= u64::from(bit) << (len % 64);
            len += 1;
        }
        Self { words, len }
    }
}

/// All ones if the lowest bit is one, else zero; without a branch.
pub(crate) fn mask(bit: u64) -> u64 {
    (bit & 1).wrapping_neg()
}

/// Little-endian words of a buffer whose length is a multiple of eight.
pub(crate) fn words_of(bytes: &[u8]) -> Vec<u64> {
    let (words, rest) = bytes.as_chunks::<8>();
    assert!(rest.is_empty(), "whole words");
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// The bytes of words, little-endian.
pub(crate) fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_read_back_and_nothing_else_does(
            bits in prop::collection::vec(any::<bool>(), 0..200),
        ) {
            let string: Bits = bits.iter().copied().collect();
            prop_assert!((0..bits.len()).all(|i| string.get(i) == bits[i]));
            let bytes = string.to_bytes();
            prop_assert!(Bits::from_bytes(&bytes, bits.len()).as_ref() == Some(&string));
            prop_assert!(Bits::from_bytes(&bytes, bits.len() + 8).is_none());
            if bits.len() % 8 != 0 {
                for beyond in bits.len() % 8..8 {
                    let mut spoilt = bytes.clone();
                    *spoilt.last_mut().unwrap() |= 1 << beyond;
                    prop_assert!(Bits::from_bytes(&spoilt, bits.len()).is_none());
                    prop_assert!(Bits::first_of(&spoilt, bits.len()).as_ref() == Some(&string));
                }
            }
            prop_assert!(Bits::first_of(&[&bytes[..], &[0]].concat(), bits.len()).is_none());
            let (a, b) = bits.split_at(bits.len() / 3);
            let mut joined: Bits = a.iter().copied().collect();
            joined.append(&b.iter().copied().collect());
            prop_assert!(joined == string);
            prop_assert!(string.slice(a.len(), b.len()) == b.iter().copied().collect());
        }
    }
}
