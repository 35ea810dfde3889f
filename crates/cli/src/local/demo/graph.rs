//! `ostrakon demo graph`: three server processes compute on the union of several owners' edges, of
//! which no server sees one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ostrakon_bench::graph::{Analysis, Outcome, Phase, Servers};
use ostrakon_graph::asked::Values;
use ostrakon_graph::edges::{Names, Third};
use ostrakon_graph::owner::Edge;
use ostrakon_graph::spec::Direction;
use serde::Serialize;

use crate::graph::{ProgramArg, hops};
use crate::{bench, output};

/// Options of `demo graph`.
#[derive(clap::Args)]
pub struct Options {
    /// An owner's edges, once for each owner: two names on each line, separated by a comma, a tab
    /// or spaces.
    #[arg(long, value_name = "FILE", required = true)]
    edges: Vec<PathBuf>,
    /// Deals the edges of one file out to so many owners.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100))]
    owners: Option<u32>,
    /// What is computed.
    #[arg(long, value_enum, default_value_t = ProgramArg::Distances)]
    program: ProgramArg,
    /// Where distances are counted from, or reach and ways begin; may be given more than once.
    #[arg(long, value_name = "NAME")]
    from: Vec<String>,
    /// A third field on a line says how many edges it is; with `shortest` how long the edge is,
    /// without this option.
    #[arg(long)]
    weighted: bool,
    /// Shortest ways: the longest that an edge can be.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=16))]
    longest: u32,
    /// PageRank: how much of a rank follows edges, in thousandths.
    #[arg(long, default_value_t = 850, value_parser = clap::value_parser!(u32).range(1..=999))]
    damping: u32,
    /// How far is looked, or how many steps are made (pagerank).
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=64))]
    hops: u32,
    /// Katz centrality: by how much an edge further counts less.
    #[arg(long, default_value_t = 10)]
    attenuation: u64,
    /// What the servers show: `vertices` (each vertex's value), or `top:N` (the N vertices with the
    /// highest degrees, and of the others nothing)
    #[arg(long, default_value = "vertices", value_parser = shown)]
    show: Show,
    /// How many vertices are printed.
    #[arg(long, default_value_t = 10)]
    top: usize,
    /// Prints one JSON object with all values.
    #[arg(long)]
    json: bool,
}

/// What the servers open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Show {
    Vertices,
    Top(u32),
}

fn shown(text: &str) -> Result<Show, String> {
    match (text, text.strip_prefix("top:").map(str::parse)) {
        ("vertices", _) => Ok(Show::Vertices),
        (_, Some(Ok(count @ 1..))) => Ok(Show::Top(count)),
        _ => Err("vertices, or top:N, as top:10".into()),
    }
}

#[derive(Serialize)]
struct Summary<'a> {
    owners: usize,
    vertices: usize,
    edges: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
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
        let edges =
            names.edges(text, third(options)).with_context(|| path.display().to_string())?;
        ensure!(!edges.is_empty(), "{} has no edges", path.display());
        lists.push(edges);
    }
    lists = dealt(lists, options.owners)?;
    for edges in &mut lists {
        if options.program == ProgramArg::Components {
            let vertices = u32::try_from(numbered.len())?;
            edges.extend(edges.clone().into_iter().map(|edge| edge.back(vertices)));
        }
    }
    let analysis = analysis(options, &names)?;
    let spinner = output::spinner("three servers meet");
    let mut servers = Servers::start(&bench::program("graph-server")?, Duration::ZERO)?;
    let size = (u32::try_from(numbered.len())?, options.hops);
    let outcome =
        servers.analyse(&analysis, size, &lists, |what| spinner.set_message(what.to_owned()))?;
    spinner.finish_and_clear();
    if options.json {
        let values = numbered.iter().map(String::as_str).zip(outcome.values.iter().copied());
        return output::json(&Summary {
            owners: lists.len(),
            vertices: numbered.len(),
            edges: lists.iter().map(Vec::len).sum(),
            total: (options.program == ProgramArg::Edges).then_some(outcome.values[0]).flatten(),
            values: values.filter(|_| options.program != ProgramArg::Edges).collect(),
            phases: &outcome.phases,
        });
    }
    print(options, &numbered, &lists, &outcome)
}

