//! Sampling permutations that are exactly uniform given a uniform PRG stream.
//!
//! Two servers that share a key must get the same permutation, so the use of the stream is fixed:
//!
//! - Below [`PLAIN_BELOW`] elements: Fisher–Yates. Numbers are read from stream position 0 on.
//! - From there on: Rao–Sandelius. Element `i` is thrown into one of 2^b buckets, b =
//!   ⌊log₂(n/2^15)⌋, by the low b bits of the two little-endian bytes at position 2·i; every bucket
//!   keeps the order of arrival and is shuffled by Fisher–Yates with the numbers from position
//!   (bucket + 1)·2^40 on, and the buckets are concatenated. Conditioned on the sizes of the
//!   buckets every assignment of elements is equally likely, and so is every order inside a bucket:
//!   the result is uniform on S_n.
//! - A number below `m` is drawn by Lemire's method ("Fast random integer generation in an
//!   interval", 2019) from 32-bit little-endian words: x·m div 2^32, and words with x·m mod 2^32 <
//!   2^32 mod m are rejected, so that exactly ⌊2^32/m⌋ words lead to every number.
//!
//! Rejection makes the time depend on how many words are rejected; those are independent of the
//! words that are used.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use zeroize::Zeroize;

use crate::Prg;
use crate::memory::{prefetch_line, zeroed_words};
use crate::threads::{for_each_chunk, map_ranges};

/// Permutations of fewer elements are shuffled in one piece.
pub const PLAIN_BELOW: usize = 2 * BUCKET;

/// A bucket holds this many elements or up to twice as many on average: they fit into the
/// second-level cache, and few enough buckets are open while elements are thrown.
const BUCKET: usize = 1 << 15;
/// At most this many bits choose the bucket.
const MAX_BUCKET_BITS: u32 = 16;
/// Elements per task when they are thrown into buckets.
const CHUNK: usize = 1 << 18;
/// Stream positions of two buckets are this many bytes apart.
const BUCKET_STREAM: u64 = 1 << 40;
/// Digits that are read from the stream at a time.
const DIGITS: usize = 1 << 11;

/// A uniform permutation of `0..n`, fully determined by the key of `prg`.
///
/// The permutation uses the stream from its beginning: the key must serve nothing else.
///
/// # Panics
/// If `n` is above 2^32 − 1.
pub fn sample(prg: &Prg, n: usize) -> Vec<u32> {
    assert!(u32::try_from(n).is_ok(), "a permutation has fewer than 2^32 elements");
    if n < PLAIN_BELOW { plain(prg, n as u32) } else { bucketed(prg, n, bucket_bits(n, BUCKET)) }
}

/// The inverse: `inverse[permutation[i]] = i`.
///
/// # Panics
/// If an entry is not below the length. Entries that occur twice give a result that is no inverse.
pub fn invert(permutation: &[u32]) -> Vec<u32> {
    let mut inverse = zeroed_words(permutation.len());
    let places = shared(&mut inverse);
    map_ranges(permutation.len(), CHUNK, |range| {
        for (i, &to) in range.clone().zip(&permutation[range]) {
            places[to as usize].store(i as u32, Relaxed);
        }
    });
    inverse
}

fn bucket_bits(n: usize, bucket: usize) -> u32 {
    (n / bucket).max(1).ilog2().min(MAX_BUCKET_BITS)
}

fn plain(prg: &Prg, n: u32) -> Vec<u32> {
    let mut permutation: Vec<u32> = (0..n).collect();
    fisher_yates(&mut permutation, prg, 0);
    permutation
}

/// Rao–Sandelius with 2^`bits` buckets.
fn bucketed(prg: &Prg, n: usize, bits: u32) -> Vec<u32> {
    let buckets = 1usize << bits;
    let counts = map_ranges(n, CHUNK, |range| {
        let mut count = vec![0u32; buckets];
        for_each_digit(prg, range, bits, |_, digit| count[digit] += 1);
        count
    });
    let (cursors, ends) = places(counts, buckets);

    let mut permutation = zeroed_words(n);
    let thrown = shared(&mut permutation);
    map_ranges(n, CHUNK, |range| {
        let mut cursor = cursors[range.start / CHUNK].clone();
        for_each_digit(prg, range, bits, |i, digit| {
            thrown[cursor[digit] as usize].store(i, Relaxed);
            cursor[digit] += 1;
        });
    });

    let mut rest = permutation.as_mut_slice();
    let mut pieces = Vec::with_capacity(buckets);
    let mut start = 0;
    for end in ends {
        let (piece, after) = rest.split_at_mut((end - start) as usize);
        pieces.push(piece);
        (rest, start) = (after, end);
    }
    for_each_chunk(&mut pieces, 1, |bucket, piece| {
        fisher_yates(piece[0], prg, (bucket as u64 + 1) * BUCKET_STREAM);
    });
    permutation
}

