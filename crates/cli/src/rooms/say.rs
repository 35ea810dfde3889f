//! `ostrakon say`.

use std::cell::RefCell;
use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use indicatif::ProgressBar;
use ostrakon_mixing::engines;
use ostrakon_mixing::room::{Admission, more_needed};
use ostrakon_party::Trust;
use ostrakon_protocol::{CollectPhase, EpochStatus, LastEpoch, Outcome, Overdue, Status};
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
    let trust = engines::trust(room.descriptor.engine, room.connections.len())?;
    let progress = RefCell::new(Progress::new(room.names()));
    let mut statuses = room.statuses();
    let published = participant.take_part(|event| progress.borrow_mut().happened(event));
    tokio::pin!(published);
    let published = loop {
        tokio::select! {
            published = &mut published => break published?,
            changed = statuses.changed() => {
                changed?;
                progress.borrow_mut().look(&room.latest_statuses(), &trust);
            }
        }
    };
    progress.borrow().bar.finish_and_clear();
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
    let among = output::among(messages, usize::try_from(accepted)?);
    output::line(&format!("published in epoch {epoch}, {among}"))
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

/// What is told while the message is under way. What may take long is said once in full, and then
/// by the spinner.
struct Progress {
    bar: ProgressBar,
    /// What happened last.
    state: String,
    /// How many people are missing, and whether that was said in full.
    missing: u32,
    told: bool,
    /// Whether something is handed in, and only others are waited for.
    waits: bool,
    /// The last epoch that was warned of.
    warned: Option<u64>,
    /// How the servers are called.
    names: Vec<String>,
    /// Why the epoch is not closed, as it was told last.
    overdue: Option<String>,
}

impl Progress {
    fn new(names: Vec<String>) -> Self {
        let state = "looking for a place".to_owned();
        let bar = output::spinner(state.clone());
        let (missing, told, waits, warned, overdue) = Default::default();
        Self { bar, state, missing, told, waits, warned, names, overdue }
    }

    fn happened(&mut self, event: Event) {
        self.state = describe(event);
        self.waits = matches!(event, Event::Submitted { .. });
        self.show();
    }

    /// Takes notice of what the servers say.
    fn look(&mut self, statuses: &[Option<Status>], trust: &Trust) {
        let ended = statuses.iter().flatten().filter(|status| status.last.is_some());
        self.warn(ended.max_by_key(|status| status.last.as_ref().map(|last| last.number)));
        self.missing = missing(statuses, trust);
        self.show();
        let overdue = overdue_in_words(statuses, &self.names, trust);
        if let Some(words) = overdue.filter(|words| self.overdue.as_ref() != Some(words)) {
            self.bar.suspend(|| eprintln!("{words}"));
            self.overdue = Some(words);
        }
        // What is handed in has its place: now the servers count it, too. Where none counts
        // anybody, that was said before.
        let counted = statuses.iter().flatten().any(|status| status.present.iter().any(|n| *n > 0));
        let tells = self.waits && counted && !self.told;
        if let Some(words) = missing_in_words(self.missing).filter(|_| tells) {
            self.told = true;
            self.bar.suspend(|| eprintln!("{words}"));
        }
    }

    fn show(&self) {
        let words = missing_in_words(self.missing).map(|words| format!("; {words}"));
        self.bar.set_message(format!("{}{}", self.state, words.unwrap_or_default()));
    }

    /// Says why the last epoch published nothing: once in full, and then by the spinner.
    fn warn(&mut self, status: Option<&Status>) {
        let Some(status) = status else { return };
        let newer = |last: &&LastEpoch| Some(last.number) > self.warned;
        let Some(last) = status.last.as_ref().filter(newer) else { return };
        let Some(text) = complaint(last, status.epoch.is_some()) else { return };
        if self.warned.is_none() {
            self.bar.suspend(|| eprintln!("{text}"));
        }
        self.warned = Some(last.number);
        self.state = text;
        self.show();
    }
}

