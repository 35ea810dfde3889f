//! What strangers, and parties that break the rules, can do to a mesh: lose their own connection.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{Site, pattern, reach, seed, tag, until_reach, within};
use bytes::Bytes;
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_net::frame::{Frame, Hello, Leg, Part, Relay, VERSION, chunk_prefix};
use ostrakon_net::{Identity, Mesh, Reach, StartError};
use ostrakon_party::{Header, Length, Message, Party, PartyId, Recipient, SessionId};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const ANY: Length = Length::AtMost(1 << 30);
const P0: PartyId = PartyId(0);
const P1: PartyId = PartyId(1);
const P2: PartyId = PartyId(2);

#[tokio::test]
async fn strangers_on_the_port_disturb_nobody() {
    let (site, mut listeners) = Site::new(2).await;
    let (l1, l0) = (listeners.pop().unwrap(), listeners.pop().unwrap());
    let (m1, p1) = site.start(1, l1);
    let mut strangers = Vec::new();
    for i in 0..20usize {
        let mut stranger = TcpStream::connect(site.addresses[1]).await.unwrap();
        match i % 3 {
            0 => stranger.write_all(&pattern(1000)).await.unwrap(),
            // The beginning of a TLS record, and then nothing more.
            1 => stranger.write_all(&[22, 3, 1, 1]).await.unwrap(),
            _ => {}
        }
        strangers.push(stranger);
    }
    let (_m0, p0) = site.start(0, l0);
    p0.send(P1, tag(0, 0), b"through".to_vec());
    within(30, p1.receive(P0, tag(0, 0), ANY)).await.unwrap();
    // Whoever does not finish the handshake in time is closed.
    within(30, async {
        for mut stranger in strangers {
            let mut sink = Vec::new();
            let _ = stranger.read_to_end(&mut sink).await;
        }
    })
    .await;
    assert_eq!(reach(&m1, 0), Reach::Direct);
}

/// P0 as it should not be: holds its key, and sends what it likes.
async fn rogue(site: &Site, session: SessionId) -> TlsStream<TcpStream> {
    let mut tls = mute(site).await;
    let mut hello = Vec::new();
    Frame::Hello(Hello { version: VERSION, session }).encode(&mut hello);
    tls.write_all(&hello).await.unwrap();
    tls
}

/// The same, before its greeting.
async fn mute(site: &Site) -> TlsStream<TcpStream> {
    let config = Identity::from_seed(&seed(P0)).dial_config(&site.roster.keys[1]);
    let stream = TcpStream::connect(site.addresses[1]).await.unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    TlsConnector::from(config).connect(name, stream).await.unwrap()
}

/// P1, honest, with nobody at P0's place. What ends here ends because P1 ends it, not because it
/// was slow.
async fn alone() -> (Site, Arc<Mesh>, Party) {
    let (mut site, mut listeners) = Site::new(3).await;
    site.timing.handshake = Duration::from_secs(60);
    site.timing.dead_after = Duration::from_secs(60);
    let l1 = listeners.remove(1);
    let (mesh, party) = site.start(1, l1);
    (site, mesh, party)
}

fn announce(length: u64, sequence: u32, transfer: u32) -> Vec<u8> {
    let header = header(length, sequence);
    let signed = header.sign(&SigningKey::from_seed(&seed(P0)));
    let mut bytes = Vec::new();
    Frame::Head { transfer, signed, depth: 1, length }.encode(&mut bytes);
    bytes
}

fn header(length: u64, sequence: u32) -> Header {
    Header {
        session: SessionId(Digest([7; 32])),
        tag: tag(0, sequence),
        from: P0,
        to: Recipient::One(P1),
        length,
        digest: Header::digest_of(&pattern(usize::try_from(length.min(1 << 20)).unwrap())),
    }
}

/// A number that P1 does not give to tunnels of its own: it counts from zero.
const CIRCUIT: u32 = 1 << 30;

fn relay(peer: PartyId, leg: Leg, part: Part) -> Vec<u8> {
    let mut bytes = Vec::new();
    Frame::Relay(Relay { peer, leg, circuit: CIRCUIT, part }).encode(&mut bytes);
    bytes
}

