//! Does what a participant's state machine asks of servers, and wakes it.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use ostrakon_broadcast::RoomId;
use ostrakon_client::{Action, Filled, Http, Millis, Participant};
use ostrakon_party::PartyId;
use ostrakon_protocol::Status;

/// Clock and network.
pub trait Transport: Send + Sync + 'static {
    /// Milliseconds since 1970.
    fn now(&self) -> Millis;

    /// Sends a request to a server, which has so long to answer: the HTTP status, and what came
    /// with it. Without an answer the status is 0.
    fn exchange(
        self: Arc<Self>,
        party: PartyId,
        request: Http,
        patience: Duration,
    ) -> BoxFuture<'static, (u16, Vec<u8>)>;
}

/// A request's number, and the HTTP status and body that came of it.
type Answered = (u64, (u16, Vec<u8>));

/// A participant's state machine with its requests under way.
pub struct Driver<T> {
    machine: Participant,
    room: RoomId,
    transport: Arc<T>,
    under_way: FuturesUnordered<BoxFuture<'static, Answered>>,
}

impl<T: Transport> Driver<T> {
    /// Of a participant in a room that has not begun.
    pub fn new(machine: Participant, room: RoomId, transport: Arc<T>) -> Self {
        Self { machine, room, transport, under_way: FuturesUnordered::new() }
    }

    /// A server has said how the room stands, and when that came; or it does not answer.
    pub fn heard(&mut self, party: PartyId, status: Option<(&Status, Millis)>) {
        self.machine.heard(self.transport.now(), party, status);
    }

    /// What goes into an epoch.
    pub fn filled(&mut self, epoch: u64, filled: Filled) {
        self.machine.filled(self.transport.now(), epoch, filled);
    }

    /// Sends what is to be sent; returns what else is to be done.
    pub fn next_action(&mut self) -> Option<Action> {
        loop {
            let request = match self.machine.next_action()? {
                Action::Ask(request) => request,
                other => return Some(other),
            };
            let patience = Duration::from_millis(request.patience());
            let http = request.http(&self.room);
            let answer = self.transport.clone().exchange(request.party, http, patience);
            self.under_way.push(Box::pin(async move { (request.id, answer.await) }));
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
