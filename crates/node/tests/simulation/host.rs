//! A host of the room, or a co-host: what its device keeps, and what it does with it, by the code
//! that real hosts run.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use ostrakon_broadcast::hosting::{Deed, HostLog, Poll, PollForm, SignedAction};
use ostrakon_client::Scene;
pub use ostrakon_client::host::SCHEDULER;
use ostrakon_client::host::{
    self as client, Action, Answer, Call, Failure, News, Refusal, Request,
};
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_mixing::{RoomDescriptor, Servers};
use ostrakon_party::PartyId;
use ostrakon_protocol::ServiceError;

use crate::line::Line;
use crate::random::Random;

/// Options of every poll: one for each participant that there may be, so that a vote tells whose it
/// is.
pub const OPTIONS: u8 = 8;

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
    /// Of the host's key.
    seed: [u8; 32],
    pub wishes: VecDeque<Wish>,
    /// What was signed, and may have reached the servers.
    pending: Option<SignedAction>,
    /// Whether it may not act, as far as it knows.
    pub idle: bool,
}

impl Desk {
    /// Of a host whose key has this seed.
    pub fn new(seed: [u8; 32]) -> Self {
        Self { seed, wishes: VecDeque::new(), pending: None, idle: false }
    }

    fn key(&self) -> SigningKey {
        SigningKey::from_seed(&self.seed)
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
    pub scene: Arc<Scene>,
}

impl Host {
    /// Hosts for ever: does one thing after the other, each as a program that is started for it and
    /// finds out first what became of what it had left.
    pub async fn act(self) {
        loop {
            let left = self.desk.lock().unwrap().pending.clone();
            if left.is_some() || !self.desk.lock().unwrap().wishes.is_empty() {
                let epoch = self.newest_epoch().await;
                self.carry_out(left, epoch).await;
            }
            self.line.pause(200, 900).await;
        }
    }

    /// The newest epoch that some server knows of.
    async fn newest_epoch(&self) -> u64 {
        let count = self.line.deployment.parties().count() as u64;
        let party = PartyId(self.line.executor().draw(|random| random.below(count)) as u8);
        let room = self.room.id();
        let status = self.line.ask(party, "status", 0, |server| {
            async move { server.status(room, 0, Duration::ZERO).await }.boxed()
        });
        let context = status.await.and_then(|status| status.ok()?.context);
        context.map_or(0, |context| context.epoch.number)
    }

    /// Finds out what became of what was `left`, or does what is wanted next.
    async fn carry_out(&self, left: Option<SignedAction>, epoch: u64) {
        let executor = self.line.executor();
        let mut seed = [0; 32];
        executor.draw(|random| random.fill(&mut seed));
        let waits = executor.draw(|random| random.chance(50));
        let log = HostLog::new(&self.servers, &self.room);
        let (scene, key) = (Arc::clone(&self.scene), self.desk.lock().unwrap().key());
        let mut host = client::Host::new(scene, key, log, false, Secret::new(seed));
        match left {
            Some(left) => host.resume(executor.now_ms(), left),
            None => host.act(executor.now_ms()),
        };
        loop {
            while let Some(action) = host.next_action() {
                match action {
                    Action::Ask(request) => {
                        let (id, answer) = (request.id, self.ask(request).await);
                        host.answered(executor.now_ms(), id, answer);
                    }
                    Action::Decide { .. } => {
                        let deed = self.decide(host.book(), epoch);
                        host.decided(executor.now_ms(), deed);
                    }
                    Action::Keep(signed) => {
                        self.line.deployment.ledger.signs(self.digest(&signed));
                        self.desk.lock().unwrap().pending = Some(*signed);
                        host.kept(executor.now_ms(), true);
                    }
                    Action::Tell(news) => {
                        if self.is_over(news, waits) {
                            return;
                        }
                    }
                }
            }
            let left = host.wake_at().saturating_sub(executor.now_ms());
            executor.sleep(Duration::from_millis(left)).await;
            host.wake(executor.now_ms());
        }
    }

