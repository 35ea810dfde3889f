//! `ostrakon bench`.

mod intake;

use std::time::Duration;

use anyhow::Result;
use ostrakon_bench::control::Program;
use ostrakon_bench::measurement::table;
use ostrakon_bench::stats::{self, triples};
use ostrakon_bench::{asynchromix, broadcast, decide, epoch, graph, party, shuffle};
use ostrakon_mixing::EngineKind;
use serde::Serialize;

use crate::output;
use crate::rooms::room;

/// The benchmarks. All but `decide` start processes on this machine.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Measures the shuffle of a table that the servers share: preprocessing, online phase,
    /// opening.
    Shuffle(ShuffleOptions),
    /// Measures a room's epoch from its sealing to the signed board, with everybody taking part.
    Epoch(EpochOptions),
    /// Measures an epoch with either engine, by phases.
    Broadcast(BroadcastOptions),
    /// Measures a round of messages: an epoch, and what a client does with its board.
    Messaging(BroadcastOptions),
    /// Measures how many participants three whole servers take in: over HTTP, with disk and engine.
    Intake(intake::Options),
    /// Measures what one device computes when somebody answers a decision: checking everybody's
    /// steps, and the own one.
    Decide(DecideOptions),
    /// Measures statistics of reports by committees: from the reports, as they are sent, to the
    /// answer, by phases.
    Stats(StatsOptions),
    /// Measures the preparation of triples by committees: from nothing to a checked segment, base
    /// transfers included.
    Triples(TriplesOptions),
    /// Measures distances in a random graph: three servers, by phases.
    Graph(GraphOptions),
    /// Measures AsynchroMix: whole servers prepare stock and mix an epoch, by phases.
    Asynchromix(AsynchromixOptions),
    /// One of the three processes; takes commands from its standard input.
    #[command(hide = true)]
    Party,
    /// A member of a committee; takes commands from its standard input.
    #[command(hide = true)]
    Member,
    /// A server that computes on graphs; takes commands from its standard input.
    #[command(hide = true)]
    GraphServer,
    /// A server of AsynchroMix; takes commands from its standard input.
    #[command(hide = true)]
    Mixer,
}

/// Options of `bench asynchromix`.
#[derive(clap::Args)]
pub struct AsynchromixOptions {
    /// Places of an epoch, a power of two.
    #[arg(long, default_value_t = 256)]
    rows: usize,
    /// Bytes of a message.
    #[arg(long, default_value_t = 31)]
    payload: usize,
    /// Servers: 4 and 5 bear one that is dead or lies, 7 to 9 two.
    #[arg(long, default_value_t = 4)]
    servers: usize,
    /// Participants that hand something in; the other places cost the same.
    #[arg(long, default_value_t = 16)]
    participants: usize,
    /// How often to measure; medians are reported.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// In place of an epoch: rates of every ingredient of stock among 4, 7 and 10 servers, and of
    /// decoding among up to 1,000.
    #[arg(long, conflicts_with_all = ["rows", "payload", "servers", "participants"])]
    parts: bool,
    /// Prints the measurements as a JSON list.
    #[arg(long)]
    json: bool,
}

/// Options of `bench shuffle`.
#[derive(clap::Args)]
pub struct ShuffleOptions {
    /// Rows of the table.
    #[arg(long, default_value_t = 1_000_000)]
    rows: u32,
    /// Bytes of a row, a multiple of 8.
    #[arg(long, default_value_t = 32)]
    width: u32,
    /// How often to measure; medians are reported.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Prints the measurements as a JSON list.
    #[arg(long)]
    json: bool,
}

/// Options of `bench epoch`.
#[derive(clap::Args)]
pub struct EpochOptions {
    /// Participants.
    #[arg(long, default_value_t = 100_000)]
    clients: u32,
    /// Bytes of payload of a row, a multiple of 8; a row has 16 bytes more.
    #[arg(long, default_value_t = 144)]
    payload: u32,
    /// How often to measure; medians are reported.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Prints the measurements as a JSON list.
    #[arg(long)]
    json: bool,
}

