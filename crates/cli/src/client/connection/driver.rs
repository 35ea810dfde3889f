//! Does what a state machine asks of servers, and wakes it.

#[cfg(test)]
pub mod played;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use ostrakon_broadcast::hosting::HostLog;
use ostrakon_client::host::{
    self, ClaimAction, Claiming, Host, Opening, OpeningAction, OpeningNews,
};
use ostrakon_client::joining::{Canvass, CanvassAction, CanvassNews};
use ostrakon_client::visitor::{self, Beginning, BeginningAction, Filling, Stock, Visitor};
use ostrakon_client::{
    Action, Arriving, ArrivingAction, ArrivingNews, Follower, Http, Millis, Participant, Sending,
    Sight,
};
use ostrakon_party::PartyId;

use crate::system;

/// Clock and network.
pub trait Transport: Send + Sync + 'static {
    /// Milliseconds since 1970.
    fn now(&self) -> Millis {
        system::unix_millis()
    }

    /// Sends a request to a server, which has so long to answer: the HTTP status, and what came
    /// with it. Without an answer the status is 0.
    fn exchange(
        self: Arc<Self>,
        party: PartyId,
        request: Http,
        patience: Duration,
    ) -> BoxFuture<'static, (u16, Vec<u8>)>;
}

/// A state machine of [`ostrakon_client`].
pub trait Machine {
    /// What it has others do, besides requests.
    type Other;

    /// Time has passed.
    fn wake(&mut self, now: Millis);
    /// A request was answered.
    fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]);
    /// The next thing to do.
    fn next(&mut self) -> Option<Result<Sending, Self::Other>>;
    /// When it is to be woken.
    fn wake_at(&self) -> Millis;
}

impl Machine for Participant {
    type Other = Action;

    fn wake(&mut self, now: Millis) {
        self.wake(now);
    }

    fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]) {
        self.replied(now, id, status, body);
    }

    fn next(&mut self) -> Option<Result<Sending, Action>> {
        Some(match self.next_action()? {
            Action::Ask(request) => Ok(request.sending(self.room())),
            other => Err(other),
        })
    }

    fn wake_at(&self) -> Millis {
        self.wake_at()
    }
}

impl Machine for Follower {
    type Other = Sight;

    fn wake(&mut self, now: Millis) {
        self.wake(now);
    }

    fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]) {
        self.replied(now, id, status, body);
    }

    fn next(&mut self) -> Option<Result<Sending, Sight>> {
        Some(match self.next_sight()? {
            Sight::Ask(request) => Ok(request.sending(self.room())),
            other => Err(other),
        })
    }

    fn wake_at(&self) -> Millis {
        self.wake_at()
    }
}

impl Machine for Visitor {
    type Other = visitor::Action;

    fn wake(&mut self, now: Millis) {
        self.wake(now);
    }

    fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]) {
        self.replied(now, id, status, body);
    }

    fn next(&mut self) -> Option<Result<Sending, visitor::Action>> {
        Some(match self.next_action()? {
            visitor::Action::Ask(request) => Ok(request.sending()),
            other => Err(other),
        })
    }

    fn wake_at(&self) -> Millis {
        self.wake_at()
    }
}

impl Machine for Stock {
    type Other = Filling;

    fn wake(&mut self, now: Millis) {
        self.wake(now);
    }

    fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]) {
        self.replied(now, id, status, body);
    }

    fn next(&mut self) -> Option<Result<Sending, Filling>> {
        Some(match self.next_filling()? {
            Filling::Ask(request) => Ok(request.sending()),
            other => Err(other),
        })
    }

    fn wake_at(&self) -> Millis {
        self.wake_at()
    }
}

impl Machine for Host<HostLog> {
    type Other = host::Action;

    fn wake(&mut self, now: Millis) {
        self.wake(now);
    }

    fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]) {
        self.replied(now, id, status, body);
    }

    fn next(&mut self) -> Option<Result<Sending, host::Action>> {
        Some(match self.next_action()? {
            host::Action::Ask(request) => Ok(request.sending(self.room())),
            other => Err(other),
        })
    }

    fn wake_at(&self) -> Millis {
        self.wake_at()
    }
}

impl Machine for Claiming {
    type Other = ClaimAction;

    fn wake(&mut self, now: Millis) {
        self.wake(now);
    }

    fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]) {
        self.replied(now, id, status, body);
    }

    fn next(&mut self) -> Option<Result<Sending, ClaimAction>> {
        Some(match self.next_action()? {
            ClaimAction::Ask(request) => Ok(request.sending(self.room())),
            other => Err(other),
        })
    }

    fn wake_at(&self) -> Millis {
        self.wake_at()
    }
}

impl Machine for Opening {
    type Other = OpeningNews;

    fn wake(&mut self, now: Millis) {
        self.wake(now);
    }

    fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]) {
        self.replied(now, id, status, body);
    }

    fn next(&mut self) -> Option<Result<Sending, OpeningNews>> {
        Some(match self.next_action()? {
            OpeningAction::Ask(sending) => Ok(sending),
            OpeningAction::Tell(news) => Err(news),
        })
    }

    fn wake_at(&self) -> Millis {
        self.wake_at()
    }
}

impl Machine for Arriving {
    type Other = ArrivingNews;

    fn wake(&mut self, now: Millis) {
        self.wake(now);
    }

    fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]) {
        self.replied(now, id, status, body);
    }

    fn next(&mut self) -> Option<Result<Sending, ArrivingNews>> {
        Some(match self.next_action()? {
            ArrivingAction::Ask(sending) => Ok(sending),
            ArrivingAction::Tell(news) => Err(news),
        })
    }

    fn wake_at(&self) -> Millis {
        self.wake_at()
    }
}

impl Machine for Beginning {
    type Other = BeginningAction;

    fn wake(&mut self, now: Millis) {
        self.wake(now);
    }

    fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]) {
        self.replied(now, id, status, body);
    }

    fn next(&mut self) -> Option<Result<Sending, BeginningAction>> {
        Some(match self.next_action()? {
            BeginningAction::Ask(sending) => Ok(sending),
            other => Err(other),
        })
    }

    fn wake_at(&self) -> Millis {
        self.wake_at()
    }
}

impl Machine for Canvass {
    type Other = CanvassNews;

    fn wake(&mut self, now: Millis) {
        self.wake(now);
    }

    fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]) {
        self.replied(now, id, status, body);
    }

    fn next(&mut self) -> Option<Result<Sending, CanvassNews>> {
        Some(match self.next_action()? {
            CanvassAction::Ask(sending) => Ok(sending),
            CanvassAction::Tell(news) => Err(news),
        })
    }

    fn wake_at(&self) -> Millis {
        self.wake_at()
    }
}

/// A request's number, and the HTTP status and body that came of it.
type Answered = (u64, (u16, Vec<u8>));

/// A state machine with its requests under way.
pub struct Driver<M, T> {
    machine: M,
    transport: Arc<T>,
    under_way: FuturesUnordered<BoxFuture<'static, Answered>>,
}

impl<M: Machine, T: Transport> Driver<M, T> {
    /// Of a machine that has not begun.
    pub fn new(machine: M, transport: Arc<T>) -> Self {
        Self { machine, transport, under_way: FuturesUnordered::new() }
    }

    /// The machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// Lets something happen to the machine now.
    pub fn happen<R>(&mut self, what: impl FnOnce(&mut M, Millis) -> R) -> R {
        what(&mut self.machine, self.transport.now())
    }

    /// Sends what is to be sent; returns what else is to be done.
    pub fn next_other(&mut self) -> Option<M::Other> {
        loop {
            let request = match self.machine.next()? {
                Ok(request) => request,
                Err(other) => return Some(other),
            };
            let Sending { id, party, http, patience } = request;
            let patience = Duration::from_millis(patience);
            let answer = self.transport.clone().exchange(party, http, patience);
            self.under_way.push(Box::pin(async move { (id, answer.await) }));
        }
    }

    /// Waits for an answer, or until the machine is to be woken. May be dropped and called again at
    /// any time.
    pub async fn turn(&mut self) {
        let left = self.machine.wake_at().saturating_sub(self.transport.now());
        tokio::select! {
            biased;
            Some((id, (status, body))) = self.under_way.next() => {
                self.machine.replied(self.transport.now(), id, status, &body);
            }
            () = tokio::time::sleep(Duration::from_millis(left)) => {
                self.machine.wake(self.transport.now());
            }
        }
    }
}
