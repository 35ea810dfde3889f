//! The benchmark of private statistics: from the reports, as they are sent, to the opened answer.

use std::fmt::Write;

use anyhow::{Result, ensure};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_kernels::Prg;
use ostrakon_stats::{Form, Question, Scope, Statistic, Value, report};
use serde::Serialize;

use crate::committee::Committee;
use crate::control::Program;
use crate::measurement::median;
use crate::party::secret;

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Reports.
    pub reports: u32,
    /// Bits of a number.
    pub width: u8,
    /// Servers.
    pub servers: u8,
    /// How often.
    pub runs: u32,
}

/// A statistic, measured.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// Which.
    pub statistic: &'static str,
    /// Servers.
    pub servers: u8,
    /// Reports.
    pub reports: u32,
    /// Bits of a number.
    pub width: u8,
    /// AND gates of the circuit.
    pub ands: usize,
    /// Triples that were prepared for them.
    pub triples: usize,
    /// From the reports to the answer at the slowest server, checks and preparation included:
    /// median over the runs.
    pub seconds: f64,
    /// Triples in a second of the whole computation.
    pub triples_per_second: f64,
    /// Bytes of message bodies that each server sent: as many as the formulas say.
    pub bytes_sent: u64,
    /// Rounds, one after the other.
    pub rounds: u32,
}

/// Measures the median, the sum and a histogram of ten bins.
///
/// # Errors
/// If the options are out of range, a process fails, or something is wrong or of another size than
/// the formulas say.
pub fn run(
    options: Options,
    program: &Program,
    mut tell: impl FnMut(&str),
) -> Result<Vec<Measurement>> {
    let Options { reports, width, servers, runs } = options;
    tell("starting the servers");
    let mut committee = Committee::start(program, servers.into())?;
    let tenth = |i: u64| (i << width) / 10;
    let statistics = [
        ("median", Statistic::Quantile(500)),
        ("sum", Statistic::Sum),
        ("histogram", Statistic::Histogram((1..10).map(tenth).collect())),
    ];
    let mut measured = Vec::new();
    for (name, statistic) in statistics {
        let (form, statistics) = (Form::Number { width }, vec![statistic]);
        let question =
            Question { text: String::new(), form, minimum: 1, statistics, epsilon: None };
        question.validate()?;
        let mut seconds = Vec::new();
        let mut last = None;
        for number in 0..runs {
            tell(&format!("{name}, run {} of {runs}", number + 1));
            let (numbers, made) = drawn(&committee.scope(&question), width, reports)?;
            let (outcome, took) = committee.compute(&question, &made)?;
            ensure!(is_right(&question, &numbers, &outcome.answers), "the {name} is wrong");
            seconds.push(took);
            last = Some(outcome);
        }
        let Some(outcome) = last else { continue };
        let seconds = median(seconds);
        measured.push(Measurement {
            statistic: name,
            servers,
            reports,
            width,
            ands: outcome.ands,
            triples: outcome.triples,
            seconds,
            triples_per_second: outcome.triples as f64 / seconds,
            bytes_sent: outcome.bytes,
            rounds: outcome.rounds,
        });
    }
    Ok(measured)
}

/// Random numbers, and their reports.
fn drawn(scope: &Scope<'_>, width: u8, count: u32) -> Result<(Vec<u64>, Vec<Vec<u8>>)> {
    let seed = Secret::new(secret()?);
    let prg = Prg::new(seed.expose());
    let mut numbers = Vec::new();
    let mut reports = Vec::new();
    for i in 0..u64::from(count) {
        let mut bytes = [0; 8];
        prg.fill_at(8 * i, &mut bytes);
        let number = u64::from_le_bytes(bytes) >> (64 - width);
        let of = |context| seed.derive(context, &[&i.to_le_bytes()]);
        let key = SigningKey::from_seed(of("ostrakon/v1/bench/reporter").expose());
        let randomness = of("ostrakon/v1/bench/report");
        reports.push(report::make(scope, &Value::Number(number), &key, &randomness)?);
        numbers.push(number);
    }
    Ok((numbers, reports))
}

fn is_right(question: &Question, numbers: &[u64], answers: &[ostrakon_stats::Answer]) -> bool {
    let width = question.form.bits();
    let digits = |n: &u64| {
        let n = *n;
        (0..width).map(move |digit| n >> digit & 1 == 1)
    };
    let inputs: Vec<bool> = numbers.iter().flat_map(digits).collect();
    let opened = question.circuit(numbers.len()).evaluate(&inputs);
    question.read(numbers.len(), &opened).is_some_and(|expected| expected == answers)
}

/// The measurements as a table for people.
pub fn table(measurements: &[Measurement]) -> String {
    let mut text = format!(
        "{:<10} {:>7} {:>8} {:>6} {:>9} {:>9} {:>9} {:>11} {:>13} {:>7}\n",
        "statistic",
        "servers",
        "reports",
        "width",
        "ANDs",
        "triples",
        "seconds",
        "triples/s",
        "bytes each",
        "rounds"
    );
    for m in measurements {
        writeln!(
            text,
            "{:<10} {:>7} {:>8} {:>6} {:>9} {:>9} {:>9.3} {:>11.0} {:>13} {:>7}",
            m.statistic,
            m.servers,
            m.reports,
            m.width,
            m.ands,
            m.triples,
            m.seconds,
            m.triples_per_second,
            m.bytes_sent,
            m.rounds
        )
        .expect("text can be written to");
    }
    text
}
