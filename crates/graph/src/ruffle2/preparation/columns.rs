//! Shares of a bundle's table: derived from streams, or stored as messages determine them.

use std::sync::Arc;

use ostrakon_field::{ELEMENT_BYTES, WordField};
use ostrakon_kernels::{Prg, gather, zeroed_table};
use ostrakon_replicated::pair::Pair;

use crate::ruffle2::seeds::{JobSeeds, Purpose};
use crate::ruffle2::uses::{Bundle, Use};

/// Rows that are expanded at a time.
const BLOCK: usize = 512;
/// Rows for each task.
const PIECE: usize = 16 * BLOCK;

/// A share of a bundle's table, with weights.
#[derive(Clone)]
pub enum Share {
    /// What streams determine; it costs nothing to keep.
    Derived(Arc<Derived>),
    /// Bytes, row after row.
    Stored(Arc<Vec<u8>>),
}

/// A share that seeds determine.
pub struct Derived {
    /// For each use, the stream of its rows, and one that is subtracted from it.
    uses: Vec<(Prg, Option<Prg>)>,
    weights: Prg,
}

/// The shares of one table that somebody knows, by [`Pair::index`].
pub type Shares = [Option<Share>; 3];

/// The share of a pair that the caller is in.
pub fn of(shares: &Shares, pair: Pair) -> &Share {
    shares[pair.index()].as_ref().expect("a server asks for shares of its own pairs only")
}

/// The fresh share that a stage gives to a pair with the third server in it.
pub fn fresh(seeds: &JobSeeds, pair: Pair, bundle: &Bundle, stage: usize) -> Share {
    fresh_less(seeds, pair, bundle, stage, |_| None)
}

/// The same, less a stream for each use.
fn fresh_less(
    seeds: &JobSeeds,
    pair: Pair,
    bundle: &Bundle,
    stage: usize,
    less: impl Fn(&Use) -> Option<Prg>,
) -> Share {
    let seed = seeds.of(pair);
    let rows = |u: &Use| (seed.prg(Purpose::Fresh(stage, u.id)), less(u));
    Share::Derived(Arc::new(Derived {
        uses: bundle.uses().iter().map(rows).collect(),
        weights: seed.prg(Purpose::FreshWeights(stage, bundle.first().id)),
    }))
}

/// The input of a stage: of the first one the fresh α_in, of the others the output of the one
/// before; in either case less the stage's R. Whose pair's R it is has a share that seeds
/// determine: consecutive stages are of different pairs.
pub fn stage_input(
    seeds: &JobSeeds,
    bundle: &Bundle,
    stage: usize,
    previous: Option<&Shares>,
) -> Shares {
    let masking = bundle.first().roles().stages()[stage];
    Pair::ALL.map(|pair| {
        let seed = seeds.get(pair)?;
        let masked = pair == masking;
        let mask = |u: &Use| masked.then(|| seed.prg(Purpose::Mask(u.id)));
        let Some(shares) = previous else {
            let rows = |u: &Use| (seed.prg(Purpose::Input(u.id)), mask(u));
            return Some(Share::Derived(Arc::new(Derived {
                uses: bundle.uses().iter().map(rows).collect(),
                weights: seed.prg(Purpose::Weights(bundle.first().id)),
            })));
        };
        match masked {
            true => Some(fresh_less(seeds, pair, bundle, stage - 1, mask)),
            false => shares[pair.index()].clone(),
        }
    })
}

impl Share {
    /// Reads the rows from `first` on.
    pub fn read<F: WordField>(&self, bundle: &Bundle, first: usize, out: &mut [u8]) {
        match self {
            Share::Stored(bytes) => {
                let at = first * bundle.width();
                out.copy_from_slice(&bytes[at..at + out.len()]);
            }
            Share::Derived(derived) => derived.read::<F>(bundle, first, out),
        }
    }

