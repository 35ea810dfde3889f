//! How long an epoch of a Ruffle room takes: three servers in this process, one after another on
//! all cores, without TLS. `cargo run --release -p ostrakon-mixing --example ruffle_epoch -- ROWS
//! BYTES`.
//!
//! What it prints is the time of all three servers' work together, from the closing to the rows
//! that were read. As on a real network, a table that arrives lies in memory of its own.

#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_crypto::{Digest, Secret, Signature, VerifyingKey};
use ostrakon_mixing::engine::{Batch, Engine, EpochContext, Journal, Shape, SlotState};
use ostrakon_mixing::ruffle::server::RuffleEngine;
use ostrakon_mixing::{Content, EpochId, RoomDescriptor, RowFormat};
use ostrakon_party::{Channel, Instance, Message, Party, PartyId, Tag};
use ostrakon_replicated::Stock;
use ostrakon_replicated::client::Submission;
use ostrakon_replicated::pair::Pair;
use ostrakon_replicated::seeds::{PairSeed, Purpose};
use ostrakon_replicated::setup::{SharedKeys, run_once, setup_session};
use ostrakon_replicated::slots::{SlotSeeds, slots_prg};
use ostrakon_testkit::{Network, World};
use rayon::prelude::*;

#[derive(Default)]
struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Journal for Memory {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        let mut marks = self.0.lock().map_err(|_| "poisoned")?;
        Ok(marks.entry(name.to_owned()).or_insert_with(|| value.to_vec()).clone())
    }

    fn record_spent(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.record(name, value)
    }
}

/// A channel by which long bodies arrive in memory of their own, unless they need not travel.
struct Copying(Arc<dyn Channel>);

impl Channel for Copying {
    fn post(&self, to: PartyId, message: Message) {
        self.0.post(to, message);
    }

    fn offer(&self, to: PartyId, message: Message) {
        self.0.offer(to, message);
    }

    fn collect(&self, from: PartyId, tag: Tag, limit: u64) -> BoxFuture<'_, Message> {
        let collected = self.0.collect(from, tag, limit);
        async {
            let message = collected.await;
            Message { body: Bytes::from(message.body.to_vec()), ..message }
        }
        .boxed()
    }

    fn collect_known(
        &self,
        from: PartyId,
        tag: Tag,
        limit: u64,
        known: Digest,
    ) -> BoxFuture<'_, Message> {
        self.0.collect_known(from, tag, limit, known)
    }

    fn patience(&self) -> BoxFuture<'_, ()> {
        self.0.patience()
    }

    fn retire(&self, instance: Instance) {
        self.0.retire(instance);
    }
}

/// Three servers with a batch each.
struct Servers {
    world: World,
    keys: Vec<Vec<u8>>,
    batches: Vec<Vec<u8>>,
}

const BATCH: u64 = 1;

fn servers(shape: Shape) -> Result<Servers, Box<dyn Error>> {
    let world = World::new(1, 3);
    let world = world.with_session(setup_session(&world.roster.keys));
    let keys = world.run(&Network::default(), |party| {
        let randomness = world.randomness(party.id, "set-up");
        async move { run_once(&party, randomness).await }.boxed_local()
    });
    let keys = keys.into_iter().map(|keys| keys.ok_or("the set-up waits")?.map_err(Into::into));
    let keys: Vec<SharedKeys> = keys.collect::<Result<_, Box<dyn Error>>>()?;
    let world = world.with_session(keys[0].session());
    let keys: Vec<Vec<u8>> = keys.iter().map(SharedKeys::to_bytes).collect();
    let batches = world.run(&Network::default(), |party| {
        let randomness = world.randomness(party.id, "batch");
        let engine = RuffleEngine::of(party.clone(), &keys[party.id.index()]);
        async move { engine.ok()?.prepare(BATCH, shape, randomness).await.ok() }.boxed_local()
    });
    let batches = batches.into_iter().map(Option::flatten).collect::<Option<Vec<_>>>();
    Ok(Servers { world, keys, batches: batches.ok_or("the batch was not prepared")? })
}

/// Who takes part. Keys are no keys and nothing is signed: signatures are looked at when something
/// is handed in, and not again.
fn owner(slot: u32) -> VerifyingKey {
    let owner = Secret::new([6; 32]).derive("example", &[&slot.to_le_bytes()]);
    VerifyingKey(*owner.expose())
}

