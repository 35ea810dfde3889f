//! The smallest program, as an example: the sums of sealed inputs, column by column, and nothing
//! else of them.

use ostrakon_field::Fp;

use crate::client::Masked;
use crate::offline::Spent;
use crate::opening::Mode;
use crate::phase::Phase;
use crate::program::{Given, Program, Turn};
use crate::tape::Tape;

/// Sums over sealed submissions, whose masks are random values, `width` for each slot.
pub struct Sum {
    masks: Vec<Fp>,
    submissions: Vec<Option<Masked>>,
    width: usize,
}

impl Sum {
    /// Adds up what `submissions` hold, each masked by [`crate::client::Masks::for_carrier`].
    ///
    /// # Panics
    /// If there is not a mask for each element of each slot.
    pub fn new(stock: Spent<Vec<Fp>>, submissions: Vec<Option<Masked>>, width: usize) -> Sum {
        let masks = stock.into_stock();
        assert_eq!(masks.len(), submissions.len() * width, "a mask for each element");
        assert!(submissions.iter().flatten().all(|s| s.0.len() == width), "of one width");
        Sum { masks, submissions, width }
    }
}

impl Program for Sum {
    type Output = Vec<Fp>;

    fn phases(&self) -> Vec<Phase> {
        vec![Phase::Open { count: self.width, mode: Mode::Robust }]
    }

    fn next(&mut self, given: Given, _tape: &mut Tape) -> Turn<Vec<Fp>> {
        if let Given::Opened(sums) = given {
            return Turn::Done(sums);
        }
        let mut sums = vec![Fp::ZERO; self.width];
        for (masks, masked) in self.masks.chunks(self.width).zip(&self.submissions) {
            for (e, Masked(values)) in
                masked.iter().flat_map(|m| (0..self.width).map(move |e| (e, m)))
            {
                sums[e] += values[e] + masks[e];
            }
        }
        Turn::Open(sums)
    }
}
