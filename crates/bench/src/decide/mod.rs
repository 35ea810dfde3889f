//! The benchmark of a visit to a decision: what one device computes, alone and on one core, without
//! HTTP and storage.

mod limit;
pub mod visits;

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Result, ensure};
use serde::Serialize;

use self::limit::Work;
use self::visits::{Form, Visits};
use crate::limit::time;
use crate::measurement::median;

/// What to measure: one visit.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// For people.
    pub name: &'static str,
    /// The session.
    pub form: Form,
    /// How many visitors have come before.
    pub before: usize,
}

const fn shape(
    name: &'static str,
    visitors: usize,
    values: u16,
    ballots: usize,
    before: usize,
) -> Shape {
    Shape { name, form: Form { visitors, values, ballots }, before }
}

/// The visits that `ostrakon bench decide` measures; `web/bench/visits.mjs` measures the same ones
/// in a browser.
pub const SHAPES: [Shape; 5] = [
    shape("n=10 binary, last", 10, 2, 1, 9),
    shape("n=100 binary, first", 100, 2, 1, 0),
    shape("n=100 binary, last", 100, 2, 1, 99),
    shape("n=20 c=3, last", 20, 3, 1, 19),
    shape("10 dates, n=20, last", 20, 2, 10, 19),
];

/// Bytes of a group element or scalar.
const ELEMENT: usize = 32;

impl Shape {
    /// N: entries of one ballot's table after the visitor at this place, C(m+c−1, c−1) with m
    /// visitors left.
    fn entries(&self, place: usize) -> usize {
        let left = self.form.visitors - place - 1;
        // Exact at every step: the product so far is a binomial coefficient.
        (1..usize::from(self.form.values)).fold(1, |binomial, i| binomial * (left + i) / i)
    }

    /// Bytes of all tables in the step of the visitor at this place: 64·N for each ballot.
    fn table_bytes(&self, place: usize) -> usize {
        self.form.ballots * 2 * ELEMENT * self.entries(place)
    }

    /// Bytes of all proofs of a step: 192c − 32 for each ballot.
    fn proof_bytes(&self) -> usize {
        self.form.ballots * ELEMENT * (6 * usize::from(self.form.values) - 1)
    }
}

/// One visit, measured.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// Which visit.
    pub visit: &'static str,
    /// Who may come.
    pub visitors: usize,
    /// Options of a ballot.
    pub values: u16,
    /// Ballots.
    pub ballots: usize,
    /// How many visitors have come before.
    pub before: usize,
    /// Milliseconds for decoding all earlier steps: median over the runs, like the three that
    /// follow.
    pub decode_ms: f64,
    /// For the decision about all of them.
    pub verify_ms: f64,
    /// For the own step with its proof, encoded.
    pub step_ms: f64,
    /// For the whole visit.
    pub total_ms: f64,
    /// The sum of `limit_parts`.
    pub limit_ms: f64,
    /// `total_ms / limit_ms`.
    pub ratio: f64,
    /// Bytes of the own step, as it came out.
    pub step_bytes: usize,
    /// Bytes of its tables, by the formula.
    pub table_bytes: usize,
    /// Bytes of its proofs, by the formula. The run fails unless tables and proofs are the step.
    pub proof_bytes: usize,
    /// Bytes of all earlier steps, which the visitor downloads, by the formula.
    pub history_bytes: usize,
    /// Milliseconds that the unavoidable work takes, by kind.
    pub limit_parts: BTreeMap<&'static str, f64>,
}

/// Measures each shape `runs` times. `report` is told what is being done.
///
/// # Errors
/// If a session is beyond the protocol's limits, or a step has another length than the formula
/// says.
pub fn run(shapes: &[Shape], runs: u32, mut report: impl FnMut(&str)) -> Result<Vec<Measurement>> {
    let mut measurements = Vec::with_capacity(shapes.len());
    for shape in shapes {
        report(&format!("{}: letting {} visitors come", shape.name, shape.before));
        measurements.push(measure(shape, runs, &mut report)?);
    }
    Ok(measurements)
}

