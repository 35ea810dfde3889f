//! The butterfly's stock (spec 12): random bits, each with masks for the pair of rows that it swaps
//! or does not.

use std::sync::Arc;

use ostrakon_crypto::Transcript;
use ostrakon_field::Fp;
use zeroize::Zeroize;

use super::Recipe;
use super::recipes::{Doubles, bits_of, blocks, masked_squares, open_wide};
use crate::committee::Committee;
use crate::phase::Phase;
use crate::program::{Given, Program, Turn};
use crate::tape::Tape;

/// Switches for rows of `width` elements, and the masks of `rows` inputs.
#[derive(Clone, Copy, Debug)]
pub struct Switches {
    /// Rows, each with an input mask and a pad.
    pub rows: usize,
    /// Elements of a row.
    pub width: usize,
    /// How many switches.
    pub count: usize,
}

/// Shares of what [`Switches`] makes.
pub struct SwitchStock {
    /// What was asked for.
    pub shape: Switches,
    /// Input masks, `rows` × `width`.
    pub masks: Vec<Fp>,
    /// Pads, two elements a row.
    pub pads: Vec<Fp>,
    /// A random bit for each switch.
    pub bits: Vec<Fp>,
    /// u, `count` × `width` random elements.
    pub differences: Vec<Fp>,
    /// bit · u.
    pub products: Vec<Fp>,
}

impl Drop for SwitchStock {
    fn drop(&mut self) {
        for shares in [
            &mut self.masks,
            &mut self.pads,
            &mut self.bits,
            &mut self.differences,
            &mut self.products,
        ] {
            shares.zeroize();
        }
    }
}

/// [`Switches`] at one member.
pub struct SwitchesProgram {
    committee: Arc<Committee>,
    shape: Switches,
    randoms: Vec<Fp>,
    bits: Vec<Fp>,
    doubles: Doubles,
}

impl Recipe for Switches {
    type Program = SwitchesProgram;

    fn program(&self, committee: &Arc<Committee>, _me: usize) -> SwitchesProgram {
        SwitchesProgram {
            committee: Arc::clone(committee),
            shape: *self,
            randoms: Vec::new(),
            bits: Vec::new(),
            doubles: Doubles::default(),
        }
    }

    fn describe(&self, transcript: &mut Transcript) {
        transcript.field(b"switches").number(self.rows as u64);
        transcript.number(self.width as u64).number(self.count as u64);
    }
}

impl Program for SwitchesProgram {
    type Output = SwitchStock;

    fn phases(&self) -> Vec<Phase> {
        let Switches { rows, width, count } = self.shape;
        let draw = Phase::Random {
            singles: blocks(&self.committee, count * (1 + width) + rows * (width + 2)),
            doubles: blocks(&self.committee, count * (1 + width)),
        };
        let open = |count| open_wide(&self.committee, count);
        vec![draw, open(count), open(count * width)]
    }

    fn next(&mut self, given: Given, _tape: &mut Tape) -> Turn<SwitchStock> {
        let Switches { rows, width, count } = self.shape;
        match given {
            Given::Random { singles, mut doubles, mut wide } => {
                self.randoms = singles;
                let rest = [doubles.split_off(count), wide.split_off(count)];
                let [narrow, masks] = rest;
                self.doubles = Doubles::new(narrow, masks);
                Turn::Open(masked_squares(&self.randoms[..count], &doubles, &wide))
            }
            Given::Opened(squares) if self.bits.is_empty() => {
                let Some(bits) = bits_of(&self.randoms[..count], &squares) else {
                    return Turn::Refuse;
                };
                self.bits = bits;
                let differences = self.randoms[count..count * (1 + width)].chunks(width);
                let products = self.bits.iter().zip(differences);
                let products = products.flat_map(|(&b, us)| us.iter().map(move |&u| b * u));
                let products = products.collect();
                Turn::Open(self.doubles.mask(products))
            }
            Given::Opened(opened) => {
                let products = self.doubles.reduce(opened);
                let (randoms, inputs) = self.randoms.split_at(count * (1 + width));
                Turn::Done(SwitchStock {
                    shape: self.shape,
                    masks: inputs[..rows * width].to_vec(),
                    pads: inputs[rows * width..rows * (width + 2)].to_vec(),
                    bits: std::mem::take(&mut self.bits),
                    differences: randoms[count..].to_vec(),
                    products,
                })
            }
            _ => Turn::Draw,
        }
    }
}
