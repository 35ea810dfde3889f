//! Transposing bit matrices: columns of bits, as oblivious transfer makes them, into rows.

/// Transposes a matrix of 64 × 64 bits in place: bit `j` of word `i` and bit `i` of word `j` change
/// places. Time does not depend on the bits.
pub fn transpose64(block: &mut [u64; 64]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        return unsafe { transpose_avx2(block) };
    }
    transpose(block);
}

/// The same, compiled for registers of 256 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn transpose_avx2(block: &mut [u64; 64]) {
    transpose(block);
}

/// Warren, Hacker's Delight, 7-3: swaps the off-diagonal quarters, then theirs, and so on.
#[inline(always)]
fn transpose(block: &mut [u64; 64]) {
    swap::<32>(block);
    swap::<16>(block);
    swap::<8>(block);
    swap::<4>(block);
    swap::<2>(block);
    swap::<1>(block);
}

/// Swaps the off-diagonal quarters of the squares of 2·`SIDE` on the diagonal.
#[inline(always)]
fn swap<const SIDE: usize>(block: &mut [u64; 64]) {
    // Ones in the lower half of each 2·SIDE bits.
    let low = u64::MAX / ((1 << SIDE) + 1);
    for square in block.chunks_exact_mut(2 * SIDE) {
        let (upper, lower) = square.split_at_mut(SIDE);
        for (a, b) in upper.iter_mut().zip(lower) {
            let swapped = ((*a >> SIDE) ^ *b) & low;
            *a ^= swapped << SIDE;
            *b ^= swapped;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_the_definition(words in prop::collection::vec(any::<u64>(), 64)) {
            let before: [u64; 64] = words.try_into().unwrap();
            let mut after = before;
            transpose64(&mut after);
            for (i, row) in after.iter().enumerate() {
                for (j, column) in before.iter().enumerate() {
                    prop_assert_eq!(row >> j & 1, column >> i & 1);
                }
            }
            let mut portable = after;
            transpose64(&mut after);
            prop_assert_eq!(after, before);
            transpose(&mut portable);
            prop_assert_eq!(portable, before);
        }
    }
}
