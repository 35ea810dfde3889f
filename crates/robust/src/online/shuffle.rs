//! The dealers' shuffle (spec 11): the main program. Each stage opens its masked input and applies
//! a shared matrix to it; what comes out is shared again.

use ostrakon_field::Fp;

use crate::client::{Masked, unpad};
use crate::offline::{ShuffleStock, Spent};
use crate::opening::Mode;
use crate::phase::Phase;
use crate::program::{Given, Program, Turn};
use crate::tape::Tape;

/// A shuffle of sealed submissions.
pub struct DealersShuffle {
    stock: ShuffleStock,
    /// Sealed slots' masked rows, by slot.
    submissions: Vec<Option<Masked>>,
    stage: usize,
}

impl DealersShuffle {
    /// Shuffles the sealed rows; slots without one come out as noise.
    ///
    /// # Panics
    /// If there are more or fewer slots than rows, or a submission is not as wide as a row.
    pub fn new(stock: Spent<ShuffleStock>, submissions: Vec<Option<Masked>>) -> DealersShuffle {
        let stock = stock.into_stock();
        assert_eq!(submissions.len(), stock.shape.rows, "a place for each row");
        let wide = |s: &Masked| s.0.len() == stock.shape.width;
        assert!(submissions.iter().flatten().all(wide), "rows of one width");
        DealersShuffle { stock, submissions, stage: 0 }
    }

    /// The phases of a shuffle of `sealed` rows, before there is stock: one opening of pads, one
    /// for each stage but the first, and one of the output.
    #[must_use]
    pub fn phases_of(shape: &crate::offline::Shuffle, sealed: usize) -> Vec<Phase> {
        let open = |count| Phase::Open { count, mode: Mode::Robust };
        let pads = (sealed > 0).then(|| open(2 * sealed));
        let tables = (0..shape.stage_count()).map(|_| open(shape.elements()));
        pads.into_iter().chain(tables).collect()
    }

    fn sealed(&self) -> impl Iterator<Item = usize> {
        self.submissions.iter().enumerate().filter(|(_, s)| s.is_some()).map(|(slot, _)| slot)
    }

    /// The first stage's masked input: of a sealed slot what its client sent without the pad, of
    /// any other slot zero, so that its mask comes out as noise. Its pad stays closed, and what was
    /// sent for it, masked by both, tells nothing.
    fn first_input(&self, pads: &[Fp]) -> Vec<Fp> {
        let width = self.stock.shape.width;
        let mut table = vec![Fp::ZERO; self.stock.shape.elements()];
        for (slot, pad) in self.sealed().zip(pads.as_chunks::<2>().0) {
            if let Some(masked) = &self.submissions[slot] {
                table[slot * width..][..width].copy_from_slice(&unpad(masked, *pad));
            }
        }
        table
    }

    /// Applies a stage to its opened input, and masks the next one's.
    fn apply(&mut self, opened: &[Fp]) -> Turn<Vec<Fp>> {
        let width = self.stock.shape.width;
        let stage = &mut self.stock.stages[self.stage];
        let mut table = crate::offline::apply(&stage.matrix, stage.digit, opened, width);
        table.iter_mut().zip(&stage.moved).for_each(|(value, &moved)| *value += moved);
        stage.matrix.clear();
        self.stage += 1;
        if let Some(next) = self.stock.stages.get(self.stage) {
            table.iter_mut().zip(&next.mask).for_each(|(value, &mask)| *value -= mask);
        }
        Turn::Open(table)
    }
}

impl Program for DealersShuffle {
    /// All rows in the new order, `rows` × `width`.
    type Output = Vec<Fp>;

    fn phases(&self) -> Vec<Phase> {
        DealersShuffle::phases_of(&self.stock.shape, self.sealed().count())
    }

    fn next(&mut self, given: Given, _tape: &mut Tape) -> Turn<Vec<Fp>> {
        let stages = self.stock.stages.len();
        match given {
            Given::Nothing => {
                let pads = &self.stock.pads;
                let open: Vec<Fp> =
                    self.sealed().flat_map(|slot| [pads[2 * slot], pads[2 * slot + 1]]).collect();
                if open.is_empty() {
                    let nothing = self.first_input(&[]);
                    return self.apply(&nothing);
                }
                Turn::Open(open)
            }
            Given::Opened(values) if self.stage == stages => Turn::Done(values),
            Given::Opened(pads) if self.stage == 0 => {
                let input = self.first_input(&pads);
                self.apply(&input)
            }
            Given::Opened(values) => self.apply(&values),
            _ => Turn::Refuse,
        }
    }
}
