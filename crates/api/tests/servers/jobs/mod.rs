//! A job that the tests bring along, at real servers: what is said at one is shown alike by all,
//! also after each was restarted.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt;
use ostrakon_job::Subject;
use ostrakon_protocol::{JobView, ServiceError};
use serde_json::json;

use crate::common::{Deployment, LONG};

const SUBJECT: Subject = [7; 16];

/// Waits until a server shows something.
async fn until(deployment: &Deployment, server: usize, expected: &serde_json::Value) -> JobView {
    let service = &deployment.servers[server];
    let wait = async {
        let mut version = 0;
        loop {
            let wait = Duration::from_millis(500);
            match service.job_view("hands", SUBJECT, version, wait).await {
                Ok(shown) if shown.view == *expected => return shown,
                Ok(shown) => version = shown.version,
                Err(_) => tokio::time::sleep(Duration::from_millis(30)).await,
            }
        }
    };
    tokio::time::timeout(LONG, wait).await.expect("in time")
}

async fn raise(deployment: &Deployment, server: usize, name: &str) {
    deployment.servers[server].job_say("hands", SUBJECT, name.as_bytes()).await.expect("said");
}

async fn hands_are_shown_alike_by_all_servers_and_after_a_restart_of_each(parties: u8) {
    let mut deployment = Deployment::start_of(parties).await;
    let servers: Vec<_> = (0..parties).map(|server| format!("server {server}")).collect();
    let mut names = servers.clone();
    for victim in 0..usize::from(parties) {
        let name = format!("somebody at {victim}");
        raise(&deployment, victim, &name).await;
        raise(&deployment, victim, &name).await;
        names.push(name);
        names.sort();
        // It stops wherever this is: before the others have heard of it, or before it has seen all.
        deployment.stop(victim).await;
        deployment.start_again(victim).await;
        for server in 0..usize::from(parties) {
            until(&deployment, server, &json!({ "hands": names, "seen": parties })).await;
        }
    }
    for server in &deployment.servers {
        assert!(server.faults().await.unwrap().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_job_is_the_same_at_two_servers() {
    hands_are_shown_alike_by_all_servers_and_after_a_restart_of_each(2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_job_is_the_same_at_four_servers() {
    hands_are_shown_alike_by_all_servers_and_after_a_restart_of_each(4).await;
}

/// Servers are upgraded one after another. What is said of a job meanwhile is nobody's fault, and
/// who is upgraded last has it as the others do.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_learns_a_job_last_has_it_like_the_others() {
    let mut deployment = Deployment::start().await;
    let knows = |deployment: &Deployment, job: bool| {
        deployment.controls[2].knows_no_job.store(!job, Ordering::SeqCst);
    };
    deployment.stop(2).await;
    knows(&deployment, false);
    deployment.start_again(2).await;
    raise(&deployment, 0, "somebody").await;
    let mut hands = vec!["server 0", "server 1", "somebody"];
    for server in 0..2 {
        until(&deployment, server, &json!({ "hands": hands, "seen": 0 })).await;
    }
    // What is asked of one of the two is said once all others have it.
    for (server, name) in [(0, "more"), (1, "most")] {
        raise(&deployment, server, name).await;
    }
    assert!(matches!(
        deployment.servers[2].job_say("hands", SUBJECT, b"x").await,
        Err(ServiceError::NotFound(_))
    ));
    // Once more without it, as after any restart; then with it.
    for job in [false, true] {
        deployment.stop(2).await;
        knows(&deployment, job);
        deployment.start_again(2).await;
        assert_eq!(deployment.servers[2].faults().await.unwrap(), []);
    }
    hands.extend(["server 2", "more", "most"]);
    hands.sort_unstable();
    for server in 0..3 {
        until(&deployment, server, &json!({ "hands": hands, "seen": 3 })).await;
        assert_eq!(deployment.servers[server].faults().await.unwrap(), []);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_a_job_does_not_take_is_refused_and_what_is_not_there_is_not_shown() {
    let deployment = Deployment::start_of(2).await;
    let service = &deployment.servers[0];
    let shown = async |job: &str| service.job_view(job, SUBJECT, 0, Duration::ZERO).await;
    assert!(matches!(shown("hands").await, Err(ServiceError::NotFound(_))));
    // Nobody waits for what may never be there: the answer is known before anything happens.
    let waiting = service.job_view("hands", SUBJECT, 0, Duration::from_secs(3600)).now_or_never();
    assert!(matches!(waiting, Some(Err(ServiceError::NotFound(_)))));
    let long = service.job_say("hands", SUBJECT, &[b'x'; 41]).await;
    assert!(
        matches!(&long, Err(ServiceError::Refused(why)) if why.contains("40 bytes")),
        "{long:?}"
    );
    assert!(matches!(service.job_say("feet", SUBJECT, b"x").await, Err(ServiceError::NotFound(_))));
    assert!(matches!(shown("feet").await, Err(ServiceError::NotFound(_))));
}

#[test]
fn a_job_is_less_than_150_lines() {
    assert!(include_str!("toy.rs").lines().count() < 150);
}
