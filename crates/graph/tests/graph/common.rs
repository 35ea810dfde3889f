//! A small deployment in one process: three servers, owners, marks in memory.

pub use ostrakon_testkit::nightly;
use std::collections::BTreeMap;
use std::sync::Mutex;

use futures::FutureExt;
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_graph::job::Job;
use ostrakon_graph::output::Computed;
use ostrakon_graph::owner::{self, Edge, Maps, Upload};
use ostrakon_graph::program::VertexProgram;
use ostrakon_graph::query::Linked;
use ostrakon_graph::ruffle2::fault::{Accused, Stop};
use ostrakon_graph::ruffle2::journal::Journal;
use ostrakon_graph::ruffle2::seeds::Phase;
use ostrakon_graph::spec::{Direction, JobSpec, ListSpec};
use ostrakon_graph::stock::Stock;
use ostrakon_kernels::Prg;
use ostrakon_party::{Instance, PartyId, Roster};
use ostrakon_replicated::pair::Pair;
use ostrakon_replicated::setup::{self, SharedKeys};
use ostrakon_testkit::{Network, World};

/// Marks that live as long as the test.
#[derive(Default)]
pub struct Memory(pub Mutex<BTreeMap<String, Vec<u8>>>);

impl Journal for Memory {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        Ok(self.0.lock().unwrap().entry(name.to_owned()).or_insert_with(|| value.to_vec()).clone())
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.lock().unwrap().get(name).cloned())
    }
}

pub type Journals = [Memory; 3];
pub type Results<T> = Vec<Option<Result<T, Stop>>>;

/// Three servers after set-up.
pub struct Deployment {
    pub world: World,
    keys: Vec<Vec<u8>>,
}

impl Deployment {
    pub fn new(seed: u64) -> Self {
        let world = World::new(seed, 3);
        let world = world.with_session(setup::setup_session(&world.roster.keys));
        let keys = world.run(&Network::default(), |party| {
            let randomness = world.randomness(party.id, "set-up");
            async move { setup::run_once(&party, randomness).await }.boxed_local()
        });
        let keys: Vec<SharedKeys> = keys.into_iter().map(|keys| keys.unwrap().unwrap()).collect();
        let session = keys[0].session();
        let keys = keys.iter().map(SharedKeys::to_bytes).collect();
        Self { world: world.with_session(session), keys }
    }

    pub fn keys_of(&self, party: PartyId) -> SharedKeys {
        SharedKeys::from_bytes(&self.keys[party.index()]).unwrap()
    }

    /// A party's keys, of which it takes another one for a pair that it is in.
    pub fn keys_with_another(&self, party: PartyId, pair: Pair) -> SharedKeys {
        let mut bytes = self.keys[party.index()].clone();
        // The two pairs' keys are the last that is stored.
        let end = bytes.len();
        let place = usize::from(Pair::of_party(party.0)[1] == pair);
        bytes[end - 64 + 32 * place..][..32].fill(1);
        SharedKeys::from_bytes(&bytes).unwrap()
    }

    pub fn prepare<P: VertexProgram>(
        &self,
        network: &Network,
        spec: &JobSpec,
        program: impl Fn() -> P,
        journals: &Journals,
    ) -> Results<Stock<P>> {
        self.world.run(network, |party| {
            let keys = self.keys_of(party.id);
            let randomness = self.world.randomness(party.id, &format!("job {}", spec.number));
            let job = Job::new(spec.clone(), program()).expect("a valid job");
            let journal = &journals[party.id.index()];
            async move { job.prepare(&party, &keys, randomness, journal).await }.boxed_local()
        })
    }

    /// Stock of all three servers, as bytes.
    pub fn stock<P: VertexProgram>(
        &self,
        spec: &JobSpec,
        program: impl Fn() -> P,
        journals: &Journals,
    ) -> Vec<Vec<u8>> {
        let stock = self.prepare(&Network::default(), spec, program, journals);
        stock.into_iter().map(|stock| stock.unwrap().unwrap().to_bytes()).collect()
    }

