//! One server's participants are served by several processes, which come and go.

use std::time::Duration;

use ostrakon_broadcast::hosting::Deed;
use ostrakon_crypto::Digest;
use ostrakon_mixing::envelope::IssueName;
use ostrakon_mixing::room::Admission;
use ostrakon_node::Service;
use ostrakon_party::PartyId;
use ostrakon_protocol::{IssueRequest, NewRoom, Presence, ServiceError, SubmissionRequest};
use ostrakon_store::{Error, Scratch, Store};
use sqlx::{AnyConnection, Connection};

use crate::common::{Deployment, collects, issue_request, key, now};
use crate::hosting::Hosted;

/// Databases in a PostgreSQL for tests, with `name` in their names.
async fn databases(name: &str) -> [String; 3] {
    let admin = std::env::var("OSTRAKON_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!("OSTRAKON_TEST_POSTGRES is not set: run `cargo xtask test`, or `cargo xtask postgres cargo test …`")
    });
    let names = (0..3).map(|server| format!("{name}_{}_{server}", std::process::id())).collect();
    let databases = Scratch::create(&admin, names).await.expect("the tests' PostgreSQL answers");
    databases.urls().try_into().expect("three")
}

async fn ready(service: &Service) {
    while !service.readiness().ready {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Participants come by both intake processes of the first server; one of the two is gone in the
/// middle of an epoch, and then the engine is restarted. Whatever was acknowledged is published.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn intake_processes_come_and_go_and_nothing_is_lost() {
    let mut deployment = Deployment::start_shared(databases("servers").await).await;
    let engine = deployment.servers[0].clone();
    let [first, second] = [deployment.intake().await, deployment.intake().await];
    ready(&first).await;
    ready(&second).await;
    // It takes submissions until the last of them: before, fewer than two are outside the first
    // server's slots.
    let room = deployment.room(12, 2).await;

    deployment.servers[0] = first.clone();
    deployment.until_status(0, room, |status| collects(status, 0)).await;
    // 15 only says that it is there, so that the first server may seat one more.
    for (home, seed) in [(0, 10), (1, 11), (2, 12), (0, 13), (1, 15)] {
        deployment.present(room, home, seed).await.expect("present");
    }
    deployment.servers[0] = second.clone();
    deployment.present(room, 0, 14).await.expect("present");
    // 10 is served by the first process, 13 asks the first for its slot, and everybody else ends at
    // the second.
    deployment.servers[0] = first.clone();
    deployment.take_part(room, 0, 10, "by the first").await;
    let begun = deployment.submission(room, 0, 13, "by both").await;
    first.stop().await;
    deployment.servers[0] = second.clone();
    deployment.hand_in(room, 0, &begun).await;
    for (seed, text) in [(14, "by the second"), (11, "from elsewhere"), (12, "")] {
        deployment.take_part(room, 0, seed, text).await;
    }
    deployment.everywhere(room, 1).await;
    for server in 0..3 {
        let mut messages = deployment.messages(server, room).await;
        messages.sort_unstable();
        assert_eq!(messages, ["by both", "by the first", "by the second", "from elsewhere"]);
    }

    // What an intake process does not do.
    let refused = second
        .create_room(NewRoom::named("no"))
        .await
        .expect_err("it has nobody to announce it to");
    assert!(
        matches!(&refused, ServiceError::Elsewhere(text) if text.contains("http://engine.example")),
        "{refused}"
    );
    assert!(!second.is_administrator("a-token-of-some-length"));

    // The engine is restarted while an epoch collects; meanwhile the intake process takes in.
    deployment.until_status(0, room, |status| collects(status, 1)).await;
    for (home, seed) in [(0, 10), (1, 11), (2, 12)] {
        deployment.present(room, home, seed).await.expect("present");
    }
    let mut requests = Vec::new();
    for seed in [10, 11, 12] {
        requests.push(
            deployment.submission(room, 1, seed, &format!("{seed} while the engine is away")).await,
        );
    }
    engine.stop().await;
    for request in requests {
        second.submit(room, 1, request.clone()).await.expect("accepted without the engine");
        for server in &deployment.servers[1..] {
            server.submit(room, 1, request.clone()).await.expect("accepted");
        }
    }
    deployment.start_again(0).await;
    // Kept: a server ends with its last handle.
    let _engine = std::mem::replace(&mut deployment.servers[0], second);
    deployment.everywhere(room, 2).await;
    let messages = deployment.messages(0, room).await;
    assert!(
        [10, 11, 12]
            .iter()
            .all(|seed| messages.contains(&format!("{seed} while the engine is away")))
    );
}

/// Otherwise whoever names keys would be told which of them are members, and which have slots.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_a_key_did_not_sign_is_refused_alike_by_every_process_whoever_has_the_key() {
    let deployment = Deployment::start_shared(databases("unsigned").await).await;
    let intake = deployment.intake().await;
    ready(&intake).await;
    let members = NewRoom { admission: Admission::Members, ..NewRoom::named("a room") };
    let mut hosted = Hosted::create(&deployment, members).await;
    let room = hosted.room;
    let admit = [10, 11, 12].map(|seed| key(seed).verifying_key()).to_vec();
    hosted.act(&deployment, Deed::Admit { keys: admit }).await;
    deployment.until_status(0, room, |status| collects(status, 0)).await;
    deployment.present(room, 0, 10).await.expect("present");
    let of_owner = deployment.submission(room, 0, 10, "signed").await;
    let shown = || intake.status(room, 0, Duration::ZERO);
    while !shown().await.is_ok_and(|status| collects(&status, 0)) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    // The owner of a slot, a member without one, and a stranger. Nobody's key has signed.
    let signature = key(99).sign(&Digest([0; 32]));
    let mut unsigned = of_owner.clone();
    *unsigned.body.last_mut().unwrap() ^= 1;
    let (mut refusals, name) = (Vec::new(), IssueName { room, number: 0, party: PartyId(0) });
    for process in [&deployment.servers[0], &intake] {
        for seed in [10, 11, 13] {
            let own = key(seed).verifying_key();
            let presence = Presence { key: own, time: now(), signature };
            let issue = IssueRequest { signature, ..issue_request(&name, &key(seed)) };
            let submission = SubmissionRequest { key: own, ..unsigned.clone() };
            refusals.push([
                process.presence(room, presence).await.unwrap_err(),
                process.issue(room, 0, issue).await.unwrap_err(),
                process.submit(room, 0, submission).await.unwrap_err(),
            ]);
        }
    }
    let [presence, issue, submission] = &refusals[0];
    assert!(presence.to_string().contains("signature"), "{presence}");
    assert!(issue.to_string().contains("signature"), "{issue}");
    assert!(submission.to_string().contains("not signed"), "{submission}");
    assert!(refusals.iter().all(|other| *other == refusals[0]), "{refusals:#?}");

    // What is signed is accepted as before, also for the second time.
    for process in [&deployment.servers[0], &intake, &deployment.servers[0]] {
        process.submit(room, 0, of_owner.clone()).await.expect("signed by the owner");
    }
}

