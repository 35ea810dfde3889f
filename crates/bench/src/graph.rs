//! Three servers that compute on a graph: processes on this machine, connected by TLS as in
//! production, what they are told, and a benchmark of theirs.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::BufRead;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use ostrakon_crypto::{Digest, SigningKey, VerifyingKey};
use ostrakon_field::Fp61;
use ostrakon_graph::job::{Job, Stock};
use ostrakon_graph::output::Computed;
use ostrakon_graph::owner::{Edge, Issue, Maps, Upload, combine, orders};
use ostrakon_graph::program::{Degree, Katz, Reach, VertexProgram};
use ostrakon_graph::ruffle2::journal::Journal;
use ostrakon_graph::spec::{Direction, JobSpec, ListSpec};
use ostrakon_kernels::Prg;
use ostrakon_party::{Party, Roster, SessionId};
use ostrakon_threeparty::setup::{self, SharedKeys};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use crate::control::{Program, Running, spawn};
use crate::measurement::median;
use crate::party::{Place, answer, meet, secret};

/// What is computed of a graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Analysis {
    /// How many edges each vertex is away from the nearest of these, in ascending order; opened to
    /// everybody.
    Distances(Vec<u32>),
    /// How many edges lead to each vertex, or from it; opened to everybody.
    Degrees(Direction),
    /// Katz centrality with attenuation one by this, scaled to integers; opened to everybody.
    Katz(u64),
}

impl Analysis {
    fn program(&self) -> Vec<u8> {
        match self {
            Analysis::Distances(sources) => Reach { sources: sources.clone() }.describe(),
            Analysis::Degrees(_) => Degree.describe(),
            Analysis::Katz(base) => Katz { base: *base }.describe(),
        }
    }

    fn direction(&self) -> Direction {
        match self {
            Analysis::Degrees(direction) => *direction,
            _ => Direction::Forward,
        }
    }
}

/// What a server does next.
#[derive(Serialize, Deserialize)]
enum Command {
    /// Connects with the others and makes keys.
    Join { keys: Vec<VerifyingKey>, ports: Vec<u16> },
    /// Prepares a job.
    Prepare { spec: JobSpec, analysis: Analysis },
    /// Gives an owner what is its own.
    Issue { list: u32, owner: VerifyingKey },
    /// Takes all owners' uploads, encoded, checks them and links them.
    Link { uploads: Vec<Vec<u8>> },
    /// Computes, and opens what is to be opened.
    Compute,
}

#[derive(Serialize, Deserialize)]
enum Reply {
    Bound { port: u16, key: VerifyingKey },
    Joined(SessionId),
    Done,
    Issued(Option<Issue>),
    Values(Vec<Option<u64>>),
    Failed(String),
}

/// A phase, by its name.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// Which.
    pub phase: &'static str,
    /// Until the slowest server had finished.
    pub seconds: f64,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// A value for each vertex: a distance (none if it was not reached), a degree, a centrality.
    pub values: Vec<Option<u64>>,
    /// The phases in order.
    pub phases: Vec<Phase>,
}

/// The three servers' processes. They end when this is dropped.
pub struct Servers {
    running: Vec<Running>,
    session: SessionId,
    number: u64,
}

impl Servers {
    /// Starts the processes and connects them.
    ///
    /// # Errors
    /// If one cannot be started, or ends.
    pub fn start(program: &Program) -> Result<Self> {
        let mut running = (0..3).map(|_| spawn(program)).collect::<Result<Vec<_>>>()?;
        let (mut keys, mut ports) = (Vec::new(), Vec::new());
        for server in &mut running {
            let Reply::Bound { port, key } = server.answer()? else { bail!("no port is bound") };
            keys.push(key);
            ports.push(port);
        }
        let session = SessionId(Digest([0; 32]));
        let mut servers = Self { running, session, number: 0 };
        let joined = servers.all(&Command::Join { keys, ports })?;
        let Some(Reply::Joined(session)) = joined.into_iter().next() else {
            bail!("a server did not join")
        };
        servers.session = session;
        Ok(servers)
    }

