//! Decisions: chains, openings, stock and shares.

use ostrakon_store::{
    Change, DecisionRow, Drawn, Error, HeldRecord, NewRecord, OneTimeName, Store,
};

use crate::place::Place;
use crate::{P0, P1, deliver, on_both};

on_both! {
    a_decision_is_a_chain_without_gaps,
    what_a_server_opened_first_counts,
    one_close_is_opened_for_good,
    e_mails_are_counted_by_person_and_decision,
    a_share_is_written_once,
    a_share_is_used_for_one_decision,
    a_stock_has_a_limit_and_gives_nothing_twice,
    what_was_erased_does_not_come_back,
    requests_by_a_join_link_are_bounded_and_answered_in_order,
    words_of_servers_survive_and_what_is_held_ends_with_the_head,
}

const ID: [u8; 16] = [3; 16];
const OWNER: [u8; 32] = [1; 32];

fn record(number: u32, announcement: u64, spends: Option<OneTimeName>) -> Change {
    let body = vec![number as u8; 3];
    Change::DecisionRecord(NewRecord {
        decision: ID,
        number,
        announcement,
        closes: number == 2,
        spends,
        body,
    })
}

async fn begun(place: &Place) -> Store {
    let store = place.open().await;
    deliver(&store, P0, 0, record(0, 0, None)).await.unwrap();
    store
}

async fn requests_by_a_join_link_are_bounded_and_answered_in_order(place: Place) {
    let store = place.open().await;
    assert!(store.keep_gathering(&ID, b"link", 50, 1).await.unwrap());
    assert!(store.keep_gathering(&ID, b"link", 50, 1).await.unwrap(), "the same again");
    assert!(!store.keep_gathering(&[9; 16], b"link", 50, 1).await.unwrap(), "one too many");
    let ask = |account: u8, body| {
        let store = store.clone();
        async move { store.keep_request(&ID, &[account; 32], body, 2).await.unwrap() }
    };
    assert!(ask(1, b"first").await && ask(2, b"second").await);
    assert!(ask(1, b"changed").await && !ask(3, b"third").await);
    store.close().await;
    let store = place.open().await;
    assert_eq!(store.gathering_requests(&ID).await.unwrap(), [&b"first"[..], b"second"]);

    // Who is refused makes room, and an older word takes nothing back.
    assert!(store.keep_word(&ID, (2, b"no"), &[[1; 32]]).await.unwrap());
    assert!(!store.keep_word(&ID, (2, b"again"), &[[2; 32]]).await.unwrap());
    assert!(!store.keep_word(&[9; 16], (3, b"no"), &[]).await.unwrap(), "no such link");
    assert!(store.keep_request(&ID, &[3; 32], b"third", 2).await.unwrap());
    assert_eq!(store.gathering_requests(&ID).await.unwrap(), [&b"second"[..], b"third"]);
    let kept = store.gathering(&ID).await.unwrap().unwrap();
    assert_eq!(kept, (b"link".to_vec(), Some(b"no".to_vec())));
    store.forget_gatherings(50).await.unwrap();
    assert!(store.gathering(&ID).await.unwrap().is_some());
    store.forget_gatherings(51).await.unwrap();
    assert!(store.gathering(&ID).await.unwrap().is_none());
    assert!(store.gathering_requests(&ID).await.unwrap().is_empty());
}

async fn a_decision_is_a_chain_without_gaps(place: Place) {
    let store = begun(&place).await;
    for (number, announcement) in [(0, 1), (2, 1)] {
        let refused = deliver(
            &store,
            P0,
            announcement + u64::from(number),
            record(number, announcement, None),
        )
        .await;
        assert!(matches!(refused, Err(Error::State(_) | Error::Database(_))), "{refused:?}");
    }
    deliver(&store, P0, 10, record(1, 10, None)).await.unwrap();
    deliver(&store, P0, 11, record(2, 11, None)).await.unwrap();
    assert_eq!(store.decision_records(&ID, 1, 1).await.unwrap(), [vec![1; 3]]);
    assert_eq!(store.decision_records(&ID, 0, 9).await.unwrap().len(), 3);
    store.close().await;
    let store = place.open().await;
    assert_eq!(
        store.decisions().await.unwrap(),
        [DecisionRow { id: ID, created: 0, closed: Some(11) }]
    );
}

