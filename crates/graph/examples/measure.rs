//! Measures a reachability job with three servers in one process, phase by phase:
//!
//! `cargo run --release -p ostrakon-graph --example measure -- VERTICES EDGES HOPS HOPS_PER_SLICE`
//!
//! What is measured is the work of all three, without network and disk.

#![expect(clippy::disallowed_methods, reason = "it measures time")]

mod support;

use futures::FutureExt;
use ostrakon_graph::owner::Edge;
use ostrakon_graph::program::Reach;
use ostrakon_kernels::Prg;

fn graph(vertices: u32, edges: u32) -> Vec<Edge> {
    let mut bytes = vec![0; 8 * edges as usize];
    Prg::new(&[8; 32]).fill(&mut bytes);
    let end = |word: &[u8]| Some(u32::from_le_bytes(word.try_into().expect("4 bytes")) % vertices);
    bytes
        .chunks_exact(8)
        .map(|words| Edge { source: end(&words[..4]), target: end(&words[4..]) })
        .collect()
}

fn main() {
    let numbers: Vec<u32> =
        std::env::args().skip(1).map(|n| n.parse().expect("a number")).collect();
    let &[vertices, edges, hops, slice] = &numbers[..] else {
        panic!("VERTICES EDGES HOPS HOPS_PER_SLICE")
    };
    let mut servers = support::Servers::new();
    let (program, edges) = (|| Reach { sources: vec![0] }, graph(vertices, edges));
    let computed = servers.compute(program, (vertices, &edges), (hops, slice));
    let reached = servers.open(computed, |mut computed, journal| {
        async move { computed.reached(journal).await }.boxed_local()
    });
    println!("{} of {vertices} vertices reached", reached[0].iter().filter(|bit| **bit).count());
}