    /// Tells all servers the same, and waits for their answers.
    fn all(&mut self, command: &Command) -> Result<Vec<Reply>> {
        self.running.iter_mut().try_for_each(|server| server.tell(command))?;
        let mut replies = Vec::new();
        for server in &mut self.running {
            match server.answer()? {
                Reply::Failed(why) => bail!("the servers have stopped: {why}"),
                reply => replies.push(reply),
            }
        }
        Ok(replies)
    }

    /// Analyses the union of these lists of edges between so many vertices within so many hops.
    /// `tell` hears what is being done; how many edges a list has is public here.
    ///
    /// # Errors
    /// If a list has a vertex too many, or a server ends or fails.
    #[expect(clippy::disallowed_methods, reason = "measuring is what this program is for")]
    pub fn analyse(
        &mut self,
        analysis: &Analysis,
        (vertices, hops): (u32, u32),
        lists: &[Vec<Edge>],
        mut tell: impl FnMut(&str),
    ) -> Result<Outcome> {
        self.number += 1;
        let owners: Vec<SigningKey> =
            lists.iter().map(|_| Ok(SigningKey::from_seed(&secret()?))).collect::<Result<_>>()?;
        let spec = JobSpec {
            number: self.number,
            context: Digest([0; 32]),
            vertices,
            lists: owners.iter().zip(lists).map(|(owner, edges)| list(owner, edges)).collect(),
            querier: None,
            hops,
            direction: analysis.direction(),
            slice: hops.min(8),
            program: analysis.program(),
            shuffled: false,
        };
        ensure!(spec.is_valid(), "the graph is too large, or has no vertices or hops");
        let mut phases = Vec::new();
        let mut begun = Instant::now();
        let mut phase = |name| {
            let now = Instant::now();
            phases.push(Phase { phase: name, seconds: (now - begun).as_secs_f64() });
            begun = now;
        };
        tell("the servers prepare permutations");
        self.all(&Command::Prepare { spec: spec.clone(), analysis: analysis.clone() })?;
        phase("preparation");
        tell("the owners sort and hide their lists");
        let mut uploads = Vec::new();
        for (place, (owner, edges)) in (0..).zip(owners.iter().zip(lists)) {
            uploads.push(self.upload(&spec, place, owner, edges)?.encode());
        }
        phase("owners");
        tell("the servers check the lists and link them");
        self.all(&Command::Link { uploads })?;
        phase("link");
        tell("the servers compute");
        let replies = self.all(&Command::Compute)?;
        phase("hops and result");
        let mut values = replies.into_iter().map(|reply| match reply {
            Reply::Values(values) => Ok(values),
            _ => bail!("a server has no result"),
        });
        let first = values.next().context("there are servers")??;
        for other in values {
            ensure!(other? == first, "the servers hold different results");
        }
        Ok(Outcome { values: first, phases })
    }

    /// What an owner does (`docs/spec/graph.md`, I1 to I4).
    fn upload(
        &mut self,
        spec: &JobSpec,
        place: u32,
        owner: &SigningKey,
        edges: &[Edge],
    ) -> Result<Upload> {
        let replies = self.all(&Command::Issue { list: place, owner: owner.verifying_key() })?;
        let issues = replies.into_iter().map(|reply| match reply {
            Reply::Issued(issue) => issue,
            _ => None,
        });
        let issues: Vec<Option<Issue>> = issues.collect();
        let [a, b, c] = &issues[..] else { bail!("three servers") };
        let seeds = combine([a.as_ref(), b.as_ref(), c.as_ref()], 3);
        let seeds = seeds.context("the servers contradict each other")?;
        let both = orders(spec, place as usize, edges)?;
        let maps = Maps::of(&both, &spec.permutations_of(place as usize), &seeds);
        Ok(Upload::sign(&self.session, &spec.name(), place, maps.encode(), owner))
    }
}

