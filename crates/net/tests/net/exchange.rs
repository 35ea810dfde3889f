//! Delivery over loopback: in every order, through restarts, cuts, forgeries and limits.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{Site, pattern, start_all, tag, until_reach, within};
use ostrakon_net::{Quota, Reach};
use ostrakon_party::{Body, Length, PartyId};

const ANY: Length = Length::AtMost(1 << 30);
/// What has to be fast is tried so often: on a busy machine anything can be slow, but what waits
/// for a timer always is.
const ATTEMPTS: u32 = 5;
const P0: PartyId = PartyId(0);
const P1: PartyId = PartyId(1);
const P2: PartyId = PartyId(2);

#[tokio::test]
async fn every_pair_exchanges_messages_both_ways() {
    let (_site, all) = start_all(3).await;
    for (_, party) in &all {
        for peer in party.peers() {
            party.send(
                peer,
                tag(0, u32::from(peer.0)),
                format!("{} to {peer}", party.id).into_bytes(),
            );
        }
    }
    for (_, party) in &all {
        for peer in party.peers() {
            let got =
                within(10, party.receive(peer, tag(0, u32::from(party.id.0)), ANY)).await.unwrap();
            assert_eq!(&got.body[..], format!("{peer} to {}", party.id).as_bytes());
        }
    }
}

#[tokio::test]
async fn a_message_posted_before_the_peer_runs_arrives() {
    let (site, mut listeners) = Site::new(2).await;
    let (l1, l0) = (listeners.pop().unwrap(), listeners.pop().unwrap());
    drop(l1);
    let (_m0, p0) = site.start(0, l0);
    p0.send(P1, tag(0, 0), b"small".to_vec());
    p0.send(P1, tag(0, 1), pattern(1 << 20));
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (_m1, p1) = site.start(1, site.listen_again(1).await);
    assert_eq!(&within(10, p1.receive(P0, tag(0, 0), ANY)).await.unwrap().body[..], b"small");
    assert_eq!(within(10, p1.receive(P0, tag(0, 1), ANY)).await.unwrap().body, pattern(1 << 20));
}

#[tokio::test]
async fn a_restarted_sender_that_posts_again_is_heard() {
    for restarted in [0, 1] {
        let (site, mut all) = start_all(2).await;
        let sender = all.remove(restarted);
        let (receiver_mesh, receiver) = all.pop().unwrap();
        let from = sender.1.id;
        until_reach(&receiver_mesh, from.0, Reach::Direct).await;
        let waiting =
            tokio::spawn(async move { receiver.receive(from, tag(3, 0), ANY).await.unwrap() });
        tokio::time::sleep(Duration::from_millis(100)).await;
        sender.0.shutdown().await;
        drop(sender);
        let (_mesh, again) = site.start(from.0, site.listen_again(from.0).await);
        again.send(PartyId(1 - from.0), tag(3, 0), pattern(300_000));
        assert_eq!(within(10, waiting).await.unwrap().body, pattern(300_000));
    }
}

#[tokio::test]
async fn a_body_that_the_receiver_has_does_not_travel() {
    const LENGTH: usize = 4 << 20;
    let (_site, all) = start_all(2).await;
    let ((_, p0), (m1, p1)) = (&all[0], &all[1]);
    until_reach(m1, 0, Reach::Direct).await;
    let known = Body::new(pattern(LENGTH));
    p0.send(P1, tag(0, 0), known.clone());
    p0.send(P1, tag(0, 1), pattern(LENGTH + 1));
    let received = || m1.peer_states()[&P0].bytes_received;
    let before = received();
    let same = within(10, p1.receive_known(P0, tag(0, 0), ANY, Some(&known))).await.unwrap();
    assert_eq!(same.body, known.bytes());
    assert!(received() - before < LENGTH as u64 / 8, "the header alone");
    let other = within(10, p1.receive_known(P0, tag(0, 1), ANY, Some(&known))).await.unwrap();
    assert_eq!(other.body, pattern(LENGTH + 1));
    // Who has it no longer is sent all of it.
    let again = within(10, p1.receive(P0, tag(0, 0), ANY)).await.unwrap();
    assert_eq!(again.body, known.bytes());
}

