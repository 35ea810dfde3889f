//! `ostrakon say` in a room without a clock.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use ostrakon_asynchromix::Visitor;
use ostrakon_asynchromix::board::Outcome;
use ostrakon_asynchromix::participant::{News, NotTaken};
use serde::Serialize;

use super::visiting::{Shown, Visiting};
use super::{Link, words};
use crate::output;

/// Where the message stands.
#[derive(Serialize)]
struct Said {
    epoch: u64,
    entry: u64,
    accepted: usize,
    messages: usize,
}

/// Takes part until the message is on the board.
///
/// # Errors
/// If the message does not fit, the room cannot be found, or nobody can know any more whether the
/// message was said.
pub async fn say(link: &Link, message: &[u8], state: Option<&Path>, json: bool) -> Result<()> {
    ensure!(!message.is_empty(), "TEXT is empty: there is nothing to say");
    let mut visiting = Visiting::take_part(link, state).await?;
    if visiting.with(|visitor| visitor.room().is_trial()) {
        eprintln!("this room is a trial: whoever is alone in a round is alone on the board");
    }
    let mut given = give(&visiting, message)?;
    let bar = output::spinner("looking for a place");
    let mut told = Vec::new();
    loop {
        bar.set_message(visiting.with(|visitor| describe(visitor)));
        let here = visiting.with(|visitor| visitor.here());
        let caught = words::convicted(&here, visiting.names());
        if caught != told {
            bar.suspend(|| caught.iter().for_each(|line| eprintln!("{line}")));
            told = caught;
        }
        if words::is_over(&here) && visiting.with(Visitor::take_back).is_some() {
            visiting.save()?;
            bail!("the message was not said: {}", words::stock(&here));
        }
        let news = match visiting.next().await? {
            Shown::News(news) => news,
            Shown::Changed => continue,
        };
        match news {
            News::Published(epoch) if given => {
                bar.finish_and_clear();
                return report(&visiting, epoch, json);
            }
            News::Published(_) | News::Unknown(_) if !given => given = give(&visiting, message)?,
            News::Unknown(epoch) => bail!(
                "this device was away for too long: whether the message came out in round {epoch} cannot be known any more, so it is not said again"
            ),
            News::Again(epoch) => bar.suspend(|| {
                eprintln!("round {epoch} ended without the message; it is handed in again");
            }),
            _ => {}
        }
    }
}

/// Hands the message to the visitor; not while an earlier one, which an earlier run left, is on its
/// way.
fn give(visiting: &Visiting, message: &[u8]) -> Result<bool> {
    let longest = visiting.with(|visitor| visitor.room().shape().payload);
    match visiting.with(|visitor| visitor.say(message.to_vec())) {
        Ok(()) => {
            visiting.save()?;
            Ok(true)
        }
        Err(NotTaken::Waiting) => {
            let same = visiting.with(|visitor| {
                visitor.participant().and_then(|p| p.message()).is_some_and(|m| m == message)
            });
            if !same {
                eprintln!(
                    "an earlier message of this device is not on the board yet; it is said first"
                );
            }
            Ok(same)
        }
        Err(error @ (NotTaken::Long(_) | NotTaken::Empty)) => {
            bail!("{error} ({} of at most {longest} bytes)", message.len())
        }
    }
}

fn describe(visitor: &Visitor) -> String {
    let here = visitor.here();
    let servers = visitor.room().servers();
    let silent = match here.silent.len() {
        0 => String::new(),
        silent => format!(", {silent} of {servers} servers silent"),
    };
    let Some(participant) = visitor.participant() else { return String::new() };
    let stands = match participant.awaited() {
        Some(epoch) if participant.is_in() => {
            format!("in for round {epoch}, waiting for the board")
        }
        Some(epoch) => format!("handed in for round {epoch}"),
        None if here.collecting.is_none() && here.ready == 0 && here.ended.is_some() => {
            format!("the message waits here: {}", words::stock(&here))
        }
        None if here.collecting.is_none() => "waiting for the next round".to_owned(),
        None if visitor.is_left_out() => format!(
            "all {} places of this round are taken; waiting for the next one",
            visitor.room().shape().rows
        ),
        None => "looking for a place".to_owned(),
    };
    format!("{stands}{silent}")
}

fn report(visiting: &Visiting, epoch: u64, json: bool) -> Result<()> {
    let entry =
        visiting.with(|visitor| visitor.wall().find(|signed| signed.entry.epoch == epoch).cloned());
    let (accepted, messages) = entry.map_or((0, 0), |signed| {
        let messages = match &signed.entry.outcome {
            Outcome::Messages(messages) => messages.len(),
            Outcome::TooFew => 0,
        };
        (signed.entry.sealed.len(), messages)
    });
    if json {
        return output::json(&Said { epoch, entry: epoch, accepted, messages });
    }
    output::line(&format!("published in round {epoch}, {}", output::among(messages, accepted)))
}
