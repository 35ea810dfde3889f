//! The benchmark of graphs: three phases, beside limits measured in the same run.

use std::fmt::Write;
use std::time::Duration;

use anyhow::{Result, ensure};
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_graph::cost::{self, Cost};
use ostrakon_graph::owner::Edge;
use ostrakon_graph::params::CHECK_WORDS;
use ostrakon_graph::spec::JobSpec;
use ostrakon_kernels::Prg;
use ostrakon_replicated::messages::Shape;
use serde::Serialize;

use super::{Analysis, Outcome, Phase, Servers, Spent, list};
use crate::control::Program;
use crate::limit::{Limits, Parts, Work};
use crate::measurement::median;
use crate::random::secret;

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Vertices.
    pub vertices: u32,
    /// Edges, of one owner.
    pub edges: u32,
    /// Hops.
    pub hops: u32,
    /// How often.
    pub runs: u32,
    /// How long a message takes from one server to another.
    pub latency: Duration,
    /// With how many processors distances are also found by scatter and gather.
    pub processors: Option<u32>,
}

/// A phase, measured.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Which.
    pub phase: &'static str,
    /// Processors of scatter and gather; none where hops are linear.
    pub processors: Option<u32>,
    /// Rows of the list: vertices and edges.
    pub rows: u32,
    /// Hops.
    pub hops: u32,
    /// How long a message takes from one server to another, in milliseconds.
    pub latency_ms: u64,
    /// Until the slowest server had finished: median over the runs.
    pub seconds: f64,
    /// The sum of `limit_parts`.
    pub limit_seconds: f64,
    /// `seconds / limit_seconds`; none where there is no limit.
    pub ratio: Option<f64>,
    /// The longest chain of messages each of which caused the next, instance after instance.
    pub rounds: u32,
    /// What the formula says of it.
    pub formula_rounds: u32,
    /// Bytes of message bodies that each server sent.
    pub bytes_sent: Vec<u64>,
    /// Bytes in tables that all servers together sent; equal to the formula, or the benchmark
    /// fails.
    pub table_bytes: u64,
    /// What the formula allows for all else.
    pub formula_rest: u64,
    /// The most memory that each server had resident, in any run; 0 where the system does not tell.
    pub peak_rss: Vec<u64>,
    /// Seconds that the unavoidable work takes on all cores, by kind ([`crate::limit`]).
    pub limit_parts: Parts,
}

/// What the formulas say of a phase.
struct Formula {
    cost: Cost,
    rounds: u32,
    parts: Parts,
}

/// Measures distances in a random graph. Seconds are medians over the runs.
///
/// # Errors
/// If a process fails, a distance is wrong, or bytes are not those of the formulas.
pub fn run(
    options: Options,
    program: &Program,
    mut tell: impl FnMut(&str),
) -> Result<Vec<Measured>> {
    let Options { vertices, edges, hops, runs, latency, processors } = options;
    let mut servers = Servers::start(program, latency)?;
    let edges = random_edges(vertices, edges)?;
    let expected = distances(vertices, &edges, hops);
    let spec = spec(vertices, edges.len(), hops);
    let mut limits = GraphLimits::new(&spec);
    let ways = [None].into_iter().chain(processors.map(Some));
    let mut all = Vec::new();
    for way in ways {
        let analysis = match way {
            None => Analysis::Distances(vec![0]),
            Some(processors) => Analysis::Minima { from: vec![0], processors },
        };
        let mut outcomes: Vec<Outcome> = Vec::new();
        for run in 0..runs {
            let lists = [edges.clone()];
            let about = |what: &str| tell(&format!("run {} of {runs}: {what}", run + 1));
            let outcome = servers.analyse(&analysis, (vertices, hops), &lists, about)?;
            ensure!(outcome.values == expected, "the distances are wrong");
            outcomes.push(Outcome { values: Vec::new(), ..outcome });
            limits.sample()?;
        }
        let of = |phase: usize| -> Vec<Phase> {
            outcomes.iter().map(|run| run.phases[phase].clone()).collect()
        };
        for phase in 0..outcomes[0].phases.len() {
            all.push(measured((&options, way), &spec, &limits, &of(phase))?);
        }
    }
    Ok(all)
}

/// The descriptor, as far as costs depend on it.
fn spec(vertices: u32, edges: usize, hops: u32) -> JobSpec {
    let owner = SigningKey::from_seed(&[0; 32]);
    JobSpec {
        number: 1,
        context: Digest([0; 32]),
        vertices,
        delays: 1,
        lists: vec![list(&owner, &vec![Edge { source: None, target: None }; edges])],
        querier: None,
        hops,
        direction: Analysis::Distances(vec![0]).direction(),
        slice: hops.min(8),
        program: Vec::new(),
        shuffled: false,
        decoys: None,
    }
}

/// One phase, in all runs.
fn measured(
    (options, processors): (&Options, Option<u32>),
    spec: &JobSpec,
    limits: &GraphLimits,
    runs: &[Phase],
) -> Result<Measured> {
    let phase = runs[0].phase;
    let formula = formula((phase, processors), spec, limits);
    for Phase { spent, .. } in runs {
        let tables: u64 = spent.iter().map(|of| of.tables).sum();
        let rest: u64 = spent.iter().map(|of| of.rest).sum();
        let Cost { table, constant } = formula.cost;
        ensure!(tables == table, "{phase}: {tables} bytes in tables, and the formula says {table}");
        ensure!(
            rest <= constant,
            "{phase}: {rest} other bytes, and at most {constant} are allowed"
        );
    }
    let seconds = median(runs.iter().map(|run| run.seconds).collect());
    let limit_seconds = formula.parts.values().fold(0.0, |sum, seconds| sum + seconds);
    let most = |of: fn(&Spent) -> u64| -> Vec<u64> {
        let servers = 0..runs[0].spent.len();
        servers.map(|i| runs.iter().map(|run| of(&run.spent[i])).max().unwrap_or(0)).collect()
    };
    Ok(Measured {
        phase,
        processors,
        rows: spec.rows(0) as u32,
        hops: spec.hops,
        latency_ms: u64::try_from(options.latency.as_millis())?,
        seconds,
        limit_seconds,
        ratio: (limit_seconds > 0.0).then_some(seconds / limit_seconds),
        rounds: runs[0].spent.iter().map(|of| of.rounds).max().unwrap_or(0),
        formula_rounds: formula.rounds,
        bytes_sent: most(|of| of.tables + of.rest),
        table_bytes: formula.cost.table,
        formula_rest: formula.cost.constant,
        peak_rss: most(|of| of.peak),
        limit_parts: formula.parts,
    })
}

