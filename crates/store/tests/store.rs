//! The store across reopening, crashes and mistakes.

use std::path::Path;

use ostrakon_crypto::{Digest, SigningKey, VerifyingKey};
use ostrakon_party::PartyId;
use ostrakon_store::{BatchState, Change, EpochState, Error, FaultRow, Intake, NewEntry, Store, SubmissionRow, Taken};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};

const ROOM: [u8; 16] = [7; 16];
const P0: PartyId = PartyId(0);
const P1: PartyId = PartyId(1);

fn key(n: u8) -> VerifyingKey {
    VerifyingKey([n; 32])
}

async fn open(directory: &Path) -> Store {
    Store::open(directory).await.expect("the store opens")
}

/// Announces and delivers `change` as announcement `number` of `author`.
async fn deliver(store: &Store, author: PartyId, number: u64, change: Change) -> Result<(), Error> {
    store.keep_announcement(author, number, Some(b"header"), b"body").await?;
    store.deliver(author, number, Some(&change)).await
}

/// A store with a room, a batch on disk and an epoch that collects with it; P0's next announcement is number 3.
async fn collecting(directory: &Path) -> Store {
    let store = open(directory).await;
    let create = Change::CreateRoom { room: ROOM, descriptor: b"descriptor".to_vec(), author: P0 };
    deliver(&store, P0, 0, create).await.unwrap();
    deliver(&store, P0, 1, Change::PlanBatch { number: 5, rows: 6, width: 48 }).await.unwrap();
    store.put_batch(5, b"material".to_vec()).await.unwrap();
    deliver(&store, P0, 2, Change::OpenEpoch { room: ROOM, epoch: 0, batch: 5, at: 1000 }).await.unwrap();
    store
}

fn assign(author: PartyId, announcement: u64, slots: Vec<(u32, VerifyingKey)>) -> Change {
    Change::Assign { room: ROOM, epoch: 0, author, announcement, slots, at: 2000 }
}

fn submission(slot: u32, owner: u8, body: &[u8]) -> Intake {
    Intake::Submission { room: ROOM, epoch: 0, row: SubmissionRow { slot, key: key(owner), body: body.to_vec() } }
}

#[tokio::test]
async fn everything_is_there_after_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let store = collecting(directory.path()).await;
    deliver(&store, P1, 0, assign(P1, 0, vec![(1, key(1)), (4, key(2))])).await.unwrap();
    let taken = store.take_in(&[submission(1, 1, b"one")]).await.unwrap();
    assert_eq!(taken, [Taken::Recorded]);
    store.keep_secret("pairs", b"secret").unwrap();
    let fault = FaultRow { seen_at: 3, culprit: P1, what: "lied".into(), evidence: vec![1, 2] };
    store.keep_fault(&fault).await.unwrap();
    store.keep_fault(&FaultRow { seen_at: 4, ..fault.clone() }).await.unwrap();
    store.close().await;
    drop(store);

    let store = open(directory.path()).await;
    assert_eq!(store.delivered(P0).await.unwrap(), 3);
    assert_eq!(store.announcements(P0, 1).await.unwrap().len(), 2);
    assert_eq!(store.rooms().await.unwrap()[0].descriptor, b"descriptor");
    let epoch = store.epochs(1).await.unwrap().remove(0);
    assert_eq!((epoch.batch, epoch.state, epoch.begun_at), (5, EpochState::Collecting, Some(2000)));
    let slots: Vec<_> = store.assignments(&ROOM, 0).await.unwrap().iter().map(|a| (a.slot, a.key)).collect();
    assert_eq!(slots, [(1, key(1)), (4, key(2))]);
    assert_eq!(store.submissions(&ROOM, 0).await.unwrap()[0].body, b"one");
    assert_eq!(store.batch(5).await.unwrap(), b"material");
    assert_eq!(store.secret("pairs").unwrap().unwrap().as_slice(), b"secret");
    assert_eq!(store.faults().await.unwrap(), [fault], "the same fault is kept once");
}

#[tokio::test]
async fn an_unknown_schema_version_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    open(directory.path()).await.close().await;
    let options = SqliteConnectOptions::new().filename(directory.path().join("ostrakon.db"));
    let pool = SqlitePool::connect_with(options).await.unwrap();
    let insert = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                  VALUES (9999, 'from the future', 1, x'00', 0)";
    sqlx::query(insert).execute(&pool).await.unwrap();
    pool.close().await;
    let refused = Store::open(directory.path()).await.err().expect("refused");
    assert!(matches!(refused, Error::NewerSchema { version: 9999, .. }), "{refused}");
}

