//! All links of one party, and the channel that they make.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_crypto::Digest;
use ostrakon_party::{Channel, Instance, Message, PartyId, Roster, Tag};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::connect::{Credentials, accept_all, dial_direct, dial_relayed};
use crate::frame::{Frame, Leg, Malformed, Part, Relay};
use crate::inbox::{Quota, Taken};
use crate::peer::{Peer, PeerState};
use crate::probe::{Acquaintance, Clock, MAX_ABOUT, Probe};
use crate::relay::{Route, Tunnel, Tunnels};
use crate::retired::Retired;
use crate::tls::Identity;

/// How many relayed connections may wait to be accepted.
const WAITING_TUNNELS: usize = 16;

/// How long things take.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Within which a connection must be made, authenticated and greeted.
    pub handshake: Duration,
    /// After which a link that has nothing to send shows that it lives.
    pub ping: Duration,
    /// After which a link on which nothing arrives is given up.
    pub dead_after: Duration,
    /// After which a peer that cannot be reached directly is sought by way of others.
    pub relay_after: Duration,
    /// The longest pause between two attempts to connect.
    pub retry: Duration,
    /// How often it is considered what must be asked for again.
    pub tick: Duration,
    /// After which [`Channel::patience`] resolves.
    pub patience: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(5),
            ping: Duration::from_secs(1),
            dead_after: Duration::from_secs(8),
            relay_after: Duration::from_secs(1),
            retry: Duration::from_secs(2),
            tick: Duration::from_millis(200),
            patience: Duration::from_secs(3),
        }
    }
}

/// What a mesh is made from.
#[derive(Debug)]
pub struct Config {
    /// This party's number.
    pub id: PartyId,
    /// All parties' keys, and the session.
    pub roster: Arc<Roster>,
    /// This party's key, that of its number in the roster.
    pub identity: Identity,
    /// Where the others connect. Parties dial those with higher numbers, so the highest never uses
    /// `addresses` and the lowest is never connected to.
    pub listener: TcpListener,
    /// Where the others are: `host:port`. Needed for all higher numbers; names are resolved at each
    /// attempt.
    pub addresses: BTreeMap<PartyId, String>,
    /// See [`Timing`].
    pub timing: Timing,
    /// See [`Quota`].
    pub quota: Quota,
}