fn measure(shape: &Shape, runs: u32, report: &mut impl FnMut(&str)) -> Result<Measurement> {
    let mut visits = Visits::new(shape.form, shape.before, 1)?;
    let work = Work::of(shape);
    let (mut decode, mut verify, mut step, mut total) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut limits: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    let (table_bytes, proof_bytes) = (shape.table_bytes(shape.before), shape.proof_bytes());
    for run in 0..runs {
        report(&format!("{}: run {} of {runs}", shape.name, run + 1));
        let mut made = Vec::new();
        let (decoding, verifier) = timed(|| visits.decode());
        let (verifying, history) = timed(|| visits.verify(verifier));
        let stepping = time(|| made = visits.step(&history)) * 1e3;
        let bytes = table_bytes + proof_bytes;
        ensure!(
            made.len() == bytes,
            "{}: the step has {} bytes, not {bytes}",
            shape.name,
            made.len()
        );
        decode.push(decoding);
        verify.push(verifying);
        step.push(stepping);
        total.push(decoding + verifying + stepping);
        for (kind, milliseconds) in work.measure() {
            limits.entry(kind).or_default().push(milliseconds);
        }
    }
    let limit_parts: BTreeMap<_, _> =
        limits.into_iter().map(|(kind, all)| (kind, median(all))).collect();
    let (limit_ms, total_ms) = (limit_parts.values().sum(), median(total));
    Ok(Measurement {
        visit: shape.name,
        visitors: shape.form.visitors,
        values: shape.form.values,
        ballots: shape.form.ballots,
        before: shape.before,
        decode_ms: median(decode),
        verify_ms: median(verify),
        step_ms: median(step),
        total_ms,
        limit_ms,
        ratio: total_ms / limit_ms,
        step_bytes: table_bytes + proof_bytes,
        table_bytes,
        proof_bytes,
        history_bytes: (0..shape.before).map(|place| shape.table_bytes(place) + proof_bytes).sum(),
        limit_parts,
    })
}

/// What some work makes, and the milliseconds that it takes.
fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let mut made = None;
    let seconds = time(|| made = Some(work()));
    (seconds * 1e3, made.expect("the work was done"))
}

/// The measurements as a table for people.
pub fn table(measurements: &[Measurement]) -> String {
    let mut text = format!(
        "{:<21} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6} {:>8} {:>8} {:>8} {:>10}\n",
        "visit (times in ms)",
        "decode",
        "verify",
        "step",
        "total",
        "limit",
        "ratio",
        "table B",
        "proof B",
        "step B",
        "history B"
    );
    for m in measurements {
        let times = [m.decode_ms, m.verify_ms, m.step_ms, m.total_ms, m.limit_ms];
        let times: Vec<_> = times.iter().map(|time| format!("{time:>9.2}")).collect();
        let sizes = format!(
            "{:>8} {:>8} {:>8} {:>10}",
            m.table_bytes, m.proof_bytes, m.step_bytes, m.history_bytes
        );
        writeln!(text, "{:<21} {} {:>6.2} {sizes}", m.visit, times.join(" "), m.ratio)
            .expect("text can be written to");
        let parts =
            m.limit_parts.iter().map(|(name, milliseconds)| format!("{name} {milliseconds:.2}"));
        writeln!(text, "  limit in ms: {}", parts.collect::<Vec<_>>().join(", "))
            .expect("text can be written to");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_formulas_at_every_place() {
        for shape in SHAPES {
            let visits = Visits::new(shape.form, 0, 1).unwrap();
            for place in 0..shape.form.visitors {
                let bytes = shape.table_bytes(place) + shape.proof_bytes();
                assert_eq!(visits.session().step_bytes(place), bytes, "{} at {place}", shape.name);
            }
        }
        let [ten, _, hundred, three, dates] = SHAPES;
        assert_eq!(
            (ten.proof_bytes(), three.proof_bytes(), dates.proof_bytes()),
            (352, 544, 3_520)
        );
        assert_eq!((hundred.entries(0), three.entries(0), dates.entries(19)), (100, 210, 1));
    }

    #[test]
    fn the_step_that_comes_out_has_the_size_of_the_formula() {
        let shapes =
            [shape("two values", 5, 2, 1, 2), shape("three values, two ballots", 4, 3, 2, 0)];
        let measured = run(&shapes, 1, |_| {}).unwrap();
        assert_eq!(measured[0].step_bytes, 64 * 3 + 352);
        assert_eq!(measured[1].step_bytes, 2 * (64 * 10 + 544));
        for m in measured {
            assert!(m.decode_ms >= 0.0 && m.step_ms > 0.0 && m.limit_ms > 0.0);
            assert!((m.ratio - m.total_ms / m.limit_ms).abs() < 1e-9);
        }
    }
}
