//! The benchmark of AsynchroMix: whole server processes with ledger, journal and links; the first
//! stock, and one epoch from its closing to the board.
//!
//! The limit of a phase is, as for the other engines ([`crate::limit`]), the time that its
//! unavoidable work takes on all cores of this machine: here multiplications in the field, hashing
//! of what is signed and verified, encryption, and loopback. Nothing is counted for waiting,
//! signatures, the ledger or the disk.

mod batch;
mod decoding;
mod part;
pub mod parts;
mod powermix;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ostrakon_asynchromix::participant::News;
use ostrakon_asynchromix::{Participant, Room};
use ostrakon_crypto::Secret;
use ostrakon_crypto::hash::digest;
use ostrakon_field::{Fp, dot};
use ostrakon_mixer::Devices;
use ostrakon_mixer::demo::corrupt;
use ostrakon_mixer::process::{Note, Program};
use ostrakon_mixer::site::{Heard, Plan, Site};
use ostrakon_robust::Committee;
use ostrakon_robust::cost;
use ostrakon_robust::offline::Recipe;
use ostrakon_robust::online::shuffle::DealersShuffle;
use ostrakon_robust::phase::Phase;
use ostrakon_robust::program::Program as _;
use rayon::prelude::*;
use serde::Serialize;

use crate::limit::{aead, best, loopback};
use crate::measurement::median;
use crate::random::secret;

/// How long a phase may take.
const PATIENCE: Duration = Duration::from_secs(900);
/// Participants at least: below the minimum nothing is mixed.
const FEWEST: usize = 6;

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Places of an epoch.
    pub rows: usize,
    /// Bytes of a message.
    pub payload: usize,
    /// Servers.
    pub servers: usize,
    /// Participants that hand something in; the other places come out as noise, and cost the same.
    pub participants: usize,
    /// How often.
    pub runs: u32,
}

/// A phase, measured.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// Which.
    pub phase: &'static str,
    /// Servers.
    pub servers: usize,
    /// Places of an epoch.
    pub rows: usize,
    /// Bytes of a message.
    pub payload: usize,
    /// From the first server that begins to the last one that ends; median over the runs.
    pub seconds: f64,
    /// Processor time of all servers together from where each of them begins to where it ends, to a
    /// hundredth of a second for each; median over the runs.
    pub cpu_seconds: f64,
    /// Unavoidable work on all cores; 0 where nothing but waiting is.
    pub limit_seconds: f64,
    /// `seconds / limit_seconds`, or 0.
    pub ratio: f64,
    /// Bytes of elements that all servers sent: as many as [`ostrakon_robust::cost`] says.
    pub bytes_sent: u64,
    /// Rounds, one after the other.
    pub rounds: usize,
}

/// Measures stock and epoch.
///
/// # Errors
/// If there is no such room, a process fails, or a server sends more or less than the formulas say.
pub async fn run(
    options: Options,
    program: &Program,
    tell: impl Fn(&str),
) -> Result<Vec<Measurement>> {
    let mut seconds: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    let mut computed: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    let mut room = None;
    for number in 0..options.runs {
        tell(&format!("run {} of {}", number + 1, options.runs));
        let (of, timed) = once(&options, program).await?;
        for Timed { phase, took, cpu } in timed {
            seconds.entry(phase).or_default().push(took);
            computed.entry(phase).or_default().push(cpu);
        }
        room = Some(of);
    }
    let room = room.context("at least one run")?;
    let units = Units::measure()?;
    let participants = options.participants.max(FEWEST);
    Ok(PHASES
        .iter()
        .map(|phase| {
            let work = Work::of(phase, &room, participants);
            let seconds = median(seconds.remove(phase).unwrap_or_default());
            let cpu_seconds = median(computed.remove(phase).unwrap_or_default());
            let limit_seconds = work.seconds(&units);
            Measurement {
                phase,
                servers: options.servers,
                rows: options.rows,
                payload: options.payload,
                seconds,
                cpu_seconds,
                limit_seconds,
                ratio: if limit_seconds > 0.0 { seconds / limit_seconds } else { 0.0 },
                bytes_sent: work.bytes,
                rounds: work.rounds,
            }
        })
        .collect())
}

const FOUND: &str = "founding";
const PREPARE: &str = "stock for an epoch";
const SEAL: &str = "sealing";
const MIX: &str = "shuffle";
const PUBLISH: &str = "board";
const PHASES: [&str; 5] = [FOUND, PREPARE, SEAL, MIX, PUBLISH];

/// One founding and one epoch.
async fn once(options: &Options, program: &Program) -> Result<(Room, Vec<Timed>)> {
    let Options { rows, payload, servers, .. } = *options;
    let corrupt = corrupt(servers)?;
    let plan = Plan { servers, corrupt, rows, payload, minimum: 3, ticks: 10 };
    let directory = std::env::temp_dir().join(format!("ostrakon-bench-{}", std::process::id()));
    let result = measure(&plan, program, &directory, options).await;
    drop(std::fs::remove_dir_all(&directory));
    result
}

