//! `ostrakon watch`.

use anyhow::Result;
use ostrakon_broadcast::hosting::is_ballot;
use ostrakon_broadcast::room::{Admission, more_needed};
use ostrakon_broadcast::{Entry, SignedEntry, engines};
use ostrakon_party::Trust;
use ostrakon_protocol::Status;
use serde::Serialize;

use crate::client::{BoardPages, Room, http_client};
use crate::mixer::{self, AnyLink};
use crate::output::MessageJson;
use crate::rooms::say;
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

/// Prints the board from its beginning, and then what is added to it; and, while too few people are
/// there for anything to be published, how many are missing.
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
    let trust = engines::trust(room.descriptor.engine, room.connections.len())?;
    let (mut entries, mut statuses) = (room.entries(), room.statuses());
    let (mut printed, mut told) = (0, 0);
    loop {
        let new: Vec<_> = entries.borrow_and_update().iter().skip(printed).cloned().collect();
        printed += new.len();
        new.iter().try_for_each(|signed| print(signed, options.json))?;
        let missing = missing(&room.latest_statuses(), &trust);
        let news = !sealed && missing != told;
        if let Some(words) = say::missing_in_words(missing).filter(|_| news) {
            eprintln!("{words}");
        }
        told = missing;
        tokio::select! {
            changed = entries.changed() => changed?,
            changed = statuses.changed() => changed?,
        }
    }
}

/// How many more people have to come until messages appear, by who is there as each server says of
/// itself.
fn missing(statuses: &[Option<Status>], trust: &Trust) -> u32 {
    let own = |(party, status): (usize, &Option<Status>)| {
        status.as_ref().and_then(|status| status.present.get(party).copied()).unwrap_or(0)
    };
    let present: Vec<_> = statuses.iter().enumerate().map(own).collect();
    let minimum = statuses.iter().flatten().map(|status| status.minimum).max().unwrap_or(0);
    more_needed(&present, minimum, trust)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rooms::say::tests::status;

    #[test]
    fn who_watches_is_told_how_many_are_missing() {
        let trust = Trust::one_of_three();
        // What a server says of another one does not count.
        let statuses = [status([1, 5, 5], 3), status([0, 1, 0], 3), None];
        assert_eq!(missing(&statuses, &trust), 3);
        let enough = [status([2, 0, 0], 3), status([0, 2, 0], 3), status([0, 0, 1], 3)];
        assert_eq!(missing(&enough, &trust), 0);
        assert_eq!(missing(&[None, None, None], &trust), 0, "nobody has said anything yet");
        assert_eq!(missing(&[status([0; 3], 0), None, None], &trust), 0, "for practice");
    }
}