#[tokio::test]
async fn a_directory_serves_one_process_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let first = open(directory.path()).await;
    assert!(matches!(Store::open(directory.path()).await, Err(Error::InUse(_))));
    first.close().await;
    open(directory.path()).await;
}

#[tokio::test]
async fn the_first_value_of_a_mark_stands() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    assert_eq!(store.record("batch 5", b"table A").await.unwrap(), b"table A");
    assert_eq!(store.record("batch 5", b"table B").await.unwrap(), b"table A");
    store.close().await;
    drop(store);
    let store = open(directory.path()).await;
    assert_eq!(store.record("batch 5", b"table C").await.unwrap(), b"table A");
    assert_eq!(store.marks().await.unwrap(), [("batch 5".to_owned(), b"table A".to_vec())]);
}

#[tokio::test]
async fn a_crash_between_file_and_index_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let store = collecting(directory.path()).await;
    store.close().await;
    drop(store);
    let stock = directory.path().join("stock");
    std::fs::write(stock.join("9.batch"), b"written, never indexed").unwrap();
    std::fs::write(stock.join("10.partial"), b"half").unwrap();
    let store = open(directory.path()).await;
    let files: Vec<_> = std::fs::read_dir(stock).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(files, ["5.batch"]);
    assert!(matches!(store.batch(9).await, Err(Error::State(_))));
}

#[tokio::test]
async fn damaged_stock_is_not_used() {
    let directory = tempfile::tempdir().unwrap();
    let store = collecting(directory.path()).await;
    std::fs::write(directory.path().join("stock/5.batch"), b"materiel").unwrap();
    assert!(matches!(store.batch(5).await, Err(Error::DamagedStock { .. })));
}

#[tokio::test]
async fn a_batch_goes_one_way_only() {
    let directory = tempfile::tempdir().unwrap();
    let store = collecting(directory.path()).await;
    let again = store.put_batch(5, b"other material".to_vec()).await;
    assert!(matches!(again, Err(Error::State(_))), "a number is used once");
    let reserved = store.delete_batch(5).await;
    assert!(matches!(reserved, Err(Error::State(_))), "what an epoch collects with is kept");
    let reuse = deliver(&store, P0, 3, Change::OpenEpoch { room: [8; 16], epoch: 0, batch: 5, at: 0 }).await;
    assert!(reuse.is_err(), "a batch serves one epoch");
    assert_eq!(store.delivered(P0).await.unwrap(), 3, "a change that fails delivers nothing");

    let seal = Change::SealEpoch { room: ROOM, epoch: 0, cut: vec![3, 0, 0] };
    store.deliver(P0, 3, Some(&seal)).await.unwrap();
    assert_eq!(store.batches(10).await.unwrap()[0].state, BatchState::Spent);
    store.delete_batch(5).await.unwrap();
    assert!(!directory.path().join("stock/5.batch").exists());
}

#[tokio::test]
async fn announcements_are_kept_once_and_delivered_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    store.keep_announcement(P1, 0, Some(b"h"), b"one").await.unwrap();
    assert!(store.keep_announcement(P1, 0, Some(b"h"), b"two").await.is_err());
    assert_eq!(store.delivered(P1).await.unwrap(), 0);
    store.deliver(P1, 0, None).await.unwrap();
    assert!(matches!(store.deliver(P1, 0, None).await, Err(Error::State(_))));
    store.keep_announcement(P1, 1, None, b"next").await.unwrap();
    store.deliver(P1, 1, None).await.unwrap();
    store.forget_announcements(P1, 100).await.unwrap();
    assert_eq!(store.delivered(P1).await.unwrap(), 2, "the log goes on where it was");
}

