//! What is asked of the reports.

use ostrakon_authbits::circuit::{Builder, Circuit, Wire};
use ostrakon_authbits::programs::arithmetic::{popcount, sum};
use ostrakon_authbits::programs::select::{less, select};
use ostrakon_crypto::Transcript;
use serde::{Deserialize, Serialize};

/// Bits that a number may have.
pub const WIDTH: std::ops::RangeInclusive<u8> = 2..=48;
/// Most statistics of one question, and most bounds of a histogram.
const MOST: usize = 64;

/// Something that is computed of all reports together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// The value below which so many thousandths of all lie: the one of rank
    /// ⌊thousandths·(n − 1)/1000⌋ in ascending order. 500 is the median, of an even number the
    /// lower one in the middle.
    Quantile(u16),
    /// The sum. The mean is the sum by the number of reports, which is public.
    Sum,
    /// How many are below each bound, for strictly ascending bounds: a histogram.
    Histogram(Vec<u64>),
}

/// What is asked: the same words at all servers and reporters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// In words, for whoever reports.
    pub text: String,
    /// Bits of a number, within [`WIDTH`].
    pub width: u8,
    /// With fewer reports nothing is computed.
    pub minimum: u32,
    /// What is computed.
    pub statistics: Vec<Statistic>,
}

/// Why a question cannot be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadQuestion {
    /// See [`WIDTH`].
    #[error("a number has {} to {} bits", WIDTH.start(), WIDTH.end())]
    Width,
    /// None, or too many.
    #[error("a question has 1 to {MOST} statistics")]
    Statistics,
    /// A quantile beyond the last.
    #[error("a quantile is given in thousandths, from 0 to 1000")]
    Quantile,
    /// No ascending numbers of the question's width.
    #[error("a histogram has 1 to {MOST} ascending bounds, each within the numbers' width")]
    Bounds,
}

impl Question {
    /// Whether it can be asked.
    ///
    /// # Errors
    /// [`BadQuestion`].
    pub fn validate(&self) -> Result<(), BadQuestion> {
        if !WIDTH.contains(&self.width) {
            return Err(BadQuestion::Width);
        }
        if !(1..=MOST).contains(&self.statistics.len()) {
            return Err(BadQuestion::Statistics);
        }
        self.statistics.iter().try_for_each(|statistic| match statistic {
            Statistic::Quantile(thousandths) if *thousandths > 1000 => Err(BadQuestion::Quantile),
            Statistic::Histogram(bounds) => {
                let ascend = bounds.windows(2).all(|pair| pair[0] < pair[1]);
                let fit = bounds.iter().all(|bound| bound >> self.width == 0);
                if ascend && fit && (1..=MOST).contains(&bounds.len()) {
                    Ok(())
                } else {
                    Err(BadQuestion::Bounds)
                }
            }
            _ => Ok(()),
        })
    }

    /// Hashes it: what every signature about it covers.
    pub(crate) fn describe(&self, transcript: &mut Transcript) {
        transcript
            .field(self.text.as_bytes())
            .number(u64::from(self.width))
            .number(u64::from(self.minimum))
            .number(self.statistics.len() as u64);
        for statistic in &self.statistics {
            match statistic {
                Statistic::Quantile(thousandths) => {
                    transcript.number(1).number(u64::from(*thousandths));
                }
                Statistic::Sum => {
                    transcript.number(2);
                }
                Statistic::Histogram(bounds) => {
                    transcript.number(3).number(bounds.len() as u64);
                    bounds.iter().for_each(|bound| {
                        transcript.number(*bound);
                    });
                }
            }
        }
    }

    /// The circuit over `count` numbers, each lowest digit first. Its outputs are those of the
    /// statistics in order, each of a length that the count and the width decide.
    pub fn circuit(&self, count: usize) -> Circuit {
        let width = usize::from(self.width);
        let mut builder = Builder::new(count * width);
        let number = |i: usize| (0..width).map(|d| builder.input(i * width + d)).collect();
        let numbers: Vec<Vec<Wire>> = (0..count).map(number).collect();
        let mut opened = Vec::new();
        for statistic in &self.statistics {
            let before = opened.len();
            match statistic {
                Statistic::Quantile(thousandths) => {
                    let rank = rank(*thousandths, count);
                    let rank = constant(&mut builder, rank, digits(count));
                    opened.extend(select(&mut builder, &numbers, rank));
                }
                Statistic::Sum => opened.extend(sum(&mut builder, &numbers)),
                Statistic::Histogram(bounds) => {
                    for bound in bounds {
                        let bound = constant(&mut builder, *bound, width);
                        let below: Vec<Wire> = numbers
                            .iter()
                            .map(|number| less(&mut builder, number, &bound))
                            .collect();
                        let mut counted = popcount(&mut builder, &below);
                        counted.resize_with(digits(count), || builder.constant(false));
                        opened.extend(counted);
                    }
                }
            }
            let zero = builder.constant(false);
            opened.resize(before + outputs(statistic, count, width), zero);
        }
        opened.into_iter().for_each(|wire| builder.open(wire));
        builder.finish()
    }
}

/// Bits in which numbers up to `count` are written.
pub(crate) fn digits(count: usize) -> usize {
    (usize::BITS - count.leading_zeros()) as usize
}

/// The rank that a quantile has among `count`.
pub(crate) fn rank(thousandths: u16, count: usize) -> u64 {
    u64::from(thousandths) * (count as u64 - 1) / 1000
}

/// Bits that are opened for a statistic.
pub(crate) fn outputs(statistic: &Statistic, count: usize, width: usize) -> usize {
    match statistic {
        Statistic::Quantile(_) => width,
        Statistic::Sum => width + digits(count),
        Statistic::Histogram(bounds) => bounds.len() * digits(count),
    }
}

fn constant(builder: &mut Builder, number: u64, width: usize) -> Vec<Wire> {
    (0..width).map(|digit| builder.constant(number >> digit & 1 == 1)).collect()
}
