//! Measures a reachability job with three servers in one process, phase by phase:
//!
//! `cargo run --release -p ostrakon-graph --example measure -- VERTICES EDGES HOPS HOPS_PER_SLICE`
//!
//! All three servers take turns on one thread, bulk work is spread over all cores, and messages are
//! handed over in memory: what is measured is the work of all three, without network and disk.

#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_graph::job::Job;
use ostrakon_graph::owner::{Edge, Maps, Upload, combine, orders};
use ostrakon_graph::program::{Reach, VertexProgram};
use ostrakon_graph::ruffle2::fault::Stop;
use ostrakon_graph::ruffle2::journal::Journal;
use ostrakon_graph::spec::{Direction, JobSpec, ListSpec};
use ostrakon_kernels::Prg;
use ostrakon_party::Party;
use ostrakon_replicated::setup;
use ostrakon_testkit::{Network, World};

#[derive(Default)]
struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Journal for Memory {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        let mut marks = self.0.lock().expect("one thread");
        Ok(marks.entry(name.to_owned()).or_insert_with(|| value.to_vec()).clone())
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.lock().expect("one thread").get(name).cloned())
    }
}

/// Runs a phase on all three servers and prints its time and bytes.
fn phase<'a, S: 'a, T: 'a>(
    name: &str,
    world: &World,
    states: Vec<S>,
    start: impl Fn(Party, S) -> LocalBoxFuture<'a, Result<T, Stop>>,
) -> Vec<T> {
    let network = Network::default();
    let states: Vec<Mutex<Option<S>>> = states.into_iter().map(|s| Mutex::new(Some(s))).collect();
    let begun = Instant::now();
    let results = world.run(&network, |party| {
        let state = states[party.id.index()].lock().expect("one thread").take().expect("one run");
        start(party, state)
    });
    let seconds = begun.elapsed().as_secs_f64();
    let bytes: usize = network.sent().iter().map(|(_, message)| message.body.len()).sum();
    println!("{name:<12} {seconds:8.3} s  {:10.2} MB", bytes as f64 / 1e6);
    results.into_iter().map(|r| r.expect("not waiting").expect("no fault")).collect()
}

fn graph(vertices: u32, edges: u32) -> Vec<Edge> {
    let mut bytes = vec![0; 8 * edges as usize];
    Prg::new(&[8; 32]).fill(&mut bytes);
    let end = |word: &[u8]| Some(u32::from_le_bytes(word.try_into().expect("4 bytes")) % vertices);
    bytes
        .chunks_exact(8)
        .map(|words| Edge { source: end(&words[..4]), target: end(&words[4..]) })
        .collect()
}

fn main() {
    let numbers: Vec<u32> =
        std::env::args().skip(1).map(|n| n.parse().expect("a number")).collect();
    let &[vertices, edges, hops, slice] = &numbers[..] else {
        panic!("VERTICES EDGES HOPS HOPS_PER_SLICE")
    };
    let program = || Reach { sources: vec![0] };
    let owner = SigningKey::from_seed(&[3; 32]);
    let spec = JobSpec {
        number: 1,
        context: Digest([0; 32]),
        vertices,
        lists: vec![ListSpec { owner: owner.verifying_key(), edges }],
        querier: None,
        hops,
        direction: Direction::Forward,
        slice,
        program: program().describe(),
        shuffled: false,
    };
    let world = World::new(1, 3);
    let world = world.with_session(setup::setup_session(&world.roster.keys));
    let keys = phase("set-up", &world, vec![(); 3], |party, ()| {
        let randomness = world.randomness(party.id, "set-up");
        async move { Ok(setup::run(&party, randomness).await.expect("no fault")) }.boxed_local()
    });
    let world = world.with_session(keys[0].session());
    let journals: [Memory; 3] = Default::default();
    let fresh = |party: &Party, what: &str| world.randomness(party.id, what);
    let stock = phase("preparation", &world, keys, |party, keys| {
        let (spec, journal) = (spec.clone(), &journals[party.id.index()]);
        let randomness = fresh(&party, "job");
        async move {
            let job = Job::new(spec, program()).expect("a valid job");
            job.prepare(&party, &keys, randomness, journal).await
        }
        .boxed_local()
    });
    let begun = Instant::now();
    let issue = |party: usize| {
        let issue = stock[party].issue(0, &owner.verifying_key(), &journals[party]);
        issue.expect("marks").expect("the owner's")
    };
    let issues = [issue(0), issue(1), issue(2)];
    let seeds = combine([Some(&issues[0]), Some(&issues[1]), Some(&issues[2])], 3).expect("seeds");
    let both = orders(&spec, 0, &graph(vertices, edges)).expect("a graph");
    let maps = Maps::of(&both, &spec.permutations_of(0), &seeds);
    let session = &world.roster.session;
    let upload = Upload::sign(session, &spec.name(), 0, maps.encode(), &owner);
    let bytes = upload.body.len() as f64 / 1e6;
    println!("{:<12} {:8.3} s  {bytes:10.2} MB", "owner", begun.elapsed().as_secs_f64());
    let linked = phase("link", &world, stock, |party, stock| {
        let (upload, journal) = ([Some(upload.clone())], &journals[party.id.index()]);
        let randomness = fresh(&party, "link");
        async move { stock.link(&party, &upload, randomness, journal).await }.boxed_local()
    });
    let computed = phase("hops", &world, linked, |party, linked| {
        let journal = &journals[party.id.index()];
        let randomness = fresh(&party, "compute");
        async move { linked.compute(&party, randomness, journal).await }.boxed_local()
    });
    // Its messages go over the hops' network, so no bytes are counted.
    let reached = phase("zero tests", &world, computed, |party, mut computed| {
        let journal = &journals[party.id.index()];
        async move { computed.reached(journal).await }.boxed_local()
    });
    println!("{} of {vertices} vertices reached", reached[0].iter().filter(|bit| **bit).count());
}
