//! What can be computed, and what can be shown of it.

use serde::{Deserialize, Serialize};

use crate::edges::Third;

/// What is computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    /// How many edges each vertex is away from the nearest of these, up to so many.
    Distances {
        /// Where distances are counted from, in ascending order.
        from: Vec<u32>,
        /// How far is looked.
        hops: u32,
        /// With so many processors by scatter and gather, as the paper does; without by linear
        /// hops, which take fewer rounds and bytes and come to the same.
        processors: Option<u32>,
    },
    /// Which vertices can be reached from these within so many hops.
    Reach {
        /// Where it begins, in ascending order.
        from: Vec<u32>,
        /// How far is looked.
        hops: u32,
    },
    /// How long the shortest way to each vertex from the nearest of these is, up to so long; the
    /// third field on a line says how long an edge is.
    Shortest {
        /// Where ways begin, in ascending order.
        from: Vec<u32>,
        /// The length of the longest way that is looked for.
        within: u32,
        /// The length of the longest edge.
        longest: u32,
    },
    /// The smallest vertex of each vertex's component, as far as so many hops lead across it.
    Components {
        /// The hops.
        hops: u32,
    },
    /// How many edges there are.
    Edges,
    /// How many edges lead to each vertex.
    InDegrees,
    /// How many edges lead from each vertex.
    OutDegrees,
    /// Katz centrality with attenuation 1/base, cut off after so many hops and scaled to integers.
    Katz {
        /// The inverse of the attenuation.
        base: u64,
        /// The longest walks that count.
        hops: u32,
    },
    /// PageRank after so many steps, scaled by 2^30.
    Pagerank {
        /// The part of a rank that follows edges, in thousandths.
        damping: u32,
        /// The steps.
        hops: u32,
    },
}

/// What is shown of the vertices' values, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// The value of every vertex.
    Vertices,
    /// How many vertices have which value, and not which ones.
    Counts,
    /// The value of every vertex that has at least this one.
    AtLeast(u32),
    /// So many vertices with the highest values, and these; of equal ones the first vertices.
    Top(u32),
}

impl Program {
    /// The vertices from which something begins.
    pub fn from(&self) -> &[u32] {
        match self {
            Program::Distances { from, .. }
            | Program::Reach { from, .. }
            | Program::Shortest { from, .. } => from,
            _ => &[],
        }
    }

    /// How many hops are asked for; where components are, for each bit.
    pub fn asked_hops(&self) -> u32 {
        match self {
            Program::Distances { hops, .. }
            | Program::Reach { hops, .. }
            | Program::Shortest { within: hops, .. }
            | Program::Components { hops }
            | Program::Katz { hops, .. }
            | Program::Pagerank { hops, .. } => *hops,
            Program::Edges | Program::InDegrees | Program::OutDegrees => 1,
        }
    }

    /// How many of a vertex's last values a hop takes up.
    pub fn delays(&self) -> u32 {
        match self {
            Program::Shortest { longest, .. } => *longest,
            _ => 1,
        }
    }

    /// What the third field on a line says.
    pub fn third(&self, weighted: bool) -> Third {
        match self {
            Program::Shortest { longest, .. } => Third::Length(*longest),
            _ if weighted => Third::Edges,
            _ => Third::Nothing,
        }
    }

    /// How many processors scatter and gather have, if that is how it is computed.
    pub fn processors(&self) -> Option<u32> {
        match self {
            Program::Distances { processors, .. } => *processors,
            _ => None,
        }
    }

    /// Whether what comes out are counts of edges.
    pub fn counts_edges(&self) -> bool {
        matches!(self, Program::InDegrees | Program::OutDegrees)
    }
}
