//! The benchmark of the intake: participants of whole servers, over HTTP, with the disk and with
//! the engine's work.
//!
//! Everybody takes part in every epoch of one room: says that it is there, fetches three issues,
//! hands its submission to three servers. An epoch ends when everybody has, and the next one
//! follows. In the end every message that was accepted must be on the boards once, and nothing
//! else.

mod board;
mod http;
mod load;
mod machine;
mod participant;
mod report;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use ostrakon_crypto::Secret;
use ostrakon_mixer::site::processor_time;
use ostrakon_mixing::engines;
use ostrakon_mixing::room::{EngineKind, people_for};
use ostrakon_protocol::{RoomInfo, ServersInfo, Status};
use rayon::prelude::*;

use crate::random::secret;
use http::{Connection, Request};
use load::{Epoch, Latencies, Lines};
use machine::Most;
use participant::{Participant, Room};
use report::{Memory, Percentiles};
pub use report::{Report, table};

/// Bytes of payload of a row.
const PAYLOAD: u32 = 64;
/// Participants a second that an epoch allows for: it closes after so many seconds even without
/// everybody, and earlier when everybody has submitted. The rate that a room admits follows from it
/// too.
const EXPECTED: u32 = 200;
/// The fewest seconds of an epoch.
const SHORTEST: u32 = 30;
/// How often the servers' memory is looked at.
const LOOK: Duration = Duration::from_millis(500);
/// How long to wait for the servers: for a batch, or for a board.
const PATIENCE: Duration = Duration::from_secs(300);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Participants, each with a key of its own.
    pub clients: u32,
    /// Connections to each server.
    pub connections: u32,
    /// The room's minimum; `None` for the greatest that so many participants meet.
    pub minimum: Option<u32>,
    /// How long to measure, in seconds; the epoch under way is finished.
    pub seconds: u32,
}

/// Three servers that run on this machine.
#[derive(Clone, Debug)]
pub struct Servers {
    /// Their public ports, by party; where a server is several processes, the engine's.
    pub ports: [u16; 3],
    /// Public ports of each server's intake processes; the same as above for a server of one
    /// process.
    pub intakes: [Vec<u16>; 3],
    /// The processes of each server.
    pub processes: [Vec<u32>; 3],
    /// Names of their PostgreSQL databases; none if they keep their data in SQLite.
    pub databases: Vec<String>,
    /// The first one's administrator token.
    pub token: String,
    /// Where their data is, or would be.
    pub directory: PathBuf,
}

#[expect(clippy::disallowed_methods, reason = "measuring is what this program is for")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "participants state the time")]
fn seconds_since_1970() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Runs the benchmark against servers that are ready. `report` is told what is being done.
///
/// # Errors
/// If a server refuses anything, or if a message is lost or comes twice.
pub fn run(options: Options, servers: &Servers, report: impl Fn(&str)) -> Result<Report> {
    ensure!(
        options.clients >= 3 && options.clients.is_multiple_of(3),
        "--clients must be a multiple of 3"
    );
    ensure!(options.connections >= 2, "--connections must be at least 2");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(options, servers, report))
}

