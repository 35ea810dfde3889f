//! `ostrakon host`: what the host of a room does, for scripts. The same signed actions as the page's.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use ostrakon_broadcast::client::{Invitation, Link};
use ostrakon_broadcast::hosting::{Deed, HostLog, KEYS_AT_ONCE, MessageId, Poll, PollForm, SignedAction};
use ostrakon_crypto::{SigningKey, VerifyingKey};
use ostrakon_node::interface::{ActionTaken, Status};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::client::{CallError, Room, http_client};
use crate::{edge, failure, output, secret};

/// How often another action may come first.
const ATTEMPTS: u32 = 20;
/// The epoch in which a poll is answered comes so long after the one that collects, unless the host says otherwise: every page has
/// heard of it by then.
const NOTICE: u64 = 2;

/// What a host does.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Shows the host log: hosts, members, polls, marks.
    Show(Target),
    /// Hides a message, or shows it again.
    Hide(Mark),
    /// Approves a message for a moderated projector, or takes that back.
    Approve(Mark),
    /// Asks everybody in the room.
    Poll(Ask),
    /// Makes invitation links, each for one device.
    Invite(Invite),
    /// Admits keys that people have shown.
    Admit(Keys),
    /// Takes keys out, members' or invitations'.
    Dismiss(Keys),
    /// Closes the room for good. Its board remains.
    Close(Target),
}

/// Which room, and as whom.
#[derive(clap::Args)]
pub struct Target {
    /// The room's link.
    link: Link,
    /// The file with the host's key, as `ostrakon room create --host-key` made it.
    #[arg(long)]
    key: PathBuf,
    /// Prints the result as JSON.
    #[arg(long)]
    json: bool,
}

/// A mark on a message.
#[derive(clap::Args)]
pub struct Mark {
    #[command(flatten)]
    target: Target,
    /// The epoch that published the message.
    epoch: u64,
    /// The message's place in it, from 0.
    index: u32,
    /// Takes the mark away.
    #[arg(long)]
    undo: bool,
}

/// A question.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("form").required(true).args(["option", "rating", "text"]))]
pub struct Ask {
    #[command(flatten)]
    target: Target,
    /// The question.
    question: String,
    /// One of the options; to be given for each.
    #[arg(long)]
    option: Vec<String>,
    /// Several options may be chosen.
    #[arg(long, requires = "option")]
    several: bool,
    /// The answer is a mark from 1 to this.
    #[arg(long, value_name = "HIGHEST")]
    rating: Option<u8>,
    /// The answer is a few words.
    #[arg(long)]
    text: bool,
    /// The epoch in which it is answered; the next but one unless given.
    #[arg(long)]
    epoch: Option<u64>,
}

/// Invitations.
#[derive(clap::Args)]
pub struct Invite {
    #[command(flatten)]
    target: Target,
    /// How many.
    #[arg(default_value_t = 1)]
    count: usize,
}

/// Keys.
#[derive(clap::Args)]
pub struct Keys {
    #[command(flatten)]
    target: Target,
    /// The keys, hexadecimal.
    #[arg(required = true, value_parser = key)]
    keys: Vec<VerifyingKey>,
}

fn key(text: &str) -> Result<VerifyingKey, String> {
    VerifyingKey::from_hex(text).ok_or_else(|| "a key has 64 lower-case hexadecimal digits".to_owned())
}

/// The host's key in a file, or a fresh one if there is no such file.
///
/// # Errors
/// If the file cannot be read or made, may be read by others, or holds no key.
pub fn key_in(path: &Path) -> Result<SigningKey> {
    if !path.exists() {
        let seed = Zeroizing::new(Invitation(edge::random()).to_text());
        secret::write_new(path, &Zeroizing::new(format!("{}\n", *seed)))?;
    }
    let text = Zeroizing::new(secret::read(path)?);
    let seed = Invitation::from_text(&text).with_context(|| format!("{} holds no host's key", path.display()))?;
    Ok(SigningKey::from_seed(&seed.0))
}

/// What was done.
#[derive(Serialize)]
struct Done {
    /// The number of the action.
    action: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<String>,
}

/// A host log in short.
#[derive(Serialize)]
struct Shown<'a> {
    actions: u64,
    closed: bool,
    moderated: bool,
    hosts: Vec<String>,
    members: Vec<String>,
    invitations: usize,
    polls: Vec<(u64, &'a ostrakon_broadcast::hosting::PollState)>,
    marks: Vec<(&'a MessageId, &'a ostrakon_broadcast::hosting::Marks)>,
}

/// Runs one of the commands.
///
/// # Errors
/// If the key is no host's, a limit is passed, or the server that orders actions does not answer.
pub async fn run(command: Command) -> Result<()> {
    match command {
        Command::Show(target) => show(&target).await,
        Command::Hide(Mark { target, epoch, index, undo }) => {
            act(&target, Deed::Hide { target: MessageId { epoch, index }, hidden: !undo }).await
        }
        Command::Approve(Mark { target, epoch, index, undo }) => {
            act(&target, Deed::Approve { target: MessageId { epoch, index }, approved: !undo }).await
        }
        Command::Poll(ask) => poll(ask).await,
        Command::Invite(invite) => self::invite(&invite).await,
        Command::Admit(Keys { target, keys }) => act(&target, Deed::Admit { keys }).await,
        Command::Dismiss(Keys { target, keys }) => act(&target, Deed::Dismiss { keys }).await,
        Command::Close(target) => act(&target, Deed::Close).await,
    }
}

