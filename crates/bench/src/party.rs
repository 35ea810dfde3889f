//! One party of a benchmark: a process that does what it is told by line.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use ostrakon_crypto::{Digest, SigningKey, VerifyingKey};
use ostrakon_kernels::{Prg, zeroed_table};
use ostrakon_mixer::site::processor_time;
use ostrakon_net::{Config, Identity, Mesh, Quota, Reach, Timing};
use ostrakon_party::{Channel, Header, Instance, Party, PartyId, Roster};
use ostrakon_replicated::Stock;
use ostrakon_replicated::epoch::{self, Mixed};
use ostrakon_replicated::messages::{BatchSpec, EpochSpec};
use ostrakon_replicated::pair::Pair;
use ostrakon_replicated::preprocessing;
use ostrakon_replicated::seeds::BatchSeeds;
use ostrakon_replicated::setup::{self, SharedKeys};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::control::{Command, Reply, Report};
use crate::marks::Memory;
use crate::memory;
use crate::random::secret;
use crate::room::Room;

/// Carries out commands from standard input until it ends.
///
/// # Errors
/// If a command cannot be carried out.
pub fn run() -> Result<()> {
    let runtime = Runtime::new().context("the network's threads cannot be started")?;
    let Place { seed, listener, port, key } = Place::taken(&runtime)?;
    let mut lines = std::io::stdin().lock().lines();
    let mut next = || -> Result<Option<Command>> {
        let Some(line) = lines.next() else { return Ok(None) };
        Ok(Some(serde_json::from_str(&line?)?))
    };
    let Some(Command::Bind) = next()? else { return Ok(()) };
    answer(&Reply::Bound { port, key })?;
    let Some(Command::Join { keys, ports }) = next()? else { return Ok(()) };
    let mut server = runtime.block_on(Server::join(seed, &key, listener, keys, &ports))?;
    answer(&Reply::Done(Report::default()))?;
    while let Some(command) = next()? {
        memory::reset_peak();
        let processor = || processor_time(std::process::id());
        let begun = processor();
        let mut reply = match command {
            Command::PrepareEpoch(epoch) => {
                let (room, seeds) = Room::prepare(&runtime, &server.party, &server.keys, epoch)?;
                server.room = Some(room);
                Reply::Prepared { seeds }
            }
            command => Reply::Done(server.carry_out(&runtime, command)?),
        };
        if let Reply::Done(report) = &mut reply {
            report.peak_rss = memory::peak();
            report.cpu_ms = ((processor() - begun) * 1e3) as u64;
        }
        answer(&reply)?;
    }
    Ok(())
}

/// Where a party listens, and its new identity.
pub(crate) struct Place {
    pub seed: [u8; 32],
    pub listener: TcpListener,
    pub port: u16,
    pub key: VerifyingKey,
}

impl Place {
    /// A port of its own, and an identity.
    pub fn taken(runtime: &Runtime) -> Result<Self> {
        let seed = secret()?;
        let listener =
            runtime.block_on(TcpListener::bind("127.0.0.1:0")).context("no port can be bound")?;
        let port = listener.local_addr()?.port();
        Ok(Self { seed, listener, port, key: SigningKey::from_seed(&seed).verifying_key() })
    }
}

/// Writes a line of JSON to standard output.
pub(crate) fn answer(reply: &impl serde::Serialize) -> Result<()> {
    let mut line = serde_json::to_string(reply)?;
    line.push('\n');
    let mut output = std::io::stdout().lock();
    output.write_all(line.as_bytes())?;
    Ok(output.flush()?)
}

/// Connects with all other parties.
pub(crate) async fn meet(
    seed: [u8; 32],
    key: &VerifyingKey,
    listener: TcpListener,
    roster: Roster,
    ports: &[u16],
) -> Result<Party> {
    meet_over(|channel| channel, seed, key, listener, roster, ports).await
}

/// The same, over the channel that is made of the one to them.
pub(crate) async fn meet_over(
    over: impl FnOnce(Arc<dyn Channel>) -> Arc<dyn Channel>,
    seed: [u8; 32],
    key: &VerifyingKey,
    listener: TcpListener,
    roster: Roster,
    ports: &[u16],
) -> Result<Party> {
    let id = roster.keys.iter().position(|k| k == key);
    let id = PartyId(u8::try_from(id.context("this party is not among the parties")?)?);
    let roster = Arc::new(roster);
    let mesh = Mesh::start(Config {
        id,
        roster: roster.clone(),
        identity: Identity::from_seed(&seed),
        listener,
        addresses: roster
            .parties()
            .zip(ports)
            .map(|(party, port)| (party, format!("127.0.0.1:{port}")))
            .collect(),
        timing: Timing::default(),
        quota: Quota::default(),
    })?;
    while mesh.peer_states().values().any(|peer| peer.reach != Reach::Direct) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(Party::new(id, roster, Arc::new(SigningKey::from_seed(&seed)), over(mesh.channel())))
}

struct Server {
    party: Party,
    keys: SharedKeys,
    marks: Memory,
    stock: Option<Stock>,
    beta: Bytes,
    mixed: Option<Mixed>,
    room: Option<Room>,
}

