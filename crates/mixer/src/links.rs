//! Links: frames over TLS 1.3 with pinned keys, between servers and with participants' devices.
//!
//! Of two servers the lower-numbered one dials; devices dial everybody. What is queued for a
//! peer that does not read is bounded and what exceeds it is dropped; what is read from a peer
//! and not acted upon yet is bounded, too, so that nobody takes another one's turn.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostrakon_crypto::VerifyingKey;
use ostrakon_net::{Identity, any_name, presented};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, BufWriter};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

/// Within which a connection must be made and authenticated.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// After which a link on which nothing arrives is given up; servers say something at every tick.
const SILENCE: Duration = Duration::from_secs(20);
/// The pause between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(100);
/// Accepted connections that are not authenticated yet at most.
const HANDSHAKES: usize = 64;
/// Bytes that wait to be sent to a peer at most.
const QUEUED: usize = 64 << 20;
/// Units of a peer's frames that wait to be acted upon at most, and bytes of a unit.
const WAITING: usize = 4096;
const UNIT: usize = 4096;
/// Bytes that are written at a time: a peer that takes none of them in a while is given up.
const PART: usize = 1 << 14;
/// How much of a frame is reserved before any of it is here.
const AHEAD: usize = 1 << 16;

/// Everybody that a link may lead to, by key, and where.
#[derive(Clone, Debug, Default)]
pub struct Peers {
    /// Who dials this process, or may.
    pub dialling: Vec<VerifyingKey>,
    /// Whom this process dials.
    pub dialled: Vec<(VerifyingKey, String)>,
    /// Bytes of a frame at most.
    pub longest: usize,
}

/// A frame that has come. It counts until it is dropped.
pub struct Incoming {
    /// Who sent it.
    pub from: VerifyingKey,
    /// The frame.
    pub bytes: Vec<u8>,
    _permit: OwnedSemaphorePermit,
}

struct Outgoing {
    queue: mpsc::UnboundedSender<Arc<[u8]>>,
    bytes: Arc<AtomicUsize>,
    /// The link that it belongs to ends when this is dropped, whatever it waits for.
    _current: oneshot::Sender<()>,
}

struct Peer {
    /// The newest link's queue.
    link: Mutex<Option<Outgoing>>,
    waiting: Arc<Semaphore>,
}

struct Shared {
    peers: BTreeMap<VerifyingKey, Peer>,
    incoming: mpsc::UnboundedSender<Incoming>,
    longest: usize,
}

/// All links of a process. They end when this is dropped.
pub struct Links {
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

impl Links {
    /// Begins to dial and to accept. Frames come by the receiver.
    pub fn start(
        identity: &Identity,
        listener: Option<TcpListener>,
        peers: Peers,
    ) -> (Self, mpsc::UnboundedReceiver<Incoming>) {
        let (incoming, frames) = mpsc::unbounded_channel();
        let keys = peers.dialling.iter().chain(peers.dialled.iter().map(|(key, _)| key));
        let peer = |key: &VerifyingKey| {
            let waiting = Arc::new(Semaphore::new(WAITING));
            (*key, Peer { link: Mutex::default(), waiting })
        };
        let shared =
            Arc::new(Shared { peers: keys.map(peer).collect(), incoming, longest: peers.longest });
        let mut tasks = JoinSet::new();
        for (key, address) in peers.dialled {
            let connector = TlsConnector::from(identity.dial_config(&key));
            tasks.spawn(dial(Arc::clone(&shared), key, address, connector));
        }
        if let Some(listener) = listener {
            let acceptor = TlsAcceptor::from(identity.accept_config(&peers.dialling));
            tasks.spawn(accept(Arc::clone(&shared), listener, acceptor));
        }
        (Self { shared, _tasks: tasks }, frames)
    }

    /// Queues a frame, if there is a link and not too much waits for it.
    pub fn send(&self, to: &VerifyingKey, bytes: Arc<[u8]>) {
        let Some(peer) = self.shared.peers.get(to) else { return };
        let link = peer.link.lock().expect("no panic while held");
        let Some(link) = &*link else { return };
        if link.bytes.load(Ordering::Relaxed) <= QUEUED {
            link.bytes.fetch_add(bytes.len(), Ordering::Relaxed);
            drop(link.queue.send(bytes));
        }
    }

