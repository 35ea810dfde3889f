//! How an epoch ends.

use ostrakon_store::{BatchState, Change, EpochState, Error, Taken};

use crate::{P0, P1, Place, ROOM, assign, collecting, deliver, key, on_both, seal, submission};

on_both!(
    an_epoch_is_voided_with_all_that_was_handed_in,
    a_room_collects_in_one_epoch_at_a_time,
    marks_of_an_epoch_stand_until_it_is_finished,
    old_findings_go,
);

async fn an_epoch_is_voided_with_all_that_was_handed_in(place: Place) {
    let store = collecting(&place).await;
    deliver(&store, P1, 0, assign(P1, 0, vec![(1, key(1))])).await.unwrap();
    assert_eq!(store.take_in(&[submission(1, 1, b"a")]).await.unwrap(), [Taken::Recorded]);
    let void = Change::VoidEpoch { room: ROOM, epoch: 0, outcome: b"lost".to_vec() };
    deliver(&store, P0, 3, void.clone()).await.unwrap();
    let epoch = store.epochs(1).await.unwrap().remove(0);
    assert_eq!((epoch.state, epoch.outcome.as_deref()), (EpochState::Finished, Some(&b"lost"[..])));
    assert_eq!(store.batches(1).await.unwrap()[0].state, BatchState::Discarded);
    assert!(store.submissions(&ROOM, 0).await.unwrap().is_empty());
    assert!(store.assignments(&ROOM, 0).await.unwrap().is_empty());
    assert!(matches!(deliver(&store, P0, 4, void).await, Err(Error::State(_))));
    assert!(matches!(deliver(&store, P0, 5, seal([4, 1, 0])).await, Err(Error::State(_))));
}

async fn a_room_collects_in_one_epoch_at_a_time(place: Place) {
    let store = collecting(&place).await;
    deliver(&store, P0, 3, Change::PlanBatch { number: 6, engine: 1, rows: 6, width: 48 })
        .await
        .unwrap();
    let next = Change::OpenEpoch { room: ROOM, epoch: 1, batch: 6, minimum: 2, at: 0 };
    assert!(deliver(&store, P0, 4, next.clone()).await.is_err());
    store.deliver(P0, 4, Some(&seal([4, 0, 0]))).await.unwrap();
    deliver(&store, P0, 5, next).await.unwrap();
    let states: Vec<_> =
        store.epochs(1).await.unwrap().iter().map(|e| (e.number, e.state)).collect();
    assert_eq!(
        states,
        [(0, EpochState::Sealed), (1, EpochState::Collecting)],
        "what is not finished is there"
    );
}

async fn marks_of_an_epoch_stand_until_it_is_finished(place: Place) {
    let store = collecting(&place).await;
    let record =
        async |value: &'static [u8]| store.record_in_epoch(&ROOM, 0, "outcome", value).await;
    assert!(matches!(record(b"early").await, Err(Error::State(_))), "it still collects");
    deliver(&store, P0, 3, Change::SealEpoch { room: ROOM, epoch: 0, cut: vec![3, 0, 0] })
        .await
        .unwrap();
    let standing = async || store.mark_in_epoch(&ROOM, 0, "outcome").await.unwrap();
    assert_eq!(standing().await, None);
    assert_eq!(record(b"ready").await.unwrap(), b"ready");
    assert_eq!(standing().await.as_deref(), Some(&b"ready"[..]));
    assert_eq!(record(b"stopped").await.unwrap(), b"ready");
    assert_eq!(store.record("batch", b"table").await.unwrap(), b"table");
    store.conclude_epoch(&ROOM, 0, b"found").await.unwrap();
    store.settle_epoch(&ROOM, 0, b"nothing", None).await.unwrap();
    assert_eq!(record(b"stopped").await.unwrap(), b"ready", "others may still ask");
    assert_eq!(
        store.marks_of(&ROOM, 0).await.unwrap(),
        [("outcome".to_owned(), b"ready".to_vec())]
    );
    assert_eq!(store.marks_of(&ROOM, 1).await.unwrap(), []);
    store.finish_epoch(&ROOM, 0, 1).await.unwrap();
    assert_eq!(store.marks_of(&ROOM, 0).await.unwrap(), []);
    assert!(
        matches!(record(b"stopped").await, Err(Error::State(_))),
        "nobody decides it a second time"
    );
    assert_eq!(store.mark("batch").await.unwrap().as_deref(), Some(&b"table"[..]));
    // An earlier version's mark of an epoch stands, too.
    store.record("earlier", b"ready").await.unwrap();
    assert_eq!(store.record_in_epoch(&ROOM, 1, "earlier", b"stopped").await.unwrap(), b"ready");
    let standing = store.mark_in_epoch(&ROOM, 1, "earlier").await.unwrap();
    assert_eq!(standing.as_deref(), Some(&b"ready"[..]));
}

async fn old_findings_go(place: Place) {
    let store = collecting(&place).await;
    for epoch in 0..3 {
        let batch = 6 + epoch;
        let number = 3 + 3 * epoch;
        let cut = vec![number, 0, 0];
        deliver(&store, P0, number, Change::SealEpoch { room: ROOM, epoch, cut }).await.unwrap();
        store.conclude_epoch(&ROOM, epoch, b"found").await.unwrap();
        store.settle_epoch(&ROOM, epoch, b"nothing", None).await.unwrap();
        store.finish_epoch(&ROOM, epoch, 1).await.unwrap();
        deliver(
            &store,
            P0,
            number + 1,
            Change::PlanBatch { number: batch, engine: 1, rows: 6, width: 48 },
        )
        .await
        .unwrap();
        let open = Change::OpenEpoch { room: ROOM, epoch: epoch + 1, batch, minimum: 2, at: 0 };
        deliver(&store, P0, number + 2, open).await.unwrap();
    }
    let ended = vec![(ROOM, b"nothing".to_vec()); 3];
    assert_eq!(store.unpublished().await.unwrap(), ended, "how they ended is known for ever");
    let epochs = store.epochs(10).await.unwrap();
    let kept: Vec<_> = epochs.iter().filter(|e| e.conclusion.is_some()).map(|e| e.number).collect();
    assert_eq!(kept, [2]);
    assert_eq!(store.epochs(2).await.unwrap().len(), 2);
}
