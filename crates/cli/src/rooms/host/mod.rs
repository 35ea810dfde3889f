//! `ostrakon host`: what the host of a room does, for scripts. The same signed actions as the
//! page's.
//!
//! A command whose answer is lost leaves its action pending beside the host's key ([`pending`]);
//! the next one that acts in that room settles it first ([`acting`]). So nothing is done twice, and
//! no invitation's link is lost.

mod acting;
mod pending;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use ostrakon_broadcast::hosting::{Deed, HostLog, KEYS_AT_ONCE, MessageId, Poll, PollForm};
use ostrakon_crypto::{SigningKey, VerifyingKey};
use ostrakon_mixing::link::{Invitation, Link};
use ostrakon_protocol::Status;
use serde::Serialize;
use zeroize::Zeroizing;

use self::acting::{Host, Settled, Taken};
use crate::client::Room;
use crate::{failure, output, secret, system};

/// The epoch in which a poll is answered comes so long after the one that collects, unless the host
/// says otherwise: every page has heard of it by then.
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
    /// Lowers the minimum, so that messages appear although fewer take part. Everybody is told, and
    /// whoever joined with a larger crowd is asked before more of theirs is sent.
    Ease(Ease),
    /// Closes the room for good. Its board remains.
    Close(Target),
}

/// Which room, and as whom.
#[derive(clap::Args)]
pub struct Target {
    /// The room's link; `-` takes it from standard input, `@FILE` from a file.
    #[arg(value_parser = secret::link::<Link>)]
    link: Link,
    /// The file with the host's key, as `ostrakon room create --host-key` made it. What was sent
    /// and not answered is kept beside it, in a file whose name ends in ".pending".
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

/// A smaller crowd.
#[derive(clap::Args)]
pub struct Ease {
    #[command(flatten)]
    target: Target,
    /// The least number of participants from the next epoch on, whichever server's are left out: 2
    /// takes three people. 1, two people, needs --without-crowd.
    minimum: u32,
    /// Takes 1, which is no crowd: each of two people knows what the other one has said.
    #[arg(long)]
    without_crowd: bool,
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
    VerifyingKey::from_hex(text)
        .ok_or_else(|| "a key has 64 lower-case hexadecimal digits".to_owned())
}

/// The host's key in a file, or a fresh one if there is no such file.
///
/// # Errors
/// If the file cannot be read or made, may be read by others, or holds no key.
pub fn key_in(path: &Path) -> Result<SigningKey> {
    if !path.exists() {
        let seed = Zeroizing::new(Invitation(system::random()).to_text());
        secret::write_new(path, &Zeroizing::new(format!("{}\n", *seed)))?;
    }
    let text = Zeroizing::new(secret::read(path)?);
    let seed = Invitation::from_text(&text)
        .with_context(|| format!("{} holds no host's key", path.display()))?;
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
    minimum: u32,
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
            act(&target, Deed::Approve { target: MessageId { epoch, index }, approved: !undo })
                .await
        }
        Command::Poll(ask) => poll(ask).await,
        Command::Ease(Ease { target, minimum, without_crowd }) => {
            ensure!(
                minimum > 0,
                "0, for practice, is a room's from its beginning: `ostrakon room create NAME --without-crowd`. Take 2 or more"
            );
            ensure!(
                minimum > 1 || without_crowd,
                "1 is no crowd: each of two people knows what the other one has said. Take 2 or more, or say --without-crowd"
            );
            act(&target, Deed::Minimum { minimum }).await
        }
        Command::Invite(invite) => self::invite(&invite).await,
        Command::Admit(Keys { target, keys }) => act(&target, Deed::Admit { keys }).await,
        Command::Dismiss(Keys { target, keys }) => act(&target, Deed::Dismiss { keys }).await,
        Command::Close(target) => act(&target, Deed::Close).await,
    }
}

async fn act(target: &Target, deed: Deed) -> Result<()> {
    let mut host = Host::open(target).await?;
    if settle(&mut host, target, |earlier| *earlier == deed).await? {
        return Ok(());
    }
    carry_out(&mut host, target, &deed, &[]).await
}

/// Does something, and prints what came of it.
async fn carry_out(
    host: &mut Host,
    target: &Target,
    deed: &Deed,
    seeds: &[Invitation],
) -> Result<()> {
    let taken = host.act(deed, seeds).await?;
    report(target, taken)?;
    host.forget()
}

fn report(target: &Target, Taken { number, links }: Taken) -> Result<()> {
    if target.json {
        return output::json(&Done { action: number, links });
    }
    links.iter().try_for_each(|link| output::line(link))?;
    if links.is_empty() {
        output::line(&format!("done: action {number} of the host log"))
    } else {
        Ok(())
    }
}

