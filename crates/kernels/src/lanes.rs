//! BLAKE3 of eight short inputs at a time. The hash of one input waits for itself in every step;
//! eight inputs of different origin fill the registers, and take about as long as one.

/// Inputs that are hashed together.
pub const LANES: usize = 8;
/// Bytes of a block.
pub const BLOCK: usize = 64;
/// Most blocks of an input: a chunk of BLAKE3's tree, which is then the root as well.
pub const MOST_BLOCKS: usize = 16;

/// Eight inputs of as many blocks each, with their keys.
pub struct Inputs<'a> {
    /// The key of each input, or the key that its context selects.
    pub keys: [&'a [u8; 32]; LANES],
    /// BLAKE3's flag of the mode: of keyed hashing, or of deriving keys from a context.
    pub mode: u32,
    /// The inputs, the last block of each filled up with zeros.
    pub blocks: [&'a [[u8; BLOCK]]; LANES],
    /// Bytes of each input in its last block, 1 to [`BLOCK`].
    pub last: [u32; LANES],
}

/// BLAKE3's digests of the inputs; `None` if the processor has no instructions for it. Takes time
/// independent of keys and contents.
///
/// # Panics
/// If inputs have different numbers of blocks, or not 1 to [`MOST_BLOCKS`].
pub fn digests(inputs: &Inputs<'_>) -> Option<[[u8; 32]; LANES]> {
    let count = inputs.blocks[0].len();
    assert!((1..=MOST_BLOCKS).contains(&count), "1 to {MOST_BLOCKS} blocks, not {count}");
    assert!(inputs.blocks.iter().all(|blocks| blocks.len() == count), "as many blocks each");
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        return Some(unsafe { avx2::digests(inputs) });
    }
    None
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{BLOCK, Inputs, LANES};

    const IV: [u32; 4] = [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a];
    const CHUNK_START: u32 = 1 << 0;
    const CHUNK_END: u32 = 1 << 1;
    const ROOT: u32 = 1 << 3;
    const ROUNDS: usize = 7;
    /// Which word of the block each of a round's sixteen steps takes, by round.
    const SCHEDULE: [[usize; 16]; ROUNDS] = schedule();

    const fn schedule() -> [[usize; 16]; ROUNDS] {
        const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
        let mut rounds = [[0; 16]; ROUNDS];
        let mut place = 0;
        while place < 16 {
            rounds[0][place] = place;
            place += 1;
        }
        let mut round = 1;
        while round < ROUNDS {
            place = 0;
            while place < 16 {
                rounds[round][place] = rounds[round - 1][PERMUTATION[place]];
                place += 1;
            }
            round += 1;
        }
        rounds
    }

    /// A word of each of the eight inputs.
    type Words = __m256i;

    #[target_feature(enable = "avx2")]
    pub(super) fn digests(inputs: &Inputs<'_>) -> [[u8; 32]; LANES] {
        let keys = inputs.keys.map(|key| load(key));
        let mut chain = transposed(keys);
        let count = inputs.blocks[0].len();
        for at in 0..count {
            let blocks = inputs.blocks.map(|blocks| &blocks[at]);
            let first = if at == 0 { CHUNK_START } else { 0 };
            let (last, length) = if at + 1 == count {
                // SAFETY: eight numbers have 32 bytes, and the load needs no alignment.
                let lengths = unsafe { _mm256_loadu_si256(inputs.last.as_ptr().cast()) };
                (CHUNK_END | ROOT, lengths)
            } else {
                (0, every(BLOCK as u32))
            };
            compress(&mut chain, blocks, length, every(inputs.mode | first | last));
        }
        transposed(chain).map(|words| {
            let mut digest = [0; 32];
            // SAFETY: the array has 32 bytes, and the store needs no alignment.
            unsafe { _mm256_storeu_si256(digest.as_mut_ptr().cast(), words) };
            digest
        })
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn every(word: u32) -> Words {
        _mm256_set1_epi32(word.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(bytes: &[u8; 32]) -> Words {
        // SAFETY: the array has 32 bytes, and the load needs no alignment.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    }

    /// Eight rows of eight words, turned into columns.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn transposed(rows: [Words; LANES]) -> [Words; LANES] {
        let [a, b, c, d, e, f, g, h] = rows;
        let pair = |x, y| (_mm256_unpacklo_epi32(x, y), _mm256_unpackhi_epi32(x, y));
        let ((ab0, ab1), (cd0, cd1)) = (pair(a, b), pair(c, d));
        let ((ef0, ef1), (gh0, gh1)) = (pair(e, f), pair(g, h));
        let four = |x, y| (_mm256_unpacklo_epi64(x, y), _mm256_unpackhi_epi64(x, y));
        let ((low0, low1), (low2, low3)) = (four(ab0, cd0), four(ab1, cd1));
        let ((high0, high1), (high2, high3)) = (four(ef0, gh0), four(ef1, gh1));
        let front = |x, y| _mm256_permute2x128_si256::<0x20>(x, y);
        let back = |x, y| _mm256_permute2x128_si256::<0x31>(x, y);
        [
            front(low0, high0),
            front(low1, high1),
            front(low2, high2),
            front(low3, high3),
            back(low0, high0),
            back(low1, high1),
            back(low2, high2),
            back(low3, high3),
        ]
    }

    /// A block of each input into its chaining value.
    #[target_feature(enable = "avx2")]
    fn compress(
        chain: &mut [Words; 8],
        blocks: [&[u8; BLOCK]; LANES],
        length: Words,
        flags: Words,
    ) {
        let half = |at: usize| {
            transposed(blocks.map(|block| {
                let (halves, _) = block.as_chunks::<32>();
                load(&halves[at])
            }))
        };
        let mut message = [_mm256_setzero_si256(); 16];
        message[..8].copy_from_slice(&half(0));
        message[8..].copy_from_slice(&half(1));
        let [iv0, iv1, iv2, iv3] = IV.map(|word| every(word));
        let [c0, c1, c2, c3, c4, c5, c6, c7] = *chain;
        // The counter is that of the only chunk: zero.
        let zero = _mm256_setzero_si256();
        let mut v = [c0, c1, c2, c3, c4, c5, c6, c7, iv0, iv1, iv2, iv3, zero, zero, length, flags];
        round::<0>(&mut v, &message);
        round::<1>(&mut v, &message);
        round::<2>(&mut v, &message);
        round::<3>(&mut v, &message);
        round::<4>(&mut v, &message);
        round::<5>(&mut v, &message);
        round::<6>(&mut v, &message);
        for (word, chain) in chain.iter_mut().enumerate() {
            *chain = _mm256_xor_si256(v[word], v[word + 8]);
        }
    }

    /// The round with this number.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn round<const ROUND: usize>(v: &mut [Words; 16], message: &[Words; 16]) {
        let m = |step: usize| message[SCHEDULE[ROUND][step]];
        mix(v, [0, 4, 8, 12], m(0), m(1));
        mix(v, [1, 5, 9, 13], m(2), m(3));
        mix(v, [2, 6, 10, 14], m(4), m(5));
        mix(v, [3, 7, 11, 15], m(6), m(7));
        mix(v, [0, 5, 10, 15], m(8), m(9));
        mix(v, [1, 6, 11, 12], m(10), m(11));
        mix(v, [2, 7, 8, 13], m(12), m(13));
        mix(v, [3, 4, 9, 14], m(14), m(15));
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn mix(v: &mut [Words; 16], [a, b, c, d]: [usize; 4], x: Words, y: Words) {
        v[a] = _mm256_add_epi32(_mm256_add_epi32(v[a], v[b]), x);
        v[d] = by_bytes(_mm256_xor_si256(v[d], v[a]), &const { places(2) });
        v[c] = _mm256_add_epi32(v[c], v[d]);
        v[b] = right::<12, 20>(_mm256_xor_si256(v[b], v[c]));
        v[a] = _mm256_add_epi32(_mm256_add_epi32(v[a], v[b]), y);
        v[d] = by_bytes(_mm256_xor_si256(v[d], v[a]), &const { places(1) });
        v[c] = _mm256_add_epi32(v[c], v[d]);
        v[b] = right::<7, 25>(_mm256_xor_si256(v[b], v[c]));
    }

    /// Rotates words to the right by `BY` bits, and `REST` = 32 − `BY`.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn right<const BY: i32, const REST: i32>(words: Words) -> Words {
        _mm256_or_si256(_mm256_srli_epi32::<BY>(words), _mm256_slli_epi32::<REST>(words))
    }

    /// Rotates words by these places of their bytes.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn by_bytes(words: Words, places: &[u8; 32]) -> Words {
        _mm256_shuffle_epi8(words, load(places))
    }

    /// Where the bytes of words come from that are rotated to the right by so many bytes.
    const fn places(by: u8) -> [u8; 32] {
        let mut places = [0; 32];
        let mut byte = 0;
        while byte < 32 {
            places[byte as usize] = byte % 16 / 4 * 4 + (byte % 4 + by) % 4;
            byte += 1;
        }
        places
    }
}