async fn what_a_server_opened_first_counts(place: Place) {
    let store = begun(&place).await;
    for (number, body) in [(0, b"first"), (1, b"later")] {
        let opening = Change::DecisionOpening { decision: ID, party: P1, body: body.to_vec() };
        deliver(&store, P1, number, opening).await.unwrap();
    }
    assert_eq!(store.decision_openings(&ID).await.unwrap(), [(P1, b"first".to_vec())]);
}

async fn one_close_is_opened_for_good(place: Place) {
    let store = begun(&place).await;
    assert_eq!(
        store.bind_opening(&[9; 16], b"close", &[]).await.unwrap(),
        None,
        "there is no such decision"
    );
    assert_eq!(store.bind_opening(&ID, b"close", &[]).await.unwrap(), Some(vec![]));
    assert_eq!(store.bind_opening(&ID, b"other", &[]).await.unwrap(), None);
    store.close().await;
    let store = place.open().await;
    assert_eq!(store.bind_opening(&ID, b"other", &[]).await.unwrap(), None);
    assert_eq!(
        store.bind_opening(&ID, b"close", &[]).await.unwrap(),
        Some(vec![]),
        "the same one again"
    );
}

async fn a_share_is_used_for_one_decision(place: Place) {
    let store = begun(&place).await;
    let other = [4; 16];
    let first = NewRecord {
        decision: other,
        number: 0,
        announcement: 1,
        closes: false,
        spends: None,
        body: vec![1],
    };
    deliver(&store, P0, 1, Change::DecisionRecord(first)).await.unwrap();
    let [name, second, not_held] = [7, 8, 9].map(|serial| (OWNER, [serial; 16]));
    for name in [name, second] {
        store.keep_share(&name, 100, b"share").await.unwrap();
    }
    assert_eq!(
        store.bind_opening(&ID, b"close", &[name, not_held]).await.unwrap(),
        Some(vec![name])
    );
    let bound = store.bind_opening(&other, b"close of the other", &[second, name]).await.unwrap();
    assert_eq!(bound, Some(vec![second]), "the share of the first is used elsewhere");
    assert_eq!(
        store.bind_opening(&ID, b"close", &[name]).await.unwrap(),
        Some(vec![name]),
        "the same one again"
    );
    assert_eq!(
        store.bind_opening(&ID, b"close", &[second]).await.unwrap(),
        Some(vec![]),
        "and the other one is not"
    );
    assert_eq!(store.bind_opening(&other, b"another close", &[second]).await.unwrap(), None);
}

async fn e_mails_are_counted_by_person_and_decision(place: Place) {
    let store = begun(&place).await;
    for (person, may) in [(0, true), (0, true), (0, false), (1, true), (2, false), (1, false)] {
        assert_eq!(store.count_mail(&ID, person, (2, 3)).await.unwrap(), may, "{person}");
    }
    assert!(store.count_mail(&[9; 16], 0, (2, 3)).await.is_err(), "there is no such decision");
}

async fn a_share_is_written_once(place: Place) {
    let store = place.open().await;
    let name = (OWNER, [7; 16]);
    assert_eq!(store.held_share(&name).await.unwrap(), None);
    assert_eq!(store.keep_share(&name, 100, b"share").await.unwrap(), b"share");
    assert_eq!(store.keep_share(&name, 100, b"other").await.unwrap(), b"share");
    assert_eq!(store.held_share(&name).await.unwrap().as_deref(), Some(b"share".as_slice()));
    store.keep_share(&([2; 32], [7; 16]), 100, b"share").await.unwrap();
    assert_eq!(
        (store.held_shares_of(&OWNER).await.unwrap(), store.held_shares().await.unwrap()),
        (1, 2)
    );
}

