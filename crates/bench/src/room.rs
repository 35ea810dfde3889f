//! A room's epoch at one party, with all its participants.

use std::sync::Arc;

use anyhow::{Context, Result};
use ostrakon_broadcast::board::{Published, SALT};
use ostrakon_broadcast::engine::{
    Batch, Engine, EpochContext, Journal, Shape, SlotState, context_digest,
};
use ostrakon_broadcast::ruffle::server::RuffleEngine;
use ostrakon_broadcast::{Content, Entry, EpochId, Mode, RoomDescriptor, RowFormat, Servers};
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_party::{Instance, Party, wire};
use ostrakon_replicated::Stock;
use ostrakon_replicated::client::{self, SlotName};
use ostrakon_replicated::messages::{self, BatchSpec, EpochSpec, Inputs};
use ostrakon_replicated::pair::Pair;
use ostrakon_replicated::seeds::{PairSeed, Purpose};
use ostrakon_replicated::setup::SharedKeys;
use ostrakon_replicated::slots::{SlotSeeds, slots_prg};
use rayon::prelude::*;
use tokio::runtime::Runtime;

use crate::control::Epoch;
use crate::party::{Memory, secret};

/// An epoch on its way.
pub struct Room {
    party: Party,
    engine: RuffleEngine,
    descriptor: RoomDescriptor,
    servers: Servers,
    context: EpochContext,
    batch: Option<Box<dyn Batch>>,
    slots: Vec<SlotState>,
}

struct MemoryJournal(Memory);

impl Journal for MemoryJournal {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.0.keep(name, value)
    }

    fn record_spent(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.0.keep(name, value)
    }
}

/// The room that is measured. No limit of a room's settings matters here but the payload's.
fn descriptor(epoch: Epoch) -> RoomDescriptor {
    RoomDescriptor {
        payload: epoch.payload,
        capacity: epoch.clients,
        seconds: 1,
        ..RoomDescriptor::new("benchmark")
    }
}

impl Room {
    /// Prepares the epoch's batch with the other parties and loads it. Returns the batch's seeds
    /// too, in the order of the own pairs.
    pub fn prepare(
        runtime: &Runtime,
        party: &Party,
        keys: &SharedKeys,
        epoch: Epoch,
    ) -> Result<(Self, [[u8; 32]; 2])> {
        let engine = RuffleEngine::new(party.clone(), SharedKeys::from_bytes(&keys.to_bytes())?);
        let descriptor = descriptor(epoch);
        let shape = Shape::of(&descriptor);
        let stored = runtime.block_on(engine.prepare(epoch.number, shape, secret()?))?;
        let stock = Stock::from_bytes(&stored, &party.roster)?;
        let seeds = Pair::of_party(party.id.0).map(|pair| *stock.seeds.of(pair).expose());
        let batch = engine.load(epoch.number, shape, &stored).map_err(anyhow::Error::msg)?;
        let context = EpochContext {
            epoch: EpochId { room: descriptor.id(), number: epoch.number },
            batch: epoch.number,
            engine: descriptor.engine,
            shape,
            mode: descriptor.mode,
            minimum: descriptor.minimum,
        };
        let servers = Servers { session: party.roster.session, keys: party.roster.keys.clone() };
        let party = party.clone();
        Ok((
            Self {
                party,
                engine,
                descriptor,
                servers,
                context,
                batch: Some(batch),
                slots: Vec::new(),
            },
            seeds,
        ))
    }

    /// Makes every participant's submission, all parties being known to hold the batch.
    pub fn submit(&mut self, seeds: [[u8; 32]; 3]) {
        self.engine.retire_batch(self.context.batch, self.context.shape);
        let streams = seeds.map(|seed| slots_prg(&PairSeed::opened(seed).purpose(Purpose::Inputs)));
        let format = RowFormat::new(&self.descriptor, self.context.epoch.number);
        let digest = context_digest(&self.servers.session, &self.context);
        let submit = |slot: u32| {
            let key = participant(slot);
            let text =
                format!("participant {slot} says something that nobody can trace").into_bytes();
            let text = text[..text.len().min(format.limit())].to_vec();
            let row = format
                .encode(&Content::Message(text), &format.padding(&key))
                .expect("the text is cut to fit");
            let masks: [SlotSeeds; 3] =
                [0, 1, 2].map(|pair: usize| SlotSeeds::derive(&streams[pair], slot));
            let name = SlotName {
                session: &self.servers.session.0,
                batch: self.context.batch,
                context: &digest,
                rows: self.context.shape.rows,
                slot,
            };
            let submission = wire::encode(&client::submit(name, &masks, &row, &key));
            SlotState { slot, owner: key.verifying_key(), submission: Some(submission) }
        };
        self.slots = (0..self.context.shape.rows).into_par_iter().map(submit).collect();
    }

    /// Runs the epoch and signs the board's entry. Returns the entry's digest and the number of its
    /// messages, as text.
    pub fn mix(&mut self, runtime: &Runtime) -> Result<String> {
        let batch = self.batch.take().context("the batch is spent")?;
        let slots = std::mem::take(&mut self.slots);
        let journal = Arc::new(MemoryJournal(Memory::default()));
        let opened = runtime.block_on(async {
            let mixed = batch.mix(self.context.clone(), slots, journal).await?;
            mixed.open().await
        })?;
        let format = RowFormat::new(&self.descriptor, self.context.epoch.number);
        let messages =
            opened.table.chunks_exact(format.width()).filter_map(|row| match format.decode(row) {
                Some(Content::Message(body)) => Some(Published::Kept { salt: [0; SALT], body }),
                _ => None,
            });
        let entry = Entry {
            epoch: self.context.epoch,
            previous: Digest([0; 32]),
            accepted: opened.accepted,
            messages: messages.collect(),
        };
        let digest = entry.digest(&self.servers);
        std::hint::black_box(self.party.sign(&digest));
        Ok(format!("{} messages, {}", entry.messages.len(), digest.to_hex()))
    }

    /// The run in which the epoch is computed.
    pub fn instance(&self) -> Instance {
        let EpochContext { shape: Shape { rows, width }, batch, .. } = self.context;
        let spec = EpochSpec {
            context: context_digest(&self.servers.session, &self.context),
            number: self.context.epoch.number,
            batch: BatchSpec {
                number: batch,
                shape: messages::Shape { rows, width },
                inputs: Inputs::Slots,
            },
            minimum: self.context.minimum,
            robust: self.context.mode == Mode::Robust,
        };
        spec.instance()
    }
}

/// A participant's key: a function of the slot, so that all three processes have the same
/// participants.
fn participant(slot: u32) -> SigningKey {
    let secret =
        Secret::new([6; 32]).derive("ostrakon/v1/bench/participant", &[&slot.to_le_bytes()]);
    SigningKey::from_seed(secret.expose())
}
