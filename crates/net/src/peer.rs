//! What this party knows of one other party.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ostrakon_crypto::VerifyingKey;
use ostrakon_party::{Instance, Message, PartyId, Tag};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;

use crate::inbox::{Inbox, Quota, Taken};
use crate::outbox::{Active, Outbox};
use crate::probe::{Acquaintance, Measurements};
use crate::retired::Retired;

/// How a peer can be reached at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Not at all.
    No,
    /// By a connection of its own.
    Direct,
    /// By way of another party.
    Relayed(PartyId),
}

/// Bytes on the wire: TCP payload, all overhead of TLS and framing included, and what is relayed
/// for others too.
#[derive(Default, Debug)]
pub(crate) struct Counters {
    pub sent: AtomicU64,
    pub received: AtomicU64,
}

/// A snapshot of a peer's state, for readiness checks and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerState {
    /// How it can be reached.
    pub reach: Reach,
    /// How long ago something last arrived from it; none if nothing ever did.
    pub last_seen: Option<Duration>,
    /// Bytes sent over TCP connections with it, TLS and framing and bytes relayed for others
    /// included.
    pub bytes_sent: u64,
    /// Bytes received likewise.
    pub bytes_received: u64,
    /// How many links there have been, direct or relayed.
    pub links: u64,
}

/// See the module's description.
pub(crate) struct Peer {
    pub id: PartyId,
    pub own_id: PartyId,
    pub key: VerifyingKey,
    pub counters: Arc<Counters>,
    pub reach: watch::Sender<Reach>,
    /// Fault injection: no direct connections.
    pub blocked: watch::Sender<bool>,
    measurements: Mutex<Measurements>,
    /// See [`Acquaintance::trouble`].
    trouble: Mutex<Option<String>>,
    outbox: Mutex<Outbox>,
    inbox: Mutex<Inbox>,
    started: Instant,
    /// Milliseconds after `started`, plus one; 0 for never.
    last_seen: AtomicU64,
    links: AtomicU64,
}

impl Peer {
    pub fn new(
        id: PartyId,
        own_id: PartyId,
        key: VerifyingKey,
        retired: &Arc<Retired>,
        quota: Quota,
    ) -> Self {
        Self {
            id,
            own_id,
            key,
            counters: Arc::default(),
            reach: watch::Sender::new(Reach::No),
            blocked: watch::Sender::new(false),
            measurements: Mutex::default(),
            trouble: Mutex::default(),
            outbox: Mutex::new(Outbox::new(Arc::clone(retired))),
            inbox: Mutex::new(Inbox::new(Arc::clone(retired), quota)),
            started: Instant::now(),
            last_seen: AtomicU64::new(0),
            links: AtomicU64::new(0),
        }
    }

    // No two of these locks are ever held together.

