//! Shares of a bundle's table: derived from streams, or stored as messages determine them.

use std::sync::Arc;

use ostrakon_field::{ELEMENT_BYTES, WordField};
use ostrakon_kernels::{Prg, zeroed_table};
use ostrakon_replicated::pair::Pair;

use crate::ruffle2::seeds::{JobSeeds, Purpose};
use crate::ruffle2::uses::{Bundle, Use};

/// Rows that are expanded at a time.
const BLOCK: usize = 512;

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
    let seed = seeds.of(pair);
    let rows = |u: &Use| (seed.prg(Purpose::Fresh(stage, u.id)), None);
    Share::Derived(Arc::new(Derived {
        uses: bundle.uses().iter().map(rows).collect(),
        weights: seed.prg(Purpose::FreshWeights(stage, bundle.first().id)),
    }))
}

/// The input of a stage: of the first one the fresh α_in, of the others the output of the one
/// before; in either case less the stage's R.
pub fn stage_input<F: WordField>(
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
        let share = shares[pair.index()].clone()?;
        if !masked {
            return Some(share);
        }
        let mut bytes = share.materialise::<F>(bundle);
        subtract_masks::<F>(&mut bytes, seeds, bundle, pair);
        Some(Share::Stored(Arc::new(bytes)))
    })
}

fn subtract_masks<F: WordField>(bytes: &mut [u8], seeds: &JobSeeds, bundle: &Bundle, pair: Pair) {
    let width = bundle.first().width();
    let mut mask = vec![0; BLOCK * width];
    for (column, u) in bundle.uses().iter().enumerate() {
        let prg = seeds.of(pair).prg(Purpose::Mask(u.id));
        for (block, rows) in bytes.chunks_mut(BLOCK * bundle.width()).enumerate() {
            let count = rows.len() / bundle.width();
            let mask = &mut mask[..count * width];
            F::expand(&prg, (block * BLOCK * u.words as usize) as u64, mask);
            let at = column * width;
            for (row, mask) in rows.chunks_exact_mut(bundle.width()).zip(mask.chunks_exact(width)) {
                F::sub_into(&mut row[at..at + width], mask);
            }
        }
    }
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

    /// The whole share.
    pub fn materialise<F: WordField>(&self, bundle: &Bundle) -> Vec<u8> {
        use rayon::prelude::*;
        let mut bytes = zeroed_table(bundle.bytes());
        let chunk = 16 * BLOCK;
        bytes
            .par_chunks_mut(chunk * bundle.width())
            .enumerate()
            .for_each(|(i, rows)| self.read::<F>(bundle, i * chunk, rows));
        bytes
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

/// One use's rows of a bundle's table.
pub fn column(bytes: &[u8], bundle: &Bundle, which: usize) -> Vec<u8> {
    let (width, all) = (bundle.first().width(), bundle.width());
    let at = which * width;
    let mut out = Vec::with_capacity(bundle.first().bytes());
    bytes.chunks_exact(all).for_each(|row| out.extend_from_slice(&row[at..at + width]));
    out
}