fn list(owner: &SigningKey, edges: &[Edge]) -> ListSpec {
    ListSpec { owner: owner.verifying_key(), edges: edges.len() as u32 }
}

/// Marks that live as long as the process.
#[derive(Default)]
struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Journal for Memory {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        let mut marks = self.0.lock().map_err(|_| "a mark could not be written")?;
        Ok(marks.entry(name.to_owned()).or_insert_with(|| value.to_vec()).clone())
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let marks = self.0.lock().map_err(|_| "a mark could not be read")?;
        Ok(marks.get(name).cloned())
    }
}

fn next() -> Result<Option<Command>> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    if line.is_empty() { Ok(None) } else { Ok(Some(serde_json::from_str(&line)?)) }
}

/// A server: carries out commands from standard input until it ends.
///
/// # Errors
/// If a command is none, or nobody reads the answers.
pub fn serve() -> Result<()> {
    let runtime = Runtime::new().context("the network's threads cannot be started")?;
    let Place { seed, listener, port, key } = Place::taken(&runtime)?;
    answer(&Reply::Bound { port, key })?;
    let Some(Command::Join { keys, ports }) = next()? else { return Ok(()) };
    let roster = Roster { session: setup::setup_session(&keys), keys };
    let party = runtime.block_on(meet(seed, &key, listener, roster, &ports))?;
    let keys = runtime.block_on(ostrakon_replicated::setup::run(&party, secret()?))?;
    let party = party.in_session(keys.session());
    answer(&Reply::Joined(keys.session()))?;
    let server = Server { runtime, party, keys };
    while let Some(command) = next()? {
        let Command::Prepare { spec, analysis } = command else {
            bail!("a job begins with its preparation")
        };
        match analysis {
            Analysis::Distances(sources) => {
                let own = sources.clone();
                server.job(spec, Reach { sources }, async |computed, journal| {
                    let first = computed.first_reached(journal).await.map_err(sentence)?;
                    let far = |(v, hops): (u32, Option<u32>)| {
                        let near = own.binary_search(&v).is_ok();
                        if near { Some(0) } else { hops.map(u64::from) }
                    };
                    Ok((0..).zip(first).map(far).collect())
                })
            }
            Analysis::Degrees(_) => server.job(spec, Degree, opened),
            Analysis::Katz(base) => server.job(spec, Katz { base }, opened),
        }?;
    }
    Ok(())
}

/// All values, opened.
async fn opened<P: VertexProgram<F = Fp61>>(
    computed: &mut Computed<P>,
    _: &dyn Journal,
) -> Result<Vec<Option<u64>>, String> {
    let values = computed.values().await.map_err(sentence)?;
    Ok(values.into_iter().map(|value| Some(value.value())).collect())
}

fn sentence(error: impl std::fmt::Display) -> String {
    error.to_string()
}

struct Server {
    runtime: Runtime,
    party: Party,
    keys: SharedKeys,
}

impl Server {
    /// Takes a job from its preparation to its result.
    fn job<P: VertexProgram>(
        &self,
        spec: JobSpec,
        program: P,
        result: impl AsyncFn(&mut Computed<P>, &dyn Journal) -> Result<Vec<Option<u64>>, String>,
    ) -> Result<()> {
        let journal = Memory::default();
        let reply = match self.course(spec, program, &journal) {
            Err(error) => Reply::Failed(error.to_string()),
            Ok(None) => return Ok(()),
            Ok(Some(mut computed)) => {
                match self.runtime.block_on(result(&mut computed, &journal)) {
                    Ok(values) => Reply::Values(values),
                    Err(why) => Reply::Failed(why),
                }
            }
        };
        answer(&reply)
    }

