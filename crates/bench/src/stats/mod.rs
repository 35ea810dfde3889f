//! The benchmarks of private statistics: the preparation of triples ([`triples`]), and statistics
//! from the reports, as they are sent, to the opened answer.

pub mod committee;
mod limit;
mod link;
pub mod member;
pub mod triples;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

use anyhow::{Result, ensure};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_kernels::Prg;
use ostrakon_stats::{Answer, Form, Places, Question, Scope, Statistic, Value, report};
use serde::Serialize;

use self::committee::{Committee, Outcome, Phases};
use self::limit::{Units, Work};
use crate::control::Program;
use crate::limit::Parts;
use crate::measurement::{median, parts_in_words};
use crate::random::secret;

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
    /// Bits of a number; 0 of lists.
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

/// Most lists of things: the circuit is the same however many there are.
const LISTS: u32 = 200;
/// Things in each list, and counters of the sketch.
const THINGS: u32 = 20;
const COUNTERS: u16 = 1024;

/// What is asked of how many.
struct Task<'a> {
    name: &'static str,
    question: Question,
    options: &'a Options,
}

impl<'a> Task<'a> {
    fn new(options: &'a Options, name: &'static str, statistic: Statistic) -> Self {
        let form = match statistic {
            Statistic::Distinct => Form::Items { counters: COUNTERS },
            _ => Form::Number { width: options.width },
        };
        let (text, statistics) = (String::new(), vec![statistic]);
        let question = Question { text, form, minimum: 1, statistics, epsilon: None };
        Self { name, question, options }
    }

    fn is_of_lists(&self) -> bool {
        matches!(self.question.form, Form::Items { .. })
    }

    fn reports(&self) -> u32 {
        let reports = self.options.reports;
        if self.is_of_lists() { reports.min(LISTS) } else { reports }
    }
}

/// Measures the median, the sum, a histogram of ten bins, and a count of different things.
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
        ("distinct", Statistic::Distinct),
    ];
    let measured = if options.median_only { 1 } else { statistics.len() };
    let mut measurements = Vec::new();
    for &servers in &options.servers {
        tell(&format!("{servers} servers meet"));
        let mut committee = Committee::start_apart(program, servers.into(), options.latency)?;
        for (name, statistic) in &statistics[..measured] {
            let task = Task::new(options, name, statistic.clone());
            let mut tell = |what: &str| tell(&format!("{name}, {servers} servers, {what}"));
            let outcome = middle(&task, &mut committee, &mut tell)?;
            tell("what cannot be avoided is measured");
            measurements.push(measurement(&task, servers, outcome)?);
        }
    }
    Ok(measurements)
}

/// The run that took the median of the time.
fn middle(
    task: &Task<'_>,
    committee: &mut Committee,
    tell: &mut dyn FnMut(&str),
) -> Result<Outcome> {
    let question = &task.question;
    question.validate()?;
    let mut outcomes = Vec::new();
    for run in 1..=task.options.runs {
        tell(&format!("run {run} of {}", task.options.runs));
        let places = task.is_of_lists().then(|| committee.places(question)).transpose()?;
        let scope = committee.scope(question);
        let (values, made) = drawn(&scope, task, places)?;
        let outcome = committee.compute(question, &made)?;
        ensure!(is_right(question, &values, &outcome.answers), "an answer is wrong");
        outcomes.push(outcome);
    }
    let seconds = median(outcomes.iter().map(|outcome| outcome.phases.sum()).collect());
    let place = outcomes.iter().position(|outcome| outcome.phases.sum() == seconds);
    Ok(outcomes.swap_remove(place.unwrap_or_default()))
}

