//! PageRank against the same numbers in the clear, and against networkx.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use ostrakon_graph::asked::{Program, Shown, Values};
use ostrakon_graph::owner::Edge;
use ostrakon_graph::query::Linked;
use ostrakon_graph::ranking::PageRank;
use ostrakon_graph::ruffle2::fault::Stop;
use ostrakon_graph::ruffle2::steps::Kind;
use ostrakon_graph::spec::{Direction, JobSpec};
use ostrakon_party::{Message, PartyId};
use ostrakon_testkit::{Network, Saboteur};

use crate::common::*;
use crate::service::{honest, terms};

const ONE: u64 = 1 << 30;

/// What the servers compute, on numbers that are known: rounded down wherever they round down.
fn in_the_clear(
    vertices: u32,
    edges: &[(u32, u32)],
    cap: u64,
    damping: u64,
    hops: u32,
) -> Vec<u64> {
    let digits = u64::BITS - cap.leading_zeros();
    let mut degrees = vec![0u64; vertices as usize];
    edges.iter().for_each(|(from, _)| degrees[*from as usize] += 1);
    let inverse = |d: u64| {
        let newton = |y: u64, _| ((u128::from(y) * u128::from(2 * ONE - d * y)) >> 30) as u64;
        ((0..digits + 6).fold(ONE >> digits, newton) * (damping * ONE / 1000)) >> 30
    };
    let inverses: Vec<u64> = degrees.iter().map(|d| if *d > 0 { inverse(*d) } else { 0 }).collect();
    let share = ONE / u64::from(vertices);
    let mut ranks = vec![share; vertices as usize];
    for _ in 0..hops {
        let mut next = vec![0; vertices as usize];
        for (from, to) in edges {
            next[*to as usize] += (ranks[*from as usize] * inverses[*from as usize]) >> 30;
        }
        let rest = ((ONE - next.iter().sum::<u64>()) * share) >> 30;
        ranks = next.into_iter().map(|rank| rank + rest).collect();
    }
    ranks
}

/// PageRank by definition, in floating-point numbers.
fn by_definition(vertices: u32, edges: &[(u32, u32)], damping: f64, hops: u32) -> Vec<f64> {
    let n = f64::from(vertices);
    let degree = |v: u32| edges.iter().filter(|(from, _)| *from == v).count() as f64;
    let mut ranks = vec![1.0 / n; vertices as usize];
    for _ in 0..hops {
        let mut next = vec![0.0; vertices as usize];
        for (from, to) in edges {
            next[*to as usize] += damping * ranks[*from as usize] / degree(*from);
        }
        let rest = (1.0 - next.iter().sum::<f64>()) / n;
        ranks = next.into_iter().map(|rank| rank + rest).collect();
    }
    ranks
}

#[test]
fn ranks_are_those_of_the_definition() {
    let cases = if nightly() { 40 } else { 2 };
    for seed in 0..cases {
        let mut draw = Draw::new(400 + seed);
        let (vertices, hops) = (2 + draw.below(6), 1 + draw.below(3));
        let edges: Vec<(u32, u32)> =
            (0..draw.below(9)).map(|_| (draw.below(vertices), draw.below(vertices))).collect();
        let own = |parity: usize| {
            let own = edges.iter().enumerate().filter(|(i, _)| i % 2 == parity);
            own.map(|(_, (from, to))| edge(*from, *to)).collect::<Vec<Edge>>()
        };
        let program = Program::Pagerank { damping: 850, hops };
        let terms = terms(vertices, 6, program, Shown::Vertices);
        let (_, values) = honest(&terms, &[own(0), own(1)], 400 + seed);
        let want = in_the_clear(vertices, &edges, 12, 850, hops);
        let exact = want.iter().map(|rank| Some(*rank)).collect();
        assert_eq!(values, Values::Vertices(exact), "seed {seed}");
        for (rank, real) in want.iter().zip(by_definition(vertices, &edges, 0.85, hops)) {
            let rank = *rank as f64 / ONE as f64;
            assert!((rank - real).abs() < 1e-7, "seed {seed}: {rank} {real}");
        }
    }
}

fn spec(number: u64) -> (JobSpec, Vec<Edge>) {
    let program = PageRank { damping: 850 };
    let mut spec = spec_of(number, 3, &[3], 2, &program);
    spec.direction = Direction::BackwardOnce;
    (spec, vec![edge(0, 1), edge(0, 2), edge(1, 0)])
}

fn linked(deployment: &Deployment, journals: &Journals, number: u64) -> Vec<Linked<PageRank>> {
    let program = || PageRank { damping: 850 };
    let (spec, edges) = spec(number);
    let stock = deployment.stock(&spec, program, journals);
    let upload = deployment.upload(&stock, program, 0, &edges, journals);
    all(deployment.link(&Network::default(), &stock, program, &[Some(upload)], journals))
}

