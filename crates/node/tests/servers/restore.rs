//! Data that are put back: what a server does with an old copy.

use std::path::Path;
use std::time::Duration;

use ostrakon_node::ServiceError;
use ostrakon_node::interface::NewRoom;

use crate::common::Deployment;

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

/// Whichever server it is: the scheduler contradicts itself in its own log, another one in epochs that it has forgotten.
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
        deployment.until(victim, |service| service.readiness().detail.contains("older than what this server")).await;
        assert!(!deployment.servers[victim].readiness().ready);
        assert_eq!(deployment.messages(victim, room).await.len(), 3, "it still shows what it has");
        let silent = deployment.servers[victim].create_room(NewRoom::named("another")).await;
        assert!(matches!(silent, Err(ServiceError::Unavailable(why)) if why.contains("older than")));
        tokio::time::sleep(Duration::from_secs(2)).await;
        for server in 0..3 {
            assert!(deployment.servers[server].faults().await.unwrap().is_empty(), "nobody is blamed");
        }

        deployment.stop(victim).await;
        copy(&newest, &deployment.data(victim));
        deployment.start_again(victim).await;
        deployment.speak(room, 3).await;
        deployment.everywhere(room, 4).await;
    }
}