#[tokio::test]
async fn long_messages_travel_when_asked_for_and_do_not_hold_up_short_ones() {
    let (_site, all) = start_all(2).await;
    let ((m0, p0), (m1, p1)) = (&all[0], &all[1]);
    let body = bytes::Bytes::from(pattern(20 << 20));
    until_reach(m1, 0, Reach::Direct).await;
    // Unasked, neither a long message nor an offer moves.
    p0.send(P1, tag(0, 0), body.clone());
    p0.offer(P1, tag(0, 1), b"offered".to_vec());
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(m0.peer_state(P1).unwrap().bytes_sent < 10_000);
    let long = p1.receive(P0, tag(0, 0), Length::Exactly(20 << 20));
    let short = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        p0.send(P1, tag(0, 2), b"short".to_vec());
        p1.receive(P0, tag(0, 2), ANY).await
    };
    let (long, short) = within(20, async { tokio::join!(long, short) }).await;
    assert_eq!(long.unwrap().body, body);
    assert_eq!(&short.unwrap().body[..], b"short");
    assert_eq!(&within(10, p1.receive(P0, tag(0, 1), ANY)).await.unwrap().body[..], b"offered");
    let sent = m0.peer_state(P1).unwrap().bytes_sent;
    assert!((20 << 20..(20 << 20) + (20 << 20) / 100).contains(&sent), "{sent} bytes for one copy");
    assert!(m1.peer_state(P0).unwrap().bytes_received >= 20 << 20);
}

#[tokio::test]
async fn a_long_message_awaited_beforehand_is_sent_once_when_it_is_posted() {
    let (_site, all) = start_all(2).await;
    let ((m0, p0), (m1, p1)) = (&all[0], &all[1]);
    until_reach(m1, 0, Reach::Direct).await;
    let mut fastest = Duration::MAX;
    for sequence in 0..ATTEMPTS {
        let before = m0.peer_state(P1).unwrap().bytes_sent;
        let waiting = p1.receive(P0, tag(0, sequence), ANY);
        let posting = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            p0.send(P1, tag(0, sequence), pattern(2 << 20));
        };
        let began = tokio::time::Instant::now();
        let (got, ()) = within(60, async { tokio::join!(waiting, posting) }).await;
        assert_eq!(got.unwrap().body.len(), 2 << 20);
        fastest = fastest.min(began.elapsed());
        assert!(m0.peer_state(P1).unwrap().bytes_sent - before < (2 << 20) + 100_000);
    }
    assert!(fastest < Duration::from_millis(900), "it did not wait to be asked a second time");
}

#[tokio::test]
async fn too_long_a_message_is_refused_with_evidence() {
    let (site, all) = start_all(2).await;
    let (p0, p1) = (&all[0].1, &all[1].1);
    for (sequence, length) in [(0, 1000), (1, 1 << 20)] {
        let signed = p0.send(P1, tag(0, sequence), pattern(length));
        let refused =
            within(10, p1.receive(P0, tag(0, sequence), Length::AtMost(999))).await.unwrap_err();
        assert_eq!(refused.0, signed);
        assert!(site.roster.vouches(&refused.0));
    }
    let received = all[1].0.peer_state(P0).unwrap().bytes_received;
    assert!(received < 100_000, "the long body stayed where it was, yet {received} bytes came");
}

#[tokio::test]
async fn early_messages_beyond_the_quota_are_asked_for_later() {
    let (mut site, listeners) = Site::new(2).await;
    site.quota = Quota { bytes: 40_000, messages: 10 };
    let all: Vec<_> =
        (0..2).zip(listeners).map(|(id, listener)| site.start(id, listener)).collect();
    let (p0, p1) = (&all[0].1, &all[1].1);
    until_reach(&all[0].0, 1, Reach::Direct).await;
    for sequence in 0..100 {
        p0.send(P1, tag(0, sequence), vec![7; 1000]);
    }
    p0.send(P1, tag(1, 0), b"last".to_vec());
    within(10, p1.receive(P0, tag(1, 0), ANY)).await.unwrap();
    for sequence in (0..100).rev() {
        let got = within(10, p1.receive(P0, tag(0, sequence), ANY)).await.unwrap();
        assert_eq!(got.body, vec![7; 1000]);
    }
}

