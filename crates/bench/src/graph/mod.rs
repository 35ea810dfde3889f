//! Three servers that compute on a graph: processes on this machine, connected by TLS as in
//! production, what they are told, and a benchmark of theirs.

mod benchmark;
mod delay;

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use data_encoding::BASE64;
use ostrakon_crypto::{Digest, SigningKey, VerifyingKey};
use ostrakon_field::Fp61;
use ostrakon_graph::components::Components;
use ostrakon_graph::graphsc::Minima;
use ostrakon_graph::job::Job;
use ostrakon_graph::output::Computed;
use ostrakon_graph::owner::{Edge, Issue, Maps, Upload, combine, orders};
use ostrakon_graph::program::number;
use ostrakon_graph::program::{Degree, Katz, Reach, VertexProgram};
use ostrakon_graph::query::Linked;
use ostrakon_graph::ranking::PageRank;
use ostrakon_graph::ruffle2::journal::Journal;
use ostrakon_graph::ruffle2::seeds::Phase as Step;
use ostrakon_graph::ruffle2::steps::Kind;
use ostrakon_graph::spec::{Direction, JobSpec, ListSpec};
use ostrakon_graph::stock::Stock;
use ostrakon_party::{Instance, Party, Roster, SessionId};
use ostrakon_threeparty::setup::{self, SharedKeys};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use crate::control::{Program, Running, spawn};
use crate::memory;
use crate::party::{Place, answer, meet};
use crate::random::secret;

use self::delay::Delayed;

pub use benchmark::{Measured, Options, run, table};

/// What is computed of a graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Analysis {
    /// How many edges each vertex is away from the nearest of these, in ascending order; opened to
    /// everybody.
    Distances(Vec<u32>),
    /// The same by scatter and gather, by minima of what arrives.
    Minima {
        /// Where ways begin, in ascending order.
        from: Vec<u32>,
        /// How many processors share out the rows.
        processors: u32,
    },
    /// Which vertices can be reached from these within the hops; opened to everybody.
    Reach(Vec<u32>),
    /// How long the shortest way to each vertex is; opened to everybody.
    Shortest {
        /// Where ways begin, in ascending order.
        from: Vec<u32>,
        /// How long the longest edge is.
        longest: u32,
    },
    /// The smallest vertex of each vertex's component, over so many hops; opened to everybody.
    Components(u32),
    /// PageRank with this damping, in thousandths, scaled by 2^30; opened to everybody.
    Pagerank(u32),
    /// How many edges lead to each vertex, or from it; opened to everybody.
    Degrees(Direction),
    /// The vertices that most edges lead to, or from, and how many; opened to everybody.
    Top {
        /// Which edges count.
        direction: Direction,
        /// How many vertices.
        count: u32,
    },
    /// How many edges there are; opened to everybody.
    Edges,
    /// Katz centrality with attenuation one by this, scaled to integers; opened to everybody.
    Katz(u64),
}

impl Analysis {
    fn program(&self, vertices: u32) -> Vec<u8> {
        match self {
            Analysis::Distances(from) | Analysis::Reach(from) | Analysis::Shortest { from, .. } => {
                Reach { sources: from.clone() }.describe()
            }
            Analysis::Minima { from, processors } => {
                Minima { sources: from.clone(), processors: *processors }.describe()
            }
            Analysis::Components(within) => Components { vertices, within: *within }.describe(),
            Analysis::Pagerank(damping) => PageRank { damping: *damping }.describe(),
            Analysis::Degrees(_) | Analysis::Top { .. } | Analysis::Edges => Degree.describe(),
            Analysis::Katz(base) => Katz { base: *base }.describe(),
        }
    }

    fn direction(&self) -> Direction {
        match self {
            Analysis::Degrees(direction) | Analysis::Top { direction, .. } => *direction,
            Analysis::Pagerank(_) => Direction::BackwardOnce,
            _ => Direction::Forward,
        }
    }
}

impl Analysis {
    fn delays(&self) -> u32 {
        match self {
            Analysis::Shortest { longest, .. } => *longest,
            _ => 1,
        }
    }

