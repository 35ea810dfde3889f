//! What was erased is gone: from the boards and from the disks of all three servers, and the chain
//! holds.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ostrakon_broadcast::hosting::{Deed, MessageId};
use ostrakon_mixing::room::RoomId;
use ostrakon_net::Timing;
use ostrakon_node::platform::System;
use ostrakon_node::{Service, ThreeServers};
use ostrakon_protocol::NewRoom;
use ostrakon_protocol::ServiceError;

use crate::common::clocked::{Ahead, Clocked};
use crate::common::{Deployment, LONG};
use crate::hosting::Hosted;

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Starts a server again where hours are over at once.
async fn hasten(deployment: &mut Deployment, server: usize) -> Arc<Clocked> {
    let config = deployment.servers[server].config().clone();
    deployment.stop(server).await;
    let system = System::new(Timing { patience: Duration::from_millis(300), ..Timing::default() });
    let platform = Arc::new(Clocked { at_once: HOUR, ..Clocked::new(system, Ahead::default()) });
    let service =
        Service::start_on(Arc::<Clocked>::clone(&platform), config, Arc::new(ThreeServers)).await;
    deployment.servers[server] = service.expect("the server starts");
    platform
}

/// Whether a text is in any file below a directory.
fn is_in(directory: &Path, text: &str) -> bool {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let holds = |bytes: Vec<u8>| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    entries.into_iter().any(|path| match path.is_dir() {
        true => is_in(&path, text),
        false => std::fs::read(&path).is_ok_and(holds),
    })
}

fn on_disk(deployment: &Deployment, server: usize, text: &str) -> bool {
    is_in(&deployment.data(server), text)
}

