//! What is only ever added to: announcements, marks, faults, the audit log, hosts' actions, words
//! of jobs.

use ostrakon_party::PartyId;
use ostrakon_store::{Change, Error, FaultRow, Filed, JobWord, NewAudit};

use crate::{P0, P1, Place, ROOM, collecting, deliver, on_both};

on_both!(
    announcements_are_kept_once_and_delivered_once,
    own_announcements_take_effect_at_once,
    the_first_value_of_a_mark_stands,
    a_fault_is_kept_once_and_a_thousand_at_most,
    records_are_read_newest_first,
    hosts_actions_form_a_chain_without_gaps,
    words_of_jobs_are_read_in_the_order_in_which_they_were_delivered,
);

async fn announcements_are_kept_once_and_delivered_once(place: Place) {
    let store = place.open().await;
    store.keep_announcement(P1, 0, Some(b"h"), b"one").await.unwrap();
    assert!(store.keep_announcement(P1, 0, Some(b"h"), b"two").await.is_err());
    assert_eq!(store.delivered(P1).await.unwrap(), 0);
    store.deliver(P1, 0, None).await.unwrap();
    assert!(matches!(store.deliver(P1, 0, None).await, Err(Error::State(_))));
    assert!(matches!(store.deliver(P1, 7, None).await, Err(Error::State(_))));
    store.keep_announcement(P1, 1, None, b"next").await.unwrap();
    let kept = store.announcements(P1, 0).await.unwrap();
    assert_eq!(kept.iter().map(|row| row.delivered).collect::<Vec<_>>(), [true, false]);
    assert_eq!((kept[0].signed.as_deref(), kept[1].signed.as_deref()), (Some(&b"h"[..]), None));
    store.deliver(P1, 1, None).await.unwrap();
    store.forget_announcements(P1, 100).await.unwrap();
    assert_eq!(store.delivered(P1).await.unwrap(), 2, "the log goes on where it was");
    assert_eq!(store.announcements(P1, 0).await.unwrap().len(), 1);
}

async fn own_announcements_take_effect_at_once(place: Place) {
    let store = place.open().await;
    let create = Change::CreateRoom { room: ROOM, descriptor: vec![], author: P0 };
    store.announce(P0, 0, b"create", Some(&create)).await.unwrap();
    assert!(store.announce(P0, 1, b"create", Some(&create)).await.is_err(), "a room is made once");
    assert_eq!(store.delivered(P0).await.unwrap(), 1, "what has no effect is not announced");
    store.announce(P0, 1, b"close", Some(&Change::CloseRoom { room: ROOM })).await.unwrap();
    assert!(!store.rooms().await.unwrap()[0].open);
}

async fn the_first_value_of_a_mark_stands(place: Place) {
    let store = place.open().await;
    assert_eq!(store.record("batch 5", b"table A").await.unwrap(), b"table A");
    assert_eq!(store.record("batch 5", b"table B").await.unwrap(), b"table A");
    let marks = (store.mark("batch 5").await.unwrap(), store.mark("batch").await.unwrap());
    assert_eq!(marks, (Some(b"table A".to_vec()), None));
    store.close().await;
    drop(store);
    let store = place.open().await;
    assert_eq!(store.record("batch 5", b"table C").await.unwrap(), b"table A");
    assert_eq!(store.marks().await.unwrap(), [("batch 5".to_owned(), b"table A".to_vec())]);
}

async fn a_fault_is_kept_once_and_a_thousand_at_most(place: Place) {
    let store = place.open().await;
    // Longer than what an index takes.
    let fault = |n: u16| {
        let mut evidence = vec![0; 5000];
        evidence[..2].copy_from_slice(&n.to_le_bytes());
        FaultRow { seen_at: 3, culprit: P1, what: "lied".into(), evidence }
    };
    for n in 0..1003 {
        store.keep_fault(&fault(n)).await.unwrap();
        store.keep_fault(&FaultRow { seen_at: 4, ..fault(0) }).await.unwrap();
    }
    let faults = store.faults().await.unwrap();
    assert_eq!(faults.len(), 1000);
    assert_eq!(
        (&faults[0], &faults[999]),
        (&fault(0), &fault(999)),
        "the first of each, oldest first"
    );
}

async fn records_are_read_newest_first(place: Place) {
    let store = place.open().await;
    for at in 0..5 {
        let detail = format!("nul\0 {at}");
        let record =
            NewAudit { at, actor: "operator".into(), action: "create a room".into(), detail };
        store.record_audit(&record).await.unwrap();
    }
    let newest = store.audit(None, 2).await.unwrap();
    assert_eq!(newest.iter().map(|row| row.record.at).collect::<Vec<_>>(), [4, 3]);
    assert_eq!(newest[0].record.detail, "nul\u{fffd} 4");
    let older = store.audit(Some(newest[1].id), 10).await.unwrap();
    assert_eq!(older.iter().map(|row| row.record.at).collect::<Vec<_>>(), [2, 1, 0]);
}

async fn hosts_actions_form_a_chain_without_gaps(place: Place) {
    let store = collecting(&place).await;
    let act = |number: u64| Change::HostAction { room: ROOM, number, body: vec![number as u8] };
    deliver(&store, P0, 3, act(0)).await.unwrap();
    deliver(&store, P0, 4, act(1)).await.unwrap();
    for wrong in [1, 3] {
        assert!(matches!(
            deliver(&store, PartyId(2), wrong, act(wrong)).await,
            Err(Error::State(_))
        ));
    }
    assert_eq!(store.host_actions(&ROOM, 0, 10).await.unwrap(), [vec![0], vec![1]]);
    assert_eq!(store.host_actions(&ROOM, 1, 10).await.unwrap(), [vec![1]]);
    assert_eq!(store.host_actions(&ROOM, 0, 1).await.unwrap(), [vec![0]]);
    assert!(store.host_actions(&[1; 16], 0, 10).await.unwrap().is_empty());
}

/// By number and author P0's word would come before the one of P1 that it answers.
async fn words_of_jobs_are_read_in_the_order_in_which_they_were_delivered(place: Place) {
    let store = place.open().await;
    let word = |author, word: u8| JobWord {
        job: 3,
        subject: [5; 16],
        author,
        word: vec![word],
        filed: Filed::default(),
        unjudged: (word == 3).then(|| vec![1, u64::MAX, 0]),
    };
    for (author, number, said) in [(P1, 0, 1), (P0, 0, 2), (P1, 1, 3)] {
        deliver(&store, author, number, Change::Job(word(author, said))).await.unwrap();
    }
    store.announce(P0, 1, b"own", Some(&Change::Job(word(P0, 4)))).await.unwrap();
    store.close().await;
    let store = place.open().await;
    let rows = store.job_words(0, 3).await.unwrap();
    let said: Vec<_> = rows.iter().map(|row| (row.announcement, row.said.clone())).collect();
    assert_eq!(said, [(0, word(P1, 1)), (0, word(P0, 2)), (1, word(P1, 3))]);
    let rest = store.job_words(rows[2].id, 3).await.unwrap();
    assert_eq!(rest.iter().map(|row| row.said.clone()).collect::<Vec<_>>(), [word(P0, 4)]);
}
