//! `ostrakon export`.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ostrakon_broadcast::Archive;
use ostrakon_broadcast::client::Link;
use serde::Serialize;

use crate::client::{Room, http_client};
use crate::{output, verify};

/// Options of `export`.
#[derive(clap::Args)]
pub struct Options {
    /// The room's link.
    link: Link,
    /// The file to write.
    #[arg(short, long)]
    output: PathBuf,
    /// Prints what was written as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Written<'a> {
    file: &'a Path,
    entries: usize,
    head: String,
}

/// Exports the longest authentic board that any of the servers shows.
///
/// # Errors
/// If no server shows an authentic board, or the file cannot be written.
pub async fn run(options: Options) -> Result<()> {
    let room = Room::open(&http_client()?, options.link).await?;
    let (archive, text) = fetch(&room).await?;
    write(&options.output, &text)?;
    let (entries, head) = (archive.entries.len(), archive.head.to_hex());
    if options.json {
        return output::json(&Written { file: &options.output, entries, head });
    }
    output::line(&format!("{}: {entries} entries, checked; head {head}", options.output.display()))
}

/// The longest authentic archive that any of the servers has: one alone might leave out the end.
///
/// # Errors
/// The first server's reason, if none has one.
pub async fn fetch(room: &Room) -> Result<(Archive, String)> {
    let path = format!("rooms/{}/archive", room.link.room.to_hex());
    let mut longest: Option<(Archive, String)> = None;
    let mut problem = None;
    for connection in &room.connections {
        let text = connection.get_text(&path).await.map_err(crate::failure::call);
        match text.and_then(|text| Ok((verify::check(text.as_bytes(), Some(&room.link))?, text))) {
            Ok(found) if longest.as_ref().is_none_or(|l| l.0.entries.len() < found.0.entries.len()) => {
                longest = Some(found);
            }
            Ok(_) => {}
            Err(error) => problem = problem.or(Some(error.context(connection.origin().to_owned()))),
        }
    }
    longest.ok_or_else(|| problem.unwrap_or_else(|| anyhow::anyhow!("the room has no servers")))
}

/// Writes the file whole or not at all.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let cannot = || format!("--output: {} cannot be written", path.display());
    // A board is public; the user's mask decides who may read the file.
    let public = Permissions::from_mode(0o666);
    let mut file = tempfile::Builder::new().permissions(public).tempfile_in(directory).with_context(cannot)?;
    file.write_all(text.as_bytes()).with_context(cannot)?;
    file.persist(path).with_context(cannot)?;
    Ok(())
}
