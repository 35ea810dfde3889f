//! What all tasks of a mesh share: the peers, and what is passed on between them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use ostrakon_party::{Instance, PartyId, Roster};
use tokio::sync::mpsc;

use crate::frame::{Frame, Leg, Malformed, Part, Relay};
use crate::inbox::Quota;
use crate::peer::Peer;
use crate::probe::{Clock, MAX_ABOUT, Probe};
use crate::relay::{Route, Tunnel, Tunnels};
use crate::retired::Retired;
use crate::timing::Timing;
use crate::tls::{Credentials, Identity};

/// What all tasks of a mesh share.
pub(crate) struct Shared {
    pub id: PartyId,
    pub roster: Arc<Roster>,
    pub timing: Timing,
    pub credentials: Credentials,
    pub tunnels: Arc<Tunnels>,
    peers: BTreeMap<PartyId, Arc<Peer>>,
    incoming: mpsc::Sender<Tunnel>,
    retired: Arc<Retired>,
    next_link: AtomicU64,
    introduction: Mutex<Option<Introduction>>,
}

/// What the peers are told of this party, and the clock that is compared with theirs.
#[derive(Clone)]
struct Introduction {
    about: Bytes,
    clock: Clock,
}

impl Shared {
    pub fn new(
        (id, roster): (PartyId, Arc<Roster>),
        identity: &Identity,
        (timing, quota): (Timing, Quota),
        incoming: mpsc::Sender<Tunnel>,
    ) -> Self {
        let retired = Arc::new(Retired::default());
        let others = roster.parties().zip(&roster.keys).filter(|(peer, _)| *peer != id);
        let peers = others
            .map(|(peer, key)| (peer, Arc::new(Peer::new(peer, id, *key, &retired, quota))))
            .collect();
        let credentials = Credentials::new(id, identity, &roster);
        Self {
            id,
            roster,
            timing,
            credentials,
            tunnels: Arc::default(),
            peers,
            incoming,
            retired,
            next_link: AtomicU64::new(0),
            introduction: Mutex::default(),
        }
    }

    pub fn next_link(&self) -> u64 {
        self.next_link.fetch_add(1, Ordering::Relaxed)
    }

    /// See [`crate::Mesh::introduce`].
    pub fn introduce(&self, mut about: Bytes, clock: Clock) {
        about.truncate(MAX_ABOUT);
        *self.introduction.lock().expect("no panic while held") =
            Some(Introduction { about, clock });
    }

    fn introduction(&self) -> Option<Introduction> {
        self.introduction.lock().expect("no panic while held").clone()
    }

    /// What `peer` is to be told, if this party has introduced itself.
    pub fn probe(&self, peer: &Peer) -> Option<Frame> {
        let Introduction { about, clock } = self.introduction()?;
        Some(Frame::Probe(peer.measurements().next(clock(), &about)))
    }

    /// Takes in what `peer` told.
    pub fn probed(&self, peer: &Peer, probe: Probe) {
        if let Some(Introduction { clock, .. }) = self.introduction() {
            peer.measurements().take(probe, clock());
        }
    }

    pub fn peer(&self, id: PartyId) -> Option<&Arc<Peer>> {
        self.peers.get(&id)
    }

    pub fn peers(&self) -> impl Iterator<Item = &Arc<Peer>> {
        self.peers.values()
    }

    /// See [`ostrakon_party::Channel::retire`].
    pub fn retire(&self, instance: Instance) {
        self.retired.insert(instance);
        for peer in self.peers() {
            peer.purge(&instance);
        }
    }

    /// Passes on, or takes in, a tunnel's frame that has come by the direct link with `from`.
    pub fn relay(&self, from: PartyId, relay: Relay) -> Result<(), Malformed> {
        let (Some(neighbour), Some(far)) = (self.peer(from), self.peer(relay.peer)) else {
            return Err(Malformed);
        };
        if from == relay.peer {
            return Err(Malformed);
        }
        match (relay.leg, relay.part) {
            (Leg::Onward, part) => {
                let is_end = part == Part::End;
                let onward = Relay { peer: from, leg: Leg::Arrived, circuit: relay.circuit, part };
                if !far.outbox().push_relay(from, onward) && !is_end {
                    let end = Relay {
                        peer: far.id,
                        leg: Leg::Arrived,
                        circuit: relay.circuit,
                        part: Part::End,
                    };
                    neighbour.outbox().push_relay(far.id, end);
                }
            }
            (Leg::Arrived, Part::Open) => {
                if far.id > self.id {
                    return Err(Malformed);
                }
                let tunnel = self.tunnels.open(far.id, neighbour, relay.circuit);
                // If too many wait, dropping this one tells its other end.
                drop(self.incoming.try_send(tunnel));
            }
            (Leg::Arrived, part) => {
                let is_end = part == Part::End;
                let known =
                    self.tunnels.receive(Route { peer: far.id, via: from }, relay.circuit, part);
                // The far end may not know that this one has started anew. An end is not answered:
                // two that do not know a tunnel would tell each other so for ever.
                if !known && !is_end {
                    let end = Relay {
                        peer: far.id,
                        leg: Leg::Onward,
                        circuit: relay.circuit,
                        part: Part::End,
                    };
                    neighbour.outbox().push_relay(self.id, end);
                }
            }
        }
        Ok(())
    }
}
