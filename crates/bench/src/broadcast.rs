//! The benchmark of an epoch with either engine, by phases, and of a round of messages: an epoch of
//! rows that are all full, and what a client does with its board.

use anyhow::{Result, anyhow, ensure};
use ostrakon_additive::three::cost as clarion;
use ostrakon_crypto::{Secret, Stream};
use ostrakon_messaging::params::CYCLE;
use ostrakon_messaging::{Client, Turn};
use ostrakon_mixing::room::REDUNDANCY;
use ostrakon_mixing::{EngineKind, RoomId};
use ostrakon_replicated::cost::{self, Cost};
use ostrakon_replicated::messages::Shape;
use rand_core::Rng;

use crate::control::{Answers, Command, Epoch, Parties, Program};
use crate::limit::{Limits, Work, time};
use crate::measurement::{Measurement, Published, median};
use crate::phase::Phase;
use crate::random::secret;
use crate::shuffle::checked;

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Who mixes.
    pub engine: EngineKind,
    /// Participants, all of whom take part.
    pub rows: u32,
    /// Bytes of payload of a row; a row has 16 bytes more.
    pub width: u32,
    /// How often.
    pub runs: u32,
}

/// Phases of an epoch, until their measurements are made.
struct Phases {
    take_in: Phase,
    mix: Phase,
    open: Phase,
    /// What lies between the end of the epoch's time and its board.
    epoch: Phase,
}

impl Phases {
    fn of(engine: EngineKind, shape: Shape) -> Self {
        let Shape { rows, width } = shape;
        let phase = |name, cost, limit| Phase::new(name, cost, limit);
        let nothing = Cost::default();
        match engine {
            EngineKind::Clarion => {
                let registering = clarion::registering_with_epoch(0, 0);
                let until_ready = registering
                    + clarion::sealing(rows)
                    + clarion::mixing(rows, width)
                    + clarion::readiness();
                let whole = registering + clarion::epoch(rows, width);
                Self {
                    take_in: phase("take-in", nothing, Work::clarion_take_in),
                    mix: phase("seal-and-mix", until_ready, Work::clarion_mix),
                    open: phase("open", clarion::opening(rows, width), Work::clarion_open),
                    epoch: phase("epoch", whole, Work::clarion_epoch),
                }
            }
            // The formula is of the whole epoch.
            EngineKind::Ruffle => {
                let (whole, opening) = (cost::epoch(shape, rows), cost::opening(shape));
                Self {
                    take_in: phase("take-in", nothing, Work::ruffle_take_in),
                    mix: phase("seal-and-mix", less(whole, opening), Work::ruffle_mix),
                    open: phase("open", opening, Work::opening),
                    epoch: phase("epoch", whole, Work::epoch),
                }
            }
        }
    }

    fn note(&mut self, taken: &Answers, mixed: &Answers, opened: &Answers) -> Result<()> {
        self.take_in.note(taken, None)?;
        self.mix.note(mixed, None)?;
        self.open.note(opened, Some(mixed))?;
        self.epoch.note(&opened.after(mixed), None)
    }

    fn measurements(self, shape: Shape, limits: &Limits) -> Vec<Measurement> {
        let Self { take_in, mix, open, epoch } = self;
        [take_in, mix, open, epoch].map(|phase| phase.measurement(shape, limits)).into()
    }
}

/// Figures of the paper's own code, in Go, by rows and payload: without the participants' lists,
/// which it has not, and on other machines.
fn published(rows: u32, payload: u32) -> Option<Published> {
    let (seconds, peak_rss) = match (rows, payload) {
        (100_000, 160) => (7.1, None),
        (100_000, 256) => (2.8, None),
        (1_000_000, 32) => (24.9, Some((21 << 30) / 10)),
        _ => return None,
    };
    Some(Published { what: "the paper's own code", seconds, peak_rss })
}

fn less(whole: Cost, part: Cost) -> Cost {
    Cost { table: whole.table - part.table, constant: whole.constant - part.constant }
}

/// Runs the benchmark with three processes of `program`. `report` is told what is being done.
///
/// # Errors
/// If the shape is not allowed, a process fails, a message is lost, or other amounts are sent than
/// the formulas say.
pub fn run(
    options: Options,
    program: &Program,
    mut report: impl FnMut(&str),
) -> Result<Vec<Measurement>> {
    let Options { engine, rows, width, runs } = options;
    ensure!(rows >= 3, "an epoch needs at least 3 participants, one for each server's slots");
    let shape = checked(rows, width.saturating_add(REDUNDANCY as u32))?;
    report("setting up three servers");
    let mut parties = Parties::start(program)?;
    let mut limits = Limits::new(shape);
    let mut phases = Phases::of(engine, shape);
    for number in 0..u64::from(runs) {
        report(&format!("run {} of {runs}: making {rows} submissions", number + 1));
        let epoch = Epoch { number, clients: rows, payload: width, engine };
        let seeds = parties.prepare_epoch(epoch)?;
        let taken = parties.hand_in(seeds)?;
        report(&format!("run {} of {runs}", number + 1));
        let mixed = parties.all(&Command::MixOnly)?;
        let opened = parties.all(&Command::OpenEpoch)?;
        let published = &opened.reports[0].result;
        ensure!(published.starts_with(&format!("{rows} messages")), "only {published} came out");
        phases.note(&taken, &mixed, &opened)?;
        parties.all(&Command::RetireEpoch)?;
        limits.sample()?;
        limits.sample_slots();
        limits.sample_keys();
    }
    let mut measured = phases.measurements(shape, &limits);
    for whole in measured.iter_mut().filter(|phase| phase.phase == "epoch") {
        whole.published = published(rows, width);
    }
    Ok(measured)
}

