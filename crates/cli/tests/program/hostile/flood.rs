//! Connections that are opened and not used as they are meant to be, while honest participants
//! speak.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use ostrakon_mixing::link::Link;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use super::resident;
use crate::common::nightly;
use crate::common::rogue::{answer, client, elsewhere};
use crate::common::servers::{PAUSE, Servers};
use crate::common::speakers::Speakers;

/// Connections of each kind to each server; more at night, when nothing else runs beside.
const EACH: usize = 6;
const EACH_AT_NIGHT: usize = 150;
/// Bytes by which a server may grow: some 1500 connections with 64 KiB each, and the work of some
/// epochs.
const GROWTH: u64 = 160 << 20;
/// Longer than a server keeps a connection without a request.
const SILENCE: Duration = Duration::from_secs(25);
/// Longer than a server is patient with anything but waiting for news.
const AFTER_ALL: Duration = Duration::from_secs(180);
/// Requests of one address that may wait for news, and how many of them come.
const MAY_WAIT: u32 = 16;
const WAITING: u32 = 48;

#[tokio::test(flavor = "multi_thread")]
async fn honest_participants_are_served_while_connections_are_abused() {
    let directory = tempfile::tempdir().unwrap();
    let mut servers = Servers::new(directory.path());
    (0..3).for_each(|n| {
        servers.reconfigure(n, |config| config.limits.waiting_per_address = MAY_WAIT)
    });
    servers.start_all();
    servers.ready().await;
    let links = servers.room(2);
    let speakers = Speakers::start(3, &links);
    speakers.more(&servers, 1).await;
    let before: Vec<u64> = (0..3).map(|n| resident(servers.process(n))).collect();
    let mut abuse = JoinSet::new();
    for (n, link) in links.iter().enumerate() {
        let public = link.origin.trim_start_matches("http://").parse().expect("an address");
        abuse_public(&mut abuse, public, link);
        abuse_mesh(&mut abuse, SocketAddr::from(([127, 0, 0, 1], servers.mesh_port(n))));
    }
    speakers.more(&servers, 1).await;
    too_many_wait(&links[0]).await;
    for (n, before) in before.iter().enumerate() {
        let grown = resident(servers.process(n)).saturating_sub(*before);
        assert!(grown < GROWTH, "server {n} has grown by {} MiB", grown >> 20);
    }
    // Everything above ends because the servers end it.
    let mut ended: BTreeMap<&str, usize> = BTreeMap::new();
    let all = async {
        while let Some(kind) = abuse.join_next().await {
            *ended.entry(kind.expect("no abuser fails")).or_default() += 1;
        }
    };
    let left = tokio::time::timeout(AFTER_ALL, all).await;
    assert!(
        left.is_ok(),
        "the servers leave whoever abuses them; of each kind {} have ended: {ended:?}",
        3 * each()
    );
    speakers.more(&servers, 1).await;
    speakers.end().await.check(&servers.boards(&links[0]).await[0]);
    servers.stop_all().await;
}

fn each() -> usize {
    if nightly() { EACH_AT_NIGHT } else { EACH }
}

/// Bytes that are nothing in particular.
fn garbage(n: usize) -> Vec<u8> {
    (0..2000usize).map(|i| (i * i * (n + 7) / 8) as u8).collect()
}

/// A connection from an address with limits.
async fn connect(to: SocketAddr, from: u8) -> TcpStream {
    loop {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_reuseaddr(true).expect("an option");
        socket.bind((elsewhere(from), 0).into()).expect("all of 127.0.0.0/8 is this machine");
        match socket.connect(to).await {
            Ok(stream) => return stream,
            // Others have filled the queue of connections that wait to be accepted.
            Err(error) if error.kind() == ErrorKind::TimedOut => {}
            Err(error) => panic!("the server does not listen: {error}"),
        }
    }
}

/// Reads until the server has closed the connection.
async fn until_closed(mut stream: TcpStream) -> String {
    let mut rest = Vec::new();
    // A reset is an end as well.
    let _ = stream.read_to_end(&mut rest).await;
    String::from_utf8_lossy(&rest).into_owned()
}

