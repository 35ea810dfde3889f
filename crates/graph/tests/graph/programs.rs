//! Shortest ways, components and the highest values: what owners and servers can spoil.

use std::sync::atomic::{AtomicUsize, Ordering};

use ostrakon_graph::asked::{BadTerms, Program, ReaderKey, Shown, Terms, Values, reader};
use ostrakon_graph::attempt::{Failed, instances};
use ostrakon_graph::owner::Edge;
use ostrakon_graph::ruffle2::steps::Kind;
use ostrakon_party::{Message, PartyId};
use ostrakon_testkit::{Network, Saboteur, World};

use crate::common::{Journals, edge, is_just, nightly};
use crate::service::{COMPUTATION, Ends, all, attempt, contribute, honest, terms};

#[path = "../../examples/own_program.rs"]
mod own_program;

fn components(hops: u32) -> Terms {
    let terms = terms(5, 3, Program::Components { hops }, Shown::Vertices);
    Terms { undirected: true, ..terms }
}

fn top(count: u32) -> Terms {
    terms(5, 6, Program::InDegrees, Shown::Top(count))
}

fn bodies(terms: &Terms, edges: &[Edge]) -> Vec<Vec<u8>> {
    vec![contribute(terms, 0, edges).body]
}

/// Attack: a server adds an error to any message of the new steps: no honest one takes another
/// result for true.
#[test]
fn an_error_in_any_message_of_components_and_of_the_highest_is_caught() {
    let cases = [
        (components(1), vec![edge(0, 3), edge(4, 1)]),
        (top(2), vec![edge(0, 3), edge(1, 3), edge(2, 4)]),
    ];
    let kinds = [Kind::Product, Kind::Opening, Kind::OpeningDigest, Kind::LevelProduct];
    for (case, (terms, edges)) in (0usize..).zip(&cases) {
        let bodies = bodies(terms, edges);
        let run = |network: &Network| -> Ends {
            attempt(network, terms, (1, 90), &bodies, &Journals::default())
        };
        let network = Network::default();
        let want = all(run(&network));
        let roster = World::new(90, 3).roster;
        let instances = instances(&COMPUTATION, terms, 1, 90);
        let places = kinds.into_iter().enumerate();
        for (which_kind, (corrupt, kind)) in places
            .flat_map(|(i, kind)| [0u8, 1, 2].map(|p| (i, (p, kind))))
            .filter(|(i, (p, _))| nightly() || (*i + usize::from(*p) + case).is_multiple_of(3))
        {
            let of = |message: &Message| {
                let header = &message.signed.header;
                header.from.0 == corrupt && header.tag.step == kind.step()
            };
            let count = network.sent().iter().filter(|(_, message)| of(message)).count();
            assert!(count > 0, "{kind:?}");
            let late = (count - 1).saturating_sub(which_kind);
            let picks: Vec<usize> = if nightly() { (0..count).collect() } else { vec![late] };
            for which in picks {
                let seen = AtomicUsize::new(0);
                let key = World::new(90, 3).key(PartyId(corrupt));
                let spoil = move |_, message: &Message| {
                    let is = message.signed.header.tag.step == kind.step();
                    let mut body = message.body.to_vec();
                    body[0] ^= 1;
                    (is && seen.fetch_add(1, Ordering::SeqCst) == which).then_some(body)
                };
                let network = Network::default();
                network.corrupt(Saboteur::rewriting(PartyId(corrupt), key, spoil));
                let told = format!("{:?} {kind:?} {which} P{corrupt}", terms.program);
                let mut stopped = false;
                for (party, end) in run(&network).into_iter().enumerate() {
                    match end {
                        _ if party == usize::from(corrupt) => {}
                        Some(Ok(got)) => assert_eq!(got.values, want.1, "{told}"),
                        Some(Err(Failed::Stop(stop))) => {
                            let just = is_just(&stop, PartyId(corrupt), &roster, &instances);
                            assert!(just, "{told}: {stop:?}");
                            stopped = true;
                        }
                        None => {}
                        Some(Err(failed)) => panic!("{told}: {failed}"),
                    }
                }
                assert!(stopped, "{told}: nobody has noticed");
            }
        }
    }
}

/// Attack: an owner has edges into what vertices were some hops ago, to learn where another's edge
/// is half-way, or to shorten it. They lead nowhere.
#[test]
fn edges_into_delayed_vertices_lead_nowhere() {
    let program = Program::Shortest { from: vec![0], within: 6, longest: 3 };
    let terms = terms(4, 3, program, Shown::Vertices);
    // 0 →(3) 1 →(1) 2.
    let theirs = vec![edge(0, 1).delayed(3, 4), edge(1, 2)];
    let want = Values::Vertices(vec![Some(0), Some(3), Some(4), None]);
    assert_eq!(honest(&terms, &[theirs.clone(), Vec::new()], 91).1, want);
    // Vertices 4 to 11 are those of one and two hops ago.
    let into = vec![edge(0, 4 + 1), edge(0, 8 + 1), edge(0, 8)];
    assert_eq!(honest(&terms, &[theirs, into], 92).1, want);
}