/// The edges of one file, dealt out to so many owners in turn.
fn dealt(mut lists: Vec<Vec<Edge>>, owners: Option<u32>) -> Result<Vec<Vec<Edge>>> {
    let Some(owners) = owners else { return Ok(lists) };
    ensure!(lists.len() == 1, "--owners deals out the edges of one file: give --edges once");
    let (edges, owners) = (lists.remove(0), owners as usize);
    ensure!(edges.len() >= owners, "there are fewer edges than --owners {owners}");
    let mut dealt = vec![Vec::new(); owners];
    edges.into_iter().enumerate().for_each(|(i, edge)| dealt[i % owners].push(edge));
    Ok(dealt)
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

/// What the third field on a line says.
fn third(options: &Options) -> Third {
    match options.program {
        ProgramArg::Shortest => Third::Length(options.longest),
        _ if options.weighted => Third::Edges,
        _ => Third::Nothing,
    }
}

fn analysis(options: &Options, names: &Names) -> Result<Analysis> {
    let absent = "no edge has this name";
    let from = options.program.beginnings(&options.from, names, absent)?;
    let direction = match options.program {
        ProgramArg::InDegrees => Some(Direction::Forward),
        ProgramArg::OutDegrees => Some(Direction::Backward),
        _ => None,
    };
    if let Show::Top(count) = options.show {
        let direction = direction.context("--show top:N is for in-degrees and out-degrees")?;
        ensure!(count as usize <= names.len(), "--show top:{count}: there are fewer vertices");
        return Ok(Analysis::Top { direction, count });
    }
    Ok(match options.program {
        ProgramArg::Distances => Analysis::Distances(from),
        ProgramArg::Reach => Analysis::Reach(from),
        ProgramArg::Shortest => Analysis::Shortest { from, longest: options.longest },
        ProgramArg::Components => Analysis::Components(options.hops),
        ProgramArg::Pagerank => Analysis::Pagerank(options.damping),
        ProgramArg::Edges => Analysis::Edges,
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
    if options.program.begins() {
        distances(options, &outcome.values)?;
    } else if options.program == ProgramArg::Edges {
        output::line(&format!("{} edges", outcome.values[0].unwrap_or(0)))?;
    } else if options.program == ProgramArg::Components {
        let groups = Values::Vertices(outcome.values.clone()).components();
        for (smallest, size) in groups.into_iter().take(options.top) {
            output::line(&format!("{size:>8}  with {}", names[smallest]))?;
        }
    } else {
        let mut order: Vec<usize> =
            (0..names.len()).filter(|vertex| outcome.values[*vertex].is_some()).collect();
        order.sort_by_key(|vertex| std::cmp::Reverse(outcome.values[*vertex]));
        for vertex in order.into_iter().take(options.top) {
            let value = outcome.values[vertex].unwrap_or(0);
            let value = match options.program {
                ProgramArg::Pagerank => format!("{:.6}", value as f64 / (1u64 << 30) as f64),
                _ => value.to_string(),
            };
            output::line(&format!("{value:>8}  {}", names[vertex]))?;
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
fn distances(options: &Options, values: &[Option<u64>]) -> Result<()> {
    let most = options.hops;
    let name = |far: u64| match options.program {
        ProgramArg::Reach => format!("within {most}"),
        ProgramArg::Shortest => format!("{far} long"),
        _ => hops(far),
    };
    let count = |far| values.iter().filter(|value| **value == far).count() as u64;
    let rows: Vec<(String, u64)> = (0..=u64::from(most))
        .map(|far| (name(far), count(Some(far))))
        .filter(|(_, count)| *count > 0)
        .chain([(format!("not within {most}"), count(None))])
        .collect();
    output::bars(&rows)
}
