//! `ostrakon watch`.

use std::time::Duration;

use anyhow::Result;
use ostrakon_broadcast::hosting::is_ballot;
use ostrakon_broadcast::{Entry, SignedEntry};
use ostrakon_mixing::engines;
use ostrakon_mixing::room::Admission;
use serde::Serialize;
use tokio::time::{Instant, sleep_until};

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
    let (mut printed, mut people, mut overdue) = (0, Missing::default(), None);
    let names = room.names();
    loop {
        let new: Vec<_> = entries.borrow_and_update().iter().skip(printed).cloned().collect();
        printed += new.len();
        new.iter().try_for_each(|signed| print(signed, options.json))?;
        let words = say::overdue_in_words(&room.latest_statuses(), &names, &trust);
        if let Some(words) = words.filter(|words| overdue.as_ref() != Some(words)) {
            eprintln!("{words}");
            overdue = Some(words);
        }
        if !sealed {
            people.seen(say::missing(&room.latest_statuses(), &trust), Instant::now());
        }
        let due = people.due();
        tokio::select! {
            changed = entries.changed() => changed?,
            changed = statuses.changed() => changed?,
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                if let Some(words) = people.tell() {
                    eprintln!("{words}");
                }
            }
        }
    }
}

/// For so long a number of missing people must have held before it is told: servers are heard one
/// after the other.
const HOLDS: Duration = Duration::from_secs(2);
/// The same for a larger number than was told: servers forget one after the other who has left, and
/// what one says may be 20 seconds old (`docs/spec/follower.md`, F2.1).
const LEAVING: Duration = Duration::from_secs(22);

/// How many people are missing, and what of it was told.
#[derive(Default)]
struct Missing {
    now: u32,
    since: Option<Instant>,
    told: Option<u32>,
}

impl Missing {
    fn seen(&mut self, missing: u32, now: Instant) {
        if self.since.is_none() || missing != self.now {
            (self.now, self.since) = (missing, Some(now));
        }
    }

    /// When it is told, if it is news.
    fn due(&self) -> Option<Instant> {
        let holds = if self.told.is_some_and(|told| self.now > told) { LEAVING } else { HOLDS };
        self.since.filter(|_| self.told != Some(self.now)).map(|since| since + holds)
    }

    /// What is told; nothing if there are enough by now.
    fn tell(&mut self) -> Option<String> {
        self.told = Some(self.now);
        say::missing_in_words(self.now)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_watches_is_told_how_many_are_missing_once_that_holds() {
        let begun = Instant::now();
        let at = |millis| begun + Duration::from_millis(millis);
        let mut people = Missing::default();
        assert_eq!(people.due(), None, "nobody has said anything yet");
        // One server after the other is heard of.
        for (millis, missing) in [(0, 3), (100, 1), (200, 0), (300, 0)] {
            people.seen(missing, at(millis));
        }
        assert_eq!((people.due(), people.tell()), (Some(at(200) + HOLDS), None), "enough");
        // Three leave, and one server after the other is heard to have forgotten them.
        for (millis, missing) in [(30_000, 1), (36_000, 2), (49_000, 3), (60_000, 3)] {
            people.seen(missing, at(millis));
            assert!(people.due() > Some(at(millis)), "not told yet");
        }
        assert_eq!(people.due(), Some(at(49_000) + LEAVING));
        assert_eq!(
            people.tell().as_deref(),
            Some("3 more people have to come, then messages appear")
        );
        people.seen(3, at(80_000));
        assert_eq!(people.due(), None, "it was told");
        // Who comes is told soon.
        people.seen(1, at(90_000));
        assert_eq!(people.due(), Some(at(90_000) + HOLDS));
        assert!(people.tell().is_some_and(|words| words.starts_with("one more person")));
    }
}
