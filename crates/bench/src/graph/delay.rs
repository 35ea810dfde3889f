//! Links that take a while: relays between processes that pass everything on so much later.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Bytes that are read at a time.
const PIECE: usize = 1 << 16;
/// Pieces that are on their way at most in one direction: 256 MiB, so that the delay does not limit
/// the throughput.
const ON_THEIR_WAY: usize = 1 << 12;

/// Relays, one before each server. They end when this is dropped.
pub struct Delayed {
    /// The relays' ports, in the servers' order.
    pub ports: Vec<u16>,
    _runtime: Runtime,
}

impl Delayed {
    /// Relays before servers at these ports.
    ///
    /// # Errors
    /// If no port or thread can be had.
    pub fn start(servers: &[u16], latency: Duration) -> Result<Self> {
        let runtime = Runtime::new().context("the relays' threads cannot be started")?;
        let mut ports = Vec::new();
        for server in servers.iter().copied() {
            let listener = runtime
                .block_on(TcpListener::bind("127.0.0.1:0"))
                .context("no port can be bound")?;
            ports.push(listener.local_addr()?.port());
            runtime.spawn(async move {
                while let Ok((near, _)) = listener.accept().await {
                    let Ok(far) = TcpStream::connect(("127.0.0.1", server)).await else { continue };
                    // Small messages are not held back by the relay itself.
                    let _ = (near.set_nodelay(true), far.set_nodelay(true));
                    let ((near_in, near_out), (far_in, far_out)) =
                        (near.into_split(), far.into_split());
                    relay(near_in, far_out, latency);
                    relay(far_in, near_out, latency);
                }
            });
        }
        Ok(Self { ports, _runtime: runtime })
    }
}

/// Passes on what comes, so much later, until either end closes.
fn relay(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, latency: Duration) {
    let (sender, mut receiver) = mpsc::channel::<(Instant, Vec<u8>)>(ON_THEIR_WAY);
    tokio::spawn(async move {
        let mut piece = vec![0; PIECE];
        while let Ok(count @ 1..) = from.read(&mut piece).await {
            if sender.send((Instant::now() + latency, piece[..count].to_vec())).await.is_err() {
                break;
            }
        }
    });
    tokio::spawn(async move {
        while let Some((at, piece)) = receiver.recv().await {
            tokio::time::sleep_until(at).await;
            if to.write_all(&piece).await.is_err() {
                return;
            }
        }
    });
}
