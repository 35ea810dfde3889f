//! The same among other numbers of servers than three, with the engine of the tests.

use ostrakon_protocol::Status;

use super::{SECOND, copy, stock};
use crate::common::Deployment;

/// An old copy of a server's data says nothing; and when it has lost them, the files of all others
/// are needed, and enough.
async fn data_of_one_of_so_many_are_put_back_or_renewed(parties: u8) {
    let (servers, lost) = (usize::from(parties), usize::from(parties) - 1);
    let mut deployment = Deployment::start_of(parties).await;
    let room = deployment.room(4, 1).await;
    deployment.speak(room, 0).await;
    deployment.everywhere(room, 1).await;
    deployment.stop(lost).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let (old, newest) = (elsewhere.path().join("old"), elsewhere.path().join("newest"));
    copy(&deployment.data(lost), &old);
    deployment.start_again(lost).await;
    deployment.speak(room, 1).await;
    deployment.everywhere(room, 2).await;
    deployment.stop(lost).await;
    copy(&deployment.data(lost), &newest);
    copy(&old, &deployment.data(lost));
    deployment.servers[lost] = deployment.restart_without_waiting(lost).await;
    let older = "older than what this server";
    deployment.until(lost, |service| service.readiness().detail.contains(older)).await;
    deployment.stop(lost).await;
    copy(&newest, &deployment.data(lost));
    deployment.start_again(lost).await;
    let said = deployment.messages(lost, room).await;

    for server in 0..servers {
        deployment.stop(server).await;
    }
    deployment.lose_data(lost);
    let mut files = Vec::new();
    for server in 0..lost {
        files.push(deployment.write_state(server).await.expect("it has data"));
    }
    if servers > 2 {
        let fewer = deployment.renew_by(lost, &files[1..]).await;
        assert!(fewer.is_err(), "all others' files are needed");
    }
    let mut begun = Vec::new();
    for server in 0..servers {
        begun.push(deployment.renew_by(server, &files).await.expect("the renewal is sound"));
    }
    assert!(begun.iter().all(|each| *each == begun[0] && each.rooms == 1));
    deployment.start_all_again().await;
    assert_eq!(deployment.messages(lost, room).await, said, "it is there again");
    let has_stock = |status: &Status| status.epoch.is_some_and(|epoch| epoch.batch.is_some());
    let status = deployment.until_status(lost, room, has_stock).await;
    deployment.speak(room, status.epoch.unwrap().number).await;
    deployment.everywhere(room, 3).await;
    for server in 0..servers {
        assert!(stock(&deployment, server).iter().all(|number| *number >= SECOND));
        assert!(deployment.servers[server].faults().await.unwrap().is_empty(), "nobody is blamed");
        assert_eq!(deployment.messages(server, room).await.len(), said.len() + servers);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn data_of_one_of_four_servers_are_put_back_or_renewed() {
    data_of_one_of_so_many_are_put_back_or_renewed(4).await;
}

/// At night of two, five and seven, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn data_of_one_of_any_number_of_servers_are_put_back_or_renewed() {
    let numbers: &[u8] = if ostrakon_testkit::nightly() { &[2, 5, 7] } else { &[2] };
    for parties in numbers {
        data_of_one_of_so_many_are_put_back_or_renewed(*parties).await;
    }
}
