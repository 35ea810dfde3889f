//! A new generation gives up what was under way and keeps what was published.

use ostrakon_crypto::{Digest, Signature};
use ostrakon_store::{
    BatchState, Change, EpochState, Error, Filed, Generation, ItemName, ItemWrite, JobItem,
    JobWord, NewEntry, Renewed, RenewedRoom,
};

use crate::place::Place;
use crate::{P0, P1, ROOM, assign, collecting, deliver, key, on_both, submission};

fn entry(n: u8) -> NewEntry {
    let signatures = vec![(P0, Signature([n; 64])), (P1, Signature([n; 64]))];
    NewEntry { digest: Digest([n; 32]), body: vec![n], published_on: 7, signatures }
}

fn renewed(number: u32) -> Renewed {
    let room = RenewedRoom {
        room: ROOM,
        descriptor: b"descriptor".to_vec(),
        author: P1,
        open: false,
        first_epoch: 9,
        actions: vec![(0, b"action".to_vec())],
        entries: vec![(3, entry(3)), (4, entry(4))],
    };
    let another = RenewedRoom { room: [8; 16], open: true, ..room.clone() };
    let given_up = vec![(ROOM, 0, b"given up".to_vec())];
    Renewed { number, digest: Digest([5; 32]), rooms: vec![room, another], given_up }
}

async fn a_generation_begins_once_and_whole(place: Place) {
    let store = collecting(&place).await;
    deliver(&store, P0, 3, assign(P0, 3, vec![(0, key(10))])).await.unwrap();
    store.take_in(&[submission(0, 10, b"body")]).await.unwrap();
    deliver(&store, P0, 4, Change::PlanBatch { number: 6, engine: 1, rows: 6, width: 48 })
        .await
        .unwrap();
    store.put_batch(6, b"more".to_vec()).await.unwrap();
    let word = b"word".to_vec();
    let kept = JobItem {
        name: ItemName(1, vec![1]),
        family: Vec::new(),
        body: b"share".to_vec(),
        bound: Some(b"used".to_vec()),
        until: None,
    };
    let filed =
        Filed { begins: true, writes: vec![ItemWrite::Put(kept.clone())], ..Filed::default() };
    let said = JobWord { job: 1, subject: [6; 16], author: P1, word, filed, unjudged: None };
    deliver(&store, P1, 0, Change::Job(said)).await.unwrap();
    assert_eq!(store.job_words(0, 8).await.unwrap().len(), 1);
    let first = Generation { number: 0, digest: None, closed: false };
    assert_eq!(store.generation().await.unwrap(), first);
    store.close_generation().await.unwrap();
    store.close_generation().await.unwrap();
    assert_eq!(store.generation().await.unwrap(), Generation { closed: true, ..first });

    // What does not continue what is here changes nothing at all.
    let mut gap = renewed(1);
    gap.rooms[1].actions[0].0 = 1;
    assert!(matches!(store.renew(&gap).await, Err(Error::State(_))));
    assert_eq!(store.announcements(P0, 0).await.unwrap().len(), 5);
    assert!(store.generation().await.unwrap().closed);

    store.renew(&renewed(1)).await.unwrap();
    assert!(matches!(store.renew(&renewed(1)).await, Err(Error::State(_))), "once");
    store.close().await;
    let store = place.open().await;
    let second = Generation { number: 1, digest: Some(Digest([5; 32])), closed: false };
    assert_eq!(store.generation().await.unwrap(), second);
    assert!(store.announcements(P0, 0).await.unwrap().is_empty());
    assert!(store.submissions(&ROOM, 0).await.unwrap().is_empty());
    assert!(store.job_words(0, 8).await.unwrap().is_empty());
    // What is used once is used once for ever.
    assert_eq!(store.job_subjects(1).await.unwrap(), [[6; 16]]);
    assert_eq!(store.job_item(1, &kept.name).await.unwrap(), Some(kept));
    assert!(store.assignments(&ROOM, 0).await.unwrap().is_empty());
    let epochs = store.epochs(8).await.unwrap();
    assert_eq!(
        (epochs[0].state, epochs[0].outcome.as_deref()),
        (EpochState::Finished, Some(&b"given up"[..]))
    );
    for batch in store.batches(8).await.unwrap() {
        assert_eq!((batch.state, batch.on_disk), (BatchState::Discarded, false));
        assert!(batch.said.is_empty() && batch.dropped.is_empty(), "what was said is forgotten");
        assert!(store.batch(batch.number).await.is_err());
    }
    assert_eq!(store.stock_bytes().await.unwrap(), 0, "the files are gone");
    for (room, open) in [(ROOM, false), ([8; 16], true)] {
        let row = store.rooms().await.unwrap().into_iter().find(|row| row.room == room).unwrap();
        assert_eq!((row.open, row.first_epoch, row.author), (open, 9, P1));
        let entries = store.entries(&room, 0, 8).await.unwrap();
        assert_eq!(
            entries.iter().map(|entry| (entry.position, entry.epoch)).collect::<Vec<_>>(),
            [(0, 3), (1, 4)]
        );
        assert_eq!(
            (&entries[1].body[..], entries[1].signatures.len(), entries[1].published_on),
            (&[4][..], 2, 7)
        );
        assert_eq!(store.host_actions(&room, 0, 8).await.unwrap(), [b"action".to_vec()]);
    }
}

on_both!(a_generation_begins_once_and_whole);
