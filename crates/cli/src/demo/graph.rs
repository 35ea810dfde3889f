//! `ostrakon demo graph`: three server processes compute on the union of several owners' edges, of
//! which no server sees one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use ostrakon_bench::graph::{Analysis, Outcome, Phase, Servers};
use ostrakon_graph::edges::Names;
use ostrakon_graph::owner::Edge;
use ostrakon_graph::spec::Direction;
use serde::Serialize;

use crate::{bench, output};

/// Options of `demo graph`.
#[derive(clap::Args)]
pub struct Options {
    /// An owner's edges, once for each owner: two names on each line, separated by a comma, a tab
    /// or spaces.
    #[arg(long, value_name = "FILE", required = true)]
    edges: Vec<PathBuf>,
    /// What is computed.
    #[arg(long, value_enum, default_value_t = ProgramArg::Distances)]
    program: ProgramArg,
    /// Where distances are counted from; may be given more than once.
    #[arg(long, value_name = "NAME")]
    from: Vec<String>,
    /// How far is looked.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=64))]
    hops: u32,
    /// Katz centrality: by how much an edge further counts less.
    #[arg(long, default_value_t = 10)]
    attenuation: u64,
    /// How many vertices are shown.
    #[arg(long, default_value_t = 10)]
    top: usize,
    /// Prints one JSON object with all values.
    #[arg(long)]
    json: bool,
}

/// [`Analysis`] on the command line.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ProgramArg {
    /// How many edges each vertex is away: breadth-first search.
    Distances,
    /// How many edges lead to each vertex.
    InDegrees,
    /// How many edges lead from each vertex.
    OutDegrees,
    /// Katz centrality, scaled to integers.
    Katz,
}

#[derive(Serialize)]
struct Summary<'a> {
    owners: usize,
    vertices: usize,
    edges: usize,
    values: BTreeMap<&'a str, Option<u64>>,
    phases: &'a [Phase],
}

/// Runs the demonstration.
///
/// # Errors
/// If a file has a bad line, or the servers fail.
pub fn run(options: &Options) -> Result<()> {
    let texts: Vec<String> = options.edges.iter().map(|path| text(path)).collect::<Result<_>>()?;
    let (names, numbered) = names_of(options, &texts)?;
    let mut lists = Vec::new();
    for (path, text) in options.edges.iter().zip(&texts) {
        let edges = names.edges(text).with_context(|| path.display().to_string())?;
        ensure!(!edges.is_empty(), "{} has no edges", path.display());
        lists.push(edges);
    }
    let analysis = analysis(options, &names)?;
    let hops = match options.program {
        ProgramArg::InDegrees | ProgramArg::OutDegrees => 1,
        ProgramArg::Distances | ProgramArg::Katz => options.hops,
    };
    let spinner = output::spinner("three servers meet");
    let mut servers = Servers::start(&bench::program("graph-server")?, Duration::ZERO)?;
    let size = (u32::try_from(numbered.len())?, hops);
    let outcome =
        servers.analyse(&analysis, size, &lists, |what| spinner.set_message(what.to_owned()))?;
    spinner.finish_and_clear();
    if options.json {
        let values = numbered.iter().map(String::as_str).zip(outcome.values.iter().copied());
        return output::json(&Summary {
            owners: lists.len(),
            vertices: numbered.len(),
            edges: lists.iter().map(Vec::len).sum(),
            values: values.collect(),
            phases: &outcome.phases,
        });
    }
    print(options, &numbered, &lists, &outcome)
}

fn text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))
}

/// The vertices' names: public, and the same for all owners. Here they are those that occur.
fn names_of(options: &Options, texts: &[String]) -> Result<(Names, Vec<String>)> {
    let mut names = BTreeSet::new();
    for (path, text) in options.edges.iter().zip(texts) {
        let named = Names::in_edges(text).with_context(|| path.display().to_string())?;
        names.extend(named.into_iter().map(str::to_owned));
    }
    let numbered: Vec<String> = names.into_iter().collect();
    Ok((Names::read(&numbered.join("\n"))?, numbered))
}

fn analysis(options: &Options, names: &Names) -> Result<Analysis> {
    let from = &options.from;
    if options.program != ProgramArg::Distances && !from.is_empty() {
        bail!("--from is for distances");
    }
    Ok(match options.program {
        ProgramArg::Distances => {
            ensure!(!from.is_empty(), "say with --from NAME where distances are counted from");
            let vertex = |name: &String| {
                names.vertex(name).with_context(|| format!("--from {name}: no edge has this name"))
            };
            let sources: BTreeSet<u32> = from.iter().map(vertex).collect::<Result<_>>()?;
            Analysis::Distances(sources.into_iter().collect())
        }
        ProgramArg::InDegrees => Analysis::Degrees(Direction::Forward),
        ProgramArg::OutDegrees => Analysis::Degrees(Direction::Backward),
        ProgramArg::Katz => {
            ensure!(options.attenuation > 1, "--attenuation must be 2 or more");
            Analysis::Katz(options.attenuation)
        }
    })
}

fn print(
    options: &Options,
    names: &[String],
    lists: &[Vec<Edge>],
    outcome: &Outcome,
) -> Result<()> {
    if options.program == ProgramArg::Distances {
        distances(options.hops, &outcome.values)?;
    } else {
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by_key(|vertex| std::cmp::Reverse(outcome.values[*vertex]));
        for vertex in order.into_iter().take(options.top) {
            output::line(&format!(
                "{:>8}  {}",
                outcome.values[vertex].unwrap_or(0),
                names[vertex]
            ))?;
        }
    }
    let edges: usize = lists.iter().map(Vec::len).sum();
    output::line(&format!(
        "{} vertices, {edges} edges of {} owners, of which no server has seen one",
        names.len(),
        lists.len()
    ))?;
    let phase = |phase: &Phase| format!("{} {:.2} s", phase.phase, phase.seconds);
    output::line(&outcome.phases.iter().map(phase).collect::<Vec<_>>().join(", "))
}

/// How many vertices are how far.
fn distances(hops: u32, values: &[Option<u64>]) -> Result<()> {
    let count = |far| values.iter().filter(|value| **value == far).count() as u64;
    let rows: Vec<(String, u64)> = (0..=u64::from(hops))
        .map(|far| (format!("{far} hops"), count(Some(far))))
        .filter(|(_, count)| *count > 0)
        .chain([(format!("not within {hops}"), count(None))])
        .collect();
    output::bars(&rows)
}
