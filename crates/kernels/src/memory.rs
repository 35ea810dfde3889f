//! Large zeroed buffers on huge pages, and fetching ahead.

use zeroize::Zeroize;

/// Below this many bytes huge pages are not worth asking for.
#[cfg(any(target_os = "linux", test))]
const LARGE: usize = 2 << 20;

/// A table of `len` zero bytes. Large ones are placed on huge pages where the system offers them
/// (Linux): the first touch of fresh memory, which otherwise costs more than a gather, and random
/// access become cheaper.
pub fn zeroed_table(len: usize) -> Vec<u8> {
    keep_large_apart();
    let mut table = vec![0; len];
    prefer_huge_pages(&mut table);
    table
}

/// An empty vector with room for `n` elements, placed as a [`zeroed_table`] is.
pub fn with_room<T>(n: usize) -> Vec<T> {
    keep_large_apart();
    let mut room = Vec::with_capacity(n);
    prefer_huge_pages(room.spare_capacity_mut());
    room
}

/// The same for `n` words.
pub(crate) fn zeroed_words(n: usize) -> Vec<u32> {
    keep_large_apart();
    let mut words = vec![0; n];
    prefer_huge_pages(&mut words);
    words
}

/// Has the C library take large buffers from the system, always, and give them back when they are
/// freed. By itself it begins to recycle them after the first, and clears every recycled one on the
/// calling thread; fresh pages are cleared on touch, by all threads. And has it keep a few smaller
/// ones that are free: it would give back a table of just below that size as soon as it is freed,
/// and pages would be cleared anew for the next one.
fn keep_large_apart() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        // SAFETY: the calls set parameters of the allocator, which any thread may do at any time.
        ONCE.call_once(|| unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE as libc::c_int);
            libc::mallopt(libc::M_TRIM_THRESHOLD, 4 * LARGE as libc::c_int);
        });
    }
}

/// Gives the system back what the allocator holds and nobody uses, as after many connections have
/// ended: by itself the C library keeps small pieces, each in the arena of its thread. Takes some
/// milliseconds for some hundred megabytes, during which other threads' allocations may wait.
pub fn give_back_memory() {
    // SAFETY: the call is safe for any thread at any time; it moves nothing that is in use.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0)
    };
}

/// Wipes bytes, eight at a time where they are aligned: [`Zeroize`] takes them one by one.
pub fn wipe(bytes: &mut [u8]) {
    // SAFETY: any eight bytes are a word.
    let (before, words, after) = unsafe { bytes.align_to_mut::<u64>() };
    before.zeroize();
    words.zeroize();
    after.zeroize();
}

/// Only a hint: where it fails or does not exist, nothing changes but speed.
fn prefer_huge_pages<T>(buffer: &mut [T]) {
    #[cfg(target_os = "linux")]
    if size_of_val(buffer) >= LARGE {
        const PAGE: usize = 4096;
        let bytes = size_of_val(buffer);
        let start = buffer.as_mut_ptr().cast::<u8>();
        let skip = start.align_offset(PAGE);
        // SAFETY: the range lies within the buffer, which is borrowed exclusively, and the advice
        // leaves contents alone.
        unsafe {
            libc::madvise(start.add(skip).cast(), (bytes - skip) / PAGE * PAGE, libc::MADV_HUGEPAGE)
        };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = buffer;
}

/// Asks for the cache lines of the `len` bytes from `start` on; a hint without effect on the
/// result.
#[inline(always)]
pub(crate) fn prefetch(start: *const u8, len: usize) {
    const CACHE_LINE: usize = 64;
    for byte in (0..len).step_by(CACHE_LINE) {
        prefetch_line(start.wrapping_add(byte));
    }
    prefetch_line(start.wrapping_add(len - 1));
}

/// Asks for the cache line at `place`; a hint without effect on the result.
#[inline(always)]
pub(crate) fn prefetch_line(place: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: prefetching is a hint that may name any address; nothing is dereferenced.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of memory that the process has.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn resident() -> usize {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
        pages.unwrap() * 4096
    }

    /// As after many connections: most of what was taken in small pieces is free, and some is not.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn memory_that_nobody_uses_is_given_back() {
        const PIECES: usize = 128 << 10;
        let mut pieces: Vec<Vec<u8>> = (0..PIECES).map(|n| vec![n as u8 | 1; 1 << 10]).collect();
        let mut place = 0;
        pieces.retain(|_| {
            place += 1;
            place % 128 == 0
        });
        let before = resident();
        give_back_memory();
        let after = resident();
        assert!(after + (PIECES << 9) < before, "{} of {} MiB stay", after >> 20, before >> 20);
        assert_eq!(pieces.len(), PIECES / 128);
    }

    #[test]
    fn bytes_of_any_place_and_length_are_wiped_and_no_others() {
        for (from, to) in [(0, 0), (0, 1), (3, 5), (1, 40), (8, 24), (5, 99)] {
            let mut bytes = [1; 100];
            wipe(&mut bytes[from..to]);
            let wiped = |i: usize| (from..to).contains(&i);
            assert!(bytes.iter().enumerate().all(|(i, byte)| (*byte == 0) == wiped(i)));
        }
    }

    #[test]
    fn tables_of_any_size_are_zero_and_writable() {
        for len in [0, 1, LARGE - 1, LARGE, LARGE + 12_345] {
            let mut table = zeroed_table(len);
            assert!(table.len() == len && table.iter().all(|&byte| byte == 0));
            table.fill(1);
            assert!(zeroed_words(len / 4).iter().all(|&word| word == 0));
        }
    }

    #[test]
    fn room_of_any_size_is_empty_and_writable() {
        for n in [0, 1, LARGE / 8 + 3] {
            let mut room = with_room(n);
            assert!(room.is_empty() && room.capacity() >= n);
            room.extend(0..n as u64);
            assert!(room.iter().copied().eq(0..n as u64));
        }
    }
}