fn formula(
    (phase, processors): (&str, Option<u32>),
    spec: &JobSpec,
    limits: &GraphLimits,
) -> Formula {
    let slices = spec.hop_slices().len() as u32;
    let values = spec.vertices as usize * spec.hops as usize;
    match (phase, processors) {
        ("before input", _) => Formula {
            cost: cost::preparation(spec),
            rounds: 2 + (1 + slices) * cost::SLICE_ROUNDS,
            parts: limits.parts(Work::graph_preparation, Work::graph_preparation),
        },
        ("after structure", Some(_)) => Formula {
            cost: cost::link_alone(spec),
            rounds: cost::LINK_ALONE_ROUNDS,
            parts: limits.parts(Work::graph_check, |_| Parts::new()),
        },
        ("query", Some(processors)) => {
            let (cost, rounds) = cost::minima(spec, processors);
            Formula { cost, rounds, parts: Parts::new() }
        }
        ("after structure", None) => Formula {
            cost: cost::link(spec),
            rounds: cost::LINK_ROUNDS,
            parts: limits.parts(Work::graph_check, Work::graph_difference),
        },
        ("query", None) => Formula {
            cost: cost::hops(spec) + cost::zero_tests(values),
            rounds: cost::hop_rounds(spec) + cost::zero_test_rounds(values),
            parts: limits.parts(|_| Parts::new(), Work::graph_hop),
        },
        _ => Formula { cost: Cost::default(), rounds: 0, parts: Parts::new() },
    }
}

/// Limits of the order check's tables and of the hops' ones, side by side as they are prepared.
struct GraphLimits {
    check: Limits,
    hops: Limits,
    /// How many of the hops' tables there are.
    slices: f64,
}

impl GraphLimits {
    fn new(spec: &JobSpec) -> Self {
        let rows = spec.rows(0) as u32;
        let of = |words: u32| Limits::new(Shape { rows, width: 8 * words });
        let slices = f64::from(spec.hops) / f64::from(spec.slice);
        Self { check: of(CHECK_WORDS), hops: of(spec.slice), slices }
    }

    fn sample(&mut self) -> Result<()> {
        self.check.sample()?;
        self.hops.sample()
    }

    fn parts(&self, check: fn(&Work) -> Parts, hops: fn(&Work) -> Parts) -> Parts {
        let mut parts = self.check.parts(check);
        for (kind, seconds) in self.hops.parts(hops) {
            *parts.entry(kind).or_default() += self.slices * seconds;
        }
        parts
    }
}

fn random_edges(vertices: u32, edges: u32) -> Result<Vec<Edge>> {
    let mut bytes = vec![0; 8 * edges as usize];
    Prg::new(&secret()?).fill(&mut bytes);
    let end = |word: &[u8]| Some(u32::from_le_bytes(word.try_into().expect("4 bytes")) % vertices);
    let edge = |words: &[u8]| Edge { source: end(&words[..4]), target: end(&words[4..]) };
    Ok(bytes.chunks_exact(8).map(edge).collect())
}

/// Breadth-first search from vertex 0, in the clear.
fn distances(vertices: u32, edges: &[Edge], hops: u32) -> Vec<Option<u64>> {
    let mut far = vec![None; vertices as usize];
    far[0] = Some(0);
    for hop in 0..u64::from(hops) {
        for Edge { source, target } in edges {
            let (Some(source), Some(target)) = (*source, *target) else { continue };
            if far[source as usize] == Some(hop) && far[target as usize].is_none() {
                far[target as usize] = Some(hop + 1);
            }
        }
    }
    far
}

/// The phases as a table for people.
pub fn table(phases: &[Measured]) -> String {
    let mut text = format!(
        "{:<16} {:>10} {:>9} {:>5} {:>9} {:>9} {:>6} {:>7} {:>14} {:>9}\n",
        "phase",
        "processors",
        "rows",
        "hops",
        "seconds",
        "limit",
        "ratio",
        "rounds",
        "bytes",
        "peak MiB"
    );
    for of in phases {
        let peak = of.peak_rss.iter().max().copied().unwrap_or(0) >> 20;
        let ratio = of.ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
        let rounds = match of.rounds == of.formula_rounds {
            true => of.rounds.to_string(),
            false => format!("{}/{}", of.rounds, of.formula_rounds),
        };
        writeln!(
            text,
            "{:<16} {:>10} {:>9} {:>5} {:>9.3} {:>9.3} {:>6} {:>7} {:>14} {:>9}",
            of.phase,
            of.processors.map_or(String::new(), |processors| processors.to_string()),
            of.rows,
            of.hops,
            of.seconds,
            of.limit_seconds,
            ratio,
            rounds,
            of.bytes_sent.iter().sum::<u64>(),
            peak
        )
        .expect("text can be written to");
    }
    text
}
