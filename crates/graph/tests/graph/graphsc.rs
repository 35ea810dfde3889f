//! Distances by scatter and gather, with several numbers of processors: equal to those of linear
//! hops and of breadth-first search, in the rounds and bytes of the formula.

use futures::FutureExt;
use ostrakon_graph::cost::{self, Cost};
use ostrakon_graph::graphsc::{MAX_DISTANCE, Minima};
use ostrakon_graph::owner::Edge;
use ostrakon_graph::program::number;
use ostrakon_graph::program::{Reach, VertexProgram};
use ostrakon_graph::query::Linked;
use ostrakon_graph::ruffle2::fault::Stop;
use ostrakon_graph::ruffle2::steps::Kind;
use ostrakon_graph::spec::{Direction, JobSpec};
use ostrakon_testkit::Network;

use crate::common::*;
use crate::oracle::{distances, graphs, whole};

fn minima(processors: u32) -> Minima {
    Minima { sources: vec![0], processors }
}

fn linked<P: VertexProgram>(
    deployment: &Deployment,
    network: &Network,
    spec: &JobSpec,
    program: impl Fn() -> P,
    graphs: &[Vec<Edge>],
    journals: &Journals,
) -> Vec<Linked<P>> {
    let stock = deployment.stock(spec, &program, journals);
    let upload = |(list, edges): (usize, &Vec<Edge>)| {
        Some(deployment.upload(&stock, &program, list, edges, journals))
    };
    let uploads: Vec<_> = graphs.iter().enumerate().map(upload).collect();
    all(deployment.link(network, &stock, &program, &uploads, journals))
}

fn compute(
    deployment: &Deployment,
    network: &Network,
    linked: Vec<Linked<Minima>>,
    journals: &Journals,
) -> Results<Vec<Option<u64>>> {
    deployment.each(network, linked, |party, linked| {
        let journal = &journals[party.id.index()];
        let randomness = deployment.world.randomness(party.id, "minima");
        let hops = linked.spec().hops;
        async move {
            let mut computed = linked.minima(&party, randomness, journal).await?;
            let words = computed.values().await?;
            Ok(words.into_iter().map(|word| number(word, hops)).collect())
        }
        .boxed_local()
    })
}

/// Distances by scatter and gather, the same at all servers.
pub fn minima_of(
    seed: u64,
    (vertices, hops): (u32, u32),
    source: u32,
    processors: u32,
    graphs: &[Vec<Edge>],
) -> Vec<Option<u64>> {
    let deployment = Deployment::new(seed);
    let program = || Minima { sources: vec![source], processors };
    let caps: Vec<u32> = graphs.iter().map(|edges| edges.len().max(1) as u32).collect();
    let spec = spec_of(seed, vertices, &caps, hops, &program());
    let (journals, network) = (Journals::default(), Network::default());
    let linked = linked(&deployment, &network, &spec, program, graphs, &journals);
    let got = all(compute(&deployment, &network, linked, &journals));
    assert!(got.iter().all(|values| *values == got[0]));
    got.into_iter().next().unwrap()
}

/// Bytes in tables and in all else, and the longest chain of messages.
fn sent(network: &Network) -> (Cost, u32) {
    let (mut cost, mut rounds) = (Cost::default(), 0);
    for (_, message) in network.sent() {
        let step = message.signed.header.tag.step;
        let is_table = Kind::TABLES.iter().any(|kind| kind.step() == step);
        *(if is_table { &mut cost.table } else { &mut cost.constant }) += message.body.len() as u64;
        rounds = rounds.max(message.depth);
    }
    (cost, rounds)
}

/// Random multigraphs of several owners, half-edges and lone vertices among them, and every
/// relation of rows to processors: one, some, as many, more.
#[test]
fn distances_rounds_and_bytes_are_those_of_the_formula_for_every_number_of_processors() {
    let cases = if nightly() { 200 } else { 8 };
    for seed in 0..cases {
        let deployment = Deployment::new(600 + seed);
        let mut draw = Draw::new(600 + seed);
        let (vertices, hops) = (1 + draw.below(8), 1 + draw.below(4));
        let caps: Vec<u32> = (0..1 + draw.below(3)).map(|_| 1 + draw.below(8)).collect();
        let graphs = graphs(&mut draw, vertices, &caps);
        let processors = [1, 2, 3, 4, 7, 32][seed as usize % 6];
        let program = || minima(processors);
        let spec = spec_of(seed, vertices, &caps, hops, &program());
        let (journals, networks) = (Journals::default(), [Network::default(), Network::default()]);
        let linked = linked(&deployment, &networks[0], &spec, program, &graphs, &journals);
        let got = all(compute(&deployment, &networks[1], linked, &journals));
        let edges = whole(&graphs, Direction::Forward);
        let want = distances(&edges, vertices, &[0], hops);
        let want: Vec<_> = want.into_iter().map(|far| far.map(u64::from)).collect();
        let told = format!("seed {seed}, {processors} processors");
        assert!(got.iter().all(|got| *got == want), "{told}: {got:?} {want:?}");
        let (tables, rounds) = cost::minima(&spec, processors);
        for (network, (want, of)) in networks
            .iter()
            .zip([(cost::link_alone(&spec), cost::LINK_ALONE_ROUNDS), (tables, rounds)])
        {
            let (cost, rounds) = sent(network);
            assert_eq!((cost.table, rounds), (want.table, of), "{told}");
            assert!(cost.constant <= want.constant, "{told}");
        }
    }
}

