//! A small deployment in one process: three servers, participants, marks in memory.

use std::collections::BTreeMap;
use std::sync::Mutex;

use futures::FutureExt;
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_kernels::Prg;
use ostrakon_party::{Party, PartyId};
use ostrakon_replicated::Stock;
use ostrakon_replicated::client::{self, SlotName};
use ostrakon_replicated::epoch::{self, Marks, Opened, Unmixed};
use ostrakon_replicated::fault::Stop;
use ostrakon_replicated::messages::{BatchSpec, EpochSpec, Inputs, Shape};
use ostrakon_replicated::pair::Pair;
use ostrakon_replicated::preprocessing;
use ostrakon_replicated::seal::Slot;
use ostrakon_replicated::seeds::Purpose;
use ostrakon_replicated::setup::{self, SharedKeys};
use ostrakon_replicated::slots::{Issue, SlotSeeds, slots_prg};
use ostrakon_testkit::{Network, World};

/// Marks that live as long as the test.
#[derive(Default)]
pub struct Memory(pub Mutex<BTreeMap<String, Vec<u8>>>);

impl Marks for Memory {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        Ok(self.0.lock().unwrap().entry(name.to_owned()).or_insert_with(|| value.to_vec()).clone())
    }

    fn standing(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.lock().unwrap().get(name).cloned())
    }

    fn record_spent(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.record(name, value)
    }
}

/// Three servers after set-up.
pub struct Deployment {
    pub world: World,
    pub keys: Vec<Vec<u8>>,
}

impl Deployment {
    pub fn new(seed: u64) -> Self {
        let world = World::new(seed, 3);
        let world = world.with_session(setup::setup_session(&world.roster.keys));
        let keys = run_setup(&world, &Network::default(), &Default::default());
        let keys: Vec<SharedKeys> = keys.into_iter().map(|keys| keys.unwrap().unwrap()).collect();
        let session = keys[0].session();
        assert!(keys.iter().all(|k| k.session() == session));
        Self {
            world: world.with_session(session),
            keys: keys.iter().map(SharedKeys::to_bytes).collect(),
        }
    }

    pub fn keys_of(&self, party: PartyId) -> SharedKeys {
        SharedKeys::from_bytes(&self.keys[party.index()]).unwrap()
    }

    pub fn prepare(&self, network: &Network, spec: BatchSpec) -> Vec<Option<Result<Stock, Stop>>> {
        self.world.run(network, |party| {
            let keys = self.keys_of(party.id);
            let randomness = self.world.randomness(party.id, &format!("batch {}", spec.number));
            async move { preprocessing::prepare(&party, &keys, spec, randomness).await }
                .boxed_local()
        })
    }

    pub fn stock(&self, spec: BatchSpec) -> Vec<Vec<u8>> {
        let stock = self.prepare(&Network::default(), spec);
        stock.into_iter().map(|stock| stock.unwrap().unwrap().to_bytes()).collect()
    }

    /// The true seeds of a slot, as an honest participant collects them.
    pub fn issues(&self, stock: &[Vec<u8>], slot: u32) -> [Issue; 3] {
        [0, 1, 2].map(|party: u8| {
            let stock = Stock::from_bytes(&stock[usize::from(party)], &self.world.roster).unwrap();
            let seeds = Pair::of_party(party).map(|pair| {
                let seed = stock.seeds.of(pair);
                let leaves = preprocessing::slot_leaves(
                    &stock.spec,
                    &self.world.roster.session.0,
                    pair,
                    seed,
                );
                let path = ostrakon_crypto::merkle::Tree::new(leaves).path(slot as usize);
                (SlotSeeds::derive(&slots_prg(&seed.purpose(Purpose::Inputs)), slot), path)
            });
            Issue { roots: Pair::ALL.map(|pair| stock.stated(pair).slots), seeds }
        })
    }

    /// Every slot in `rows` gets a participant whose row is given; the others are absent.
    pub fn slots(
        &self,
        stock: &[Vec<u8>],
        spec: &EpochSpec,
        rows: &BTreeMap<u32, Vec<u8>>,
    ) -> Vec<Slot> {
        rows.iter()
            .map(|(slot, row)| {
                let key = participant(*slot);
                let submission = self.submission(stock, spec, *slot, row, &key);
                Slot { slot: *slot, owner: key.verifying_key(), submission: Some(submission) }
            })
            .collect()
    }

