//! A malicious P2 among honest P0 and P1: what it says is recorded against it, and harms nobody.

use std::time::Duration;

use ostrakon_crypto::Digest;
use ostrakon_node::evidence::{FaultFile, Finding};
use ostrakon_party::Recipient;
use ostrakon_protocol::NewRoom;

use crate::common::LONG;
use crate::common::scene::{P0, P1, P2, Scene, tag};

/// An announcement's bytes up to the kind: nothing was delivered before it but `own` announcements
/// of P2.
fn announcement(own: u8, kind: u8, rest: &[u8]) -> Vec<u8> {
    [&[3, 0, 0, own, kind], rest].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_announcements_under_one_number_are_evidence_for_anybody() {
    let scene = Scene::start().await;
    // That batch 5, or batch 6, is ready.
    let one = scene.say(P0, Recipient::All, tag(P2, 0, 1), &announcement(0, 3, &[5]));
    let other = scene.say(P1, Recipient::All, tag(P2, 0, 1), &announcement(0, 3, &[6]));
    for (server, own, others) in [(0, one, other), (1, other, one)] {
        let faults = scene.faults(server).await;
        assert_eq!((faults.len(), faults[0].culprit), (1, 2));
        assert!(faults[0].what.contains("two different things"), "{}", faults[0].what);
        assert!(
            scene.party.roster.vouches(&own)
                && scene.party.roster.vouches(&others)
                && own.contradicts(&others)
        );
        let pinned = scene.honest[server].servers().await.unwrap().digest;
        let file = scene.honest[server].fault_files().await.unwrap().remove(0);
        let text = serde_json::to_string(&file).unwrap();
        let (_, finding) =
            FaultFile::verify(&text, Digest::from_hex(&pinned).as_ref(), &[]).unwrap();
        assert_eq!((finding, file.finding), (Finding::Proved, Finding::Proved));
        assert!(
            file.evidence.windows(64).any(|bytes| bytes == &others.signature.0[..]),
            "it holds both signatures"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_announcement_to_one_server_only_blames_nobody_else() {
    let scene = Scene::start().await;
    scene.say(P0, Recipient::One(P0), tag(P2, 0, 1), &announcement(0, 3, &[5]));
    scene.say(P1, Recipient::One(P1), tag(P2, 0, 1), &announcement(0, 3, &[6]));
    for server in 0..2 {
        let faults = scene.faults(server).await;
        assert!(
            faults.iter().all(|fault| fault.culprit == 2 && fault.what.contains("one server only"))
        );
        let files = scene.honest[server].fault_files().await.unwrap();
        assert!(files.iter().all(|file| file.finding == Finding::Proved));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_breaks_the_rules_changes_nothing_and_the_log_goes_on() {
    let scene = Scene::start().await;
    let say = |number: u64, body: &[u8]| {
        for to in [P0, P1] {
            scene.say(to, Recipient::All, tag(P2, number, 1), body);
        }
    };
    say(0, b"no announcement at all");
    // A batch planned by who is not the scheduler; slots in a room that does not exist, with a
    // length that is a lie.
    say(1, &announcement(1, 2, &[0, 0, 9, 48]));
    say(2, &announcement(2, 6, &[&[7; 16][..], &[0, 255, 255, 255, 127]].concat()));
    // An honest one.
    say(3, &announcement(3, 3, &[5]));
    say(4, &announcement(4, 2, &[1, 0, 9, 48]));
    for server in 0..2 {
        let wait = async {
            while scene.honest[server].faults().await.unwrap().len() < 4 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(LONG, wait).await.expect("four faults, with the last announcement's");
        let faults = scene.honest[server].faults().await.unwrap();
        assert!(faults.iter().all(|fault| fault.culprit == 2));
        assert_eq!(faults.iter().filter(|fault| fault.what.contains("well formed")).count(), 2);
        assert_eq!(
            faults.iter().filter(|fault| fault.what.contains("only the scheduler")).count(),
            2
        );
        let files = scene.honest[server].fault_files().await.unwrap();
        assert!(files.iter().all(|file| file.finding == Finding::Proved), "{files:?}");
        assert!(scene.honest[server].rooms().await.unwrap().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_claims_to_have_heard_what_was_never_said_is_on_record_and_waited_for() {
    let scene = Scene::start().await;
    for to in [P0, P1] {
        // After one announcement of P1, which has made none; and an honest one after it.
        scene.say(to, Recipient::All, tag(P2, 0, 1), &[3, 0, 1, 0, 3, 5]);
        scene.say(to, Recipient::All, tag(P2, 1, 1), &announcement(1, 2, &[1, 0, 9, 48]));
    }
    for server in 0..2 {
        let faults = scene.faults(server).await;
        assert_eq!((faults.len(), faults[0].culprit), (1, 2), "the log stands still");
        assert!(faults[0].what.contains("never made"), "{}", faults[0].what);
        let file = scene.honest[server].fault_files().await.unwrap().remove(0);
        assert_eq!(file.finding, Finding::Signed, "it takes P1's log to see it");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_false_echo_and_an_endless_announcement_are_recorded() {
    let scene = Scene::start().await;
    scene.say(P0, Recipient::All, tag(P1, 0, 2), b"an echo of nothing");
    let named = NewRoom::named("a room");
    let room = NewRoom { payload: 32, capacity: 9, seconds: 1, minimum: 1, ..named };
    let creator = scene.honest[1].clone();
    tokio::spawn(async move { creator.create_room(room).await });
    let faults = scene.faults(0).await;
    assert!(faults[0].culprit == 2 && faults[0].what.contains("never announced"));

    scene.say(P1, Recipient::All, tag(P2, 0, 1), &vec![0; (64 << 10) + 1]);
    let faults = scene.faults(1).await;
    assert!(
        faults[0].culprit == 2 && faults[0].what.contains("more than an announcement can hold")
    );
}
