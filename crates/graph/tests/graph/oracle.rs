//! Honest runs against a plain computation on the same graphs.

use std::collections::BTreeSet;

use futures::FutureExt;
use ostrakon_computation::ComputationId;
use ostrakon_crypto::Digest;
use ostrakon_field::Fp61;
use ostrakon_graph::asked::{self, Program, ReaderKey, Shown, Terms, Values};
use ostrakon_graph::output::{Computed, Reader};
use ostrakon_graph::owner::{self, Edge};
use ostrakon_graph::program::{Degree, Katz, Reach, VertexProgram};
use ostrakon_graph::ruffle2::fault::Stop;
use ostrakon_graph::spec::Direction;
use ostrakon_testkit::Network;

use crate::common::*;
use crate::service::{honest, terms};

/// Edges of several owners at random, with half-edges, self-loops, parallel edges, and vertices
/// that nobody mentions.
pub fn graphs(draw: &mut Draw, vertices: u32, caps: &[u32]) -> Vec<Vec<Edge>> {
    let used = draw.below(vertices) + 1;
    let end = |draw: &mut Draw| (draw.below(8) != 0).then(|| draw.below(used));
    caps.iter()
        .map(|cap| {
            let count = draw.below(*cap + 1);
            let mut edges: Vec<Edge> =
                (0..count).map(|_| Edge { source: end(draw), target: end(draw) }).collect();
            if let [first, .., last] = &mut edges[..] {
                *last = *first;
            }
            edges
        })
        .collect()
}

pub fn whole(graphs: &[Vec<Edge>], direction: Direction) -> Vec<(u32, u32)> {
    let ends = graphs.iter().flatten().filter_map(|edge| Some((edge.source?, edge.target?)));
    match direction {
        Direction::Forward | Direction::BackwardOnce => ends.collect(),
        Direction::Backward => ends.map(|(a, b)| (b, a)).collect(),
    }
}

/// Breadth-first search: the least number of edges from a source, up to a limit.
pub fn distances(
    edges: &[(u32, u32)],
    vertices: u32,
    sources: &[u32],
    hops: u32,
) -> Vec<Option<u32>> {
    let mut distance = vec![None; vertices as usize];
    let mut front: BTreeSet<u32> = sources.iter().copied().collect();
    for hop in 0..=hops {
        let mut next = BTreeSet::new();
        for v in front {
            if distance[v as usize].is_none() {
                distance[v as usize] = Some(hop);
                next.extend(edges.iter().filter(|(from, _)| *from == v).map(|(_, to)| *to));
            }
        }
        front = next;
    }
    distance
}

/// Runs an output on all servers, which must agree.
fn agreed<P: VertexProgram, T: PartialEq + 'static>(
    deployment: &Deployment,
    computed: Vec<Computed<P>>,
    output: impl for<'a> Fn(
        &'a mut Computed<P>,
        &'a Memory,
    ) -> futures::future::LocalBoxFuture<'a, Result<T, Stop>>,
    journals: &Journals,
) -> T {
    let results = deployment.each(&Network::default(), computed, |party, mut computed| {
        let (output, journal) = (&output, &journals[party.id.index()]);
        async move { output(&mut computed, journal).await }.boxed_local()
    });
    let [a, b, c] = all(results).try_into().ok().expect("three");
    assert!(a == b && b == c, "the servers have one result");
    a
}