/// Settles what an earlier command left pending, and tells what came of it. Whether it was done and
/// is what is asked for now; then its result was printed as this command's, and nothing is left to
/// be done.
async fn settle(host: &mut Host, target: &Target, asked: impl Fn(&Deed) -> bool) -> Result<bool> {
    let Some(Settled { deed, taken }) = host.settle().await? else { return Ok(false) };
    let what = in_words(&deed)?;
    let answered = match taken {
        Some(taken) if asked(&deed) => {
            eprintln!("An earlier command has done this; its answer was lost. Here it is:");
            report(target, taken)?;
            true
        }
        // Not on standard output, where scripts read what this command does.
        Some(Taken { number, links }) => {
            eprintln!(
                "An earlier command, whose answer was lost, has done this: {what}; action {number} of the host log"
            );
            links.iter().for_each(|link| eprintln!("  {link}"));
            false
        }
        None => {
            eprintln!(
                "What an earlier command was to do was not done, since another action came first: {what}"
            );
            false
        }
    };
    host.forget()?;
    Ok(answered)
}

/// A deed for people.
fn in_words(deed: &Deed) -> Result<String> {
    Ok(match deed {
        Deed::Poll { poll } => format!("poll {:?}", poll.question),
        Deed::Invite { keys } => format!("invitations, {} in number", keys.len()),
        other => serde_json::to_string(other)?,
    })
}

async fn poll(ask: Ask) -> Result<()> {
    let mut host = Host::open(&ask.target).await?;
    let form = match ask.rating {
        Some(highest) => PollForm::Rating { highest },
        None if ask.text => PollForm::Text,
        None => PollForm::Choice { options: ask.option, several: ask.several },
    };
    let same = |poll: &Poll| {
        poll.question == ask.question
            && poll.form == form
            && ask.epoch.is_none_or(|epoch| poll.epoch == epoch)
    };
    if settle(
        &mut host,
        &ask.target,
        |earlier| matches!(earlier, Deed::Poll { poll } if same(poll)),
    )
    .await?
    {
        return Ok(());
    }
    let epoch = match ask.epoch {
        Some(epoch) => epoch,
        None => next_free_epoch(&host.room).await?,
    };
    let deed = Deed::Poll { poll: Poll { question: ask.question, form, epoch } };
    carry_out(&mut host, &ask.target, &deed, &[]).await
}

/// The first epoch, some way after the one that collects, in which no other poll is answered.
async fn next_free_epoch(room: &Arc<Room>) -> Result<u64> {
    let path = format!("rooms/{}/status", room.link.room.to_hex());
    let ask = async |party| room.connection(party).get::<Status>(&path, &()).await.ok();
    let statuses = futures::future::join_all(room.parties().map(ask)).await;
    let newest =
        statuses.into_iter().flatten().filter_map(|status| Some(status.epoch?.number)).max();
    let newest = newest.ok_or_else(|| {
        failure::unreachable("no server says which epoch collects; is the room open?")
    })?;
    let log = room.host_log().await?;
    let free = |epoch: &u64| {
        !log.polls().values().any(|state| !state.withdrawn && state.poll.epoch == *epoch)
    };
    Ok((newest + NOTICE..).find(free).expect("there are many epochs"))
}

async fn invite(invite: &Invite) -> Result<()> {
    ensure!(
        (1..=KEYS_AT_ONCE).contains(&invite.count),
        "one command makes 1 to {KEYS_AT_ONCE} invitations"
    );
    let mut host = Host::open(&invite.target).await?;
    let as_many =
        |earlier: &Deed| matches!(earlier, Deed::Invite { keys } if keys.len() == invite.count);
    if settle(&mut host, &invite.target, as_many).await? {
        return Ok(());
    }
    let seeds: Vec<Invitation> = (0..invite.count).map(|_| Invitation(system::random())).collect();
    let keys = seeds.iter().map(|seed| seed.key().verifying_key()).collect();
    carry_out(&mut host, &invite.target, &Deed::Invite { keys }, &seeds).await
}

async fn show(target: &Target) -> Result<()> {
    let host = Host::open(target).await?;
    if host.has_pending() {
        eprintln!(
            "It is not known whether what an earlier command was to do was done; the next one that acts finds out."
        );
    }
    let log = host.room.host_log().await?;
    let shown = shown(&log);
    if target.json {
        return output::json(&shown);
    }
    output::line(&format!(
        "{} actions; {}; minimum {}, {} hosts, {} members, {} invitations, {} polls, {} messages marked",
        shown.actions,
        if shown.closed { "closed" } else { "open" },
        shown.minimum,
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
        minimum: log.minimum(),
        hosts: active.map(|(key, _)| key.to_hex()).collect(),
        members: log.members().iter().map(VerifyingKey::to_hex).collect(),
        invitations: log.invitations().len(),
        polls: log.polls().iter().map(|(id, state)| (*id, state)).collect(),
        marks: log.marks().iter().collect(),
    }
}