fn abuse_public(abuse: &mut JoinSet<&'static str>, to: SocketAddr, link: &Link) {
    let room = link.room.to_hex();
    for n in 0..each() {
        // Nothing at all.
        abuse.spawn(async move {
            let mut stream = connect(to, 31).await;
            if tokio::time::timeout(SILENCE, stream.read(&mut [0])).await.is_err() {
                // When very many come at once, the system forgets connections that it has not
                // handed over to the server, and tells so only who writes.
                let _ = stream.write_all(b"?").await;
                until_closed(stream).await;
            }
            "nothing"
        });
        // A header that does not end, byte by byte.
        abuse.spawn(async move {
            drip(connect(to, 32).await, b"GET / HTTP/1.1\r\nx-", b'y').await;
            "headers"
        });
        // A body that does not end.
        let head = format!(
            "POST /api/v1/rooms/{room}/presence HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n\
             content-length: 60000\r\n\r\n"
        );
        abuse.spawn(async move {
            drip(connect(to, 33).await, head.as_bytes(), b' ').await;
            "bodies"
        });
        // Answers that are not read: as many as the kernel and the server hold.
        let unread = b"GET /api/v1/openapi.json HTTP/1.1\r\nhost: a\r\n\r\n".repeat(400);
        abuse.spawn(async move {
            let mut stream = connect(to, 34).await;
            // It never reads. When the server has given it up, writing fails, or goes on only
            // because it fits into buffers.
            let _ = stream.write_all(&unread).await;
            while stream.write_all(b" ").await.is_ok() {
                tokio::time::sleep(PAUSE).await;
            }
            "unread answers"
        });
        // No HTTP.
        abuse.spawn(async move {
            let mut stream = connect(to, 35).await;
            let _ = stream.write_all(&garbage(n)).await;
            until_closed(stream).await;
            "garbage"
        });
    }
}

/// Sends a beginning and then a byte now and then.
async fn drip(mut stream: TcpStream, begin: &[u8], byte: u8) {
    let _ = stream.write_all(begin).await;
    while stream.write_all(&[byte]).await.is_ok() {
        let mut answer = [0; 1024];
        match tokio::time::timeout(Duration::from_secs(1), stream.read(&mut answer)).await {
            Ok(Ok(1..)) => {
                let text = String::from_utf8_lossy(&answer);
                assert!(
                    text.starts_with("HTTP/1.1 408") && text.contains("application/problem+json"),
                    "{text}"
                );
            }
            Ok(_) => return,
            Err(_) => {}
        }
    }
}

fn abuse_mesh(abuse: &mut JoinSet<&'static str>, to: SocketAddr) {
    for n in 0..each() {
        abuse.spawn(async move {
            let mut stream = connect(to, 36).await;
            // Nothing, garbage, the beginning of a greeting in TLS.
            let begin: Vec<u8> = match n % 3 {
                0 => Vec::new(),
                1 => garbage(n),
                _ => vec![22, 3, 1, 1, 0],
            };
            let _ = stream.write_all(&begin).await;
            until_closed(stream).await;
            "the mesh"
        });
    }
}

/// More requests that wait for news than one address may have. Those that are too many are told so,
/// at once.
async fn too_many_wait(link: &Link) {
    let (http, path) = (
        client(elsewhere(37)),
        format!("{}/api/v1/rooms/{}/board", link.origin, link.room.to_hex()),
    );
    let mut waiting = JoinSet::new();
    for _ in 0..WAITING {
        let request = http.get(&path).query(&[("from", 1_000_000), ("wait", 25)]);
        waiting.spawn(async move { answer(request).await.0.as_u16() });
    }
    let mut refused = 0;
    let first = async {
        while let Some(Ok(status)) = waiting.join_next().await {
            if status == 429 {
                refused += 1;
            }
            if refused >= WAITING - MAY_WAIT {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), first)
        .await
        .expect("those who are too many are refused at once");
    tokio::time::sleep(PAUSE).await;
    let other = client(elsewhere(38));
    let (status, text) = answer(other.get(&path)).await;
    assert_eq!(status, 200, "others are not concerned: {text}");
}
