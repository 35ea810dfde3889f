//! How many different things there are, of what is opened of the sum of all sketches
//! (`docs/spec/statistics.md`, section 7). Nothing but sums, products and quotients of doubles is
//! used: all members and all browsers come to the same number.

use ostrakon_authbits::programs::sketch::Sketch;

/// What was opened of a sketch.
pub(crate) struct Counts<'a> {
    pub(crate) sketch: Sketch,
    /// Cells in use.
    pub(crate) used: i64,
    /// Ones on each level.
    pub(crate) ones: &'a [i64],
    /// The variance of the noise on each of these numbers.
    pub(crate) noise: f64,
}

/// 1 − e^−x and e^−x for x ≥ 0, each with a relative error of a few units of the last place (the
/// latter of x as many).
fn exponential(x: f64) -> (f64, f64) {
    let (mut x, mut halvings) = (x, 0);
    while x > 0.0625 {
        x *= 0.5;
        halvings += 1;
    }
    // x − x²/2 + x³/6 − …, to x^9.
    let series = (2..=9).rev().fold(1.0, |sum, n| 1.0 - x / f64::from(n) * sum);
    let (mut reached, mut left) = (x * series, 1.0 - x * series);
    for _ in 0..halvings {
        reached *= 2.0 - reached;
        left *= left;
    }
    (reached, left)
}

impl Counts<'_> {
    /// Σ of what each count has above its mean for `n` things, weighed with how much the mean grows
    /// with n, by the variance: the count of things is where it passes from positive to negative.
    /// It grows with every count, whatever n is.
    fn score(&self, n: f64) -> f64 {
        let (k, m) = (self.sketch.cells as f64, self.sketch.coins as f64);
        let mut score = 0.0;
        // Of all things, those that fall on the level.
        let mut share = 1.0;
        for (level, &ones) in self.ones.iter().enumerate() {
            if level + 1 < self.ones.len() {
                share *= 0.5;
            }
            // A coin is thrown with 1 − e^−(load), and then one with 1/2.
            let (thrown, free) = exponential(n * share / m);
            let variance = m * thrown * (1.0 + free) / 4.0 + self.noise;
            score += share * free / 2.0 / variance * (ones as f64 - m * thrown / 2.0);
        }
        // n things in k cells; a cell in use may read zero.
        let (used, free) = exponential(n / k);
        let collisions = k * free * (used - n / k * free);
        let unread = k * used / (1_u64 << self.sketch.string) as f64;
        let variance = collisions + unread + self.noise;
        score + free / variance * (self.used as f64 - k * used)
    }

    /// The number of things, rounded; more when a count is more.
    pub(crate) fn estimate(&self) -> u64 {
        // What is beyond fills the last level.
        let (mut estimate, mut above) = (0, (self.sketch.coins as u64) << (self.ones.len() + 3));
        while above - estimate > 1 {
            let middle = estimate.midpoint(above);
            if self.score(middle as f64 - 0.5) > 0.0 {
                estimate = middle;
            } else {
                above = middle;
            }
        }
        estimate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SKETCH: Sketch = Sketch { cells: 64, string: 16, levels: 32, coins: 128 };

    fn estimate(used: i64, ones: &[i64]) -> u64 {
        Counts { sketch: SKETCH, used, ones, noise: 0.0 }.estimate()
    }

    #[test]
    fn exponentials_are_those_of_the_library() {
        let mut x = 1e-15f64;
        while x < 1e6 {
            let (reached, left) = exponential(x);
            let expected = -(-x).exp_m1();
            assert!((reached / expected - 1.0).abs() < 1e-14, "{x}: {reached}");
            assert!((left - (-x).exp()).abs() < 1e-14, "{x}: {left}");
            x *= 1.37;
        }
    }

    /// What is expected of n things is read as n.
    #[test]
    fn the_means_of_all_counts_are_read_as_what_they_are_the_means_of() {
        for n in [1u64, 7, 64, 300, 5_000, 1_000_000, 1 << 35] {
            let share = |level: usize| 0.5f64.powi((level as i32 + 1).min(31));
            let mean = |level| 64.0 * -(-(n as f64) * share(level) / 128.0).exp_m1();
            let ones: Vec<i64> = (0..32).map(|level| mean(level).round() as i64).collect();
            let used = (64.0 * -(-(n as f64) / 64.0).exp_m1()).round() as i64;
            let error = estimate(used, &ones) as f64 / n as f64 - 1.0;
            assert!(error.abs() < 0.05, "{n}: {error}");
        }
    }

    #[test]
    fn nothing_is_read_as_nothing_and_everything_as_very_much() {
        assert_eq!(estimate(0, &[0; 32]), 0);
        assert_eq!(estimate(1, &[0; 32]), 1);
        assert!(estimate(64, &[128; 32]) > 1 << 40);
    }

    /// Attack: a member can raise counts (it adds to its share). None of them, raised, makes the
    /// number smaller, whatever the others are.
    #[test]
    fn no_count_that_is_raised_makes_the_number_smaller() {
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            ((state >> 33) % below) as i64
        };
        for _ in 0..300 {
            let reached = draw(32);
            let mut ones: Vec<i64> =
                (0..32).map(|level| if level <= reached { draw(129) } else { draw(3) }).collect();
            let used = draw(64);
            let before = estimate(used, &ones);
            assert!(estimate(used + 1, &ones) >= before, "{used} {ones:?}");
            let level = draw(32) as usize;
            ones[level] += 1;
            assert!(estimate(used, &ones) >= before, "level {level}: {used} {ones:?}");
        }
    }
}