/// Where each task writes its first element of each bucket, and where each bucket ends.
fn places(mut counts: Vec<Vec<u32>>, buckets: usize) -> (Vec<Vec<u32>>, Vec<u32>) {
    let mut next = 0;
    let ends = (0..buckets).map(|bucket| {
        for count in &mut counts {
            next += std::mem::replace(&mut count[bucket], next);
        }
        next
    });
    let ends = ends.collect();
    (counts, ends)
}

/// Calls `visit(i, bucket of element i)` for the elements of a range, in order.
fn for_each_digit(
    prg: &Prg,
    range: std::ops::Range<usize>,
    bits: u32,
    mut visit: impl FnMut(u32, usize),
) {
    let mask = (1usize << bits) - 1;
    let mut buffer = [0; 2 * DIGITS];
    for first in range.clone().step_by(DIGITS) {
        let count = DIGITS.min(range.end - first);
        let bytes = &mut buffer[..2 * count];
        prg.fill_at(2 * first as u64, bytes);
        for (i, digit) in bytes.as_chunks().0.iter().enumerate() {
            visit((first + i) as u32, usize::from(u16::from_le_bytes(*digit)) & mask);
        }
    }
    buffer.zeroize();
}

fn fisher_yates(elements: &mut [u32], prg: &Prg, position: u64) {
    // In order first: the exchanges would fetch the same lines from memory in random order.
    for line in elements.chunks(16) {
        prefetch_line(line.as_ptr().cast());
    }
    let mut draws = Draws::new(prg, position, elements.len());
    for i in (1..elements.len()).rev() {
        elements.swap(i, draws.below(i as u32 + 1) as usize);
    }
}

/// Unbiased numbers from one stretch of the stream.
struct Draws<'a> {
    prg: &'a Prg,
    position: u64,
    used: usize,
    filled: usize,
    words: [[u8; 4]; Draws::WORDS],
}

impl<'a> Draws<'a> {
    const WORDS: usize = 1 << 10;

    /// Numbers from a position on; about `expected` of them will be drawn.
    fn new(prg: &'a Prg, position: u64, expected: usize) -> Self {
        let filled = expected.clamp(1, Self::WORDS);
        Draws { prg, position, used: filled, filled, words: [[0; 4]; Self::WORDS] }
    }

    #[inline]
    fn word(&mut self) -> u32 {
        if self.used == self.filled {
            let bytes = self.words[..self.filled].as_flattened_mut();
            self.prg.fill_at(self.position, bytes);
            self.position += bytes.len() as u64;
            self.used = 0;
        }
        let word = self.words[self.used];
        self.used += 1;
        u32::from_le_bytes(word)
    }

    /// Uniform in `0..bound`; `bound` is not 0.
    #[inline]
    fn below(&mut self, bound: u32) -> u32 {
        let mut product = u64::from(self.word()) * u64::from(bound);
        if (product as u32) < bound {
            let rejected = bound.wrapping_neg() % bound;
            while (product as u32) < rejected {
                product = u64::from(self.word()) * u64::from(bound);
            }
        }
        (product >> 32) as u32
    }
}

impl Drop for Draws<'_> {
    fn drop(&mut self) {
        self.words[..self.filled].as_flattened_mut().zeroize();
    }
}

/// The same places for several threads, each of which fills its own. Relaxed stores are plain
/// stores, and the end of the parallel section orders them.
fn shared(places: &mut [u32]) -> &[AtomicU32] {
    // SAFETY: both types have the same size and alignment, and the exclusive borrow is given up for
    // the shared one.
    unsafe { &*(std::ptr::from_mut(places) as *const [AtomicU32]) }
}

#[cfg(test)]
mod tests;
