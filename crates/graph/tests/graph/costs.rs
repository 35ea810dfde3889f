//! Bytes and rounds are what the formulas say, and the same for graphs of one public size.

use futures::FutureExt;
use ostrakon_graph::asked::{Noise, Program, Shown, Terms};
use ostrakon_graph::cost::{self, Cost};
use ostrakon_graph::output::top::key_bits;
use ostrakon_graph::owner::Edge;
use ostrakon_graph::program::Reach;
use ostrakon_graph::ruffle2::steps::Kind;
use ostrakon_graph::spec::JobSpec;
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

/// Tables of a whole attempt, and what else is sent.
fn sent_by(terms: &Terms) -> (u64, u64) {
    let network = Network::default();
    let body = contribute(terms, 0, &[edge(0, 1), edge(2, 1)]).body;
    let ends = attempt(&network, terms, (1, 1), &[body], &Journals::default());
    service::all(ends);
    let (mut tables, mut rest) = (0, 0);
    for (_, message) in network.sent() {
        let step = message.signed.header.tag.step;
        let is = Kind::TABLES.iter().any(|kind| kind.step() == step);
        *(if is { &mut tables } else { &mut rest }) += message.body.len() as u64;
    }
    (tables, rest)
}

#[test]
fn bytes_of_ranks_components_highest_values_and_noise_are_as_computed() {
    let of = |program, shown| terms(5, 4, program, shown);
    let undirected =
        Terms { undirected: true, ..of(Program::Components { hops: 2 }, Shown::Vertices) };
    let noise = Some(Noise { epsilon: 4000, bins: 0 });
    let noisy = Terms { noise, ..of(Program::Edges, Shown::Counts) };
    let highest = of(Program::OutDegrees, Shown::Top(2));
    // Three bits of a degree up to 4, and three of a vertex.
    let bits = key_bits(highest.value_bits(1), 5).unwrap();
    assert_eq!(bits, 6);
    let coins = noisy.coins() as usize;
    for terms in [
        of(Program::Pagerank { damping: 850, hops: 2 }, Shown::Vertices),
        undirected,
        highest,
        noisy,
    ] {
        let spec = ostrakon_graph::attempt::spec(&COMPUTATION, &terms, 1, 1);
        let computed = match &terms.program {
            Program::Pagerank { .. } => cost::ranking(&spec) + cost::opening(5),
            Program::Components { .. } => cost::components(&spec),
            Program::Edges => cost::hops(&spec) + cost::batch(2 * coins, &[]) + cost::opening(1),
            _ => cost::hops(&spec) + cost::top(5, bits),
        };
        let want = cost::preparation(&spec) + cost::link(&spec) + computed;
        let (tables, rest) = sent_by(&terms);
        assert_eq!(tables, want.table, "{:?}", terms.program);
        assert!(rest < want.constant + 10_000, "{:?}: {rest} {want:?}", terms.program);
    }
}

#[test]
fn messages_are_the_same_for_graphs_of_one_public_size() {
    let spec = spec_of(2, 5, &[6, 2], 2, &program());
    let full = [vec![edge(0, 1); 6], vec![edge(3, 3), edge(4, 0)]];
    let empty = [Vec::new(), Vec::new()];
    assert_eq!(phases(3, &spec, &full), phases(3, &spec, &empty));
}
