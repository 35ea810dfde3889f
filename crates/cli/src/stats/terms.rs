//! Between what the command line says and what a question is.

use anyhow::{Context, Result, bail, ensure};
use ostrakon_stats::{Form, Statistic};

/// Bits that a number may have.
const MOST_BITS: u8 = 48;

/// The form of a number of so many bits.
///
/// # Errors
/// If there is none.
pub fn form(largest: u64) -> Result<Form> {
    let bits = u8::try_from(64 - largest.leading_zeros())?.max(2);
    ensure!(bits <= MOST_BITS, "--largest: a number can be at most {}", (1u64 << MOST_BITS) - 1);
    Ok(Form::Number { width: bits })
}

/// A statistic by its name: `median`, `sum`, `mean`, `variance`, `quantile:THOUSANDTHS`,
/// `histogram:BINS`, `histogram:BOUND,BOUND,…`.
///
/// # Errors
/// If there is no such statistic.
pub fn statistic(text: &str, largest: u64) -> Result<Statistic> {
    let (name, argument) = text.split_once(':').unwrap_or((text, ""));
    Ok(match (name, argument) {
        ("median", "") => Statistic::Quantile(500),
        ("sum" | "mean", "") => Statistic::Sum,
        ("variance", "") => Statistic::Variance,
        ("quantile", thousandths) => Statistic::Quantile(
            thousandths
                .parse()
                .with_context(|| format!("{text}: 250 is a quarter, 500 the median"))?,
        ),
        ("histogram", bounds) => Statistic::Histogram(self::bounds(bounds, largest)?),
        _ => bail!(
            "{text:?} is no statistic: median, sum, mean, variance, quantile:250, histogram:10, \
             histogram:1000,2000,3000"
        ),
    })
}

fn bounds(text: &str, largest: u64) -> Result<Vec<u64>> {
    if text.contains(',') {
        let bound =
            |part: &str| part.trim().parse().with_context(|| format!("{part:?} is no number"));
        return text.split(',').map(bound).collect();
    }
    let bins: u64 = text.parse().context("histogram:BINS, or histogram:BOUND,BOUND,…")?;
    ensure!((2..=64).contains(&bins), "a histogram has 2 to 64 bins");
    ensure!(largest >= bins, "there are fewer numbers than bins");
    Ok((1..bins).map(|i| (largest + 1).div_ceil(bins) * i).filter(|b| *b <= largest).collect())
}
