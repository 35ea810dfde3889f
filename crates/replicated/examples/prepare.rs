//! How long a batch's preparation takes: three servers in this process, one after another on all
//! cores, no network. `cargo run --release -p ostrakon-replicated --example prepare -- ROWS BYTES
//! [BATCHES]`.
//!
//! What it prints is the time of all three servers' work together, for each batch.

#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::error::Error;
use std::time::Instant;

use futures::FutureExt;
use ostrakon_replicated::messages::{BatchSpec, Inputs, Shape};
use ostrakon_replicated::preprocessing;
use ostrakon_replicated::setup::{self, SharedKeys};
use ostrakon_testkit::{Network, World};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u32>());
    let rows = arguments.next().ok_or("ROWS is missing")??;
    let width = arguments.next().ok_or("BYTES is missing")??;
    let batches = arguments.next().transpose()?.unwrap_or(3);
    let world = World::new(1, 3);
    let world = world.with_session(setup::setup_session(&world.roster.keys));
    let keys = world.run(&Network::default(), |party| {
        let randomness = world.randomness(party.id, "set-up");
        async move { setup::run_once(&party, randomness).await }.boxed_local()
    });
    let keys = keys.into_iter().map(|keys| keys.ok_or("the set-up waits")?.map_err(Into::into));
    let keys: Vec<SharedKeys> = keys.collect::<Result<_, Box<dyn Error>>>()?;
    let world = world.with_session(keys[0].session());
    let keys: Vec<Vec<u8>> = keys.iter().map(SharedKeys::to_bytes).collect();
    for number in 0..batches.into() {
        let spec = BatchSpec { number, shape: Shape { rows, width }, inputs: Inputs::Stream };
        let begun = Instant::now();
        let stock = world.run(&Network::default(), |party| {
            let keys = SharedKeys::from_bytes(&keys[party.id.index()]).ok();
            let randomness = world.randomness(party.id, &format!("batch {number}"));
            async move { preprocessing::prepare(&party, &keys?, spec, randomness).await.ok() }
                .boxed_local()
        });
        if stock.iter().any(|stock| !matches!(stock, Some(Some(_)))) {
            return Err("a batch was not prepared".into());
        }
        println!("{rows} rows of {width} bytes: {:.3} s", begun.elapsed().as_secs_f64());
    }
    Ok(())
}