#[test]
fn distances_and_reach_are_those_of_breadth_first_search() {
    let cases = if nightly() { 200 } else { 24 };
    for seed in 0..cases {
        let deployment = Deployment::new(seed);
        let mut draw = Draw::new(seed);
        let (vertices, hops) = (1 + draw.below(8), 1 + draw.below(4));
        let caps: Vec<u32> = (0..1 + draw.below(3)).map(|_| draw.below(8)).collect();
        let sources = vec![draw.below(vertices)];
        let program = || Reach { sources: sources.clone() };
        let mut spec = spec_of(seed, vertices, &caps, hops, &program());
        spec.direction = [Direction::Forward, Direction::Backward][draw.below(2) as usize];
        let graphs = graphs(&mut draw, vertices, &caps);
        let journals = Journals::default();
        let computed = deployment.result(&spec, program, &graphs, &journals);
        let want = distances(&whole(&graphs, spec.direction), vertices, &sources, hops);
        let got = agreed(
            &deployment,
            computed,
            |computed, journal| {
                async move {
                    let first = computed.first_reached(journal).await?;
                    Ok((first, computed.reached(journal).await?))
                }
                .boxed_local()
            },
            &journals,
        );
        // The source itself keeps its value, so it has one after the first hop.
        let want: Vec<_> = want.into_iter().map(|d| d.map(|d| d.max(1))).collect();
        assert_eq!(got.0, want, "seed {seed}: {graphs:?}");
        let reached: Vec<bool> = want.iter().map(Option::is_some).collect();
        assert_eq!(got.1, reached, "seed {seed}");
    }
}

#[test]
fn degrees_count_edges_with_both_ends() {
    let cases = if nightly() { 200 } else { 16 };
    for seed in 0..cases {
        let deployment = Deployment::new(1000 + seed);
        let mut draw = Draw::new(1000 + seed);
        let vertices = 1 + draw.below(8);
        let caps: Vec<u32> = (0..1 + draw.below(3)).map(|_| draw.below(10)).collect();
        let mut spec = spec_of(seed, vertices, &caps, 1, &Degree);
        spec.direction = [Direction::Forward, Direction::Backward][draw.below(2) as usize];
        let graphs = graphs(&mut draw, vertices, &caps);
        let journals = Journals::default();
        let edges = whole(&graphs, spec.direction);
        let mut want = vec![0; vertices as usize];
        edges.iter().for_each(|(_, to)| want[*to as usize] += 1);
        let computed = deployment.result(&spec, || Degree, &graphs, &journals);
        let got = agreed(
            &deployment,
            computed,
            |computed, journal| {
                async move {
                    let large = computed.at_least(2, journal).await?;
                    Ok((large, computed.values().await?))
                }
                .boxed_local()
            },
            &journals,
        );
        let values: Vec<u64> = got.1.iter().map(|value| value.value()).collect();
        assert_eq!(values, want, "seed {seed}: {graphs:?}");
        let large: Vec<_> = want.iter().map(|d| (*d >= 2).then(|| Fp61::new(*d))).collect();
        assert!(got.0 == large, "seed {seed}: counts below the threshold stay closed");
    }
}

/// What Katz's recursion says of walks over edges with both ends.
fn katz(edges: &[(u32, u32)], vertices: u32, base: u64, hops: u32) -> Vec<u64> {
    let mut values = vec![1; vertices as usize];
    for hop in 0..hops {
        let mut next = vec![base.pow(hop + 1); vertices as usize];
        edges.iter().for_each(|(from, to)| next[*to as usize] += values[*from as usize]);
        values = next;
    }
    values
}

#[test]
fn katz_sums_walks() {
    let cases = if nightly() { 100 } else { 12 };
    for seed in 0..cases {
        let deployment = Deployment::new(2000 + seed);
        let mut draw = Draw::new(2000 + seed);
        let (vertices, hops, base) =
            (1 + draw.below(8), 1 + draw.below(3), 2 + u64::from(draw.below(9)));
        let caps: Vec<u32> = (0..1 + draw.below(3)).map(|_| draw.below(8)).collect();
        let program = || Katz { base };
        let mut spec = spec_of(seed, vertices, &caps, hops, &program());
        spec.direction = [Direction::Forward, Direction::Backward][draw.below(2) as usize];
        let graphs = graphs(&mut draw, vertices, &caps);
        let journals = Journals::default();
        let computed = deployment.result(&spec, program, &graphs, &journals);
        let got = agreed(
            &deployment,
            computed,
            |computed, _| async move { computed.values().await }.boxed_local(),
            &journals,
        );
        let got: Vec<u64> = got.iter().map(|value| value.value()).collect();
        let want = katz(&whole(&graphs, spec.direction), vertices, base, hops);
        assert_eq!(got, want, "seed {seed}: {graphs:?}");
    }
}

