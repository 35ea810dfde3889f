//! The benchmark of one shuffle: preprocessing, online phase, opening.

use anyhow::{Result, ensure};
use ostrakon_replicated::cost::{self, Cost};
use ostrakon_replicated::messages::{BatchSpec, Inputs, Shape};
use ostrakon_replicated::params::{MAX_ROWS, MAX_WIDTH};

use crate::control::{Answers, Command, Parties, Program};
use crate::limit::{Limits, Parts, Work};
use crate::measurement::{Measurement, median};

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Rows of the table.
    pub rows: u32,
    /// Bytes of a row.
    pub width: u32,
    /// How often.
    pub runs: u32,
}

/// One phase's answers, run by run.
struct Phase {
    name: &'static str,
    cost: Cost,
    limit: fn(&Work) -> Parts,
    seconds: Vec<f64>,
    rounds: u32,
    bytes: Vec<u64>,
    peak_rss: Vec<u64>,
}

impl Phase {
    fn new(name: &'static str, cost: Cost, limit: fn(&Work) -> Parts) -> Self {
        Self { name, cost, limit, seconds: Vec::new(), rounds: 0, bytes: Vec::new(), peak_rss: vec![0; 3] }
    }

    /// Notes a run. `before` is what the parties had sent, and how many rounds there had been, when the phase began.
    fn note(&mut self, answers: &Answers, before: Option<&Answers>) -> Result<()> {
        self.seconds.push(answers.seconds);
        self.rounds = answers.rounds() - before.map_or(0, Answers::rounds);
        let earlier = |party: usize| before.map_or(0, |before| before.reports[party].bytes);
        self.bytes = (0..3).map(|party| answers.reports[party].bytes - earlier(party)).collect();
        for (peak, report) in self.peak_rss.iter_mut().zip(&answers.reports) {
            *peak = (*peak).max(report.peak_rss);
        }
        let sum = self.bytes.iter().sum();
        ensure!(self.cost.admits(sum), "{} sent {sum} bytes, which is not what its formula says", self.name);
        Ok(())
    }

    fn measurement(self, shape: Shape, limits: &Limits) -> Measurement {
        let limit_parts = limits.parts(self.limit);
        let (seconds, limit_seconds) = (median(self.seconds), limit_parts.values().sum());
        Measurement {
            phase: self.name,
            rows: shape.rows,
            width: shape.width,
            seconds,
            limit_seconds,
            ratio: seconds / limit_seconds,
            rounds: self.rounds,
            bytes_sent: self.bytes,
            formula_bytes: self.cost.table + self.cost.constant,
            peak_rss: self.peak_rss,
            limit_parts,
        }
    }
}

/// A table's shape within the engine's limits.
pub(crate) fn checked(rows: u32, width: u32) -> Result<Shape> {
    let shape = Shape { rows, width };
    ensure!(
        shape.is_valid(),
        "a table has 1 to {MAX_ROWS} rows of 8 to {MAX_WIDTH} bytes, a multiple of 8; not {rows} rows of {width} bytes"
    );
    Ok(shape)
}

/// Runs the benchmark with three processes of `program`. `report` is told what is being done.
///
/// # Errors
/// If the shape is not allowed, or a process fails, or sends other amounts than the formulas say.
pub fn run(options: Options, program: &Program, mut report: impl FnMut(&str)) -> Result<Vec<Measurement>> {
    let shape = checked(options.rows, options.width)?;
    report("setting up three servers");
    let mut parties = Parties::start(program)?;
    let mut limits = Limits::new(shape);
    let mut preprocessing = Phase::new("preprocessing", cost::preprocessing(shape), Work::preprocessing);
    let mut online = Phase::new("online", cost::online(shape), Work::online);
    let mut opening = Phase::new("opening", cost::opening(shape), Work::opening);
    for number in 0..u64::from(options.runs) {
        report(&format!("run {} of {}", number + 1, options.runs));
        let spec = BatchSpec { number, shape, inputs: Inputs::Stream };
        preprocessing.note(&parties.all(&Command::Prepare(spec))?, None)?;
        parties.all(&Command::Hold)?;
        let shuffled = parties.all(&Command::Shuffle)?;
        online.note(&shuffled, None)?;
        opening.note(&parties.all(&Command::Open(spec))?, Some(&shuffled))?;
        parties.all(&Command::Retire(spec))?;
        limits.sample()?;
    }
    Ok([preprocessing, online, opening].map(|phase| phase.measurement(shape, &limits)).into())
}
