//! Making connections: dialling, accepting, and doing either through a tunnel.
//!
//! Of two parties the lower-numbered one dials, both directly and by relay.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ostrakon_party::PartyId;
use tokio::io::BufReader;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

use crate::link::{self, Counted, Transport};
use crate::peer::{Peer, Reach};
use crate::relay::Tunnel;
use crate::shared::Shared;
use crate::tls;

/// How many accepted connections may be unauthenticated at a time; more are closed at once.
const MAX_HANDSHAKES: usize = 128;
/// How much is read from a socket at once.
const READ_BUFFER: usize = 256 * 1024;
/// The shortest pause between two attempts to connect.
const MIN_PAUSE: Duration = Duration::from_millis(50);
/// A link that lasted this long was a good one: the next attempt need not wait.
const GOOD: Duration = Duration::from_secs(2);

type Direct = BufReader<Counted>;

fn direct(stream: TcpStream, peer: Option<&Peer>) -> io::Result<Direct> {
    stream.set_nodelay(true)?;
    let counters = peer.map(|peer| Arc::clone(&peer.counters)).unwrap_or_default();
    Ok(BufReader::with_capacity(READ_BUFFER, Counted::new(stream, counters)))
}

/// Limits a handshake in time.
async fn in_time<T>(
    shared: &Shared,
    handshake: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    timeout(shared.timing.handshake, handshake)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Pauses between attempts to connect: doubling up to a cap, each shortened by up to a half so that
/// parties that lost each other at one moment do not try in step for ever.
struct Backoff {
    cap: Duration,
    failures: u32,
    state: u64,
}

impl Backoff {
    fn new(cap: Duration, own: PartyId, peer: PartyId) -> Self {
        Self { cap, failures: 0, state: u64::from(own.0) << 8 | u64::from(peer.0) }
    }

    fn pause(&mut self) -> Duration {
        let full = MIN_PAUSE.saturating_mul(1 << self.failures.min(16)).min(self.cap);
        self.failures = self.failures.saturating_add(1);
        // A step of a linear congruential generator (Knuth's MMIX): spread is all that is needed.
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let thousandths = u32::try_from(self.state >> 33 & 511).expect("nine bits");
        full - full * thousandths / 1024
    }

    /// Runs a link, and forgets earlier failures if it was a good one.
    async fn run<S: Transport>(
        &mut self,
        shared: &Arc<Shared>,
        peer: &Arc<Peer>,
        tls: TlsStream<S>,
        via: Option<PartyId>,
    ) {
        let begun = Instant::now();
        link::run(shared, peer, tls, via).await;
        if begun.elapsed() > GOOD {
            self.failures = 0;
        }
    }
}

async fn dial<S: Transport>(
    shared: &Shared,
    peer: &Peer,
    transport: S,
) -> io::Result<TlsStream<S>> {
    let config = shared.credentials.dial.get(&peer.id).ok_or(io::ErrorKind::NotFound)?;
    let stream = TlsConnector::from(Arc::clone(config)).connect(tls::any_name(), transport).await?;
    let mut stream = TlsStream::Client(stream);
    link::greet(shared, &mut stream).await?;
    Ok(stream)
}

/// Somebody answers, but not the right party, or not in our words: that does not mend itself.
fn note_trouble(peer: &Peer, error: &io::Error) {
    if peer.trouble(&error.to_string()) {
        tracing::warn!(peer = %peer.id, %error, "no connection is possible");
    }
}

/// Keeps a direct link with a higher-numbered peer.
pub(crate) async fn dial_direct(shared: Arc<Shared>, peer: Arc<Peer>, address: String) {
    let mut backoff = Backoff::new(shared.timing.retry, shared.id, peer.id);
    let mut blocked = peer.blocked.subscribe();
    loop {
        if blocked.wait_for(|blocked| !blocked).await.is_err() {
            return;
        }
        let connecting = in_time(&shared, async {
            let stream = TcpStream::connect(&address).await?;
            dial(&shared, &peer, direct(stream, Some(&peer))?).await
        });
        match connecting.await {
            Ok(_) if *peer.blocked.borrow() => {}
            Ok(stream) => backoff.run(&shared, &peer, stream, None).await,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                note_trouble(&peer, &error);
            }
            Err(error) => tracing::debug!(peer = %peer.id, %error, "could not connect"),
        }
        sleep(backoff.pause()).await;
    }
}