#[tokio::test]
async fn a_forged_message_is_followed_by_another_copy() {
    let (_site, all) = start_all(2).await;
    let (p0, p1) = (&all[0].1, &all[1].1);
    // Signed by another: Party sees it as forged and waits for the next copy.
    let header = ostrakon_party::Header {
        session: p0.roster.session,
        tag: tag(0, 0),
        from: P0,
        to: ostrakon_party::Recipient::One(P1),
        length: 3,
        digest: ostrakon_party::Header::digest_of(b"lie"),
    };
    let signed = header.sign(&ostrakon_crypto::SigningKey::from_seed(&[99; 32]));
    let forged =
        ostrakon_party::Message { signed, body: bytes::Bytes::from_static(b"lie"), depth: 1 };
    all[0].0.channel().post(P1, forged);
    let waiting = p1.receive(P0, tag(0, 0), ANY);
    let correcting = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        p0.send(P1, tag(0, 0), b"truth".to_vec());
    };
    let (got, ()) = within(10, async { tokio::join!(waiting, correcting) }).await;
    assert_eq!(&got.unwrap().body[..], b"truth");
}

#[tokio::test]
async fn a_cancelled_wait_loses_nothing() {
    let (_site, all) = start_all(2).await;
    let (p0, p1) = (&all[0].1, &all[1].1);
    let waiting =
        tokio::time::timeout(Duration::from_millis(200), p1.receive(P0, tag(0, 0), ANY)).await;
    assert!(waiting.is_err());
    p0.send(P1, tag(0, 0), pattern(200_000));
    p1.patience().await;
    assert_eq!(within(10, p1.receive(P0, tag(0, 0), ANY)).await.unwrap().body.len(), 200_000);
}

