//! `ostrakon fault`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use ostrakon_crypto::Digest;
use ostrakon_node::evidence::{FaultFile, Finding, LONGEST_FILE};
use ostrakon_node::{EngineProvider, ThreeServers};
use serde::Serialize;

use crate::{failure, output};

/// What to do with a fault's file.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Judges the evidence in a fault's file, offline.
    Verify(Verify),
}

/// Options of `fault verify`.
#[derive(clap::Args)]
pub struct Verify {
    /// The file, from the operator's page or interface.
    file: PathBuf,
    /// The digest of the servers, as room links carry it (their second part). Without it the
    /// finding is about some servers.
    #[arg(long, value_parser = digest)]
    servers: Option<Digest>,
    /// Prints the result as JSON.
    #[arg(long)]
    json: bool,
}

fn digest(text: &str) -> Result<Digest, String> {
    Digest::from_hex(text).ok_or_else(|| "a digest has 64 hexadecimal digits".into())
}

/// What was found.
#[derive(Serialize)]
struct Found {
    finding: Finding,
    culprit: u8,
    key: String,
    what: String,
    servers: String,
    pinned: bool,
}

/// Judges the evidence.
///
/// # Errors
/// With exit code 3 if the file does not prove anything.
pub fn run(command: &Command) -> Result<()> {
    let Command::Verify(options) = command;
    let path = options.file.display();
    let length =
        std::fs::metadata(&options.file).with_context(|| format!("{path} cannot be read"))?.len();
    if length > LONGEST_FILE as u64 {
        return Err(failure::unproven(format!("{path} is too long for a fault's file")));
    }
    let text =
        std::fs::read_to_string(&options.file).with_context(|| format!("{path} cannot be read"))?;
    let (file, finding) = FaultFile::verify(&text, options.servers.as_ref(), &ThreeServers.jobs())
        .map_err(failure::unproven)?;
    let found = Found {
        finding,
        culprit: file.culprit,
        key: file.servers.keys[usize::from(file.culprit)].to_hex(),
        what: file.what,
        servers: file.servers.digest().to_hex(),
        pinned: options.servers.is_some(),
    };
    if options.json {
        output::json(&found)?;
    } else {
        let Found { culprit, key, what, .. } = &found;
        output::line(&match finding {
            Finding::Proved => {
                format!(
                    "proved: server {culprit} (key {key}) signed what no honest server signs ({what:?})"
                )
            }
            Finding::Signed => format!(
                "signed: server {culprit} (key {key}) did say this ({what:?}); that it broke a rule follows from what was \
                 announced before, which this file does not show"
            ),
            Finding::Unproven => format!("unproven: nothing in the file convicts server {culprit}"),
        })?;
        if !found.pinned {
            eprintln!(
                "Without --servers this is about some servers with these keys, not necessarily yours."
            );
        }
    }
    match finding {
        Finding::Proved | Finding::Signed => Ok(()),
        Finding::Unproven => Err(failure::unproven("the file proves nothing")),
    }
}
