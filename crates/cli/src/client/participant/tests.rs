//! A participant against servers that the test plays, in virtual time where nothing is sent.

use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use ostrakon_broadcast::board::{Entry, Published as Shown};
use ostrakon_broadcast::client::Link;
use ostrakon_broadcast::engine::Shape;
use ostrakon_broadcast::room::{EpochId, Servers};
use ostrakon_broadcast::row::Content;
use ostrakon_broadcast::{EpochContext, RoomDescriptor, SignedEntry};
use ostrakon_crypto::Digest;
use ostrakon_party::SessionId;

use super::*;
use crate::client::{Connection, http_client};

fn participant(origins: &[String]) -> Participant {
    let keys = (0..3).map(|party| SigningKey::from_seed(&[party + 1; 32]).verifying_key());
    let servers = Servers { session: SessionId(Digest([9; 32])), keys: keys.collect() };
    let descriptor = RoomDescriptor { payload: 32, capacity: 9, ..RoomDescriptor::new("r") };
    let link = Link {
        origin: origins[0].clone(),
        room: descriptor.id(),
        servers: servers.digest(),
        invitation: None,
    };
    let http = http_client().unwrap();
    let connections = origins.iter().map(|origin| Connection::new(http.clone(), origin)).collect();
    let room = Room::new(link, servers, descriptor, connections, false);
    Participant::new(Arc::new(room), Some(b"a".to_vec()), Some(PartyId(0))).unwrap()
}

/// A server that gives every submission the same answer.
async fn server(answer: StatusCode) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let path = "/api/v1/rooms/{room}/epochs/{number}/submission";
    let router =
        Router::new().route(path, post(move || async move { (answer, r#"{"accepted":true}"#) }));
    tokio::spawn(async move { axum::serve(listener, router).await });
    origin
}

#[tokio::test]
async fn a_submission_counts_as_handed_in_once_two_servers_have_it() {
    let (has, refuses) = (StatusCode::ACCEPTED, StatusCode::UNPROCESSABLE_ENTITY);
    for (answers, submitted) in
        [([has, refuses, refuses], 0), ([refuses, has, has], 1), ([has; 3], 1)]
    {
        let origins = futures::future::join_all(answers.map(server)).await;
        let mut participant = participant(&origins);
        participant.work.submission =
            Some(Submission { slot: 3, body: vec![1; 40], message: true });
        let mut events = Vec::new();
        participant.deliver(&mut |event| events.push(event)).await;
        let expected = Event::Submitted { epoch: 0, message: true };
        assert_eq!(events, vec![expected; submitted], "{answers:?}");
    }
}

/// At home at the first server, which has given no slot in epoch 4 yet.
fn waiting() -> Participant {
    let nowhere = [(); 3].map(|()| "http://127.0.0.1:1".to_owned());
    let mut participant = participant(&nowhere);
    (participant.present, participant.greeted) = (true, Instant::now());
    participant.turn_to(Some(4), &mut |_| ());
    participant
}

#[tokio::test(start_paused = true)]
async fn who_was_stopped_for_a_minute_stays_at_its_home_as_a_newcomer() {
    let mut stopped = waiting();
    tokio::time::advance(Duration::from_secs(60)).await;
    assert!(stopped.greeted.elapsed() >= FORGOTTEN);
    stopped.return_as_newcomer();
    assert!(!stopped.present, "it says anew that it is there");
    // As it is welcomed.
    stopped.present = true;
    let (home, mut events) = (stopped.home, Vec::new());
    assert!(!stopped.go_where_there_are_fewer().await, "it has not waited in vain");
    for epoch in [7, 8] {
        assert!(!stopped.turn_to(Some(epoch), &mut |event| events.push(event)), "epoch {epoch}");
    }
    assert_eq!((stopped.displaced, stopped.home, events), (false, home, Vec::new()));
    // Once it has settled, a home that gives no slot is left as by anybody else.
    tokio::time::advance(SETTLED).await;
    assert!(!stopped.turn_to(Some(9), &mut |_| ()));
    assert!(stopped.turn_to(Some(10), &mut |_| ()));
}

#[tokio::test(start_paused = true)]
async fn who_waits_awake_for_too_long_goes_elsewhere() {
    let mut waits = waiting();
    tokio::time::advance(longest_wait(waits.room.descriptor.seconds)).await;
    assert!(waits.go_where_there_are_fewer().await);
}

/// In epoch 5, of which every server says that 2 are enough; the participant has agreed to 3.
fn among_fewer() -> Participant {
    let mut participant = waiting();
    participant.outbox.agree(3);
    participant.turn_to(Some(5), &mut |_| ());
    let room = &participant.room.descriptor;
    let context = EpochContext {
        epoch: EpochId { room: room.id(), number: 5 },
        batch: 5,
        engine: room.engine,
        shape: Shape::of(room),
        mode: room.mode,
        minimum: 2,
    };
    participant.work.issues = vec![Some(Issued { context, slot: 0, issue: Vec::new() }); 3];
    participant.room.show(5, Vec::new());
    participant
}

#[tokio::test(start_paused = true)]
async fn who_has_handed_in_waits_for_it_although_the_minimum_was_lowered() {
    let mut participant = among_fewer();
    let content = participant.outbox.content_among(4, 3);
    assert!(matches!(content, Some(Content::Message(_))), "it goes into epoch 4");
    let room = Arc::clone(&participant.room);
    let epoch = EpochId { room: room.descriptor.id(), number: 4 };
    let messages = vec![Shown::Kept { salt: [0; 16], body: b"a".to_vec() }];
    let entry = Entry { epoch, previous: Digest([0; 32]), accepted: 3, messages };
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(20)).await;
        room.show(5, vec![Arc::new(SignedEntry { entry, signatures: Vec::new() })]);
    });
    let published = participant.take_part(|_| ()).await.unwrap();
    assert_eq!(published, Published { epoch: 4, entry: 0 });
}

#[tokio::test(start_paused = true)]
async fn who_has_not_handed_in_is_told_that_the_minimum_was_lowered() {
    let told = among_fewer().take_part(|_| ()).await.unwrap_err().to_string();
    assert!(told.contains("lowered the minimum to 2") && told.contains("was not sent"), "{told}");
}
