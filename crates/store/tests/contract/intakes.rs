//! What processes beside each other tell each other.

use std::collections::BTreeSet;

use ostrakon_crypto::VerifyingKey;
use ostrakon_store::{Arrivals, Error, Intake, Offer, Seen, Store, SubmissionRow, Taken};
use sqlx::Connection;

use crate::backends::postgres::rows_read;
use crate::{P0, P1, Place, ROOM, assign, collecting, deliver, key, on_both, seal, submission};

on_both!(
    views_are_read_from_where_one_has_read,
    offers_lie_there_for_their_owners,
    who_is_there_is_known_for_a_while,
    an_engine_has_heard_of_what_it_took_in_itself,
);

async fn views_are_read_from_where_one_has_read(place: Place) {
    let store = place.open().await;
    assert!(!store.show("a", b"1", 1000).await.unwrap());
    store.show("b", b"1", 1000).await.unwrap();
    let both = store.views(0).await.unwrap();
    assert_eq!(both.iter().map(|view| view.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    // Whatever the clock says.
    assert!(store.show("a", b"2", 10).await.unwrap());
    let new = store.views(both[1].number).await.unwrap();
    assert_eq!((new.len(), new[0].name.as_str(), new[0].value.as_slice()), (1, "a", &b"2"[..]));
    assert!(store.views(new[0].number).await.unwrap().is_empty());
    // A crash of the database empties the table. Who has read what was there reads what is shown
    // then.
    place.execute("DELETE FROM views").await;
    assert!(!store.show("a", b"3", 2000).await.unwrap());
    assert_eq!(store.views(new[0].number).await.unwrap().len(), 1);
}

async fn offers_lie_there_for_their_owners(place: Place) {
    let store = place.open().await;
    let offers: Vec<_> =
        (0..100_u8).map(|n| Offer { slot: n.into(), key: key(n), offer: vec![n; 50] }).collect();
    store.lay_out(&ROOM, 3, &offers).await.unwrap();
    let again = Offer { offer: vec![], ..offers[7].clone() };
    store
        .lay_out(&ROOM, 3, &[again, Offer { slot: 101, key: key(7), offer: vec![] }])
        .await
        .unwrap();
    assert_eq!(store.offer(&ROOM, 3, &key(7)).await.unwrap().as_ref(), Some(&offers[7]));
    assert_eq!(store.offer(&ROOM, 4, &key(7)).await.unwrap(), None);
    assert_eq!(store.offer(&ROOM, 3, &key(200)).await.unwrap(), None);
    store.clear_offers(&ROOM, 3).await.unwrap();
    assert!(store.offer(&ROOM, 3, &key(7)).await.unwrap().is_some());
    store.clear_offers(&ROOM, 4).await.unwrap();
    assert!(store.offer(&ROOM, 3, &key(7)).await.unwrap().is_none());
}

async fn who_is_there_is_known_for_a_while(place: Place) {
    let store = place.open().await;
    let seen = |n: u8, at| Seen { room: ROOM, key: key(n), at };
    for (n, at) in [(1, 100), (2, 200), (1, 300)] {
        assert_eq!(
            store.take_in(&[Intake::Presence(seen(n, at))]).await.unwrap(),
            [Taken::Recorded]
        );
    }
    assert_eq!(store.seen_since(0).await.unwrap(), [seen(2, 200), seen(1, 300)]);
    assert_eq!(store.seen_since(201).await.unwrap(), [seen(1, 300)]);
    // What an intake process writes that is no key keeps nobody else from being seen.
    place.execute("INSERT INTO presence SELECT room, substr(key, 1, 5), 250 FROM presence WHERE seen_at = 300").await;
    assert_eq!(store.seen_since(201).await.unwrap(), [seen(1, 300)]);
    store.forget_presence(300).await.unwrap();
    assert_eq!(store.seen_since(0).await.unwrap(), [seen(1, 300)]);
    // Many at once, some of them twice, among what else is handed in.
    let mut many: Vec<_> = (0..100).map(|n| Intake::Presence(seen(n, 400))).collect();
    many.extend([
        submission(1, 1, b"to no epoch"),
        Intake::Presence(seen(7, 500)),
        Intake::Presence(seen(7, 600)),
    ]);
    let taken = store.take_in(&many).await.unwrap();
    assert!(
        taken.iter().enumerate().all(|(n, taken)| (*taken == Taken::Recorded) == (n != 100)),
        "{taken:?}"
    );
    assert_eq!(store.seen_since(400).await.unwrap().len(), 100);
    assert_eq!(store.seen_since(401).await.unwrap(), [seen(7, 600)]);
}

async fn an_engine_has_heard_of_what_it_took_in_itself(place: Place) {
    let store = collecting(&place).await;
    deliver(&store, P1, 0, assign(P1, 0, vec![(1, key(1))])).await.unwrap();
    assert_eq!(store.take_in(&[submission(1, 1, b"a")]).await.unwrap(), [Taken::Recorded]);
    assert_eq!(store.take_arrivals().await.unwrap(), []);
    assert_eq!(store.submitted(&ROOM, 0).await.unwrap(), [1]);
}

fn arrivals(slots: &[u32]) -> Arrivals {
    Arrivals { room: ROOM, epoch: 0, slots: slots.to_vec() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_intake_processes_recorded_is_taken_once() {
    let place = Place::postgres().await;
    let engine = collecting(&place).await;
    deliver(&engine, P1, 0, assign(P1, 0, (0..9).map(|n| (n.into(), key(n))).collect()))
        .await
        .unwrap();
    let intake = Store::join(&place.database).await.unwrap();
    let many = [
        submission(1, 1, b"a"),
        submission(2, 2, b"b"),
        submission(1, 1, b"c"),
        submission(4, 3, b"d"),
    ];
    intake.take_in(&many).await.unwrap();
    assert_eq!(
        engine.take_arrivals().await.unwrap(),
        [arrivals(&[1, 2])],
        "only what was recorded"
    );
    assert_eq!(engine.take_arrivals().await.unwrap(), []);
    // One began before another and ends after it.
    let mut connection = place.connect().await;
    let mut slow = connection.begin().await.unwrap();
    let insert = "INSERT INTO arrivals (room, epoch, slots) VALUES ($1, 0, $2)";
    let insert = sqlx::query(insert).bind(ROOM.as_slice()).bind(&[3, 0, 0, 0][..]);
    insert.execute(&mut *slow).await.unwrap();
    intake.take_in(&[submission(5, 5, b"e")]).await.unwrap();
    assert_eq!(engine.take_arrivals().await.unwrap(), [arrivals(&[5])]);
    slow.commit().await.unwrap();
    assert_eq!(engine.take_arrivals().await.unwrap(), [arrivals(&[3])]);
    // An engine that ends when it has taken them reads the submissions when it starts, and takes
    // what came since.
    engine.close().await;
    intake.take_in(&[submission(6, 6, b"f")]).await.unwrap();
    let engine = place.open().await;
    assert_eq!(engine.submitted(&ROOM, 0).await.unwrap(), [1, 2, 5, 6]);
    assert_eq!(engine.take_arrivals().await.unwrap(), [arrivals(&[6])]);
}

/// Once a beat, and all the while submissions come in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn to_hear_of_submissions_takes_as_many_rows_as_there_were_batches() {
    const SLOTS: u32 = 1000;
    let place = Place::postgres().await;
    let engine = collecting(&place).await;
    let owner = |slot: u32| {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&slot.to_le_bytes());
        VerifyingKey(key)
    };
    let own: Vec<_> = (0..SLOTS).map(|slot| (slot, owner(slot))).collect();
    deliver(&engine, P1, 0, assign(P1, 0, own.clone())).await.unwrap();
    let intake = Store::join(&place.database).await.unwrap();
    let mut heard = BTreeSet::new();
    for some in own.chunks(10) {
        let row = |(slot, key)| SubmissionRow { slot, key, body: vec![1] };
        let many =
            some.iter().map(|one| Intake::Submission { room: ROOM, epoch: 0, row: row(*one) });
        intake.take_in(&many.collect::<Vec<_>>()).await.unwrap();
        heard.extend(
            engine.take_arrivals().await.unwrap().into_iter().flat_map(|arrivals| arrivals.slots),
        );
    }
    assert_eq!(heard.len(), SLOTS as usize);
    intake.close().await;
    engine.close().await;
    let read = rows_read(&place, &["arrivals", "submissions"]).await;
    assert!(read < 2 * i64::from(SLOTS), "{read} rows were read");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_intake_process_takes_in_and_writes_nothing_else() {
    let place = Place::postgres().await;
    let early = Store::join(&place.database).await.err().expect("no engine has been here");
    assert!(early.to_string().contains("start the engine"), "{early}");
    let engine = collecting(&place).await;
    deliver(&engine, P1, 0, assign(P1, 0, vec![(1, key(1)), (4, key(2))])).await.unwrap();
    let intakes =
        [Store::join(&place.database).await.unwrap(), Store::join(&place.database).await.unwrap()];
    assert_eq!(intakes[0].take_in(&[submission(1, 1, b"a")]).await.unwrap(), [Taken::Recorded]);
    assert_eq!(intakes[1].take_in(&[submission(1, 1, b"a")]).await.unwrap(), [Taken::Recorded]);
    assert_eq!(intakes[1].take_in(&[submission(1, 1, b"b")]).await.unwrap(), [Taken::Different]);
    assert_eq!(engine.submitted(&ROOM, 0).await.unwrap(), [1]);
    assert!(matches!(intakes[0].record("mark", b"").await, Err(Error::Superseded)));
    // Without the engine they go on; nothing that they acknowledged is lost when it comes back and
    // seals.
    engine.close().await;
    assert_eq!(intakes[0].take_in(&[submission(4, 2, b"b")]).await.unwrap(), [Taken::Recorded]);
    let engine = place.open().await;
    deliver(&engine, P0, 3, seal([3, 1, 0])).await.unwrap();
    assert_eq!(engine.submissions(&ROOM, 0).await.unwrap().len(), 2);
    assert_eq!(intakes[1].take_in(&[submission(1, 1, b"a")]).await.unwrap(), [Taken::TooLate]);
    let refused =
        Store::join(&"sqlite".parse().unwrap()).await.err().expect("a file serves one process");
    assert!(matches!(refused, Error::Unsuitable(_)));
}

/// The rights that `SECURITY.md` names are enough for an intake process, and no more than it needs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_intake_process_needs_few_rights() {
    let place = Place::postgres().await;
    let engine = collecting(&place).await;
    deliver(&engine, P1, 0, assign(P1, 0, vec![(1, key(1))])).await.unwrap();
    let (_, name) = place.url.split_once("dbname=").unwrap();
    let user = format!("intake_of_{name}");
    let mut connection = place.connect().await;
    let grants = format!(
        "CREATE ROLE {user} LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {user}; \
         GRANT INSERT, UPDATE ON presence TO {user}; GRANT INSERT ON submissions TO {user}; GRANT INSERT ON arrivals TO {user}; \
         GRANT UPDATE (issued) ON assignments TO {user}"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(grants)).execute(&mut connection).await.unwrap();
    let url = format!("{}&user={user}", place.url);
    let intake = Store::join(&url.parse().unwrap()).await.unwrap();
    let issue = Intake::Issue { room: ROOM, epoch: 0, slot: 1, key: key(1) };
    let taken = intake.take_in(&[issue, submission(1, 1, b"a")]).await.unwrap();
    assert_eq!(taken, [Taken::Recorded, Taken::Recorded]);
    for at in [1, 2] {
        intake.take_in(&[Intake::Presence(Seen { room: ROOM, key: key(1), at })]).await.unwrap();
    }
    assert!(intake.views(0).await.unwrap().is_empty());
    let mut limited = sqlx::AnyConnection::connect(&url).await.unwrap();
    for deed in [
        "UPDATE submissions SET body = ''",
        "DELETE FROM submissions",
        "DELETE FROM arrivals",
        "UPDATE assignments SET slot = 2",
        "DELETE FROM entries",
    ] {
        assert!(sqlx::query(deed).execute(&mut limited).await.is_err(), "{deed}");
    }
}
