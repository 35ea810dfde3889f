//! How many AND gates a question takes at most, before anything is built: who asks is not trusted.

use ostrakon_authbits::programs::noise;
use ostrakon_authbits::programs::sketch::Sketch;

use crate::circuits::draws;
use crate::question::own::Reads;
use crate::question::{Form, Question, Statistic, digits, sketch};

/// Digits of a number of reports.
const PLACES: u64 = 17;
/// Digits of a number with noise.
const NOISY: u64 = 64;

/// Other gates of a circuit of the asker's own that weigh as much as an AND gate: they need neither
/// triple nor message, but memory and time at every member.
const FREE: usize = 8;

/// AND gates of a circuit, at most; of the asker's own the others are in it with their weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// However few reports there are.
    pub fixed: u64,
    /// More for each report.
    pub each: u64,
}

impl std::ops::Add for Load {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { fixed: self.fixed + other.fixed, each: self.each + other.each }
    }
}

impl std::ops::Mul<u64> for Load {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        Self { fixed: self.fixed * times, each: self.each * times }
    }
}

impl Load {
    /// Gates for so many reports.
    pub fn gates(&self, reports: usize) -> u64 {
        self.each.saturating_mul(reports as u64).saturating_add(self.fixed)
    }

    /// For how many reports so many gates do.
    pub fn reports(&self, gates: u64) -> u64 {
        match gates.checked_sub(self.fixed) {
            None => 0,
            Some(left) => left.checked_div(self.each).unwrap_or(u64::MAX),
        }
    }
}

/// One draw of noise, and adding it.
fn draw(scale: u64) -> u64 {
    130 * noise::digits(scale.clamp(1, noise::MAX_SCALE)) as u64 + 2 * NOISY
}

impl Question {
    /// The gates of [`Question::circuit`], at most, for up to 2^17 reports; every part of the
    /// question within its own limits.
    pub fn load(&self) -> Load {
        let sum = self
            .statistics
            .iter()
            .fold(Load { fixed: 0, each: 0 }, |sum, statistic| sum + self.load_of(statistic));
        match self.form {
            Form::Number { .. } => sum,
            Form::Grouped { groups, .. } => {
                let groups = u64::from(groups);
                // Whose group it is; how many are in each.
                let own = Load {
                    fixed: (4 * NOISY + self.size_scale().map_or(0, draw)) * groups,
                    each: 3 * groups + self.form.group_digits() as u64,
                };
                sum * groups + own
            }
            // 15 gates for the OR of a string; one for each cell and each coin in a sum.
            Form::Items { counters } => {
                let Sketch { cells, string, levels, coins } = sketch(counters);
                let gates = cells * string + levels * coins;
                Load { fixed: sum.fixed + gates as u64, each: 0 }
            }
        }
    }

    fn load_of(&self, statistic: &Statistic) -> Load {
        let width = self.form.width() as u64;
        let noise: Vec<u64> = self.scales(statistic).into_iter().map(draw).collect();
        let first = noise.first().copied().unwrap_or(0);
        match statistic {
            Statistic::Quantile(_) => {
                let level = if noise.is_empty() { 3 * PLACES } else { 4 * NOISY + first };
                // The rank in a group: two products with public numbers.
                let rank = if noise.is_empty() { 80 * PLACES } else { 80 * NOISY };
                Load { fixed: width * (level + 1) + rank, each: 3 * width }
            }
            Statistic::Sum => Load { fixed: 2 * NOISY + first, each: 2 * width + 1 },
            Statistic::Variance => {
                let both: u64 = noise.iter().sum();
                Load { fixed: 4 * NOISY + both, each: width * width + 4 * width }
            }
            Statistic::Histogram(bounds) => {
                let bins = bounds.len() as u64 + 1;
                Load { fixed: bins * (2 * NOISY + first), each: bins * (width + 2) }
            }
            Statistic::Top { candidates, places } => {
                let (all, places) = (u64::from(*candidates), u64::from(*places));
                let count = if noise.is_empty() { PLACES } else { NOISY };
                let name = digits(usize::from(*candidates)) as u64;
                // Of each pair the higher; the winner drops out.
                let round = all * (4 * count + 2 * name);
                Load { fixed: all * (first + count) + places * round, each: 4 * all + width }
            }
            Statistic::Distinct => {
                Load { fixed: draws(self, statistic).into_iter().map(draw).sum(), each: 0 }
            }
            Statistic::Circuit(own) => {
                let weight = (own.ands() + own.free_gates().div_ceil(FREE)) as u64;
                let bits: u64 = own.outputs().iter().map(|bits| *bits as u64).sum();
                let values = own.outputs().len() as u64;
                match own.reads() {
                    Some(Reads::All(_)) => Load { fixed: weight, each: 0 },
                    // As a sum's.
                    _ => Load {
                        fixed: 2 * NOISY * values + noise.iter().sum::<u64>(),
                        each: weight + 2 * bits + values,
                    },
                }
            }
        }
    }
}