#[tokio::test]
async fn retired_instances_are_forgotten_on_both_sides() {
    let (_site, all) = start_all(2).await;
    let (p0, p1) = (&all[0].1, &all[1].1);
    p0.send(P1, tag(0, 0), b"kept".to_vec());
    p0.send(P1, tag(1, 0), b"over".to_vec());
    p0.retire(tag(1, 0).instance);
    assert!(
        tokio::time::timeout(Duration::from_millis(1500), p1.receive(P0, tag(1, 0), ANY))
            .await
            .is_err()
    );
    within(10, p1.receive(P0, tag(0, 0), ANY)).await.unwrap();
    p1.retire(tag(2, 0).instance);
    p0.send(P1, tag(2, 0), b"late".to_vec());
    assert!(
        tokio::time::timeout(Duration::from_millis(300), p1.receive(P0, tag(2, 0), ANY))
            .await
            .is_err()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_link_is_relayed_and_healed() {
    let (_site, all) = start_all(3).await;
    let (m0, p0) = &all[0];
    let (m2, p2) = &all[2];
    until_reach(m0, 2, Reach::Direct).await;
    until_reach(m0, 1, Reach::Direct).await;
    until_reach(m2, 1, Reach::Direct).await;
    let body = bytes::Bytes::from(pattern(20 << 20));
    p0.send(P2, tag(0, 0), body.clone());
    p2.send(P0, tag(0, 0), body.clone());
    // One side's refusal is enough.
    m2.set_blocked(P0, true);
    until_reach(m0, 2, Reach::Relayed(P1)).await;
    until_reach(m2, 0, Reach::Relayed(P1)).await;
    let both =
        async { tokio::join!(p2.receive(P0, tag(0, 0), ANY), p0.receive(P2, tag(0, 0), ANY)) };
    let (a, b) = within(20, both).await;
    assert_eq!(a.unwrap().body, body);
    assert_eq!(b.unwrap().body, body);
    m2.set_blocked(P0, false);
    until_reach(m0, 2, Reach::Direct).await;
    until_reach(m2, 0, Reach::Direct).await;
    p0.send(P2, tag(0, 1), b"direct again".to_vec());
    within(10, p2.receive(P0, tag(0, 1), ANY)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_in_the_middle_of_a_long_message_is_survived() {
    let (_site, all) = start_all(3).await;
    let (m0, p0) = &all[0];
    let (m1, p1) = &all[1];
    until_reach(m0, 1, Reach::Direct).await;
    let body = bytes::Bytes::from(pattern(100 << 20));
    p0.send(P1, tag(0, 0), body.clone());
    let cutting = async {
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(15)).await;
            m1.set_blocked(P0, true);
            tokio::time::sleep(Duration::from_millis(15)).await;
            m1.set_blocked(P0, false);
        }
    };
    let (got, ()) =
        within(30, async { tokio::join!(p1.receive(P0, tag(0, 0), ANY), cutting) }).await;
    assert_eq!(got.unwrap().body, body);
    assert!(m0.peer_state(P1).unwrap().links > 1);
}

#[test]
fn the_channel_may_be_awaited_outside_of_the_runtime() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (_site, all) = runtime.block_on(start_all(2));
    let (p0, p1) = (&all[0].1, &all[1].1);
    p0.send(P1, tag(0, 0), b"x".to_vec());
    futures::executor::block_on(async {
        p1.patience().await;
        p1.receive(P0, tag(0, 0), ANY).await.unwrap();
    });
    runtime.block_on(all[1].0.shutdown());
    assert_eq!(crate::common::reach(&all[1].0, 0), Reach::No);
}

#[tokio::test]
async fn what_came_to_be_awaited_during_a_cut_is_asked_for_on_reconnection() {
    let (_site, all) = start_all(2).await;
    let ((m0, p0), (m1, p1)) = (&all[0], &all[1]);
    let mut fastest = Duration::MAX;
    for sequence in 0..ATTEMPTS {
        until_reach(m0, 1, Reach::Direct).await;
        m0.set_blocked(P1, true);
        until_reach(m1, 0, Reach::No).await;
        p0.send(P1, tag(0, sequence), pattern(100_000));
        let receiving = async {
            let got = p1.receive(P0, tag(0, sequence), ANY).await;
            (got, tokio::time::Instant::now())
        };
        let healing = async {
            m0.set_blocked(P1, false);
            until_reach(m1, 0, Reach::Direct).await;
            tokio::time::Instant::now()
        };
        let ((got, received), healed) =
            within(60, async { tokio::join!(receiving, healing) }).await;
        got.unwrap();
        fastest = fastest.min(received.saturating_duration_since(healed));
    }
    assert!(fastest < Duration::from_millis(500), "not only when the timer says so");
}

#[tokio::test]
async fn peers_learn_of_each_other_and_of_their_clocks() {
    let (_site, all) = start_all(2).await;
    let ((m0, _), (m1, _)) = (&all[0], &all[1]);
    m0.introduce(b"zero".to_vec().into(), Arc::new(|| 1_000_000));
    m1.introduce(vec![b'1'; ostrakon_net::probe::MAX_ABOUT + 1].into(), Arc::new(|| 1_090_000));
    within(10, async {
        while m0.acquaintances()[&P1].clock_ahead.is_none()
            || m1.acquaintances()[&P0].clock_ahead.is_none()
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let (of_one, of_zero) = (&m0.acquaintances()[&P1], &m1.acquaintances()[&P0]);
    assert_eq!((of_one.clock_ahead, of_zero.clock_ahead), (Some(90_000), Some(-90_000)));
    assert_eq!(
        (&of_zero.about[..], of_one.about.len()),
        (&b"zero"[..], ostrakon_net::probe::MAX_ABOUT)
    );
    assert_eq!(of_one.trouble, None);
}