async fn measure(options: Options, servers: &Servers, report: impl Fn(&str)) -> Result<Report> {
    report("measuring the machine");
    let most = Most::measure(&servers.directory, options.connections as usize).await?;
    let room = Arc::new(create_room(servers, options).await?);
    let run = Secret::new(secret()?);
    let mut measured = Measured::default();
    let peak = Arc::new(Mutex::new([0; 3]));
    let watcher = tokio::spawn(watch_memory(servers.processes.clone(), peak.clone()));
    let begun = now();
    let mut first = None;
    while measured.epochs.is_empty()
        || begun.elapsed() < Duration::from_secs(options.seconds.into())
    {
        report(&format!(
            "epoch {}: preparing {} participants",
            measured.epochs.len() + 1,
            options.clients
        ));
        let number = next_epoch(servers, &room).await?;
        let takes_part = prepare(&run, &room, number, options.clients);
        report(&format!(
            "epoch {}: {} participants take part",
            measured.epochs.len() + 1,
            options.clients
        ));
        let epoch = Epoch { room: room.clone(), number, takes_part };
        // Servers close connections over which nothing is asked for a while, as there is not while
        // requests are prepared.
        let lines = open_lines(servers, options.connections).await?;
        measured.note(epoch, lines, servers).await?;
        first.get_or_insert(resident(&servers.processes));
    }
    report("comparing the boards with what was accepted");
    let published =
        board::check(&room, servers.ports, &measured.epochs, options.clients, &run).await?;
    watcher.abort();
    let (after_first_epoch, end) = (first.unwrap_or_default(), resident(&servers.processes));
    let mut peak = *peak.lock().expect("no panic while held");
    // A short run may end between two looks.
    for (server, most) in peak.iter_mut().enumerate() {
        *most = (*most).max(after_first_epoch[server]).max(end[server]);
    }
    let memory = Memory { after_first_epoch, peak, end };
    Ok(measured.report(options, servers, most, memory, published))
}

/// Bytes that each server's processes have resident.
fn resident(processes: &[Vec<u32>; 3]) -> [u64; 3] {
    processes
        .each_ref()
        .map(|of_one| of_one.iter().map(|process| machine::resident(*process)).sum())
}

/// What was measured so far.
#[derive(Default)]
struct Measured {
    epochs: Vec<u64>,
    latencies: Latencies,
    /// Seconds in which participants were served.
    seconds: f64,
    servers_cpu: f64,
    database_cpu: f64,
    generator_cpu: f64,
}

impl Measured {
    /// Measures one epoch.
    async fn note(&mut self, epoch: Epoch, lines: Vec<Lines>, servers: &Servers) -> Result<()> {
        let number = epoch.number;
        let time =
            |processes: &[u32]| -> f64 { processes.iter().map(|one| processor_time(*one)).sum() };
        let used = || {
            let whole: f64 = servers.processes.iter().map(|processes| time(processes)).sum();
            (whole, time(&machine::sessions(&servers.databases)), time(&[std::process::id()]))
        };
        let before = used();
        let begun = now();
        let latencies = load::take_part(epoch, lines).await?;
        self.seconds += begun.elapsed().as_secs_f64();
        let after = used();
        self.servers_cpu += after.0 - before.0;
        self.database_cpu += after.1 - before.1;
        self.generator_cpu += after.2 - before.2;
        self.latencies.join(latencies);
        self.epochs.push(number);
        Ok(())
    }

    fn report(
        self,
        options: Options,
        servers: &Servers,
        most: Most,
        memory: Memory,
        published: usize,
    ) -> Report {
        let accepted = self.latencies.presence.len();
        let per_second = |count: usize| count as f64 / self.seconds;
        let requests = accepted + self.latencies.issue.len() + self.latencies.submission.len();
        Report {
            clients: options.clients,
            connections: options.connections,
            database: if servers.databases.is_empty() { "sqlite" } else { "postgres" },
            intakes: servers.intakes[0].iter().filter(|port| **port != servers.ports[0]).count(),
            epochs: self.epochs.len(),
            seconds: self.seconds,
            clients_per_second: per_second(accepted),
            requests_per_second: per_second(requests + self.latencies.repeated),
            submissions_per_second_and_server: per_second(self.latencies.submission.len()) / 3.0,
            requests_repeated: self.latencies.repeated,
            accepted,
            published,
            presence: Percentiles::of(self.latencies.presence),
            issue: Percentiles::of(self.latencies.issue),
            submission: Percentiles::of(self.latencies.submission),
            servers_cpu_us_per_client: self.servers_cpu * 1e6 / accepted as f64,
            database_cpu_us_per_client: self.database_cpu * 1e6 / accepted as f64,
            generator_cpu_us_per_client: self.generator_cpu * 1e6 / accepted as f64,
            memory,
            limit_clients_per_second: most.participants(),
            ratio: most.participants() * self.seconds / accepted as f64,
            limit_parts: most,
        }
    }
}

