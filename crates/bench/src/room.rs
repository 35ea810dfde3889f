//! A room's epoch at one party, with all its participants.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use ostrakon_additive::three::messages as clarion;
use ostrakon_broadcast::Entry;
use ostrakon_broadcast::board::{Published, SALT};
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_kernels::Prg;
use ostrakon_mixing::clarion::client::ClarionClient;
use ostrakon_mixing::engine::{
    Batch, ClientEngine, Engine, EpochContext, Journal, Mixed, Shape, SlotState, context_digest,
    slot_class,
};
use ostrakon_mixing::{
    Content, EngineKind, EpochId, Mode, RoomDescriptor, RowFormat, Servers, engines,
};
use ostrakon_party::{Instance, Party, PartyId, wire};
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
use crate::marks::Memory;
use crate::random::secret;

/// An epoch on its way.
pub struct Room {
    party: Party,
    engine: Arc<dyn Engine>,
    descriptor: RoomDescriptor,
    servers: Servers,
    context: EpochContext,
    batch: Option<Box<dyn Batch>>,
    slots: Vec<SlotState>,
    mixed: Option<Box<dyn Mixed>>,
}

struct MemoryJournal {
    marks: Memory,
    begun: Instant,
    /// Microseconds until the list was sealed.
    sealed: AtomicU64,
}