/// What everybody hands in.
fn handed_in(servers: &Servers, format: &RowFormat, rows: u32) -> Result<Vec<Vec<u8>>, String> {
    let stock = |party: usize| {
        Stock::from_bytes(&servers.batches[party], &servers.world.roster)
            .map_err(|error| error.to_string())
    };
    let (first, second) = (stock(0)?, stock(1)?);
    let streams = Pair::ALL.map(|pair| {
        let seed = first.seeds.get(pair).unwrap_or_else(|| second.seeds.of(pair));
        slots_prg(&PairSeed::opened(*seed.expose()).purpose(Purpose::Inputs))
    });
    let padding = Secret::new([3; 32]);
    let body = |slot: u32| {
        let content = Content::Message(format!("message {slot:010}").into_bytes());
        let mut masked = format.encode(&content, &padding).map_err(|error| error.to_string())?;
        for stream in &streams {
            let seeds = SlotSeeds::derive(stream, slot);
            seeds.xor_mask(&mut masked);
            seeds.xor_pad(&mut masked);
        }
        Ok(Submission::new(&masked, &Signature([0; 64])).into_bytes())
    };
    (0..rows).into_par_iter().map(body).collect()
}

/// What a server has when the epoch closes.
type Closed = (Box<dyn Batch>, Vec<SlotState>);

fn closed(
    servers: &Servers,
    party: &Party,
    shape: Shape,
    bodies: &[Vec<u8>],
) -> Result<Closed, String> {
    let at = party.id.index();
    let engine = RuffleEngine::of(party.clone(), &servers.keys[at])?;
    let batch = engine.load(BATCH, shape, &servers.batches[at])?;
    let state = |(slot, body): (usize, &Vec<u8>)| {
        let slot = slot as u32;
        SlotState { slot, owner: owner(slot), submission: Some(body.clone()) }
    };
    Ok((batch, bodies.iter().enumerate().map(state).collect()))
}

async fn epoch(closed: Closed, context: EpochContext, format: RowFormat) -> Result<usize, String> {
    let (batch, slots) = closed;
    let mixed = batch.mix(context, slots, Arc::new(Memory::default())).await;
    let opened = mixed.map_err(|error| error.to_string())?.open().await;
    let table = opened.map_err(|error| error.to_string())?.table;
    let read = format.decode_table(&table);
    Ok(read.iter().filter(|content| matches!(content, Some(Content::Message(_)))).count())
}

/// Seconds that all threads of this process have computed, in hundredths: outside the system, and
/// in it.
fn processor_seconds() -> Result<[f64; 2], Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let behind = stat.rsplit(')').next().ok_or("no name")?;
    let mut ticks = behind.split_whitespace().skip(11).map(str::parse::<f64>);
    let mut next = || Ok::<f64, Box<dyn Error>>(ticks.next().ok_or("too short")?? / 100.0);
    Ok([next()?, next()?])
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let rows: u32 = arguments.next().map_or(Ok(100_000), |text| text.parse())?;
    let payload: u32 = arguments.next().map_or(Ok(32), |text| text.parse())?;
    let room = RoomDescriptor { payload, capacity: rows, ..RoomDescriptor::new("example") };
    let shape = Shape::of(&room);
    let servers = servers(shape)?;
    let context = EpochContext {
        epoch: EpochId { room: room.id(), number: 1 },
        batch: BATCH,
        engine: room.engine,
        shape,
        mode: room.mode,
        minimum: room.minimum,
    };
    let format = RowFormat::new(&room, 1);
    let bodies = handed_in(&servers, &format, rows)?;
    let (world, network) = (&servers.world, Network::default());
    let waiting: Mutex<Vec<Closed>> = Mutex::default();
    for id in [PartyId(2), PartyId(1), PartyId(0)] {
        let channel = Arc::new(Copying(network.channel(id)));
        let party = Party::new(id, world.roster.clone(), world.key(id), channel);
        let closed = closed(&servers, &party, shape, &bodies)?;
        waiting.lock().map_err(|_| "poisoned")?.push(closed);
    }
    drop(bodies);
    let (start, before) = (Instant::now(), processor_seconds()?);
    let read = world.run(&network, |_| {
        // Servers are started in order.
        let closed = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let context = context.clone();
        async move { epoch(closed.ok_or("three servers")?, context, format).await }.boxed_local()
    });
    let (elapsed, after) = (start.elapsed(), processor_seconds()?);
    for messages in read {
        assert_eq!(messages.ok_or("an epoch waits")??, rows as usize, "all come out");
    }
    let [user, system] = [after[0] - before[0], after[1] - before[1]];
    println!(
        "epoch of {rows} × {payload} B, all three servers: {elapsed:.2?}, of processors {:.2} s, \
         {system:.2} of them in the system",
        user + system
    );
    Ok(())
}
