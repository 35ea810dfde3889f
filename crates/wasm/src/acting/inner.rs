//! What the bindings do, in plain Rust.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use ostrakon_broadcast::hosting::{Deed, Refused, SignedAction};
use ostrakon_client::host::{
    self, Action, Book, ClaimAction, ClaimNews, Failure, News, OpeningAction, OpeningFailure,
    OpeningNews, Refusal,
};
use ostrakon_client::{Millis, Scene};
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_mixing::RoomDescriptor;
use ostrakon_party::PartyId;
use serde::Serialize;

use crate::following::inner::Following;
use crate::hosting::{NotDone, read_deed};
use crate::inner::{descriptor, json, servers};
use crate::taking_part::inner::AskJson;

/// What is shown to the user.
type Sentence = String;

/// The log of a room that may be followed, too.
struct Shared(Rc<RefCell<Following>>);

impl Book for Shared {
    fn length(&self) -> u64 {
        self.0.borrow().log().length()
    }

    fn head(&self) -> Digest {
        self.0.borrow().log().head()
    }

    fn act(&self, key: &SigningKey, time: u64, deed: Deed) -> Result<SignedAction, Refused> {
        Book::act(self.0.borrow().log(), key, time, deed)
    }

    fn take(&mut self, actions: Vec<SignedAction>) -> Result<(), String> {
        self.0.borrow_mut().take_actions(actions)
    }
}

pub struct Host {
    machine: host::Host<Shared>,
    /// Why what is to be done is nothing that a host does.
    unread: Option<NotDone>,
}

#[derive(Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum ActionJson {
    Ask(AskJson),
    Decide { deed: u64 },
    Keep,
    Done { deed: u64 },
    Failed { deed: u64, failure: FailureJson },
}

/// Why something is not done.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum FailureJson {
    /// The host log does not take it.
    Declined(NotDone),
    /// The first server refuses, or says last.
    Server {
        status: u16,
        detail: String,
    },
    /// A server that is needed does not answer.
    Away,
    /// Others' actions always came first.
    Busy,
    GivenUp,
}

impl FailureJson {
    fn server(Refusal { status, detail }: Refusal) -> Self {
        Self::Server { status, detail }
    }

    fn of(failure: Failure) -> Self {
        match failure {
            Failure::Declined(refused) => Self::Declined(refused.into()),
            Failure::Server(refusal) | Failure::Unknown(Some(refusal)) => Self::server(refusal),
            Failure::Unknown(None) | Failure::Unshown => Self::Away,
            Failure::Busy => Self::Busy,
            Failure::GivenUp | Failure::NotKept | Failure::Overtaken => Self::GivenUp,
        }
    }
}

fn secret(seed: &[u8]) -> Result<Secret, Sentence> {
    seed.try_into().map(Secret::new).map_err(|_| "a seed has 32 bytes".to_owned())
}

impl Host {
    pub fn new(
        following: Rc<RefCell<Following>>,
        key: &[u8; 32],
        followed: bool,
        seed: &[u8],
    ) -> Result<Self, Sentence> {
        let scene = Arc::clone(&following.borrow().scene);
        let (key, book) = (SigningKey::from_seed(key), Shared(following));
        let machine = host::Host::new(scene, key, book, followed, secret(seed)?);
        Ok(Self { machine, unread: None })
    }

    pub fn act(&mut self, now: Millis) -> u32 {
        u32::try_from(self.machine.act(now)).unwrap_or(u32::MAX)
    }

    pub fn decided(&mut self, now: Millis, deed: Option<&str>) {
        let read = deed.map(read_deed).transpose();
        let deed = read.unwrap_or_else(|unread| {
            self.unread = Some(unread);
            None
        });
        self.machine.decided(now, deed);
    }

    pub fn kept(&mut self, now: Millis) {
        self.machine.kept(now, true);
    }

    pub fn wake(&mut self, now: Millis) {
        self.machine.wake(now);
    }

    pub fn replied(&mut self, now: Millis, id: u32, status: u16, body: &str) {
        self.machine.replied(now, u64::from(id), status, body.as_bytes());
    }

    pub fn actions(&mut self) -> String {
        let mut actions = Vec::new();
        while let Some(action) = self.machine.next_action() {
            actions.extend(self.shown(action));
        }
        json(&actions)
    }

