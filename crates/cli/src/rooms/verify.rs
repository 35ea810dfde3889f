//! `ostrakon verify`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use ostrakon_broadcast::Archive;
use ostrakon_mixing::link::Link;
use serde::Serialize;

use crate::{failure, output, secret};

/// Options of `verify`.
#[derive(clap::Args)]
pub struct Options {
    /// The file that `export` wrote.
    file: PathBuf,
    /// The room's link. Without it the check only shows that some servers signed the board, not
    /// which.
    #[arg(long, value_parser = secret::link::<Link>)]
    link: Option<Link>,
    /// Prints the result as JSON.
    #[arg(long)]
    json: bool,
}

/// What was found.
#[derive(Serialize)]
struct Found {
    valid: bool,
    room: String,
    name: String,
    servers: String,
    pinned: bool,
    entries: usize,
    messages: usize,
    head: String,
}

/// Checks the file, which takes no network.
///
/// # Errors
/// With exit code 3 if anything in the file is not as the servers signed it.
pub fn run(options: &Options) -> Result<()> {
    let text = std::fs::read(&options.file)
        .with_context(|| format!("{} cannot be read", options.file.display()))?;
    let archive = check(&text, options.link.as_ref())?;
    let found = Found {
        valid: true,
        room: archive.room.id().to_hex(),
        name: archive.room.name.clone(),
        servers: archive.servers.digest().to_hex(),
        pinned: options.link.is_some(),
        entries: archive.entries.len(),
        messages: archive.entries.iter().map(|signed| signed.entry.messages.len()).sum(),
        head: archive.head.to_hex(),
    };
    if options.json {
        return output::json(&found);
    }
    let Found { room, servers, .. } = &found;
    let entries = output::counted(found.entries, "entry", "entries");
    let messages = output::counted(found.messages, "message", "messages");
    output::line(&format!("authentic: room {room}, {entries}, {messages}, servers {servers}"))?;
    if !found.pinned {
        eprintln!(
            "Without --link this shows that these servers signed the board, not that they are the room's."
        );
    }
    Ok(())
}

/// Checks an archive's bytes, and that it is of the room and the servers that the link names.
///
/// # Errors
/// With exit code 3 if it is not.
pub fn check(bytes: &[u8], link: Option<&Link>) -> Result<Archive> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| failure::unproven("the file is no archive: it is not text"))?;
    let archive = Archive::verify(text, link.map(|link| &link.servers));
    let archive = archive.map_err(|error| failure::unproven(format!("not authentic: {error}")))?;
    if link.is_some_and(|link| link.room != archive.room.id()) {
        return Err(failure::unproven(
            "not authentic: the archive is of another room than the given link names",
        ));
    }
    Ok(archive)
}