#[tokio::test]
async fn one_submission_per_slot_and_key_and_only_while_collecting() {
    let directory = tempfile::tempdir().unwrap();
    let store = collecting(directory.path()).await;
    deliver(&store, P1, 0, assign(P1, 0, vec![(1, key(1))])).await.unwrap();
    deliver(&store, P1, 1, assign(P1, 1, vec![(4, key(2))])).await.unwrap();
    // A corrupt server may give a key a second slot.
    deliver(&store, P0, 3, assign(P0, 3, vec![(0, key(1))])).await.unwrap();
    let many = [
        submission(1, 1, b"a"),
        submission(1, 1, b"a"),
        submission(1, 1, b"b"),
        submission(0, 1, b"a"),
        submission(4, 1, b"a"),
        Intake::Issue { room: ROOM, epoch: 0, slot: 4, key: key(2) },
        Intake::Issue { room: ROOM, epoch: 0, slot: 4, key: key(1) },
        submission(4, 2, b"late"),
    ];
    let taken = store.take_in(&many).await.unwrap();
    use Taken::{Different, Recorded, TooLate};
    assert_eq!(taken, [Recorded, Recorded, Different, Different, TooLate, Recorded, TooLate, Recorded]);
    assert!(store.assignments(&ROOM, 0).await.unwrap()[2].issued);

    // The cut leaves out P1's second announcement, and what was handed in by its force.
    deliver(&store, P0, 4, Change::SealEpoch { room: ROOM, epoch: 0, cut: vec![4, 1, 0] }).await.unwrap();
    let slots: Vec<_> = store.assignments(&ROOM, 0).await.unwrap().iter().map(|a| a.slot).collect();
    assert_eq!(slots, [0, 1]);
    assert_eq!(store.submissions(&ROOM, 0).await.unwrap().len(), 1);
    assert_eq!(store.take_in(&[submission(0, 1, b"a")]).await.unwrap(), [TooLate]);
}

#[tokio::test]
async fn an_epoch_is_published_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = collecting(directory.path()).await;
    let signer = SigningKey::from_seed(&[1; 32]);
    let digest = Digest([3; 32]);
    let signatures = vec![(P0, signer.sign(&digest)), (P1, signer.sign(&digest))];
    let entry = NewEntry { digest, body: b"entry".to_vec(), signatures };
    let early = store.settle_epoch(&ROOM, 0, b"published", Some(&entry)).await;
    assert!(matches!(early, Err(Error::State(_))), "not before it was sealed");
    deliver(&store, P0, 3, Change::SealEpoch { room: ROOM, epoch: 0, cut: vec![3, 0, 0] }).await.unwrap();
    assert!(matches!(store.finish_epoch(&ROOM, 0, 8).await, Err(Error::State(_))));
    store.conclude_epoch(&ROOM, 0, b"found").await.unwrap();
    assert!(matches!(store.conclude_epoch(&ROOM, 0, b"else").await, Err(Error::State(_))));
    assert_eq!(store.epochs(1).await.unwrap()[0].conclusion.as_deref(), Some(&b"found"[..]));
    store.settle_epoch(&ROOM, 0, b"published", Some(&entry)).await.unwrap();
    let twice = store.settle_epoch(&ROOM, 0, b"published", Some(&entry)).await;
    assert!(matches!(twice, Err(Error::State(_))));
    store.add_signature(&ROOM, 0, PartyId(2), &signer.sign(&digest)).await.unwrap();
    store.add_signature(&ROOM, 0, P1, &signer.sign(&Digest([4; 32]))).await.unwrap();
    let entries = store.entries(&ROOM, 0, 10).await.unwrap();
    assert_eq!(entries.len(), 1);
    let parties: Vec<_> = entries[0].signatures.iter().map(|(party, _)| party.0).collect();
    assert_eq!(parties, [0, 1, 2]);
    assert_eq!(entries[0].signatures[1].1, signer.sign(&digest), "the first signature stands");
    assert_eq!(store.board_head(&ROOM).await.unwrap(), (1, Some(digest)));
    store.finish_epoch(&ROOM, 0, 8).await.unwrap();
    assert!(store.submissions(&ROOM, 0).await.unwrap().is_empty());
}

#[tokio::test]
async fn secrets_are_private_and_never_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let store = collecting(directory.path()).await;
    store.keep_secret("pairs", b"one").unwrap();
    assert!(matches!(store.keep_secret("pairs", b"two"), Err(Error::State(_))));
    for file in ["secrets/pairs", "stock/5.batch", "ostrakon.db"] {
        let mode = std::fs::metadata(directory.path().join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{file} is readable by others");
    }
}

#[tokio::test]
async fn a_transaction_that_the_database_itself_rolls_back_stops_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    let options = SqliteConnectOptions::new().filename(directory.path().join("ostrakon.db"));
    let pool = SqlitePool::connect_with(options).await.unwrap();
    // What a full disk does to whatever is written.
    let full = "CREATE TRIGGER full BEFORE INSERT ON journal WHEN NEW.name = 'too much' \
                BEGIN SELECT RAISE(ROLLBACK, 'the disk is full'); END";
    sqlx::query(full).execute(&pool).await.unwrap();
    pool.close().await;
    for _ in 0..3 {
        let refused = store.record("too much", b"").await.unwrap_err();
        assert!(refused.to_string().contains("the disk is full"), "{refused}");
        assert_eq!(store.record("little", b"first").await.unwrap(), b"first");
    }
}