/// What each server opens, or why it stopped.
fn rank(
    deployment: &Deployment,
    network: &Network,
    journals: &Journals,
    linked: Vec<Linked<PageRank>>,
) -> Results<Vec<u64>> {
    deployment.each(network, linked, |party, linked| {
        let journal = &journals[party.id.index()];
        let randomness = deployment.world.randomness(party.id, "rank");
        async move {
            let mut computed = linked.rank(&party, randomness, journal).await?;
            Ok(computed.values().await?.iter().map(|value| value.value()).collect())
        }
        .boxed_local()
    })
}

fn ranked(
    deployment: &Deployment,
    network: &Network,
    journals: &Journals,
    number: u64,
) -> Results<Vec<u64>> {
    rank(deployment, network, journals, linked(deployment, journals, number))
}

/// Attack: a server adds an error to a message of the ranking: to a product, to what is opened
/// under a mask, to the values with which a hop begins.
#[test]
fn an_error_in_any_message_of_a_ranking_is_caught() {
    let deployment = Deployment::new(71);
    let network = Network::default();
    let want = all(ranked(&deployment, &network, &Journals::default(), 1)).remove(0);
    let instances = instances_of(&spec(1).0);
    let kinds = [Kind::Product, Kind::Opening, Kind::OpeningDigest, Kind::LevelProduct];
    for (kind, corrupt) in kinds.into_iter().flat_map(|kind| [0, 1, 2].map(|p| (kind, p))) {
        let of = |message: &Message| {
            let header = &message.signed.header;
            header.from.0 == corrupt && header.tag.step == kind.step()
        };
        let count = network.sent().iter().filter(|(_, message)| of(message)).count();
        assert!(count > 20, "{kind:?}: {count}");
        let (first, step) = if nightly() { (0, 1) } else { (usize::from(corrupt), count / 2) };
        for which in (first..count).step_by(step) {
            let seen = AtomicUsize::new(0);
            let key = deployment.world.key(PartyId(corrupt));
            let spoil = move |_, message: &Message| {
                let is = message.signed.header.tag.step == kind.step();
                let mut body = message.body.to_vec();
                body[0] ^= 1;
                (is && seen.fetch_add(1, Ordering::SeqCst) == which).then_some(body)
            };
            let network = Network::default();
            network.corrupt(Saboteur::rewriting(PartyId(corrupt), key, spoil));
            let ends = ranked(&deployment, &network, &Journals::default(), 1);
            let told = format!("{kind:?} {which} P{corrupt}");
            let honest = (0..3).filter(|party| *party != usize::from(corrupt));
            let mut stopped = false;
            for end in honest.map(|party| &ends[party]) {
                match end {
                    Some(Ok(ranks)) => assert_eq!(ranks, &want, "{told}: other ranks"),
                    Some(Err(stop)) => {
                        let roster = &deployment.world.roster;
                        let just = is_just(stop, PartyId(corrupt), roster, &instances);
                        assert!(just, "{told}: {stop:?}");
                        stopped = true;
                    }
                    None => {}
                }
            }
            assert!(stopped, "{told}: nobody has noticed");
        }
    }
}

/// Attack: an owner wants more of a rank to follow its edges than is a vertex's due. It has no
/// number to hand in, and edges without an end count in no out-degree.
#[test]
fn edges_without_an_end_take_no_rank_and_give_none() {
    let deployment = Deployment::new(72);
    let journals = Journals::default();
    let want = all(ranked(&deployment, &Network::default(), &journals, 1)).remove(0);
    let edges = [(0, 1), (0, 2), (1, 0)];
    assert_eq!(want, in_the_clear(3, &edges, 6, 850, 1));
    let half = [
        Edge { source: Some(0), target: None },
        Edge { source: None, target: Some(2) },
        Edge { source: None, target: None },
    ];
    let program = || PageRank { damping: 850 };
    let (mut spec, mut list) = spec(2);
    spec.lists[0].edges = 6;
    list.extend(half);
    let journals = Journals::default();
    let stock = deployment.stock(&spec, program, &journals);
    let upload = deployment.upload(&stock, program, 0, &list, &journals);
    let linked =
        all(deployment.link(&Network::default(), &stock, program, &[Some(upload)], &journals));
    assert_eq!(all(rank(&deployment, &Network::default(), &journals, linked)).remove(0), want);
}

/// Attack: a ranking is asked whose numbers would not fit into the field, or without the hop that
/// counts what is divided by.
#[test]
fn rankings_that_cannot_be_exact_are_refused() {
    let program = || PageRank { damping: 1001 };
    for (program, direction) in
        [(program(), Direction::BackwardOnce), (PageRank { damping: 850 }, Direction::Forward)]
    {
        let deployment = Deployment::new(73);
        let journals = Journals::default();
        let spec = JobSpec { direction, ..spec_of(1, 2, &[1], 2, &program) };
        let stock = deployment.stock(&spec, || program, &journals);
        let upload = deployment.upload(&stock, || program, 0, &[edge(0, 1)], &journals);
        let network = Network::default();
        let linked = all(deployment.link(&network, &stock, || program, &[Some(upload)], &journals));
        for end in rank(&deployment, &network, &journals, linked) {
            assert!(matches!(end, Some(Err(Stop::Check(_)))));
        }
    }
}
