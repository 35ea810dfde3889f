//! `ostrakon export`.

use std::fs::{File, Permissions};
use std::io::{BufWriter, IntoInnerError, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ostrakon_broadcast::Archive;
use ostrakon_broadcast::board::ArchiveWriter;
use ostrakon_crypto::Digest;
use ostrakon_mixing::link::Link;
use serde::Serialize;
use tempfile::NamedTempFile;

use crate::client::{BoardPages, Room, http_client};
use crate::serving::serve::interrupted;
use crate::{output, secret};

/// Options of `export`.
#[derive(clap::Args)]
pub struct Options {
    /// The room's link; `-` takes it from standard input, `@FILE` from a file.
    #[arg(value_parser = secret::link::<Link>)]
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
    let (entries, head) = tokio::select! {
        result = copy(&room, &options.output) => result?,
        // The file that was begun is removed.
        () = interrupted() => bail!("interrupted"),
    };
    let head = head.to_hex();
    if options.json {
        return output::json(&Written { file: &options.output, entries, head });
    }
    output::line(&format!("{}: {entries} entries, checked; head {head}", options.output.display()))
}

/// Writes the board to a file, page by page. Returns the number of entries, and the digest of the
/// last.
async fn copy(room: &Room, path: &Path) -> Result<(usize, Digest)> {
    let mut file = Draft::begin(path)?;
    let mut pages = BoardPages::open(room).await;
    let bar = output::bar(usize::try_from(pages.said())?, "entries");
    let (mut writer, beginning) =
        ArchiveWriter::begin(room.servers.clone(), room.descriptor.clone());
    file.append(&beginning)?;
    while let Some(page) = pages.next().await? {
        page.iter().try_for_each(|entry| file.append(&writer.entry(entry)))?;
        bar.set_position(pages.length() as u64);
    }
    file.append(&writer.end())?;
    file.finish()?;
    bar.finish_and_clear();
    Ok((pages.length(), pages.head()))
}

/// The archive that [`run`] would write, and its text, for boards that are known to be small.
///
/// # Errors
/// If no server shows an authentic board.
pub async fn fetch(room: &Room) -> Result<(Archive, String)> {
    let mut pages = BoardPages::open(room).await;
    let mut entries = Vec::new();
    while let Some(page) = pages.next().await? {
        entries.extend(page);
    }
    let (servers, descriptor) = (room.servers.clone(), room.descriptor.clone());
    let archive = Archive { servers, room: descriptor, entries, head: pages.head() };
    let text = archive.to_text();
    Ok((archive, text))
}

/// Writes the file whole or not at all.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let mut file = Draft::begin(path)?;
    file.append(text)?;
    file.finish()
}

/// A file that is written piece by piece beside its place, and takes its place when it is whole.
/// Until then it is removed when dropped.
struct Draft<'a> {
    path: &'a Path,
    file: BufWriter<NamedTempFile>,
}

impl<'a> Draft<'a> {
    fn begin(path: &'a Path) -> Result<Self> {
        // A board is public; the user's mask decides who may read the file.
        let public = Permissions::from_mode(0o666);
        let file = tempfile::Builder::new().permissions(public).tempfile_in(directory(path));
        Ok(Self { path, file: BufWriter::new(file.with_context(|| cannot(path))?) })
    }

    fn append(&mut self, text: &str) -> Result<()> {
        self.file.write_all(text.as_bytes()).with_context(|| cannot(self.path))
    }

    fn finish(self) -> Result<()> {
        let Self { path, file } = self;
        let file =
            file.into_inner().map_err(IntoInnerError::into_error).with_context(|| cannot(path))?;
        file.as_file().sync_all().with_context(|| cannot(path))?;
        file.persist(path).with_context(|| cannot(path))?;
        // Without this a crash may undo the renaming.
        File::open(directory(path))
            .and_then(|directory| directory.sync_all())
            .with_context(|| cannot(path))
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn cannot(path: &Path) -> String {
    format!("--output: {} cannot be written", path.display())
}