    fn shown(&mut self, action: Action) -> Option<ActionJson> {
        Some(match action {
            Action::Ask(request) => {
                ActionJson::Ask(AskJson::of(request.sending(self.machine.room())))
            }
            Action::Decide { deed } => ActionJson::Decide { deed },
            Action::Keep(_) => ActionJson::Keep,
            Action::Tell(News::Taken { deed, .. }) => ActionJson::Done { deed },
            Action::Tell(News::Failed { deed, failure }) => {
                let unread = self.unread.take().map(FailureJson::Declined);
                let failure = unread.unwrap_or_else(|| FailureJson::of(failure));
                ActionJson::Failed { deed, failure }
            }
            // It goes on; whoever shows a forged log is named by who follows the room.
            Action::Tell(News::Unanswered { .. } | News::Unshown | News::Forged { .. }) => {
                return None;
            }
        })
    }

    pub fn wake_at(&self) -> Millis {
        self.machine.wake_at()
    }
}

pub struct Claiming {
    pub machine: host::Claiming,
}

#[derive(Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum ClaimJson {
    Ask(AskJson),
    Taken,
    Failed { failure: FailureJson },
}

impl Claiming {
    pub fn new(
        pinned: &str,
        room: &str,
        invitation: &SigningKey,
        key: &SigningKey,
        seed: &[u8],
    ) -> Result<Self, Sentence> {
        let scene = Arc::new(Scene::new(servers(pinned)?, descriptor(room)?));
        let machine = host::Claiming::new(scene, invitation, key, secret(seed)?);
        Ok(Self { machine })
    }

    pub fn actions(&mut self) -> String {
        let mut actions = Vec::new();
        while let Some(action) = self.machine.next_action() {
            actions.push(match action {
                ClaimAction::Ask(request) => {
                    ClaimJson::Ask(AskJson::of(request.sending(self.machine.room())))
                }
                ClaimAction::Tell(ClaimNews::Taken) => ClaimJson::Taken,
                ClaimAction::Tell(ClaimNews::Refused(refusal)) => {
                    ClaimJson::Failed { failure: FailureJson::server(refusal) }
                }
                ClaimAction::Tell(ClaimNews::Away) => {
                    ClaimJson::Failed { failure: FailureJson::Away }
                }
            });
        }
        json(&actions)
    }
}

pub struct Opening {
    pub machine: host::Opening,
}

#[derive(Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum OpeningJson {
    Ask(AskJson),
    Opened { room: String, descriptor: Box<RoomDescriptor> },
    Shown,
    Over,
    Failed { failure: NotOpened },
}

/// Why a room was not opened, or is not to be used.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum NotOpened {
    Server { status: u16, detail: String },
    Away,
    Altered,
    OtherServers { party: u8 },
}

impl NotOpened {
    fn of(failure: OpeningFailure) -> Self {
        match failure {
            OpeningFailure::Refused { refusal: Refusal { status, detail }, .. } => {
                Self::Server { status, detail }
            }
            OpeningFailure::Away { .. } => Self::Away,
            OpeningFailure::Altered => Self::Altered,
            OpeningFailure::OtherServers { party } => Self::OtherServers { party: party.0 },
        }
    }
}

impl Opening {
    pub fn new(pinned: &str, order: &[u8], wish: &str, seed: &[u8]) -> Result<Self, Sentence> {
        let servers = servers(pinned)?;
        let order: Vec<_> = order.iter().copied().map(PartyId).collect();
        if order.iter().any(|party| party.index() >= servers.keys.len()) {
            return Err("there are fewer servers".to_owned());
        }
        let wish = serde_json::from_str(wish).map_err(|error| error.to_string())?;
        let machine = host::Opening::new(servers, &order, wish, secret(seed)?);
        Ok(Self { machine })
    }

    pub fn actions(&mut self) -> String {
        let mut actions = Vec::new();
        while let Some(action) = self.machine.next_action() {
            actions.push(match action {
                OpeningAction::Ask(sending) => OpeningJson::Ask(AskJson::of(sending)),
                OpeningAction::Tell(OpeningNews::Opened(descriptor)) => {
                    OpeningJson::Opened { room: descriptor.id().to_hex(), descriptor }
                }
                OpeningAction::Tell(OpeningNews::Shown) => OpeningJson::Shown,
                OpeningAction::Tell(OpeningNews::Over { .. }) => OpeningJson::Over,
                OpeningAction::Tell(OpeningNews::Failed(failure)) => {
                    OpeningJson::Failed { failure: NotOpened::of(failure) }
                }
            });
        }
        json(&actions)
    }
}

#[cfg(test)]
mod tests;
