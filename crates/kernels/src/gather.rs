//! Permuting the rows of a table.

use crate::Prg;
use crate::memory::prefetch;
use crate::threads::for_each_chunk;
use crate::xor::xor_serial;

/// Bytes of the destination per task.
const CHUNK: usize = 1 << 18;
/// Bytes of the destination that are handled at a time: they stay in the first-level cache between
/// two steps on them.
const TILE: usize = 1 << 12;
/// How many narrow rows ahead the source is fetched: enough to keep every outstanding miss of a
/// core busy.
const AHEAD: usize = 80;
/// How many bytes of wide rows ahead the source is fetched.
const AHEAD_BYTES: usize = 1 << 13;

/// Row `i` of `dst` becomes row `index[i]` of `src`.
///
/// # Panics
/// If a length is not a multiple of `width`, `index` does not have one entry per row of `dst`, or
/// an entry is not a row of `src`.
pub fn gather(dst: &mut [u8], src: &[u8], width: usize, index: &[u32]) {
    run(dst, src, width, index, Rows::Copy);
}

/// Row `i` of `dst` is XORed with row `index[i]` of `src`.
///
/// # Panics
/// As [`gather`].
pub fn gather_xor(dst: &mut [u8], src: &[u8], width: usize, index: &[u32]) {
    run(dst, src, width, index, Rows::Xor);
}

/// Row `i` of `dst` becomes row `index[i]` of `src` XORed with the stream of `prg` at position
/// `byte_offset + i·width`: permute and re-mask in one pass over memory.
///
/// # Panics
/// As [`gather`].
pub fn gather_xor_prg(
    dst: &mut [u8],
    src: &[u8],
    width: usize,
    index: &[u32],
    prg: &Prg,
    byte_offset: u64,
) {
    run(dst, src, width, index, Rows::Mask(prg, byte_offset));
}

/// What becomes of a fetched row.
#[derive(Clone, Copy)]
enum Rows<'a> {
    Copy,
    Xor,
    Mask(&'a Prg, u64),
}

fn run(dst: &mut [u8], src: &[u8], width: usize, index: &[u32], rows: Rows) {
    assert_eq!(dst.len(), width * index.len(), "one row of {width} bytes per index");
    if dst.is_empty() {
        return;
    }
    assert_eq!(src.len() % width, 0, "the source has rows of {width} bytes");
    let tile_rows = (TILE / width).max(1);
    let chunk_rows = tile_rows * CHUNK.div_ceil(tile_rows * width);
    for_each_chunk(dst, chunk_rows * width, |i, chunk| {
        let first = i * chunk_rows;
        for (t, tile) in chunk.chunks_mut(tile_rows * width).enumerate() {
            // The index runs on beyond the tile, so that the next tile's first rows are already on
            // their way.
            let index = &index[first + t * tile_rows..];
            match rows {
                Rows::Copy => tile_rows_of_width(tile, src, width, index, false),
                Rows::Xor => tile_rows_of_width(tile, src, width, index, true),
                Rows::Mask(prg, byte_offset) => {
                    prg.fill_serial(byte_offset + ((first + t * tile_rows) * width) as u64, tile);
                    tile_rows_of_width(tile, src, width, index, true);
                }
            }
        }
    });
}

fn tile_rows_of_width(dst: &mut [u8], src: &[u8], width: usize, index: &[u32], xor: bool) {
    match width {
        8 => fixed::<8>(dst, src, index, xor),
        16 => fixed::<16>(dst, src, index, xor),
        24 => fixed::<24>(dst, src, index, xor),
        32 => fixed::<32>(dst, src, index, xor),
        40 => fixed::<40>(dst, src, index, xor),
        48 => fixed::<48>(dst, src, index, xor),
        56 => fixed::<56>(dst, src, index, xor),
        64 => fixed::<64>(dst, src, index, xor),
        _ => any_width(dst, src, width, index, xor),
    }
}

fn fixed<const W: usize>(dst: &mut [u8], src: &[u8], index: &[u32], xor: bool) {
    let (dst, _) = dst.as_chunks_mut::<W>();
    let (src, _) = src.as_chunks::<W>();
    for (i, row) in dst.iter_mut().enumerate() {
        if let Some(&ahead) = index.get(i + AHEAD) {
            prefetch(src.as_ptr().wrapping_add(ahead as usize).cast(), W);
        }
        let from = &src[index[i] as usize];
        if xor {
            for (d, s) in row.iter_mut().zip(from) {
                *d ^= s;
            }
        } else {
            *row = *from;
        }
    }
}

fn any_width(dst: &mut [u8], src: &[u8], width: usize, index: &[u32], xor: bool) {
    let distance = (AHEAD_BYTES / width).clamp(1, AHEAD);
    for (i, row) in dst.chunks_exact_mut(width).enumerate() {
        if let Some(&ahead) = index.get(i + distance) {
            prefetch(src.as_ptr().wrapping_add(ahead as usize * width), width);
        }
        let start = index[i] as usize * width;
        let from = &src[start..start + width];
        if xor {
            xor_serial(row, from);
        } else {
            row.copy_from_slice(from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(rows: usize, width: usize, seed: u8) -> Vec<u8> {
        let mut t = vec![0; rows * width];
        Prg::new(&[seed; 32]).fill(&mut t);
        t
    }

    fn check(width: usize, rows: usize, index: &[u32]) {
        let src = table(rows, width, 1);
        let before = table(index.len(), width, 2);
        let prg = Prg::new(&[3; 32]);
        let (mut copied, mut xored, mut masked) = (before.clone(), before.clone(), before.clone());
        gather(&mut copied, &src, width, index);
        gather_xor(&mut xored, &src, width, index);
        gather_xor_prg(&mut masked, &src, width, index, &prg, 5);
        let mut stream = vec![0; index.len() * width];
        prg.fill_at(5, &mut stream);
        for (i, &j) in index.iter().enumerate() {
            for k in 0..width {
                let (d, s) = (i * width + k, src[j as usize * width + k]);
                assert_eq!(copied[d], s);
                assert_eq!(xored[d], before[d] ^ s);
                assert_eq!(masked[d], stream[d] ^ s);
            }
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(
            width in 1usize..80,
            index in prop::collection::vec(0u32..50, 0..200),
        ) {
            check(width, 50, &index);
        }
    }

    #[test]
    fn agrees_with_the_definition_across_chunks() {
        let rows = 70_001u32;
        let index: Vec<u32> =
            (0..rows).map(|i| (u64::from(i) * 48_271 % u64::from(rows)) as u32).collect();
        for width in [8, 24, 32, 33, 48, 64] {
            check(width, rows as usize, &index);
        }
        check(4096 + 8, 300, &index[..300].iter().map(|i| i % 300).collect::<Vec<_>>());
    }

    #[test]
    #[should_panic]
    fn refuses_a_row_outside_the_source() {
        gather(&mut [0; 16], &[0; 32], 16, &[2]);
    }
}