/// The rows of what vertices were are no part of what is shuffled and counted.
#[test]
fn shortest_ways_are_counted_without_delayed_vertices() {
    let program = Program::Shortest { from: vec![0], within: 4, longest: 2 };
    let terms = terms(12, 3, program, Shown::Counts);
    let edges = vec![edge(0, 5).delayed(2, 12), edge(5, 7), edge(0, 6)];
    let counts = vec![(None, 8), (Some(0), 1), (Some(1), 1), (Some(2), 1), (Some(3), 1)];
    assert_eq!(honest(&terms, &[edges], 97).1, Values::Counts(counts));
}

#[test]
fn too_few_hops_are_seen_where_a_vertex_is_called_by_one_that_is_not_called_so() {
    // A way 4 – 3 – 0 – 2, three hops from end to end.
    let edges = [edge(4, 3), edge(3, 0), edge(0, 2)];
    let of = |hops| honest(&components(hops), &[edges.to_vec()], 93).1;
    let all = Values::Vertices(vec![Some(0), Some(1), Some(0), Some(0), Some(0)]);
    assert_eq!(of(3), all);
    assert_ne!(of(1), all);
}

#[test]
fn of_equal_values_the_first_vertices_come_first_also_for_a_reader() {
    let edges = vec![edge(0, 3), edge(1, 3), edge(2, 4), edge(2, 1), edge(0, 0)];
    let want = |count: usize| {
        let order = [3, 0, 1, 4, 2];
        let degree = [1, 1, 0, 2, 1];
        let of = |v: usize| order[..count].contains(&v).then_some(degree[v]);
        Values::Vertices((0..5).map(of).collect())
    };
    for count in [1, 3, 5] {
        let got = honest(&top(count), std::slice::from_ref(&edges), 94).1;
        assert_eq!(got, want(count as usize), "{count}");
    }
    let key = reader(&[7; 32]);
    let closed = Terms { reader: Some(ReaderKey(key.public())), ..top(3) };
    let values = honest(&closed, &[edges], 95).1;
    assert!(matches!(values, Values::Closed(_)));
    let (opened, liars) = values.opened(&COMPUTATION, &closed, &key).unwrap();
    assert_eq!((opened, liars), (want(3), Vec::new()));
}

/// Attack: numbers or lengths of messages tell who is among the first, or how components lie.
#[test]
fn messages_are_the_same_whoever_is_first_and_whatever_hangs_together() {
    for (terms, graphs) in [
        (components(1), [vec![edge(0, 1)], vec![edge(4, 3), edge(3, 2), edge(0, 1)]]),
        (top(2), [vec![edge(0, 1)], vec![edge(1, 4), edge(2, 4), edge(3, 2)]]),
    ] {
        let seen = graphs.map(|edges| {
            let network = Network::default();
            let bodies = bodies(&terms, &edges);
            all(attempt(&network, &terms, (1, 96), &bodies, &Journals::default()));
            let of = |message: &Message| {
                let header = &message.signed.header;
                (header.from.0, header.tag.step.0, header.tag.sequence, header.length)
            };
            let mut sent: Vec<_> = network.sent().iter().map(|(_, m)| of(m)).collect();
            sent.sort_unstable();
            sent
        });
        assert_eq!(seen[0], seen[1], "{:?}", terms.program);
    }
}

#[test]
fn what_cannot_be_computed_is_refused() {
    let shortest = |vertices, longest, weighted| {
        let program = Program::Shortest { from: vec![0], within: 4, longest };
        Terms { weighted, ..terms(vertices, 4, program, Shown::Vertices) }.validate(1)
    };
    assert_eq!(shortest(100, 16, false), Ok(()));
    for refused in [
        shortest(100, 17, false),
        shortest(100, 0, false),
        shortest(1 << 17, 16, false),
        shortest(100, 2, true),
    ] {
        assert_eq!(refused, Err(BadTerms::Lengths));
    }
    assert_eq!(components(4).validate(1), Ok(()));
    let reader = Some(ReaderKey(reader(&[7; 32]).public()));
    for terms in [
        Terms { undirected: false, ..components(4) },
        Terms { shown: Shown::Counts, ..components(4) },
        Terms { reader, ..components(4) },
    ] {
        assert_eq!(terms.validate(1), Err(BadTerms::Components));
    }
    assert_eq!(components(33).validate(1), Err(BadTerms::Hops));
    assert_eq!(top(5).validate(1), Ok(()));
    let katz = Program::Katz { base: 10, hops: 2 };
    for terms in [
        top(0),
        top(6),
        Terms { program: katz, ..top(2) },
        Terms { program: Program::Reach { from: vec![0], hops: 2 }, ..top(2) },
        Terms { vertices: (1 << 13) + 1, ..top(2) },
    ] {
        assert_eq!(terms.validate(1), Err(BadTerms::Top));
    }
}

/// The guide's program of one's own computes what it says, and is as short as it says.
#[test]
fn a_program_of_ones_own_is_short_and_right() {
    own_program::main();
    assert!(include_str!("../../examples/own_program.rs").lines().count() < 60);
}
