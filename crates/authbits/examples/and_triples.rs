//! Triples per second: all parties of a committee in one process on one thread, without a network.
//!
//! `cargo run --release -p ostrakon-authbits --example and_triples -- PARTIES LOG2_TRIPLES BUCKET`

#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::time::Instant;

use futures::FutureExt;
use ostrakon_authbits::{Journal, SegmentSpec, Ticket, prepare};
use ostrakon_crypto::{Digest, Secret};
use ostrakon_testkit::{Network, World};

/// A measurement prepares one segment, ever.
struct Nothing;

impl Journal for Nothing {
    fn keep(&mut self, entries: &[(Digest, Vec<u8>)]) -> Result<Vec<Option<Vec<u8>>>, String> {
        Ok(vec![None; entries.len()])
    }
}

fn main() {
    let argument = |n: usize, default: usize| {
        std::env::args().nth(n).map_or(default, |text| text.parse().expect("a number"))
    };
    let (parties, log2, bucket) = (argument(1, 3), argument(2, 16), argument(3, 4));
    let spec = SegmentSpec { number: 1, triples: 1 << log2, bucket, security: 40 };
    let world = World::new(1, u8::try_from(parties).expect("a small committee"));
    let start = Instant::now();
    let segments = world.run(&Network::default(), |party| {
        let random = Secret::new(world.randomness(party.id, "segment"));
        async move {
            let ticket = Ticket::take(&mut Nothing, &party, spec).expect("a new number");
            prepare(&party, ticket, random).await.map(|s| s.triples_left())
        }
        .boxed_local()
    });
    let seconds = start.elapsed().as_secs_f64();
    assert!(segments.iter().all(|segment| *segment == Some(Ok(spec.triples))));
    println!(
        "{parties} parties, 2^{log2} triples from buckets of {bucket}: {seconds:.2} s, {:.0} \
         triples/s, {:.2} µs of all parties together per triple",
        spec.triples as f64 / seconds,
        1e6 * seconds / spec.triples as f64
    );
}
