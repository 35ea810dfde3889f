//! Bytes and rounds are what the formulas say, and the same for graphs of one public size.

use std::collections::BTreeMap;

use futures::FutureExt;
use ostrakon_graph::asked::{self, Noise, Program, ReaderKey, Shown, Terms};
use ostrakon_graph::cost::{self, Cost};
use ostrakon_graph::output::top::key_bits;
use ostrakon_graph::owner::Edge;
use ostrakon_graph::program::Reach;
use ostrakon_graph::ruffle2::seeds::Phase;
use ostrakon_graph::ruffle2::steps::Kind;
use ostrakon_graph::spec::JobSpec;
use ostrakon_party::{Instance, Message, PartyId, Tag};
use ostrakon_testkit::Network;

use crate::common::*;
use crate::service::{self, COMPUTATION, attempt, contribute, terms};

fn program() -> Reach {
    Reach { sources: vec![0] }
}

/// Everything that is sent in each phase, by sender, recipient, step, number and length.
type Phases = Vec<Vec<(u8, u8, u16, u32, usize, u32)>>;

fn phases(seed: u64, spec: &JobSpec, graphs: &[Vec<Edge>]) -> Phases {
    let deployment = Deployment::new(seed);
    let journals = Journals::default();
    let networks: [Network; 3] = Default::default();
    let stock = all(deployment.prepare(&networks[0], spec, program, &journals));
    let stock: Vec<Vec<u8>> = stock.iter().map(|stock| stock.to_bytes()).collect();
    let uploads: Vec<_> = graphs
        .iter()
        .enumerate()
        .map(|(list, edges)| Some(deployment.upload(&stock, program, list, edges, &journals)))
        .collect();
    let linked = all(deployment.link(&networks[1], &stock, program, &uploads, &journals));
    let computed = all(deployment.compute(&networks[2], linked, &journals));
    // Results are opened in the phase of the hops.
    let results = deployment.each(&networks[2], computed, |party, mut computed| {
        let journal = &journals[party.id.index()];
        async move { computed.first_reached(journal).await }.boxed_local()
    });
    all(results);
    let sent = |network: &Network| {
        let sent = network.sent().into_iter().map(|(to, message)| {
            let header = message.signed.header;
            let (step, number) = (header.tag.step.0, header.tag.sequence);
            (header.from.0, to.0, step, number, message.body.len(), message.depth)
        });
        sent.collect()
    };
    networks.iter().map(sent).collect()
}

#[test]
fn bytes_and_rounds_are_as_computed() {
    let spec = spec_of(1, 19, &[21, 3], 3, &program());
    let graphs = [vec![edge(0, 1), edge(1, 2)], vec![edge(2, 3)]];
    let phases = phases(1, &spec, &graphs);
    let values = 3 * 19;
    let results = cost::zero_tests(values);
    let want: [(Cost, u32); 3] = [
        (cost::preparation(&spec), cost::SLICE_ROUNDS),
        (cost::link(&spec), cost::LINK_ROUNDS),
        (cost::hops(&spec) + results, cost::hop_rounds(&spec) + cost::zero_test_rounds(values)),
    ];
    for (phase, (sent, (cost, rounds))) in phases.iter().zip(want).enumerate() {
        let is_table = |step: u16| Kind::TABLES.iter().any(|kind| kind.step().0 == step);
        let bytes = |tables| -> u64 {
            let of = sent.iter().filter(|(_, _, step, ..)| is_table(*step) == tables);
            of.map(|(.., length, _)| *length as u64).sum()
        };
        assert_eq!(bytes(true), cost.table, "phase {phase}");
        assert!(bytes(false) <= cost.constant, "phase {phase}");
        assert!(bytes(false) * 3 > cost.constant, "phase {phase}: the bound says something");
        assert_eq!(sent.iter().map(|(.., depth)| *depth).max(), Some(rounds), "phase {phase}");
    }
}

/// What is sent in an attempt: tables and all else, and the rounds of each phase.
struct Sent {
    tables: u64,
    rest: u64,
    rounds: BTreeMap<Instance, u32>,
}

const EDGES: [(u32, u32); 2] = [(0, 1), (2, 1)];

/// A whole attempt's messages: sender, recipient, phase, step, number, length and depth.
type Messages = Vec<(PartyId, PartyId, Instance, u16, u32, usize, u32)>;