async fn measure(
    plan: &Plan,
    program: &Program,
    directory: &std::path::Path,
    options: &Options,
) -> Result<(Room, Vec<Timed>)> {
    let mut site = Site::start(program, directory, plan)?;
    let room = Arc::new(site.join().room()?);
    let mut heard = site.all_tell(PATIENCE, |note| *note == Note::Started)?;
    // Until nothing more is prepared, which would take its part of the machine.
    let ready =
        |heard: &[Heard]| heard.iter().filter(|heard| matches!(heard.note, Note::Ready(_))).count();
    while ready(&heard) < plan.servers * batches(&room) {
        heard.push(site.hear(PATIENCE).context("no stock")?);
    }
    let epoch = say(&mut site, &room, options, heard).await?;
    Ok((Arc::into_inner(room).context("participants have left")?, epoch))
}

/// How many batches there are before anybody takes part: two of every set, and one more in place of
/// the one that the first epoch took.
fn batches(room: &Room) -> usize {
    2 * room.committees().len() + 1
}

/// Whether a batch is one of those.
fn is_first(room: &Room, number: u64) -> bool {
    number < 3 * room.committees().len() as u64
}

/// Has the participants hand in, and waits for the board.
async fn say(
    site: &mut Site,
    room: &Arc<Room>,
    options: &Options,
    mut heard: Vec<Heard>,
) -> Result<Vec<Timed>> {
    let mut devices = Devices::start(room, site.devices(), &site.join().addresses());
    let participants = options.participants.max(FEWEST);
    for home in 0..participants {
        let said = Some(vec![b'x'; options.payload]);
        let secret = Secret::new(secret()?);
        let participant = Participant::new(Arc::clone(room), said, home, &secret);
        devices.add(participant.context("a line is too long")?);
    }
    let mut waiting = participants;
    devices
        .run(|_, news| {
            waiting -= usize::from(matches!(news, News::Published(0)));
            waiting == 0 || matches!(news, News::Again(0))
        })
        .await?;
    ensure!(waiting == 0, "a participant was too slow for the first epoch: more --participants?");
    while heard.iter().filter(|h| h.note == Note::Published(0)).count() < options.servers {
        heard.push(site.hear(PATIENCE).context("no board")?);
    }
    check(room, &heard, participants)?;
    times(room, &heard)
}

/// What servers sent is what the formulas say.
fn check(room: &Room, heard: &[Heard], participants: usize) -> Result<()> {
    let mut checked = 0;
    for Heard { server, note, .. } in heard {
        let (batch, sent, phases) = match note {
            Note::Prepared(batch, sent) => (*batch, *sent, prepared(room, *batch)),
            Note::Mixed(0, sent) => (0, *sent, mixed(room, participants)),
            _ => continue,
        };
        let committee = room.committee_of(batch);
        let party = room.parties().nth(*server).context("a server of the room")?;
        // Another set's members are as many, and an opening costs each of them the same.
        let me = committee.position(party).unwrap_or(0);
        let formula: usize = phases.iter().map(|p| cost::elements(p, committee, me)).sum();
        ensure!(
            sent == formula,
            "server {server} sent {sent} elements, and {formula} are the formula"
        );
        checked += 1;
    }
    ensure!(checked > 0, "nothing was counted");
    Ok(())
}

fn prepared(room: &Room, batch: u64) -> Vec<Phase> {
    room.shuffle_of(batch).program(room.committee_of(batch), 0).phases()
}

fn mixed(room: &Room, participants: usize) -> Vec<Phase> {
    DealersShuffle::phases_of(&room.shuffle_of(0), participants)
}

/// What servers tell where a phase begins or ends, and whether the last one of them decides.
type End<'a> = (&'a dyn Fn(&Note) -> bool, bool);

/// A phase of one run.
struct Timed {
    phase: &'static str,
    took: f64,
    cpu: f64,
}

/// Seconds by phase.
fn times(room: &Room, heard: &[Heard]) -> Result<Vec<Timed>> {
    let at = |of: &dyn Fn(&Note) -> bool, last: bool| {
        let times = heard.iter().filter(|h| of(&h.note)).map(|h| h.at.as_secs_f64());
        let pick = if last { f64::max } else { f64::min };
        times.reduce(pick).context("a server told nothing of a phase")
    };
    // Of all servers that told it, the last time each.
    let computed = |of: &dyn Fn(&Note) -> bool| {
        let of = heard.iter().filter(|h| of(&h.note)).map(|h| (h.server, h.computed));
        of.collect::<BTreeMap<usize, f64>>()
    };
    let timed = |phase, from: End<'_>, to: End<'_>| {
        let (begun, ended) = (computed(from.0), computed(to.0));
        let cpu = ended.iter().filter_map(|(server, cpu)| Some(cpu - begun.get(server)?)).sum();
        anyhow::Ok(Timed { phase, took: at(to.0, to.1)? - at(from.0, from.1)?, cpu })
    };
    let started = |note: &Note| *note == Note::Started;
    let ready = |note: &Note| matches!(note, Note::Ready(number) if is_first(room, *number));
    let closed = |note: &Note| *note == Note::Closed(0);
    let mixing = |note: &Note| *note == Note::Mixing(0);
    let mixed = |note: &Note| matches!(note, Note::Mixed(0, _));
    let published = |note: &Note| *note == Note::Published(0);
    let founding = computed(&started).values().sum();
    let mut stock = timed(PREPARE, (&started, true), (&ready, true))?;
    stock.took /= batches(room) as f64;
    stock.cpu /= batches(room) as f64;
    Ok(vec![
        Timed { phase: FOUND, took: at(&started, true)?, cpu: founding },
        stock,
        timed(SEAL, (&closed, false), (&mixing, false))?,
        timed(MIX, (&mixing, false), (&mixed, true))?,
        timed(PUBLISH, (&mixed, true), (&published, true))?,
    ])
}

