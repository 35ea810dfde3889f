use crate::threads::for_each_chunk;

/// Bytes per task: small enough to share evenly, large enough to hide the cost of sharing.
const CHUNK: usize = 1 << 19;

/// `dst[i] ^= src[i]`; buffers above one MiB are split over threads.
///
/// # Panics
/// If the lengths differ.
pub fn xor_into(dst: &mut [u8], src: &[u8]) {
    assert_eq!(dst.len(), src.len(), "xor_into needs buffers of equal length");
    if dst.len() <= 2 * CHUNK {
        return xor_serial(dst, src);
    }
    for_each_chunk(dst, CHUNK, |i, chunk| {
        let start = i * CHUNK;
        xor_serial(chunk, &src[start..start + chunk.len()]);
    });
}

/// The same on the calling thread, whatever the length.
pub(crate) fn xor_serial(dst: &mut [u8], src: &[u8]) {
    for (d, s) in dst.iter_mut().zip(src) {
        *d ^= s;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xors_every_byte_across_chunk_borders() {
        for len in [0, 1, 63, CHUNK * 2, CHUNK * 3 + 17] {
            let src: Vec<u8> = (0..len).map(|i| ((i * 31) >> 3) as u8).collect();
            let before: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
            let mut dst = before.clone();
            xor_into(&mut dst, &src);
            assert!((0..len).all(|i| dst[i] == before[i] ^ src[i]), "length {len}");
        }
    }

    #[test]
    #[should_panic(expected = "equal length")]
    fn refuses_unequal_lengths() {
        xor_into(&mut [0; 3], &[0; 4]);
    }
}
