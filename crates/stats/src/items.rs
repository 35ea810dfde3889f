//! Sketches of lists of things, for counting the different ones of all lists.

use ostrakon_authbits::Bits;
use ostrakon_crypto::{Digest, Secret, Transcript};

use crate::question::sketch as size;

/// What decides where things fall, made of all members' parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places(Digest);

impl Places {
    pub(crate) fn new(digest: Digest) -> Self {
        Self(digest)
    }

    /// The words that say where a thing falls.
    pub(crate) fn words(&self, thing: &[u8]) -> [u64; 4] {
        let mut transcript = Transcript::new("ostrakon/v1/stats/thing");
        let hash = transcript.field(&self.0.0).field(thing).finish().0;
        std::array::from_fn(|i| u64::from_le_bytes(hash.as_chunks().0[i]))
    }
}

/// The sketch of a list: the cells and the coins that its things fall on are random, all others
/// zero. Everybody can find out where a thing falls; whose it is stays in the report.
pub(crate) fn sketch(
    counters: u16,
    places: &Places,
    things: &[Vec<u8>],
    randomness: &Secret,
) -> Bits {
    let size = size(counters);
    let mut reached = vec![false; size.bits()];
    for thing in things {
        let [first, second, third, _] = places.words(thing);
        // Both sizes are powers of two.
        let cell = first as usize & (size.cells - 1);
        let level = (second.trailing_zeros() as usize).min(size.levels - 1);
        let coin = third as usize & (size.coins - 1);
        reached[cell * size.string..][..size.string].fill(true);
        reached[size.level(level) + coin] = true;
    }
    let mut random = vec![0; size.bits().div_ceil(8)];
    randomness.fill("ostrakon/v1/stats/strings of a sketch", &[], &mut random);
    let drawn = |i: usize| random[i / 8] >> (i % 8) & 1 == 1;
    reached.into_iter().enumerate().map(|(i, reached)| reached && drawn(i)).collect()
}