/// Seconds for one piece of each kind of work, on all cores.
struct Units {
    product: f64,
    hash: f64,
    aead: f64,
    loopback: f64,
}

impl Units {
    fn measure() -> Result<Self> {
        const BYTES: usize = 1 << 24;
        const TERMS: usize = 1 << 12;
        let mut table = vec![7; BYTES];
        let vectors: Vec<Fp> = (0..TERMS).map(|i| Fp::new(i as u64)).collect();
        let bytes = BYTES as f64;
        let many = 1 << 10;
        let product = best(|| {
            let sums = (0..many).into_par_iter().map(|_| dot(&vectors, black_box(&vectors)));
            let _ = black_box(sums.reduce(|| Fp::ZERO, |a, b| a + b));
        });
        let hash = best(|| {
            let one = |part: &[u8]| digest("ostrakon/v1/bench/hash", part).0[0];
            black_box(table.par_chunks(1 << 16).map(one).reduce(|| 0, |a, b| a ^ b));
        });
        Ok(Self {
            product: product / (many * TERMS) as f64,
            hash: hash / bytes,
            aead: aead(&mut table) / bytes,
            loopback: loopback(&table)? / bytes,
        })
    }
}

/// What all servers do in a phase.
struct Work {
    products: u64,
    bytes: u64,
    rounds: usize,
}

impl Work {
    fn of(phase: &str, room: &Room, participants: usize) -> Self {
        let phases = match phase {
            PREPARE => prepared(room, 0),
            MIX => mixed(room, participants),
            _ => return Self { products: 0, bytes: 0, rounds: 0 },
        };
        let (committee, shuffle) = (room.committee_of(0), room.shuffle_of(0));
        let elements = |me: usize| phases.iter().map(move |p| cost::elements(p, committee, me));
        let sent: usize = (0..committee.size()).flat_map(elements).sum();
        let local = phases.iter().map(|phase| products(phase, committee)).sum::<usize>();
        let tables = shuffle.entries() * shuffle.dealers().len() * shuffle.width;
        Self {
            products: ((local + tables) * committee.size()) as u64,
            bytes: 8 * sent as u64,
            rounds: phases.iter().map(cost::rounds).sum(),
        }
    }

    fn seconds(&self, units: &Units) -> f64 {
        let bytes = self.bytes as f64;
        self.products as f64 * units.product
            + bytes * (2.0 * units.hash + units.aead + units.loopback)
    }
}

/// Products of a member in a phase: of shares with matrices of coefficients.
fn products(phase: &Phase, committee: &Committee) -> usize {
    let (size, t) = (committee.size(), committee.corrupt());
    match phase {
        // Sharing in degree t (and t and 2t), then the matrix.
        Phase::Random { singles, doubles } => {
            singles * (size * t + size * size) + doubles * (size * 3 * t + 2 * size * size)
        }
        Phase::Deal { count, dealers } => count * dealers.len() * t,
        // Encoding, and both hops' decoding and looking whether they agree.
        Phase::Open { count, .. } => count * size + 2 * count * (t + 1),
    }
}

/// The measurements as a table for people.
#[must_use]
pub fn table(measurements: &[Measurement]) -> String {
    let mut text = format!(
        "{:<19} {:>7} {:>6} {:>7} {:>9} {:>7} {:>9} {:>6} {:>6} {:>12}\n",
        "phase",
        "servers",
        "rows",
        "payload",
        "seconds",
        "CPU",
        "limit",
        "ratio",
        "rounds",
        "bytes sent"
    );
    for m in measurements {
        let row = format!(
            "{:<19} {:>7} {:>6} {:>7} {:>9.4} {:>7.2} {:>9.4} {:>6.1} {:>6} {:>12}",
            m.phase,
            m.servers,
            m.rows,
            m.payload,
            m.seconds,
            m.cpu_seconds,
            m.limit_seconds,
            m.ratio,
            m.rounds,
            m.bytes_sent
        );
        writeln!(text, "{row}").expect("text can be written to");
    }
    if let Some(stock) = measurements.iter().find(|m| m.phase == PREPARE) {
        let rate = stock.rows as f64 / stock.seconds;
        writeln!(text, "stock for {rate:.0} rows a second").expect("text can be written to");
    }
    text
}
