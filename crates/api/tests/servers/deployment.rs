//! Servers end to end: set-up, stock, epochs, boards, restarts.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::common::{Deployment, collects, issue_request, key};
use ostrakon_mixing::envelope;
use ostrakon_mixing::envelope::IssueName;
use ostrakon_mixing::room::RoomId;
use ostrakon_node::operator::WarningKind;
use ostrakon_party::PartyId;
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::{IssueRequest, MixingPhase, Outcome, RoomState, Status};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_said_is_published_by_all_servers_epoch_after_epoch() {
    let deployment = Deployment::start().await;
    let room = deployment.room(1, 2).await;
    for epoch in 0..3 {
        deployment.speak(room, epoch).await;
    }
    deployment.everywhere(room, 3).await;
    let expected: Vec<_> =
        (0..3).flat_map(|epoch| (0..3).map(move |who| format!("{who} in {epoch}"))).collect();
    for server in 0..3 {
        assert_eq!(deployment.messages(server, room).await, expected);
    }
    let status = deployment.until_status(0, room, |status| status.last.is_some()).await;
    assert_eq!(status.last.unwrap().outcome, Outcome::Published);
    let metrics = deployment.servers[0].metrics();
    assert!(metrics.contains("ostrakon_epochs_total{outcome=\"published\"} 3"), "{metrics}");
    let ids: Vec<_> = deployment.servers.iter().map(|server| server.servers()).collect();
    let ids = futures::future::join_all(ids).await;
    assert!(
        ids.iter().all(|info| info.as_ref().unwrap().digest == ids[0].as_ref().unwrap().digest)
    );
}

