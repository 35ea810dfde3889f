//! Splitting work over threads, or running it in place when the `parallel` feature is off.

use std::ops::Range;

#[cfg(all(feature = "parallel", not(target_arch = "wasm32")))]
use rayon::prelude::*;

/// Calls `work(i, chunk)` for the `i`-th chunk of `chunk_len` elements of `data`; the last chunk
/// may be shorter.
pub(crate) fn for_each_chunk<T: Send>(
    data: &mut [T],
    chunk_len: usize,
    work: impl Fn(usize, &mut [T]) + Sync + Send,
) {
    #[cfg(all(feature = "parallel", not(target_arch = "wasm32")))]
    if data.len() > chunk_len {
        data.par_chunks_mut(chunk_len).enumerate().for_each(|(i, chunk)| work(i, chunk));
        return;
    }
    data.chunks_mut(chunk_len).enumerate().for_each(|(i, chunk)| work(i, chunk));
}

/// Maps the ranges of `chunk_len` indices that make up `0..n`, in order.
pub(crate) fn map_ranges<R: Send>(
    n: usize,
    chunk_len: usize,
    work: impl Fn(Range<usize>) -> R + Sync + Send,
) -> Vec<R> {
    let range = |i: usize| i * chunk_len..((i + 1) * chunk_len).min(n);
    let chunks = n.div_ceil(chunk_len);
    #[cfg(all(feature = "parallel", not(target_arch = "wasm32")))]
    if chunks > 1 {
        return (0..chunks).into_par_iter().map(|i| work(range(i))).collect();
    }
    (0..chunks).map(|i| work(range(i))).collect()
}
