//! Data that are lost: what a server does with an old copy of them, and how the three go on without
//! them.

mod held;
mod many;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ostrakon_mixing::room::{EngineKind, RoomId};
use ostrakon_node::Creator;
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::{NewRoom, Outcome, RoomState};
use sqlx::{AnyConnection, Connection};

use crate::common::engine::Controls;
use crate::common::{Deployment, collects};
use crate::decisions::asking::Asking;
use crate::decisions::group::{Group, records};
use held::HeldProvider;

/// Batches of the second generation are numbered from here.
const SECOND: u64 = 1 << 40;

/// Puts a copy of a directory in another's place.
fn copy(from: &Path, to: &Path) {
    if to.exists() {
        std::fs::remove_dir_all(to).unwrap();
    }
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Whichever server it is: the scheduler contradicts itself in its own log, another one in epochs
/// that it has forgotten.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_with_an_old_copy_of_its_data_says_nothing() {
    for victim in [0, 2] {
        let mut deployment = Deployment::start().await;
        let room = deployment.room(1, 2).await;
        deployment.speak(room, 0).await;
        deployment.everywhere(room, 1).await;
        deployment.stop(victim).await;
        let elsewhere = tempfile::tempdir().unwrap();
        let (old, newest) = (elsewhere.path().join("old"), elsewhere.path().join("newest"));
        copy(&deployment.data(victim), &old);
        deployment.start_again(victim).await;
        for epoch in 1..3 {
            deployment.speak(room, epoch).await;
        }
        deployment.everywhere(room, 3).await;
        deployment.stop(victim).await;
        copy(&deployment.data(victim), &newest);

        copy(&old, &deployment.data(victim));
        deployment.servers[victim] = deployment.restart_without_waiting(victim).await;
        deployment
            .until(victim, |service| {
                service.readiness().detail.contains("older than what this server")
            })
            .await;
        assert!(!deployment.servers[victim].readiness().ready);
        assert_eq!(deployment.messages(victim, room).await.len(), 3, "it still shows what it has");
        let silent = deployment.servers[victim].create_room(NewRoom::named("another")).await;
        assert!(
            matches!(silent, Err(ServiceError::Unavailable(why)) if why.contains("older than"))
        );
        tokio::time::sleep(Duration::from_secs(2)).await;
        for server in 0..3 {
            assert!(
                deployment.servers[server].faults().await.unwrap().is_empty(),
                "nobody is blamed"
            );
        }

        deployment.stop(victim).await;
        copy(&newest, &deployment.data(victim));
        deployment.start_again(victim).await;
        deployment.speak(room, 3).await;
        deployment.everywhere(room, 4).await;
    }
}

/// Everybody says something in an epoch; then a server is gone, and all are stopped. Where openings
/// can be held, the epoch is mixed by then, and not opened.
async fn lose_in_the_middle(deployment: &Deployment, room: RoomId, epoch: u64, lost: usize) {
    hold_openings(deployment, true);
    let before: Vec<_> = deployment.controls.iter().map(mixed).collect();
    for home in 0..3u8 {
        deployment.present(room, usize::from(home), 10 + home).await.expect("present");
    }
    for home in 0..3u8 {
        deployment.take_part(room, epoch, 10 + home, "under way").await;
    }
    for (server, before) in before.into_iter().enumerate() {
        deployment.until(server, |_| mixed(&deployment.controls[server]) > before).await;
    }
    deployment.stop(lost).await;
    for server in (0..3).filter(|server| *server != lost) {
        deployment.stop(server).await;
    }
    hold_openings(deployment, false);
    deployment.lose_data(lost);
}

fn mixed(controls: &Arc<Controls>) -> usize {
    controls.mixed.load(Ordering::SeqCst)
}

fn hold_openings(deployment: &Deployment, hold: bool) {
    for controls in &deployment.controls {
        controls.hold_opening.store(hold, Ordering::SeqCst);
    }
}

/// The files of the two that have kept their data.
async fn states(deployment: &Deployment, lost: usize) -> [Vec<u8>; 2] {
    let mut files = Vec::new();
    for server in (0..3).filter(|server| *server != lost) {
        files.push(deployment.write_state(server).await.expect("it has data"));
    }
    files.try_into().expect("two")
}

/// What is in stock, by number.
fn stock(deployment: &Deployment, server: usize) -> Vec<u64> {
    let files = std::fs::read_dir(deployment.data(server).join("stock")).unwrap();
    let number =
        |path: std::path::PathBuf| path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    files.map(|file| number(file.unwrap().path())).collect()
}

