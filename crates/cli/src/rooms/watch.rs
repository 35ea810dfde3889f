//! `ostrakon watch`.

use anyhow::Result;
use ostrakon_broadcast::hosting::is_ballot;
use ostrakon_broadcast::room::Admission;
use ostrakon_broadcast::{Entry, SignedEntry};
use serde::Serialize;

use crate::client::{BoardPages, Room, http_client};
use crate::mixer::{self, AnyLink};
use crate::output::MessageJson;
use crate::{output, secret};

/// Options of `watch`.
#[derive(clap::Args)]
pub struct Options {
    /// The room's link; `-` takes it from standard input, `@FILE` from a file.
    #[arg(value_parser = secret::link::<AnyLink>)]
    link: AnyLink,
    /// Prints every entry as one line of JSON.
    #[arg(long)]
    json: bool,
    /// Prints what is on the board and ends.
    #[arg(long)]
    once: bool,
}

/// An entry as it is printed.
#[derive(Serialize)]
struct EntryJson<'a> {
    epoch: u64,
    accepted: u32,
    messages: Vec<MessageJson<'a>>,
    signers: Vec<u8>,
}

/// Prints the board from its beginning, and then what is added to it.
///
/// # Errors
/// If the room cannot be opened; with `--once` also if no server shows its board to the end, or
/// what a server shows is not authentic and none shows better. What was printed until then is
/// authentic.
pub async fn run(options: Options) -> Result<()> {
    let link = match options.link {
        AnyLink::Mix(link) => return mixer::watch(&link, options.json, options.once).await,
        AnyLink::Room(link) => *link,
    };
    let room = Room::open(&http_client()?, link).await?;
    let sealed = room.descriptor.admission == Admission::Messages;
    let print = |signed: &SignedEntry, json| print(signed, json, sealed);
    if sealed {
        eprintln!("the room is for messages between two people: only they can read them");
    }
    if options.once {
        let mut pages = BoardPages::open(&room).await;
        while let Some(page) = pages.next().await? {
            page.iter().try_for_each(|signed| print(signed, options.json))?;
        }
        return Ok(());
    }
    let _watching = room.watch();
    let mut entries = room.entries();
    let mut printed = 0;
    loop {
        let new: Vec<_> = entries.borrow_and_update().iter().skip(printed).cloned().collect();
        printed += new.len();
        new.iter().try_for_each(|signed| print(signed, options.json))?;
        entries.changed().await?;
    }
}

fn print(signed: &SignedEntry, json: bool, sealed: bool) -> Result<()> {
    let Entry { epoch, accepted, .. } = &signed.entry;
    // Answers to polls are no texts, nor is what is sealed; erased messages have nothing to print.
    let mut texts = signed.entry.bodies().filter(|body| !sealed && !is_ballot(body));
    if json {
        let signers = signed.signatures.iter().map(|(party, _)| party.0).collect();
        let messages = texts.map(MessageJson::of).collect();
        return output::json(&EntryJson {
            epoch: epoch.number,
            accepted: *accepted,
            messages,
            signers,
        });
    }
    eprintln!("epoch {}: {accepted} took part", epoch.number);
    texts.try_for_each(output::message)
}
