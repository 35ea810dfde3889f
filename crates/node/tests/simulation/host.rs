//! A host of the room, or a co-host: what its device keeps, and what it does with it, by the code
//! that real hosts run.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use ostrakon_broadcast::hosting::{Deed, HostLog, Poll, PollForm, SignedAction};
use ostrakon_crypto::SigningKey;
use ostrakon_mixing::{RoomDescriptor, Servers};
use ostrakon_party::PartyId;
use ostrakon_protocol::ServiceError;

use crate::line::Line;
use crate::random::Random;

/// Options of every poll: one for each participant that there may be, so that a vote tells whose it
/// is.
pub const OPTIONS: u8 = 8;
/// The server that puts what hosts do into order.
pub const SCHEDULER: PartyId = PartyId(0);

/// What a host wants to do.
#[derive(Clone, Debug)]
pub enum Wish {
    Do(Deed),
    /// To ask something in an epoch that is still to come.
    Ask,
    /// To withdraw the poll that was asked last.
    Withdraw,
}

/// What the device keeps.
pub struct Desk {
    pub key: SigningKey,
    pub wishes: VecDeque<Wish>,
    /// What was signed, and may have reached the servers.
    pending: Option<SignedAction>,
    /// Whether it may not act, as far as it knows.
    pub idle: bool,
}

impl Desk {
    pub fn new(key: SigningKey) -> Self {
        Self { key, wishes: VecDeque::new(), pending: None, idle: false }
    }

    pub fn is_done(&self) -> bool {
        (self.idle || self.wishes.is_empty()) && self.pending.is_none()
    }
}

/// A host at its device.
#[derive(Clone)]
pub struct Host {
    pub line: Line,
    pub desk: Arc<Mutex<Desk>>,
    pub room: Arc<RoomDescriptor>,
    pub servers: Arc<Servers>,
}

/// What the host has read.
struct Read {
    log: HostLog,
    actions: Vec<SignedAction>,
    /// The newest epoch that it has heard of.
    epoch: u64,
}

impl Host {
    /// Hosts for ever.
    pub async fn act(self) {
        let mut read =
            Read { log: HostLog::new(&self.servers, &self.room), actions: Vec::new(), epoch: 0 };
        loop {
            self.read(&mut read).await;
            self.settle(&read);
            self.decide(&read);
            self.hand_in(&read).await;
            self.line.pause(200, 900).await;
        }
    }

    async fn read(&self, read: &mut Read) {
        let (room, from) = (self.room.id(), read.log.length());
        let count = self.line.deployment.parties().count() as u64;
        let party = PartyId(self.line.executor().draw(|random| random.below(count)) as u8);
        let status = self.line.ask(party, "status", 0, |server| {
            async move { server.status(room, 0, Duration::ZERO).await }.boxed()
        });
        let Some(Ok(status)) = status.await else { return };
        read.epoch =
            status.context.map_or(read.epoch, |context| read.epoch.max(context.epoch.number));
        let page = self.line.ask(party, "actions", from, |server| {
            async move { server.actions(room, from).await }.boxed()
        });
        let Some(Ok(page)) = page.await else { return };
        let actions = self.line.deployment.spoil(party, page.actions, spoil_actions);
        for action in actions {
            let applied = read.log.apply(&action);
            assert!(
                applied.is_ok() || self.line.deployment.is_hostile(party),
                "an honest server's host log is proven"
            );
            if applied.is_err() {
                return;
            }
            read.actions.push(action);
        }
    }

    /// Learns from the host log what became of the last action.
    fn settle(&self, read: &Read) {
        let mut desk = self.desk.lock().unwrap();
        let own = desk.key.verifying_key();
        desk.idle = !read.log.hosts().get(&own).is_some_and(|host| host.active);
        let Some(pending) = desk.pending.clone() else { return };
        let taken = read.actions.get(pending.action.number as usize);
        if taken == Some(&pending) {
            desk.wishes.pop_front();
        }
        if taken.is_some() {
            // Somebody else was faster, or it is done.
            desk.pending = None;
        }
    }

