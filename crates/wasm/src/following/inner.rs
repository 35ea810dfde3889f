//! What the binding does, in plain Rust.

use std::sync::Arc;

use ostrakon_broadcast::SignedEntry;
use ostrakon_broadcast::hosting::{HostLog, SignedAction};
use ostrakon_broadcast::outbox::Outbox;
use ostrakon_client::{Follower, Millis, Scene, Sight};
use ostrakon_crypto::Secret;
use ostrakon_messaging::params::CYCLE;
use ostrakon_protocol::Status;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::changes::{Touched, changes};
use crate::inner::{Board, descriptor, json, read_entries, servers};
use crate::messaging::inner::Messenger;
use crate::taking_part::inner::AskJson;

/// What is shown to the user.
type Sentence = String;

/// Entries before the end with which the board of a room for messages is read: two turns of every
/// conversation, in which another copy of the same contacts would show.
const BACK: u64 = 2 * CYCLE;

/// A room that is followed, and what the page has not been told of it.
pub struct Following {
    pub machine: Follower,
    /// The room.
    pub scene: Arc<Scene>,
    touched: Touched,
    board: Board,
    /// Entries that nobody has read.
    entries: Vec<SignedEntry>,
}

#[derive(Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum SightJson {
    Ask(AskJson),
    Heard { party: u8, report: Box<ReportJson> },
    Actions { from: u64, actions: Vec<SignedAction> },
    Entries { from: u64, entries: Vec<SignedEntry> },
    Forged { party: u8, why: String },
    Informed,
    CaughtUp,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReportJson {
    reachable: bool,
    status: Option<Status>,
    came: Millis,
    seals_at: Option<Millis>,
}

impl Following {
    pub fn new(pinned: &str, room: &str, seed: &[u8]) -> Result<Self, Sentence> {
        let scene = Arc::new(Scene::new(servers(pinned)?, descriptor(room)?));
        let seed = seed.try_into().map_err(|_| "a seed has 32 bytes".to_owned())?;
        let machine = Follower::new(Arc::clone(&scene), Secret::new(seed), BACK);
        let (touched, board, entries) = Default::default();
        Ok(Self { machine, scene, touched, board, entries })
    }

    pub fn log(&self) -> &HostLog {
        self.machine.log()
    }

    pub fn board(&self) -> &Board {
        &self.board
    }

    pub fn actions(&mut self, keep: bool) -> String {
        let mut shown = Vec::new();
        while let Some(sight) = self.machine.next_sight() {
            shown.push(match sight {
                Sight::Ask(request) => {
                    SightJson::Ask(AskJson::of(request.sending(self.machine.room())))
                }
                Sight::Heard { party, .. } => {
                    let (status, came) = self.machine.last_word(party);
                    let (status, reachable) =
                        (status.cloned(), self.machine.status(party).is_some());
                    let seals_at = self.machine.seals(party);
                    let report = ReportJson { reachable, status, came, seals_at };
                    SightJson::Heard { party: party.0, report: Box::new(report) }
                }
                Sight::Actions { from, actions } => {
                    actions.iter().for_each(|signed| self.touched.note(&signed.action));
                    SightJson::Actions { from, actions }
                }
                Sight::Entries { from, entries } => {
                    let kept = if keep { entries.clone() } else { Vec::new() };
                    self.entries.extend(entries);
                    SightJson::Entries { from, entries: kept }
                }
                Sight::Forged { party, why } => SightJson::Forged { party: party.0, why },
                Sight::Informed => SightJson::Informed,
                Sight::CaughtUp => SightJson::CaughtUp,
            });
        }
        json(&shown)
    }

    /// What has changed in the log since this was asked before.
    pub fn changes(&mut self) -> String {
        changes(self.machine.log(), &self.touched.take())
    }

    pub fn show(&mut self, outbox: &mut Outbox) -> String {
        read_entries(&mut self.board, &std::mem::take(&mut self.entries), outbox)
    }

    pub fn tell(&mut self, messenger: &mut Messenger) -> String {
        messenger.read(&std::mem::take(&mut self.entries))
    }

    pub fn reread(&mut self) {
        (self.board, self.entries) = Default::default();
        self.machine.reread();
    }

    pub fn read_actions(&mut self, actions: &str) -> Result<(), Sentence> {
        self.take_actions(list(actions, "the server's list of the host's actions is malformed")?)
    }

    pub fn take_actions(&mut self, actions: Vec<SignedAction>) -> Result<(), Sentence> {
        let length = self.log().length();
        let taken = self.machine.take_actions(actions.clone());
        let taken_in = usize::try_from(self.log().length() - length).unwrap_or(usize::MAX);
        actions.iter().take(taken_in).for_each(|signed| self.touched.note(&signed.action));
        taken
    }

    pub fn recall(&mut self, actions: &str, entries: &str) -> Result<(), Sentence> {
        let malformed = "what this browser kept is malformed";
        let actions: Vec<SignedAction> = list(actions, malformed)?;
        let entries: Vec<SignedEntry> = list(entries, malformed)?;
        let read = usize::try_from(self.log().length()).unwrap_or(usize::MAX);
        self.machine.take_actions(actions.into_iter().skip(read).collect())?;
        let read = self.machine.board().length();
        self.machine.take_entries(entries.into_iter().skip(read).collect())
    }
}

fn list<T: DeserializeOwned>(text: &str, otherwise: &str) -> Result<Vec<T>, Sentence> {
    serde_json::from_str(text).map_err(|_| otherwise.to_owned())
}
