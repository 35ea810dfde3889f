//! Jobs: how words are filed, and what a server keeps beside them.

use ostrakon_store::{Change, Filed, ItemCondition, ItemName, ItemWrite, JobItem, JobWord, Store};

use crate::place::Place;
use crate::{P0, P1, deliver, on_both};

on_both! {
    words_are_filed_by_kind_and_place,
    what_a_word_changes_beside_changes_with_it_or_not_at_all,
    words_that_were_judged_late_are_filed_or_deleted,
    items_change_together_or_not_at_all,
    an_item_is_used_for_one_thing,
    what_was_erased_keeps_its_name_and_what_is_used_is_not_forgotten,
    items_are_listed_and_counted_by_family,
}

const JOB: u8 = 3;
const SUBJECT: [u8; 16] = [5; 16];

fn word(kind: u8, place: u64, word: u8) -> JobWord {
    let filed = Filed { kind, place, ..Filed::default() };
    let word = vec![word; 3];
    JobWord { job: JOB, subject: SUBJECT, author: P0, word, filed, unjudged: None }
}

fn name(drawer: u8, key: u8) -> ItemName {
    ItemName(drawer, vec![key; 4])
}

fn item(drawer: u8, key: u8, body: &[u8]) -> JobItem {
    let (name, body) = (name(drawer, key), body.to_vec());
    JobItem { name, family: Vec::new(), body, bound: None, until: None }
}

async fn put(store: &Store, item: JobItem) {
    let new = [ItemCondition::Absent(item.name.clone())];
    assert!(store.change_job_items(JOB, &new, &[ItemWrite::Put(item)]).await.unwrap());
}

async fn body(store: &Store, name: &ItemName) -> Option<Vec<u8>> {
    store.job_item(JOB, name).await.unwrap().map(|item| item.body)
}

async fn words_are_filed_by_kind_and_place(place: Place) {
    let store = place.open().await;
    let read = async |kind, page| {
        let words = store.filed_words((JOB, &SUBJECT), kind, page).await.unwrap();
        words.into_iter().map(|(author, word)| (author, word[0])).collect::<Vec<_>>()
    };
    for (number, said) in [word(0, 1, 11), word(0, 0, 10), word(1, 0, 20)].into_iter().enumerate() {
        deliver(&store, P0, number as u64, Change::Job(said)).await.unwrap();
    }
    let other = JobWord { author: P1, ..word(1, 0, 21) };
    deliver(&store, P1, 0, Change::Job(other)).await.unwrap();
    assert_eq!(read(0, (0, 9)).await, [(P0, 10), (P0, 11)]);
    assert_eq!(read(0, (1, 9)).await, [(P0, 11)]);
    assert_eq!(read(0, (0, 1)).await, [(P0, 10)]);
    assert_eq!(read(1, (0, 9)).await, [(P0, 20), (P1, 21)]);
    let elsewhere = store.filed_words((JOB, &[6; 16]), 0, (0, 9)).await.unwrap();
    assert!(elsewhere.is_empty() && read(2, (0, 9)).await.is_empty());

    let mut last = word(0, 2, 12);
    last.filed.drops = vec![1];
    deliver(&store, P0, 3, Change::Job(last)).await.unwrap();
    assert_eq!((read(1, (0, 9)).await.len(), read(0, (0, 9)).await.len()), (0, 3));
    deliver(&store, P0, 4, Change::Job(word(1, 0, 22))).await.unwrap();
    assert_eq!(read(1, (0, 9)).await, [(P0, 22)], "later ones are not dropped");
}