/// Options of `bench broadcast` and `bench messaging`.
#[derive(clap::Args)]
pub struct BroadcastOptions {
    /// Who mixes.
    #[arg(long, value_parser = room::engine(), default_value = "clarion")]
    engine: EngineKind,
    /// Participants.
    #[arg(long, default_value_t = 100_000)]
    rows: u32,
    /// Bytes of payload of a row, a multiple of 8; a row has 16 bytes more.
    #[arg(long, default_value_t = 256)]
    width: u32,
    /// How often to measure; medians are reported.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Prints the measurements as a JSON list.
    #[arg(long)]
    json: bool,
}

impl BroadcastOptions {
    fn wanted(&self) -> broadcast::Options {
        let Self { engine, rows, width, runs, .. } = *self;
        broadcast::Options { engine, rows, width, runs }
    }
}

/// Options of `bench decide`.
#[derive(clap::Args)]
pub struct DecideOptions {
    /// How often to measure; medians are reported.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Prints the measurements as a JSON list.
    #[arg(long)]
    json: bool,
}

/// Options of `bench stats`.
#[derive(clap::Args)]
pub struct StatsOptions {
    /// Reports.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    reports: u32,
    /// Bits of a number.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u8).range(4..=48))]
    width: u8,
    /// Servers of the committee; several sizes with commas between them.
    #[arg(long, default_value = "3", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(2..=9))]
    servers: Vec<u8>,
    /// Holds every message up for so long before it leaves, as a link over that distance would.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1000))]
    latency: u64,
    /// Measures the median alone, without the sum and the histogram.
    #[arg(long)]
    median: bool,
    /// How often to measure; medians are reported.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Prints the measurements as a JSON list.
    #[arg(long)]
    json: bool,
}

impl StatsOptions {
    fn wanted(&self) -> stats::Options {
        stats::Options {
            reports: self.reports,
            width: self.width,
            servers: self.servers.clone(),
            latency: std::time::Duration::from_millis(self.latency),
            median_only: self.median,
            runs: self.runs,
        }
    }
}

/// Options of `bench triples`.
#[derive(clap::Args)]
pub struct TriplesOptions {
    /// Servers of the committee; several sizes with commas between them.
    #[arg(long, default_value = "3,5,9", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(2..=9))]
    servers: Vec<u8>,
    /// Triples of a segment; the default is 2^20.
    #[arg(
        long,
        default_value_t = 1 << 20,
        value_parser = clap::value_parser!(u32).range(1..=1 << 22)
    )]
    triples: u32,
    /// A cheater succeeds with at most 2^-BITS; the buckets are as large as that needs.
    #[arg(long, value_name = "BITS", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=58))]
    security: u32,
    /// How often to measure; medians are reported.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Prints the measurements as a JSON list.
    #[arg(long)]
    json: bool,
}

impl TriplesOptions {
    fn wanted(&self) -> triples::Options {
        let (servers, triples) = (self.servers.clone(), self.triples as usize);
        triples::Options { servers, triples, security: self.security, runs: self.runs }
    }
}

/// Options of `bench graph`.
#[derive(clap::Args)]
pub struct GraphOptions {
    /// Vertices.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    vertices: u32,
    /// Edges.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    edges: u32,
    /// Hops.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    hops: u32,
    /// How often to measure; medians are reported.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// How long a message takes from one server to another, in milliseconds.
    #[arg(long, default_value_t = 0, value_name = "MS")]
    latency: u64,
    /// Also finds the distances by scatter and gather, as GraphSC and Ruffle do, with so many
    /// processors.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    processors: Option<u32>,
    /// Prints the measurements as a JSON list.
    #[arg(long)]
    json: bool,
}