#[tokio::test]
async fn a_malformed_frame_closes_the_connection_and_nothing_else() {
    let (site, m1, p1) = alone().await;
    let mut hello = Vec::new();
    Frame::Hello(Hello { version: VERSION, session: site.roster.session }).encode(&mut hello);
    let bad: Vec<(&str, Vec<u8>)> = vec![
        ("an unknown kind", vec![99, 0, 0, 0, 0, 0, 0, 0]),
        ("too long a frame", vec![4, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
        ("a ping with contents", vec![2, 1, 0, 0, 0, 0, 0, 0, 0]),
        ("a second greeting", hello),
        ("a want that is not one", [&[3, 4, 0, 0, 0, 0, 0, 0][..], &[0xff; 4]].concat()),
        ("an announcement of a short message", announce(10, 1, 0)),
        ("relaying to the sender", relay(P0, Leg::Onward, Part::Open)),
        ("relaying to the relay", relay(P1, Leg::Onward, Part::Open)),
        ("relaying to no party", relay(PartyId(9), Leg::Onward, Part::Open)),
        ("a tunnel from a party that does not dial", relay(P2, Leg::Arrived, Part::Open)),
    ];
    for (what, bytes) in bad {
        let mut tls = rogue(&site, site.roster.session).await;
        until_reach(&m1, 0, Reach::Direct).await;
        tls.write_all(&bytes).await.unwrap();
        let mut sink = Vec::new();
        let closed =
            tokio::time::timeout(Duration::from_secs(30), tls.read_to_end(&mut sink)).await;
        assert!(closed.is_ok(), "{what} was tolerated");
        until_reach(&m1, 0, Reach::No).await;
    }
    // A message of ten chunks that has eleven.
    let waiting =
        tokio::spawn(async move { p1.receive(P0, tag(0, 0), Length::AtMost(1 << 20)).await });
    let mut tls = rogue(&site, site.roster.session).await;
    until_reach(&m1, 0, Reach::Direct).await;
    tls.write_all(&announce(100_000, 0, 5)).await.unwrap();
    tls.write_all(&chunk_prefix(5, 100_001)).await.unwrap();
    tls.write_all(&pattern(100_001)).await.unwrap();
    until_reach(&m1, 0, Reach::No).await;
    assert!(!waiting.is_finished());
    // And the right thing, afterwards, is taken; so are chunks of nothing, which are skipped.
    let mut tls = rogue(&site, site.roster.session).await;
    until_reach(&m1, 0, Reach::Direct).await;
    tls.write_all(&[&chunk_prefix(77, 1000)[..], &pattern(1000)].concat()).await.unwrap();
    tls.write_all(&announce(100_000, 0, 5)).await.unwrap();
    tls.write_all(&chunk_prefix(5, 100_000)).await.unwrap();
    tls.write_all(&pattern(100_000)).await.unwrap();
    tls.flush().await.unwrap();
    assert_eq!(within(30, waiting).await.unwrap().unwrap().body, pattern(100_000));
}

#[tokio::test]
async fn an_announcement_reserves_nothing_beyond_the_limit() {
    let (site, m1, p1) = alone().await;
    let waiting =
        tokio::spawn(async move { p1.receive(P0, tag(0, 0), Length::AtMost(1 << 20)).await });
    let mut tls = rogue(&site, site.roster.session).await;
    until_reach(&m1, 0, Reach::Direct).await;
    // Not awaited at all, and awaited with a lower limit: 2^60 bytes would not be had.
    tls.write_all(&announce(1 << 60, 9, 1)).await.unwrap();
    tls.write_all(&announce(1 << 60, 0, 2)).await.unwrap();
    let refused = within(30, waiting).await.unwrap().unwrap_err();
    assert_eq!(refused.0.header.length, 1 << 60);
    assert_eq!(reach(&m1, 0), Reach::Direct);
}

#[tokio::test]
async fn a_party_of_another_session_is_refused() {
    let (site, m1, _p1) = alone().await;
    let mut tls = rogue(&site, SessionId(Digest([8; 32]))).await;
    let mut sink = Vec::new();
    let _ = within(30, tls.read_to_end(&mut sink)).await;
    assert_eq!(m1.peer_state(P0).unwrap().links, 0);
}

#[tokio::test]
async fn two_releases_that_do_not_understand_each_other_both_say_so() {
    let (site, m1, _p1) = alone().await;
    let mut tls = mute(&site).await;
    // A later version's greeting has whatever it likes after the version.
    let body = [&[VERSION as u8 + 1][..], b"a longer greeting"].concat();
    let prefix = [1, body.len() as u8, 0, 0, 0, 0, 0, 0];
    tls.write_all(&[&prefix[..], &body].concat()).await.unwrap();
    let mut answer = vec![0; 128];
    let n = tls.read(&mut answer).await.unwrap();
    assert_eq!(
        answer[8],
        VERSION as u8,
        "the other side can read which version is spoken here: {:?}",
        &answer[..n]
    );
    within(30, async {
        loop {
            let trouble = m1.acquaintances()[&P0].trouble.clone().unwrap_or_default();
            if trouble.contains(&format!("the peer speaks version {}", VERSION + 1)) {
                assert!(trouble.contains("upgrade this server"), "{trouble}");
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_eq!(reach(&m1, 0), Reach::No);
}

#[tokio::test]
async fn a_relay_that_cannot_pass_on_says_so() {
    let (site, m1, _p1) = alone().await;
    let mut tls = rogue(&site, site.roster.session).await;
    until_reach(&m1, 0, Reach::Direct).await;
    tls.write_all(&relay(P2, Leg::Onward, Part::Data(Bytes::from_static(b"x")))).await.unwrap();
    let expected = relay(P2, Leg::Arrived, Part::End);
    let mut seen = Vec::new();
    within(30, async {
        while !seen.windows(expected.len()).any(|window| window == expected) {
            tls.read_buf(&mut seen).await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn who_sends_into_a_tunnel_that_is_no_more_is_told_so_at_once() {
    let (site, m1, _p1) = alone().await;
    let mut tls = rogue(&site, site.roster.session).await;
    until_reach(&m1, 0, Reach::Direct).await;
    // Two ends that do not know a tunnel must not tell each other so for ever: an end has no
    // answer.
    for part in [Part::End, Part::Data(Bytes::from_static(b"x")), Part::Credit(1)] {
        tls.write_all(&relay(P2, Leg::Arrived, part)).await.unwrap();
    }
    let end = relay(P2, Leg::Onward, Part::End);
    let count = |seen: &[u8]| seen.windows(end.len()).filter(|window| *window == end).count();
    let mut seen = Vec::new();
    within(30, async {
        while count(&seen) < 2 {
            tls.read_buf(&mut seen).await.unwrap();
        }
    })
    .await;
    drop(tokio::time::timeout(Duration::from_millis(300), tls.read_to_end(&mut seen)).await);
    assert_eq!(count(&seen), 2, "to the data and to the credit, not to the end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_early_messages_and_wants_is_survived() {
    let (site, m1, p1) = alone().await;
    let mut tls = rogue(&site, site.roster.session).await;
    until_reach(&m1, 0, Reach::Direct).await;
    let signed = header(1 << 10, 0).sign(&SigningKey::from_seed(&seed(P0)));
    for sequence in 0..20_000 {
        let mut bytes = Vec::new();
        let mut junk = Message { signed, body: pattern(1 << 10).into(), depth: 1 };
        junk.signed.header.tag = tag(5, sequence);
        Frame::Whole(junk).encode(&mut bytes);
        let want = ostrakon_net::frame::Want {
            tag: tag(6, sequence),
            limit: u64::MAX,
            again: true,
            known: None,
        };
        Frame::Want(want).encode(&mut bytes);
        tls.write_all(&bytes).await.unwrap();
    }
    let mut good = Vec::new();
    Frame::Whole(Message { signed, body: pattern(1 << 10).into(), depth: 1 }).encode(&mut good);
    let waiting = tokio::spawn(async move { p1.receive(P0, tag(0, 0), ANY).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    tls.write_all(&good).await.unwrap();
    tls.flush().await.unwrap();
    assert_eq!(within(30, waiting).await.unwrap().unwrap().body, pattern(1 << 10));
}

#[tokio::test]
async fn a_contradictory_configuration_is_explained() {
    let (site, mut listeners) = Site::new(2).await;
    let mut config = site.config(0, listeners.remove(0));
    config.identity = Identity::from_seed(&[77; 32]);
    assert!(matches!(Mesh::start(config), Err(StartError::WrongKey(id)) if id == P0));
    let mut config = site.config(0, site.listen_again(0).await);
    config.addresses.clear();
    assert!(matches!(Mesh::start(config), Err(StartError::NoAddress(id)) if id == P1));
}

#[tokio::test]
async fn a_silent_connection_is_given_up() {
    let (mut site, mut listeners) = Site::new(2).await;
    site.timing.handshake = Duration::from_secs(60);
    site.timing.dead_after = Duration::from_secs(2);
    let (m1, _p1) = site.start(1, listeners.remove(1));
    let _tls = rogue(&site, site.roster.session).await;
    until_reach(&m1, 0, Reach::Direct).await;
    until_reach(&m1, 0, Reach::No).await;
    assert!(m1.peer_state(P0).unwrap().last_seen.unwrap() >= Duration::from_secs(2));
}

#[tokio::test]
async fn idle_links_stay_up() {
    let (mut site, listeners) = Site::new(2).await;
    site.timing.dead_after = Duration::from_secs(3);
    let all: Vec<_> =
        (0..2).zip(listeners).map(|(id, listener)| site.start(id, listener)).collect();
    until_reach(&all[0].0, 1, Reach::Direct).await;
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert_eq!(all[0].0.peer_state(P1).unwrap().links, 1);
}