async fn what_a_word_changes_beside_changes_with_it_or_not_at_all(place: Place) {
    let store = place.open().await;
    put(&store, JobItem { until: Some(9), ..item(1, 7, b"seed") }).await;
    put(&store, item(2, 7, b"key")).await;
    let writes = vec![
        ItemWrite::Move(name(1, 7), 4),
        ItemWrite::Put(item(3, 7, b"")),
        ItemWrite::Delete(name(2, 7)),
    ];
    let begin = || {
        let mut said = word(0, 0, 1);
        (said.filed.begins, said.filed.writes) = (true, writes.clone());
        said
    };
    assert!(
        store.deliver(P0, 0, Some(&Change::Job(begin()))).await.is_err(),
        "it was not announced"
    );
    assert_eq!(body(&store, &name(2, 7)).await.as_deref(), Some(&b"key"[..]));
    assert!(store.job_subjects(JOB).await.unwrap().is_empty());
    deliver(&store, P0, 0, Change::Job(begin())).await.unwrap();
    deliver(&store, P0, 1, Change::Job(begin())).await.unwrap();
    store.close().await;
    let store = place.open().await;
    assert_eq!(store.job_subjects(JOB).await.unwrap(), [SUBJECT]);
    assert!(store.job_subjects(JOB + 1).await.unwrap().is_empty());
    assert_eq!((body(&store, &name(1, 7)).await, body(&store, &name(2, 7)).await), (None, None));
    let moved = store.job_item(JOB, &name(4, 7)).await.unwrap().unwrap();
    assert_eq!((moved.body.as_slice(), moved.until), (&b"seed"[..], None));
    assert_eq!(body(&store, &name(3, 7)).await.as_deref(), Some(&b""[..]));
    assert_eq!(store.job_item(JOB + 1, &name(4, 7)).await.unwrap(), None, "another job's");
}

async fn words_that_were_judged_late_are_filed_or_deleted(place: Place) {
    let store = place.open().await;
    for number in 0..3 {
        let unjudged = Some(vec![number, 0, 0]);
        let said = JobWord { unjudged, ..word(0, 0, number as u8) };
        deliver(&store, P0, number, Change::Job(said)).await.unwrap();
    }
    let rows = store.job_words(0, 9).await.unwrap();
    let mut valid = word(1, 5, 0);
    valid.filed.drops = vec![0];
    (valid.filed.begins, valid.filed.writes) = (true, vec![ItemWrite::Put(item(1, 1, b"x"))]);
    store.file_word(rows[1].id, Some(&valid)).await.unwrap();
    store.file_word(rows[2].id, None).await.unwrap();
    let rows = store.job_words(0, 9).await.unwrap();
    let left: Vec<_> = rows.iter().map(|row| (row.said.word[0], row.said.filed.kind)).collect();
    assert_eq!(left, [(1, 1)], "it dropped the one before");
    assert_eq!((rows[0].said.filed.place, rows[0].said.unjudged.is_none()), (5, true));
    assert_eq!(store.job_subjects(JOB).await.unwrap(), [SUBJECT]);
    assert!(body(&store, &name(1, 1)).await.is_some());
}

async fn items_change_together_or_not_at_all(place: Place) {
    let store = place.open().await;
    put(&store, item(1, 1, b"one")).await;
    let new = || vec![ItemWrite::Put(item(1, 2, b"two")), ItemWrite::Put(item(1, 1, b"other"))];
    for wrong in [
        ItemCondition::Absent(name(1, 1)),
        ItemCondition::Holds(name(1, 1), b"two".to_vec()),
        ItemCondition::Holds(name(1, 2), b"one".to_vec()),
        ItemCondition::FreeFor(name(1, 2), b"use".to_vec()),
        ItemCondition::Fewer(1, 1),
        ItemCondition::FewerOf(1, Vec::new(), 1),
    ] {
        let right = ItemCondition::Absent(name(1, 2));
        let done = store.change_job_items(JOB, &[right, wrong.clone()], &new()).await.unwrap();
        assert!(!done, "{wrong:?}");
        assert_eq!(body(&store, &name(1, 1)).await.as_deref(), Some(&b"one"[..]), "{wrong:?}");
        assert_eq!(body(&store, &name(1, 2)).await, None, "{wrong:?}");
    }
    let right = [
        ItemCondition::Absent(name(1, 2)),
        ItemCondition::Holds(name(1, 1), b"one".to_vec()),
        ItemCondition::FreeFor(name(1, 1), b"use".to_vec()),
        ItemCondition::Fewer(1, 2),
        ItemCondition::FewerOf(1, Vec::new(), 2),
        ItemCondition::FewerOf(1, vec![1], 1),
    ];
    assert!(store.change_job_items(JOB, &right, &new()).await.unwrap());
    assert_eq!(body(&store, &name(1, 1)).await.as_deref(), Some(&b"other"[..]));
    assert_eq!(body(&store, &name(1, 2)).await.as_deref(), Some(&b"two"[..]));
}

