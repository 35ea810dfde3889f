//! The iterated butterfly (spec 12; the paper's Fig. 6): every layer swaps pairs of rows, or does
//! not, by shared random bits. Nearly uniform; for comparison, and for many servers.

use ostrakon_field::Fp;

use crate::client::{Masked, unpad};
use crate::offline::Spent;
use crate::offline::switches::{SwitchStock, Switches};
use crate::opening::Mode;
use crate::phase::Phase;
use crate::program::{Given, Program, Turn};
use crate::tape::Tape;

/// Iterations of log₂(rows) layers: one more than the paper's. With eight rows three are 1.6 % from
/// uniform in total variation, four 0.2 %.
#[must_use]
pub fn iterations(rows: usize) -> usize {
    rows.ilog2() as usize + 1
}

/// What the butterfly of so many rows, a power of two, uses up.
#[must_use]
pub fn stock_of(rows: usize, width: usize) -> Switches {
    assert!(rows.is_power_of_two() && rows > 1, "a power of two");
    Switches { rows, width, count: layers(rows).count() * rows / 2 }
}

/// The distance of the rows that each layer pairs.
fn layers(rows: usize) -> impl Iterator<Item = usize> {
    (0..iterations(rows)).flat_map(move |_| (0..rows.ilog2()).map(|bit| 1 << bit))
}

/// Pairs of a layer.
fn pairs(rows: usize, distance: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rows).filter(move |row| row & distance == 0).map(move |row| (row, row | distance))
}

/// The network on sealed submissions.
pub struct Butterfly {
    stock: SwitchStock,
    submissions: Vec<Option<Masked>>,
    /// Own shares of the table.
    table: Vec<Fp>,
    layer: usize,
    unpadded: bool,
}

impl Butterfly {
    /// Shuffles the sealed rows; slots without one come out as noise.
    ///
    /// # Panics
    /// If the stock is not for so many rows of this width.
    pub fn new(stock: Spent<SwitchStock>, submissions: Vec<Option<Masked>>) -> Butterfly {
        let stock = stock.into_stock();
        let Switches { rows, width, count } = stock.shape;
        assert_eq!(submissions.len(), rows, "a place for each row");
        assert_eq!(count, stock_of(rows, width).count, "stock for all layers");
        let wide = |s: &Masked| s.0.len() == width;
        assert!(submissions.iter().flatten().all(wide), "rows of one width");
        Butterfly { stock, submissions, table: Vec::new(), layer: 0, unpadded: false }
    }

    fn sealed(&self) -> impl Iterator<Item = usize> {
        self.submissions.iter().enumerate().filter(|(_, s)| s.is_some()).map(|(slot, _)| slot)
    }

    /// Own shares of the input: what the client sent, without the pad, plus the mask.
    fn take_input(&mut self, pads: &[Fp]) {
        let width = self.stock.shape.width;
        let mut table = std::mem::take(&mut self.stock.masks);
        for (slot, pad) in self.sealed().zip(pads.as_chunks::<2>().0) {
            if let Some(masked) = &self.submissions[slot] {
                let row = &mut table[slot * width..][..width];
                row.iter_mut().zip(unpad(masked, *pad)).for_each(|(m, x)| *m += x);
            }
        }
        self.table = table;
        self.unpadded = true;
    }

    /// What the next layer opens: the masked differences of its pairs; or the output.
    fn open(&self) -> Vec<Fp> {
        let Switches { rows, width, .. } = self.stock.shape;
        let Some(distance) = layers(rows).nth(self.layer) else {
            return self.table.clone();
        };
        let first = self.layer * rows / 2 * width;
        let masks = &self.stock.differences[first..];
        let row = |i: usize| &self.table[i * width..][..width];
        let differences = pairs(rows, distance)
            .flat_map(|(a, b)| row(a).iter().zip(row(b)).map(|(&x, &y)| x - y));
        differences.zip(masks).map(|(difference, &mask)| difference - mask).collect()
    }

    /// b·(x − y) = b·δ + b·u goes from one row of a pair to the other.
    fn switch(&mut self, opened: &[Fp]) {
        let Switches { rows, width, .. } = self.stock.shape;
        let Some(distance) = layers(rows).nth(self.layer) else {
            return;
        };
        for (place, (a, b)) in pairs(rows, distance).enumerate() {
            let switch = self.layer * rows / 2 + place;
            let bit = self.stock.bits[switch];
            for e in 0..width {
                let delta = opened[place * width + e];
                let change = bit * delta + self.stock.products[switch * width + e];
                self.table[a * width + e] -= change;
                self.table[b * width + e] += change;
            }
        }
        self.layer += 1;
    }
}

impl Program for Butterfly {
    /// All rows in the new order, `rows` × `width`.
    type Output = Vec<Fp>;

    fn phases(&self) -> Vec<Phase> {
        let Switches { rows, width, .. } = self.stock.shape;
        let open = |count| Phase::Open { count, mode: Mode::Robust };
        let pads = Some(2 * self.sealed().count()).filter(|count| *count > 0).map(open);
        let layers = layers(rows).map(|_| open(rows / 2 * width));
        pads.into_iter().chain(layers).chain([open(rows * width)]).collect()
    }

    fn next(&mut self, given: Given, _tape: &mut Tape) -> Turn<Vec<Fp>> {
        match given {
            Given::Nothing => {
                let pads = &self.stock.pads;
                let open: Vec<Fp> =
                    self.sealed().flat_map(|slot| [pads[2 * slot], pads[2 * slot + 1]]).collect();
                if !open.is_empty() {
                    return Turn::Open(open);
                }
                self.take_input(&[]);
            }
            Given::Opened(pads) if !self.unpadded => self.take_input(&pads),
            Given::Opened(values) => {
                if self.layer == layers(self.stock.shape.rows).count() {
                    return Turn::Done(values);
                }
                self.switch(&values);
            }
            _ => return Turn::Refuse,
        }
        Turn::Open(self.open())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_pair_all_rows() {
        assert_eq!(iterations(8), 4);
        assert_eq!(layers(8).collect::<Vec<_>>(), [1, 2, 4].repeat(4));
        assert_eq!(stock_of(8, 3).count, 12 * 4);
        for distance in [1, 2, 4] {
            let mut seen: Vec<usize> = pairs(8, distance).flat_map(|(a, b)| [a, b]).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..8).collect::<Vec<_>>());
        }
    }

    /// The distance from uniform, computed exactly.
    #[test]
    fn eight_rows_are_nearly_uniform() {
        use std::collections::BTreeMap;
        let mut weights = BTreeMap::from([((0..8).collect::<Vec<usize>>(), 1.0f64)]);
        let mut variation = Vec::new();
        for (layer, distance) in layers(8).enumerate() {
            for (a, b) in pairs(8, distance) {
                let mut next = BTreeMap::new();
                for (order, weight) in weights {
                    let mut swapped = order.clone();
                    swapped.swap(a, b);
                    *next.entry(order).or_insert(0.0) += weight / 2.0;
                    *next.entry(swapped).or_insert(0.0) += weight / 2.0;
                }
                weights = next;
            }
            if layer % 3 == 2 {
                let uniform = 1.0 / 40320.0;
                let missing = 40320.0 - weights.len() as f64;
                let off: f64 = weights.values().map(|w| (w - uniform).abs()).sum();
                variation.push((off + missing * uniform) / 2.0);
            }
        }
        assert!(variation[2] > 0.01 && variation[2] < 0.02, "{variation:?}");
        assert!(variation[3] > 0.001 && variation[3] < 0.003, "{variation:?}");
    }
}
