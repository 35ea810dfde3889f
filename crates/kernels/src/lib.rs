//! Bulk operations on flat tables: the inner loops of every engine, and the workspace's only
//! `unsafe` code.
//!
//! A *table* is `rows × width` bytes in one buffer, row after row. Lengths, widths and indices are
//! always chosen by the calling code, never by a peer, so a mismatch is a bug of ours and panics.
//!
//! - [`xor_into`]: whole-buffer XOR.
//! - [`Prg`], [`short_prg`], [`short_prg_rows`]: AES-128 in counter mode, seekable.
//! - [`gather`], [`gather_xor`], [`gather_xor_prg`]: permuting (or selecting) the rows of a table.
//! - [`gf64`]: carry-less multiplication, inner products and linear checks over GF(2^64).
//! - [`zeroed_table`], [`with_room`]: large buffers on huge pages; [`give_back_memory`]: what
//!   nobody uses.
//! - [`permutation`]: exactly uniform permutations from a PRG stream.
//! - [`LeafSums`]: the streams of a tree's leaves, added up by the bits of their numbers.
//! - [`mask`]: selecting without a branch.
//! - [`transpose64`]: transposing blocks of a bit matrix.
//! - [`lanes`]: BLAKE3 of eight short inputs at a time.
//! - [`FixedKeyHash`]: correlation-robust hashing of blocks with AES under a public key.
//!
//! Work is split over rayon's threads when the `parallel` feature is on (the default); no result
//! depends on the number of threads, on the feature, or on the processor. Arithmetic takes time
//! independent of the values; the addresses that a gather touches depend on its index, which is a
//! secret of the server that runs it.

mod bits;
mod fixed_key;
mod gather;
pub mod gf64;
pub mod lanes;
mod mask;
mod memory;
pub mod permutation;
mod prg;
mod sums;
mod threads;
mod xor;

pub use bits::transpose64;
pub use fixed_key::FixedKeyHash;
pub use gather::{gather, gather_xor, gather_xor_prg};
pub use gf64::{clmul_mul, clmul_wide, inner_product, linear_rows, reduce, replicated_rows};
pub use mask::mask;
pub use memory::{give_back_memory, wipe, with_room, zeroed_table};
pub use prg::{Prg, short_prg, short_prg_rows};
pub use sums::LeafSums;
pub use xor::xor_into;