/// Why a mesh cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The identity is not the roster's.
    #[error(
        "the roster's key of {0} is not that of the given identity; check the party's number and its key file"
    )]
    WrongKey(PartyId),
    /// A peer to be dialled has no address.
    #[error(
        "no address is configured for {0}; every party needs those of all higher-numbered ones"
    )]
    NoAddress(PartyId),
    /// There is no runtime to run on.
    #[error("a mesh must be started inside a tokio runtime with time and I/O enabled")]
    NoRuntime(#[from] tokio::runtime::TryCurrentError),
    /// The listener is of no use.
    #[error("the listening socket has no address: {0}; bind it before starting the mesh")]
    Listener(#[source] io::Error),
}

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
    pub fn next_link(&self) -> u64 {
        self.next_link.fetch_add(1, Ordering::Relaxed)
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

/// One party's links to all others, as a [`Channel`].
///
/// Dropping the mesh, or [`Mesh::shutdown`], closes all links; what was posted and not yet sent is
/// lost with it.
pub struct Mesh {
    shared: Arc<Shared>,
    tasks: Mutex<JoinSet<()>>,
    runtime: Handle,
    address: SocketAddr,
}

impl Mesh {
    /// Starts to accept and make connections, on the current tokio runtime.
    ///
    /// # Errors
    /// [`StartError`] if the configuration contradicts itself.
    pub fn start(config: Config) -> Result<Arc<Self>, StartError> {
        let runtime = Handle::try_current()?;
        let Config { id, roster, identity, listener, addresses, timing, quota } = config;
        let address = listener.local_addr().map_err(StartError::Listener)?;
        if roster.keys.get(id.index()) != Some(&identity.verifying_key()) {
            return Err(StartError::WrongKey(id));
        }
        let retired = Arc::new(Retired::default());
        let others = roster.parties().zip(&roster.keys).filter(|(peer, _)| *peer != id);
        let peers: BTreeMap<PartyId, Arc<Peer>> = others
            .map(|(peer, key)| (peer, Arc::new(Peer::new(peer, id, *key, &retired, quota))))
            .collect();
        let (incoming, tunnels) = mpsc::channel(WAITING_TUNNELS);
        let credentials = Credentials::new(id, &identity, &roster);
        let shared = Arc::new(Shared {
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
        });
        let mut tasks = JoinSet::new();
        for peer in shared.peers().filter(|peer| peer.id > id) {
            let address = addresses.get(&peer.id).ok_or(StartError::NoAddress(peer.id))?.clone();
            tasks.spawn(dial_direct(Arc::clone(&shared), Arc::clone(peer), address));
            tasks.spawn(dial_relayed(Arc::clone(&shared), Arc::clone(peer)));
        }
        tasks.spawn(accept_all(Arc::clone(&shared), listener, tunnels));
        Ok(Arc::new(Self { shared, tasks: Mutex::new(tasks), runtime, address }))
    }

    /// The channel for [`ostrakon_party::Party`]. It keeps the mesh running.
    pub fn channel(self: &Arc<Self>) -> Arc<dyn Channel> {
        Arc::clone(self) as Arc<dyn Channel>
    }

    /// Where this party listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The state of the link with a peer; none for a number that is no other party's.
    pub fn peer_state(&self, id: PartyId) -> Option<PeerState> {
        self.shared.peer(id).map(|peer| peer.state())
    }

    /// The states of all peers.
    pub fn peer_states(&self) -> BTreeMap<PartyId, PeerState> {
        self.shared.peers().map(|peer| (peer.id, peer.state())).collect()
    }

    /// Tells the peers, from now on, `about` this party, of which at most
    /// [`MAX_ABOUT`](crate::probe::MAX_ABOUT) bytes are sent, and compares `clock` with theirs.
    pub fn introduce(&self, mut about: Bytes, clock: Clock) {
        about.truncate(MAX_ABOUT);
        *self.shared.introduction.lock().expect("no panic while held") =
            Some(Introduction { about, clock });
    }

    /// What is known of every peer beside the state of its link.
    pub fn acquaintances(&self) -> BTreeMap<PartyId, Acquaintance> {
        self.shared.peers().map(|peer| (peer.id, peer.acquaintance())).collect()
    }

    /// Fault injection for tests and drills: while blocked, there is no direct connection with the
    /// peer, neither dialled nor accepted; an existing one is closed. Relaying remains.
    pub fn set_blocked(&self, id: PartyId, blocked: bool) {
        if let Some(peer) = self.shared.peer(id) {
            peer.blocked.send_replace(blocked);
            if blocked {
                peer.cut_direct();
            }
        }
    }

    /// Closes the listener and all links and ends all tasks. Nothing more is sent or received.
    pub async fn shutdown(&self) {
        let mut tasks = std::mem::take(&mut *self.tasks.lock().expect("no panic while held"));
        tasks.shutdown().await;
        for peer in self.shared.peers() {
            peer.close();
        }
    }

    /// A party that the caller names. The numbers of the roster are known to all, so another one is
    /// the caller's error.
    fn named(&self, id: PartyId) -> &Arc<Peer> {
        self.shared.peer(id).expect("messages are exchanged with other parties of the roster only")
    }
}

impl Channel for Mesh {
    /// # Panics
    /// If `to` is not another party of the roster.
    fn post(&self, to: PartyId, message: Message) {
        self.named(to).outbox().post(message, true);
    }

    /// # Panics
    /// If `to` is not another party of the roster.
    fn offer(&self, to: PartyId, message: Message) {
        self.named(to).outbox().post(message, false);
    }

    /// # Panics
    /// If `from` is not another party of the roster.
    fn collect(&self, from: PartyId, tag: Tag, limit: u64) -> BoxFuture<'_, Message> {
        self.named(from).collect(tag, limit).boxed()
    }

    /// # Panics
    /// If `from` is not another party of the roster.
    fn collect_known(
        &self,
        from: PartyId,
        tag: Tag,
        limit: u64,
        known: Digest,
    ) -> BoxFuture<'_, Message> {
        self.named(from).collect(tag, Taken { limit, known: Some(known) }).boxed()
    }

    fn patience(&self) -> BoxFuture<'_, ()> {
        // Made here, inside the runtime, so that it may be awaited outside of it.
        let _inside = self.runtime.enter();
        tokio::time::sleep(self.shared.timing.patience).boxed()
    }

    fn retire(&self, instance: Instance) {
        self.shared.retired.insert(instance);
        for peer in self.shared.peers() {
            peer.purge(&instance);
        }
    }
}