/// Whichever server it is, and with an epoch under way: everything that was published remains,
/// nothing that was prepared is used again, nobody is blamed, and the rooms go on under the same
/// links.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn after_a_renewal_rooms_go_on_with_a_server_that_lost_its_data() {
    for (lost, engine) in [(0, EngineKind::Ruffle), (2, EngineKind::Clarion)] {
        let mut deployment = Deployment::start_mixing().await;
        let room = deployment.room_by(engine, 1, 2).await;
        for epoch in 0..2 {
            deployment.speak(room, epoch).await;
        }
        deployment.everywhere(room, 2).await;
        let (link, said) = (deployment.pinned().await.digest(), deployment.messages(1, room).await);
        deployment.until_status(1, room, |status| collects(status, 2)).await;
        lose_in_the_middle(&deployment, room, 2, lost).await;

        let [one, other] = states(&deployment, lost).await;
        let mut begun = Vec::new();
        for server in 0..3 {
            begun.push(
                deployment.renew(server, [&other, &one]).await.expect("the renewal is sound"),
            );
            assert!(stock(&deployment, server).iter().all(|number| *number < SECOND));
        }
        assert!(begun.iter().all(|each| *each == begun[0]));
        assert_eq!((begun[0].generation, begun[0].rooms, begun[0].closed.len()), (1, 1, 0));
        assert_eq!(
            deployment.renew(1, [&one, &other]).await.unwrap(),
            begun[0],
            "once more does no harm"
        );

        deployment.start_all_again().await;
        assert_eq!(deployment.pinned().await.digest(), link);
        assert_eq!(
            deployment.messages(lost, room).await,
            said,
            "what was published is there again"
        );
        let status = deployment
            .until_status(lost, room, |status| {
                status.epoch.is_some_and(|epoch| epoch.batch.is_some())
            })
            .await;
        let epoch = status.epoch.unwrap();
        assert!(epoch.number > 2 && epoch.batch >= Some(SECOND), "{epoch:?}");
        deployment.speak(room, epoch.number).await;
        deployment.everywhere(room, 3).await;
        for server in 0..3 {
            let spoken = deployment.messages(server, room).await;
            assert!(spoken.starts_with(&said) && spoken.len() == said.len() + 3, "{spoken:?}");
            assert!(stock(&deployment, server).iter().all(|number| *number >= SECOND));
            assert!(
                deployment.servers[server].faults().await.unwrap().is_empty(),
                "nobody is blamed"
            );
        }
        deployment.stop(lost).await;
        deployment.start_again(lost).await;
    }
}

/// Nothing of an epoch that may have been read is said again, and everybody is told.
async fn a_room_ends_whose_messages_may_have_been_read(
    mut deployment: Deployment,
    engine: EngineKind,
) {
    let room = deployment.room_by(engine, 1, 2).await;
    deployment.speak(room, 0).await;
    deployment.everywhere(room, 1).await;
    deployment.until_status(0, room, |status| collects(status, 1)).await;
    lose_in_the_middle(&deployment, room, 1, 2).await;
    let [one, other] = states(&deployment, 2).await;
    for server in 0..3 {
        assert_eq!(deployment.renew(server, [&one, &other]).await.unwrap().closed, [room]);
    }
    deployment.start_all_again().await;
    for server in 0..3 {
        assert_eq!(deployment.servers[server].room(room).await.unwrap().state, RoomState::Closed);
        assert_eq!(deployment.messages(server, room).await.len(), 3, "its board remains");
    }
    for server in 0..2 {
        let status = deployment.until_status(server, room, |status| status.last.is_some()).await;
        assert_eq!(status.may_have_opened, [1], "by the word of two, whatever came after it");
        let last = status.last.unwrap();
        assert!(last.number > 1 || last.outcome == Outcome::MayHaveOpened, "{last:?}");
    }
    let another = deployment.room_by(engine, 1, 2).await;
    deployment.speak(another, 0).await;
    deployment.everywhere(another, 1).await;
}

/// The plain engine cannot tell whether a sealed epoch was read, so it may have been.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_room_ends_whose_messages_may_have_been_read_as_far_as_can_be_told() {
    let deployment = Deployment::start().await;
    a_room_ends_whose_messages_may_have_been_read(deployment, EngineKind::Ruffle).await;
}

/// Clarion can tell: its servers were ready.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_clarion_room_ends_whose_messages_may_have_been_read() {
    let deployment = Deployment::start_mixing_by(|controls| Arc::new(HeldProvider(controls))).await;
    a_room_ends_whose_messages_may_have_been_read(deployment, EngineKind::Clarion).await;
}

