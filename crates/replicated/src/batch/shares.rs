//! Shares of a table that carries a secret weight with each row.
//!
//! A share is either *derived* from a pair's seeds, and then costs nothing to keep, or *stored*. Of
//! the five tables that Set-Equality looks at, every party stores two shares at most and derives
//! the rest anew, piece by piece.

use std::sync::Arc;

use ostrakon_kernels::{Prg, short_prg_rows, xor_into, zeroed_table};

use crate::messages::Shape;
use crate::pair::Pair;
use crate::params::{SLOT_SEED, WEIGHT_BYTES};

/// One pair's share of a table: `rows × width` bytes and a word of 8 bytes for each row.
#[derive(Clone)]
pub enum Share {
    /// The XOR of streams.
    Derived(Arc<Derived>),
    /// Bytes.
    Stored(Arc<Stored>),
}

/// A share that seeds determine.
pub struct Derived {
    /// Streams of which the rows are the XOR.
    pub rows: Vec<Arc<Prg>>,
    /// Per-slot seeds of which the rows are, besides, the expansion ([`crate::slots`]).
    pub slots: Option<Arc<Prg>>,
    /// The stream of the weights.
    pub weights: Arc<Prg>,
}

/// A share that messages determine, laid out as a message is, without its salt: `rows × width`
/// bytes, then `rows × 8` bytes of weights.
#[derive(Default)]
pub struct Stored {
    bytes: Vec<u8>,
    /// Bytes of the rows.
    split: usize,
}

impl Stored {
    /// Takes over a message of the shape's length, without its salt.
    pub fn of_message(mut bytes: Vec<u8>, shape: Shape) -> Self {
        bytes.truncate(shape.bytes() + shape.rows as usize * WEIGHT_BYTES);
        Self { bytes, split: shape.bytes() }
    }

    /// The rows.
    pub fn rows(&self) -> &[u8] {
        &self.bytes[..self.split]
    }

    /// The weights.
    pub fn weights(&self) -> &[u8] {
        &self.bytes[self.split..]
    }

    /// Rows and weights.
    pub fn parts_mut(&mut self) -> (&mut [u8], &mut [u8]) {
        self.bytes.split_at_mut(self.split)
    }

    /// All bytes, in the layout of a message.
    pub fn as_message(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds a message of the same shape; its salt, if it has one, is left out.
    pub fn add(&mut self, message: &[u8]) {
        let length = self.bytes.len();
        xor_into(&mut self.bytes, &message[..length]);
    }

    /// Becomes of that shape, if it is not. What it holds is then of no meaning.
    pub fn make_room(&mut self, shape: Shape) {
        let length = shape.bytes() + shape.rows as usize * WEIGHT_BYTES;
        if self.bytes.len() != length {
            self.bytes = zeroed_table(length);
        }
        self.split = shape.bytes();
    }
}

impl Share {
    /// A derived share with one more stream XORed into its rows (not its weights); `None` for a
    /// stored one.
    pub fn with_mask(&self, mask: Arc<Prg>) -> Option<Share> {
        let Share::Derived(derived) = self else { return None };
        let rows = derived.rows.iter().cloned().chain([mask]).collect();
        let (slots, weights) = (derived.slots.clone(), derived.weights.clone());
        Some(Share::Derived(Arc::new(Derived { rows, slots, weights })))
    }

    /// Reads `count` rows from row `first` on.
    pub fn read_rows(&self, shape: Shape, first: usize, out: &mut [u8]) {
        let width = shape.width as usize;
        let offset = first * width;
        match self {
            Share::Stored(stored) => {
                out.copy_from_slice(&stored.rows()[offset..offset + out.len()])
            }
            Share::Derived(derived) => {
                let mut streams = derived.rows.iter();
                match (&derived.slots, streams.next()) {
                    (Some(slots), stream) => {
                        expand_slots(slots, first, width, out);
                        stream.into_iter().for_each(|prg| prg.xor_at(offset as u64, out));
                    }
                    (None, Some(prg)) => prg.fill_at(offset as u64, out),
                    (None, None) => out.fill(0),
                }
                streams.for_each(|prg| prg.xor_at(offset as u64, out));
            }
        }
    }

    /// Reads the weights of the rows from `first` on.
    pub fn read_weights(&self, first: usize, out: &mut [u8]) {
        let offset = first * WEIGHT_BYTES;
        match self {
            Share::Stored(stored) => {
                out.copy_from_slice(&stored.weights()[offset..offset + out.len()])
            }
            Share::Derived(derived) => derived.weights.fill_at(offset as u64, out),
        }
    }

    /// The whole share, written out: into `scratch` if it is derived.
    pub fn materialise<'a>(&'a self, shape: Shape, scratch: &'a mut Stored) -> &'a Stored {
        if let Share::Stored(stored) = self {
            return stored;
        }
        scratch.make_room(shape);
        let (rows, weights) = scratch.parts_mut();
        self.read_rows(shape, 0, rows);
        self.read_weights(0, weights);
        scratch
    }
}

/// Expands the mask seeds of consecutive slots into rows. A slot's seeds are 32 bytes of the pair's
/// stream, the mask seed first.
fn expand_slots(slots: &Prg, first: usize, width: usize, out: &mut [u8]) {
    const BLOCK: usize = 4096;
    for (block, rows) in out.chunks_mut(BLOCK * width).enumerate() {
        let count = rows.len() / width;
        let mut seeds = vec![0; count * 2 * SLOT_SEED];
        slots.fill_at(((first + block * BLOCK) * 2 * SLOT_SEED) as u64, &mut seeds);
        for slot in 1..count {
            seeds.copy_within(
                slot * 2 * SLOT_SEED..slot * 2 * SLOT_SEED + SLOT_SEED,
                slot * SLOT_SEED,
            );
        }
        short_prg_rows(&seeds[..count * SLOT_SEED], width, rows, false);
    }
}

/// The shares of one table that somebody knows, by [`Pair::index`]: a party two, a blamer all
/// three.
pub type Shares = [Option<Share>; 3];

/// The share of a pair that the caller is in.
pub fn of(shares: &Shares, pair: Pair) -> &Share {
    shares[pair.index()].as_ref().expect("a party asks for shares of its own pairs only")
}
