//! `ostrakon mixer evidence` and `ostrakon mixer judge`: what convicts a server, as a file, and
//! what anybody finds in it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ostrakon_asynchromix::evidence::{Deed, EvidenceFile, LONGEST_FILE, NoEvidence};
use ostrakon_asynchromix::{Description, Room};
use ostrakon_party::PartyId;
use serde::Serialize;

use super::visiting::{describe, limited};
use super::{Link, words};
use crate::client::http_client;
use crate::{failure, output, secret};

/// How long a server's answer may take.
const ANSWER_TIME: Duration = Duration::from_secs(20);

/// Options of `mixer evidence`.
#[derive(clap::Args)]
pub struct Options {
    /// The room's link; `-` takes it from standard input, `@FILE` from a file.
    #[arg(value_parser = secret::link::<Link>)]
    link: Link,
    /// Where the evidence is written, for `ostrakon mixer judge`; a file that is there is not
    /// replaced.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Prints who is convicted as JSON.
    #[arg(long)]
    json: bool,
}

/// Options of `mixer judge`.
#[derive(clap::Args)]
pub struct JudgeOptions {
    /// The file, from `ostrakon mixer evidence`.
    file: PathBuf,
    /// The room's link, or `-` or `@FILE`: it says which room's servers the file is to be about.
    /// Nobody is asked.
    #[arg(long, value_parser = secret::link::<Link>)]
    link: Link,
    /// Prints who is convicted as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Convicted<'a> {
    server: u8,
    name: &'a str,
    key: String,
    deed: Deed,
}

/// Gets the evidence from the room's servers, judges it, and writes it down.
///
/// # Errors
/// If no server answers, or the file cannot be written.
pub async fn export(options: &Options) -> Result<()> {
    let (description, room) = describe(&options.link, None).await?;
    let mut convicting = BTreeMap::new();
    let mut answers = 0;
    for card in &description.servers {
        let url = format!("{}/api/v1/mix/evidence", card.url);
        let request = http_client()?.get(url).timeout(ANSWER_TIME);
        let Ok(bytes) = limited(request, LONGEST_FILE).await else { continue };
        answers += 1;
        // A server that shows something else is believed nothing.
        let Ok(file) = String::from_utf8(bytes) else { continue };
        let Ok(file) = EvidenceFile::read(&file) else { continue };
        for burnt in file.evidence().unwrap_or_default() {
            if let Some((party, deed)) = burnt.convicts(&room) {
                convicting.entry(party).or_insert((deed, burnt));
            }
        }
    }
    if answers == 0 {
        return Err(failure::unreachable("no server of the room answers"));
    }
    let judged = convicting.iter().map(|(party, (deed, _))| (*party, *deed)).collect();
    if let Some(path) = options.output.as_ref().filter(|_| !convicting.is_empty()) {
        let evidence = convicting.values().map(|(_, burnt)| burnt);
        let file = EvidenceFile::new(description.clone(), evidence);
        let refused = || {
            format!("{} cannot be created; a file that is there is not replaced", path.display())
        };
        let mut to = File::create_new(path).with_context(refused)?;
        to.write_all(serde_json::to_string(&file)?.as_bytes())?;
    }
    print(&description, &room, &judged, options.json)?;
    if judged.is_empty() && !options.json {
        output::line("nobody was convicted")?;
    }
    Ok(())
}

/// Judges a file, offline.
///
/// # Errors
/// With exit code 3 if anything in the file convicts nobody, or it is about another room.
pub fn judge(options: &JudgeOptions) -> Result<()> {
    let path = options.file.display();
    let unreadable = || format!("{path} cannot be read");
    let length = std::fs::metadata(&options.file).with_context(unreadable)?.len();
    ensure!(length <= LONGEST_FILE as u64, "{path} is too long for a file of evidence");
    let text = std::fs::read_to_string(&options.file).with_context(unreadable)?;
    let file = EvidenceFile::read(&text).with_context(|| path.to_string())?;
    let judged = file.judge(&options.link.room).map_err(|error| match error {
        NoEvidence::Malformed(_) => anyhow::Error::new(error).context(path.to_string()),
        _ => failure::unproven(format!("{path}: {error}")),
    })?;
    let room = file.room.room()?;
    print(&file.room, &room, &judged, options.json)
}

fn print(
    description: &Description,
    room: &Room,
    judged: &BTreeMap<PartyId, Deed>,
    json: bool,
) -> Result<()> {
    let names = words::names(description);
    let convicted = judged.iter().map(|(party, deed)| Convicted {
        server: party.0,
        name: words::name(&names, *party),
        key: room.identities()[*party].to_hex(),
        deed: *deed,
    });
    if json {
        return output::json(&convicted.collect::<Vec<_>>());
    }
    for of in convicted {
        let (name, deed) = (of.name, of.deed.in_words());
        output::line(&format!("proved: {name} (key {}) {deed}", of.key))?;
    }
    Ok(())
}