    /// Signs the next action.
    fn decide(&self, read: &Read) {
        let mut desk = self.desk.lock().unwrap();
        if desk.idle || desk.pending.is_some() {
            return;
        }
        let Some(wish) = desk.wishes.front().cloned() else { return };
        let deed = match wish {
            Wish::Do(deed) => Some(deed),
            Wish::Ask => Some(self.poll(read)),
            Wish::Withdraw => {
                let standing = read.log.polls().iter().rev().find(|(_, state)| !state.withdrawn);
                standing.map(|(poll, _)| Deed::Withdraw { poll: *poll })
            }
        };
        let time = self.line.executor().now_ms() / 1000;
        let action = deed.map(|deed| read.log.act(&desk.key, time, deed));
        match action.filter(|action| read.log.check(action).is_ok()) {
            Some(action) => {
                let digest = action.action.digest(&self.servers.digest(), &self.room.id());
                self.line.deployment.ledger.signs(digest);
                desk.pending = Some(action);
            }
            // It makes no sense any more.
            None => drop(desk.wishes.pop_front()),
        }
    }

    /// A poll in the first epoch after the next in which no other is asked.
    fn poll(&self, read: &Read) -> Deed {
        let taken = |epoch: &u64| {
            read.log.polls().values().any(|state| !state.withdrawn && state.poll.epoch == *epoch)
        };
        let epoch = (read.epoch + 2..).find(|epoch| !taken(epoch)).expect("there are many epochs");
        let options = (0..OPTIONS).map(|number| format!("option {number}")).collect();
        Deed::Poll {
            poll: Poll {
                question: "Which?".into(),
                form: PollForm::Choice { options, several: false },
                epoch,
            },
        }
    }

    async fn hand_in(&self, read: &Read) {
        let Some(action) = self.desk.lock().unwrap().pending.clone() else { return };
        let room = self.room.id();
        let sent = action.clone();
        let answer = self
            .line
            .ask(SCHEDULER, "act", 0, |server| async move { server.act(room, sent).await }.boxed())
            .await;
        match answer {
            Some(Ok(taken)) => {
                assert_eq!(taken.number, action.action.number);
                let digest = action.action.digest(&self.servers.digest(), &room);
                self.line.deployment.ledger.takes_action(taken.number, digest);
            }
            Some(Err(ServiceError::Refused(reason) | ServiceError::Forbidden(reason))) => {
                panic!("what a host may do is refused after action {}: {reason}", read.log.length())
            }
            // Somebody else was faster, or it cannot be taken now.
            _ => {}
        }
    }
}

/// A hostile server's lies to whoever reads the host log.
pub fn spoil_actions(random: &mut Random, actions: &mut Vec<SignedAction>) {
    if actions.is_empty() {
        return;
    }
    match random.below(3) {
        0 => drop(actions.pop()),
        1 => drop(actions.remove(0)),
        _ => actions[0].action.deed = Deed::Moderate { on: true },
    }
}

/// What a host may do about a message.
pub fn about(random: &mut Random, target: ostrakon_broadcast::hosting::MessageId) -> Deed {
    match random.below(5) {
        0 => Deed::Hide { target, hidden: random.chance(70) },
        1 => Deed::Approve { target, approved: random.chance(70) },
        2 => Deed::Pin { target, pinned: random.chance(70) },
        3 => Deed::Answer { target, answered: random.chance(70) },
        _ => Deed::Group { target, group: Some("a group".into()).filter(|_| random.chance(70)) },
    }
}

/// Whoever has an invitation's link after it was claimed, or is no host at all, gets nowhere.
pub fn nobody(seed: u64) -> SigningKey {
    let mut bytes = [0; 32];
    Random::new(seed ^ 0x6e6f_626f_6479).fill(&mut bytes);
    SigningKey::from_seed(&bytes)
}
