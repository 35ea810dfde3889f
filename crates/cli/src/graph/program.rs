//! What can be computed on a graph, as the command line names it.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use ostrakon_graph::edges::Names;

/// What is computed.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ProgramArg {
    /// How many edges each vertex is away: breadth-first search.
    #[value(alias = "bfs")]
    Distances,
    /// Which vertices are within so many hops.
    Reach,
    /// How long the shortest way to each vertex is; a third field on a line is an edge's length.
    Shortest,
    /// Which vertices hang together; edges lead in both directions; shows `vertices`.
    Components,
    /// How many edges there are.
    Edges,
    /// How many edges lead to each vertex; with weights, its strength.
    InDegrees,
    /// How many edges lead from each vertex.
    OutDegrees,
    /// Katz centrality, scaled to integers.
    Katz,
    /// PageRank, as parts of all; shows `vertices` or `top:N`.
    Pagerank,
}

impl ProgramArg {
    /// Whether it begins from given vertices.
    pub fn begins(self) -> bool {
        matches!(self, Self::Distances | Self::Reach | Self::Shortest)
    }

    /// The vertices that `--from` names, each once. `absent` says what it is if it has no number.
    ///
    /// # Errors
    /// If some are named and none are needed, or the other way round, or one does not exist.
    pub fn beginnings(self, from: &[String], names: &Names, absent: &str) -> Result<Vec<u32>> {
        let begins = self.begins();
        ensure!(begins || from.is_empty(), "--from is for distances, reach and shortest");
        ensure!(!begins || !from.is_empty(), "say with --from NAME where it begins");
        let vertex =
            |name: &String| names.vertex(name).with_context(|| format!("--from {name}: {absent}"));
        let from: BTreeSet<u32> = from.iter().map(vertex).collect::<Result<_>>()?;
        Ok(from.into_iter().collect())
    }
}