    /// How many hops the servers make, if so many are asked for.
    fn hops(&self, vertices: u32, asked: u32) -> u32 {
        match self {
            Analysis::Components(within) => Components { vertices, within: *within }.hops(),
            // The first hop counts what ranks are divided by.
            Analysis::Pagerank(_) => asked.saturating_add(1),
            Analysis::Degrees(_) | Analysis::Top { .. } | Analysis::Edges => 1,
            _ => asked,
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
    /// Takes all owners' uploads, encoded and in base 64, checks them and links them.
    Link { uploads: Vec<String> },
    /// Computes, and opens what is to be opened.
    Compute,
}

#[derive(Serialize, Deserialize)]
enum Reply {
    Bound { port: u16, key: VerifyingKey },
    Joined(SessionId),
    Done(Spent),
    Issued(Option<Issue>),
    Values(Vec<Option<u64>>, Spent),
    Failed(String),
}

/// What a server has spent on a phase.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Bytes of bodies that it sent in tables.
    pub tables: u64,
    /// Bytes of all other bodies.
    pub rest: u64,
    /// The longest chain of messages each of which caused the next.
    pub rounds: u32,
    /// The most memory that was resident; 0 where the system does not tell.
    pub peak: u64,
}

impl Reply {
    fn spent(&self) -> Option<Spent> {
        match self {
            Reply::Done(spent) | Reply::Values(_, spent) => Some(*spent),
            _ => None,
        }
    }
}

/// A phase, by its name.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// Which.
    pub phase: &'static str,
    /// Until the slowest server had finished.
    pub seconds: f64,
    /// What each server has spent; nothing where the owners work.
    pub spent: Vec<Spent>,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// A value for each vertex: a distance (none if it was not reached), a degree (none if it is
    /// not shown), a centrality; or one value, if it is the number of edges.
    pub values: Vec<Option<u64>>,
    /// The phases in order.
    pub phases: Vec<Phase>,
}

/// The three servers' processes. They end when this is dropped.
pub struct Servers {
    running: Vec<Running>,
    session: SessionId,
    number: u64,
    /// The links, if they take a while.
    _delayed: Option<Delayed>,
}

