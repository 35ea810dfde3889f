//! What a peer, or somebody who is none, can do to a process's links.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ostrakon_mixer::{Incoming, Links, Peers};
use ostrakon_net::{Identity, any_name};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::world::{PATIENCE, identity};

fn named(i: usize) -> Identity {
    Identity::from_seed(identity(i).expose())
}

/// A process that one peer may dial.
async fn listening() -> (Links, UnboundedReceiver<Incoming>, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let dialling = vec![named(1).verifying_key()];
    let peers = Peers { dialling, dialled: Vec::new(), longest: 1 << 24 };
    let (links, frames) = Links::start(&named(0), Some(listener), peers);
    (links, frames, address)
}

async fn dial(address: SocketAddr) -> TlsStream<TcpStream> {
    let stream = TcpStream::connect(address).await.unwrap();
    let connector = TlsConnector::from(named(1).dial_config(&named(0).verifying_key()));
    connector.connect(any_name(), stream).await.unwrap()
}

async fn linked(links: &Links) {
    let there = async {
        while links.connected() == 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, there).await.unwrap();
}

/// A peer that reads nothing opens link after link: each one ends when the next one is there, with
/// all that was queued for it.
#[tokio::test]
async fn superseded_links_keep_nothing() {
    let (links, _frames, address) = listening().await;
    let frame: Arc<[u8]> = vec![7; 1 << 23].into();
    let mut old = Vec::new();
    for _ in 0..4 {
        let link = dial(address).await;
        linked(&links).await;
        sleep(Duration::from_millis(100)).await;
        (0..8).for_each(|_| links.send(&named(1).verifying_key(), Arc::clone(&frame)));
        sleep(Duration::from_millis(100)).await;
        old.push(link);
    }
    let gone = async {
        // Here, and at the newest link: what it is writing and what waits.
        while Arc::strong_count(&frame) > 1 + 8 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(timeout(Duration::from_secs(10), gone).await.is_ok(), "{}", Arc::strong_count(&frame));
}

/// Somebody holds as many connections open as he likes and authenticates none: peers come in.
#[tokio::test]
async fn connections_that_say_nothing() {
    let (links, _frames, address) = listening().await;
    let hostile = tokio::spawn(async move {
        let mut held = std::collections::VecDeque::new();
        loop {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
            held.push_back(socket.connect(address).await);
            if held.len() > 200 {
                held.pop_front();
                sleep(Duration::from_millis(5)).await;
            }
        }
    });
    sleep(Duration::from_millis(300)).await;
    // Once is enough: nobody is turned away by chance.
    let link = timeout(Duration::from_secs(4), dial(address)).await;
    assert!(link.is_ok(), "turned away");
    linked(&links).await;
    hostile.abort();
}
