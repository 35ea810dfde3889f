//! Statistics as people write and read them on the command line.

use anyhow::{Context, Result, bail, ensure};
use ostrakon_stats::{Bin, Form, OwnCircuit, Question, Reads, Statistic, WIDTH_OF_SQUARES};

use crate::output;

/// With noise, quantiles of fewer reports may be far off.
const FEWEST_OF_NOISY_QUANTILES: u32 = 1000;

/// A statistic by its name, for numbers up to `largest`: `median`, `sum`, `mean`, `deviation`,
/// `quantile:THOUSANDTHS`, `histogram:BINS`, `histogram:BOUND,BOUND,…`, `top:PLACES`,
/// `circuit:FILE`.
///
/// # Errors
/// If there is no such statistic, or the numbers are too large for it.
pub fn statistic(text: &str, largest: u64) -> Result<Statistic> {
    let (name, argument) = text.split_once(':').unwrap_or((text, ""));
    Ok(match (name, argument) {
        ("median", "") => Statistic::Quantile(500),
        ("sum" | "mean", "") => Statistic::Sum,
        ("deviation" | "variance", "") => {
            ensure!(
                largest >> WIDTH_OF_SQUARES == 0,
                "{text}: needs numbers below {}",
                1u64 << WIDTH_OF_SQUARES
            );
            Statistic::Variance
        }
        ("top", places) => {
            let candidates = u16::try_from((largest + 1).max(2)).ok();
            let candidates = candidates.with_context(|| {
                format!("{text}: is for numbers below 1024; say with --largest how large they are")
            })?;
            let places = places.parse().with_context(|| format!("{text}: places, as in top:3"))?;
            Statistic::Top { candidates, places }
        }
        ("quantile", thousandths) => Statistic::Quantile(
            thousandths
                .parse()
                .with_context(|| format!("{text}: thousandths, as in quantile:900"))?,
        ),
        ("histogram", bounds) if bounds.contains(',') => {
            let bounds = bounds.split(',').map(|bound| bound.trim().parse());
            Statistic::Histogram(
                bounds.collect::<Result<_, _>>().with_context(|| format!("{text}: bounds"))?,
            )
        }
        ("histogram", bins) => {
            let bins: u64 = bins
                .parse()
                .ok()
                .filter(|bins| (2..=40).contains(bins))
                .with_context(|| format!("{text}: 2 to 40 bins, as in histogram:10"))?;
            let mut bounds: Vec<u64> = (1..bins).map(|i| (largest + 1) * i / bins).collect();
            bounds.retain(|bound| *bound > 0);
            bounds.dedup();
            Statistic::Histogram(bounds)
        }
        ("circuit", path) => Statistic::Circuit(circuit(path, largest)?),
        _ => bail!(
            "{text:?} is no statistic: median, sum, mean, deviation, quantile:900, histogram:10, \
             histogram:10,20,50, top:3 or circuit:FILE"
        ),
    })
}

/// A circuit in Bristol Fashion, for numbers up to `largest`.
fn circuit(path: &str, largest: u64) -> Result<OwnCircuit> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{path} cannot be read"))?;
    let own = OwnCircuit::from(text);
    let (Form::Number { width } | Form::Grouped { width, .. }) = Form::number_up_to(largest) else {
        bail!("{path}: a circuit reads numbers")
    };
    match own.judge(width.into()) {
        Ok(_) => Ok(own),
        Err(why) => bail!("{path}: {why}"),
    }
}

/// The noise of a question's answers, in words; none without noise.
pub fn noise(question: &Question) -> Option<String> {
    let epsilon = f64::from(question.epsilon?) / 1000.0;
    Some(format!("epsilon {epsilon}, delta below 2^-{}", question.delta_bits()?))
}