fn messages_of(terms: &Terms, edges: &[(u32, u32)]) -> Messages {
    let network = Network::default();
    let edges: Vec<Edge> = edges.iter().map(|(from, to)| edge(*from, *to)).collect();
    let body = contribute(terms, 0, &edges).body;
    service::all(attempt(&network, terms, (1, 1), &[body], &Journals::default()));
    let of = |(to, message): (PartyId, Message)| {
        let header = message.signed.header;
        let Tag { instance, step, sequence } = header.tag;
        (header.from, to, instance, step.0, sequence, message.body.len(), message.depth)
    };
    network.sent().into_iter().map(of).collect()
}

fn sent_by(terms: &Terms) -> Sent {
    let mut sent = Sent { tables: 0, rest: 0, rounds: BTreeMap::new() };
    for (_, _, instance, step, _, length, depth) in messages_of(terms, &EDGES) {
        let is = Kind::TABLES.iter().any(|kind| kind.step().0 == step);
        *(if is { &mut sent.tables } else { &mut sent.rest }) += length as u64;
        let rounds = sent.rounds.entry(instance).or_default();
        *rounds = (*rounds).max(depth);
    }
    sent
}

const READER: [u8; 32] = [9; 32];

/// Everything that can be asked about five vertices, but for what has two openings of which the
/// second one depends on the first.
fn everything() -> Vec<Terms> {
    let of = |program, shown| terms(5, 4, program, shown);
    let counts = |program| Terms { vertices: 14, ..of(program, Shown::Counts) };
    let noisy = |program, epsilon, bins| Terms {
        noise: Some(Noise { epsilon, bins }),
        ..of(program, Shown::Counts)
    };
    let to_reader =
        |terms: Terms| Terms { reader: Some(ReaderKey(asked::reader(&READER).public())), ..terms };
    let (from, vertices) = (vec![0], Shown::Vertices);
    let distances = Program::Distances { from: from.clone(), hops: 3, processors: None };
    let scattered =
        |processors| Program::Distances { from: vec![0], hops: 3, processors: Some(processors) };
    let shortest = Program::Shortest { from: from.clone(), within: 3, longest: 2 };
    vec![
        of(Program::Pagerank { damping: 850, hops: 2 }, vertices),
        Terms { undirected: true, ..of(Program::Components { hops: 2 }, vertices) },
        of(Program::OutDegrees, Shown::Top(2)),
        of(Program::Reach { from, hops: 2 }, vertices),
        of(Program::Edges, Shown::Counts),
        noisy(Program::Edges, 4000, 0),
        noisy(Program::InDegrees, 8000, 2),
        of(shortest, vertices),
        of(scattered(1), vertices),
        of(scattered(3), vertices),
        to_reader(of(scattered(16), vertices)),
        counts(distances.clone()),
        counts(Program::OutDegrees),
        to_reader(of(distances, vertices)),
        to_reader(of(Program::InDegrees, vertices)),
        to_reader(of(Program::InDegrees, Shown::AtLeast(3))),
        to_reader(of(Program::Edges, Shown::Counts)),
    ]
}

/// What the hops and what is opened of them cost, and in how many rounds.
fn of_query(spec: &JobSpec, terms: &Terms) -> (Cost, u32) {
    let vertices = terms.vertices as usize;
    let (hops, rounds) = (cost::hops(spec), cost::hop_rounds(spec));
    let open = |values: usize| match terms.reader {
        None => (cost::opening(values), 1),
        Some(_) => (cost::closing(values), cost::CLOSING_ROUNDS),
    };
    let tests = |values: usize| {
        let (opening, last) = open(values);
        (cost::batch(values, &[]) + opening, cost::zero_test_rounds(values) - 1 + last)
    };
    let (shown, of_shown) = match (&terms.program, terms.shown) {
        (Program::Pagerank { .. }, _) => {
            return (cost::ranking(spec) + cost::opening(vertices), cost::ranking_rounds(spec) + 1);
        }
        (Program::Components { .. }, _) => {
            return (cost::components(spec), cost::components_rounds(spec));
        }
        (Program::Distances { processors: Some(processors), .. }, _) => {
            // Its own formula opens the distances to all.
            let ((all, rounds), (opening, last)) =
                (cost::minima(spec, *processors), open(vertices));
            let opened = cost::opening(vertices);
            let (table, constant) =
                (all.table - opened.table, all.constant - opened.constant + opening.constant);
            return (Cost { table: table + opening.table, constant }, rounds - 1 + last);
        }
        (Program::Reach { .. }, _) => tests(vertices),
        (Program::Distances { .. } | Program::Shortest { .. }, _) => {
            tests(spec.hops as usize * vertices)
        }
        (Program::Edges, _) if terms.reader.is_some() => open(1),
        (Program::Edges, _) => {
            let coins = terms.coins() as usize;
            (cost::total(coins), cost::total_rounds(coins))
        }
        (_, Shown::Top(_)) => {
            let bits = key_bits(terms.value_bits(1), vertices).unwrap();
            (cost::top(vertices, bits), cost::top_rounds(vertices, bits))
        }
        (_, Shown::AtLeast(threshold)) => {
            let threshold = threshold as usize;
            let (_, closing) = open(0);
            let rounds = cost::at_least_rounds(vertices, threshold) - 2;
            // The value is multiplied with what tells that it is large enough.
            let more = cost::verification_rounds((threshold + 1) * vertices)
                - cost::verification_rounds(threshold * vertices);
            (cost::at_least_closed(vertices, threshold), rounds + 1 + more + closing)
        }
        _ if spec.decoys.is_some() => cost::among_decoys(spec),
        _ => open(vertices),
    };
    (hops + shown, rounds + of_shown)
}

