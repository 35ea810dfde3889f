//! The benchmarks of private statistics: the preparation of triples ([`triples`]), and statistics
//! from the reports, as they are sent, to the opened answer.

pub mod committee;
mod limit;
mod link;
pub mod member;
pub mod triples;

use std::fmt::Write;
use std::time::Duration;

use anyhow::{Result, ensure};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_kernels::Prg;
use ostrakon_stats::{Form, Question, Scope, Statistic, Value, report};
use serde::Serialize;

use self::committee::{Committee, Outcome, Phases};
use self::limit::{Units, Work};
use crate::control::Program;
use crate::limit::Parts;
use crate::measurement::{median, parts_in_words};
use crate::party::secret;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Reports.
    pub reports: u32,
    /// Bits of a number.
    pub width: u8,
    /// Servers, for each of which there are measurements.
    pub servers: Vec<u8>,
    /// How much longer than on this machine a message takes.
    pub latency: Duration,
    /// Measures nothing but the median.
    pub median_only: bool,
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
    /// How much longer than on this machine a message takes.
    pub latency_ms: u64,
    /// AND gates of the circuit.
    pub ands: usize,
    /// Triples that were prepared for them.
    pub triples: usize,
    /// Leaky triples that one is made of.
    pub bucket: usize,
    /// From the reports to the answer, checks and preparation included: median over the runs.
    pub seconds: f64,
    /// The phases of the run that took as long, each at its slowest server.
    pub phases: Phases,
    /// Bytes of message bodies that each server sends for the preparation of triples: as many as
    /// the formulas say.
    pub offline_bytes: u64,
    /// The same of everything else.
    pub online_bytes: u64,
    /// Rounds, one after the other.
    pub rounds: u32,
    /// The sum of `limit_parts`.
    pub limit_seconds: f64,
    /// `seconds / limit_seconds`.
    pub ratio: f64,
    /// Seconds that the unavoidable work takes on all cores, by kind.
    pub limit_parts: Parts,
}

/// Measures the median, the sum and a histogram of ten bins.
///
/// # Errors
/// If the options are out of range, a process fails, or something is wrong or of another size than
/// the formulas say.
pub fn run(
    options: &Options,
    program: &Program,
    mut tell: impl FnMut(&str),
) -> Result<Vec<Measurement>> {
    let tenth = |i: u64| (i << options.width) / 10;
    let statistics = [
        ("median", Statistic::Quantile(500)),
        ("sum", Statistic::Sum),
        ("histogram", Statistic::Histogram((1..10).map(tenth).collect())),
    ];
    let measured = if options.median_only { 1 } else { statistics.len() };
    let mut measurements = Vec::new();
    for &servers in &options.servers {
        tell(&format!("{servers} servers meet"));
        let mut committee = Committee::start_apart(program, servers.into(), options.latency)?;
        for (name, statistic) in &statistics[..measured] {
            let mut tell = |what: &str| tell(&format!("{name}, {servers} servers, {what}"));
            let outcome = middle(options, &mut committee, statistic, &mut tell)?;
            tell("what cannot be avoided is measured");
            measurements.push(measurement(options, name, servers, outcome)?);
        }
    }
    Ok(measurements)
}

/// The run that took the median of the time.
fn middle(
    options: &Options,
    committee: &mut Committee,
    statistic: &Statistic,
    tell: &mut dyn FnMut(&str),
) -> Result<Outcome> {
    let (form, statistics) = (Form::Number { width: options.width }, vec![statistic.clone()]);
    let question = Question { text: String::new(), form, minimum: 1, statistics, epsilon: None };
    question.validate()?;
    let mut outcomes = Vec::new();
    for run in 1..=options.runs {
        tell(&format!("run {run} of {}", options.runs));
        let scope = committee.scope(&question);
        let (numbers, made) = drawn(&scope, options.width, options.reports)?;
        let outcome = committee.compute(&question, &made)?;
        ensure!(is_right(&question, &numbers, &outcome.answers), "an answer is wrong");
        outcomes.push(outcome);
    }
    let seconds = median(outcomes.iter().map(|outcome| outcome.phases.sum()).collect());
    let place = outcomes.iter().position(|outcome| outcome.phases.sum() == seconds);
    Ok(outcomes.swap_remove(place.unwrap_or_default()))
}

fn measurement(
    options: &Options,
    statistic: &'static str,
    servers: u8,
    outcome: Outcome,
) -> Result<Measurement> {
    let Options { reports, width, latency, .. } = *options;
    let Outcome { ands, triples, bucket, sent, offline_bytes, phases, .. } = outcome;
    let members = usize::from(servers);
    let work = Work::preparation(members, bucket * triples)
        + Work::circuit(members, ands)
        + Work::reports(members, reports as usize);
    let mut limit_parts = Units::measure()?.limit(&work.carrying(members, sent.bytes, sent.rounds));
    if !latency.is_zero() {
        limit_parts.insert("latency", f64::from(sent.rounds) * latency.as_secs_f64());
    }
    let (seconds, limit_seconds) = (phases.sum(), limit_parts.values().sum());
    Ok(Measurement {
        statistic,
        servers,
        reports,
        width,
        latency_ms: u64::try_from(latency.as_millis())?,
        ands,
        triples,
        bucket,
        seconds,
        phases,
        offline_bytes,
        online_bytes: sent.bytes - offline_bytes,
        rounds: sent.rounds,
        limit_seconds,
        ratio: seconds / limit_seconds,
        limit_parts,
    })
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
        "{:<10} {:>7} {:>8} {:>5} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>10} {:>9} {:>6} {:>7} {:>6}\n",
        "statistic",
        "servers",
        "reports",
        "width",
        "ANDs",
        "triples",
        "seconds",
        "check",
        "prepare",
        "adjust",
        "circuit",
        "offline B",
        "online B",
        "rounds",
        "limit",
        "ratio"
    );
    for m in measurements {
        let Phases { check, preparation, adjust, circuit } = m.phases;
        writeln!(
            text,
            "{:<10} {:>7} {:>8} {:>5} {:>9} {:>9} {:>8.3} {check:>8.3} {preparation:>8.3} \
             {adjust:>8.3} {circuit:>8.3} {:>10} {:>9} {:>6} {:>7.3} {:>6.2}\n{}",
            m.statistic,
            m.servers,
            m.reports,
            m.width,
            m.ands,
            m.triples,
            m.seconds,
            m.offline_bytes,
            m.online_bytes,
            m.rounds,
            m.limit_seconds,
            m.ratio,
            parts_in_words(&m.limit_parts)
        )
        .expect("text can be written to");
    }
    text
}