impl Journal for MemoryJournal {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.marks.keep(name, value)
    }

    fn record_spent(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.sealed.store(self.begun.elapsed().as_micros() as u64, Relaxed);
        self.marks.keep(name, value)
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
        let engine = engines::server(epoch.engine, party.clone(), &keys.to_bytes());
        let engine = engine.map_err(anyhow::Error::msg)?;
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

    /// Makes the submissions for the slots that this party gives out, all parties being known to
    /// hold the batch, and leaves them in a file of a directory.
    pub fn submit(&mut self, seeds: [[u8; 32]; 3], directory: &Path) -> Result<()> {
        self.engine.retire_batch(self.context.batch, self.context.shape);
        let submitting = Submitting {
            servers: &self.servers,
            context: &self.context,
            digest: context_digest(&self.servers.session, &self.context),
            format: RowFormat::new(&self.descriptor, self.context.epoch.number),
            streams: seeds.map(|seed| slots_prg(&PairSeed::opened(seed).purpose(Purpose::Inputs))),
            issues: seeds.map(|issue| Some(issue.to_vec())),
        };
        let own = self.own_slots(self.party.id.0);
        let made: Result<Vec<Vec<u8>>> =
            own.into_par_iter().map(|slot| submitting.submission(slot)).collect();
        let file = directory.join(self.party.id.0.to_string());
        std::fs::write(&file, wire::encode(&made?))
            .with_context(|| format!("{} cannot be written", file.display()))
    }

    fn own_slots(&self, party: u8) -> Vec<u32> {
        let parties = self.party.roster.keys.len();
        (0..self.context.shape.rows)
            .filter(|slot| slot_class(*slot, parties) == PartyId(party))
            .collect()
    }

    /// Takes what all parties left in their files.
    pub fn collect(&mut self, directory: &Path) -> Result<()> {
        let mut slots = Vec::with_capacity(self.context.shape.rows as usize);
        for party in self.party.roster.parties() {
            let file = directory.join(party.0.to_string());
            let text = std::fs::read(&file)
                .with_context(|| format!("{} cannot be read", file.display()))?;
            let made: Vec<Vec<u8>> = wire::decode(&text)?;
            slots.extend(self.own_slots(party.0).into_iter().zip(made));
        }
        slots.sort_unstable_by_key(|(slot, _)| *slot);
        let state = |(slot, body): (u32, Vec<u8>)| {
            let owner = participant(slot).verifying_key();
            SlotState { slot, owner, submission: Some(body) }
        };
        self.slots = slots.into_par_iter().map(state).collect();
        Ok(())
    }

    /// Checks all submissions, as a server does one by one when they come in.
    pub fn take_in(&self) -> Result<()> {
        let batch = self.batch.as_ref().context("the batch is spent")?;
        let context = &self.context;
        self.slots.par_iter().try_for_each(|state| {
            let body = state.submission.as_deref().context("nobody is absent")?;
            Ok(batch.check(context, state.slot, &state.owner, body)?)
        })
    }

    /// Seals and shuffles, up to the certified table. Returns after how many microseconds the list
    /// was sealed.
    #[expect(clippy::disallowed_methods, reason = "measuring is what this program is for")]
    pub fn mix(&mut self, runtime: &Runtime) -> Result<u64> {
        let batch = self.batch.take().context("the batch is spent")?;
        let slots = std::mem::take(&mut self.slots);
        let (marks, sealed) = Default::default();
        let journal = Arc::new(MemoryJournal { marks, begun: Instant::now(), sealed });
        let mixing = batch.mix(self.context.clone(), slots, journal.clone());
        self.mixed = Some(runtime.block_on(mixing)?);
        Ok(journal.sealed.load(Relaxed))
    }

    /// Opens the epoch and signs the board's entry. Returns the entry's digest and the number of
    /// its messages, as text.
    pub fn open(&mut self, runtime: &Runtime) -> Result<String> {
        let mixed = self.mixed.take().context("nothing is mixed")?;
        let opened = runtime.block_on(mixed.open())?;
        let format = RowFormat::new(&self.descriptor, self.context.epoch.number);
        let read = format.decode_table(&opened.table).into_iter();
        let messages = read.filter_map(|content| match content {
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

    /// The runs in which the epoch is computed.
    pub fn instances(&self) -> Vec<Instance> {
        let EpochContext { shape: Shape { rows, width }, batch, .. } = self.context;
        let context = context_digest(&self.servers.session, &self.context);
        let number = self.context.epoch.number;
        if self.context.engine == EngineKind::Clarion {
            let spec = clarion::EpochSpec {
                context,
                number,
                batch,
                round: 0,
                slots: rows,
                width,
                minimum: self.context.minimum,
            };
            return vec![spec.instance()];
        }
        let spec = EpochSpec {
            context,
            number,
            batch: BatchSpec {
                number: batch,
                shape: messages::Shape { rows, width },
                inputs: Inputs::Slots,
            },
            minimum: self.context.minimum,
            robust: self.context.mode == Mode::Robust,
        };
        vec![spec.instance()]
    }
}

/// What all participants know of an epoch.
struct Submitting<'a> {
    servers: &'a Servers,
    context: &'a EpochContext,
    digest: Digest,
    format: RowFormat,
    streams: [Prg; 3],
    issues: [Option<Vec<u8>>; 3],
}

impl Submitting<'_> {
    /// What the owner of a slot hands in.
    fn submission(&self, slot: u32) -> Result<Vec<u8>> {
        let key = participant(slot);
        let text = format!("participant {slot} says something that nobody can trace").into_bytes();
        let text = text[..text.len().min(self.format.limit())].to_vec();
        let content = Content::Message(text);
        let row = self.format.encode(&content, &self.format.padding(&key));
        let row = row.context("the text is cut to fit")?;
        let context = self.context;
        if context.engine == EngineKind::Clarion {
            let made =
                ClarionClient.submit(self.servers, context, slot, &self.issues, &row, &key)?;
            return Ok(made);
        }
        let masks: [SlotSeeds; 3] =
            self.streams.each_ref().map(|stream| SlotSeeds::derive(stream, slot));
        let name = SlotName {
            session: &self.servers.session.0,
            batch: context.batch,
            context: &self.digest,
            rows: context.shape.rows,
            slot,
        };
        Ok(client::submit(name, &masks, &row, &key).into_bytes())
    }
}

/// A participant's key: a function of the slot, so that all three processes have the same
/// participants.
fn participant(slot: u32) -> SigningKey {
    let secret =
        Secret::new([6; 32]).derive("ostrakon/v1/bench/participant", &[&slot.to_le_bytes()]);
    SigningKey::from_seed(secret.expose())
}