/// Runs a benchmark.
///
/// # Errors
/// If the table's shape is not allowed, or a process fails.
pub fn run(command: &Command) -> Result<()> {
    let bar = output::spinner("starting");
    let report = |text: &str| bar.set_message(text.to_owned());
    let (measured, json) = match command {
        Command::Shuffle(options) => {
            let ShuffleOptions { rows, width, runs, json } = *options;
            (
                shuffle::run(shuffle::Options { rows, width, runs }, &program("party")?, report)?,
                json,
            )
        }
        Command::Epoch(options) => {
            let EpochOptions { clients, payload, runs, json } = *options;
            (
                epoch::run(epoch::Options { clients, payload, runs }, &program("party")?, report)?,
                json,
            )
        }
        Command::Broadcast(options) => {
            (broadcast::run(options.wanted(), &program("party")?, report)?, options.json)
        }
        Command::Messaging(options) => {
            (broadcast::messaging(options.wanted(), &program("party")?, report)?, options.json)
        }
        Command::Intake(options) => return intake::run(options),
        Command::Decide(options) => {
            let measured = decide::run(&decide::SHAPES, options.runs, report)?;
            bar.finish_and_clear();
            return show(options.json, &measured, decide::table);
        }
        Command::Stats(options) => {
            let measured = stats::run(&options.wanted(), &program("member")?, report)?;
            bar.finish_and_clear();
            return show(options.json, &measured, stats::table);
        }
        Command::Triples(options) => {
            let measured = triples::run(&options.wanted(), &program("member")?, report)?;
            bar.finish_and_clear();
            return show(options.json, &measured, triples::table);
        }
        Command::Party => return party::run(),
        Command::Graph(options) => {
            let GraphOptions { vertices, edges, hops, runs, latency, processors, json } = *options;
            let latency = Duration::from_millis(latency);
            let wanted = graph::Options { vertices, edges, hops, runs, latency, processors };
            let measured = graph::run(wanted, &program("graph-server")?, report)?;
            bar.finish_and_clear();
            return show(json, &measured, graph::table);
        }
        Command::Asynchromix(options) => {
            let AsynchromixOptions { rows, payload, servers, participants, runs, parts, json } =
                *options;
            if parts {
                let wanted = asynchromix::parts::Wanted::usual(runs);
                let measured = asynchromix::parts::run(&wanted, report)?;
                bar.finish_and_clear();
                return show(json, &measured, asynchromix::parts::table);
            }
            let wanted = asynchromix::Options { rows, payload, servers, participants, runs };
            let runtime = tokio::runtime::Runtime::new()?;
            let measured = runtime.block_on(asynchromix::run(wanted, &mixer()?, report))?;
            bar.finish_and_clear();
            return show(json, &measured, asynchromix::table);
        }
        Command::Mixer => return ostrakon_mixer::process::run(),
        Command::Member => return stats::member::run(),
        Command::GraphServer => return graph::serve(),
    };
    bar.finish_and_clear();
    show(json, &measured, table)
}

/// This program as a server of AsynchroMix.
///
/// # Errors
/// If the system does not tell where the program is.
pub fn mixer() -> Result<ostrakon_mixer::process::Program> {
    let Program { path, arguments } = program("mixer")?;
    Ok(ostrakon_mixer::process::Program { path, arguments })
}

/// Prints measurements as JSON, or as a table for people.
fn show<T: Serialize>(json: bool, measured: &[T], table: impl Fn(&[T]) -> String) -> Result<()> {
    if json { output::json(&measured) } else { output::line(table(measured).trim_end()) }
}

/// This program as a process of a benchmark or demonstration: `party`, `member` or
/// `graph-server`.
///
/// # Errors
/// If the system does not tell where the program is.
pub fn program(role: &str) -> Result<Program> {
    Ok(Program { path: std::env::current_exe()?, arguments: vec!["bench".into(), role.into()] })
}
