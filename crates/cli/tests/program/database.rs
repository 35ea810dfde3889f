//! A server whose PostgreSQL goes away, or lets it wait: how it starts, and how it ends.

use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use crate::common::{free_base_port, ostrakon, run, signal};
use ostrakon_store::Scratch;
use sqlx::{Connection, PgConnection};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::time::Instant;

/// Long enough for anything here but [`GIVEN_UP`]: a write is tried for almost a minute.
const LONG: Duration = Duration::from_secs(100);
/// A server asks for half a minute what became of a commit.
const GIVEN_UP: Duration = Duration::from_secs(120);
/// How long a server may take to stop: what docs/operating.md promises.
const STOPPED: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);
/// The store's lock of the one engine that writes.
const ENGINE_LOCK: i64 = 0x6f73_7472_616b_6f6e;

/// What becomes of what is sent to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wire {
    Whole,
    /// The next commit reaches it; its answer does not come back, and nothing else after it.
    CutAtCommit,
    /// Every connection ends at once.
    Broken,
    /// Nothing arrives, and nobody is told.
    Silent,
}

/// A wire to PostgreSQL's socket.
struct Proxy {
    port: u16,
    wire: watch::Sender<Wire>,
}

impl Proxy {
    async fn start(directory: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let wire = watch::Sender::new(Wire::Whole);
        let (socket, state) = (format!("{directory}/.s.PGSQL.5432"), wire.clone());
        tokio::spawn(async move {
            loop {
                let client = listener.accept().await.unwrap().0;
                let server = UnixStream::connect(&socket).await.unwrap();
                let (state, mut broken) = (state.clone(), state.subscribe());
                tokio::spawn(async move {
                    tokio::select! {
                        biased;
                        _ = broken.wait_for(|wire| *wire == Wire::Broken) => {}
                        () = forward(client, server, &state) => {}
                    }
                });
            }
        });
        Self { port, wire }
    }
}

async fn forward(mut client: TcpStream, mut server: UnixStream, wire: &watch::Sender<Wire>) {
    let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let (length, upwards) = tokio::select! {
            read = client.read(&mut up) => (read.unwrap_or(0), true),
            read = server.read(&mut down) => (read.unwrap_or(0), false),
        };
        let state = *wire.borrow();
        if state == Wire::Silent {
            std::future::pending::<()>().await;
        }
        let (passed, commit) = if upwards {
            // To its end: a transaction begins as READ COMMITTED.
            let commit = up[..length].windows(7).any(|bytes| bytes == b"COMMIT\0");
            (server.write_all(&up[..length]).await, commit)
        } else {
            (client.write_all(&down[..length]).await, false)
        };
        if state == Wire::CutAtCommit && commit {
            wire.send_replace(Wire::Broken);
        }
        if length == 0 || passed.is_err() {
            return;
        }
    }
}

/// One server of three, whose others do not run, with a database of its own behind a wire.
struct Server {
    home: PathBuf,
    base: u16,
    child: Child,
    proxy: Proxy,
    databases: Scratch,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already if the test went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn admin() -> String {
    std::env::var("OSTRAKON_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!("OSTRAKON_TEST_POSTGRES is not set: run `cargo xtask test`, or `cargo xtask postgres cargo test …`")
    })
}

async fn database(name: &str) -> Scratch {
    let name = format!("database_{}_{name}", std::process::id());
    Scratch::create(&admin(), vec![name]).await.expect("the tests' PostgreSQL answers")
}