    fn digest(&self, signed: &SignedAction) -> Digest {
        signed.action.digest(&self.servers.digest(), &self.room.id())
    }

    /// What is to be done now, seen what the log is.
    fn decide(&self, log: &HostLog, epoch: u64) -> Option<Deed> {
        let mut desk = self.desk.lock().unwrap();
        let own = desk.key().verifying_key();
        desk.idle = !log.hosts().get(&own).is_some_and(|host| host.active);
        match desk.wishes.front().filter(|_| !desk.idle)? {
            Wish::Do(deed) => Some(deed.clone()),
            Wish::Ask => Some(poll(log, epoch)),
            Wish::Withdraw => {
                let standing = log.polls().iter().rev().find(|(_, state)| !state.withdrawn);
                standing.map(|(poll, _)| Deed::Withdraw { poll: *poll })
            }
        }
    }

    /// Learns how it gets on, and whether that was all. Who does not wait leaves as soon as a
    /// server does not answer, and finds out later.
    fn is_over(&self, news: News, waits: bool) -> bool {
        let mut desk = self.desk.lock().unwrap();
        match news {
            News::Taken { number, .. } => {
                let signed = desk.pending.take().expect("it was written down");
                assert_eq!(signed.action.number, number);
                self.line.deployment.ledger.takes_action(number, self.digest(&signed));
                desk.wishes.pop_front();
            }
            News::Failed { failure, .. } => match failure {
                // Others were faster.
                Failure::Busy | Failure::Overtaken => desk.pending = None,
                // It makes no sense any more.
                Failure::Declined(_) | Failure::GivenUp => {
                    desk.pending = None;
                    if !desk.idle {
                        desk.wishes.pop_front();
                    }
                }
                Failure::Server(Refusal { status: 403 | 422, detail }) => {
                    panic!("what a host may do is refused: {detail}")
                }
                Failure::Server(_) | Failure::Unknown(_) | Failure::Unshown => {}
                Failure::NotKept => unreachable!("it is written down"),
            },
            News::Unanswered { .. } | News::Unshown => return !waits,
            News::Forged { party, why } => {
                let is_hostile = self.line.deployment.is_hostile(party);
                assert!(is_hostile, "an honest server's host log is proven: {why}");
                return false;
            }
        }
        true
    }

    async fn ask(&self, request: Request) -> Answer {
        let (room, party) = (self.room.id(), request.party);
        match request.call {
            Call::Actions { from } => {
                let page = self.line.ask(party, "actions", from, |server| {
                    async move { server.actions(room, from).await }.boxed()
                });
                told(page.await, |page| {
                    let deployment = &self.line.deployment;
                    Answer::Actions(deployment.spoil(party, page.actions, spoil_actions))
                })
            }
            Call::Act(signed) => {
                let taken = self.line.ask(party, "act", 0, |server| {
                    async move { server.act(room, *signed).await }.boxed()
                });
                told(taken.await, |_| Answer::Taken)
            }
            Call::Claim(_) => unreachable!("a host claims nothing"),
        }
    }
}

/// What a service says, as HTTP would carry it.
pub fn told<T>(answer: Option<Result<T, ServiceError>>, take: impl FnOnce(T) -> Answer) -> Answer {
    match answer {
        Some(Ok(answer)) => take(answer),
        Some(Err(error)) => {
            Answer::Refused(Refusal { status: error.status(), detail: error.to_string() })
        }
        None => Answer::Nothing,
    }
}

/// A poll in the first epoch after the next in which no other is asked.
fn poll(log: &HostLog, epoch: u64) -> Deed {
    let taken = |epoch: &u64| {
        log.polls().values().any(|state| !state.withdrawn && state.poll.epoch == *epoch)
    };
    let epoch = (epoch + 2..).find(|epoch| !taken(epoch)).expect("there are many epochs");
    let options = (0..OPTIONS).map(|number| format!("option {number}")).collect();
    let form = PollForm::Choice { options, several: false };
    Deed::Poll { poll: Poll { question: "Which?".into(), form, epoch } }
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