    pub fn submission(
        &self,
        stock: &[Vec<u8>],
        spec: &EpochSpec,
        slot: u32,
        row: &[u8],
        key: &SigningKey,
    ) -> client::Submission {
        let issues = self.issues(stock, slot);
        let name = SlotName {
            session: &self.world.roster.session.0,
            batch: spec.batch.number,
            context: &spec.context,
            rows: spec.batch.shape.rows,
            slot,
        };
        let seeds =
            client::combine(name, [Some(&issues[0]), Some(&issues[1]), Some(&issues[2])]).unwrap();
        client::submit(name, &seeds, row, key)
    }

    /// Runs an epoch: mix and open. `slots` may differ from server to server.
    pub fn epoch(
        &self,
        network: &Network,
        stock: &[Vec<u8>],
        spec: EpochSpec,
        slots: impl Fn(PartyId) -> Vec<Slot>,
        marks: &[Memory; 3],
    ) -> Vec<Option<Result<Opened, Unmixed>>> {
        self.world.run(network, |party| {
            let stock = Stock::from_bytes(&stock[party.id.index()], &self.world.roster).unwrap();
            let slots = slots(party.id);
            let marks = &marks[party.id.index()];
            let randomness = self.world.randomness(party.id, "trusted");
            async move { mix_and_open(&party, stock, spec, slots, marks, randomness).await }
                .boxed_local()
        })
    }
}

async fn mix_and_open(
    party: &Party,
    stock: Stock,
    spec: EpochSpec,
    slots: Vec<Slot>,
    marks: &Memory,
    randomness: [u8; 32],
) -> Result<Opened, Unmixed> {
    Ok(epoch::mix(party, stock, spec, slots, marks, randomness).await?.open().await)
}

/// What a set-up came to at each server.
pub type SetUp = Vec<Option<Result<SharedKeys, Stop>>>;

pub fn run_setup(world: &World, network: &Network, marks: &[Memory; 3]) -> SetUp {
    run_setup_drawn(world, network, |_| "set-up", marks)
}

/// The same with randomness of these names.
pub fn run_setup_drawn(
    world: &World,
    network: &Network,
    draw: impl Fn(PartyId) -> &'static str,
    marks: &[Memory; 3],
) -> SetUp {
    world.run(network, |party| {
        let randomness = world.randomness(party.id, draw(party.id));
        let marks = &marks[party.id.index()];
        async move { setup::run(&party, randomness, marks).await }.boxed_local()
    })
}

pub fn participant(slot: u32) -> SigningKey {
    let mut seed = [9; 32];
    seed[..4].copy_from_slice(&slot.to_le_bytes());
    SigningKey::from_seed(&seed)
}

pub fn batch(number: u64, rows: u32, width: u32) -> BatchSpec {
    BatchSpec { number, shape: Shape { rows, width }, inputs: Inputs::Slots }
}

pub fn epoch_of(batch: BatchSpec, minimum: u32, robust: bool) -> EpochSpec {
    EpochSpec {
        context: Digest([batch.number as u8; 32]),
        number: batch.number,
        batch,
        minimum,
        robust,
    }
}

/// A recognisable row for a slot: no two are equal.
pub fn row(slot: u32, width: usize) -> Vec<u8> {
    let mut row = vec![0; width];
    let mut key = [3; 32];
    key[..4].copy_from_slice(&slot.to_le_bytes());
    Prg::new(&key).fill(&mut row);
    row
}

pub fn rows_of(slots: impl IntoIterator<Item = u32>, width: u32) -> BTreeMap<u32, Vec<u8>> {
    slots.into_iter().map(|slot| (slot, row(slot, width as usize))).collect()
}

/// The rows of a table that are among the expected ones, sorted.
pub fn recognised(table: &[u8], rows: &BTreeMap<u32, Vec<u8>>) -> Vec<u32> {
    let Some(width) = rows.values().next().map(Vec::len) else { return Vec::new() };
    let mut slots: Vec<u32> = table
        .chunks(width)
        .filter_map(|row| {
            rows.iter().find(|(_, expected)| **expected == row).map(|(slot, _)| *slot)
        })
        .collect();
    slots.sort_unstable();
    slots
}