    pub fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().expect("no panic while held")
    }

    pub fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().expect("no panic while held")
    }

    pub fn measurements(&self) -> MutexGuard<'_, Measurements> {
        self.measurements.lock().expect("no panic while held")
    }

    /// Notes why a connection came to nothing although somebody answered. Whether that is news.
    pub fn trouble(&self, reason: &str) -> bool {
        let mut trouble = self.trouble.lock().expect("no panic while held");
        let news = trouble.as_deref() != Some(reason);
        *trouble = Some(reason.to_owned());
        news
    }

    pub fn acquaintance(&self) -> Acquaintance {
        let trouble = self.trouble.lock().expect("no panic while held").clone();
        let measurements = self.measurements();
        Acquaintance { about: measurements.about(), clock_ahead: measurements.ahead(), trouble }
    }

    /// Makes a new link the one in use and asks for everything that is awaited.
    pub fn activate(&self, id: u64, via: Option<PartyId>) -> Active {
        let active =
            Active { id, via, wake: Arc::new(Notify::new()), cancel: Arc::new(Notify::new()) };
        {
            let mut outbox = self.outbox();
            outbox.activate(active.clone());
            self.reach.send_replace(via.map_or(Reach::Direct, Reach::Relayed));
        }
        self.links.fetch_add(1, Ordering::Relaxed);
        *self.trouble.lock().expect("no panic while held") = None;
        self.measurements().restart();
        let wants = self.inbox().ask_all(Instant::now());
        self.outbox().push(wants);
        active
    }

    /// Notes the end of a link.
    pub fn deactivate(&self, id: u64) {
        {
            let mut outbox = self.outbox();
            if outbox.deactivate(id) {
                self.reach.send_replace(Reach::No);
            }
        }
        self.inbox().lose(id);
    }

    /// Closes the present link if it is a direct one.
    pub fn cut_direct(&self) {
        if let Some(active) = self.outbox().active().filter(|active| active.via.is_none()) {
            active.cancel.notify_one();
        }
    }

    /// Notes that there is no link any more, whichever it was.
    pub fn close(&self) {
        let active = self.outbox().active().map(|active| active.id);
        if let Some(id) = active {
            self.deactivate(id);
        }
    }

    /// Notes that something has arrived.
    pub fn seen(&self) {
        let millis = self.started.elapsed().as_millis();
        self.last_seen.store(u64::try_from(millis).unwrap_or(u64::MAX - 1) + 1, Ordering::Relaxed);
    }

    /// How long ago something last arrived.
    pub fn silent_for(&self) -> Option<Duration> {
        let at = self.last_seen.load(Ordering::Relaxed).checked_sub(1)?;
        Some(self.started.elapsed().saturating_sub(Duration::from_millis(at)))
    }

    pub fn state(&self) -> PeerState {
        PeerState {
            reach: *self.reach.borrow(),
            last_seen: self.silent_for(),
            bytes_sent: self.counters.sent.load(Ordering::Relaxed),
            bytes_received: self.counters.received.load(Ordering::Relaxed),
            links: self.links.load(Ordering::Relaxed),
        }
    }

    pub fn purge(&self, instance: &Instance) {
        self.outbox().purge(instance);
        self.inbox().purge(instance);
    }

    /// Waits for a message; see [`ostrakon_party::Channel::collect`].
    pub async fn collect(&self, tag: Tag, taken: impl Into<Taken>) -> Message {
        let (receiver, want) = self.inbox().collect(tag, taken, Instant::now());
        self.outbox().push(want);
        let mut waiting = Waiting { peer: self, receiver };
        match (&mut waiting.receiver).await {
            Ok(message) => message,
            // The instance was retired: there is nothing to wait for, and nobody who waits.
            Err(_) => std::future::pending().await,
        }
    }
}

/// Sees to it that a message which was handed out while its `collect` was being cancelled is not
/// lost.
struct Waiting<'a> {
    peer: &'a Peer,
    receiver: oneshot::Receiver<Message>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.receiver.close();
        if let Ok(message) = self.receiver.try_recv() {
            self.peer.inbox().give_back(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures::FutureExt;
    use ostrakon_crypto::{Digest, SigningKey};
    use ostrakon_party::{Header, InstanceKind, Recipient, SessionId, Step};

    use super::*;

    #[tokio::test]
    async fn a_wait_cancelled_after_the_arrival_hands_the_message_on() {
        let signing = SigningKey::from_seed(&[1; 32]);
        let quota = Quota { bytes: 0, messages: 0 };
        let peer =
            Peer::new(PartyId(0), PartyId(1), signing.verifying_key(), &Arc::default(), quota);
        let tag = Tag {
            instance: Instance { kind: InstanceKind::Setup, scope: [0; 16], number: 0 },
            step: Step(0),
            sequence: 0,
        };
        let header = Header {
            session: SessionId(Digest([0; 32])),
            tag,
            from: PartyId(0),
            to: Recipient::All,
            length: 1,
            digest: Digest([0; 32]),
        };
        let mut first = Box::pin(peer.collect(tag, 1));
        assert!((&mut first).now_or_never().is_none());
        peer.inbox().deliver(Message {
            signed: header.sign(&signing),
            body: Bytes::from_static(b"x"),
            depth: 0,
        });
        drop(first);
        let second = peer.collect(tag, 1).now_or_never();
        assert_eq!(second.expect("it is there").body, b"x"[..]);
    }
}
