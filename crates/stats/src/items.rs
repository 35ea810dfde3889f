//! Sketches of lists of things, for counting the different ones of all lists.

use ostrakon_authbits::Bits;
use ostrakon_crypto::{Digest, Secret, Transcript};

use crate::question::sketch as size;

/// The sketch of a list: of each counter the entries up to the highest rank of its things are
/// random strings, the others zero. Who knows the scope can rank things; whose they are stays in
/// the report.
pub(crate) fn sketch(
    counters: u16,
    scope: &Digest,
    things: &[Vec<u8>],
    randomness: &Secret,
) -> Bits {
    let size = size(counters);
    let mut reached = vec![0; size.counters];
    for thing in things {
        let mut transcript = Transcript::new("ostrakon/v1/stats/thing");
        let hash = transcript.field(&scope.0).field(thing).finish().0;
        let word = |part: &[u8]| part.iter().rev().fold(0, |word, b| word << 8 | u64::from(*b));
        let counter = word(&hash[..8]) as usize & (size.counters - 1);
        let rank = (word(&hash[8..16]).trailing_zeros() as usize + 1).min(size.entries);
        reached[counter] = rank.max(reached[counter]);
    }
    let mut random = vec![0; size.bits().div_ceil(8)];
    randomness.fill("ostrakon/v1/stats/strings of a sketch", &[], &mut random);
    (0..size.bits())
        .map(|i| {
            let (counter, entry) = (i / size.string / size.entries, i / size.string % size.entries);
            entry < reached[counter] && random[i / 8] >> (i % 8) & 1 == 1
        })
        .collect()
}
