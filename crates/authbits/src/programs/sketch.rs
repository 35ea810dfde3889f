//! How many distinct items many people have seen, from the XOR of their sketches.
//!
//! A sketch has k counters of w entries; entry i (from 1) of a counter is a string of s bits, zero
//! if no item of the counter has rank i or more, else random. The XOR of all people's strings is
//! zero
//! where all are, and otherwise with probability 2^-s; the suffix-OR inside each counter makes that
//! harmless for small s (an entry that reads zero by chance is filled in by those above it). With M
//! the highest entry of a counter that is not empty, Σ2^-M = k − Σ_i 2^-i·(counters with M ≥ i):
//! only this sum and the number of counters that are not empty are opened, of which the estimate of
//! HyperLogLog (Flajolet, Fusy, Gandouet, Meunier, 2007) is made in public.

use super::arithmetic::{compress, popcount};
use crate::circuit::{Builder, Circuit, Wire};

/// The size of a sketch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sketch {
    /// k.
    pub counters: usize,
    /// w.
    pub entries: usize,
    /// s.
    pub string: usize,
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
    /// Bits of a sketch.
    pub fn bits(&self) -> usize {
        self.counters * self.entries * self.string
    }

    /// From the XOR of sketches (counter by counter, entry by entry) to 2^w·Σ_i 2^-i·(counters with
    /// M ≥ i), and the number of counters that are not empty; each lowest digit first.
    ///
    /// # Panics
    /// If a size is zero or the number of bits another.
    pub fn summary(&self, builder: &mut Builder, bits: &[Wire]) -> (Vec<Wire>, Vec<Wire>) {
        assert!(self.bits() > 0 && bits.len() == self.bits(), "the bits of one sketch");
        let mut reached = vec![Vec::with_capacity(self.counters); self.entries];
        for counter in bits.chunks(self.entries * self.string) {
            let mut above: Option<Wire> = None;
            for (entry, string) in counter.chunks(self.string).enumerate().rev() {
                let filled = any(builder, string);
                let filled = above.map_or(filled, |above| or(builder, above, filled));
                reached[entry].push(filled);
                above = Some(filled);
            }
        }
        let occupied = popcount(builder, &reached[0]);
        let mut columns = vec![Vec::new(); self.entries - 1 + occupied.len()];
        for (entry, column) in reached.into_iter().enumerate().skip(1) {
            columns[self.entries - 1 - entry] = column;
        }
        for (digit, &wire) in occupied.iter().enumerate() {
            columns[self.entries - 1 + digit].push(wire);
        }
        (compress(builder, columns), occupied)
    }

    /// The circuit that opens the summary.
    pub fn circuit(&self) -> Circuit {
        let mut builder = Builder::new(self.bits());
        let bits: Vec<Wire> = (0..self.bits()).map(|i| builder.input(i)).collect();
        let (sum, occupied) = self.summary(&mut builder, &bits);
        sum.into_iter().chain(occupied).for_each(|wire| builder.open(wire));
        builder.finish()
    }
}
