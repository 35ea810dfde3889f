//! Sums of the streams of a small tree's leaves, as oblivious-transfer extension needs them: over
//! all leaves, and over those whose number has a certain bit set.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use zeroize::Zeroize;

use crate::Prg;

/// Leaves of a tree.
const LEAVES: usize = 16;
/// Bits of a leaf's number.
const LEVELS: usize = 4;
/// Bytes of each stream that are added up while they are in the first-level cache.
const TILE: usize = 1 << 10;
/// Bytes that are added up at a time.
#[cfg(target_arch = "x86_64")]
const WIDE: usize = 32;

type Tile = [[u8; TILE]; LEAVES];

/// Adds up streams of leaves, again and again in the same memory. What it keeps of them is wiped
/// when it is dropped.
pub struct LeafSums(Box<Tile>);

impl Default for LeafSums {
    fn default() -> Self {
        Self(Box::new([[0; TILE]; LEAVES]))
    }
}

impl Drop for LeafSums {
    fn drop(&mut self) {
        self.0.as_flattened_mut().zeroize();
    }
}

impl LeafSums {
    /// Bytes of each stream that are added up at a time: who asks for as many, or for a multiple,
    /// waits the least.
    pub const TILE: usize = TILE;

    /// Adds up the streams of at most 16 leaves from `position` on; fewer are the last ones, and
    /// the absent streams are zero. Writes the sum of all to `total`, and to the four parts of
    /// `columns`, one after the other, the sums of those leaves whose number has bit 0, 1, 2 and 3
    /// set.
    ///
    /// # Panics
    /// If there are more leaves, `columns` is not four times as long as `total`, or the streams
    /// end.
    pub fn add_up(&mut self, leaves: &[Prg], position: u64, total: &mut [u8], columns: &mut [u8]) {
        let length = total.len();
        assert!(leaves.len() <= LEAVES, "a tree has sixteen leaves");
        assert_eq!(columns.len(), LEVELS * length, "a column for each bit of a leaf's number");
        assert!(position.checked_add(length as u64).is_some(), "streams end at position 2^64");
        let first = LEAVES - leaves.len();
        self.0[..first].as_flattened_mut().fill(0);
        for (n, total) in total.chunks_mut(TILE).enumerate() {
            let start = n * TILE;
            for (leaf, part) in leaves.iter().zip(&mut self.0[first..]) {
                leaf.fill_serial(position + start as u64, &mut part[..total.len()]);
            }
            let mut rest = &mut *columns;
            let columns = [(); LEVELS].map(|()| {
                let (column, after) = std::mem::take(&mut rest).split_at_mut(length);
                rest = after;
                &mut column[start..start + total.len()]
            });
            add_up(&self.0, total, columns);
        }
    }
}

fn add_up(tile: &Tile, total: &mut [u8], columns: [&mut [u8]; LEVELS]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        return unsafe { add_up_wide(tile, total, columns) };
    }
    add_up_from(0, tile, total, columns);
}

/// The same for the bytes from `first` on.
fn add_up_from(first: usize, tile: &Tile, total: &mut [u8], columns: [&mut [u8]; LEVELS]) {
    let sum = |at: usize, counts: &dyn Fn(usize) -> bool| {
        (0..LEAVES).filter(|&leaf| counts(leaf)).fold(0, |sum, leaf| sum ^ tile[leaf][at])
    };
    for (at, total) in total.iter_mut().enumerate().skip(first) {
        *total = sum(at, &|_| true);
    }
    for (level, column) in columns.into_iter().enumerate() {
        for (at, byte) in column.iter_mut().enumerate().skip(first) {
            *byte = sum(at, &|leaf| leaf >> level & 1 == 1);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_up_wide(tile: &Tile, total: &mut [u8], mut columns: [&mut [u8]; LEVELS]) {
    let whole = total.len() / WIDE * WIDE;
    for at in (0..whole).step_by(WIDE) {
        // Halved at each level: sums of leaves whose numbers agree in the higher bits.
        let mut sums = [_mm256_setzero_si256(); LEAVES];
        for (sum, part) in sums.iter_mut().zip(tile) {
            *sum = load(&part[at..at + WIDE]);
        }
        for (level, column) in columns.iter_mut().enumerate() {
            let mut odd = _mm256_setzero_si256();
            for pair in 0..LEAVES >> (level + 1) {
                odd = _mm256_xor_si256(odd, sums[2 * pair + 1]);
                sums[pair] = _mm256_xor_si256(sums[2 * pair], sums[2 * pair + 1]);
            }
            store(odd, &mut column[at..at + WIDE]);
        }
        store(sums[0], &mut total[at..at + WIDE]);
    }
    add_up_from(whole, tile, total, columns);
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8]) -> __m256i {
    assert!(bytes.len() >= WIDE);
    // SAFETY: there are 32 bytes, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn store(sum: __m256i, bytes: &mut [u8]) {
    assert!(bytes.len() >= WIDE);
    // SAFETY: there are 32 bytes, and the store needs no alignment.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), sum) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn sums_are_those_of_the_definition(
            seed: [u8; 31],
            count in 0usize..=LEAVES,
            position in 0u64..200,
            length in 0usize..3000,
        ) {
            let leaves: Vec<Prg> = (LEAVES - count..LEAVES)
                .map(|leaf| Prg::new(&[&seed[..], &[leaf as u8]].concat().try_into().unwrap()))
                .collect();
            let mut expected = vec![vec![0; length]; LEVELS + 1];
            for (leaf, prg) in (LEAVES - count..LEAVES).zip(&leaves) {
                prg.xor_at(position, &mut expected[LEVELS]);
                for level in (0..LEVELS).filter(|level| leaf >> level & 1 == 1) {
                    prg.xor_at(position, &mut expected[level]);
                }
            }
            let (mut total, mut columns) = (vec![1; length], vec![2; LEVELS * length]);
            let mut sums = LeafSums::default();
            // What was added up before leaves nothing behind.
            let others: Vec<Prg> = (0..LEAVES).map(|leaf| Prg::new(&[leaf as u8; 32])).collect();
            sums.add_up(&others, 0, &mut total, &mut columns);
            sums.add_up(&leaves, position, &mut total, &mut columns);
            prop_assert_eq!(&total, &expected[LEVELS]);
            prop_assert_eq!(columns, expected[..LEVELS].concat());
            // The portable path.
            let tile: Tile = std::array::from_fn(|leaf| {
                let mut part = [0; TILE];
                if let Some(there) = leaf.checked_sub(LEAVES - count) {
                    leaves[there].fill_at(position, &mut part);
                }
                part
            });
            let part = length.min(TILE);
            let mut sums = [(); LEVELS + 1].map(|()| vec![3; part]);
            let [one, two, three, four, all] = sums.each_mut();
            add_up_from(0, &tile, all, [one, two, three, four]);
            for (sum, expected) in sums.iter().zip(&expected) {
                prop_assert_eq!(&sum[..], &expected[..part]);
            }
        }
    }
}
