//! `ostrakon demo stats`: a committee of server processes computes statistics of numbers in a file,
//! of which no server learns one.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use ostrakon_bench::stats::committee::{Committee, Outcome};
use ostrakon_computation::election::Table;
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_stats::{Answer, Form, Question, Statistic, Value, WIDTH, report};
use serde::Serialize;

use crate::stats::terms;
use crate::{bench, output, system};

/// How a Tor consensus begins.
const CONSENSUS: &str = "network-status-version";

/// Fewest reports of which something is told.
const MINIMUM: u32 = 10;

/// Options of `demo stats`.
#[derive(clap::Args)]
pub struct Options {
    /// The reports: one whole number on each line; empty lines are left out. Or a Tor consensus, of
    /// which the bandwidths of all relays that run are the reports.
    #[arg(long, value_name = "FILE")]
    reports: PathBuf,
    /// What is computed, once for each: median, sum, mean, deviation, quantile:THOUSANDTHS,
    /// histogram:BINS, histogram:BOUND,BOUND,…, top:PLACES for the most frequent numbers, or
    /// circuit:FILE for a circuit of your own in Bristol Fashion
    #[arg(long, value_name = "STATISTIC", default_value = "median")]
    statistic: Vec<String>,
    /// The servers, of which any one honest keeps all reports secret.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=9))]
    servers: u8,
    /// With fewer reports nothing is computed.
    #[arg(long, default_value_t = MINIMUM)]
    minimum: u32,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Summary {
    reports: usize,
    servers: u8,
    answers: Vec<Answer>,
    seconds: f64,
    ands: usize,
    bytes_sent_by_each: u64,
    rounds: u32,
}

/// Runs the demonstration.
///
/// # Errors
/// If the file has a bad line, there are too few reports, or the servers fail.
pub fn run(options: &Options) -> Result<()> {
    let numbers = read(&options.reports).context("--reports")?;
    let question = question(options, &numbers)?;
    let missing = u64::from(question.minimum).saturating_sub(numbers.len() as u64);
    ensure!(
        missing == 0,
        "{} reports, and {missing} more are needed: of fewer than {} nothing is computed (--minimum)",
        numbers.len(),
        question.minimum
    );
    let spinner = output::spinner("the servers meet");
    let mut committee = Committee::start(&bench::program("member")?, options.servers.into())?;
    spinner.set_message(format!("{} servers compute", options.servers));
    let scope = committee.scope(&question);
    let mut reports = Vec::with_capacity(numbers.len());
    for number in &numbers {
        // Every line is a person.
        let (reporter, randomness) =
            (SigningKey::from_seed(&system::random()), Secret::new(system::random()));
        reports.push(report::make(&scope, &Value::Number(*number), &reporter, &randomness)?);
    }
    let outcome = committee.compute(&question, &reports)?;
    let seconds = outcome.phases.sum();
    spinner.finish_and_clear();
    if options.json {
        return output::json(&Summary {
            reports: numbers.len(),
            servers: options.servers,
            answers: outcome.answers,
            seconds,
            ands: outcome.ands,
            bytes_sent_by_each: outcome.sent.bytes,
            rounds: outcome.sent.rounds,
        });
    }
    print(options, &outcome, numbers.len(), seconds)
}

/// The file's numbers.
fn read(path: &Path) -> Result<Vec<u64>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{} cannot be read", path.display()))?;
    if text.starts_with(CONSENSUS) {
        let table = Table::parse(&text).with_context(|| path.display().to_string())?;
        let weights = table.operators().iter().map(|relay| relay.weight);
        return Ok(weights.filter(|weight| *weight > 0).collect());
    }
    let mut numbers = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        let number: Option<u64> = text.parse().ok().filter(|number| number >> WIDTH.end() == 0);
        let Some(number) = number else {
            bail!(
                "line {line}, {text:?}: a whole number from 0 to {} is needed",
                (1u64 << WIDTH.end()) - 1
            );
        };
        numbers.push(number);
    }
    Ok(numbers)
}

fn question(options: &Options, numbers: &[u64]) -> Result<Question> {
    let largest = numbers.iter().max().copied().unwrap_or(0);
    let statistics: Result<Vec<Statistic>> =
        options.statistic.iter().map(|text| terms::statistic(text, largest)).collect();
    let (text, form) = ("What is your number?".to_owned(), Form::number_up_to(largest));
    let (minimum, statistics) = (options.minimum, statistics?);
    let question = Question { text, form, minimum, statistics, epsilon: None };
    question.validate().context("--statistic")?;
    Ok(question)
}

fn print(options: &Options, outcome: &Outcome, count: usize, seconds: f64) -> Result<()> {
    for (asked, answer) in options.statistic.iter().zip(&outcome.answers) {
        match answer {
            Answer::Quantile { value, .. } => output::line(&format!("{asked}: {value}"))?,
            Answer::Sum(sum) if asked == "mean" => {
                output::line(&format!("mean: {:.2}", *sum as f64 / count as f64))?;
            }
            Answer::Sum(sum) => output::line(&format!("sum: {sum}"))?,
            Answer::Variance { sum, squares } => {
                let mean = *sum as f64 / count as f64;
                let variance = *squares as f64 / count as f64 - mean * mean;
                output::line(&format!("deviation: {:.2}", variance.max(0.0).sqrt()))?;
            }
            Answer::Histogram(bins) => terms::histogram(bins)?,
            Answer::Top(places) => {
                for place in places {
                    output::line(&format!("{}: {} times", place.candidate, place.count))?;
                }
            }
            Answer::Circuit(values) => {
                for (number, value) in (1..).zip(values) {
                    output::line(&format!("value {number} of the circuit: {value}"))?;
                }
            }
            Answer::Distinct { .. } | Answer::ByGroup(_) => {
                bail!("the servers have answered something else than was asked")
            }
        }
    }
    output::line(&format!(
        "{count} reports; {} servers, of which none has seen one; {seconds:.1} s, {} AND gates, \
         {:.1} MB sent by each",
        options.servers,
        outcome.ands,
        outcome.sent.bytes as f64 / 1e6
    ))
}
