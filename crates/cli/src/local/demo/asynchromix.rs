//! `ostrakon demo broadcast --engine asynchromix`: servers without a clock, some of which may be
//! killed in the middle of an epoch.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ostrakon_mixer::demo::{self, Options, Shown, Times};
use serde::Serialize;

use super::Broadcast;
use crate::output::MessageJson;
use crate::serving::serve::interrupted;
use crate::{bench, failure, output};

/// Servers unless told otherwise: the fewest of which one may be dead.
const SERVERS: usize = 4;
/// Lines at most.
const MOST: usize = 2000;

#[derive(Serialize)]
struct Summary<'a> {
    messages: Vec<MessageJson<'a>>,
    servers: usize,
    founded: f64,
    stocked: f64,
    seconds: f64,
    killed: Option<Killed<'a>>,
    /// Seconds until the servers that were killed, started again, had the board.
    returned: Option<f64>,
    epochs: Vec<Epoch>,
    faults: usize,
    verified: bool,
}

#[derive(Serialize)]
struct Killed<'a> {
    servers: &'a [usize],
    /// Since the first participant.
    seconds: f64,
    when: &'static str,
}

#[derive(Serialize)]
struct Epoch {
    number: u64,
    #[serde(flatten)]
    times: Times,
}

/// Runs the demonstration.
///
/// # Errors
/// If the servers do not come to work, or the board is not what was said.
pub async fn run(options: &Broadcast, lines: Vec<Vec<u8>>) -> Result<()> {
    ensure!(options.archive.is_none(), "--archive is for --engine ruffle and clarion");
    ensure!(lines.len() <= MOST, "{} lines; {MOST} are the most with this engine", lines.len());
    let servers = options.servers.unwrap_or(SERVERS);
    let ticks = options.seconds.map(|seconds| seconds.saturating_mul(20));
    let wanted = Options { servers, kill: options.kill.clone(), lines, ticks };
    let directory = tempfile::Builder::new().prefix("ostrakon-demo-").tempdir()?;
    let spinner = output::spinner("servers start");
    let program = bench::mixer()?;
    let showing = demo::run(&program, directory.path(), &wanted, |what| {
        spinner.set_message(what.to_owned());
    });
    let limit = Duration::from_secs(options.timeout);
    let shown = tokio::select! {
        shown = tokio::time::timeout(limit, showing) => {
            shown.ok().with_context(|| {
                format!("not done after {limit:?}; --timeout gives it more time")
            })??
        }
        () = interrupted() => anyhow::bail!("interrupted"),
    };
    spinner.finish_and_clear();
    if !shown.is_complete(&wanted.lines) {
        return Err(failure::unproven("the board is not what was said"));
    }
    if options.json { json(&shown, &wanted) } else { print(&shown, &wanted) }
}

fn json(shown: &Shown, wanted: &Options) -> Result<()> {
    let servers = &wanted.kill;
    let killed = shown.killed.map(|(seconds, when)| Killed { servers, seconds, when });
    let epochs = shown.times.iter().map(|(number, times)| Epoch { number: *number, times: *times });
    output::json(&Summary {
        messages: shown.messages().map(|message| MessageJson::of(message)).collect(),
        servers: wanted.servers,
        founded: shown.founded,
        stocked: shown.stocked,
        seconds: shown.seconds,
        killed,
        returned: shown.returned,
        epochs: epochs.collect(),
        faults: shown.faults.len(),
        verified: true,
    })
}

fn print(shown: &Shown, wanted: &Options) -> Result<()> {
    let servers = wanted.servers;
    shown.messages().try_for_each(|message| output::message(message))?;
    eprintln!(
        "{servers} servers founded the room in {:.1} s and had the first epoch prepared after {:.1} s",
        shown.founded, shown.stocked
    );
    for (number, times) in shown.times.iter().filter(|(_, times)| times.published > 0.0) {
        eprintln!(
            "epoch {number}: {} rows; closed after {:.2} s, sealed {:.2} s, shuffled {:.2} s, on the board {:.2} s",
            times.rows, times.closed, times.sealed, times.mixed, times.published
        );
    }
    if let Some((seconds, when)) = shown.killed {
        let killed: Vec<String> = wanted.kill.iter().map(ToString::to_string).collect();
        eprintln!("killed after {seconds:.2} s, when {when}: {}", killed.join(", "));
        if let Some(seconds) = shown.returned {
            eprintln!("started again from disk, where the others are after {seconds:.2} s");
        }
    }
    for (server, party, what) in &shown.faults {
        eprintln!("server {server} says of server {party}: {what}");
    }
    eprintln!(
        "{} messages in {:.1} s, every line exactly once; each entry of the board is signed by more servers than may be corrupt",
        shown.messages().count(),
        shown.seconds
    );
    Ok(())
}
