//! A vertex program of one's own: lazy walks (`docs/vertex-programs.md`).
//!
//! `cargo run -p ostrakon-graph --example own_program`

#![expect(clippy::disallowed_methods, reason = "the servers here measure their time")]

mod support;

use futures::FutureExt;
use ostrakon_field::Fp61;
use ostrakon_graph::owner::Edge;
use ostrakon_graph::program::{Along, Next, VertexProgram};

/// In how many ways a walk of so many steps that begins at `from` can end at each vertex. Each step
/// follows an edge, or stays where it is in one of `stays` ways.
struct LazyWalks {
    from: u32,
    stays: u64,
}

impl VertexProgram for LazyWalks {
    type F = Fp61;

    fn describe(&self) -> Vec<u8> {
        format!("lazy walks, {}, {}", self.from, self.stays).into_bytes()
    }

    fn start(&self, vertex: u32) -> Fp61 {
        if vertex == self.from { Fp61::ONE } else { Fp61::ZERO }
    }

    fn along(&self, _hop: u32) -> Along<Fp61> {
        Along::Times(Fp61::ONE)
    }

    fn next(&self, _hop: u32) -> Next<Fp61> {
        Next { gathered: Fp61::ONE, kept: Fp61::new(self.stays), added: Fp61::ZERO }
    }
}

/// Counts walks, and compares with what is counted by hand.
pub fn main() {
    let edge = |(a, b)| Edge { source: Some(a), target: Some(b) };
    let edges = [(0, 1), (1, 2), (2, 0), (0, 2)].map(edge);
    let mut servers = support::Servers::new();
    let computed = servers.compute(|| LazyWalks { from: 0, stays: 2 }, (4, &edges), (2, 2));
    let opened = servers
        .open(computed, |mut computed, _| async move { computed.values().await }.boxed_local());
    let values: Vec<u64> = opened[0].iter().map(|value| value.value()).collect();
    // Of vertex 2: 0-2 and stay (2 ways), stay and 0-2 (2 ways), 0-1-2.
    assert_eq!(values, [5, 4, 5, 0]);
    println!("{values:?}");
}
