//! Three servers in one process, for examples: all take turns on one thread, bulk work is spread
//! over
//! all cores, and messages are handed over in memory.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_graph::job::Job;
use ostrakon_graph::output::Computed;
use ostrakon_graph::owner::{Edge, Maps, Upload, combine, orders};
use ostrakon_graph::program::VertexProgram;
use ostrakon_graph::ruffle2::fault::Stop;
use ostrakon_graph::ruffle2::journal::Journal;
use ostrakon_graph::spec::{Direction, JobSpec, ListSpec};
use ostrakon_party::Party;
use ostrakon_replicated::setup;
use ostrakon_testkit::{Network, World};

/// Marks that live as long as the process.
#[derive(Default)]
pub struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Journal for Memory {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        let mut marks = self.0.lock().expect("one thread");
        Ok(marks.entry(name.to_owned()).or_insert_with(|| value.to_vec()).clone())
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.lock().expect("one thread").get(name).cloned())
    }
}

/// Runs a phase on all three servers; what it took goes to standard error.
pub fn phase<'a, S: 'a, T: 'a>(
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
    eprintln!("{name:<12} {seconds:8.3} s  {:10.2} MB", bytes as f64 / 1e6);
    results.into_iter().map(|r| r.expect("not waiting").expect("no fault")).collect()
}

/// Three servers with one owner's list of edges.
pub struct Servers {
    world: World,
    journals: [Memory; 3],
}

impl Servers {
    /// The servers.
    pub fn new() -> Self {
        let world = World::new(1, 3);
        let world = world.with_session(setup::setup_session(&world.roster.keys));
        Self { world, journals: Default::default() }
    }

    /// Takes a program over a graph from its preparation to its shared result, at each server.
    pub fn compute<P: VertexProgram>(
        &mut self,
        program: impl Fn() -> P,
        (vertices, edges): (u32, &[Edge]),
        (hops, slice): (u32, u32),
    ) -> Vec<Computed<P>> {
        let owner = SigningKey::from_seed(&[3; 32]);
        let count = u32::try_from(edges.len()).expect("few edges");
        let spec = JobSpec {
            number: 1,
            context: Digest([0; 32]),
            vertices,
            delays: 1,
            lists: vec![ListSpec { owner: owner.verifying_key(), edges: count }],
            querier: None,
            hops,
            direction: Direction::Forward,
            slice,
            program: program().describe(),
            shuffled: false,
            decoys: None,
        };
        let keys = phase("set-up", &self.world, vec![(); 3], |party, ()| {
            let randomness = self.world.randomness(party.id, "set-up");
            async move { Ok(setup::run_once(&party, randomness).await.expect("no fault")) }
                .boxed_local()
        });
        let Self { world, journals } = self;
        *world = World::new(1, 3).with_session(keys[0].session());
        let fresh = |party: &Party, what: &str| world.randomness(party.id, what);
        let stock = phase("preparation", world, keys, |party, keys| {
            let (spec, journal) = (spec.clone(), &journals[party.id.index()]);
            let (randomness, program) = (fresh(&party, "job"), program());
            async move {
                let job = Job::new(spec, program).expect("a valid job");
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
        let [a, b, c] = issues.each_ref().map(Some);
        let seeds = combine([a, b, c], 3).expect("seeds");
        let both = orders(&spec, 0, edges).expect("a graph");
        let maps = Maps::of(&both, &spec.permutations_of(0), &seeds);
        let session = &world.roster.session;
        let upload = Upload::sign(session, &spec.name(), 0, maps.encode(), &owner);
        let bytes = upload.body.len() as f64 / 1e6;
        eprintln!("{:<12} {:8.3} s  {bytes:10.2} MB", "owner", begun.elapsed().as_secs_f64());
        let linked = phase("link", world, stock, |party, stock| {
            let (upload, journal) = ([Some(upload.clone())], &journals[party.id.index()]);
            let randomness = fresh(&party, "link");
            async move { stock.link(&party, &upload, randomness, journal).await }.boxed_local()
        });
        phase("hops", world, linked, |party, linked| {
            let journal = &journals[party.id.index()];
            let randomness = fresh(&party, "compute");
            async move { linked.compute(&party, randomness, journal).await }.boxed_local()
        })
    }

    /// Opens something of a result at each server. Its messages go over the hops' network, so no
    /// bytes are counted.
    pub fn open<P: VertexProgram, T>(
        &self,
        computed: Vec<Computed<P>>,
        open: impl for<'a> Fn(Computed<P>, &'a Memory) -> LocalBoxFuture<'a, Result<T, Stop>>,
    ) -> Vec<T> {
        phase("result", &self.world, computed, |party, computed| {
            open(computed, &self.journals[party.id.index()])
        })
    }
}
