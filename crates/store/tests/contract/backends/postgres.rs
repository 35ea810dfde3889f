//! What only PostgreSQL can do wrong: it can go away, and others can reach it.

use std::time::Duration;

use ostrakon_crypto::{Digest, VerifyingKey};
use ostrakon_store::{
    Database, Error, Intake, NewEntry, Renewed, RenewedRoom, Store, SubmissionRow,
};

use crate::backends::cluster::Cluster;
use crate::backends::proxy::{COMMIT, Deed, Proxy};
use crate::place::{Place, server};
use crate::{P0, P1, ROOM, assign, collecting, deliver, key, seal};

/// Ends every other session of the database, as a restart of the server or a failing network would.
const CUT_OFF: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                       WHERE datname = current_database() AND pid <> pg_backend_pid()";

#[tokio::test]
async fn a_database_serves_one_engine_at_a_time() {
    let place = Place::postgres().await;
    let first = place.open().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let refused = Store::open(elsewhere.path(), &place.database).await.err().expect("refused");
    assert!(matches!(refused, Error::DatabaseInUse), "{refused}");
    first.record("still", b"here").await.unwrap();
    first.close().await;
    Store::open(elsewhere.path(), &place.database).await.unwrap();
}

#[tokio::test]
async fn a_lost_connection_is_replaced() {
    let place = Place::postgres().await;
    let store = place.open().await;
    for n in 0..3 {
        place.execute(CUT_OFF).await;
        store.record(&n.to_string(), b"value").await.unwrap();
        assert_eq!(store.marks().await.unwrap().len(), n + 1);
    }
}

#[tokio::test]
async fn an_engine_that_another_one_has_followed_writes_no_more() {
    let place = Place::postgres().await;
    let old = place.open().await;
    old.record("first", b"old").await.unwrap();
    // The old engine is cut off, and a new one takes the database, and ends.
    place.execute(CUT_OFF).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let new = Store::open(elsewhere.path(), &place.database).await.unwrap();
    new.record("second", b"new").await.unwrap();
    let refused = old.record("third", b"old").await;
    assert!(matches!(refused, Err(Error::Superseded)), "the new engine is at work: {refused:?}");
    new.close().await;
    let refused = old.record("fourth", b"old").await;
    assert!(
        matches!(refused, Err(Error::Superseded)),
        "what the old one has in memory is out of date: {refused:?}"
    );
    let again = Store::open(elsewhere.path(), &place.database).await.unwrap();
    assert_eq!(again.marks().await.unwrap().len(), 2);
}

/// A store in an empty database, by way of a proxy.
async fn behind_proxy(place: &Place) -> (Store, Proxy) {
    let proxy = Proxy::before(&place.url).await;
    let database: Database = proxy.url(&place.url).parse().unwrap();
    (Store::open(place.path(), &database).await.unwrap(), proxy)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_is_lost_is_looked_up() {
    let place = Place::postgres().await;
    let (store, proxy) = behind_proxy(&place).await;
    proxy.set(COMMIT, Deed::Unanswered);
    assert_eq!(store.record("a", b"1").await.unwrap(), b"1");
    assert!(!proxy.is_set(), "the answer was swallowed");
    assert_eq!(store.marks().await.unwrap(), [("a".to_owned(), b"1".to_vec())]);
    // What can be told apart would show a commit that was done twice.
    proxy.set(COMMIT, Deed::Unanswered);
    store.keep_announcement(P1, 0, None, b"once").await.unwrap();
    store.deliver(P1, 0, None).await.unwrap();
    assert_eq!(store.delivered(P1).await.unwrap(), 1);
}

/// While one transaction is in doubt, others wait for their turn: what they leave would hide what
/// became of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_commits_in_a_row_each_is_told_what_became_of_it() {
    let place = Place::postgres().await;
    let (store, proxy) = behind_proxy(&place).await;
    for (deed, recorded) in [(Deed::Unanswered, true), (Deed::Lost, false)] {
        proxy.set(COMMIT, deed);
        let many = ["a", "b", "c"].map(|name| {
            let (store, name) = (store.clone(), format!("{name} {recorded}"));
            tokio::spawn(async move { (store.record(&name, b"").await.is_ok(), name) })
        });
        let (mut told, mut failed) = (Vec::new(), 0);
        for one in many {
            match one.await.unwrap() {
                (true, name) => told.push((name, vec![])),
                (false, _) => failed += 1,
            }
        }
        assert_eq!(failed == 0, recorded, "{failed} failed");
        let mut marks = store.marks().await.unwrap();
        marks.retain(|(name, _)| name.ends_with(&recorded.to_string()));
        assert_eq!(marks, told);
    }
}

