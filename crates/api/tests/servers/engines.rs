//! Three servers with the engines that mix.

use ostrakon_mixing::EngineKind;
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::{NewRoom, Outcome};

use crate::common::Deployment;

fn sorted(mut messages: Vec<String>) -> Vec<String> {
    messages.sort();
    messages
}

fn expected(epochs: u64) -> Vec<String> {
    (0..3).flat_map(|who| (0..epochs).map(move |epoch| format!("{who} in {epoch}"))).collect()
}

/// Rooms of one shape, one for each engine: no room takes another one's batches.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rooms_of_every_engine_publish_what_is_said_once_each_side_by_side() {
    let deployment = Deployment::start_mixing().await;
    let mut rooms = Vec::new();
    for engine in EngineKind::ALL {
        rooms.push(deployment.room_by(engine, 1, 2).await);
    }
    for epoch in 0..2 {
        for room in &rooms {
            deployment.speak(*room, epoch).await;
        }
        for room in &rooms {
            deployment.everywhere(*room, epoch + 1).await;
        }
    }
    for room in rooms {
        let status = deployment.until_status(1, room, |status| status.last.is_some()).await;
        assert_eq!(status.last.unwrap().outcome, Outcome::Published);
        for server in 0..3 {
            assert_eq!(
                sorted(deployment.messages(server, room).await),
                expected(2),
                "once each, at server {server}"
            );
            assert!(deployment.servers[server].faults().await.unwrap().is_empty());
        }
    }
}

async fn an_epoch_survives_a_restart_of_every_server_in_turn(engine: EngineKind) {
    let mut deployment = Deployment::start_mixing().await;
    let room = deployment.room_by(engine, 2, 2).await;
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
        assert!(deployment.servers[server].faults().await.unwrap().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_ruffle_epoch_survives_a_restart_of_every_server_in_turn() {
    an_epoch_survives_a_restart_of_every_server_in_turn(EngineKind::Ruffle).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_clarion_epoch_survives_a_restart_of_every_server_in_turn() {
    an_epoch_survives_a_restart_of_every_server_in_turn(EngineKind::Clarion).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_room_whose_engine_the_servers_do_not_have_is_not_opened() {
    let deployment = Deployment::start().await;
    let room = NewRoom { engine: Some(EngineKind::Clarion), ..NewRoom::named("a room") };
    let refused = deployment.servers[0].create_room(room).await;
    assert!(
        matches!(&refused, Err(ServiceError::Refused(why)) if why.contains("engine")),
        "{refused:?}"
    );
}
