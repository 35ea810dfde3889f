//! How many distinct items many people have seen, from the XOR of their sketches.
//!
//! A sketch has k cells and, on each of some levels, m coins. An item falls into one cell, and on
//! level r with 2^-r on one coin of it. A cell is a string of s bits, a coin a single bit: zero
//! in a sketch of which no item falls there, else random. So in the XOR of all people's sketches
//! a cell that somebody has used reads zero with 2^-s, and a coin that somebody has thrown is one
//! with exactly 1/2, whatever anybody adds to it who does not know it. No AND gate asks whether a
//! coin was thrown: the number of ones of each level is opened, and the number of cells in use,
//! of which the estimate is made in public. Levels as in Flajolet and Martin (1985), random bits
//! in the place of marks so that sketches can be added up.

use super::arithmetic::popcount;
use crate::circuit::{Builder, Circuit, Wire};

/// The size of a sketch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sketch {
    /// k.
    pub cells: usize,
    /// s.
    pub string: usize,
    /// Levels, from 1; the last one has the items of all that would follow.
    pub levels: usize,
    /// m.
    pub coins: usize,
}

/// a ∨ b.
fn or(builder: &mut Builder, a: Wire, b: Wire) -> Wire {
    let (differ, both) = (builder.xor(a, b), builder.and(a, b));
    builder.xor(differ, both)
}

/// The OR of bits, in as few layers as possible.
fn any(builder: &mut Builder, bits: &[Wire]) -> Wire {
    let mut bits = bits.to_vec();
    while bits.len() > 1 {
        bits = bits
            .chunks(2)
            .map(|pair| match *pair {
                [a, b] => or(builder, a, b),
                _ => pair[0],
            })
            .collect();
    }
    bits[0]
}

impl Sketch {
    /// Bits of a sketch: cell by cell, then level by level.
    pub fn bits(&self) -> usize {
        self.cells * self.string + self.levels * self.coins
    }

    /// Where the coins of a level (from 0) begin.
    pub fn level(&self, level: usize) -> usize {
        self.cells * self.string + level * self.coins
    }

    /// From the XOR of sketches to the number of cells in use, and that of ones on each level; each
    /// lowest digit first. k·(s − 1) + k − s(k) + levels·(m − s(m)) AND gates, with s(n) the number
    /// of ones in n.
    ///
    /// # Panics
    /// If a size is zero or the number of bits another.
    pub fn summary(&self, builder: &mut Builder, bits: &[Wire]) -> Vec<Vec<Wire>> {
        let sizes = [self.cells, self.string, self.levels, self.coins];
        assert!(!sizes.contains(&0) && bits.len() == self.bits(), "the bits of one sketch");
        let (cells, coins) = bits.split_at(self.level(0));
        let used: Vec<Wire> =
            cells.chunks(self.string).map(|string| any(builder, string)).collect();
        let mut counts = vec![popcount(builder, &used)];
        counts.extend(coins.chunks(self.coins).map(|level| popcount(builder, level)));
        counts
    }

    /// The circuit that opens the summary.
    pub fn circuit(&self) -> Circuit {
        let mut builder = Builder::new(self.bits());
        let bits: Vec<Wire> = (0..self.bits()).map(|i| builder.input(i)).collect();
        let counts = self.summary(&mut builder, &bits);
        counts.into_iter().flatten().for_each(|wire| builder.open(wire));
        builder.finish()
    }
}