/// The main way, on the same graphs.
#[test]
fn distances_are_those_of_linear_hops() {
    for seed in 0..(if nightly() { 40 } else { 3 }) {
        let deployment = Deployment::new(640 + seed);
        let mut draw = Draw::new(640 + seed);
        let graphs = graphs(&mut draw, 6, &[9, 4]);
        let reach = || Reach { sources: vec![0] };
        let journals = Journals::default();
        let computed =
            deployment.result(&spec_of(1, 6, &[9, 4], 3, &reach()), reach, &graphs, &journals);
        let linear = deployment.each(&Network::default(), computed, |party, mut computed| {
            let journal = &journals[party.id.index()];
            async move { computed.first_reached(journal).await }.boxed_local()
        });
        let spec = spec_of(2, 6, &[9, 4], 3, &minima(4));
        let network = Network::default();
        let linked = linked(&deployment, &network, &spec, || minima(4), &graphs, &journals);
        let mut least = all(compute(&deployment, &network, linked, &journals)).remove(0);
        // The source has its value back after a hop.
        assert_eq!(least[0].replace(1), Some(0));
        let linear = all(linear).remove(0);
        let linear: Vec<_> = linear.into_iter().map(|hops| hops.map(u64::from)).collect();
        assert_eq!(least, linear, "seed {seed}");
    }
}

/// With as many rows on a processor as a round goes through, rounds grow with the list; with as
/// many processors as rows, with its logarithm.
#[test]
fn more_processors_take_fewer_rounds() {
    let spec = spec_of(1, 5_000, &[5_000], 1, &minima(1));
    let rounds = |processors| cost::minima(&spec, processors).1;
    let fixed = 12 + 2 * (2 + 1 + 3) + 1 + 1;
    let levels = |products: u32| 2 * (f64::from(products) / 16.0).log(16.0).ceil() as u32;
    // Scatter and gather go through ⌈10,000/32⌉ rows, over five levels of blocks, and once back.
    let scan = 312 + 5 + 1;
    let once = 2 * (312 * 32 + 129) + 312 * 31;
    assert_eq!(rounds(32), fixed + 2 * scan + levels(once) + levels(10_000 + 2 * once));
    assert!(rounds(1) > 2 * 9_999 && rounds(10_000) < 100 && rounds(1_000) < rounds(32));
}

/// Numbers and lengths of messages are the same for graphs of one public size.
#[test]
fn messages_of_scatter_and_gather_say_nothing_of_the_graph() {
    let seen = [vec![edge(0, 1); 3], Vec::new()].map(|edges| {
        let deployment = Deployment::new(650);
        let (journals, network) = (Journals::default(), Network::default());
        let spec = spec_of(1, 4, &[3], 2, &minima(2));
        let linked = linked(&deployment, &network, &spec, || minima(2), &[edges], &journals);
        all(compute(&deployment, &network, linked, &journals));
        let sent = network.sent().into_iter().map(|(to, message)| {
            let header = message.signed.header;
            (header.from.0, to.0, header.tag, message.body.len(), message.depth)
        });
        sent.map(|of| format!("{of:?}")).collect::<Vec<_>>()
    });
    assert_eq!(seen[0], seen[1]);
}

/// Edges without an end stand before a list's first vertex or behind its last one, beside another
/// list's rows.
#[test]
fn nothing_passes_from_one_list_to_another() {
    let deployment = Deployment::new(653);
    let program = || Minima { sources: vec![2], processors: 3 };
    let spec = spec_of(1, 3, &[1, 1], 2, &program());
    let graphs = [
        vec![Edge { source: Some(2), target: None }],
        vec![Edge { source: None, target: Some(1) }],
    ];
    let (journals, network) = (Journals::default(), Network::default());
    let linked = linked(&deployment, &network, &spec, program, &graphs, &journals);
    for got in all(compute(&deployment, &network, linked, &journals)) {
        assert_eq!(got, [None, None, Some(0)]);
    }
}

/// Attack: the differences of linear hops are opened, or such hops are made, for a program whose
/// uses begin alone: two tables under the same input masks would show each other.
#[test]
fn uses_that_begin_alone_hide_one_table_each() {
    let deployment = Deployment::new(651);
    let (journals, network) = (Journals::default(), Network::default());
    let spec = spec_of(1, 4, &[3], 1, &minima(2));
    let linked = linked(&deployment, &network, &spec, || minima(2), &[vec![edge(0, 1)]], &journals);
    let openings = |network: &Network| {
        let is = |kind: Kind, step| kind.step() == step;
        let sent = network.sent();
        let of = sent.iter().filter(|(_, m)| is(Kind::Opening, m.signed.header.tag.step));
        of.count()
    };
    // Of the order check: three differences and the verdict, from each server.
    assert_eq!(openings(&network), 3 * 4);
    let ends = deployment.compute(&Network::default(), linked, &journals);
    assert!(ends.iter().all(|end| matches!(end, Some(Err(Stop::Check(_))))));
}

#[test]
fn minima_that_cannot_be_computed_are_refused() {
    let deployment = Deployment::new(652);
    for (number, spec) in [
        spec_of(0, 2, &[1], 1, &minima(0)),
        spec_of(1, 2, &[1], MAX_DISTANCE + 1, &minima(1)),
        JobSpec { direction: Direction::Backward, ..spec_of(2, 2, &[1], 1, &minima(1)) },
        JobSpec { delays: 2, ..spec_of(3, 2, &[1], 1, &minima(1)) },
        JobSpec { shuffled: true, ..spec_of(4, 2, &[1], 1, &minima(1)) },
    ]
    .into_iter()
    .enumerate()
    {
        let program = || minima(u32::from(number != 0));
        let (journals, network) = (Journals::default(), Network::default());
        let linked = linked(&deployment, &network, &spec, program, &[vec![edge(0, 1)]], &journals);
        let ends = compute(&deployment, &network, linked, &journals);
        assert!(ends.iter().all(|end| matches!(end, Some(Err(Stop::Check(_))))), "{number}");
    }
}
