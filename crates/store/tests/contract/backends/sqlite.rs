//! What only SQLite can do wrong.

use std::os::unix::fs::PermissionsExt;

use ostrakon_store::{Database, Error, Store};

use crate::{Place, collecting};

#[tokio::test]
async fn secrets_are_private_and_never_replaced() {
    let place = Place::sqlite();
    let store = collecting(&place).await;
    store.keep_secret("pairs", b"one").unwrap();
    assert!(matches!(store.keep_secret("pairs", b"two"), Err(Error::State(_))));
    for file in ["secrets/pairs", "stock/5.batch", "ostrakon.db", "ostrakon.db-wal"] {
        let mode = std::fs::metadata(place.path().join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{file} is readable by others");
    }
}

#[tokio::test]
async fn a_transaction_that_the_database_itself_rolls_back_stops_no_other() {
    let place = Place::sqlite();
    let store = place.open().await;
    // What a full disk does to whatever is written.
    place
        .execute(
            "CREATE TRIGGER full BEFORE INSERT ON journal WHEN NEW.name = 'too much' \
             BEGIN SELECT RAISE(ROLLBACK, 'the disk is full'); END",
        )
        .await;
    for _ in 0..3 {
        let refused = store.record("too much", b"").await.unwrap_err();
        assert!(refused.to_string().contains("the disk is full"), "{refused}");
        assert_eq!(store.record("little", b"first").await.unwrap(), b"first");
    }
}

/// SQLite compares whole rows, however long, while it looks for one in a table without row numbers.
#[tokio::test]
async fn whoever_looks_for_a_row_does_not_read_long_ones() {
    let place = Place::sqlite();
    place.open().await.close().await;
    let mut connection = place.connect().await;
    for table in ["announcements", "conclusions", "entries", "submissions"] {
        let query =
            sqlx::query_scalar("SELECT wr FROM pragma_table_list WHERE name = $1").bind(table);
        let without_numbers: i64 = query.fetch_one(&mut connection).await.unwrap();
        assert_eq!(without_numbers, 0, "{table}");
    }
}

#[tokio::test]
async fn a_damaged_file_is_named_as_that() {
    let place = Place::sqlite();
    place.open().await.close().await;
    let path = place.path().join("ostrakon.db");
    let whole = std::fs::read(&path).unwrap();
    let garbage = vec![0x5a; whole.len()];
    // The header, and the first page's tables.
    let mut torn = whole.clone();
    torn[100..4096].fill(0x5a);
    for damaged in [garbage, torn] {
        std::fs::write(&path, damaged).unwrap();
        let found = Store::examine(place.path(), &Database::Sqlite).await;
        let found = found.expect_err("looking finds it, too").to_string();
        assert!(found.contains("damaged") && found.contains("ostrakon.db"), "{found}");
        let error = place.try_open().await.err().expect("it is refused").to_string();
        assert!(error.contains("damaged") && error.contains("ostrakon.db"), "{error}");
        assert!(!error.contains("PostgreSQL"), "{error}");
    }
    std::fs::write(&path, whole).unwrap();
    let store = place.open().await;
    Store::examine(place.path(), &Database::Sqlite).await.expect("beside a server that runs");
    store.close().await;
    let nothing = tempfile::tempdir().unwrap();
    Store::examine(nothing.path(), &Database::Sqlite).await.expect("nothing is there yet");
    assert_eq!(std::fs::read_dir(nothing.path()).unwrap().count(), 0, "and nothing is made");
}

/// Whichever page of it is damaged, whoever meets that is told which file it is and what to do.
#[tokio::test]
async fn a_damaged_page_is_named_as_that_wherever_it_is() {
    const PAGE: usize = 4096;
    let place = Place::sqlite();
    let store = collecting(&place).await;
    store.record("mark", b"value").await.unwrap();
    store.close().await;
    drop(store);
    let path = place.path().join("ostrakon.db");
    let whole = std::fs::read(&path).unwrap();
    let told = |error: Error, page: usize| {
        let error = error.to_string();
        for part in ["damaged", "ostrakon.db", "as the guide says"] {
            assert!(error.contains(part), "page {page}: {error}");
        }
    };
    let (mut at_opening, mut later) = (0, 0);
    for (page, at) in (0..whole.len()).step_by(PAGE).enumerate() {
        let mut damaged = whole.clone();
        let from = if page == 0 { 100 } else { at };
        damaged[from..at + PAGE].fill(0x5a);
        std::fs::write(&path, damaged).unwrap();
        let seen = Store::examine(place.path(), &Database::Sqlite).await;
        told(seen.expect_err("looking reads every page"), page);
        let store = match place.try_open().await {
            Err(error) => {
                told(error, page);
                at_opening += 1;
                continue;
            }
            Ok(store) => store,
        };
        let looks = [
            store.rooms().await.err(),
            store.marks().await.err(),
            store.epochs(10).await.err(),
            store.record("other", b"value").await.err(),
        ];
        for error in looks.into_iter().flatten() {
            told(error, page);
            later += 1;
        }
        store.close().await;
        drop(store);
        for rest in ["ostrakon.db-wal", "ostrakon.db-shm"] {
            drop(std::fs::remove_file(place.path().join(rest)));
        }
    }
    assert!(at_opening >= 2 && later >= 4, "{at_opening} at the opening, {later} later");
}
