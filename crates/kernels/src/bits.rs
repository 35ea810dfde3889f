//! Transposing bit matrices: columns of bits, as oblivious transfer makes them, into rows.

/// Transposes a matrix of 64 × 64 bits in place: bit `j` of word `i` and bit `i` of word `j` change
/// places. Time does not depend on the bits.
pub fn transpose64(block: &mut [u64; 64]) {
    // Warren, Hacker's Delight, 7-3: swaps the off-diagonal quarters, then theirs, and so on.
    let (mut side, mut low) = (32, u64::from(u32::MAX));
    while side != 0 {
        let mut row = 0;
        while row < 64 {
            let swap = ((block[row] >> side) ^ block[row + side]) & low;
            block[row] ^= swap << side;
            block[row + side] ^= swap;
            row = (row + side + 1) & !side;
        }
        side >>= 1;
        low ^= low << side;
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
            transpose64(&mut after);
            prop_assert_eq!(after, before);
        }
    }
}