/// After a crash PostgreSQL gives the number of a transaction of which nothing was on disk to
/// another one.
#[tokio::test]
async fn a_commit_that_a_crash_undid_is_not_taken_for_another_one() {
    let mut cluster = Cluster::start().await;
    let proxy = Proxy::before(&cluster.url()).await;
    let database: Database = proxy.url(&cluster.url()).parse().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &database).await.unwrap();
    store.record("before", b"").await.unwrap();
    proxy.set(COMMIT, Deed::Held);
    let lost = tokio::spawn({
        let store = store.clone();
        async move { store.record("lost", b"").await }
    });
    proxy.sprung().await;
    cluster.crash();
    let mut connection = cluster.connect().await;
    sqlx::raw_sql("CREATE TABLE others (number BIGINT)").execute(&mut connection).await.unwrap();
    for _ in 0..10 {
        sqlx::raw_sql("INSERT INTO others VALUES (1)").execute(&mut connection).await.unwrap();
    }
    proxy.release();
    let told = lost.await.unwrap();
    assert!(matches!(told, Err(Error::Database(_))), "nothing of it is there: {told:?}");
    store.record("after", b"").await.unwrap();
    let marks: Vec<_> = store.marks().await.unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(marks, ["after", "before"]);
}

/// Sealing waits for whoever takes in. Nobody may keep it waiting by having vanished.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_intake_process_that_vanishes_does_not_keep_epochs_from_being_sealed() {
    let place = Place::postgres().await;
    let engine = collecting(&place).await;
    deliver(&engine, P1, 0, assign(P1, 0, vec![(1, key(1)), (4, key(2))])).await.unwrap();
    let proxy = Proxy::before(&place.url).await;
    let intake = Store::join(&proxy.url(&place.url).parse().unwrap()).await.unwrap();
    engine.take_in(&[crate::submission(4, 2, b"here")]).await.unwrap();
    // It says nothing more once it has the lock.
    proxy.set("WITH asked", Deed::Held);
    let vanished =
        tokio::spawn(async move { intake.take_in(&[crate::submission(1, 1, b"gone")]).await });
    proxy.sprung().await;
    let sealed =
        tokio::time::timeout(Duration::from_secs(60), deliver(&engine, P0, 3, seal([3, 1, 0])))
            .await;
    sealed.expect("in time").unwrap();
    let slots: Vec<_> =
        engine.submissions(&ROOM, 0).await.unwrap().iter().map(|row| row.slot).collect();
    assert_eq!(slots, [4]);
    vanished.abort();
}

#[tokio::test]
async fn a_commit_that_the_server_refused_has_not_happened() {
    let place = Place::postgres().await;
    let store = place.open().await;
    place
        .execute(
            "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$; \
             CREATE CONSTRAINT TRIGGER doomed AFTER INSERT ON journal DEFERRABLE INITIALLY DEFERRED \
             FOR EACH ROW WHEN (NEW.name = 'doomed') EXECUTE FUNCTION die()",
        )
        .await;
    assert!(store.record("doomed", b"").await.is_err());
    store.record("fine", b"").await.unwrap();
    assert_eq!(store.marks().await.unwrap(), [("fine".to_owned(), vec![])]);
}

#[tokio::test]
async fn a_commit_is_durable_whatever_the_default() {
    let place = Place::postgres().await;
    let (_, name) = place.url.split_once("dbname=").unwrap();
    let mut connection = place.connect().await;
    let careless = format!("ALTER DATABASE {name} SET synchronous_commit = off");
    sqlx::query(sqlx::AssertSqlSafe(careless)).execute(&mut connection).await.unwrap();
    let store = collecting(&place).await;
    deliver(&store, P1, 0, assign(P1, 0, vec![(1, key(1))])).await.unwrap();
    // The setting is each session's own; what a writing one has shows in a trigger.
    place
        .execute(
            "CREATE TABLE seen (setting TEXT); \
             CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN INSERT INTO seen SELECT current_setting('synchronous_commit'); RETURN NULL; END $$; \
             CREATE TRIGGER look AFTER INSERT ON journal FOR EACH ROW EXECUTE FUNCTION look(); \
             CREATE TRIGGER look AFTER INSERT ON submissions FOR EACH ROW EXECUTE FUNCTION look()",
        )
        .await;
    store.record("mark", b"").await.unwrap();
    store.take_in(&[crate::submission(1, 1, b"a")]).await.unwrap();
    let seen: Vec<String> =
        sqlx::query_scalar("SELECT setting FROM seen").fetch_all(&mut connection).await.unwrap();
    assert_eq!(seen, ["on", "on"]);
}

