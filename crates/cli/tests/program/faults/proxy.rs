//! A wire between two servers that can be cut.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// What becomes of what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// It arrives.
    Whole,
    /// Connections break, and new ones are closed at once.
    Broken,
    /// It does not arrive, and nobody is told.
    Silent,
}

/// A wire to a port of this machine. Gone when dropped.
pub struct Proxy {
    pub port: u16,
    wire: watch::Sender<Wire>,
    carried: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    pub async fn to(port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let own = listener.local_addr().expect("an address").port();
        let wire = watch::Sender::new(Wire::Whole);
        let carried = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, port, wire.clone(), Arc::clone(&carried)));
        Self { port: own, wire, carried, _tasks: tasks }
    }

    pub fn set(&self, wire: Wire) {
        self.wire.send_replace(wire);
    }

    /// How many connections had something carried both ways.
    pub fn carried(&self) -> usize {
        self.carried.load(Ordering::Relaxed)
    }
}

async fn accept(
    listener: TcpListener,
    port: u16,
    wire: watch::Sender<Wire>,
    carried: Arc<AtomicUsize>,
) {
    let mut connections = JoinSet::new();
    loop {
        let near = listener.accept().await.expect("connections are accepted").0;
        let (mut state, carried) = (wire.subscribe(), Arc::clone(&carried));
        connections.spawn(async move {
            let mut broken = state.clone();
            tokio::select! {
                // However a connection ends, its servers see the end.
                _ = carry(near, port, &mut state, &carried) => {}
                _ = broken.wait_for(|wire| *wire == Wire::Broken) => {}
            }
        });
    }
}

async fn carry(
    near: TcpStream,
    port: u16,
    wire: &mut watch::Receiver<Wire>,
    carried: &AtomicUsize,
) -> std::io::Result<()> {
    let far = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    let answered = || {
        carried.fetch_add(1, Ordering::Relaxed);
    };
    tokio::select! {
        ended = pass(near_in, far_out, wire.clone(), || {}) => ended,
        ended = pass(far_in, near_out, wire.clone(), answered) => ended,
    }
}

/// Passes bytes on, one way; `first` is called after the first ones.
async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut wire: watch::Receiver<Wire>,
    first: impl FnOnce(),
) -> std::io::Result<()> {
    let mut first = Some(first);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let n = from.read(&mut buffer).await?;
        // The sender lives as long as the proxy.
        drop(wire.wait_for(|wire| *wire == Wire::Whole).await);
        if n == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..n]).await?;
        if let Some(first) = first.take() {
            first();
        }
    }
}