impl Server {
    /// Connects with the other parties and runs the set-up.
    async fn join(
        seed: [u8; 32],
        key: &VerifyingKey,
        listener: TcpListener,
        keys: Vec<VerifyingKey>,
        ports: &[u16],
    ) -> Result<Self> {
        let session = setup::setup_session(&keys);
        let party = meet(seed, key, listener, Roster { session, keys }, ports).await?;
        let keys = setup::run_once(&party, secret()?).await?;
        Ok(Self {
            party: party.in_session(keys.session()),
            keys,
            marks: Memory::default(),
            stock: None,
            beta: Bytes::new(),
            mixed: None,
            room: None,
        })
    }

    fn carry_out(&mut self, runtime: &Runtime, command: Command) -> Result<Report> {
        match command {
            Command::Bind | Command::Join { .. } => bail!("the party has joined already"),
            Command::PrepareEpoch(_) => bail!("the epoch is prepared elsewhere"),
            Command::Prepare(spec) => {
                let prepared = preprocessing::prepare(&self.party, &self.keys, spec, secret()?);
                self.stock = Some(runtime.block_on(prepared)?);
                Ok(self.report(&[spec.instance()], String::new()))
            }
            Command::Hold => self.hold(),
            Command::Shuffle => {
                let stock = self.stock.take().context("no batch is prepared")?;
                let (spec, beta) = (epoch_of(stock.spec), std::mem::take(&mut self.beta));
                let shuffled = epoch::shuffle_shared(&self.party, stock, spec, beta, &self.marks);
                self.mixed = Some(runtime.block_on(shuffled)?);
                Ok(self.report(&[spec.instance()], String::new()))
            }
            Command::Open(spec) => {
                let mixed = self.mixed.take().context("nothing is shuffled")?;
                let opened = runtime.block_on(mixed.open());
                let digest = Header::digest_of(&opened.table);
                Ok(self.report(&[epoch_of(spec).instance()], digest.to_hex()))
            }
            Command::Retire(spec) => {
                self.forget(epoch_of(spec).instance());
                self.beta = Bytes::new();
                Ok(Report::default())
            }
            Command::CommitSlots(spec) => Ok(self.commit_slots(&spec)),
            Command::Submit { seeds, directory } => {
                self.room()?.submit(seeds, &directory)?;
                Ok(Report::default())
            }
            Command::Collect { directory } => {
                self.room()?.collect(&directory)?;
                Ok(Report::default())
            }
            Command::TakeIn => {
                self.room()?.take_in()?;
                Ok(Report::default())
            }
            Command::Mix => {
                let room = self.room()?;
                room.mix(runtime)?;
                let (instances, result) = (room.instances(), room.open(runtime)?);
                Ok(self.report(&instances, result))
            }
            Command::MixOnly => {
                let room = self.room()?;
                let sealed_us = room.mix(runtime)?;
                let instances = room.instances();
                Ok(Report { sealed_us, ..self.report(&instances, String::new()) })
            }
            Command::OpenEpoch => {
                let room = self.room()?;
                let (instances, result) = (room.instances(), room.open(runtime)?);
                Ok(self.report(&instances, result))
            }
            Command::RetireEpoch => {
                let room = self.room()?;
                let instances = room.instances();
                room.retire();
                instances.into_iter().for_each(|instance| self.forget(instance));
                self.room = None;
                Ok(Report::default())
            }
        }
    }

    fn room(&mut self) -> Result<&mut Room> {
        self.room.as_mut().context("no epoch is prepared")
    }

    /// What was spent in runs, one after the other.
    fn report(&self, instances: &[Instance], result: String) -> Report {
        let meter = &self.party.meter;
        Report {
            bytes: instances.iter().map(|instance| meter.bytes_sent(*instance)).sum(),
            rounds: instances.iter().map(|instance| meter.rounds(*instance)).sum(),
            result,
            ..Report::default()
        }
    }

    fn forget(&self, instance: Instance) {
        self.party.retire(instance);
        self.party.meter.forget(instance);
    }

    fn hold(&mut self) -> Result<Report> {
        let stock = self.stock.as_ref().context("no batch is prepared")?;
        self.forget(stock.spec.instance());
        stock.warm();
        let mut beta = zeroed_table(stock.spec.shape.bytes());
        Prg::new(&[9; 32]).fill(&mut beta);
        self.beta = beta.into();
        Ok(Report::default())
    }

    fn commit_slots(&self, spec: &BatchSpec) -> Report {
        let session = self.party.roster.session.0;
        let seeds = BatchSeeds::of_party(&self.keys, spec);
        for pair in Pair::of_party(self.party.id.0) {
            let root = preprocessing::slots_root(spec, &session, pair, seeds.of(pair));
            std::hint::black_box(root);
        }
        Report::default()
    }
}

/// The epoch that uses up a batch.
fn epoch_of(batch: BatchSpec) -> EpochSpec {
    EpochSpec { context: Digest([1; 32]), number: batch.number, batch, minimum: 0, robust: false }
}