/// Keeps a relayed link with a higher-numbered peer for as long as there is no direct one.
pub(crate) async fn dial_relayed(shared: Arc<Shared>, peer: Arc<Peer>) {
    let mut backoff = Backoff::new(shared.timing.retry, shared.id, peer.id);
    let mut reach = peer.reach.subscribe();
    let mut circuit = 0u32;
    loop {
        if reach.wait_for(|reach| *reach == Reach::No).await.is_err() {
            return;
        }
        if timeout(shared.timing.relay_after, reach.wait_for(|reach| *reach != Reach::No))
            .await
            .is_ok()
        {
            continue;
        }
        let relays =
            shared.peers().filter(|via| via.id != peer.id && *via.reach.borrow() == Reach::Direct);
        for via in relays {
            circuit = circuit.wrapping_add(1);
            let tunnel = shared.tunnels.open(peer.id, via, circuit);
            if !tunnel.announce() {
                continue;
            }
            match in_time(&shared, dial(&shared, &peer, tunnel)).await {
                // A direct link that came about meanwhile is better.
                Ok(_) if *peer.reach.borrow() != Reach::No => break,
                Ok(stream) => {
                    backoff.run(&shared, &peer, stream, Some(via.id)).await;
                    break;
                }
                Err(error) => {
                    tracing::debug!(peer = %peer.id, via = %via.id, %error, "could not connect by relay")
                }
            }
        }
        sleep(backoff.pause()).await;
    }
}

/// Accepts connections of lower-numbered peers, by TCP and through tunnels.
pub(crate) async fn accept_all(
    shared: Arc<Shared>,
    listener: TcpListener,
    mut tunnels: mpsc::Receiver<Tunnel>,
) {
    let mut tasks = JoinSet::new();
    let handshakes = Arc::new(Semaphore::new(MAX_HANDSHAKES));
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    if let Ok(permit) = Arc::clone(&handshakes).try_acquire_owned() {
                        let shared = Arc::clone(&shared);
                        tasks.spawn(async move {
                            let accepted = in_time(&shared, accept_direct(&shared, stream)).await;
                            drop(permit);
                            match accepted {
                                Ok((peer, stream)) => link::run(&shared, &peer, stream, None).await,
                                Err(error) => tracing::debug!(%error, "refused a connection"),
                            }
                        });
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept connections; if this persists, raise the limit on open files");
                    sleep(MIN_PAUSE).await;
                }
            },
            Some(tunnel) = tunnels.recv() => {
                let shared = Arc::clone(&shared);
                tasks.spawn(async move {
                    let via = tunnel.route.via;
                    match in_time(&shared, accept_relayed(&shared, tunnel)).await {
                        Ok((peer, stream)) => link::run(&shared, &peer, stream, Some(via)).await,
                        Err(error) => tracing::debug!(%via, %error, "refused a relayed connection"),
                    }
                });
            }
            Some(_) = tasks.join_next() => {}
        }
    }
}

/// Greets a peer that has proved who it is.
async fn greet<S: Transport>(
    shared: &Shared,
    peer: &Peer,
    stream: &mut TlsStream<S>,
) -> io::Result<()> {
    let greeted = link::greet(shared, stream).await;
    if let Err(error) = greeted.as_ref()
        && error.kind() == io::ErrorKind::InvalidData
    {
        note_trouble(peer, error);
    }
    greeted
}

async fn accept_direct(
    shared: &Shared,
    stream: TcpStream,
) -> io::Result<(Arc<Peer>, TlsStream<Direct>)> {
    let acceptor = TlsAcceptor::from(Arc::clone(&shared.credentials.accept_any));
    let mut stream = acceptor.accept(direct(stream, None)?).await?;
    let (transport, session) = stream.get_mut();
    let key = tls::presented(session.peer_certificates());
    let peer =
        shared.peers().find(|peer| Some(peer.key) == key).ok_or(io::ErrorKind::PermissionDenied)?;
    if *peer.blocked.borrow() {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    transport.get_mut().attribute(peer);
    let mut stream = TlsStream::Server(stream);
    greet(shared, peer, &mut stream).await?;
    Ok((Arc::clone(peer), stream))
}

async fn accept_relayed(
    shared: &Shared,
    tunnel: Tunnel,
) -> io::Result<(Arc<Peer>, TlsStream<Tunnel>)> {
    let id = tunnel.route.peer;
    let peer = shared.peer(id).ok_or(io::ErrorKind::NotFound)?;
    let config = shared.credentials.accept_one.get(&id).ok_or(io::ErrorKind::PermissionDenied)?;
    let stream = TlsAcceptor::from(Arc::clone(config)).accept(tunnel).await?;
    let mut stream = TlsStream::Server(stream);
    greet(shared, peer, &mut stream).await?;
    Ok((Arc::clone(peer), stream))
}
