//! What a server runs on: the clock, randomness, tasks and threads, how it waits for its disk, its
//! links to the others.
//!
//! Nothing else in this crate reads the clock, draws randomness, or starts a task or a thread.
//! [`System`] is the operating system's; the simulation has another one, in which a seed decides
//! everything.

pub(crate) mod mailer;

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_net::probe::Clock;
use ostrakon_net::{Acquaintance, Identity, Mesh, PeerState, Quota, Timing};
use ostrakon_party::{Channel, PartyId, Roster};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::config::{Config, ConfigError};

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration, or a file that it names.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data directory.
    #[error("the data directory cannot be used: {0}")]
    Store(#[from] ostrakon_store::Error),
    /// The address for the other servers.
    #[error(
        "cannot listen on {address} for the other servers: {source}; is another server running there?"
    )]
    Listen {
        /// Which.
        address: std::net::SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The links to the other servers.
    #[error(transparent)]
    Mesh(#[from] ostrakon_net::StartError),
}

/// What a server runs on.
pub trait Platform: Send + Sync + 'static {
    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64;

    /// Fills `bytes` with fresh randomness.
    fn fill(&self, bytes: &mut [u8]);

    /// Resolves after `time`.
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()>;

    /// Runs a task to its end.
    fn spawn(&self, task: BoxFuture<'static, ()>);

    /// Runs work that blocks, or takes long, away from the tasks.
    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>);

    /// Runs an engine's work on a thread of its own.
    ///
    /// # Errors
    /// If no thread can be started.
    fn spawn_engine(&self, work: BoxFuture<'static, ()>) -> io::Result<()>;

    /// Carries out a call to the store.
    fn disk<'a>(&'a self, call: BoxFuture<'a, ()>) -> BoxFuture<'a, ()>;

    /// Carries out a call to the store and blocks the thread meanwhile. For the engine's threads.
    fn disk_blocking(&self, call: BoxFuture<'_, ()>);

    /// Begins to connect with the other servers. `seed` is that of this server's identity.
    fn connect<'a>(
        &'a self,
        config: &'a Config,
        roster: Arc<Roster>,
        seed: &'a [u8; 32],
    ) -> BoxFuture<'a, Result<Arc<dyn Links>, StartError>>;
}

impl dyn Platform {
    /// Fresh random bytes.
    pub fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// What `work` yields, or `None` if it takes longer than `time`.
    pub async fn timeout<T>(&self, time: Duration, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            result = work => Some(result),
            () = self.sleep(time) => None,
        }
    }

    /// What work yields that blocks; `None` if it panicked or the server stops.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (done, result) = oneshot::channel();
        self.spawn_blocking(Box::new(move || drop(done.send(work()))));
        result.await.ok()
    }
}

/// The links to the other servers.
pub trait Links: Channel {
    /// How the others can be reached.
    fn peer_states(&self) -> BTreeMap<PartyId, PeerState>;

    /// What is known of the others beside that.
    fn acquaintances(&self) -> BTreeMap<PartyId, Acquaintance> {
        BTreeMap::new()
    }

    /// Tells the others about this server, and compares its clock with theirs.
    fn introduce(&self, _about: Bytes, _clock: Clock) {}

    /// Fault injection: while blocked, there is no direct connection with the peer.
    fn set_blocked(&self, peer: PartyId, blocked: bool);

    /// Closes all links.
    fn shutdown(&self) -> BoxFuture<'_, ()>;
}

impl Links for Mesh {
    fn peer_states(&self) -> BTreeMap<PartyId, PeerState> {
        Mesh::peer_states(self)
    }

    fn acquaintances(&self) -> BTreeMap<PartyId, Acquaintance> {
        Mesh::acquaintances(self)
    }

    fn introduce(&self, about: Bytes, clock: Clock) {
        Mesh::introduce(self, about, clock);
    }

    fn set_blocked(&self, peer: PartyId, blocked: bool) {
        Mesh::set_blocked(self, peer, blocked);
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Mesh::shutdown(self).boxed()
    }
}

/// The operating system, tokio and TLS over TCP.
pub struct System {
    timing: Timing,
    runtime: Handle,
}

impl System {
    /// With these time-outs of the links, inside the runtime that the server is to run on.
    pub fn new(timing: Timing) -> Self {
        Self { timing, runtime: Handle::current() }
    }
}

impl Platform for System {
    #[expect(clippy::disallowed_methods, reason = "this is where the server reads the clock")]
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    #[expect(clippy::disallowed_methods, reason = "this is where the server draws randomness")]
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the operating system has randomness");
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(time).boxed()
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.runtime.spawn(task);
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        self.runtime.spawn_blocking(work);
    }

    fn spawn_engine(&self, work: BoxFuture<'static, ()>) -> io::Result<()> {
        let thread = std::thread::Builder::new().name("engine".into());
        thread.spawn(move || futures::executor::block_on(work)).map(drop)
    }

    fn disk<'a>(&'a self, call: BoxFuture<'a, ()>) -> BoxFuture<'a, ()> {
        call
    }

    fn disk_blocking(&self, call: BoxFuture<'_, ()>) {
        self.runtime.block_on(call);
    }

    fn connect<'a>(
        &'a self,
        config: &'a Config,
        roster: Arc<Roster>,
        seed: &'a [u8; 32],
    ) -> BoxFuture<'a, Result<Arc<dyn Links>, StartError>> {
        async move {
            let address = config.mesh;
            let listener = TcpListener::bind(address)
                .await
                .map_err(|source| StartError::Listen { address, source })?;
            let addresses = roster
                .parties()
                .zip(&config.servers)
                .map(|(id, server)| (id, server.address.clone()))
                .collect();
            let mesh = Mesh::start(ostrakon_net::Config {
                id: config.id(),
                roster,
                identity: Identity::from_seed(seed),
                listener,
                addresses,
                timing: self.timing,
                quota: Quota::default(),
            })?;
            Ok(mesh as Arc<dyn Links>)
        }
        .boxed()
    }
}
