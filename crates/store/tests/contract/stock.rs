//! Stock: files beside the database.

use ostrakon_party::{PartyId, PartySet};
use ostrakon_store::{BatchRow, BatchState, Change, Error};

use crate::{P0, P1, P2, Place, collecting, deliver, on_both, seal};

on_both!(
    a_crash_between_file_and_index_leaves_no_file,
    damaged_stock_is_not_used,
    a_batch_goes_one_way_only,
    who_holds_a_batch_is_known,
);

async fn a_crash_between_file_and_index_leaves_no_file(place: Place) {
    let store = collecting(&place).await;
    store.close().await;
    drop(store);
    let stock = place.path().join("stock");
    std::fs::write(stock.join("9.batch"), b"written, never indexed").unwrap();
    std::fs::write(stock.join("10.partial"), b"half").unwrap();
    let store = place.open().await;
    let files: Vec<_> = std::fs::read_dir(stock).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(files, ["5.batch"]);
    assert!(matches!(store.batch(9).await, Err(Error::State(_))));
    assert_eq!(store.stock_bytes().await.unwrap(), b"material".len() as u64);
}

async fn damaged_stock_is_not_used(place: Place) {
    let store = collecting(&place).await;
    std::fs::write(place.path().join("stock/5.batch"), b"materiel").unwrap();
    assert!(matches!(store.batch(5).await, Err(Error::DamagedStock { .. })));
}

async fn a_batch_goes_one_way_only(place: Place) {
    let store = collecting(&place).await;
    let again = store.put_batch(5, b"other material".to_vec()).await;
    assert!(matches!(again, Err(Error::State(_))), "a number is used once");
    assert_eq!(store.batch(5).await.unwrap(), b"material", "what is there stays");
    let reserved = store.delete_batch(5).await;
    assert!(matches!(reserved, Err(Error::State(_))), "what an epoch collects with is kept");
    let reuse = deliver(
        &store,
        P0,
        3,
        Change::OpenEpoch { room: [8; 16], epoch: 0, batch: 5, minimum: 2, at: 0 },
    )
    .await;
    assert!(reuse.is_err(), "a batch serves one epoch");
    assert_eq!(store.delivered(P0).await.unwrap(), 3, "a change that fails delivers nothing");

    store.deliver(P0, 3, Some(&seal([3, 0, 0]))).await.unwrap();
    let batch = store.batches(10).await.unwrap().remove(0);
    assert_eq!((batch.state, batch.used, batch.on_disk), (BatchState::Spent, true, true));
    store.delete_batch(5).await.unwrap();
    assert!(!place.path().join("stock/5.batch").exists());
}

fn set<const N: usize>(parties: [PartyId; N]) -> PartySet {
    parties.into_iter().collect()
}

fn holders(row: &BatchRow) -> PartySet {
    row.said.iter().map(|(party, _)| *party).collect()
}

async fn who_holds_a_batch_is_known(place: Place) {
    let store = collecting(&place).await;
    for number in 6..9 {
        deliver(
            &store,
            P0,
            number - 3,
            Change::PlanBatch { number, engine: 1, rows: 6, width: 48 },
        )
        .await
        .unwrap();
    }
    store.put_batch(6, b"more".to_vec()).await.unwrap();
    deliver(&store, P1, 0, Change::BatchReady { number: 6, party: P1 }).await.unwrap();
    deliver(&store, P1, 1, Change::BatchReady { number: 6, party: P2 }).await.unwrap();
    deliver(&store, P1, 2, Change::BatchReady { number: 6, party: P1 }).await.unwrap();
    deliver(&store, P1, 3, Change::BatchDropped { number: 7, party: P2 }).await.unwrap();
    store.discard_batch(8).await.unwrap();
    let dropped = store.put_batch(7, b"too late".to_vec()).await;
    assert!(matches!(dropped, Err(Error::State(_))));
    let rows = store.batches(3).await.unwrap();
    let found: Vec<_> = rows
        .iter()
        .map(|b| (b.number, b.state, holders(b), b.dropped, b.on_disk, b.used))
        .collect();
    use BatchState::{Discarded, Reserved, Stored};
    let expected = [
        (5, Reserved, set([]), set([]), true, true),
        (6, Stored, set([P1, P2]), set([]), true, false),
        (7, Discarded, set([]), set([P2]), false, false),
        (8, Discarded, set([]), set([]), false, false),
    ];
    assert_eq!(found, expected);
    let said: Vec<_> = rows.iter().map(|b| (b.planned, b.said.clone())).collect();
    assert_eq!(said[..2], [(1, Vec::new()), (3, vec![(P1, 0), (P2, 1)])], "the first time counts");
}