    /// Up to what is computed; `None` if there are no more commands.
    fn course<P: VertexProgram>(
        &self,
        spec: JobSpec,
        program: P,
        journal: &Memory,
    ) -> Result<Option<Computed<P>>> {
        let job = Job::new(spec, program).context("the job's descriptor is not valid")?;
        let preparing = job.prepare(&self.party, &self.keys, secret()?, journal);
        let mut stock = Some(self.runtime.block_on(preparing)?);
        answer(&Reply::Done)?;
        let mut linked = None;
        while let Some(command) = next()? {
            match command {
                Command::Issue { list, owner } => {
                    let stock: &Stock<P> = stock.as_ref().context("the lists are linked")?;
                    answer(&Reply::Issued(stock.issue(list, &owner, journal)?))?;
                }
                Command::Link { uploads } => {
                    let stock = stock.take().context("the lists are linked")?;
                    let read = |bytes: &Vec<u8>| Upload::decode(bytes).ok();
                    let uploads: Vec<Option<Upload>> = uploads.iter().map(read).collect();
                    let linking = stock.link(&self.party, &uploads, secret()?, journal);
                    linked = Some(self.runtime.block_on(linking)?);
                    answer(&Reply::Done)?;
                }
                Command::Compute => {
                    let linked = linked.take().context("the lists are not linked yet")?;
                    let computing = linked.compute(&self.party, secret()?, journal);
                    return Ok(Some(self.runtime.block_on(computing)?));
                }
                Command::Join { .. } | Command::Prepare { .. } => bail!("a job is under way"),
            }
        }
        Ok(None)
    }
}

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Vertices.
    pub vertices: u32,
    /// Edges, of one owner.
    pub edges: u32,
    /// Hops.
    pub hops: u32,
    /// How often.
    pub runs: u32,
}

/// Measures distances in a random graph. Seconds are medians over the runs.
///
/// # Errors
/// If a process fails, or a distance is wrong.
pub fn run(options: Options, program: &Program, mut tell: impl FnMut(&str)) -> Result<Vec<Phase>> {
    let Options { vertices, edges, hops, runs } = options;
    let mut servers = Servers::start(program)?;
    let edges = random_edges(vertices, edges)?;
    let expected = distances(vertices, &edges, hops);
    let mut measured: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    let mut order = Vec::new();
    for run in 0..runs {
        let analysis = Analysis::Distances(vec![0]);
        let lists = [edges.clone()];
        let about = |what: &str| tell(&format!("run {} of {runs}: {what}", run + 1));
        let outcome = servers.analyse(&analysis, (vertices, hops), &lists, about)?;
        ensure!(outcome.values == expected, "the distances are wrong");
        order = outcome.phases.iter().map(|phase| phase.phase).collect();
        for Phase { phase, seconds } in outcome.phases {
            measured.entry(phase).or_default().push(seconds);
        }
    }
    let phase = |phase| Phase { phase, seconds: median(measured[phase].clone()) };
    Ok(order.into_iter().map(phase).collect())
}

fn random_edges(vertices: u32, edges: u32) -> Result<Vec<Edge>> {
    let mut bytes = vec![0; 8 * edges as usize];
    Prg::new(&secret()?).fill(&mut bytes);
    let end = |word: &[u8]| Some(u32::from_le_bytes(word.try_into().expect("4 bytes")) % vertices);
    let edge = |words: &[u8]| Edge { source: end(&words[..4]), target: end(&words[4..]) };
    Ok(bytes.chunks_exact(8).map(edge).collect())
}

/// Breadth-first search from vertex 0, in the clear.
fn distances(vertices: u32, edges: &[Edge], hops: u32) -> Vec<Option<u64>> {
    let mut far = vec![None; vertices as usize];
    far[0] = Some(0);
    for hop in 0..u64::from(hops) {
        for Edge { source, target } in edges {
            let (Some(source), Some(target)) = (*source, *target) else { continue };
            if far[source as usize] == Some(hop) && far[target as usize].is_none() {
                far[target as usize] = Some(hop + 1);
            }
        }
    }
    far
}

/// The phases as a table for people.
pub fn table(phases: &[Phase]) -> String {
    let mut text = format!("{:<17} {:>9}\n", "phase", "seconds");
    for Phase { phase, seconds } in phases {
        writeln!(text, "{phase:<17} {seconds:>9.3}").expect("text can be written to");
    }
    text
}