/// Half-edges lead nowhere, whatever is asked: where they would give or take something, were they
/// edges.
#[test]
fn edges_without_an_end_join_nothing_shorten_nothing_and_lift_nobody() {
    let half = |source, target| Edge { source, target };
    let (shown, vertices) = (Shown::Vertices, 5);
    let of = |terms: &Terms, edges: &[Edge]| {
        let half =
            [half(Some(1), None), half(None, Some(2)), half(None, Some(2)), half(None, None)];
        let more: Vec<Edge> = edges.iter().copied().chain(half).collect();
        let without = honest(terms, &[edges.to_vec(), Vec::new()], 2100).1;
        // Both owners have them, the second one nothing else.
        let with = honest(terms, &[more, half.to_vec()], 2101).1;
        assert_eq!(with, without, "{:?}", terms.program);
        with
    };
    let joined = terms(vertices, 6, Program::Components { hops: 2 }, shown);
    let joined = Terms { undirected: true, ..joined };
    let want = [0, 1, 2, 0, 4].map(Some).to_vec();
    assert_eq!(of(&joined, &[edge(0, 3)]), Values::Vertices(want));
    let shortest = Program::Shortest { from: vec![0], within: 6, longest: 3 };
    let ways = [edge(0, 1).delayed(2, vertices), edge(1, 3).delayed(3, vertices)];
    let want = vec![Some(0), Some(2), None, Some(5), None];
    assert_eq!(of(&terms(vertices, 6, shortest, shown), &ways), Values::Vertices(want));
    let top = terms(vertices, 6, Program::InDegrees, Shown::Top(1));
    let want = vec![None, None, None, Some(1), None];
    assert_eq!(of(&top, &[edge(0, 3)]), Values::Vertices(want));
}

#[test]
fn contact_tracing_takes_its_sources_in_secret_and_tells_one_reader() {
    let deployment = Deployment::new(6);
    let journals = Journals::default();
    let program = || Reach { sources: Vec::new() };
    let mut spec = spec_of(2, 6, &[3, 3], 2, &program());
    spec.querier = Some(key(2).verifying_key());
    let stock = deployment.stock(&spec, program, &journals);
    let graphs = [vec![edge(0, 1), edge(1, 2), edge(2, 3)], vec![edge(4, 4)]];
    let mut uploads: Vec<_> = (0..2)
        .map(|list| Some(deployment.upload(&stock, program, list, &graphs[list], &journals)))
        .collect();
    let seeds = deployment.seeds(&stock, &program, 2, &journals);
    let values = [1, 0, 0, 0, 1, 0].map(ostrakon_field::Gf64);
    uploads.push(Some(deployment.sign(&spec, 2, owner::masked_input(&values, &seeds))));
    let network = Network::default();
    let linked = all(deployment.link(&network, &stock, program, &uploads, &journals));
    let computed = all(deployment.compute(&Network::default(), linked, &journals));
    let (computation, own) = (ComputationId(Digest([8; 32])), asked::reader(&[3; 32]));
    let to = ReaderKey(own.public());
    let closed = agreed(
        &deployment,
        computed,
        |computed, journal| {
            async move {
                let last = computed.last().map(<[_]>::to_vec);
                let reader = Reader { computation: &computation, key: &to };
                computed.nonzero_to(&last, reader, journal).await
            }
            .boxed_local()
        },
        &journals,
    );
    let got = closed.open::<ostrakon_field::Gf64>(&computation, &own, 6).unwrap();
    let reached: Vec<bool> =
        got.elements.into_iter().map(|v| v != ostrakon_field::Gf64::ZERO).collect();
    assert_eq!((reached, got.liars), (vec![true, true, true, false, true, false], vec![]));
}