/// Runs the benchmark of a round of messages: as [`run`], and a client's work on the board of a
/// conversation and on that of calls, on one core.
///
/// # Errors
/// As [`run`], or if rows are too narrow for messages.
pub fn messaging(
    options: Options,
    program: &Program,
    mut report: impl FnMut(&str),
) -> Result<Vec<Measurement>> {
    let mut measured = run(options, program, &mut report)?;
    report("reading boards");
    let mut reader = Reader::new(options)?;
    for turn in [Turn::Channel(0), Turn::Dialing] {
        let seconds = median((0..options.runs).map(|_| reader.read(turn)).collect());
        measured.push(reader.measurement(turn, seconds));
    }
    Ok(measured)
}

/// A client with one link and one conversation, and a board to read.
struct Reader {
    client: Client,
    partner: Client,
    rng: Stream,
    round: u64,
    rows: Vec<Vec<u8>>,
}

impl Reader {
    fn new(options: Options) -> Result<Self> {
        let width = options.width as usize - 2;
        let mut rng = Stream::of(Secret::new(secret()?), "benchmark of messages");
        let client = |name: &str| Client::new(RoomId([1; 16]), width, name);
        let (client, partner) = (client("reader")?, client("partner")?);
        let mut rows = vec![vec![0; width]; options.rows as usize];
        for row in &mut rows {
            rng.fill_bytes(row);
            row[0] = ostrakon_messaging::params::VERSION;
        }
        let mut reader = Self { client, partner, rng, round: 0, rows };
        let link = reader.client.add_link("", &mut reader.rng)?;
        let contact = reader.partner.add_contact(link.callee, "reader")?;
        reader.partner.call(contact, None, &mut reader.rng)?;
        (0..CYCLE).try_for_each(|_| reader.introduce())?;
        let caller = reader.client.contacts().pop().ok_or_else(|| anyhow!("nobody has called"))?;
        reader.client.accept(caller.number, &mut reader.rng)?;
        (0..CYCLE).try_for_each(|_| reader.introduce())?;
        Ok(reader)
    }

    /// A round of the two alone.
    fn introduce(&mut self) -> Result<()> {
        let rows = [
            self.client.next_row(self.round, &mut self.rng)?,
            self.partner.next_row(self.round, &mut self.rng)?,
        ];
        let rows = rows.each_ref().map(Vec::as_slice);
        self.client.on_round(self.round, &rows);
        self.partner.on_round(self.round, &rows);
        self.round += 1;
        Ok(())
    }

    /// Seconds that the board of the next round of this kind takes.
    fn read(&mut self, turn: Turn) -> f64 {
        while Turn::of(self.round) != turn {
            self.round += 1;
        }
        let rows: Vec<_> = self.rows.iter().map(Vec::as_slice).collect();
        let (client, round) = (&mut self.client, self.round);
        self.round += 1;
        time(|| drop(std::hint::black_box(client.on_round(round, &rows))))
    }

    /// Beside what the same number of exchanges takes, or looking at every address.
    fn measurement(&self, turn: Turn, seconds: f64) -> Measurement {
        let own = ostrakon_crypto::sealed::ExchangeKey::new(&Secret::new([3; 32]));
        let (phase, part, limit) = match turn {
            Turn::Channel(_) => {
                let look = || {
                    let sum = self.rows.iter().fold(0u8, |sum, row| sum ^ row[1] ^ row[16]);
                    std::hint::black_box(sum);
                };
                ("read-conversation", "look", time(look))
            }
            Turn::Dialing => {
                // One link, and calls of which as many are tried as can go out.
                let tried = 1 + usize::from(ostrakon_messaging::params::CHANNELS);
                let exchange = || {
                    for row in &self.rows {
                        let key = row[1..33].try_into().expect("32 bytes");
                        std::hint::black_box(own.agree(key));
                    }
                };
                ("read-calls", "exchange", tried as f64 * time(exchange))
            }
        };
        Measurement {
            phase,
            rows: u32::try_from(self.rows.len()).unwrap_or(u32::MAX),
            width: u32::try_from(self.client.width()).unwrap_or(u32::MAX),
            seconds,
            limit_seconds: limit,
            ratio: seconds / limit,
            cpu_seconds: seconds,
            after_seal_seconds: None,
            rounds: 0,
            bytes_sent: Vec::new(),
            formula_bytes: 0,
            peak_rss: Vec::new(),
            limit_parts: [(part, limit)].into(),
            published: None,
        }
    }
}
