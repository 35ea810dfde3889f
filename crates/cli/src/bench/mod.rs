//! `ostrakon bench`.

mod intake;

use anyhow::Result;
use ostrakon_bench::control::Program;
use ostrakon_bench::measurement::table;
use ostrakon_bench::{decide, epoch, party, shuffle};

use crate::output;

/// The benchmarks. All but `decide` start three processes on this machine.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Measures the shuffle of a table that the servers share: preprocessing, online phase,
    /// opening.
    Shuffle(ShuffleOptions),
    /// Measures a room's epoch from its sealing to the signed board, with everybody taking part.
    Epoch(EpochOptions),
    /// Measures how many participants three whole servers take in: over HTTP, with disk and engine.
    Intake(intake::Options),
    /// Measures what one device computes when somebody answers a decision: checking everybody's
    /// steps, and the own one.
    Decide(DecideOptions),
    /// One of the three processes; takes commands from its standard input.
    #[command(hide = true)]
    Party,
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
            (shuffle::run(shuffle::Options { rows, width, runs }, &program()?, report)?, json)
        }
        Command::Epoch(options) => {
            let EpochOptions { clients, payload, runs, json } = *options;
            (epoch::run(epoch::Options { clients, payload, runs }, &program()?, report)?, json)
        }
        Command::Intake(options) => return intake::run(options),
        Command::Decide(options) => {
            let measured = decide::run(&decide::SHAPES, options.runs, report)?;
            bar.finish_and_clear();
            return if options.json {
                output::json(&measured)
            } else {
                output::line(decide::table(&measured).trim_end())
            };
        }
        Command::Party => return party::run(),
    };
    bar.finish_and_clear();
    if json { output::json(&measured) } else { output::line(table(&measured).trim_end()) }
}

/// This program as a party.
fn program() -> Result<Program> {
    Ok(Program { path: std::env::current_exe()?, arguments: vec!["bench".into(), "party".into()] })
}