/// A corrupt server cannot make the two others speak to each other in different states, nor can a
/// file be used twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_server_speaks_in_a_generation_with_another_state() {
    let mut deployment = Deployment::start().await;
    let room = deployment.room(1, 2).await;
    deployment.speak(room, 0).await;
    deployment.everywhere(room, 1).await;
    for server in 0..3 {
        deployment.stop(server).await;
    }
    deployment.lose_data(2);
    let silent = |why: &'static str| {
        move |service: &ostrakon_node::Service| service.readiness().detail.contains(why)
    };

    let no_state = deployment.write_state(2).await.unwrap_err().to_string();
    assert!(no_state.contains("no data"), "{no_state}");
    let honest = deployment.write_state(0).await.unwrap();
    let shown = deployment.write_state(1).await.unwrap();
    // Server 1 shows server 2 something else.
    let path = deployment.data(1).join("ostrakon.db");
    let mut database =
        AnyConnection::connect(&format!("sqlite://{}", path.display())).await.unwrap();
    sqlx::query("UPDATE rooms SET open = 0").execute(&mut database).await.unwrap();
    database.close().await.unwrap();
    let other = deployment.write_state(1).await.unwrap();

    deployment.servers[0] = deployment.restart_without_waiting(0).await;
    deployment.until(0, silent("has written its state")).await;
    deployment.stop(0).await;
    let mixed_up = deployment.renew(0, [&honest, &honest]).await.unwrap_err().to_string();
    assert!(mixed_up.contains("each of another server"), "{mixed_up}");

    let begun = deployment.renew(0, [&honest, &shown]).await.unwrap();
    assert_ne!(deployment.renew(2, [&honest, &other]).await.unwrap().digest, begun.digest);
    deployment.renew(1, [&honest, &shown]).await.unwrap();
    for server in 0..3 {
        deployment.servers[server] = deployment.restart_without_waiting(server).await;
    }
    deployment.until(0, silent("with another state")).await;
    deployment.until(2, silent("with another state")).await;
    for server in 0..3 {
        deployment.stop(server).await;
    }

    // With the right file the server that has lost its data comes in; when it loses them again, the
    // file is old.
    deployment.lose_data(2);
    assert_eq!(deployment.renew(2, [&shown, &honest]).await.unwrap(), begun);
    deployment.start_all_again().await;
    let number = deployment
        .until_status(2, room, |status| status.epoch.is_some())
        .await
        .epoch
        .unwrap()
        .number;
    deployment.speak(room, number).await;
    deployment.everywhere(room, 2).await;
    deployment.stop(2).await;
    deployment.lose_data(2);
    deployment.renew(2, [&shown, &honest]).await.unwrap();
    deployment.servers[2] = deployment.restart_without_waiting(2).await;
    deployment.until(2, silent("older than what this server")).await;
    deployment.stop(2).await;
    deployment.stop(0).await;
    let old = deployment.renew(0, [&shown, &honest]).await.unwrap();
    assert_eq!(old, begun, "it is in that generation already");
}

/// Good data are not thrown away by mistake.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_with_data_renews_with_its_own_state_only() {
    let deployment = Deployment::start().await;
    let room = deployment.room(1, 2).await;
    deployment.speak(room, 0).await;
    deployment.everywhere(room, 1).await;
    for server in 0..3 {
        deployment.stop(server).await;
    }
    let [one, other] = states(&deployment, 2).await;
    let why = deployment.renew(2, [&one, &other]).await.unwrap_err().to_string();
    assert!(why.contains("none of the files is its state"), "{why}");
    std::fs::remove_dir_all(deployment.data(2)).unwrap();
    let why = deployment.renew(2, [&one, &other]).await.unwrap_err().to_string();
    assert!(why.contains("secrets") && why.contains("backup"), "{why}");
}

/// The server that lost its data does not know the decisions of the generation before. So they end
/// at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_renewal_ends_decisions_and_blames_nobody() {
    let mut deployment = Deployment::start_mixing().await;
    let group = Group::create(&deployment, 2, 1).await;
    for server in 0..3 {
        group.until(&deployment, server, |info| info.records == 1).await;
    }
    let first = records(&deployment.servers[0], group.id).await.remove(0);
    for server in 0..3 {
        deployment.stop(server).await;
    }
    deployment.lose_data(0);
    let [one, other] = states(&deployment, 0).await;
    for server in 0..3 {
        deployment.renew(server, [&one, &other]).await.expect("the renewal is sound");
    }
    deployment.start_all_again().await;
    for server in &deployment.servers {
        assert!(matches!(server.decision(group.id), Err(ServiceError::NotFound(_))));
    }
    // The first server does not know that there was this one. The others do, and take nothing of
    // it.
    deployment.servers[0]
        .create_decision(Creator::Administrator, &first)
        .await
        .expect("as if it were new");
    let next = Group::create(&deployment, 2, 2).await;
    for server in 1..3 {
        next.until(&deployment, server, |info| info.records == 1).await;
        assert!(matches!(
            deployment.servers[server].decision(group.id),
            Err(ServiceError::NotFound(_))
        ));
        assert!(deployment.servers[server].faults().await.unwrap().is_empty(), "nobody is blamed");
    }
}