impl Servers {
    /// Starts the processes and connects them, by links that take so long in each direction.
    ///
    /// # Errors
    /// If one cannot be started, or ends.
    pub fn start(program: &Program, latency: Duration) -> Result<Self> {
        let mut running = (0..3).map(|_| spawn(program)).collect::<Result<Vec<_>>>()?;
        let (mut keys, mut ports) = (Vec::new(), Vec::new());
        for server in &mut running {
            let Reply::Bound { port, key } = server.answer()? else { bail!("no port is bound") };
            keys.push(key);
            ports.push(port);
        }
        let delayed = (!latency.is_zero()).then(|| Delayed::start(&ports, latency)).transpose()?;
        let ports = delayed.as_ref().map_or(ports, |delayed| delayed.ports.clone());
        let session = SessionId(Digest([0; 32]));
        let mut servers = Self { running, session, number: 0, _delayed: delayed };
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
        let hops = analysis.hops(vertices, hops);
        let spec = JobSpec {
            number: self.number,
            context: Digest([0; 32]),
            vertices: vertices.saturating_mul(analysis.delays()),
            delays: analysis.delays(),
            lists: owners.iter().zip(lists).map(|(owner, edges)| list(owner, edges)).collect(),
            querier: None,
            hops,
            direction: analysis.direction(),
            slice: hops.min(8),
            program: analysis.program(vertices),
            shuffled: false,
            decoys: None,
        };
        ensure!(spec.is_valid(), "the graph is too large, or has no vertices or hops");
        let mut phases = Vec::new();
        let mut begun = Instant::now();
        let mut phase = |name, spent| {
            let now = Instant::now();
            phases.push(Phase { phase: name, seconds: (now - begun).as_secs_f64(), spent });
            begun = now;
        };
        let spent = |replies: &[Reply]| replies.iter().filter_map(Reply::spent).collect();
        tell("the servers prepare permutations");
        let preparing = Command::Prepare { spec: spec.clone(), analysis: analysis.clone() };
        let replies = self.all(&preparing)?;
        phase("before input", spent(&replies));
        tell("the owners sort and hide their lists");
        let mut uploads = Vec::new();
        for (place, (owner, edges)) in (0..).zip(owners.iter().zip(lists)) {
            let upload = self.upload(&spec, place, owner, edges)?;
            uploads.push(BASE64.encode(&upload.encode()));
        }
        phase("owners", Vec::new());
        tell("the servers check the lists and link them");
        let replies = self.all(&Command::Link { uploads })?;
        phase("after structure", spent(&replies));
        tell("the servers compute");
        let replies = self.all(&Command::Compute)?;
        phase("query", spent(&replies));
        let mut values = replies.into_iter().map(|reply| match reply {
            Reply::Values(values, _) => Ok(values),
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

/// A server that has met the others and shares keys with them; none if there is nobody to meet.
fn found() -> Result<Option<Server>> {
    let runtime = Runtime::new().context("the network's threads cannot be started")?;
    let Place { seed, listener, port, key } = Place::taken(&runtime)?;
    answer(&Reply::Bound { port, key })?;
    let Some(Command::Join { keys, ports }) = next()? else { return Ok(None) };
    let roster = Roster { session: setup::setup_session(&keys), keys };
    let party = runtime.block_on(meet(seed, &key, listener, roster, &ports))?;
    let keys = runtime.block_on(ostrakon_replicated::setup::run_once(&party, secret()?))?;
    let party = party.in_session(keys.session());
    answer(&Reply::Joined(keys.session()))?;
    Ok(Some(Server { runtime, party, keys }))
}

/// A server: carries out commands from standard input until it ends.
///
/// # Errors
/// If a command is none, or nobody reads the answers.
pub fn serve() -> Result<()> {
    let Some(server) = found()? else { return Ok(()) };
    let mut over = Vec::new();
    while let Some(command) = next()? {
        let Command::Prepare { spec, analysis } = command else {
            bail!("a job begins with its preparation")
        };
        // All have answered, so all have what was sent.
        over.drain(..).for_each(|instance| server.party.retire(instance));
        let name = spec.name();
        over.extend([Step::Link, Step::Query].map(|step| name.instance(step)));
        match analysis {
            Analysis::Distances(sources) | Analysis::Shortest { from: sources, .. } => {
                let own = sources.clone();
                server.job(spec, Reach { sources }, async |linked, party, journal| {
                    let mut computed = linked.compute(party, secret()?, journal).await?;
                    let first = computed.first_reached(journal).await?;
                    let far = |(v, hops): (u32, Option<u32>)| {
                        let near = own.binary_search(&v).is_ok();
                        if near { Some(0) } else { hops.map(u64::from) }
                    };
                    Ok((0..).zip(first).map(far).collect())
                })
            }
            Analysis::Minima { from, processors } => {
                let (program, most) = (Minima { sources: from, processors }, spec.hops);
                server.job(spec, program, async |linked, party, journal| {
                    let mut computed = linked.minima(party, secret()?, journal).await?;
                    let words = computed.values().await?;
                    Ok(words.into_iter().map(|word| number(word, most)).collect())
                })
            }
            Analysis::Reach(sources) => {
                server.job(spec, Reach { sources }, async |linked, party, journal| {
                    let mut computed = linked.compute(party, secret()?, journal).await?;
                    let reached = computed.reached(journal).await?;
                    Ok(reached.into_iter().map(|reached| reached.then_some(1)).collect())
                })
            }
            Analysis::Components(within) => {
                let program = Components { vertices: spec.vertices, within };
                server.job(spec, program, async |linked, party, journal| {
                    let smallest = linked.components(party, secret()?, journal).await?;
                    Ok(smallest.into_iter().map(|vertex| vertex.map(u64::from)).collect())
                })
            }
            Analysis::Pagerank(damping) => {
                server.job(spec, PageRank { damping }, async |linked, party, journal| {
                    opened(linked.rank(party, secret()?, journal).await?).await
                })
            }
            Analysis::Degrees(_) => server.job(spec, Degree, summed),
            Analysis::Top { count, .. } => {
                let edges: u64 = spec.lists.iter().map(|list| u64::from(list.edges)).sum();
                let bits = (u64::BITS - edges.leading_zeros()) as usize;
                server.job(spec, Degree, async |linked, party, journal| {
                    let mut computed = linked.compute(party, secret()?, journal).await?;
                    let top = computed.top((count, bits), journal).await?;
                    Ok(top.into_iter().map(|value| value.map(|value| value.value())).collect())
                })
            }
            Analysis::Edges => server.job(spec, Degree, async |linked, party, journal| {
                let mut computed = linked.compute(party, secret()?, journal).await?;
                Ok(vec![Some(computed.total(0, journal).await?.value())])
            }),
            Analysis::Katz(base) => server.job(spec, Katz { base }, summed),
        }?;
    }
    Ok(())
}

/// All values of a program whose hops follow each other, opened.
async fn summed<P: VertexProgram<F = Fp61>>(
    linked: Linked<P>,
    party: &Party,
    journal: &dyn Journal,
) -> Result<Vec<Option<u64>>> {
    opened(linked.compute(party, secret()?, journal).await?).await
}

/// All values, opened.
async fn opened<P: VertexProgram<F = Fp61>>(mut computed: Computed<P>) -> Result<Vec<Option<u64>>> {
    let values = computed.values().await?;
    Ok(values.into_iter().map(|value| Some(value.value())).collect())
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
        result: impl AsyncFn(Linked<P>, &Party, &dyn Journal) -> Result<Vec<Option<u64>>>,
    ) -> Result<()> {
        let (journal, query) = (Memory::default(), [spec.name().instance(Step::Query)]);
        let reply = match self.course(spec, program, &journal) {
            Err(error) => Reply::Failed(error.to_string()),
            Ok(None) => return Ok(()),
            Ok(Some(linked)) => {
                memory::reset_peak();
                match self.runtime.block_on(result(linked, &self.party, &journal)) {
                    Ok(values) => Reply::Values(values, self.spent(&query)),
                    Err(why) => Reply::Failed(why.to_string()),
                }
            }
        };
        answer(&reply)
    }

    /// What was spent under these instances, since memory was counted anew.
    fn spent(&self, instances: &[Instance]) -> Spent {
        let mut spent = Spent { peak: memory::peak(), ..Spent::default() };
        for instance in instances {
            for ((step, _), traffic) in self.party.meter.traffic(*instance) {
                let is_table = Kind::TABLES.iter().any(|kind| kind.step() == step);
                *(if is_table { &mut spent.tables } else { &mut spent.rest }) += traffic.bytes;
            }
            spent.rounds += self.party.meter.rounds(*instance);
        }
        spent
    }

    /// Up to where it is computed; `None` if there are no more commands.
    fn course<P: VertexProgram>(
        &self,
        spec: JobSpec,
        program: P,
        journal: &Memory,
    ) -> Result<Option<Linked<P>>> {
        let name = spec.name();
        let slices = 1 + u32::try_from(spec.hop_slices().len())?;
        let prepared: Vec<Instance> = [Step::Seeds]
            .into_iter()
            .chain((0..slices).map(Step::Slice))
            .map(|step| name.instance(step))
            .collect();
        memory::reset_peak();
        let job = Job::new(spec, program).context("the job's descriptor is not valid")?;
        let preparing = job.prepare(&self.party, &self.keys, secret()?, journal);
        let mut stock = Some(self.runtime.block_on(preparing)?);
        answer(&Reply::Done(self.spent(&prepared)))?;
        let mut linked = None;
        while let Some(command) = next()? {
            match command {
                Command::Issue { list, owner } => {
                    let stock: &Stock<P> = stock.as_ref().context("the lists are linked")?;
                    answer(&Reply::Issued(stock.issue(list, &owner, journal)?))?;
                }
                Command::Link { uploads } => {
                    // All have prepared, so all have what was sent, and nobody is started again.
                    prepared.iter().for_each(|instance| self.party.retire(*instance));
                    memory::reset_peak();
                    let stock = stock.take().context("the lists are linked")?;
                    let read =
                        |text: &String| Upload::decode(&BASE64.decode(text.as_bytes()).ok()?).ok();
                    let uploads: Vec<Option<Upload>> = uploads.iter().map(read).collect();
                    let linking = stock.link(&self.party, &uploads, secret()?, journal);
                    linked = Some(self.runtime.block_on(linking)?);
                    answer(&Reply::Done(self.spent(&[name.instance(Step::Link)])))?;
                }
                Command::Compute => {
                    return linked.context("the lists are not linked yet").map(Some);
                }
                Command::Join { .. } | Command::Prepare { .. } => bail!("a job is under way"),
            }
        }
        Ok(None)
    }
}
