//! The set-up across crashes.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_node::Service;

use crate::common::engine::PlainProvider;
use crate::common::scene::{SEED, Scene};
use crate::common::{Deployment, LONG};

/// P2 takes part in the set-up, but crashes before it has the result on disk; then P0 is restarted,
/// too. P2's new start comes to the same session all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_crash_at_the_end_of_the_set_up_is_made_up_for() {
    let scene = Scene::start().await;
    let session = scene.honest[1].servers().await.unwrap().session;
    scene.mesh.shutdown().await;
    scene.honest[0].stop().await;
    let start = async |n: usize| {
        let provider = Arc::new(PlainProvider(Arc::default()));
        Service::start(scene.configs[n].clone(), provider).await.expect("the server starts")
    };
    let secrets = scene.configs[2].data.join("secrets");
    std::fs::create_dir_all(&secrets).unwrap();
    std::fs::write(secrets.join("set-up.seed"), SEED).unwrap();
    let restarted = [start(0).await, start(2).await];
    for server in &restarted {
        let wait = async {
            loop {
                if let Ok(info) = server.servers().await {
                    return info.session;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        assert_eq!(tokio::time::timeout(LONG, wait).await.expect("in time"), session);
    }
}

/// A server whose disk fails it at the beginning says so, so that it is started again; others that
/// wait do not.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_beginning_that_the_disk_prevents_ends_the_process() {
    let mut deployment = Deployment::start().await;
    deployment.stop(1).await;
    let result = deployment.data(1).join("secrets/set-up.result");
    let aside = deployment.data(1).join("aside");
    std::fs::rename(&result, &aside).unwrap();
    std::fs::create_dir(&result).unwrap();
    let restarted = deployment.restart_without_waiting(1).await;
    let reason = tokio::time::timeout(LONG, restarted.ended()).await.expect("in time");
    assert!(
        reason.contains("set-up.result") && restarted.readiness().detail.contains(&reason),
        "{reason}"
    );
    restarted.stop().await;
    std::fs::remove_dir(&result).unwrap();
    std::fs::rename(&aside, &result).unwrap();
    deployment.start_again(1).await;
    for server in &deployment.servers {
        assert!(
            tokio::time::timeout(Duration::from_secs(1), server.ended()).await.is_err(),
            "it works"
        );
    }
}

/// What was heard in the set-up is kept beside its seed: servers that have lost the result come to
/// the same session, and one on whose disk it is damaged says so instead of hearing it anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_set_up_is_repeated_with_what_was_heard_before() {
    let mut deployment = Deployment::start_mixing().await;
    let session = deployment.servers[0].servers().await.unwrap().session;
    let forget = async |deployment: &Deployment| {
        for server in 0..3 {
            deployment.stop(server).await;
            std::fs::remove_file(deployment.data(server).join("secrets/set-up.result")).unwrap();
        }
    };
    forget(&deployment).await;
    deployment.start_all_again().await;
    for server in &deployment.servers {
        assert_eq!(server.servers().await.unwrap().session, session);
    }
    forget(&deployment).await;
    let secrets = deployment.data(1).join("secrets");
    let names = std::fs::read_dir(&secrets).unwrap().map(|entry| entry.unwrap().path());
    let heard: Vec<_> = names.filter(|path| path.to_string_lossy().contains("heard")).collect();
    assert_eq!(heard.len(), 3, "keys, commitments to a coin, and its openings: {heard:?}");
    heard.iter().for_each(|path| std::fs::write(path, [1]).unwrap());
    for server in 0..3 {
        deployment.servers[server] = deployment.restart_without_waiting(server).await;
    }
    deployment.until(1, |server| server.readiness().detail.contains("is damaged")).await;
}
