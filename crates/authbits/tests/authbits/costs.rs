//! Bytes and rounds against the formulas.

use futures::FutureExt;
use ostrakon_authbits::cost::{self, Cost};
use ostrakon_authbits::programs::select;
use ostrakon_authbits::{SegmentSpec, Unprepared, prepare};
use ostrakon_crypto::Secret;
use ostrakon_testkit::{Network, World};

use crate::world::{Committee, all, bits, deal, small, ticket};

#[test]
fn bytes_and_rounds_equal_the_formulas() {
    let circuit = select::median(7, 3);
    for (parties, spec) in [
        (2, SegmentSpec { number: 9, triples: 130, bucket: 3, security: 3 }),
        (3, SegmentSpec { number: 9, triples: 333, bucket: 4, security: 4 }),
    ] {
        let world = World::new(3, parties as u8);
        let stages = all(world.run(&Network::default(), |party| {
            let (circuit, world) = (&circuit, &world);
            async move {
                let meter = party.meter.clone();
                let so_far = || {
                    let instance = spec.instance();
                    Cost { bytes: meter.bytes_sent(instance), rounds: meter.rounds(instance) }
                };
                let random = Secret::new(world.randomness(party.id, "segment"));
                let mut segment = prepare(&party, ticket(&party, spec), random).await?;
                let prepared = so_far();
                segment.random(100).await.unwrap();
                let random = so_far();
                let dealt = deal(1, parties, party.id.index(), &bits(1, 21));
                let shares = segment.authenticate(&dealt).await.unwrap();
                let authenticated = so_far();
                let out = segment.evaluate(circuit, &shares).await.unwrap();
                let evaluated = so_far();
                segment.reveal(&out).await.unwrap();
                Ok::<_, Unprepared>([prepared, random, authenticated, evaluated, so_far()])
            }
            .boxed_local()
        }));
        let formulas = [
            cost::base_transfers(parties) + cost::preparation(parties, &spec),
            cost::random(parties, 100),
            cost::authenticate(parties, 21),
            cost::circuit(parties, &circuit),
            cost::reveal(parties, 3),
        ];
        for measured in stages {
            let mut expected = Cost::default();
            for (measured, formula) in measured.into_iter().zip(formulas) {
                expected = expected + formula;
                assert_eq!(measured, expected, "{parties} parties");
            }
        }
    }
}

/// Per triple of a production segment: 97.3 bytes for c = 3, 194.6 for c = 5.
#[test]
fn a_production_segment_costs_what_is_said() {
    let spec = SegmentSpec { number: 0, triples: 1 << 20, bucket: 3, security: 40 };
    spec.validate(3).unwrap();
    for (parties, hundredths) in [(2, 4_865), (3, 9_730), (5, 19_460), (9, 38_921)] {
        let cost = cost::base_transfers(parties) + cost::preparation(parties, &spec);
        assert_eq!(cost.bytes * 100 / spec.triples as u64, hundredths, "{parties} parties");
        assert_eq!(cost.rounds, 20);
    }
}

#[test]
fn an_import_costs_what_is_said() {
    let committee = Committee::new(3, 3);
    let costs = all(committee.world.run(&Network::default(), |party| {
        let committee = &committee;
        async move {
            let mut source = committee.prepare(&party, small(2)).await?;
            let spec = SegmentSpec { number: 2, ..small(2) };
            let mut target = committee.prepare(&party, spec).await?;
            let shares = source.random(70).await.unwrap();
            let so_far = || {
                let (meter, instance) = (&party.meter, spec.instance());
                (meter.bytes_sent(instance), meter.rounds(instance))
            };
            let before = so_far();
            target.import(&mut source, &shares).await.unwrap();
            let after = so_far();
            Ok::<_, Unprepared>(Cost { bytes: after.0 - before.0, rounds: after.1 - before.1 })
        }
        .boxed_local()
    }));
    assert_eq!(costs, [cost::import(3, 70); 3]);
}
