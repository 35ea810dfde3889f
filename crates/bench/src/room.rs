//! A room's epoch at one party, with all its participants.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use ostrakon_additive::three::messages as clarion;
use ostrakon_broadcast::board::{Published, SALT};
use ostrakon_broadcast::clarion::client::ClarionClient;
use ostrakon_broadcast::clarion::server::ClarionEngine;
use ostrakon_broadcast::engine::{
    Batch, ClientEngine, Engine, EpochContext, Journal, Mixed, Shape, SlotState, context_digest,
};
use ostrakon_broadcast::ruffle::server::RuffleEngine;
use ostrakon_broadcast::{
    Content, EngineKind, Entry, EpochId, Mode, RoomDescriptor, RowFormat, Servers,
};
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
    engine: Box<dyn Engine>,
    descriptor: RoomDescriptor,
    servers: Servers,
    context: EpochContext,
    batch: Option<Box<dyn Batch>>,
    slots: Vec<SlotState>,
    mixed: Option<Box<dyn Mixed>>,
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
        engine: epoch.engine,
        ..RoomDescriptor::new("benchmark")
    }
}

impl Room {
    /// Prepares the epoch's batch with the other parties and loads it. Returns what participants
    /// need of it, too: see [`crate::control::Reply::Prepared`].
    pub fn prepare(
        runtime: &Runtime,
        party: &Party,
        keys: &SharedKeys,
        epoch: Epoch,
    ) -> Result<(Self, Vec<[u8; 32]>)> {
        let engine: Box<dyn Engine> = match epoch.engine {
            EngineKind::Ruffle => Box::new(RuffleEngine::new(
                party.clone(),
                SharedKeys::from_bytes(&keys.to_bytes())?,
            )),
            EngineKind::Clarion => Box::new(ClarionEngine::new(party.clone())),
        };
        let descriptor = descriptor(epoch);
        let shape = Shape::of(&descriptor);
        let stored = runtime.block_on(engine.prepare(epoch.number, shape, secret()?))?;
        let batch = engine.load(epoch.number, shape, &stored).map_err(anyhow::Error::msg)?;
        let given = match epoch.engine {
            EngineKind::Ruffle => {
                let stock = Stock::from_bytes(&stored, &party.roster)?;
                Pair::of_party(party.id.0).map(|pair| *stock.seeds.of(pair).expose()).to_vec()
            }
            // The same for every slot.
            EngineKind::Clarion => {
                vec![batch.issue(0).try_into().map_err(|_| anyhow!("an issue has 32 bytes"))?]
            }
        };
        let context = EpochContext {
            epoch: EpochId { room: descriptor.id(), number: epoch.number },
            batch: epoch.number,
            engine: descriptor.engine,
            shape,
            mode: descriptor.mode,
            minimum: descriptor.minimum,
        };
        let servers = Servers { session: party.roster.session, keys: party.roster.keys.clone() };
        let (party, batch) = (party.clone(), Some(batch));
        let (slots, mixed) = Default::default();
        Ok((Self { party, engine, descriptor, servers, context, batch, slots, mixed }, given))
    }

    /// Makes every participant's submission, all parties being known to hold the batch.
    pub fn submit(&mut self, seeds: [[u8; 32]; 3]) -> Result<()> {
        self.engine.retire_batch(self.context.batch, self.context.shape);
        let streams = seeds.map(|seed| slots_prg(&PairSeed::opened(seed).purpose(Purpose::Inputs)));
        let issues = seeds.map(|issue| Some(issue.to_vec()));
        let format = RowFormat::new(&self.descriptor, self.context.epoch.number);
        let digest = context_digest(&self.servers.session, &self.context);
        let submit = |slot: u32| -> Result<SlotState> {
            let key = participant(slot);
            let text =
                format!("participant {slot} says something that nobody can trace").into_bytes();
            let text = text[..text.len().min(format.limit())].to_vec();
            let row = format
                .encode(&Content::Message(text), &format.padding(&key))
                .expect("the text is cut to fit");
            let submission = match self.context.engine {
                EngineKind::Ruffle => {
                    let masks: [SlotSeeds; 3] =
                        [0, 1, 2].map(|pair: usize| SlotSeeds::derive(&streams[pair], slot));
                    let name = SlotName {
                        session: &self.servers.session.0,
                        batch: self.context.batch,
                        context: &digest,
                        rows: self.context.shape.rows,
                        slot,
                    };
                    wire::encode(&client::submit(name, &masks, &row, &key))
                }
                EngineKind::Clarion => {
                    let (servers, context) = (&self.servers, &self.context);
                    ClarionClient.submit(servers, context, slot, &issues, &row, &key)?
                }
            };
            Ok(SlotState { slot, owner: key.verifying_key(), submission: Some(submission) })
        };
        let all = (0..self.context.shape.rows).into_par_iter().map(submit);
        self.slots = all.collect::<Result<_>>()?;
        Ok(())
    }

    /// Seals and shuffles, up to the certified table.
    pub fn mix(&mut self, runtime: &Runtime) -> Result<()> {
        let batch = self.batch.take().context("the batch is spent")?;
        let slots = std::mem::take(&mut self.slots);
        let journal = Arc::new(MemoryJournal(Memory::default()));
        let mixing = batch.mix(self.context.clone(), slots, journal);
        self.mixed = Some(runtime.block_on(mixing)?);
        Ok(())
    }

    /// Opens the epoch and signs the board's entry. Returns the entry's digest and the number of
    /// its messages, as text.
    pub fn open(&mut self, runtime: &Runtime) -> Result<String> {
        let mixed = self.mixed.take().context("nothing is mixed")?;
        let opened = runtime.block_on(mixed.open())?;
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

    /// Forgets the epoch's messages.
    pub fn retire(&self) {
        self.engine.retire_epoch(&self.context);
    }

    /// The run in which the epoch is computed.
    pub fn instance(&self) -> Instance {
        let EpochContext { shape: Shape { rows, width }, batch, .. } = self.context;
        if self.context.engine == EngineKind::Clarion {
            return self.clarion_spec().instance();
        }
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

    /// The same, of Clarion. Registrations have a run of their own, which is not counted.
    fn clarion_spec(&self) -> clarion::EpochSpec {
        let EpochContext { shape: Shape { rows, width }, batch, .. } = self.context;
        clarion::EpochSpec {
            context: context_digest(&self.servers.session, &self.context),
            number: self.context.epoch.number,
            batch,
            round: 0,
            slots: rows,
            width,
            minimum: self.context.minimum,
        }
    }
}

/// A participant's key: a function of the slot, so that all three processes have the same
/// participants.
fn participant(slot: u32) -> SigningKey {
    let secret =
        Secret::new([6; 32]).derive("ostrakon/v1/bench/participant", &[&slot.to_le_bytes()]);
    SigningKey::from_seed(secret.expose())
}
