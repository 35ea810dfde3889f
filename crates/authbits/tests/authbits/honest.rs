//! Everybody honest: identities of whole segments, circuits, imports.

use futures::FutureExt;
use ostrakon_authbits::programs::select;
use ostrakon_authbits::{SegmentSpec, prepare};
use ostrakon_crypto::Secret;
use ostrakon_testkit::{Network, World};

use crate::world::{
    Committee, SPEC, all, bits, deal, nightly, reconstruct, small, ticket, whole_key,
};

/// Steps 1 to 10 with real base transfers.
#[test]
fn every_triple_and_mac_of_a_segment_is_right() {
    for parties in [2, 3] {
        let world = World::new(parties as u64, parties);
        let segments = all(world.run(&Network::default(), |party| {
            let random = Secret::new(world.randomness(party.id, "segment"));
            async move { prepare(&party, ticket(&party, small(100)), random).await }.boxed_local()
        }));
        let key = whole_key(segments.iter().map(|segment| segment.key().expose()));
        let of = |component: usize| {
            let shares: Vec<_> =
                segments.iter().map(|segment| segment.triples()[component].clone()).collect();
            reconstruct(&shares, key)
        };
        let [x, y, z] = [of(0), of(1), of(2)];
        assert!((0..100).all(|i| z[i] == (x[i] & y[i])), "{parties} parties");
        for component in [x, y] {
            let ones = component.iter().filter(|bit| **bit).count();
            assert!((20..80).contains(&ones), "{parties} parties: {ones} ones of 100");
        }
    }
}

#[test]
fn dealt_base_transfers_make_segments_of_any_size() {
    let mut sizes = vec![(2, 1, 3), (2, 63, 3), (3, 64, 4), (3, 129, 5), (5, 200, 3)];
    // Columns are made in parts of 8192 rows: of these the second part has masks only, one row
    // besides, and there is a third one.
    sizes.extend([(2, 2730, 3), (2, 2731, 3), (3, 4001, 5)]);
    if nightly() {
        sizes.push((3, 276_325, 3));
    }
    for (parties, triples, bucket) in sizes {
        let committee = Committee::new(7, parties);
        let spec = SegmentSpec { number: 4, triples, bucket, security: 0 };
        let segments = all(committee.run(&Network::default(), spec, async |segment| segment));
        let key = whole_key(segments.iter().map(|segment| segment.key().expose()));
        let of = |component: usize| {
            let shares: Vec<_> =
                segments.iter().map(|segment| segment.triples()[component].clone()).collect();
            reconstruct(&shares, key)
        };
        let [x, y, z] = [of(0), of(1), of(2)];
        assert!((0..triples).all(|i| z[i] == (x[i] & y[i])), "{parties} parties, {spec:?}");
    }
}

/// The median of random lists with ties, against sorting.
#[test]
fn medians_among_committees_agree_with_sorting() {
    for (parties, count, width) in [(2, 9, 3), (3, 10, 4), (5, 5, 3)] {
        for seed in 0..if nightly() { 20 } else { 1 } {
            let committee = Committee::new(100 + seed, parties);
            let input = bits(seed + count as u64, count * width);
            let circuit = select::median(count, width);
            let opened = all(committee.run(&Network::default(), SPEC, async |mut segment| {
                let dealt = deal(5, parties, segment.party().index(), &input);
                let shares = segment.authenticate(&dealt).await.unwrap();
                let outputs = segment.evaluate(&circuit, &shares).await.unwrap();
                assert_eq!(segment.triples_left(), SPEC.triples - circuit.ands());
                segment.reveal(&outputs).await.unwrap()
            }));
            let number = |bits: &[bool]| bits.iter().rev().fold(0, |n, b| 2 * n + usize::from(*b));
            let mut values: Vec<usize> = input.chunks(width).map(number).collect();
            values.sort_unstable();
            for out in opened {
                let out: Vec<bool> = (0..width).map(|i| out.get(i)).collect();
                assert_eq!(number(&out), values[(count - 1) / 2], "seed {seed}");
            }
        }
    }
}

#[test]
fn bits_are_imported_from_key_to_key() {
    for parties in [2, 3] {
        let committee = Committee::new(12, parties);
        let input = bits(8, 70);
        let results = committee.world.run(&Network::default(), |party| {
            let (committee, input) = (&committee, &input);
            async move {
                let mut source = committee.prepare(&party, small(2)).await?;
                let target = SegmentSpec { number: 2, ..small(2) };
                let mut target = committee.prepare(&party, target).await?;
                let dealt = deal(5, committee.parties, party.id.index(), input);
                let shares = source.authenticate(&dealt).await.unwrap();
                let moved = target.import(&mut source, &shares).await.unwrap();
                assert_eq!(moved.key(), target.key_id());
                let opened = target.reveal(&moved).await.unwrap();
                assert!((0..input.len()).all(|i| opened.get(i) == input[i]));
                // Both segments are still good.
                source.reveal(&shares).await.unwrap();
                Ok::<_, ostrakon_authbits::Unprepared>((moved, target))
            }
            .boxed_local()
        });
        let results = all(results);
        let key = whole_key(results.iter().map(|(_, segment)| segment.key().expose()));
        let moved: Vec<_> = results.into_iter().map(|(moved, _)| moved).collect();
        assert_eq!(reconstruct(&moved, key), input);
    }
}