async fn open(target: &Target) -> Result<(Arc<Room>, SigningKey)> {
    ensure!(target.key.exists(), "--key: there is no file {}", target.key.display());
    let key = key_in(&target.key)?;
    Ok((Room::open(&http_client()?, target.link.clone()).await?, key))
}

async fn act(target: &Target, deed: Deed) -> Result<()> {
    let (room, key) = open(target).await?;
    let action = hand_in(&room, &key, &deed).await?;
    report(target, action, Vec::new())
}

fn report(target: &Target, action: u64, links: Vec<String>) -> Result<()> {
    if target.json {
        return output::json(&Done { action, links });
    }
    links.iter().try_for_each(|link| output::line(link))?;
    if links.is_empty() { output::line(&format!("done: action {action} of the host log")) } else { Ok(()) }
}

/// Signs the deed for the next place of the host log until it has one. Its number.
async fn hand_in(room: &Room, key: &SigningKey, deed: &Deed) -> Result<u64> {
    for _ in 0..ATTEMPTS {
        let log = room.host_log().await?;
        let action = log.act(key, edge::unix_time(), deed.clone());
        log.check(&action)?;
        match send(room, &action).await {
            Ok(taken) => return Ok(taken.number),
            // Another host was faster, or this server shows less of the log than the first.
            Err(error) if error.status() == Some(409) => {
                tokio::time::sleep(std::time::Duration::from_millis(200)).await
            }
            Err(error) => return Err(failure::call(error)),
        }
    }
    bail!("other actions always come first; try again")
}

/// Gives an action to the server that puts all of them in order; the others only name it.
async fn send(room: &Room, action: &SignedAction) -> Result<ActionTaken, CallError> {
    let path = format!("rooms/{}/actions", room.link.room.to_hex());
    let mut last = None;
    for party in room.parties() {
        match room.connection(party).post::<ActionTaken>(&path, action).await {
            Err(error) if error.status() == Some(421) || matches!(error, CallError::Unreachable { .. }) => {
                // What an unreachable one would have said tells more than that another one does not do this.
                if last.is_none() || matches!(error, CallError::Unreachable { .. }) {
                    last = Some(error);
                }
            }
            answer => return answer,
        }
    }
    Err(last.expect("a room has servers"))
}

async fn poll(ask: Ask) -> Result<()> {
    let (room, key) = open(&ask.target).await?;
    let form = match ask.rating {
        Some(highest) => PollForm::Rating { highest },
        None if ask.text => PollForm::Text,
        None => PollForm::Choice { options: ask.option, several: ask.several },
    };
    let epoch = match ask.epoch {
        Some(epoch) => epoch,
        None => next_free_epoch(&room).await?,
    };
    let action = hand_in(&room, &key, &Deed::Poll { poll: Poll { question: ask.question, form, epoch } }).await?;
    report(&ask.target, action, Vec::new())
}

/// The first epoch, some way after the one that collects, in which no other poll is answered.
async fn next_free_epoch(room: &Room) -> Result<u64> {
    let path = format!("rooms/{}/status", room.link.room.to_hex());
    let ask = async |party| room.connection(party).get::<Status>(&path, &()).await.ok();
    let statuses = futures::future::join_all(room.parties().map(ask)).await;
    let newest = statuses.into_iter().flatten().filter_map(|status| Some(status.epoch?.number)).max();
    let newest =
        newest.ok_or_else(|| failure::unreachable("no server says which epoch collects; is the room open?"))?;
    let log = room.host_log().await?;
    let free = |epoch: &u64| !log.polls().values().any(|state| !state.withdrawn && state.poll.epoch == *epoch);
    Ok((newest + NOTICE..).find(free).expect("there are many epochs"))
}

async fn invite(invite: &Invite) -> Result<()> {
    ensure!((1..=KEYS_AT_ONCE).contains(&invite.count), "one command makes 1 to {KEYS_AT_ONCE} invitations");
    let (room, key) = open(&invite.target).await?;
    let seeds: Vec<Invitation> = (0..invite.count).map(|_| Invitation(edge::random())).collect();
    let keys = seeds.iter().map(|seed| SigningKey::from_seed(&seed.0).verifying_key()).collect();
    let action = hand_in(&room, &key, &Deed::Invite { keys }).await?;
    let link = |seed: Invitation| Link { invitation: Some(seed), ..room.link.clone() }.to_string();
    report(&invite.target, action, seeds.into_iter().map(link).collect())
}

async fn show(target: &Target) -> Result<()> {
    let (room, _) = open(target).await?;
    let log = room.host_log().await?;
    let shown = shown(&log);
    if target.json {
        return output::json(&shown);
    }
    output::line(&format!(
        "{} actions; {}; {} hosts, {} members, {} invitations, {} polls, {} messages marked",
        shown.actions,
        if shown.closed { "closed" } else { "open" },
        shown.hosts.len(),
        shown.members.len(),
        shown.invitations,
        shown.polls.len(),
        shown.marks.len()
    ))
}

fn shown(log: &HostLog) -> Shown<'_> {
    let active = log.hosts().iter().filter(|(_, host)| host.active);
    Shown {
        actions: log.length(),
        closed: log.closed(),
        moderated: log.moderated(),
        hosts: active.map(|(key, _)| key.to_hex()).collect(),
        members: log.members().iter().map(VerifyingKey::to_hex).collect(),
        invitations: log.invitations().len(),
        polls: log.polls().iter().map(|(id, state)| (*id, state)).collect(),
        marks: log.marks().iter().collect(),
    }
}
