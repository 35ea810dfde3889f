//! One connection with a peer: greeting, reading, writing, keeping it alive.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use bytes::{Buf, BufMut, Bytes};
use ostrakon_party::PartyId;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep_until};
use tokio_rustls::TlsStream;

use crate::frame::{self, Frame, Hello, Kind, Malformed, Prefix};
use crate::peer::{Counters, Peer};
use crate::shared::Shared;

/// How much ciphertext rustls may hold back while the socket is full: two chunks.
const TLS_BUFFER: usize = 512 * 1024;

/// The first probes of a link leave at the pace of pings, later ones once in so many.
const QUICK_PROBES: u32 = 4;
const PROBE_PINGS: u32 = 10;

fn malformed(error: Malformed) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

fn foreign(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.into())
}

/// Anything that TLS can run over.
pub(crate) trait Transport: AsyncRead + AsyncWrite + Send + Unpin + 'static {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Transport for T {}

/// A TCP connection whose bytes are counted.
pub(crate) struct Counted {
    io: TcpStream,
    /// Until the peer is known, a counter of the connection's own.
    pub counters: Arc<Counters>,
}

impl Counted {
    pub fn new(io: TcpStream, counters: Arc<Counters>) -> Self {
        Self { io, counters }
    }

    /// From now on counts for `peer`, what was counted so far included.
    pub fn attribute(&mut self, peer: &Peer) {
        let mine = std::mem::replace(&mut self.counters, Arc::clone(&peer.counters));
        self.counters.sent.fetch_add(mine.sent.load(Ordering::Relaxed), Ordering::Relaxed);
        self.counters.received.fetch_add(mine.received.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    fn note_sent(&self, result: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(n)) = result {
            self.counters.sent.fetch_add(*n as u64, Ordering::Relaxed);
        }
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let result = Pin::new(&mut self.io).poll_read(cx, buf);
        self.counters.received.fetch_add((buf.filled().len() - before) as u64, Ordering::Relaxed);
        result
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.io).poll_write(cx, buf);
        self.note_sent(&result);
        result
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.note_sent(&result);
        result
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// Exchanges greetings: the last step before a connection is a link.
pub(crate) async fn greet<S: Transport>(shared: &Shared, tls: &mut TlsStream<S>) -> io::Result<()> {
    let mut hello = Vec::new();
    let ours = Hello { version: frame::VERSION, session: shared.roster.session };
    Frame::Hello(ours).encode(&mut hello);
    tls.write_all(&hello).await?;
    tls.flush().await?;
    let mut prefix = [0; frame::PREFIX];
    tls.read_exact(&mut prefix).await?;
    let prefix = Prefix::decode(&prefix).map_err(malformed)?;
    if prefix.kind != Kind::Hello {
        return Err(malformed(Malformed));
    }
    let mut body = vec![0; prefix.length];
    tls.read_exact(&mut body).await?;
    // The greeting of another version is read no further than its version.
    if let Some(theirs) = Hello::version_of(&body).filter(|theirs| *theirs != ours.version) {
        return Err(foreign(other_version(theirs, ours.version)));
    }
    match Frame::decode(prefix, body.into()).map_err(malformed)? {
        Frame::Hello(theirs) if theirs == ours => Ok(()),
        _ => Err(foreign(
            "the peer is in another session; give all servers the same session description",
        )),
    }
}

fn other_version(theirs: u16, ours: u16) -> String {
    let older = if theirs < ours { "the peer" } else { "this server" };
    format!(
        "the peer speaks version {theirs} of the servers' protocol, this server version {ours}: \
         upgrade {older}; nothing is lost meanwhile"
    )
}

/// Runs a greeted connection as the link with `peer` until it breaks, is replaced or cut.
pub(crate) async fn run<S: Transport>(
    shared: &Arc<Shared>,
    peer: &Arc<Peer>,
    mut tls: TlsStream<S>,
    via: Option<PartyId>,
) {
    match &mut tls {
        TlsStream::Client(stream) => stream.get_mut().1.set_buffer_limit(Some(TLS_BUFFER)),
        TlsStream::Server(stream) => stream.get_mut().1.set_buffer_limit(Some(TLS_BUFFER)),
    }
    peer.seen();
    let active = peer.activate(shared.next_link(), via);
    tracing::info!(peer = %peer.id, relayed = via.is_some(), "connected");
    let (reader, writer) = tokio::io::split(tls);
    let mut tasks = JoinSet::new();
    tasks.spawn(write(
        Arc::clone(shared),
        Arc::clone(peer),
        active.id,
        Arc::clone(&active.wake),
        writer,
    ));
    tasks.spawn(read(Arc::clone(shared), Arc::clone(peer), active.id, via, reader));
    tasks.spawn(watch(Arc::clone(shared), Arc::clone(peer)));
    let end = tokio::select! {
        end = tasks.join_next() => match end {
            Some(Ok(Err(error))) => error,
            _ => io::ErrorKind::Other.into(),
        },
        () = active.cancel.notified() => io::ErrorKind::ConnectionAborted.into(),
    };
    tasks.shutdown().await;
    peer.deactivate(active.id);
    if via.is_none() {
        shared.tunnels.lose(peer.id);
    }
    tracing::info!(peer = %peer.id, relayed = via.is_some(), %end, "disconnected");
}

/// Gives up a link on which nothing has arrived for too long.
async fn watch(shared: Arc<Shared>, peer: Arc<Peer>) -> io::Result<()> {
    let mut tick = interval(shared.timing.dead_after / 8);
    loop {
        tick.tick().await;
        if peer.silent_for().is_some_and(|silence| silence > shared.timing.dead_after) {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

async fn write<S: Transport>(
    shared: Arc<Shared>,
    peer: Arc<Peer>,
    link: u64,
    wake: Arc<Notify>,
    mut writer: WriteHalf<TlsStream<S>>,
) -> io::Result<()> {
    let timing = shared.timing;
    let (mut next_tick, mut next_ping) = (Instant::now(), Instant::now() + timing.ping);
    let (mut next_probe, mut probes) = (Instant::now(), 0u32);
    let mut head = Vec::new();
    loop {
        let now = Instant::now();
        if now >= next_tick {
            next_tick = now + timing.tick;
            let wants = peer.inbox().ask_due(now);
            peer.outbox().push(wants);
        }
        if now >= next_ping {
            Frame::Ping.encode(&mut head);
        }
        if now >= next_probe
            && let Some(probe) = shared.probe(&peer)
        {
            probe.encode(&mut head);
            // A few at once, so that a first measurement is there soon.
            probes += 1;
            next_probe = now + timing.ping * if probes < QUICK_PROBES { 1 } else { PROBE_PINGS };
        }
        let chunk = peer.outbox().take(link, &mut head);
        if head.is_empty() {
            writer.flush().await?;
            tokio::select! {
                () = wake.notified() => {}
                () = sleep_until(next_tick) => {}
            }
            continue;
        }
        next_ping = now + timing.ping;
        write_both(&mut writer, &head, chunk).await?;
        head.clear();
    }
}

/// Writes both as if they were one, so that TLS records are full.
async fn write_both<S: Transport>(
    writer: &mut WriteHalf<S>,
    mut head: &[u8],
    mut body: Bytes,
) -> io::Result<()> {
    while !head.is_empty() || !body.is_empty() {
        let written = writer.write_vectored(&[IoSlice::new(head), IoSlice::new(&body)]).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let of_head = written.min(head.len());
        head.advance(of_head);
        body.advance(written - of_head);
    }
    Ok(())
}

async fn read<S: Transport>(
    shared: Arc<Shared>,
    peer: Arc<Peer>,
    link: u64,
    via: Option<PartyId>,
    mut reader: ReadHalf<TlsStream<S>>,
) -> io::Result<()> {
    let mut prefix = [0; frame::PREFIX];
    loop {
        reader.read_exact(&mut prefix).await?;
        peer.seen();
        let prefix = Prefix::decode(&prefix).map_err(malformed)?;
        if prefix.kind == Kind::Chunk {
            read_chunk(&peer, link, prefix, &mut reader).await?;
            continue;
        }
        let mut body = Vec::with_capacity(prefix.length);
        append(&mut reader, &mut body, prefix.length, &peer).await?;
        let frame = Frame::decode(prefix, body.into()).map_err(malformed)?;
        match frame {
            Frame::Hello(_) => return Err(malformed(Malformed)),
            Frame::Ping => {}
            Frame::Probe(probe) => shared.probed(&peer, probe),
            Frame::Want(want) => peer.outbox().wanted(want),
            Frame::Whole(message) => peer.inbox().deliver(message),
            Frame::Head { transfer, signed, depth, length } => {
                peer.inbox().begin(link, transfer, signed, depth, length);
            }
            // Tunnels are not tunnelled.
            Frame::Relay(relay) if via.is_none() => {
                shared.relay(peer.id, relay).map_err(malformed)?
            }
            Frame::Relay(_) => return Err(malformed(Malformed)),
        }
    }
}

async fn read_chunk<S: Transport>(
    peer: &Peer,
    link: u64,
    prefix: Prefix,
    reader: &mut ReadHalf<TlsStream<S>>,
) -> io::Result<()> {
    let assembly = peer.inbox().take(link, prefix.argument);
    let Some(mut assembly) = assembly else {
        let mut unwanted = reader.take(prefix.length as u64);
        let skipped = tokio::io::copy(&mut unwanted, &mut tokio::io::sink()).await?;
        return if skipped == prefix.length as u64 {
            Ok(())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        };
    };
    if prefix.length > assembly.missing() {
        return Err(malformed(Malformed));
    }
    append(reader, &mut assembly.body, prefix.length, peer).await?;
    peer.inbox().put_back(assembly);
    Ok(())
}

/// Reads exactly `n` bytes to the end of `out`, which has room for them, without clearing that room
/// first.
async fn append<S: Transport>(
    reader: &mut ReadHalf<S>,
    out: &mut Vec<u8>,
    n: usize,
    peer: &Peer,
) -> io::Result<()> {
    let end = out.len() + n;
    while out.len() < end {
        let missing = end - out.len();
        if reader.read_buf(&mut (&mut *out).limit(missing)).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        peer.seen();
    }
    Ok(())
}
