//! Stands between a store and PostgreSQL and can swallow the answer to a commit.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};

/// A proxy in front of PostgreSQL's socket.
pub struct Proxy {
    pub address: SocketAddr,
    /// Set: the next commit reaches the server, and its answer does not come back.
    pub armed: Arc<AtomicBool>,
}

impl Proxy {
    /// Forwards connections to the socket in `directory`.
    pub async fn start(directory: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let armed = Arc::new(AtomicBool::new(false));
        let socket = format!("{directory}/.s.PGSQL.5432");
        let flag = Arc::clone(&armed);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&socket).await.unwrap();
                tokio::spawn(forward(client, server, Arc::clone(&flag)));
            }
        });
        Self { address, armed }
    }
}

async fn forward(mut client: TcpStream, mut server: UnixStream, armed: Arc<AtomicBool>) {
    let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let Ok(length @ 1..) = read else { return };
                if server.write_all(&up[..length]).await.is_err() {
                    return;
                }
                let commit = up[..length].windows(6).any(|bytes| bytes == b"COMMIT");
                if commit && armed.swap(false, Ordering::SeqCst) {
                    // The server answers; nobody hears it.
                    drop(server.read(&mut down).await);
                    return;
                }
            }
            read = server.read(&mut down) => {
                let Ok(length @ 1..) = read else { return };
                if client.write_all(&down[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}
