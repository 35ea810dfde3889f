//! Opening, reopening, and whom it is refused.

use ostrakon_store::{EpochState, Error, FaultRow, Taken};

use crate::{P0, P1, Place, assign, collecting, deliver, key, on_both, submission};

on_both!(
    everything_is_there_after_reopening,
    an_unknown_schema_version_is_refused,
    a_directory_serves_one_process_at_a_time,
    a_write_that_was_cut_short_has_not_happened,
);

async fn everything_is_there_after_reopening(place: Place) {
    let store = collecting(&place).await;
    deliver(&store, P1, 0, assign(P1, 0, vec![(1, key(1)), (4, key(2))])).await.unwrap();
    let taken = store.take_in(&[submission(1, 1, b"one")]).await.unwrap();
    assert_eq!(taken, [Taken::Recorded]);
    store.keep_secret("pairs", b"secret").unwrap();
    let fault = FaultRow { seen_at: 3, culprit: P1, what: "lied".into(), evidence: vec![1, 2] };
    store.keep_fault(&fault).await.unwrap();
    store.close().await;
    drop(store);

    let store = place.open().await;
    assert_eq!(store.delivered(P0).await.unwrap(), 3);
    assert_eq!(store.announcements(P0, 1).await.unwrap().len(), 2);
    let rooms = store.rooms().await.unwrap();
    assert_eq!(
        (rooms[0].descriptor.as_slice(), rooms[0].author, rooms[0].open),
        (&b"descriptor"[..], P0, true)
    );
    assert_eq!((rooms[0].announcement, store.batches(1).await.unwrap()[0].planned), (0, 1));
    let epoch = store.epochs(1).await.unwrap().remove(0);
    assert_eq!(epoch.announcement, 2);
    assert_eq!((epoch.batch, epoch.state, epoch.begun_at), (5, EpochState::Collecting, Some(2000)));
    let slots: Vec<_> =
        store.assignments(&crate::ROOM, 0).await.unwrap().iter().map(|a| (a.slot, a.key)).collect();
    assert_eq!(slots, [(1, key(1)), (4, key(2))]);
    assert_eq!(store.submissions(&crate::ROOM, 0).await.unwrap()[0].body, b"one");
    assert_eq!(store.batch(5).await.unwrap(), b"material");
    assert_eq!(store.secret("pairs").unwrap().unwrap().as_slice(), b"secret");
    assert_eq!(store.faults().await.unwrap(), [fault]);
}

async fn an_unknown_schema_version_is_refused(place: Place) {
    place.open().await.close().await;
    let mut connection = place.connect().await;
    let insert = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                  VALUES (9999, 'from the future', TRUE, $1, 0)";
    sqlx::query(insert).bind(vec![0_u8]).execute(&mut connection).await.unwrap();
    let refused = place.try_open().await.err().expect("refused");
    assert!(matches!(refused, Error::NewerSchema { version: 9999, .. }), "{refused}");
}

async fn a_directory_serves_one_process_at_a_time(place: Place) {
    let first = place.open().await;
    assert!(matches!(place.try_open().await, Err(Error::InUse(_))));
    first.close().await;
    place.open().await;
}

async fn a_write_that_was_cut_short_has_not_happened(place: Place) {
    let store = collecting(&place).await;
    // As when the process is killed: at every point of a write, nothing of it is there later but
    // the whole of it.
    for micros in [0, 50, 200, 500, 1000, 2000, 5000] {
        let slots = (0..6).map(|slot| (slot, key(10 + slot as u8))).collect();
        let write = deliver(&store, P0, 3, assign(P0, 3, slots));
        drop(tokio::time::timeout(std::time::Duration::from_micros(micros), write).await);
        // A write that is not waited for any more may still be going on; this one comes after it.
        store.record("after", b"1").await.unwrap();
        let delivered = store.delivered(P0).await.unwrap();
        let assigned = store.assignments(&crate::ROOM, 0).await.unwrap().len();
        assert!(
            matches!((delivered, assigned), (3, 0) | (4, 6)),
            "{delivered} delivered, {assigned} assigned"
        );
    }
    // And the store goes on.
    store.record("later", b"1").await.unwrap();
}
