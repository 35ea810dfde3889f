//! What came out.

use serde::{Deserialize, Serialize};

use crate::question::{Question, Statistic, digits, outputs};

/// A bin of a histogram.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bin {
    /// The least number in it.
    pub from: u64,
    /// The first number beyond it; none for the last bin.
    pub to: Option<u64>,
    /// How many reports are in it.
    pub count: u64,
}

/// The answer to one statistic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The value of a quantile.
    Quantile {
        /// Which, in thousandths.
        thousandths: u16,
        /// The value.
        value: u64,
    },
    /// The sum of all.
    Sum(u64),
    /// The counts between the bounds.
    Histogram(Vec<Bin>),
}

impl Question {
    /// Reads what the circuit over `count` reports has opened. `None` if it has another number of
    /// outputs, or its counts contradict each other.
    pub fn read(&self, count: usize, opened: &[bool]) -> Option<Vec<Answer>> {
        let width = usize::from(self.width);
        let mut rest = opened;
        let mut answers = Vec::new();
        for statistic in &self.statistics {
            let (own, others) = rest.split_at_checked(outputs(statistic, count, width))?;
            rest = others;
            answers.push(match statistic {
                Statistic::Quantile(thousandths) => {
                    Answer::Quantile { thousandths: *thousandths, value: number(own) }
                }
                Statistic::Sum => Answer::Sum(number(own)),
                Statistic::Histogram(bounds) => {
                    let below = own.chunks(digits(count)).map(number);
                    Answer::Histogram(bins(bounds, below, count as u64)?)
                }
            });
        }
        rest.is_empty().then_some(answers)
    }
}

fn number(digits: &[bool]) -> u64 {
    digits.iter().rev().fold(0, |number, digit| number << 1 | u64::from(*digit))
}

/// From how many are below each bound to how many are between them.
fn bins(bounds: &[u64], below: impl Iterator<Item = u64>, count: u64) -> Option<Vec<Bin>> {
    let mut bins = Vec::with_capacity(bounds.len() + 1);
    let (mut from, mut before) = (0, 0);
    for (bound, below) in bounds.iter().zip(below) {
        bins.push(Bin { from, to: Some(*bound), count: below.checked_sub(before)? });
        (from, before) = (*bound, below);
    }
    bins.push(Bin { from, to: None, count: count.checked_sub(before)? });
    Some(bins)
}
