//! `ostrakon say`.

use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use indicatif::ProgressBar;
use ostrakon_broadcast::room::Admission;
use ostrakon_protocol::{LastEpoch, Outcome, Status};
use serde::Serialize;

use crate::client::{Event, Member, Participant, Room, http_client, member};
use crate::mixer::{self, AnyLink};
use crate::{output, secret};

/// Options of `say`.
#[derive(clap::Args)]
pub struct Options {
    /// The room's link, or an invitation's, which is then taken for this device; `-` takes it from
    /// the first line of standard input, `@FILE` from a file.
    #[arg(value_parser = secret::link::<AnyLink>)]
    link: AnyLink,
    /// What to say; `-` takes it from standard input.
    text: String,
    /// Where this device's keys in rooms of members are kept; $XDG_STATE_HOME/ostrakon or
    /// ~/.local/state/ostrakon unless given.
    #[arg(long)]
    state_dir: Option<PathBuf>,
    /// Prints where it was published as JSON.
    #[arg(long)]
    json: bool,
}

/// Where the message stands.
#[derive(Serialize)]
struct Said {
    epoch: u64,
    entry: usize,
    accepted: u32,
    messages: usize,
}

/// Takes part until the message is on the board.
///
/// # Errors
/// If the message does not fit, or the room cannot be opened or is closed.
pub async fn run(options: Options) -> Result<()> {
    let message = message(&options.text)?;
    ensure!(!message.is_empty(), "TEXT is empty: there is nothing to say");
    let link = match options.link {
        AnyLink::Mix(link) => {
            return mixer::say(&link, &message, options.state_dir.as_deref(), options.json).await;
        }
        AnyLink::Room(link) => *link,
    };
    let room = Room::open(&http_client()?, link).await?;
    let participant = match room.descriptor.admission {
        Admission::Messages => bail!(
            "the room is for messages between two people, so nothing is said to everybody: `ostrakon chat` exchanges them"
        ),
        Admission::Open => Participant::new(room.clone(), Some(message), None)?,
        Admission::Members => {
            let directory = options.state_dir.map_or_else(member::state_directory, Ok)?;
            let member = Member::open(&directory, &room.link.room)?;
            let participant = Participant::of_member(room.clone(), message, member)?;
            participant.admit().await?;
            participant
        }
    };
    let _watching = room.watch();
    let bar = output::spinner("looking for a place");
    let mut statuses = room.statuses();
    let mut warned = None;
    let published = participant.take_part(|event| bar.set_message(describe(event)));
    tokio::pin!(published);
    let published = loop {
        tokio::select! {
            published = &mut published => break published?,
            changed = statuses.changed() => {
                changed?;
                let statuses = statuses.borrow_and_update();
                let ended = statuses.iter().flatten().filter(|status| status.last.is_some());
                let last = ended.max_by_key(|status| status.last.as_ref().map(|last| last.number));
                if let Some(status) = last {
                    warn(&bar, &mut warned, status);
                }
            }
        }
    };
    bar.finish_and_clear();
    let entries = room.entries();
    let entry = entries.borrow()[published.entry].entry.clone();
    let said = Said {
        epoch: published.epoch,
        entry: published.entry,
        accepted: entry.accepted,
        messages: entry.messages.len(),
    };
    if options.json {
        return output::json(&said);
    }
    let Said { epoch, accepted, messages, .. } = said;
    output::line(&format!(
        "published in epoch {epoch}, one of {messages} messages by {accepted} participants"
    ))
}

fn message(text: &str) -> Result<Vec<u8>> {
    if text != "-" {
        return Ok(text.as_bytes().to_vec());
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).context("standard input cannot be read")?;
    if bytes.ends_with(b"\n") {
        bytes.pop();
    }
    Ok(bytes)
}

fn describe(event: Event) -> String {
    match event {
        Event::Home(party) => format!("present at server {}, waiting for a slot", party.0),
        Event::Submitted { epoch, message: true } => {
            format!("handed in for epoch {epoch}, waiting for the board")
        }
        Event::Submitted { epoch, message: false } => {
            format!("took part in epoch {epoch}, waiting for the board")
        }
        Event::NoSlot(epoch) => format!("no slot in epoch {epoch}, trying another server"),
        Event::Again(epoch) => format!("epoch {epoch} ended without the message, sending it again"),
        Event::Published(_) => "the message is on the board".into(),
    }
}

/// Says why the last epoch published nothing: once in full, and then by the spinner.
fn warn(bar: &ProgressBar, warned: &mut Option<u64>, status: &Status) {
    let Some(last) = status.last.as_ref().filter(|last| Some(last.number) > *warned) else {
        return;
    };
    let Some(text) = complaint(last, status.epoch.is_some()) else { return };
    if warned.is_none() {
        bar.suspend(|| eprintln!("{text}"));
    }
    *warned = Some(last.number);
    bar.set_message(text);
}

/// Why an epoch published nothing, and what becomes of its messages in a room that is `open` or
/// not.
fn complaint(last: &LastEpoch, open: bool) -> Option<String> {
    let LastEpoch { number, outcome, detail } = last;
    let then = match outcome {
        Outcome::Published => return None,
        Outcome::MayHaveOpened => "; the messages may have been read and are not sent again",
        _ if open => "; the message is sent again",
        _ => "",
    };
    Some(format!("epoch {number} published nothing: {detail}{then}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_been_read_is_not_announced_to_be_sent_again() {
        let told = |outcome, open| {
            let last = LastEpoch { number: 4, outcome, detail: "why".into() };
            complaint(&last, open).unwrap_or_default()
        };
        assert_eq!(told(Outcome::Published, true), "");
        for outcome in [Outcome::TooFew, Outcome::Cheated, Outcome::Failed] {
            assert!(told(outcome, true).ends_with("why; the message is sent again"));
            assert!(told(outcome, false).ends_with("why"), "the room is closed");
        }
        for open in [true, false] {
            let told = told(Outcome::MayHaveOpened, open);
            assert!(told.contains("may have been read and are not sent again"), "{told}");
        }
    }
}
