//! Results with noise, reach and the number of edges.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ostrakon_graph::asked::{self, Noise, Program, ReaderKey, Shown, Terms, Values};
use ostrakon_graph::attempt::{Failed, instances};
use ostrakon_graph::owner::Edge;
use ostrakon_graph::ruffle2::fault::Stop;
use ostrakon_graph::ruffle2::steps::Kind;
use ostrakon_party::{Message, PartyId};
use ostrakon_testkit::{Network, Saboteur, World};

use crate::common::*;
use crate::service::{COMPUTATION, all, attempt, contribute, honest, terms};

fn with_noise(program: Program, noise: Noise) -> Terms {
    Terms { noise: Some(noise), ..terms(6, 6, program, Shown::Counts) }
}

fn graphs() -> [Vec<Edge>; 2] {
    [vec![edge(0, 1), edge(2, 1), edge(1, 1)], vec![edge(3, 1), edge(0, 2)]]
}

fn bodies(terms: &Terms) -> Vec<Vec<u8>> {
    (0..).zip(graphs()).map(|(owner, edges)| contribute(terms, owner, &edges).body).collect()
}

#[test]
fn edges_are_counted_and_vertices_are_reached() {
    let total = honest(&terms(6, 6, Program::Edges, Shown::Counts), &graphs(), 1).1;
    assert_eq!(total, Values::Total(5));
    let reach = |hops| Program::Reach { from: vec![3], hops };
    let values = |hops| honest(&terms(6, 6, reach(hops), Shown::Vertices), &graphs(), 2).1;
    let reached = |which: [u8; 6]| Values::Vertices(which.map(|r| (r > 0).then_some(1)).to_vec());
    assert_eq!(values(1), reached([0, 1, 0, 1, 0, 0]));
    assert_eq!(values(3), reached([0, 1, 0, 1, 0, 0]));
    let counts = terms(12, 6, reach(2), Shown::Counts);
    let want = Values::Counts(vec![(None, 10), (Some(1), 2)]);
    assert_eq!(honest(&counts, &graphs(), 3).1, want);
}

/// Noise is as wide as that many coins make it, and has the mean of what is counted.
#[test]
fn the_number_of_edges_has_noise_that_differs() {
    let terms = with_noise(Program::Edges, Noise { epsilon: 1000, bins: 0 });
    let coins = f64::from(terms.coins());
    let draws = if nightly() { 200 } else { 6 };
    let of = |seed| match honest(&terms, &graphs(), seed).1 {
        Values::Total(total) => total,
        other => panic!("{other:?}"),
    };
    let totals: Vec<u64> = (0..draws).map(of).collect();
    let wide = 6.0 * coins.sqrt() / 2.0;
    assert!(totals.iter().all(|total| (*total as f64) < 5.0 + wide), "{totals:?}");
    assert!(totals.iter().any(|total| *total != totals[0]), "{totals:?}");
}

#[test]
fn degrees_are_counted_among_decoys() {
    let noise = Noise { epsilon: 8000, bins: 3 };
    let terms = with_noise(Program::InDegrees, noise);
    let decoys = terms.decoys().unwrap();
    let Values::Counts(counts) = honest(&terms, &graphs(), 4).1 else { panic!("counts") };
    let degrees: Vec<u64> = counts.iter().map(|(degree, _)| degree.unwrap()).collect();
    assert_eq!(degrees, [0, 1, 2, 3], "the last one is of 3 and more");
    // Of six vertices four have no edge, one has one, and one has four.
    let wide = 6.0 * f64::from(decoys.each).sqrt() / 2.0;
    for ((_, count), want) in counts.iter().zip([4.0, 1.0, 0.0, 1.0]) {
        assert!((*count as f64) < want + wide, "{counts:?}");
    }
    // To a reader: the same among the same decoys, since they hang on the attempt's keys.
    let own = asked::reader(&[3; 32]);
    let closed = Terms { reader: Some(ReaderKey(own.public())), ..terms };
    let (_, values) = honest(&closed, &graphs(), 4);
    assert!(matches!(values, Values::Closed(_)));
    let (values, liars) = values.opened(&COMPUTATION, &closed, &own).unwrap();
    assert!(liars.is_empty() && matches!(values, Values::Counts(counts) if counts.len() == 4));
}

/// Attack: a server that has seen what came out breaks the attempt off, so that another one with
/// other noise is made, and takes the mean.
#[test]
fn what_has_noise_is_opened_in_one_attempt_only() {
    let terms = with_noise(Program::Edges, Noise { epsilon: 1000, bins: 0 });
    let (bodies, journals) = (bodies(&terms), Journals::default());
    let once = all(attempt(&Network::default(), &terms, (1, 1), &bodies, &journals));
    let network = Network::default();
    for end in attempt(&network, &terms, (1, 2), &bodies, &journals) {
        let failed = end.expect("waiting").err().expect("a second result");
        assert!(matches!(failed, Failed::Stop(Stop::Spent(_))), "{failed}");
    }
    // The same attempt goes on after a restart, and shows the same.
    assert_eq!(all(attempt(&Network::default(), &terms, (1, 1), &bodies, &journals)), once);
    // What is exact shows the same in every attempt.
    let exact = Terms { noise: None, ..terms };
    for number in [3, 4] {
        let (_, values) =
            all(attempt(&Network::default(), &exact, (1, number), &bodies, &journals));
        assert_eq!(values, Values::Total(5));
    }
}

/// Attack: a server makes coins that are none, so that there is less noise, or a number as it
/// likes.
#[test]
fn an_error_in_any_message_of_the_noise_is_caught() {
    let noise = Noise { epsilon: 10_000, bins: 1 };
    let of_edges = Noise { epsilon: 10_000, bins: 0 };
    for terms in [with_noise(Program::Edges, of_edges), with_noise(Program::InDegrees, noise)] {
        let (bodies, roster) = (bodies(&terms), World::new(9, 3).roster);
        let instances = instances(&COMPUTATION, &terms, bodies.len(), 9);
        for (corrupt, which) in [0, 1, 2].into_iter().flat_map(|p| [0, 1, 3].map(|w| (p, w))) {
            let network = Network::default();
            let key = World::new(9, 3).key(PartyId(corrupt));
            let seen = Arc::new(AtomicUsize::new(0));
            let counter = seen.clone();
            let spoil = move |_, message: &Message| {
                let is = message.signed.header.tag.step == Kind::Product.step();
                let mut body = message.body.to_vec();
                body[0] ^= 1;
                (is && counter.fetch_add(1, Ordering::SeqCst) == which).then_some(body)
            };
            network.corrupt(Saboteur::rewriting(PartyId(corrupt), key, spoil));
            let ends = attempt(&network, &terms, (1, 9), &bodies, &Journals::default());
            let products = seen.load(Ordering::SeqCst);
            assert!(products > 1, "coins take two products each");
            let honest = (0..3).filter(|party| *party != usize::from(corrupt));
            for party in honest.filter(|_| products > which) {
                match &ends[party] {
                    Some(Ok(_)) => panic!("P{corrupt} {which}: P{party} believes it"),
                    Some(Err(Failed::Stop(stop))) => {
                        let just = is_just(stop, PartyId(corrupt), &roster, &instances);
                        assert!(just, "P{corrupt} {which}: {stop:?}");
                    }
                    Some(Err(failed)) => panic!("P{corrupt} {which}: {failed}"),
                    None => {}
                }
            }
        }
    }
}