async fn create_room(servers: &Servers, options: Options) -> Result<Room> {
    let mut control = Connection::open(servers.ports[0]).await?;
    let info: ServersInfo = control.call(&Request::get("/api/v1/servers")).await?.json()?;
    let seconds = SHORTEST.max(options.clients / EXPECTED);
    // An epoch closes as soon as everybody has handed in, and when its time is over if they are
    // enough: few of those who come in groups may be missing then.
    let trust = engines::trust(EngineKind::Ruffle, servers.ports.len())?;
    let is_met = |minimum: &u32| people_for(*minimum, &trust) <= options.clients;
    let greatest = (1..=options.clients).rev().find(is_met).context("there are too few clients")?;
    let minimum = options.minimum.unwrap_or(greatest);
    ensure!(minimum <= greatest, "--minimum must be at most {greatest} for so many clients");
    let body = serde_json::json!({
        "name": "Intake",
        "payload": PAYLOAD,
        "capacity": options.clients,
        "seconds": seconds,
        "minimum": minimum,
    });
    let token = format!("authorization: Bearer {}\r\n", servers.token);
    let request = Request::post("/api/v1/rooms", &token, &body.to_string());
    let room: RoomInfo = control.call(&request).await?.json()?;
    let id = room.descriptor.id();
    Ok(Room { servers: participant::servers(&info)?, descriptor: room.descriptor, id })
}

/// Connections to all servers, so many to each, in turn to each of its intake processes. Who says
/// that participants are there ([`load::take_part`]) has every second one, so that both halves
/// reach every process.
async fn open_lines(servers: &Servers, count: u32) -> Result<Vec<Lines>> {
    let (mut speaking, mut arriving) = (Vec::new(), Vec::new());
    for number in 0..count as usize {
        let mut lines = Vec::with_capacity(servers.intakes.len());
        for ports in &servers.intakes {
            lines.push(Connection::open(ports[number / 2 % ports.len()]).await?);
        }
        if number % 2 == 0 { speaking.push(lines) } else { arriving.push(lines) }
    }
    speaking.append(&mut arriving);
    Ok(speaking)
}

/// The epoch that collects and has nobody's submission yet, as soon as there is one.
async fn next_epoch(servers: &Servers, room: &Room) -> Result<u64> {
    let mut control = Connection::open(servers.ports[0]).await?;
    let request = Request::get(&format!("/api/v1/rooms/{}/status", room.id.to_hex()));
    let deadline = now() + PATIENCE;
    while now() < deadline {
        let status: Status = control.call(&request).await?.json()?;
        if let Some(epoch) =
            status.epoch.filter(|epoch| epoch.batch.is_some() && epoch.submitted == 0)
        {
            return Ok(epoch.number);
        }
        tokio::time::sleep(PAUSE).await;
    }
    bail!("no epoch collects; is there stock?")
}

/// Notes the most memory of each server.
async fn watch_memory(processes: [Vec<u32>; 3], peak: Arc<Mutex<[u64; 3]>>) {
    loop {
        let now = resident(&processes);
        for (now, most) in now.into_iter().zip(peak.lock().expect("no panic while held").iter_mut())
        {
            *most = now.max(*most);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Everybody's requests of an epoch. They are made beforehand: they need nothing of the servers.
fn prepare(
    run: &Secret,
    room: &Room,
    epoch: u64,
    clients: u32,
) -> Vec<(Participant, participant::Requests)> {
    let time = seconds_since_1970();
    let make = |number| {
        let participant = Participant::new(run, number);
        let requests = participant.requests(room, epoch, time);
        (participant, requests)
    };
    (0..clients).into_par_iter().map(make).collect()
}