async fn an_item_is_used_for_one_thing(place: Place) {
    let store = place.open().await;
    put(&store, item(1, 1, b"share")).await;
    let bind = async |store: &Store, to: &[u8]| {
        let free = [ItemCondition::FreeFor(name(1, 1), to.to_vec())];
        let bind = [ItemWrite::Bind(name(1, 1), to.to_vec())];
        store.change_job_items(JOB, &free, &bind).await.unwrap()
    };
    assert!(bind(&store, b"one").await && bind(&store, b"one").await, "the same again");
    assert!(!bind(&store, b"other").await);
    store.close().await;
    let store = place.open().await;
    assert!(!bind(&store, b"other").await && bind(&store, b"one").await);
}

async fn what_was_erased_keeps_its_name_and_what_is_used_is_not_forgotten(place: Place) {
    let store = place.open().await;
    for (key, until) in [(1, Some(100)), (2, Some(100)), (3, Some(50)), (4, None)] {
        put(&store, JobItem { until, ..item(1, key, b"share") }).await;
    }
    let write = async |write| assert!(store.change_job_items(JOB, &[], &[write]).await.unwrap());
    write(ItemWrite::Bind(name(1, 1), b"one".to_vec())).await;
    write(ItemWrite::Erase(name(1, 1), b"other".to_vec())).await;
    assert_eq!(body(&store, &name(1, 1)).await.as_deref(), Some(&b"share"[..]), "another one's");
    assert_eq!(store.forget_job_items(JOB, 1, 50).await.unwrap(), 0);
    assert_eq!(store.forget_job_items(JOB, 1, 51).await.unwrap(), 1);
    assert_eq!(store.forget_job_items(JOB, 1, 101).await.unwrap(), 1, "one is in use");
    write(ItemWrite::Erase(name(1, 1), b"one".to_vec())).await;
    let erased = store.job_item(JOB, &name(1, 1)).await.unwrap().unwrap();
    assert_eq!((erased.body.len(), erased.bound.as_deref()), (0, Some(&b"one"[..])));
    write(ItemWrite::Erase(name(1, 4), b"one".to_vec())).await;
    let erased = store.job_item(JOB, &name(1, 4)).await.unwrap().unwrap();
    assert_eq!((erased.body.len(), erased.bound.as_deref()), (0, Some(&b"one"[..])));
    assert_eq!(store.forget_job_items(JOB, 2, 101).await.unwrap(), 0, "another drawer");
    assert_eq!(store.forget_job_items(JOB, 1, 101).await.unwrap(), 1);
    assert!(body(&store, &name(1, 4)).await.is_some(), "it was to be kept for ever");
}

async fn items_are_listed_and_counted_by_family(place: Place) {
    let store = place.open().await;
    for (key, family) in [(3, 1), (1, 1), (2, 2)] {
        put(&store, JobItem { family: vec![family], ..item(1, key, &[key]) }).await;
    }
    put(&store, JobItem { family: vec![1], ..item(2, 9, b"elsewhere") }).await;
    let listed = store.job_items(JOB, 1, &[1]).await.unwrap();
    let listed: Vec<_> = listed.into_iter().map(|item| item.body[0]).collect();
    assert_eq!(listed, [3, 1], "in the order in which they came");
    let count = async |drawer, family: Option<&[u8]>| {
        store.count_job_items(JOB, drawer, family).await.unwrap()
    };
    assert_eq!((count(1, None).await, count(1, Some(&[1])).await), (3, 2));
    assert_eq!((count(2, None).await, count(1, Some(&[9])).await), (1, 0));
    assert_eq!(store.count_job_items(JOB + 1, 1, None).await.unwrap(), 0);
}