async fn a_stock_has_a_limit_and_gives_nothing_twice(place: Place) {
    let store = begun(&place).await;
    let key = |n: u8| ([n; 16], vec![n; 5]);
    assert_eq!(
        store.add_stock_keys(&OWNER, &[key(1), key(2), key(1), key(3), key(4)], 3).await.unwrap(),
        3
    );
    assert_eq!(store.stock_keys(&OWNER).await.unwrap(), [vec![1; 5], vec![2; 5], vec![3; 5]]);
    let name = (OWNER, [1; 16]);
    deliver(&store, P0, 1, record(1, 1, Some(name))).await.unwrap();
    assert_eq!(store.stock_keys(&OWNER).await.unwrap().len(), 2);
    assert_eq!(
        store.add_stock_keys(&OWNER, &[key(1)], 3).await.unwrap(),
        2,
        "a spent key does not come back"
    );
    assert!(store.stock_keys(&[2; 32]).await.unwrap().is_empty());
}

async fn what_was_erased_does_not_come_back(place: Place) {
    let store = begun(&place).await;
    let [used, unused, elsewhere] = [7, 8, 9].map(|serial| (OWNER, [serial; 16]));
    for (name, expires) in [(used, 100), (unused, 100), (elsewhere, 50)] {
        assert_eq!(store.keep_share(&name, expires, b"share").await.unwrap(), b"share");
    }
    store.bind_opening(&ID, b"close", &[used]).await.unwrap();
    store.erase_shares(&ID, &[used]).await.unwrap();
    store.erase_shares(&[4; 16], &[used]).await.unwrap();
    assert_eq!(store.keep_share(&used, 100, b"again").await.unwrap(), b"", "its name stays");
    assert_eq!(store.held_share(&unused).await.unwrap(), Some(b"share".to_vec()));
    assert_eq!(store.forget_shares(50).await.unwrap(), 0);
    assert_eq!(store.forget_shares(51).await.unwrap(), 1);
    assert_eq!(store.forget_shares(101).await.unwrap(), 2);

    let other = [5; 16];
    let drawn = |seed: &[u8], at| Some(Drawn { seed: seed.to_vec(), at });
    assert_eq!(store.keep_layer(&ID, b"drawn", 10, 1).await.unwrap(), drawn(b"drawn", 10));
    assert_eq!(store.keep_layer(&ID, b"again", 11, 1).await.unwrap(), drawn(b"drawn", 10));
    assert_eq!(store.keep_layer(&other, b"other", 12, 1).await.unwrap(), drawn(b"other", 12));
    assert_eq!(store.keep_layer(&[6; 16], b"third", 12, 1).await.unwrap(), None, "too many");
    store.forget_layers(12).await.unwrap();
    assert_eq!(store.layer(&other).await.unwrap(), drawn(b"other", 12));
    store.forget_layers(13).await.unwrap();
    assert_eq!(store.layer(&other).await.unwrap(), None);
    assert_eq!(store.layer(&ID).await.unwrap(), drawn(b"drawn", 10), "it has begun");
    assert!(!store.is_erased(&ID).await.unwrap());
    store.erase_layer(&ID).await.unwrap();
    assert!(store.is_erased(&ID).await.unwrap());
    assert_eq!(store.layer(&ID).await.unwrap(), None);
}

async fn words_of_servers_survive_and_what_is_held_ends_with_the_head(place: Place) {
    let store = begun(&place).await;
    let due = |party| Change::DecisionDue { decision: ID, date: 1, party };
    deliver(&store, P1, 0, due(P1)).await.unwrap();
    deliver(&store, P1, 1, due(P1)).await.unwrap();
    let held = HeldRecord {
        decision: ID,
        party: P1,
        announcement: 2,
        person: 3,
        previous: [9; 32],
        body: vec![1, 2, 3],
    };
    deliver(&store, P1, 2, Change::DecisionHeld(held.clone())).await.unwrap();
    store.close().await;
    let store = place.open().await;
    assert_eq!(store.decision_due(&ID).await.unwrap(), [(1, P1, 0)], "the first word counts");
    assert_eq!(store.decision_held(&ID).await.unwrap(), [held]);
    deliver(&store, P0, 1, record(1, 1, None)).await.unwrap();
    assert_eq!(store.decision_held(&ID).await.unwrap(), []);
}
