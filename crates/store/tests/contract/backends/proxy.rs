//! Stands between a store and PostgreSQL, and can come between something that is said and its
//! answer.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Notify;

/// The statement that commits, to its end: how transactions begin has the word in it, too (`READ
/// COMMITTED`).
pub const COMMIT: &str = "COMMIT\0";

/// What becomes of the next message that has certain words in it.
#[derive(Clone, Copy)]
pub enum Deed {
    /// It arrives; the connection breaks before the answer comes back.
    Unanswered,
    /// It does not arrive, and the connection breaks.
    Lost,
    /// It does not arrive, and nobody is told before [`Proxy::release`].
    Held,
}

/// A proxy in front of PostgreSQL's socket.
pub struct Proxy {
    pub address: SocketAddr,
    trap: Arc<Trap>,
}

#[derive(Default)]
struct Trap {
    set: Mutex<Option<(&'static [u8], Deed)>>,
    sprung: Notify,
    released: Notify,
}

impl Proxy {
    /// Forwards connections to the socket in `directory`.
    pub async fn start(directory: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let trap = Arc::<Trap>::default();
        let socket = format!("{directory}/.s.PGSQL.5432");
        let shared = Arc::clone(&trap);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // While the server is away, connections break at once.
                if let Ok(server) = UnixStream::connect(&socket).await {
                    tokio::spawn(forward(client, server, Arc::clone(&shared)));
                }
            }
        });
        Self { address, trap }
    }

    /// In front of the server of a URL that names its socket.
    pub async fn before(url: &str) -> Self {
        let (_, host) =
            url.split_once("host=").expect("the tests' PostgreSQL is reached by its socket");
        Self::start(host.split('&').next().unwrap()).await
    }

    /// The URL by way of this proxy of the database that a URL names.
    pub fn url(&self, direct: &str) -> String {
        let (_, name) = direct.split_once("dbname=").unwrap();
        format!("postgres://postgres@{}/{name}", self.address)
    }

    pub fn set(&self, words: &'static str, deed: Deed) {
        *self.trap.set.lock().unwrap() = Some((words.as_bytes(), deed));
    }

    /// Whether nobody has said the words yet.
    pub fn is_set(&self) -> bool {
        self.trap.set.lock().unwrap().is_some()
    }

    /// Waits until somebody has said the words.
    pub async fn sprung(&self) {
        self.trap.sprung.notified().await;
    }

    /// Breaks the connection that is held.
    pub fn release(&self) {
        self.trap.released.notify_one();
    }
}

impl Trap {
    fn spring(&self, message: &[u8]) -> Option<Deed> {
        let mut set = self.set.lock().unwrap();
        let (words, deed) = (*set)?;
        if !message.windows(words.len()).any(|bytes| bytes == words) {
            return None;
        }
        *set = None;
        self.sprung.notify_one();
        Some(deed)
    }
}

async fn forward(mut client: TcpStream, mut server: UnixStream, trap: Arc<Trap>) {
    let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let Ok(length @ 1..) = read else { return };
                let deed = trap.spring(&up[..length]);
                match deed {
                    Some(Deed::Lost) => return,
                    Some(Deed::Held) => return trap.released.notified().await,
                    None | Some(Deed::Unanswered) => {}
                }
                if server.write_all(&up[..length]).await.is_err() {
                    return;
                }
                if deed.is_some() {
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