impl Server {
    async fn start(directory: &Path, databases: Scratch) -> Self {
        let admin = admin();
        let (_, socket) =
            admin.split_once("host=").expect("the tests' PostgreSQL is reached by its socket");
        let proxy = Proxy::start(socket.split('&').next().unwrap()).await;
        let url = format!("postgres://postgres@127.0.0.1:{}/{}", proxy.port, databases.names()[0]);
        let (site, base) = (directory.join("site"), free_base_port());
        assert!(
            run(&["init", "--local", site.to_str().unwrap(), "--base-port", &base.to_string()])
                .status
                .success()
        );
        let home = site.join("alpha");
        let config = home.join("server.toml");
        let log = std::fs::File::create(home.join("log")).unwrap();
        let mut command = ostrakon(&["serve", "--config", config.to_str().unwrap()]);
        let child =
            command.env("OSTRAKON_STORE_URL", url).stderr(Stdio::from(log)).spawn().unwrap();
        Self { home, base, child, proxy, databases }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.home.join("log")).unwrap()
    }

    /// Waits until `done` says so, while the process runs.
    async fn until(&mut self, what: &str, mut done: impl AsyncFnMut(&Self) -> bool) {
        let deadline = Instant::now() + LONG;
        while !done(self).await {
            let ended = self.child.try_wait().unwrap();
            assert!(
                ended.is_none() && Instant::now() < deadline,
                "{what} ({ended:?}): {}",
                self.log()
            );
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Until the process has its port, which is early in its start.
    async fn listens(&mut self) {
        let listens =
            async |server: &Self| TcpStream::connect(("127.0.0.1", server.base)).await.is_ok();
        self.until("the server has its port", listens).await;
    }

    /// Until the start is done.
    async fn answers(&mut self) {
        let url = format!("http://127.0.0.1:{}/healthz", self.base);
        let client =
            reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(1)).build().unwrap();
        let answers = async |_: &Self| {
            client.get(&url).send().await.is_ok_and(|answer| answer.status().is_success())
        };
        self.until("the server answers", answers).await;
    }

    async fn end(&mut self, time: Duration) -> ExitStatus {
        let since = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(since.elapsed() < time, "the server does not end: {}", self.log());
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn clean_up(mut self) {
        let none = Scratch::create(&admin(), Vec::new()).await.unwrap();
        std::mem::replace(&mut self.databases, none).remove().await.unwrap();
    }
}

/// Nobody could make this process work again, so it makes way for one that can.
#[tokio::test]
async fn a_commit_of_which_nobody_can_tell_what_became_ends_the_process_with_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::start(directory.path(), database("lost").await).await;
    server.answers().await;
    server.proxy.wire.send_replace(Wire::CutAtCommit);
    // That tokens were read again is put on record.
    signal("HUP", server.child.id());
    server
        .until("the answer is lost", async |server| *server.proxy.wire.borrow() == Wire::Broken)
        .await;
    let status = server.end(GIVEN_UP).await;
    assert_eq!(status.code(), Some(1));
    let log = server.log();
    let asked = log.matches("a commit failed, asking what became of it").count();
    assert_eq!(asked, 1, "once, however often it asks: {log}");
    let last = log.lines().last().unwrap();
    assert!(last.contains("restart the server when it is there"), "{last}");
    server.clean_up().await;
}

/// A write is tried several times before it counts as failed; what is logged is that it has.
#[tokio::test]
async fn a_database_that_is_away_is_logged_once_for_all_tries() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::start(directory.path(), database("away").await).await;
    server.answers().await;
    let before = server.log().len();
    server.proxy.wire.send_replace(Wire::Broken);
    // That tokens were read again is put on record.
    signal("HUP", server.child.id());
    let told = async |server: &Server| server.log().contains("cannot be put on record");
    server.until("it is logged", told).await;
    let log = server.log()[before..].to_owned();
    let failures: Vec<_> = log.lines().filter(|line| line.contains("database")).collect();
    assert_eq!(failures.len(), 2, "that nothing can be written, and what was to be: {log}");
    server.proxy.wire.send_replace(Wire::Whole);
    signal("HUP", server.child.id());
    let again = async |server: &Server| server.log().contains("the store can be written again");
    server.until("it is logged that it is there again", again).await;
    signal("TERM", server.child.id());
    assert!(server.end(STOPPED).await.success());
    server.clean_up().await;
}

#[tokio::test]
async fn a_server_stops_in_time_though_its_database_does_not_answer() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::start(directory.path(), database("silent").await).await;
    server.answers().await;
    server.proxy.wire.send_replace(Wire::Silent);
    signal("TERM", server.child.id());
    let status = server.end(STOPPED).await;
    assert!(status.success(), "{status}");
    server.clean_up().await;
}

/// A start waits for the engine's lock, among other things; an operator need not know when it is
/// done.
#[tokio::test]
async fn a_signal_that_comes_early_is_minded_all_the_same() {
    for (name, early) in [("hangup", "HUP"), ("terminate", "TERM")] {
        let directory = tempfile::tempdir().unwrap();
        let databases = database(name).await;
        let mut holder = PgConnection::connect(&databases.urls()[0]).await.unwrap();
        let lock = sqlx::query("SELECT pg_advisory_lock($1)").bind(ENGINE_LOCK);
        lock.execute(&mut holder).await.unwrap();
        let mut server = Server::start(directory.path(), databases).await;
        server.listens().await;
        signal(early, server.child.id());
        if early == "HUP" {
            holder.close().await.unwrap();
            server.answers().await;
            server
                .until("it is read again", async |server| {
                    server.log().contains("tokens have been read again")
                })
                .await;
            signal("TERM", server.child.id());
        }
        let status = server.end(STOPPED).await;
        assert!(status.success(), "{early}: {status}: {}", server.log());
        server.clean_up().await;
    }
}
