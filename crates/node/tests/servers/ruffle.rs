//! Three servers with the real engine.

use crate::common::Deployment;
use ostrakon_node::interface::Outcome;

fn sorted(mut messages: Vec<String>) -> Vec<String> {
    messages.sort();
    messages
}

fn expected(epochs: u64) -> Vec<String> {
    (0..3).flat_map(|who| (0..epochs).map(move |epoch| format!("{who} in {epoch}"))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ruffle_rooms_publish_what_is_said_once_each() {
    let deployment = Deployment::start_ruffle().await;
    let room = deployment.room(1, 2).await;
    for epoch in 0..2 {
        deployment.speak(room, epoch).await;
        deployment.everywhere(room, epoch + 1).await;
    }
    let status = deployment.until_status(1, room, |status| status.last.is_some()).await;
    assert_eq!(status.last.unwrap().outcome, Outcome::Published);
    for server in 0..3 {
        assert_eq!(
            sorted(deployment.messages(server, room).await),
            expected(2),
            "once each, at server {server}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_ruffle_epoch_survives_a_restart_of_every_server_in_turn() {
    let mut deployment = Deployment::start_ruffle().await;
    let room = deployment.room(2, 2).await;
    for victim in 0..3usize {
        let epoch = victim as u64;
        deployment.speak(room, epoch).await;
        // The servers stop at whatever point of the epoch this is, from collecting to signing.
        deployment
            .until_status(victim, room, |status| status.epoch.is_none_or(|e| e.number > epoch))
            .await;
        deployment.stop(victim).await;
        deployment.start_again(victim).await;
        deployment.everywhere(room, epoch + 1).await;
    }
    for server in 0..3 {
        assert_eq!(
            sorted(deployment.messages(server, room).await),
            expected(3),
            "once each, at server {server}"
        );
    }
}