/// What whoever asks should know before, and might not expect.
pub fn cautions(question: &Question) -> Vec<&'static str> {
    let is_quantile = |statistic: &Statistic| matches!(statistic, Statistic::Quantile(_));
    let few = question.minimum < FEWEST_OF_NOISY_QUANTILES;
    let (noisy, mut cautions) = (question.epsilon.is_some(), Vec::new());
    if noisy && few && question.statistics.iter().any(is_quantile) {
        cautions.push(
            "With noise the median and other quantiles of fewer than 1,000 reports may be far off.",
        );
    }
    if !noisy && question.statistics.contains(&Statistic::Distinct) {
        cautions.push(
            "Somebody who names made-up things for all counters but one reads that one from the \
             exact count. --epsilon adds noise, which hides each thing.",
        );
    }
    cautions
}

/// What a statistic tells, in words.
pub fn words(statistic: &Statistic) -> String {
    match statistic {
        Statistic::Quantile(500) => "the median".to_owned(),
        Statistic::Quantile(thousandths) => format!("the quantile of {thousandths} ‰"),
        Statistic::Sum => "sum and mean".to_owned(),
        Statistic::Variance => "mean and deviation".to_owned(),
        Statistic::Histogram(bounds) => {
            format!("how many lie in each of {} parts", bounds.len() + 1)
        }
        Statistic::Top { places, .. } => format!("the {places} most frequent numbers"),
        Statistic::Distinct => "how many different things".to_owned(),
        Statistic::Circuit(own) => match own.reads() {
            Some(Reads::All(_)) => "what a circuit of the asker's own makes of all reports at \
                                    once; it may tell anything of yours"
                .to_owned(),
            _ => "what a circuit of the asker's own makes of each report, added up".to_owned(),
        },
    }
}

/// Names of groups, as they stand numbered at the end of a question; none if they do not.
pub fn names(text: &str) -> Vec<&str> {
    let list = text.strip_suffix(')').and_then(|text| text.rsplit_once(" (0 = "));
    let Some((_, mut rest)) = list else { return Vec::new() };
    let mut names = Vec::new();
    while let Some((name, after)) = rest.split_once(&format!(", {} = ", names.len() + 1)) {
        names.push(name);
        rest = after;
    }
    names.push(rest);
    names
}

/// The number of a group, given by its name or by its number.
///
/// # Errors
/// If the question names no such group; which ones it names is said.
pub fn group(text: &str, given: &str) -> Result<u16> {
    let (names, given) = (names(text), given.trim());
    let number = names.iter().position(|name| name.trim() == given).map(u16::try_from);
    let number = number.transpose()?.or_else(|| given.parse().ok());
    // Who asks by other means than this program may leave the names out.
    let known = number.filter(|number| names.is_empty() || usize::from(*number) < names.len());
    let choices = || match &names[..] {
        [] => format!("--group {given}: the question names no groups, so give a number"),
        names => format!("--group {given}: the question's groups are {}", names.join(", ")),
    };
    known.with_context(choices)
}

/// Prints a histogram.
///
/// # Errors
/// If standard output cannot be written.
pub fn histogram(bins: &[Bin]) -> Result<()> {
    let name = |bin: &Bin| match bin.to {
        Some(to) if to == bin.from + 1 => format!("{}", bin.from),
        Some(to) => format!("{} to {}", bin.from, to - 1),
        None => format!("from {}", bin.from),
    };
    let count = |bin: &Bin| u64::try_from(bin.count).unwrap_or(0);
    output::bars(&bins.iter().map(|bin| (name(bin), count(bin))).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_groups_are_read_from_the_question() {
        assert_eq!(
            names("Where? (0 = north, 1 = south, east, 2 = west)"),
            ["north", "south, east", "west"]
        );
        assert!(names("How many?").is_empty());
        assert!(names("How many (0 = none)?").is_empty());
        let group = |given| group("Where? (0 = north, 1 = south)", given);
        assert_eq!(["south", "1", " north"].map(|given| group(given).unwrap()), [1, 1, 0]);
        for given in ["2", "west", "-1"] {
            let refused = group(given).unwrap_err().to_string();
            assert!(refused.contains("groups are north, south"), "{refused}");
        }
        assert_eq!(super::group("How many?", "0").unwrap(), 0);
        assert!(super::group("How many?", "north").is_err());
    }
}