    pub fn link<P: VertexProgram>(
        &self,
        network: &Network,
        stock: &[Vec<u8>],
        program: impl Fn() -> P,
        uploads: &[Option<Upload>],
        journals: &Journals,
    ) -> Results<Linked<P>> {
        self.link_each(network, stock, program, |_| uploads.to_vec(), journals)
    }

    /// As [`Deployment::link`], with other uploads at each server.
    pub fn link_each<P: VertexProgram>(
        &self,
        network: &Network,
        stock: &[Vec<u8>],
        program: impl Fn() -> P,
        uploads: impl Fn(PartyId) -> Vec<Option<Upload>>,
        journals: &Journals,
    ) -> Results<Linked<P>> {
        self.world.run(network, |party| {
            let stock = Stock::from_bytes(&stock[party.id.index()], program()).unwrap();
            let uploads = uploads(party.id);
            let randomness = self.world.randomness(party.id, "link");
            let journal = &journals[party.id.index()];
            async move { stock.link(&party, &uploads, randomness, journal).await }.boxed_local()
        })
    }

    pub fn compute<P: VertexProgram>(
        &self,
        network: &Network,
        linked: Vec<Linked<P>>,
        journals: &Journals,
    ) -> Results<Computed<P>> {
        self.each(network, linked, |party, linked| {
            let randomness = self.world.randomness(party.id, "compute");
            let journal = &journals[party.id.index()];
            async move { linked.compute(&party, randomness, journal).await }.boxed_local()
        })
    }

    /// Runs something on each server that takes over what the server has.
    pub fn each<'a, S: 'a, T: 'a>(
        &self,
        network: &Network,
        states: Vec<S>,
        start: impl Fn(ostrakon_party::Party, S) -> futures::future::LocalBoxFuture<'a, T>,
    ) -> Vec<Option<T>> {
        let states: Vec<Mutex<Option<S>>> =
            states.into_iter().map(|state| Mutex::new(Some(state))).collect();
        self.world.run(network, |party| {
            let state = states[party.id.index()].lock().unwrap().take().expect("one run");
            start(party, state)
        })
    }

    /// An owner's upload for its edges.
    pub fn upload<P: VertexProgram>(
        &self,
        stock: &[Vec<u8>],
        program: impl Fn() -> P,
        list: usize,
        edges: &[Edge],
        journals: &Journals,
    ) -> Upload {
        let maps = self.maps(stock, &program, list, edges, journals);
        let spec = Stock::from_bytes(&stock[0], program()).unwrap().spec().clone();
        self.sign(&spec, list, maps.encode())
    }

    pub fn maps<P: VertexProgram>(
        &self,
        stock: &[Vec<u8>],
        program: &impl Fn() -> P,
        list: usize,
        edges: &[Edge],
        journals: &Journals,
    ) -> Maps {
        let spec = Stock::from_bytes(&stock[0], program()).unwrap().spec().clone();
        let orders = owner::orders(&spec, list, edges).unwrap();
        self.maps_of(stock, program, list, &orders, journals)
    }

    pub fn maps_of<P: VertexProgram>(
        &self,
        stock: &[Vec<u8>],
        program: &impl Fn() -> P,
        list: usize,
        orders: &owner::Orders,
        journals: &Journals,
    ) -> Maps {
        let spec = Stock::from_bytes(&stock[0], program()).unwrap().spec().clone();
        let seeds = self.seeds(stock, program, list, journals);
        Maps::of(orders, &spec.permutations_of(list), &seeds)
    }

    /// The seeds of a place, as its owner collects them.
    pub fn seeds<P: VertexProgram>(
        &self,
        stock: &[Vec<u8>],
        program: &impl Fn() -> P,
        place: usize,
        journals: &Journals,
    ) -> owner::Seeds {
        let issues = [0, 1, 2].map(|party: usize| {
            let stock = Stock::from_bytes(&stock[party], program()).unwrap();
            let key = key(place).verifying_key();
            stock.issue(place as u32, &key, &journals[party]).unwrap().expect("the owner's")
        });
        let count = issues[0].seeds[0].len();
        owner::combine([Some(&issues[0]), Some(&issues[1]), Some(&issues[2])], count).unwrap()
    }

    pub fn sign(&self, spec: &JobSpec, place: usize, body: Vec<u8>) -> Upload {
        let session = &self.world.roster.session;
        Upload::sign(session, &spec.name(), place as u32, body, &key(place))
    }

    /// A whole job with honest servers, up to its shared result.
    pub fn result<P: VertexProgram>(
        &self,
        spec: &JobSpec,
        program: impl Fn() -> P,
        graphs: &[Vec<Edge>],
        journals: &Journals,
    ) -> Vec<Computed<P>> {
        let stock = self.stock(spec, &program, journals);
        let uploads: Vec<Option<Upload>> = graphs
            .iter()
            .enumerate()
            .map(|(list, edges)| Some(self.upload(&stock, &program, list, edges, journals)))
            .collect();
        let linked = self.link(&Network::default(), &stock, &program, &uploads, journals);
        let computed = self.compute(&Network::default(), all(linked), journals);
        all(computed)
    }
}

