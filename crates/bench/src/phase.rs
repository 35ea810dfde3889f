//! A phase of a benchmark over several runs.

use anyhow::{Result, ensure};
use ostrakon_replicated::cost::Cost;
use ostrakon_replicated::messages::Shape;

use crate::control::Answers;
use crate::limit::{Limits, Parts, Work};
use crate::measurement::{Measurement, median};

/// One phase's answers, run by run.
pub struct Phase {
    name: &'static str,
    cost: Cost,
    limit: fn(&Work) -> Parts,
    seconds: Vec<f64>,
    cpu_seconds: Vec<f64>,
    after_seal: Vec<f64>,
    rounds: u32,
    bytes: Vec<u64>,
    peak_rss: Vec<u64>,
}

impl Phase {
    /// A phase of which no run is noted yet.
    pub fn new(name: &'static str, cost: Cost, limit: fn(&Work) -> Parts) -> Self {
        Self {
            name,
            cost,
            limit,
            seconds: Vec::new(),
            cpu_seconds: Vec::new(),
            after_seal: Vec::new(),
            rounds: 0,
            bytes: Vec::new(),
            peak_rss: vec![0; 3],
        }
    }

    /// Notes a run. `before` is what the parties had sent, and how many rounds there had been, when
    /// the phase began.
    ///
    /// # Errors
    /// If the parties sent other amounts than the formula says.
    pub fn note(&mut self, answers: &Answers, before: Option<&Answers>) -> Result<()> {
        self.seconds.push(answers.seconds);
        self.cpu_seconds.push(answers.cpu_seconds());
        if answers.reports.iter().any(|report| report.sealed_us > 0) {
            self.after_seal.push(answers.after_seal());
        }
        self.rounds = answers.rounds() - before.map_or(0, Answers::rounds);
        let earlier = |party: usize| before.map_or(0, |before| before.reports[party].bytes);
        self.bytes = (0..3).map(|party| answers.reports[party].bytes - earlier(party)).collect();
        for (peak, report) in self.peak_rss.iter_mut().zip(&answers.reports) {
            *peak = (*peak).max(report.peak_rss);
        }
        let sum = self.bytes.iter().sum();
        ensure!(
            self.cost.admits(sum),
            "{} sent {sum} bytes, which is not what its formula says",
            self.name
        );
        Ok(())
    }

    /// What the runs amount to.
    pub fn measurement(self, shape: Shape, limits: &Limits) -> Measurement {
        let limit_parts = limits.parts(self.limit);
        let (seconds, limit_seconds) = (median(self.seconds), limit_parts.values().sum());
        Measurement {
            phase: self.name,
            rows: shape.rows,
            width: shape.width,
            seconds,
            limit_seconds,
            ratio: seconds / limit_seconds,
            cpu_seconds: median(self.cpu_seconds),
            after_seal_seconds: (!self.after_seal.is_empty()).then(|| median(self.after_seal)),
            rounds: self.rounds,
            bytes_sent: self.bytes,
            formula_bytes: self.cost.table + self.cost.constant,
            peak_rss: self.peak_rss,
            limit_parts,
            published: None,
        }
    }
}