    /// The rows in the order of an index, with room for some bytes more.
    pub fn permuted<F: WordField>(&self, bundle: &Bundle, index: &[u32], room: usize) -> Vec<u8> {
        use rayon::prelude::*;
        let mut out = zeroed_table(bundle.bytes() + room);
        out.truncate(bundle.bytes());
        let width = bundle.width();
        match self {
            Share::Stored(bytes) => gather(&mut out, bytes, width, index),
            Share::Derived(derived) => {
                let mut bytes = zeroed_table(bundle.bytes());
                bytes
                    .par_chunks_mut(PIECE * width)
                    .enumerate()
                    .for_each(|(i, piece)| derived.read::<F>(bundle, i * PIECE, piece));
                gather(&mut out, &bytes, width, index);
            }
        }
        out
    }

    /// Subtracts the share from a table of the bundle's.
    pub fn subtract_from<F: WordField>(&self, bundle: &Bundle, table: &mut [u8]) {
        use rayon::prelude::*;
        let subtract = |scratch: &mut Vec<u8>, (i, rows): (usize, &mut [u8])| {
            scratch.resize(rows.len(), 0);
            self.read::<F>(bundle, i * BLOCK, scratch);
            F::sub_into(rows, scratch);
        };
        let blocks = table.par_chunks_mut(BLOCK * bundle.width()).enumerate().with_min_len(16);
        blocks.for_each_init(Vec::new, subtract);
    }
}

impl Derived {
    fn read<F: WordField>(&self, bundle: &Bundle, first: usize, out: &mut [u8]) {
        let (width, all) = (bundle.first().width(), bundle.width());
        let words = bundle.first().words as usize;
        let mut scratch = vec![0; BLOCK * width.max(ELEMENT_BYTES)];
        let mut subtracted = vec![0; BLOCK * width];
        for (block, rows) in out.chunks_mut(BLOCK * all).enumerate() {
            let (at, count) = (first + block * BLOCK, rows.len() / all);
            for (column, (stream, less)) in self.uses.iter().enumerate() {
                let piece = &mut scratch[..count * width];
                F::expand(stream, (at * words) as u64, piece);
                if let Some(less) = less {
                    let subtracted = &mut subtracted[..count * width];
                    F::expand(less, (at * words) as u64, subtracted);
                    F::sub_into(piece, subtracted);
                }
                place(rows, all, column * width, piece, width);
            }
            let piece = &mut scratch[..count * ELEMENT_BYTES];
            F::expand(&self.weights, at as u64, piece);
            place(rows, all, all - ELEMENT_BYTES, piece, ELEMENT_BYTES);
        }
    }
}

/// Copies a table into a column of another one.
fn place(rows: &mut [u8], all: usize, at: usize, piece: &[u8], width: usize) {
    let rows = rows.chunks_exact_mut(all);
    if width == ELEMENT_BYTES {
        for (row, word) in rows.zip(piece.as_chunks::<ELEMENT_BYTES>().0) {
            row[at..at + ELEMENT_BYTES].copy_from_slice(word);
        }
        return;
    }
    for (row, piece) in rows.zip(piece.chunks_exact(width)) {
        row[at..at + width].copy_from_slice(piece);
    }
}

/// The uses' rows of a bundle's table, use after use.
pub fn tables(bytes: &[u8], bundle: &Bundle) -> Vec<Vec<u8>> {
    let (width, all) = (bundle.first().width(), bundle.width());
    let table = |_| zeroed_table(bundle.first().bytes());
    let mut tables: Vec<Vec<u8>> = bundle.uses().iter().map(table).collect();
    // A block stays in the cache while its columns are read.
    for (block, rows) in bytes.chunks(BLOCK * all).enumerate() {
        let from = block * BLOCK * width;
        for (column, table) in tables.iter_mut().enumerate() {
            let piece = &mut table[from..][..rows.len() / all * width];
            take(rows, all, column * width, piece, width);
        }
    }
    tables
}

/// Copies a column of a table into another one.
fn take(rows: &[u8], all: usize, at: usize, piece: &mut [u8], width: usize) {
    let rows = rows.chunks_exact(all);
    if width == ELEMENT_BYTES {
        for (row, word) in rows.zip(piece.as_chunks_mut::<ELEMENT_BYTES>().0) {
            word.copy_from_slice(&row[at..at + ELEMENT_BYTES]);
        }
        return;
    }
    for (row, piece) in rows.zip(piece.chunks_exact_mut(width)) {
        piece.copy_from_slice(&row[at..at + width]);
    }
}