    /// Whether there is a link with somebody.
    #[must_use]
    pub fn reaches(&self, key: &VerifyingKey) -> bool {
        let peer = self.shared.peers.get(key);
        peer.is_some_and(|peer| peer.link.lock().expect("no panic while held").is_some())
    }

    /// With whom there are links.
    #[must_use]
    pub fn connected(&self) -> usize {
        let linked = |peer: &&Peer| peer.link.lock().expect("no panic while held").is_some();
        self.shared.peers.values().filter(linked).count()
    }
}

async fn in_time<T>(handshake: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(HANDSHAKE, handshake).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn dial(shared: Arc<Shared>, key: VerifyingKey, address: String, connector: TlsConnector) {
    loop {
        let connection = in_time(async {
            let stream = TcpStream::connect(&address).await?;
            stream.set_nodelay(true)?;
            connector.connect(any_name(), stream).await
        });
        if let Ok(tls) = connection.await {
            run(&shared, key, TlsStream::from(tls)).await;
        }
        sleep(PAUSE).await;
    }
}

/// Connections that are not authenticated yet, in the order in which they came, and from where.
/// They end when they are dropped here.
#[derive(Default)]
struct Handshakes {
    under_way: BTreeMap<u64, (IpAddr, oneshot::Sender<()>)>,
    next: u64,
}

impl Handshakes {
    /// Takes one more. If there are too many, the oldest one ends of the address that has most: who
    /// has one is not kept out by who has many.
    fn begin(&mut self, from: IpAddr) -> (u64, oneshot::Receiver<()>) {
        if self.under_way.len() >= HANDSHAKES {
            let of = |ip: &IpAddr| self.under_way.values().filter(|(of, _)| of == ip).count();
            let oldest = self.under_way.iter().rev().max_by_key(|(_, (ip, _))| of(ip));
            if let Some(oldest) = oldest.map(|(number, _)| *number) {
                self.under_way.remove(&oldest);
            }
        }
        let (current, ended) = oneshot::channel();
        self.next += 1;
        self.under_way.insert(self.next, (from, current));
        (self.next, ended)
    }
}

async fn accept(shared: Arc<Shared>, listener: TcpListener, acceptor: TlsAcceptor) {
    let handshakes = Arc::new(Mutex::new(Handshakes::default()));
    let mut links = JoinSet::new();
    loop {
        while links.try_join_next().is_some() {}
        let Ok((stream, from)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        let (number, ended) = handshakes.lock().expect("no panic while held").begin(from.ip());
        let (shared, acceptor) = (Arc::clone(&shared), acceptor.clone());
        let handshakes = Arc::clone(&handshakes);
        links.spawn(async move {
            let connection = in_time(async {
                stream.set_nodelay(true)?;
                acceptor.accept(stream).await
            });
            let connection = tokio::select! {
                connection = connection => connection,
                _ = ended => return,
            };
            handshakes.lock().expect("no panic while held").under_way.remove(&number);
            let Ok(tls) = connection else { return };
            if let Some(key) = presented(tls.get_ref().1.peer_certificates()) {
                run(&shared, key, TlsStream::from(tls)).await;
            }
        });
    }
}

/// Reads and writes frames until the link breaks, or a newer one with the same peer takes over.
async fn run(shared: &Shared, key: VerifyingKey, tls: TlsStream<TcpStream>) {
    let Some(peer) = shared.peers.get(&key) else { return };
    let (queue, frames) = mpsc::unbounded_channel();
    let (current, superseded) = oneshot::channel();
    let bytes = Arc::new(AtomicUsize::new(0));
    // The one before ends here, with what was queued for it: nobody keeps several.
    *peer.link.lock().expect("no panic while held") =
        Some(Outgoing { queue, bytes: Arc::clone(&bytes), _current: current });
    let (input, output) = tokio::io::split(tls);
    tokio::select! {
        _ = superseded => return,
        _ = read(shared, key, peer, input) => {}
        _ = write(frames, &bytes, output) => {}
    }
    let mut link = peer.link.lock().expect("no panic while held");
    if link.as_ref().is_some_and(|link| Arc::ptr_eq(&link.bytes, &bytes)) {
        *link = None;
    }
}

/// What takes too long without getting on is given up. How long a whole frame takes is a matter of
/// the line.
async fn getting_on<T>(step: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(SILENCE, step).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn read(
    shared: &Shared,
    key: VerifyingKey,
    peer: &Peer,
    input: impl AsyncRead + Unpin,
) -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 18, input);
    loop {
        let length = getting_on(input.read_u32_le()).await?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > shared.longest {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let units = u32::try_from((length / UNIT + 1).min(WAITING)).unwrap_or(u32::MAX);
        let waiting = Arc::clone(&peer.waiting);
        let Ok(permit) = waiting.acquire_many_owned(units).await else { return Ok(()) };
        let mut bytes = Vec::with_capacity(length.min(AHEAD));
        let mut frame = (&mut input).take(length as u64);
        while bytes.len() < length {
            if getting_on(frame.read_buf(&mut bytes)).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        drop(shared.incoming.send(Incoming { from: key, bytes, _permit: permit }));
    }
}

async fn write(
    mut frames: mpsc::UnboundedReceiver<Arc<[u8]>>,
    queued: &AtomicUsize,
    output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut output = BufWriter::with_capacity(PART, output);
    while let Some(mut frame) = frames.recv().await {
        loop {
            let length = u32::try_from(frame.len()).map_err(io::Error::other)?;
            getting_on(output.write_u32_le(length)).await?;
            for part in frame.chunks(PART) {
                getting_on(output.write_all(part)).await?;
            }
            queued.fetch_sub(frame.len(), Ordering::Relaxed);
            match frames.try_recv() {
                Ok(next) => frame = next,
                Err(_) => break,
            }
        }
        getting_on(output.flush()).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{DuplexStream, duplex};

    /// The reading end of a link, and what comes of it.
    fn reading() -> (DuplexStream, mpsc::UnboundedReceiver<Incoming>, JoinSet<io::Result<()>>) {
        let (incoming, frames) = mpsc::unbounded_channel();
        let shared = Shared { peers: BTreeMap::new(), incoming, longest: 1 << 20 };
        let (far, near) = duplex(1 << 10);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let waiting = Arc::new(Semaphore::new(WAITING));
            let peer = Peer { link: Mutex::default(), waiting };
            read(&shared, VerifyingKey([1; 32]), &peer, near).await
        });
        (far, frames, tasks)
    }

    /// A frame that takes longer than a link may be silent arrives, as long as it gets on.
    #[tokio::test(start_paused = true)]
    async fn frames_over_a_slow_line() {
        let (mut far, mut frames, _tasks) = reading();
        let frame = vec![5; 100_000];
        far.write_u32_le(100_000).await.unwrap();
        for part in frame.chunks(10_000) {
            far.write_all(part).await.unwrap();
            sleep(SILENCE * 3 / 4).await;
        }
        assert_eq!(frames.recv().await.unwrap().bytes, frame);
    }

    /// A link on which nothing more comes is given up, in the middle of a frame as well.
    #[tokio::test(start_paused = true)]
    async fn frames_that_stop() {
        let (mut far, _frames, mut tasks) = reading();
        far.write_u32_le(100_000).await.unwrap();
        far.write_all(&[5; 500]).await.unwrap();
        let ended = tasks.join_next().await.unwrap().unwrap();
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    /// A peer that takes a little now and then has its frame; one that takes nothing is given up.
    #[tokio::test(start_paused = true)]
    async fn peers_that_hardly_read() {
        let (far, near) = duplex(1 << 10);
        let (queue, frames) = mpsc::unbounded_channel();
        queue.send(vec![7; 300_000].into()).unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { write(frames, &AtomicUsize::new(300_000), near).await });
        let mut far = BufReader::new(far);
        let mut part = vec![0; 20_000];
        for _ in 0..10 {
            far.read_exact(&mut part).await.unwrap();
            sleep(SILENCE * 3 / 4).await;
        }
        assert!(tasks.try_join_next().is_none(), "it was given up");
        let ended = tasks.join_next().await.unwrap().unwrap();
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    /// Of many connections from one address the oldest ends, not the only one from another.
    #[test]
    fn one_handshake_among_many() {
        let mut handshakes = Handshakes::default();
        let [honest, hostile] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
        let (_, mut only) = handshakes.begin(honest);
        let mut many: Vec<_> = (0..200).map(|_| handshakes.begin(hostile).1).collect();
        let is_under_way = |ended: &mut oneshot::Receiver<()>| {
            matches!(ended.try_recv(), Err(oneshot::error::TryRecvError::Empty))
        };
        assert!(is_under_way(&mut only));
        assert_eq!(handshakes.under_way.len(), HANDSHAKES);
        assert!(is_under_way(many.last_mut().unwrap()) && !is_under_way(&mut many[0]));
    }
}
