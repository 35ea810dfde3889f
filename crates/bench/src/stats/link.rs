//! Links between processes of one machine: with latency, and watched.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ostrakon_party::{Channel, Message, PartyId, Step, Wrapping};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until};

/// A channel whose messages leave so much later than they are posted, in their order.
pub(super) struct Slow {
    channel: Arc<dyn Channel>,
    latency: Duration,
    posted: UnboundedSender<(Instant, PartyId, Message)>,
}

impl Slow {
    /// `channel` with more latency; as it is where there is none. On a tokio runtime.
    pub fn down(channel: Arc<dyn Channel>, latency: Duration) -> Arc<dyn Channel> {
        if latency.is_zero() {
            return channel;
        }
        let (posted, mut waiting) = unbounded_channel::<(Instant, PartyId, Message)>();
        let to = Arc::clone(&channel);
        Handle::current().spawn(async move {
            while let Some((at, peer, message)) = waiting.recv().await {
                sleep_until(at).await;
                to.post(peer, message);
            }
        });
        Arc::new(Self { channel, latency, posted })
    }
}

impl Wrapping for Slow {
    fn inner(&self) -> &dyn Channel {
        &*self.channel
    }

    fn post(&self, to: PartyId, message: Message) {
        // It is read until the process ends.
        let _ = self.posted.send((Instant::now() + self.latency, to, message));
    }
}

/// The moments at which a party went over to messages of another step.
#[derive(Clone, Default)]
pub(super) struct Turns(Arc<Mutex<Vec<(Step, std::time::Instant)>>>);

impl Turns {
    /// `channel`, of which these are the turns.
    pub fn of(&self, channel: Arc<dyn Channel>) -> Arc<dyn Channel> {
        Arc::new(Watched { channel, turns: self.clone() })
    }

    /// What was noted since it was asked last.
    pub fn take(&self) -> Vec<(Step, std::time::Instant)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, step: Step) {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if turns.last().is_none_or(|(last, _)| *last != step) {
            turns.push((step, Instant::now().into_std()));
        }
    }
}

struct Watched {
    channel: Arc<dyn Channel>,
    turns: Turns,
}

impl Wrapping for Watched {
    fn inner(&self) -> &dyn Channel {
        &*self.channel
    }

    fn post(&self, to: PartyId, message: Message) {
        self.turns.note(message.signed.header.tag.step);
        self.channel.post(to, message);
    }
}