#[test]
fn bytes_and_rounds_of_whatever_is_asked_are_as_computed() {
    for terms in everything() {
        let told = format!("{:?}, {:?}, {:?}", terms.program, terms.shown, terms.reader.is_some());
        let spec = ostrakon_graph::attempt::spec(&COMPUTATION, &terms, 1, 1);
        let (query, rounds) = of_query(&spec, &terms);
        // Uses that begin alone open no differences before.
        let (link, of_link) = match terms.program.processors() {
            None => (cost::link(&spec), cost::LINK_ROUNDS),
            Some(_) => (cost::link_alone(&spec), cost::LINK_ALONE_ROUNDS),
        };
        let of_link = cost::dealt_link_rounds(&spec) + of_link - cost::LINK_ROUNDS;
        let want = cost::dealing(1) + cost::preparation(&spec) + link + query;
        let sent = sent_by(&terms);
        assert_eq!(sent.tables, want.table, "{told}");
        assert!(sent.rest < want.constant, "{told}: {} {want:?}", sent.rest);
        let of = |phase| sent.rounds[&spec.name().instance(phase)];
        assert_eq!(of(Phase::Dealing), cost::DEALING_ROUNDS, "{told}: dealing");
        assert_eq!(of(Phase::Slice(0)), cost::SLICE_ROUNDS, "{told}: a slice");
        assert_eq!(of(Phase::Link), of_link, "{told}: link");
        assert_eq!(of(Phase::Query), rounds, "{told}: query");
    }
}

/// Of counts from a number on the second opening has as many as there are.
#[test]
fn bytes_and_rounds_of_counts_from_a_threshold_on_are_as_computed() {
    for (threshold, shown) in [(1, 1), (2, 1), (3, 0)] {
        let terms = terms(5, 4, Program::InDegrees, Shown::AtLeast(threshold));
        let spec = ostrakon_graph::attempt::spec(&COMPUTATION, &terms, 1, 1);
        let sent = sent_by(&terms);
        let of_counts = cost::at_least(5, threshold as usize, shown);
        let want = cost::dealing(1)
            + cost::preparation(&spec)
            + cost::link(&spec)
            + cost::hops(&spec)
            + of_counts;
        assert_eq!(sent.tables, want.table, "from {threshold} on");
        let rounds = cost::hop_rounds(&spec) + cost::at_least_rounds(5, threshold as usize);
        let of = sent.rounds[&spec.name().instance(Phase::Query)];
        assert_eq!(of, rounds, "from {threshold} on");
    }
}

/// Ranks, decoys, counts, lengths, what is for a reader, and the dealing before: whatever the
/// edges are, the same messages go the same ways.
#[test]
fn messages_of_whatever_is_asked_are_the_same_for_graphs_of_one_public_size() {
    for terms in everything() {
        let (full, empty) = (messages_of(&terms, &[(3, 3); 4]), messages_of(&terms, &[]));
        assert!(full == empty, "{:?}, {:?}", terms.program, terms.shown);
    }
}

#[test]
fn messages_are_the_same_for_graphs_of_one_public_size() {
    let spec = spec_of(2, 5, &[6, 2], 2, &program());
    let full = [vec![edge(0, 1); 6], vec![edge(3, 3), edge(4, 0)]];
    let empty = [Vec::new(), Vec::new()];
    assert_eq!(phases(3, &spec, &full), phases(3, &spec, &empty));
}
