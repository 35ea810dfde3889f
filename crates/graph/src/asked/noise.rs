//! How much noise hides an edge (`docs/spec/graph.md`, section 8).
//!
//! Noise is a number of coins, each 0 or 1, less their mean. Here is how many it takes. All servers
//! and all browsers must find the same number: only the four operations are used, which are rounded
//! alike everywhere.

use serde::{Deserialize, Serialize};

use super::program::Program;

/// δ: with this probability noise may hide less than ε says.
const DELTA: f64 = 1.0 / (1u64 << 40) as f64;
/// Which ε may be asked for, in thousandths.
pub const EPSILON: std::ops::RangeInclusive<u32> = 250..=10_000;
/// Most coins of one number: with the smallest ε and four numbers that an edge changes.
const MOST_COINS: u32 = 1 << 18;

/// Noise that hides any one edge: whether it is there changes the probability of no result by more
/// than a factor of e^ε, but for 2^-40.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noise {
    /// ε in thousandths.
    pub epsilon: u32,
    /// Degrees 0…bins − 1 are counted apart, and all from `bins` on together.
    pub bins: u32,
}

/// e^x for x from 0 to 10.
fn exp(x: f64) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    for i in 1..200 {
        term = term * x / f64::from(i);
        sum += term;
    }
    sum
}

/// The least δ with which so many coins hide a change by `shift`: Σ max(0, P(k) − e^ε·P(k −
/// shift)), by exact summation.
fn delta(coins: u32, shift: usize, factor: f64) -> f64 {
    let half = (coins / 2) as usize;
    // Binomial coefficients over the one in the middle, downwards from there; both sides are alike.
    let mut below = Vec::with_capacity(half + 1);
    let mut value = 1.0;
    below.push(value);
    for k in (1..=half).rev() {
        value = value * k as f64 / (coins as usize - k + 1) as f64;
        below.push(value);
    }
    let all = below[0] + 2.0 * below[1..].iter().sum::<f64>();
    let at = |k: usize| below[half.abs_diff(k)];
    // P(k) of small k are the smallest: they are added first.
    let excess = |k: usize| at(k) - if k < shift { 0.0 } else { factor * at(k - shift) };
    (0..=coins as usize).map(excess).filter(|excess| *excess > 0.0).sum::<f64>() / all
}

/// The least even number of coins that hide a change by `shift` with this ε (in thousandths, over
/// `parts`) and this δ.
fn coins(epsilon: u32, parts: u32, shift: usize, most: f64) -> u32 {
    let factor = exp(f64::from(epsilon) / f64::from(1000 * parts));
    let enough = |coins: u32| delta(coins, shift, factor) <= most;
    let mut high = 16;
    while !enough(high) && high < MOST_COINS {
        high *= 2;
    }
    let mut low = high / 2;
    while high - low > 2 {
        let middle = (low + high) / 4 * 2;
        if enough(middle) { high = middle } else { low = middle }
    }
    high
}

impl Noise {
    /// Coins for each number that is shown. An edge changes the sum by one, or by two if it leads
    /// in both directions; of degrees it moves one vertex, or two, and each takes one from a count
    /// and adds one to another.
    #[must_use]
    pub fn coins(&self, program: &Program, undirected: bool) -> u32 {
        let vertices = if undirected { 2 } else { 1 };
        match program {
            Program::Edges => coins(self.epsilon, 1, vertices as usize, DELTA),
            _ => {
                // So many changes by one, each with its part of ε; the part of δ grows on the way
                // over those that follow.
                let changes = 2 * vertices;
                let whole = exp(f64::from(self.epsilon) / 1000.0);
                coins(self.epsilon, changes, 1, DELTA / (f64::from(changes) * whole))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// δ of two distributions over whole numbers, by definition.
    fn by_definition(p: &[f64], q: &[f64], factor: f64) -> f64 {
        p.iter().zip(q).map(|(p, q)| (p - factor * q).max(0.0)).sum()
    }

    fn binomial(coins: usize, shift: usize, length: usize) -> Vec<f64> {
        let mut p = vec![0.0; length];
        p[0] = 1.0;
        for _ in 0..coins {
            for k in (0..length).rev() {
                p[k] = 0.5 * (p[k] + if k > 0 { p[k - 1] } else { 0.0 });
            }
        }
        p.rotate_right(shift);
        p
    }

    #[test]
    fn sums_are_those_of_the_definition() {
        for (coins, shift, epsilon) in [(20, 1, 0.5), (40, 2, 1.0), (100, 1, 0.25)] {
            let length = coins + shift + 1;
            let (p, q) = (binomial(coins, 0, length), binomial(coins, shift, length));
            let want = by_definition(&p, &q, f64::exp(epsilon));
            let got = delta(coins as u32, shift, exp(epsilon));
            assert!((want - got).abs() < 1e-12, "{want} {got}");
            let back = by_definition(&q, &p, f64::exp(epsilon));
            assert!((want - back).abs() < 1e-12, "both directions are alike");
        }
    }

    /// The numbers of the literature: about 200 coins for a change by 1, 716 for one by 2.
    #[test]
    fn as_many_coins_as_it_takes_and_no_fewer() {
        let edges =
            |epsilon, undirected| Noise { epsilon, bins: 0 }.coins(&Program::Edges, undirected);
        let (one, two) = (edges(1000, false), edges(1000, true));
        assert!((180..=220).contains(&one) && (700..=730).contains(&two), "{one} {two}");
        for (coins, shift) in [(one, 1), (two, 2)] {
            assert!(delta(coins, shift, exp(1.0)) <= DELTA);
            assert!(delta(coins - 2, shift, exp(1.0)) > DELTA, "two fewer are too few");
        }
        for epsilon in [*EPSILON.start(), *EPSILON.end()] {
            for undirected in [false, true] {
                let noise = Noise { epsilon, bins: 8 };
                assert!(noise.coins(&Program::InDegrees, undirected) < MOST_COINS);
            }
        }
    }

    /// A moved edge takes one from a count and adds one to another: both together are hidden.
    #[test]
    fn two_counts_that_change_together_are_hidden_together() {
        let noise = Noise { epsilon: 4000, bins: 8 };
        let coins = noise.coins(&Program::InDegrees, false) as usize;
        let length = coins + 2;
        let (p, q) = (binomial(coins, 0, length), binomial(coins, 1, length));
        let factor = f64::exp(4.0);
        let mut delta = 0.0;
        for a in 0..length {
            for b in 0..length {
                delta += (p[a] * q[b] - factor * q[a] * p[b]).max(0.0);
            }
        }
        assert!(delta <= DELTA, "{delta}");
    }
}
