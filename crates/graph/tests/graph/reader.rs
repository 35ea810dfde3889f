//! Results for one reader, and what is told while an attempt runs.

use std::sync::{Arc, Mutex};

use ostrakon_crypto::sealed::ExchangeKey;
use ostrakon_graph::asked::{
    self, Program, ReaderKey, SealedSeeds, Shown, Terms, Unreadable, Values,
};
use ostrakon_graph::attempt;
use ostrakon_graph::owner::Edge;
use ostrakon_graph::ruffle2::seeds::Phase;
use ostrakon_graph::ruffle2::steps::Kind;
use ostrakon_graph::watch::{Stage, Watch};
use ostrakon_party::PartyId;
use ostrakon_testkit::Network;

use crate::common::{Journals, edge};
use crate::service::{
    COMPUTATION, all, attempt as attempted, contribute, corrupted, distances, honest, member,
    terms, watched,
};

/// What is shown for one reader is what would be shown to all; and the public part of it, which all
/// servers have, is made of elements that look random.
#[test]
fn a_result_for_one_reader_is_read_by_nobody_else() {
    let graphs = [vec![edge(0, 1), edge(2, 1), edge(1, 1)], vec![edge(3, 1), edge(0, 2)]];
    let own = asked::reader(&[9; 32]);
    let (katz, vertices) = (Program::Katz { base: 10, hops: 2 }, Shown::Vertices);
    for (program, shown) in [
        (distances(0, 2), vertices),
        (distances(0, 2), Shown::Counts),
        (Program::InDegrees, Shown::Counts),
        (Program::OutDegrees, vertices),
        (Program::InDegrees, Shown::AtLeast(2)),
        (katz, vertices),
    ] {
        let what = format!("{program:?}, {shown:?}");
        let open = terms(4, 3, program, shown);
        let closed = Terms { reader: Some(ReaderKey(own.public())), ..open.clone() };
        let (want, got) = (honest(&open, &graphs, 8).1, honest(&closed, &graphs, 8).1);
        let Values::Closed(public) = &got else { panic!("{what}: open") };
        let words = public.masked.0.as_chunks::<8>().0;
        assert_eq!(words.len(), closed.closed_words(), "{what}");
        let small = words.iter().filter(|word| u64::from_le_bytes(**word) < 1 << 40).count();
        assert_eq!(small, 0, "{what}: something stands there without a mask");
        let read = |key: &ExchangeKey| got.clone().opened(&COMPUTATION, &closed, key);
        assert_eq!(read(&own), Ok((want, vec![])), "{what}");
        assert_eq!(read(&asked::reader(&[8; 32])), Err(Unreadable::OtherKey), "{what}");
        // What one server alone knows does not suffice: the seeds of two pairs of three.
        for server in 0..3 {
            assert_eq!(read(&member(server)), Err(Unreadable::OtherKey), "{what}");
        }
    }
}

/// A server that spoils what is for the reader: its share, the digest of one, the seeds that it
/// states, or only those that it seals. The first three stop everybody; the last one the reader
/// sees, and who did it, and has the result nevertheless.
#[test]
fn a_server_that_lies_to_the_reader_is_noticed() {
    let own = asked::reader(&[9; 32]);
    let mut terms = terms(3, 2, distances(0, 2), Shown::Vertices);
    terms.reader = Some(ReaderKey(own.public()));
    let bodies = [contribute(&terms, 0, &[edge(0, 1)]).body];
    let query = attempt::spec(&COMPUTATION, &terms, 1, 12).name().instance(Phase::Query);
    for corrupt in 0..3u8 {
        // Where it is spoilt, and whether somebody stops.
        let lies = [
            (Kind::Opening, 0, true),
            (Kind::OpeningDigest, 0, true),
            (Kind::ReaderSeeds, 0, true),
            (Kind::ReaderSeeds, SealedSeeds::BYTES - 1, false),
        ];
        for (kind, byte, stops) in lies {
            let network = corrupted(12, corrupt, move |_, message| {
                let tag = message.signed.header.tag;
                (tag.instance == query && tag.step == kind.step()).then(|| {
                    let mut body = message.body.to_vec();
                    body[byte] ^= 1;
                    body
                })
            });
            let ends = attempted(&network, &terms, (1, 12), &bodies, &Journals::default());
            let what = format!("P{corrupt}, {kind:?}, byte {byte}");
            let honest: Vec<_> = (0..3).filter(|id| *id != usize::from(corrupt)).collect();
            let stopped = honest.iter().filter(|id| matches!(&ends[**id], Some(Err(_)))).count();
            assert_eq!(stopped > 0, stops, "{what}");
            let Some(Ok(computation)) = &ends[honest[0]] else { continue };
            let opened = computation.values.clone().opened(&COMPUTATION, &terms, &own);
            let want = Values::Vertices(vec![Some(0), Some(1), None]);
            let liars = if stops { vec![] } else { vec![usize::from(corrupt)] };
            assert_eq!(opened, Ok((want, liars)), "{what}");
        }
    }
}

/// The stages pass in the protocol's order, the same for two graphs of one public size.
#[test]
fn stages_are_told_as_they_pass_and_say_nothing_of_the_graph() {
    let terms = terms(5, 4, distances(0, 9), Shown::Counts);
    let told = |edges: &[Edge]| {
        let stages = Arc::new(Mutex::new(vec![Vec::new(); 3]));
        let watch = |party: PartyId| {
            let stages = Arc::clone(&stages);
            Watch::new(move |stage| stages.lock().unwrap()[party.index()].push(stage))
        };
        let bodies = [contribute(&terms, 0, edges).body];
        let network = Network::default();
        all(watched(&network, &terms, (1, 1), &bodies, &Journals::default(), watch));
        Arc::try_unwrap(stages).unwrap().into_inner().unwrap()
    };
    let preparing = (0..3).map(|done| Stage::Preparing { done, of: 3 });
    let hops = (0..9).map(|done| Stage::Hop { done, of: 9 });
    let want: Vec<Stage> = preparing
        .chain([Stage::Checking])
        .chain(hops)
        .chain([Stage::Verifying, Stage::Opening])
        .collect();
    assert_eq!(told(&[edge(0, 1)]), vec![want.clone(); 3]);
    assert_eq!(told(&[edge(0, 1), edge(1, 2), edge(2, 3), edge(3, 4)]), vec![want; 3]);
}