/// What all three servers have, if none stopped.
pub fn all<T>(results: Results<T>) -> Vec<T> {
    results.into_iter().map(|r| r.expect("waiting").unwrap_or_else(|s| panic!("{s}"))).collect()
}

/// Whether an honest server may have stopped for this, where only that one is corrupt: nobody
/// honest is blamed alone, and what is shown as evidence holds before a third person who knows
/// under which instances the servers have spoken.
pub fn is_just(stop: &Stop, corrupt: PartyId, roster: &Roster, instances: &[Instance]) -> bool {
    match stop {
        Stop::Broken(party, _) => *party == corrupt,
        Stop::Malformed(signed) => signed.header.from == corrupt && roster.vouches(signed),
        Stop::Evidence(evidence) => {
            let accused = |instance| evidence.accused(roster, instance);
            match instances.iter().find_map(accused) {
                Some(Accused::One(party)) => party == corrupt,
                Some(pair @ Accused::OneOf(..)) => pair.includes(corrupt),
                None => false,
            }
        }
        Stop::Check(_) | Stop::Disagreement => true,
        Stop::Spent(_) | Stop::Journal(_) => false,
    }
}

/// Every instance under which messages of a job travel.
pub fn instances_of(spec: &JobSpec) -> Vec<Instance> {
    let slices = (0..=spec.hop_slices().len() as u32).map(Phase::Slice);
    let phases = slices.chain([Phase::Seeds, Phase::Link, Phase::Query]);
    phases.map(|phase| spec.name().instance(phase)).collect()
}

pub fn key(place: usize) -> SigningKey {
    let mut seed = [9; 32];
    seed[..8].copy_from_slice(&(place as u64).to_le_bytes());
    SigningKey::from_seed(&seed)
}

pub fn spec_of<P: VertexProgram>(
    number: u64,
    vertices: u32,
    caps: &[u32],
    hops: u32,
    program: &P,
) -> JobSpec {
    let list =
        |(i, edges): (usize, &u32)| ListSpec { owner: key(i).verifying_key(), edges: *edges };
    JobSpec {
        number,
        context: Digest([7; 32]),
        vertices,
        delays: 1,
        lists: caps.iter().enumerate().map(list).collect(),
        querier: None,
        hops,
        direction: Direction::Forward,
        slice: hops.min(2),
        program: program.describe(),
        shuffled: false,
        decoys: None,
    }
}

pub fn edge(source: u32, target: u32) -> Edge {
    Edge { source: Some(source), target: Some(target) }
}

/// Numbers from a seed.
pub struct Draw(Prg, u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        let mut key = [1; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Self(Prg::new(&key), 0)
    }

    pub fn below(&mut self, bound: u32) -> u32 {
        let mut bytes = [0; 8];
        self.0.fill_at(self.1, &mut bytes);
        self.1 += 8;
        (u64::from_le_bytes(bytes) % u64::from(bound)) as u32
    }
}