fn measurement(task: &Task<'_>, servers: u8, outcome: Outcome) -> Result<Measurement> {
    let Options { width, latency, .. } = *task.options;
    let Outcome { ands, triples, bucket, sent, offline_bytes, phases, .. } = outcome;
    let (members, reports) = (usize::from(servers), task.reports());
    let of_reports = match task.is_of_lists() {
        false => Work::reports(members, reports as usize),
        true => Work::lists(members, reports as usize, task.question.form.bits()),
    };
    let work =
        Work::preparation(members, bucket * triples) + Work::circuit(members, ands) + of_reports;
    let mut limit_parts = Units::measure()?.limit(&work.carrying(members, sent.bytes, sent.rounds));
    if !latency.is_zero() {
        limit_parts.insert("latency", f64::from(sent.rounds) * latency.as_secs_f64());
    }
    let (seconds, limit_seconds) = (phases.sum(), limit_parts.values().sum());
    Ok(Measurement {
        statistic: task.name,
        servers,
        reports,
        width: if task.is_of_lists() { 0 } else { width },
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

/// Random numbers, or lists of which any two neighbours share half of their things; and their
/// reports.
fn drawn(
    scope: &Scope<'_>,
    task: &Task<'_>,
    places: Option<Places>,
) -> Result<(Vec<Value>, Vec<Vec<u8>>)> {
    let seed = Secret::new(secret()?);
    let prg = Prg::new(seed.expose());
    let mut values = Vec::new();
    let mut reports = Vec::new();
    for i in 0..u64::from(task.reports()) {
        let value = if let Some(places) = places {
            let first = i * u64::from(THINGS / 2);
            let thing = |thing: u64| thing.to_le_bytes().to_vec();
            Value::Items((first..first + u64::from(THINGS)).map(thing).collect(), places)
        } else {
            let mut bytes = [0; 8];
            prg.fill_at(8 * i, &mut bytes);
            Value::Number(u64::from_le_bytes(bytes) >> (64 - task.options.width))
        };
        let of = |context| seed.derive(context, &[&i.to_le_bytes()]);
        let key = SigningKey::from_seed(of("ostrakon/v1/bench/reporter").expose());
        let randomness = of("ostrakon/v1/bench/report");
        reports.push(report::make(scope, &value, &key, &randomness)?);
        values.push(value);
    }
    Ok((values, reports))
}

/// Whether the answers are those in the clear; an estimate may be off by five times its deviation.
fn is_right(question: &Question, values: &[Value], answers: &[Answer]) -> bool {
    if let [Answer::Distinct { estimate }] = answers {
        let lists = values.iter().filter_map(|value| match value {
            Value::Items(things, _) => Some(things),
            _ => None,
        });
        let different = lists.flatten().collect::<BTreeSet<_>>().len() as f64;
        let off = (*estimate as f64 - different).abs();
        return off <= 5.0 * 0.92 / f64::from(COUNTERS).sqrt() * different;
    }
    let width = question.form.bits();
    let digits = |value: &Value| {
        let Value::Number(n) = *value else { unreachable!("numbers are asked for") };
        (0..width).map(move |digit| n >> digit & 1 == 1)
    };
    let inputs: Vec<bool> = values.iter().flat_map(digits).collect();
    let opened = question.circuit(values.len()).evaluate(&inputs);
    question.read(values.len(), &opened).is_some_and(|expected| expected == answers)
}

/// The measurements as a table for people.
pub fn table(measurements: &[Measurement]) -> String {
    let mut text = format!(
        "{:<10} {:>7} {:>8} {:>5} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8} \
         {:>8} {:>8} {:>10} {:>9} {:>6} {:>7} {:>6}\n",
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
        "open",
        "circuit",
        "offline B",
        "online B",
        "rounds",
        "limit",
        "ratio"
    );
    for m in measurements {
        let Phases { check, preparation, adjust, open, circuit } = m.phases;
        writeln!(
            text,
            "{:<10} {:>7} {:>8} {:>5} {:>9} {:>9} {:>8.3} {check:>8.3} {preparation:>8.3} \
             {adjust:>8.3} {open:>8.3} {circuit:>8.3} {:>10} {:>9} {:>6} {:>7.3} {:>6.2}\n{}",
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
