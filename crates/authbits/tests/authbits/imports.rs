//! Attacks on imports of bits from one segment into another.

use std::sync::Mutex;

use futures::FutureExt;
use ostrakon_authbits::ot::Width;
use ostrakon_authbits::{Abort, Kind, Refused, SegmentSpec};
use ostrakon_party::PartyId;
use ostrakon_testkit::Network;

use crate::attacks::{flipped, is};
use crate::world::{Committee, all, deal, small};

/// Every party authenticates two bits under one key and imports them under another. What it came
/// to, and what both segments say to a further call.
fn imports(committee: &Committee, network: &Network) -> Vec<Option<[Option<Refused>; 3]>> {
    committee.world.run(network, |party| {
        async move {
            let mut source = committee.prepare(&party, small(2)).await.unwrap();
            let target = SegmentSpec { number: 2, ..small(2) };
            let mut target = committee.prepare(&party, target).await.unwrap();
            let dealt = deal(5, committee.parties, party.id.index(), &[true, false]);
            let refused = match source.authenticate(&dealt).await {
                // Whoever has failed here says so, and has nothing more to say.
                Err(refused) => return [Some(refused), source.random(1).await.err(), None],
                Ok(shares) => target.import(&mut source, &shares).await.err(),
            };
            [refused, source.random(1).await.err(), target.random(1).await.err()]
        }
        .boxed_local()
    })
}

/// P1 gives P0 other bits under the target's trees than under the source's: they would be masks of
/// which the sum is opened under one key and added under the other.
#[test]
fn an_import_masks_with_one_string_under_both_keys() {
    let committee = Committee::new(10, 2);
    // 16 trees of each segment; a tree's corrections for two bits and two masks are three words.
    let (tree, lot) = (24, 24 * 2 * Width::Narrow.trees());
    let network = committee.corrupt(1, move |_, message| {
        (is(message, Kind::Corrections) && message.body.len() == lot).then(|| {
            let mut body = message.body.to_vec();
            body[lot / 2..].chunks_exact_mut(tree).for_each(|tree| tree[0] ^= 1);
            body
        })
    });
    let found = Some(Refused::Aborted(Abort::Correlation(PartyId(1))));
    let burnt = Some(Refused::Burnt);
    assert_eq!(imports(&committee, &network)[0], Some([found, burnt, burnt]));
}

/// P1 opens other bits to P0 than to P2 under the source's key. The views tell, before a sum does
/// that would be a multiple of one honest party's key alone.
#[test]
fn an_import_compares_what_was_opened_under_the_source_key() {
    let committee = Committee::new(10, 3);
    let network = committee.corrupt(1, |to, message| {
        let in_source = message.signed.header.tag.instance == small(2).instance();
        (in_source && is(message, Kind::Opening) && to == PartyId(0)).then(|| flipped(message, 1))
    });
    let results = imports(&committee, &network);
    for party in [0, 2] {
        let stop = results[party].expect("not waiting")[0];
        let clean = matches!(stop, Some(Refused::Aborted(Abort::View(_) | Abort::Stopped(_))));
        assert!(clean, "P{party}: {stop:?}");
    }
}

/// A segment of another session has other peers: its bits are refused, and nothing is burnt.
#[test]
fn an_import_from_another_session_is_refused() {
    let [here, there] = [10, 11].map(|seed| Committee::new(seed, 2));
    let foreign = all(there.run(&Network::default(), small(2), async |mut segment| {
        let shares = segment.random(1).await.unwrap();
        (segment, shares)
    }));
    let foreign: Vec<_> = foreign.into_iter().map(|of_party| Mutex::new(Some(of_party))).collect();
    all(here.run(&Network::default(), small(2), async |mut segment| {
        let of_party = foreign[segment.party().index()].lock().unwrap().take();
        let (mut source, shares) = of_party.unwrap();
        let refused = segment.import(&mut source, &shares).await.err();
        assert_eq!(refused, Some(Refused::OtherCommittee));
        segment.random(1).await.unwrap();
    }));
}

/// P1 makes P0 stop in the source when P2 has all it needs there: P2 hears of it in the import.
#[test]
fn a_stop_in_the_source_stops_the_import() {
    let committee = Committee::new(10, 3);
    let network = committee
        .corrupt(1, |to, message| (is(message, Kind::Opening) && to == PartyId(0)).then(Vec::new));
    let results = imports(&committee, &network);
    let length = Some(Refused::Aborted(Abort::Length(PartyId(1))));
    let burnt = Some(Refused::Burnt);
    assert_eq!(results[0], Some([length, burnt, None]));
    let stopped = Some(Refused::Aborted(Abort::Stopped(PartyId(0))));
    assert_eq!(results[2], Some([stopped, burnt, burnt]));
}
