//! `ostrakon renewal`: going on with the two other servers after one of the three has lost its data
//! (`docs/spec/restore.md`).

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use ostrakon_node::config::Config;
use ostrakon_node::platform::System;
use ostrakon_node::{ThreeServers, renewal};
use serde::Serialize;

use crate::output;

/// Subcommands of `renewal`. The server must be stopped.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Writes the state of a server that has kept its data. From then on it says nothing until the
    /// renewal has begun.
    State(StateOptions),
    /// Begins the next generation. All three servers do this, with the same two files.
    Begin(BeginOptions),
}

/// Options of `renewal state`.
#[derive(clap::Args)]
pub struct StateOptions {
    /// The server's configuration.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The file to write; the two other operators need it, too. It holds every room of the server.
    #[arg(short, long)]
    output: PathBuf,
}

/// Options of `renewal begin`.
#[derive(clap::Args)]
pub struct BeginOptions {
    /// The server's configuration.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The files of the servers that have kept their data: of all but one.
    #[arg(num_args = 1.., required = true, value_name = "STATE")]
    states: Vec<PathBuf>,
    /// Prints what was begun as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    generation: u32,
    digest: String,
    rooms: usize,
    closed_rooms: Vec<String>,
}

/// Takes a step of a renewal.
///
/// # Errors
/// Why it cannot be taken.
pub async fn run(command: Command) -> Result<()> {
    let system = Arc::new(System::new(Default::default()));
    match command {
        Command::State(options) => {
            let config = Config::read(&options.config).context("--config")?;
            let state = renewal::write_state(&config, Arc::new(ThreeServers), system).await?;
            write(&options.output, &state)?;
            output::line(&format!(
                "{}: {} bytes; give it to the two other operators",
                options.output.display(),
                state.len()
            ))
        }
        Command::Begin(options) => {
            let config = Config::read(&options.config).context("--config")?;
            let read = |path: &PathBuf| {
                fs::read(path).with_context(|| format!("{} cannot be read", path.display()))
            };
            let files: Vec<Vec<u8>> = options.states.iter().map(read).collect::<Result<_>>()?;
            let begun = renewal::begin(&config, Arc::new(ThreeServers), system, &files).await?;
            report(&begun, options.json)
        }
    }
}

fn report(begun: &renewal::Begun, json: bool) -> Result<()> {
    let closed_rooms: Vec<_> = begun.closed.iter().map(|room| room.to_hex()).collect();
    let report = Report {
        generation: begun.generation,
        digest: begun.digest.to_hex(),
        rooms: begun.rooms,
        closed_rooms,
    };
    if json {
        return output::json(&report);
    }
    output::line(&format!(
        "generation {}, {} rooms; digest {}",
        report.generation, report.rooms, report.digest
    ))?;
    for room in report.closed_rooms {
        output::line(&format!(
            "room {room} is closed: its messages were being opened, so they must not be said again"
        ))?;
    }
    Ok(())
}

/// Writes the file anew or not at all; its owner alone may read it.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let cannot = || format!("--output: {} cannot be written", path.display());
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".partial");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)
        .with_context(cannot)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).with_context(cannot)?;
    fs::rename(&temporary, path).with_context(cannot)
}
