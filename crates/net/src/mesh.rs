//! All links of one party, and the channel that they make.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_crypto::Digest;
use ostrakon_party::{Channel, Instance, Message, PartyId, Roster, Tag};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::connect::{accept_all, dial_direct, dial_relayed};
use crate::inbox::{Quota, Taken};
use crate::peer::{Peer, PeerState};
use crate::probe::{Acquaintance, Clock};
use crate::shared::Shared;
use crate::timing::Timing;
use crate::tls::Identity;

/// How many relayed connections may wait to be accepted.
const WAITING_TUNNELS: usize = 16;

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
        let (incoming, tunnels) = mpsc::channel(WAITING_TUNNELS);
        let limits = (timing, quota);
        let shared = Arc::new(Shared::new((id, roster), &identity, limits, incoming));
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
    pub fn introduce(&self, about: Bytes, clock: Clock) {
        self.shared.introduce(about, clock);
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
        self.shared.retire(instance);
    }
}