/// Waits until a text is gone from a server's disk.
async fn gone(deployment: &Deployment, server: usize, text: &str) {
    let gone = async {
        while on_disk(deployment, server, text) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(LONG, gone).await.unwrap_or_else(|_| panic!("{text:?} is at {server}"));
}

/// The place of what was said in the first epoch.
async fn place(deployment: &Deployment, room: RoomId, text: &str) -> MessageId {
    let messages = deployment.messages(0, room).await;
    let index = messages.iter().position(|message| message == text).expect("it was said");
    MessageId { epoch: 0, index: u32::try_from(index).unwrap() }
}

async fn sorted(deployment: &Deployment, server: usize, room: RoomId) -> Vec<String> {
    let mut messages = deployment.messages(server, room).await;
    messages.sort();
    messages
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_a_host_erases_is_gone_even_where_the_server_ended_just_then_or_was_away() {
    let mut deployment = Deployment::start_mixing().await;
    let mut hosted = Hosted::create(&deployment, NewRoom::named("a room")).await;
    let room = hosted.room;
    deployment.speak(room, 0).await;
    deployment.everywhere(room, 1).await;
    let action = hosted.next(Deed::Erase { target: place(&deployment, room, "1 in 0").await });
    let ending = hasten(&mut deployment, 1).await;
    deployment.until(1, |service| service.readiness().ready).await;
    deployment.until(0, |service| service.readiness().ready).await;
    assert!((0..3).all(|server| on_disk(&deployment, server, "1 in 0")));
    // One server hears of it but comes to its end before it has done anything, and another is
    // stopped at once.
    ending.ended.store(true, Ordering::SeqCst);
    deployment.servers[0].act(room, action.clone()).await.unwrap();
    hosted.log.apply(&action).unwrap();
    deployment.until_status(1, room, |status| status.actions == 1).await;
    deployment.stop(0).await;
    deployment.stop(1).await;
    assert!(on_disk(&deployment, 1, "1 in 0"));
    for server in 0..2 {
        deployment.servers[server] = deployment.restart_without_waiting(server).await;
    }
    for server in 0..3 {
        deployment.until_status(server, room, |status| status.actions == 1).await;
        gone(&deployment, server, "1 in 0").await;
        assert_eq!(
            sorted(&deployment, server, room).await,
            ["0 in 0", "2 in 0"],
            "the archive verifies"
        );
    }
    // Closed for good; what was said is gone, and what is being said. One server is away.
    deployment.speak(room, 1).await;
    deployment.stop(2).await;
    deployment.servers[0].act(room, hosted.next(Deed::EraseAll)).await.unwrap();
    deployment.start_again(2).await;
    deployment.everywhere(room, 2).await;
    for server in 0..3 {
        for text in ["0 in 0", "2 in 0", "0 in 1", "1 in 1", "2 in 1"] {
            gone(&deployment, server, text).await;
        }
        assert!(deployment.messages(server, room).await.is_empty(), "the archive verifies");
    }
    assert!(matches!(deployment.present(room, 1, 10).await, Err(ServiceError::Conflict(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_erased_before_it_is_published_never_comes_up() {
    let deployment = Deployment::start_mixing().await;
    let mut hosted = Hosted::create(&deployment, NewRoom::named("a room")).await;
    let room = hosted.room;
    hosted.act(&deployment, Deed::Erase { target: MessageId { epoch: 0, index: 1 } }).await;
    deployment.speak(room, 0).await;
    deployment.everywhere(room, 1).await;
    let left = sorted(&deployment, 0, room).await;
    assert_eq!(left.len(), 2);
    let erased = ["0 in 0", "1 in 0", "2 in 0"]
        .into_iter()
        .find(|text| !left.iter().any(|message| message == text));
    for server in 0..3 {
        assert_eq!(sorted(&deployment, server, room).await, left, "the archive verifies");
        gone(&deployment, server, erased.unwrap()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_older_than_the_room_keeps_it_is_gone() {
    let mut deployment = Deployment::start_mixing().await;
    let days = NewRoom { retention_days: Some(1), ..NewRoom::named("a room") };
    let room = Hosted::create(&deployment, days).await.room;
    deployment.speak(room, 0).await;
    deployment.everywhere(room, 1).await;
    let mut platforms = Vec::new();
    for server in 0..3 {
        platforms.push(hasten(&mut deployment, server).await);
    }
    // Several hours, as these platforms count them, and no day.
    deployment.until_status(0, room, |_| true).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(sorted(&deployment, 0, room).await, ["0 in 0", "1 in 0", "2 in 0"]);
    for platform in platforms {
        platform.ahead.store(2 * DAY.as_millis() as u64, Ordering::SeqCst);
    }
    for server in 0..3 {
        deployment.until_status(server, room, |_| true).await;
        for text in ["0 in 0", "1 in 0", "2 in 0"] {
            gone(&deployment, server, text).await;
        }
        assert!(deployment.messages(server, room).await.is_empty(), "the archive verifies");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_room_that_one_operator_deletes_is_closed_everywhere_and_gone_there() {
    let mut deployment = Deployment::start_mixing().await;
    let hosted = Hosted::create(&deployment, NewRoom::named("a room")).await;
    let room = hosted.room;
    deployment.speak(room, 0).await;
    deployment.everywhere(room, 1).await;
    assert!(on_disk(&deployment, 1, "0 in 0"));

    deployment.servers[1].delete_room(room).await.expect("deleted");
    deployment.servers[1].delete_room(room).await.expect("the same once more");
    let hidden = async |service: &Service| {
        let refused = service.status(room, 0, Duration::ZERO).await.expect_err("it is not shown");
        assert!(
            matches!(&refused, ServiceError::NotFound(text) if text.contains("deleted")),
            "{refused}"
        );
        assert!(
            service.board(room, 0, Duration::ZERO).await.is_err() && service.archive(room).is_err()
        );
        assert!(
            service.actions(room, 0).await.is_err() && service.rooms().await.unwrap().is_empty()
        );
        assert!(service.code(&room.code()).is_err());
    };
    hidden(&deployment.servers[1]).await;
    let said = ["0 in 0", "1 in 0", "2 in 0"];
    for text in said {
        gone(&deployment, 1, text).await;
    }
    // The others keep what they have, and take nothing more.
    for server in [0, 2] {
        deployment.until_status(server, room, |status| status.epoch.is_none()).await;
        assert_eq!(sorted(&deployment, server, room).await, said);
        assert!(matches!(
            deployment.present(room, server, 20).await,
            Err(ServiceError::Conflict(_))
        ));
    }
    // It stays so, and a host still erases what the others have.
    deployment.stop(1).await;
    deployment.start_again(1).await;
    hidden(&deployment.servers[1]).await;
    let erase = hosted.next(Deed::EraseAll);
    deployment.servers[0].act(room, erase).await.expect("taken");
    for text in said {
        gone(&deployment, 2, text).await;
    }
}
