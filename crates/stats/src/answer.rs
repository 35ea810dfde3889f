//! What came out.

mod estimate;

use serde::{Deserialize, Serialize};

use self::estimate::Counts;
use crate::circuits::{outputs, size_output};
use crate::question::{Form, Question, Statistic, sketch};

/// A bin of a histogram.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bin {
    /// The least number in it.
    pub from: u64,
    /// The first number beyond it; none for the last bin.
    pub to: Option<u64>,
    /// How many reports are in it. With noise it can be negative.
    pub count: i64,
}

/// A place of a ranking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The number that was reported.
    pub candidate: u64,
    /// By how many.
    pub count: i64,
}

/// A group's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// How many reports are in it; zero if these are fewer than the question's minimum.
    pub size: u64,
    /// The answer; none if they are fewer.
    pub answer: Option<Box<Answer>>,
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
    Sum(i64),
    /// The sum of all and of all squares.
    Variance {
        /// Σx.
        sum: i64,
        /// Σx².
        squares: i64,
    },
    /// The counts between the bounds.
    Histogram(Vec<Bin>),
    /// The most frequent numbers, the most frequent first.
    Top(Vec<Place>),
    /// How many different things there are.
    Distinct {
        /// About so many.
        estimate: u64,
    },
    /// The output values of a circuit of the asker's own, in its order: of one that reads each
    /// report, the sums over all.
    Circuit(Vec<i64>),
    /// One answer for each group.
    ByGroup(Vec<Group>),
}

impl Question {
    /// Reads what the circuit over `count` reports has opened. `None` if it has another number of
    /// outputs.
    pub fn read(&self, count: usize, opened: &[bool]) -> Option<Vec<Answer>> {
        let mut rest = opened;
        let groups = match self.form {
            Form::Grouped { groups, .. } => Some(groups),
            _ => None,
        };
        let mut sizes = Vec::new();
        for _ in 0..groups.unwrap_or(0) {
            let size = number(take(&mut rest, size_output(self, count))?, self.epsilon.is_some())?;
            // What is opened is at least the minimum, or zero.
            sizes.push(u64::try_from(size).ok()?);
        }
        let mut answers = Vec::new();
        for statistic in &self.statistics {
            answers.push(match groups {
                None => self.one(statistic, count, &mut rest)?,
                Some(_) => {
                    let mut all = Vec::with_capacity(sizes.len());
                    for &size in &sizes {
                        let answer = self.one(statistic, count, &mut rest)?;
                        all.push(Group { size, answer: (size > 0).then(|| Box::new(answer)) });
                    }
                    Answer::ByGroup(all)
                }
            });
        }
        rest.is_empty().then_some(answers)
    }

    fn one(&self, statistic: &Statistic, count: usize, rest: &mut &[bool]) -> Option<Answer> {
        let noisy = self.epsilon.is_some();
        let lengths = outputs(self, statistic, count);
        let mut numbers = Vec::with_capacity(lengths.len());
        for length in lengths {
            numbers.push(take(rest, length)?);
        }
        let read = |i: usize| number(numbers.get(i)?, noisy);
        Some(match statistic {
            Statistic::Quantile(thousandths) => {
                Answer::Quantile { thousandths: *thousandths, value: unsigned(numbers.first()?) }
            }
            Statistic::Sum => Answer::Sum(read(0)?),
            Statistic::Variance => Answer::Variance { sum: read(0)?, squares: read(1)? },
            Statistic::Histogram(bounds) => {
                let counts = (0..numbers.len()).map(read).collect::<Option<Vec<_>>>()?;
                Answer::Histogram(bins(bounds, &counts))
            }
            Statistic::Top { .. } => {
                let place = |pair: &[&[bool]]| {
                    Some(Place { candidate: unsigned(pair[0]), count: number(pair[1], noisy)? })
                };
                let places = numbers.chunks_exact(2).map(place).collect::<Option<Vec<_>>>()?;
                // Whom nobody has named has no place.
                let named = |place: &Place| noisy || place.count > 0;
                Answer::Top(places.into_iter().filter(named).collect())
            }
            Statistic::Distinct => {
                let Form::Items { counters } = self.form else { return None };
                let opened = (0..numbers.len()).map(read).collect::<Option<Vec<_>>>()?;
                let (used, ones) = opened.split_first()?;
                let scale = self.scales(statistic).first().map_or(0.0, |scale| *scale as f64);
                let (sketch, noise) = (sketch(counters), 2.0 * scale * scale);
                let counts = Counts { sketch, used: *used, ones, noise };
                Answer::Distinct { estimate: counts.estimate() }
            }
            Statistic::Circuit(_) => {
                Answer::Circuit((0..numbers.len()).map(read).collect::<Option<Vec<_>>>()?)
            }
        })
    }
}

fn take<'a>(rest: &mut &'a [bool], length: usize) -> Option<&'a [bool]> {
    let (own, others) = rest.split_at_checked(length)?;
    *rest = others;
    Some(own)
}

fn unsigned(digits: &[bool]) -> u64 {
    digits.iter().rev().fold(0, |number, digit| number << 1 | u64::from(*digit))
}

/// A number of at most 63 bits, with noise in two's complement.
fn number(digits: &[bool], signed: bool) -> Option<i64> {
    let magnitude = i64::try_from(unsigned(digits)).ok()?;
    let negative = signed && digits.last().is_some_and(|sign| *sign);
    Some(if negative { magnitude - (1i64 << digits.len()) } else { magnitude })
}

fn bins(bounds: &[u64], counts: &[i64]) -> Vec<Bin> {
    let starts = std::iter::once(0).chain(bounds.iter().copied());
    let ends = bounds.iter().copied().map(Some).chain([None]);
    let bin = |((from, to), count): ((u64, Option<u64>), &i64)| Bin { from, to, count: *count };
    starts.zip(ends).zip(counts).map(bin).collect()
}