/// Takes a database over from the engine that uses it: ends its sessions, and opens it before the
/// engine is back.
async fn take_over(url: &str) -> Store {
    let cut_off = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                   WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let directory = tempfile::tempdir().unwrap();
    let mut connection = AnyConnection::connect(url).await.unwrap();
    loop {
        sqlx::query(cut_off).execute(&mut connection).await.unwrap();
        match Store::open(directory.path(), &url.parse().unwrap()).await {
            Ok(store) => return store,
            Err(Error::DatabaseInUse) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_engine_that_another_one_has_followed_says_that_it_is_not_ready() {
    let databases = databases("superseded").await;
    let deployment = Deployment::start_shared(databases.clone()).await;
    let new = take_over(&databases[0]).await;
    deployment.until(0, |engine| !engine.readiness().ready).await;
    let reason = "another engine has used the PostgreSQL database since this one lost its connection: restart this server";
    deployment.until(0, |engine| engine.readiness().detail == reason).await;
    assert!(
        deployment.servers[0].metrics().contains("ostrakon_ready 0"),
        "{}",
        deployment.servers[0].metrics()
    );
    assert!(deployment.servers[1].readiness().ready, "the others are not concerned");
    new.close().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(
        deployment.servers[0].readiness().detail,
        reason,
        "nor does it take up its work again by itself"
    );
}

/// A crash of PostgreSQL empties the tables that are not logged, and the engine lives on.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_the_database_has_lost_is_shown_again() {
    let databases = databases("lost").await;
    let mut deployment = Deployment::start_shared(databases.clone()).await;
    let first = deployment.intake().await;
    ready(&first).await;
    let [idle, room] = [deployment.room(20, 2).await, deployment.room(20, 2).await];
    let engine = std::mem::replace(&mut deployment.servers[0], first.clone());
    deployment.until_status(0, room, |status| collects(status, 0)).await;
    for (home, seed) in [(0, 10), (1, 11), (2, 12)] {
        deployment.present(room, home, seed).await.expect("present");
    }
    deployment
        .until_status(0, room, |status| {
            status.epoch.as_ref().is_some_and(|epoch| epoch.assigned == 3)
        })
        .await;
    let mut connection = AnyConnection::connect(&databases[0]).await.unwrap();
    sqlx::raw_sql("TRUNCATE views, offers, presence").execute(&mut connection).await.unwrap();

    // A process that starts now knows only what is shown again.
    let second = deployment.intake().await;
    ready(&second).await;
    deployment.servers[0] = second;
    while deployment.servers[0].room(idle).await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // One that has read what was there before reads on.
    deployment.servers[0] = first;
    for seed in [10, 11, 12] {
        deployment.take_part(room, 0, seed, "after all").await;
    }
    deployment.everywhere(room, 1).await;
    assert_eq!(deployment.messages(0, room).await.len(), 3);
    drop(engine);
}

/// As when an intake process of an earlier version goes on beside an engine that has migrated the
/// database.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn submissions_count_though_the_engine_was_not_told_of_them() {
    let databases = databases("untold").await;
    let mut deployment = Deployment::start_shared(databases.clone()).await;
    let mut connection = AnyConnection::connect(&databases[0]).await.unwrap();
    let untold = "CREATE RULE untold AS ON INSERT TO arrivals DO INSTEAD NOTHING";
    sqlx::raw_sql(untold).execute(&mut connection).await.unwrap();
    let first = deployment.intake().await;
    ready(&first).await;
    let room = deployment.room(8, 2).await;
    let _engine = std::mem::replace(&mut deployment.servers[0], first.clone());
    deployment.until_status(0, room, |status| collects(status, 0)).await;
    for (home, seed) in [(0, 10), (1, 11), (2, 12)] {
        deployment.present(room, home, seed).await.expect("present");
    }
    for seed in [10, 11, 12] {
        deployment.take_part(room, 0, seed, &format!("{seed} says so")).await;
    }
    deployment.everywhere(room, 1).await;
    assert_eq!(deployment.messages(0, room).await.len(), 3);
}

/// Lets nothing more be put into a table, or so again.
async fn fill(connection: &mut AnyConnection, table: &str, full: bool) {
    let change = if full {
        format!("CREATE TRIGGER full_disk BEFORE INSERT ON {table} EXECUTE FUNCTION full_disk()")
    } else {
        format!("DROP TRIGGER full_disk ON {table}")
    };
    sqlx::raw_sql(sqlx::AssertSqlSafe(change)).execute(connection).await.unwrap();
}

fn is_full(service: &Service) -> bool {
    let readiness = service.readiness();
    assert_eq!(readiness.ready, readiness.detail.is_empty());
    readiness.detail.contains("nothing can be written")
}

/// As on a full disk, where tables that are not logged still take something.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_process_of_a_server_is_ready_while_nothing_can_be_written() {
    let databases = databases("full").await;
    let mut deployment = Deployment::start_shared(databases.clone()).await;
    let intake = deployment.intake().await;
    ready(&intake).await;
    let mut connection = AnyConnection::connect(&databases[0]).await.unwrap();
    let raise = "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS \
                 $$ BEGIN RAISE 'full' USING ERRCODE = '53100'; END $$";
    sqlx::raw_sql(raise).execute(&mut connection).await.unwrap();
    for table in ["announcements", "audit"] {
        fill(&mut connection, table, true).await;
    }
    deployment.servers[0].create_room(NewRoom::named("a room")).await.unwrap_err();
    // Ten times a second it is looked who has handed in, which finds nothing and says nothing.
    for _ in 0..100 {
        assert!(is_full(&deployment.servers[0]), "not for a moment");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    while !is_full(&intake) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for table in ["announcements", "audit"] {
        fill(&mut connection, table, false).await;
    }
    ready(&deployment.servers[0]).await;
    ready(&intake).await;

    // Of what only the intake process writes, only that one knows; and it tries by itself.
    let room = deployment.room(20, 2).await;
    let engine = std::mem::replace(&mut deployment.servers[0], intake.clone());
    deployment.until_status(0, room, |status| collects(status, 0)).await;
    fill(&mut connection, "presence", true).await;
    deployment.present(room, 0, 10).await.unwrap_err();
    assert!(is_full(&intake) && engine.readiness().ready);
    fill(&mut connection, "presence", false).await;
    ready(&intake).await;
}
