//! `ostrakon watch` in a room without a clock.

use std::time::Duration;

use anyhow::Result;
use ostrakon_asynchromix::board::{Outcome, SignedEntry};
use serde::Serialize;

use super::visiting::Visiting;
use super::{Link, words};
use crate::output::MessageJson;
use crate::{failure, output};

/// How long `--once` waits for t + 1 servers.
const ONCE: Duration = Duration::from_secs(20);

/// An entry as it is printed.
#[derive(Serialize)]
struct EntryJson<'a> {
    epoch: u64,
    accepted: usize,
    too_few: bool,
    messages: Vec<MessageJson<'a>>,
    signers: Vec<u8>,
}

/// Prints the board, as far back as servers have it, and then what is added to it.
///
/// # Errors
/// If the room cannot be found; with `once` also if too few servers answer to know its end.
pub async fn watch(link: &Link, json: bool, once: bool) -> Result<()> {
    let mut visiting = Visiting::watch(link).await?;
    let mut next = 0;
    let mut print_new = |visiting: &Visiting| {
        let (new, ends) = visiting.with(|visitor| {
            let new: Vec<_> =
                visitor.wall().filter(|signed| signed.entry.epoch >= next).cloned().collect();
            (new, visitor.is_caught_up())
        });
        // Entries come in any order: what is printed is whole up to there.
        if ends {
            for signed in new {
                print(&signed, json)?;
                next = signed.entry.epoch + 1;
            }
        }
        anyhow::Ok(ends)
    };
    let mut told = Vec::new();
    let all = async {
        loop {
            visiting.next().await?;
            tell_ends(&visiting, &mut told);
            if print_new(&visiting)? && once {
                return anyhow::Ok(());
            }
        }
    };
    if !once {
        return all.await;
    }
    let too_few = || failure::unreachable("too few servers answer to know where the board ends");
    tokio::time::timeout(ONCE, all).await.map_err(|_| too_few())?
}

/// Says once who was caught lying, and what keeps rounds from coming.
fn tell_ends(visiting: &Visiting, told: &mut Vec<String>) {
    let here = visiting.with(|visitor| visitor.here());
    let mut now = words::convicted(&here, visiting.names());
    if here.ended.is_some() && here.ready == 0 {
        now.push(words::stock(&here));
    }
    now.iter().filter(|line| !told.contains(*line)).for_each(|line| eprintln!("{line}"));
    *told = now;
}

fn print(signed: &SignedEntry, json: bool) -> Result<()> {
    let messages = match &signed.entry.outcome {
        Outcome::Messages(messages) => &messages[..],
        Outcome::TooFew => &[],
    };
    let too_few = signed.entry.outcome == Outcome::TooFew;
    let accepted = signed.entry.sealed.len();
    if json {
        return output::json(&EntryJson {
            epoch: signed.entry.epoch,
            accepted,
            too_few,
            messages: messages.iter().map(|message| MessageJson::of(message)).collect(),
            signers: signed.signatures.iter().map(|(party, _)| party.0).collect(),
        });
    }
    let end = if too_few { ", too few to open anything" } else { "" };
    eprintln!("round {}: {accepted} took part{end}", signed.entry.epoch);
    messages.iter().try_for_each(|message| output::message(message))
}