#[tokio::test]
async fn the_url_is_checked_and_not_shown() {
    let url = "postgres://ostrakon:hunter2@db.example/ostrakon";
    let database: Database = url.parse().unwrap();
    assert!(!format!("{database:?}").contains("hunter2"));
    assert_eq!("sqlite".parse::<Database>().unwrap(), Database::Sqlite);
    for wrong in ["mysql://hunter2@db/x", "hunter2", "postgres://hunter2@db:port/x"] {
        let error = wrong.parse::<Database>().unwrap_err();
        assert!(!error.contains("hunter2"), "{error}");
    }
    let nowhere = format!("{}&port=1", server());
    let directory = tempfile::tempdir().unwrap();
    let error = Store::open(directory.path(), &nowhere.parse().unwrap())
        .await
        .err()
        .expect("nobody is there");
    assert!(error.to_string().contains("that PostgreSQL runs"), "{error}");
}

/// Rows of these tables that were read by sessions that have ended.
pub async fn rows_read(place: &Place, tables: &[&str]) -> i64 {
    let others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let read = "SELECT CAST(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) AS BIGINT) \
                FROM pg_stat_user_tables WHERE relname = $1";
    let mut connection = place.connect().await;
    while sqlx::query_scalar::<_, i64>(others).fetch_one(&mut connection).await.unwrap() > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut sum = 0;
    for table in tables {
        sum += sqlx::query_scalar::<_, i64>(read)
            .bind(*table)
            .fetch_one(&mut connection)
            .await
            .unwrap();
    }
    sum
}

/// The planner, left to itself, takes a room's epoch for a few rows, and reads all of it for each
/// slot.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_work_of_an_epoch_grows_with_its_slots_and_not_with_their_square() {
    const SLOTS: u32 = 2000;
    let place = Place::postgres().await;
    let store = collecting(&place).await;
    let owner = |slot: u32| {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&slot.to_le_bytes());
        VerifyingKey(key)
    };
    let own = (0..SLOTS).map(|slot| (slot, owner(slot)));
    deliver(&store, P1, 0, assign(P1, 0, own.clone().collect())).await.unwrap();
    let issues: Vec<_> =
        own.clone().map(|(slot, key)| Intake::Issue { room: ROOM, epoch: 0, slot, key }).collect();
    let row = |(slot, key)| Intake::Submission {
        room: ROOM,
        epoch: 0,
        row: SubmissionRow { slot, key, body: vec![1] },
    };
    let submissions: Vec<_> = own.map(row).collect();
    for many in [&issues, &submissions, &submissions] {
        store.take_in(many).await.unwrap();
    }
    deliver(&store, P0, 3, seal([3, 0, 0])).await.unwrap();
    assert!(
        store.submissions(&ROOM, 0).await.unwrap().is_empty(),
        "the cut leaves all of them out"
    );
    store.close().await;
    let read = rows_read(&place, &["epochs", "assignments", "submissions"]).await;
    assert!((6 * i64::from(SLOTS)..20 * i64::from(SLOTS)).contains(&read), "{read} rows were read");
}

/// Whoever counts what is there to find the next place reads all of it for each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_to_the_end_of_a_chain_does_not_read_the_chain() {
    const LENGTH: u64 = 500;
    let place = Place::postgres().await;
    let store = place.open().await;
    let digest = Digest([5; 32]);
    let entry = NewEntry { digest, body: vec![1], published_on: 7, signatures: vec![] };
    let room = RenewedRoom {
        room: ROOM,
        descriptor: vec![],
        author: P0,
        open: true,
        first_epoch: LENGTH,
        actions: (0..LENGTH).map(|number| (number, vec![1])).collect(),
        entries: (0..LENGTH).map(|epoch| (epoch, entry.clone())).collect(),
    };
    store.renew(&Renewed { number: 1, digest, rooms: vec![room], given_up: vec![] }).await.unwrap();
    assert_eq!(store.board_head(&ROOM).await.unwrap().0, LENGTH);
    assert_eq!(store.host_actions(&ROOM, 0, u32::MAX).await.unwrap().len() as u64, LENGTH);
    store.close().await;
    let read = rows_read(&place, &["entries", "host_actions"]).await;
    assert!((LENGTH as i64..6 * LENGTH as i64).contains(&read), "{read} rows were read");
}