/// How many more people have to come until messages appear, by who is there as each server says of
/// itself. Slots do not count: who had one may have left without handing in.
pub fn missing(statuses: &[Option<Status>], trust: &Trust) -> u32 {
    let known = || statuses.iter().flatten();
    let present = (0..statuses.len()).map(|party| {
        let by = |status: &Status| status.present.get(party).copied();
        // A server that is silent is counted as the others count it.
        let own = statuses[party].as_ref().and_then(by);
        own.or_else(|| known().filter_map(by).max()).unwrap_or(0)
    });
    let minimum = known().map(|status| status.minimum).max().unwrap_or(0);
    more_needed(&present.collect::<Vec<_>>(), minimum, trust)
}

/// How many people are missing, in words; `None` if there are enough.
pub fn missing_in_words(missing: u32) -> Option<String> {
    match missing {
        0 => None,
        1 => Some("one more person has to come, then messages appear".into()),
        more => Some(format!("{more} more people have to come, then messages appear")),
    }
}

/// Why the epoch that collects is not closed, or none is opened, in words, with the servers' names;
/// `None` unless it could have been for a while. What fewer than are believed say counts for
/// nothing: neither of whom, nor of which epoch.
pub fn overdue_in_words(
    statuses: &[Option<Status>],
    names: &[String],
    trust: &Trust,
) -> Option<String> {
    let said = statuses.iter().flatten().filter_map(|status| {
        let EpochStatus { number, phase, .. } = status.epoch?;
        Some(((number, phase == CollectPhase::Collecting), status.overdue.as_ref()?))
    });
    let said: Vec<_> = said.collect();
    let of = |epoch: (u64, bool)| {
        said.iter().filter(move |(of, _)| *of == epoch).map(|(_, overdue)| *overdue)
    };
    let shared = said.iter().map(|(epoch, _)| *epoch);
    let epoch = shared.filter(|epoch| of(*epoch).count() >= trust.believed()).max()?;
    let believed = |says: &dyn Fn(&Overdue) -> bool| {
        of(epoch).filter(|overdue| says(overdue)).count() >= trust.believed()
    };
    let named = (0u8..).zip(names);
    let silent = named.filter(|(party, _)| believed(&|overdue| overdue.by.contains(party)));
    let silent: Vec<_> = silent.map(|(_, name)| name.as_str()).collect();
    let (number, collects) = epoch;
    if silent.is_empty() {
        return believed(&|overdue| overdue.by.is_empty()).then(|| {
            format!(
                "epoch {number} waits for earlier ones that are still shuffled; nothing is lost"
            )
        });
    }
    let (silent, could) = (silent.join(" and "), if collects { "been sealed" } else { "begun" });
    Some(format!(
        "epoch {number} could have {could}, but the word of {silent} is missing, and no other server can step in: nothing is \
         lost or revealed, and it goes on when that word comes; if it lasts, tell whoever runs {silent}: what keeps it back can \
         be there, on the way there, or at a server that is waited for there in turn"
    ))
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

    /// A server's status in an epoch in which three people got slots.
    fn status(present: [u32; 3], minimum: u32) -> Option<Status> {
        let status = serde_json::json!({
            "version": 1, "epoch": null, "mixing": [], "last": null, "minimum": minimum,
            "present": present, "places": [1, 1, 1], "board_length": 0, "actions": 0, "stock": 1,
            "peers": [], "context": null,
        });
        Some(serde_json::from_value(status).unwrap())
    }

    #[test]
    fn who_waits_is_told_how_many_are_missing() {
        let trust = Trust::one_of_three();
        let alone = [status([1, 0, 0], 3), status([0; 3], 3), status([0; 3], 3)];
        assert_eq!(missing(&alone, &trust), 4);
        assert_eq!(
            missing_in_words(4).unwrap(),
            "4 more people have to come, then messages appear"
        );
        // Each server knows best who is with it; of a silent one the others say.
        let four = [status([1, 9, 0], 3), status([1, 2, 1], 3), None];
        assert_eq!(missing(&four, &trust), 1);
        let left = [status([0, 1, 1], 2), status([1, 0, 1], 2), status([1, 1, 0], 2)];
        assert_eq!(missing(&left, &trust), 3, "three had a slot, and all of them have left");
        let enough = [status([2, 0, 0], 3), status([0, 2, 0], 3), status([0, 0, 1], 3)];
        assert_eq!((missing(&enough, &trust), missing_in_words(0)), (0, None));
        assert_eq!(missing(&[None, None, None], &trust), 0, "nobody has said anything yet");
        assert_eq!(missing(&[status([1, 0, 0], 0), None, None], &trust), 0, "for practice");
    }

    #[test]
    fn whose_word_an_epoch_waits_for_is_told_when_two_servers_say_so() {
        let (trust, names) = (Trust::one_of_three(), ["A", "B", "C"].map(str::to_owned));
        let says = |phase: &str, number, by: &[u8]| {
            let by = by.to_vec();
            let epoch = serde_json::json!({
                "number": number, "batch": null, "phase": phase, "closes_in_ms": null,
                "assigned": 3, "submitted": 3,
            });
            let epoch = serde_json::from_value(epoch).unwrap();
            let overdue = Some(Overdue { for_ms: 20_000, by });
            status([1, 1, 1], 2).map(|status| Status { epoch, overdue, ..status })
        };
        let overdue = |number, by: &[u8]| says("collecting", number, by);
        let unopened = |number, by: &[u8]| says("waiting-for-stock", number, by);
        let told = |statuses: [Option<Status>; 3]| overdue_in_words(&statuses, &names, &trust);
        let words = told([status([1, 1, 1], 2), overdue(4, &[0]), overdue(4, &[0])]).unwrap();
        assert!(words.contains("epoch 4") && words.contains("the word of A is missing"), "{words}");
        // Each knows that it has spoken itself; only the one that both miss is silent.
        let words = told([overdue(4, &[1, 2]), None, overdue(4, &[0, 1])]).unwrap();
        assert!(words.contains("the word of B is missing"), "{words}");
        let words = told([None, overdue(4, &[]), overdue(4, &[])]).unwrap();
        assert!(words.contains("waits for earlier ones"), "{words}");
        assert_eq!(told([None, None, overdue(4, &[0])]), None, "one alone is not believed");
        assert_eq!(told([None, overdue(3, &[0]), overdue(4, &[0])]), None, "of two epochs");
        let words = told([None, unopened(4, &[0]), unopened(4, &[0])]).unwrap();
        assert!(words.contains("epoch 4 could have begun, but the word of A"), "{words}");
        assert_eq!(told([None, unopened(4, &[0]), None]), None, "one alone is not believed");
        assert_eq!(told([None, unopened(4, &[0]), overdue(4, &[0])]), None, "of two complaints");
        // What a third one says of another epoch, or of nobody, hides nothing.
        let words = told([overdue(u64::MAX, &[]), overdue(4, &[0]), overdue(4, &[0])]).unwrap();
        assert!(words.contains("epoch 4") && words.contains("the word of A"), "{words}");
        let words = told([overdue(4, &[2]), unopened(4, &[0]), unopened(4, &[0])]).unwrap();
        assert!(words.contains("could have begun, but the word of A"), "{words}");
        let words = told([overdue(4, &[1]), overdue(4, &[0]), overdue(4, &[0])]).unwrap();
        assert!(words.contains("the word of A is missing"), "{words}");
    }

    #[test]
    fn the_spinner_shows_what_happened_and_who_is_missing() {
        let mut progress = Progress::new(Vec::new());
        let trust = Trust::one_of_three();
        progress.look(&[status([0, 0, 0], 3), None, None], &trust);
        progress.happened(Event::Submitted { epoch: 7, message: true });
        progress.look(&[status([0, 0, 0], 3), None, None], &trust);
        assert!(!progress.told, "its own place is not counted yet");
        progress.look(&[status([1, 0, 0], 3), None, None], &trust);
        assert!(progress.told && progress.bar.message().starts_with("handed in for epoch 7"));
        assert!(
            progress.bar.message().ends_with("4 more people have to come, then messages appear")
        );
        progress.look(&[status([2, 2, 1], 3), None, None], &trust);
        assert_eq!(progress.bar.message(), "handed in for epoch 7, waiting for the board");
    }
}