/// Two servers that bear one corrupt, or four: with one silent nothing stands, and none is special.
async fn every_server_of_so_many_may_stop_and_start_again(parties: u8) {
    let mut deployment = Deployment::start_of(parties).await;
    // All hand something in one after the other, on a slow machine too.
    let room = deployment.room(4, 1).await;
    for victim in 0..usize::from(parties) {
        let epoch = victim as u64;
        deployment.speak(room, epoch).await;
        deployment.stop(victim).await;
        deployment.start_again(victim).await;
        deployment.everywhere(room, epoch + 1).await;
    }
    let said = |epoch| (0..parties).map(move |who| format!("{who} in {epoch}"));
    let expected: Vec<_> = (0..parties).flat_map(said).collect();
    for server in 0..usize::from(parties) {
        assert_eq!(deployment.messages(server, room).await, expected, "at server {server}");
        assert!(deployment.servers[server].faults().await.unwrap().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_of_two_servers_may_stop_and_start_again() {
    every_server_of_so_many_may_stop_and_start_again(2).await;
}

/// At night of five and seven, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_of_four_servers_or_more_may_stop_and_start_again() {
    let numbers: &[u8] = if ostrakon_testkit::nightly() { &[4, 5, 7] } else { &[4] };
    for parties in numbers {
        every_server_of_so_many_may_stop_and_start_again(*parties).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_room_that_nobody_visits_uses_up_no_stock_and_a_closed_one_takes_nobody() {
    let deployment = Deployment::start().await;
    let room = deployment.room(1, 1).await;
    let status =
        deployment.until_status(0, room, |status| collects(status, 0) && status.stock == 2).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let later = deployment.servers[0].status(room, 0, Duration::ZERO).await.unwrap();
    assert_eq!((later.epoch.unwrap().number, later.stock), (0, 2));
    assert_eq!(later.epoch.unwrap().batch, status.epoch.unwrap().batch);
    let info = deployment.servers[2].close_room(room).await.unwrap();
    assert_eq!(info.state, RoomState::Closed);
    deployment.until_status(0, room, |status| status.epoch.is_none()).await;
    assert!(matches!(deployment.present(room, 2, 1).await, Err(ServiceError::Conflict(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_submission_per_participant_and_nothing_for_strangers() {
    let deployment = Deployment::start().await;
    let room = deployment.room(5, 1).await;
    deployment.until_status(1, room, |status| collects(status, 0)).await;
    deployment.present(room, 1, 10).await.unwrap();
    let request = deployment.submission(room, 0, 10, "one").await;
    let service = &deployment.servers[0];
    service.submit(room, 0, request.clone()).await.unwrap();
    service.submit(room, 0, request.clone()).await.expect("the same again is accepted");
    let other = deployment.submission(room, 0, 10, "two").await;
    assert!(matches!(service.submit(room, 0, other.clone()).await, Err(ServiceError::Conflict(_))));

    let mut long = request.clone();
    long.body = vec![0; 80 + 1025];
    assert_eq!(
        service.submit(room, 0, long).await,
        Err(ServiceError::TooLarge { limit: 80 + 1024 })
    );
    let mut malformed = request.clone();
    malformed.body.pop();
    assert!(matches!(
        deployment.servers[1].submit(room, 0, malformed).await,
        Err(ServiceError::Refused(_))
    ));
    let mut stranger = request.clone();
    stranger.key = ostrakon_crypto::SigningKey::from_seed(&[99; 32]).verifying_key();
    assert!(matches!(service.submit(room, 0, stranger).await, Err(ServiceError::NotFound(_))));
    assert!(matches!(
        service.submit(room, 7, request.clone()).await,
        Err(ServiceError::NotFound(_))
    ));
    let nowhere = service.submit(RoomId([0; 16]), 0, request).await;
    assert!(matches!(nowhere, Err(ServiceError::NotFound(_))));
    assert!(
        service.is_administrator("a-token-of-some-length") && !service.is_administrator("another")
    );
}

/// What a server sends to the owner of a slot is of no use to whoever stands in between, and cannot
/// be passed off as another's.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_issue_opens_for_its_owner_and_in_its_server_s_place_only() {
    let deployment = Deployment::start().await;
    let room = deployment.room(5, 1).await;
    deployment.until_status(1, room, |status| collects(status, 0)).await;
    deployment.present(room, 1, 10).await.unwrap();
    let opened = deployment.issue(room, 0, 1, 10).await;
    assert_eq!((opened.context.epoch.number, opened.slot % 3), (0, 1));
    let name = |party| IssueName { room, number: 0, party: PartyId(party) };
    let (owner, service) = (key(10), &deployment.servers[1]);
    let request = issue_request(&name(1), &owner);
    let sent = service.issue(room, 0, request.clone()).await.unwrap().issue;
    let pinned = deployment.pinned().await;
    assert_eq!(envelope::open(&pinned, &name(1), &owner, &sent), Ok(opened));
    for (place, reader) in [(name(0), &owner), (name(2), &owner), (name(1), &key(66))] {
        assert!(envelope::open(&pinned, &place, reader, &sent).is_err());
    }
    // Whoever stands in between would have to ask for an exchange key of its own.
    let own = IssueRequest { exchange: issue_request(&name(1), &key(66)).exchange, ..request };
    assert!(matches!(service.issue(room, 0, own).await, Err(ServiceError::Forbidden(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_accused_server_leaves_no_entry_and_the_next_epoch_goes_on() {
    let deployment = Deployment::start().await;
    let room = deployment.room(1, 2).await;
    deployment.controls.iter().for_each(|controls| controls.accuse.store(true, Ordering::SeqCst));
    deployment.speak(room, 0).await;
    let status = deployment.until_status(1, room, |status| status.last.is_some()).await;
    assert_eq!(status.last.unwrap().outcome, Outcome::Cheated);
    assert_eq!(status.board_length, 0);
    deployment.controls.iter().for_each(|controls| controls.accuse.store(false, Ordering::SeqCst));
    deployment.speak(room, 1).await;
    deployment.everywhere(room, 1).await;
    assert_eq!(deployment.messages(2, room).await, ["0 in 1", "1 in 1", "2 in 1"]);
}

/// Nobody is blamed, but operators are told which two it was, from the third time on.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_servers_that_stop_epochs_again_and_again_are_told_to_operators() {
    let deployment = Deployment::start().await;
    let room = deployment.room(1, 2).await;
    deployment.controls.iter().for_each(|controls| controls.disagree.store(true, Ordering::SeqCst));
    let mut told = Vec::new();
    for epoch in 0..3 {
        deployment.speak(room, epoch).await;
        let mut warned = Vec::new();
        for (server, service) in deployment.servers.iter().enumerate() {
            let over =
                |status: &Status| status.last.as_ref().is_some_and(|last| last.number >= epoch);
            deployment.until_status(server, room, over).await;
            let warnings = service.overview().await.unwrap().warnings;
            let aborts = warnings.iter().filter(|one| one.kind == WarningKind::RepeatedAborts);
            warned.push(aborts.map(|warning| warning.party).collect::<Vec<_>>());
            assert!(service.faults().await.unwrap().is_empty());
        }
        told.push(warned);
    }
    assert!(told[..2].iter().flatten().all(Vec::is_empty), "{told:?}");
    assert_eq!(told[2], [vec![1, 2], vec![2], vec![1]], "no server suspects itself");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_stops_while_an_epoch_is_computed_takes_it_up_again() {
    let mut deployment = Deployment::start().await;
    let room = deployment.room(1, 2).await;
    for victim in 0..3usize {
        let epoch = victim as u64;
        deployment.controls[victim].hold_opening.store(true, Ordering::SeqCst);
        let before = deployment.controls[victim].mixed.load(Ordering::SeqCst);
        deployment.speak(room, epoch).await;
        let controls = deployment.controls[victim].clone();
        deployment.until(victim, |_| controls.mixed.load(Ordering::SeqCst) > before).await;
        deployment.stop(victim).await;
        deployment.controls[victim].hold_opening.store(false, Ordering::SeqCst);
        deployment.start_again(victim).await;
        deployment.everywhere(room, epoch + 1).await;
    }
    let expected: Vec<_> =
        (0..3).flat_map(|epoch| (0..3).map(move |who| format!("{who} in {epoch}"))).collect();
    for server in 0..3 {
        assert_eq!(
            deployment.messages(server, room).await,
            expected,
            "once each, at server {server}"
        );
    }
}

/// One server has an entry, and the two others, who have read everything, say nothing of it.
/// Whoever asks any of them is told that the messages may have been read, until they are published.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_epoch_that_was_opened_is_in_doubt_until_it_is_published() {
    let mut deployment = Deployment::start().await;
    let room = deployment.room(1, 2).await;
    let silence = |deployment: &Deployment, silent: bool| {
        for controls in &deployment.controls[1..] {
            controls.hold_opened.store(silent, Ordering::SeqCst);
        }
    };
    silence(&deployment, true);
    deployment.speak(room, 0).await;
    let phase = |status: &Status, phase| status.mixing.iter().any(|mix| mix.phase == phase);
    for server in 1..3 {
        let opens = |status: &Status| !status.may_have_opened.is_empty();
        let status = deployment.until_status(server, room, opens).await;
        assert!(phase(&status, MixingPhase::Mixing), "it has begun to open");
    }
    for restarted in [false, true] {
        if restarted {
            deployment.stop(0).await;
            deployment.start_again(0).await;
        }
        let signs = |status: &Status| phase(status, MixingPhase::Signing);
        let status = deployment.until_status(0, room, signs).await;
        assert_eq!(status.may_have_opened, [0], "restarted: {restarted}");
    }
    silence(&deployment, false);
    deployment.everywhere(room, 1).await;
    for server in 0..3 {
        let published = |status: &Status| status.board_length == 1;
        let status = deployment.until_status(server, room, published).await;
        assert!(status.may_have_opened.is_empty(), "it is on the board of server {server}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_that_stop_while_an_epoch_collects_lose_no_submission() {
    let mut deployment = Deployment::start().await;
    let room = deployment.room(6, 2).await;
    deployment.speak(room, 0).await;
    for victim in 0..3 {
        deployment.stop(victim).await;
    }
    for victim in 0..3 {
        deployment.servers[victim] = deployment.restart_without_waiting(victim).await;
    }
    deployment.everywhere(room, 1).await;
    for server in 0..3 {
        assert_eq!(deployment.messages(server, room).await, ["0 in 0", "1 in 0", "2 in 0"]);
    }
    // And life goes on.
    deployment.speak(room, 1).await;
    deployment.everywhere(room, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_lost_batch_voids_its_epoch_and_no_other() {
    let mut deployment = Deployment::start().await;
    let room = deployment.room(1, 2).await;
    let status = deployment.until_status(1, room, |status| collects(status, 0)).await;
    let batch = status.epoch.unwrap().batch.unwrap();
    deployment.stop(1).await;
    std::fs::write(deployment.data(1).join(format!("stock/{batch}.batch")), b"damaged").unwrap();
    deployment.start_again(1).await;
    let status = deployment.until_status(2, room, |status| collects(status, 1)).await;
    assert_eq!(status.last.unwrap().outcome, Outcome::Failed);
    deployment.speak(room, 1).await;
    deployment.everywhere(room, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_cut_between_two_servers_delays_and_harms_nothing() {
    let deployment = Deployment::start().await;
    let room = deployment.room(1, 2).await;
    deployment.until_status(0, room, |status| collects(status, 0)).await;
    deployment.servers[0].set_blocked(ostrakon_party::PartyId(1), true);
    deployment.servers[1].set_blocked(ostrakon_party::PartyId(0), true);
    deployment.speak(room, 0).await;
    deployment.everywhere(room, 1).await;
    deployment.servers[0].set_blocked(ostrakon_party::PartyId(1), false);
    deployment.servers[1].set_blocked(ostrakon_party::PartyId(0), false);
    deployment.speak(room, 1).await;
    deployment.everywhere(room, 2).await;
    assert_eq!(deployment.messages(0, room).await, deployment.messages(1, room).await);
}
