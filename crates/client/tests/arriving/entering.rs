//! Who the servers are.

use ostrakon_client::{ArrivingFailure, ArrivingNews};
use ostrakon_crypto::Digest;
use ostrakon_mixing::Servers;
use ostrakon_party::{PartyId, SessionId};
use serde_json::{Value, json};

use crate::servers::servers_answer;
use crate::time::InTime;
use crate::world::Shows::{Open, Says};
use crate::world::{Way, kept, room, servers, to_room, to_servers};

/// The list of other servers, by one that calls itself this.
fn others(you: u8) -> Value {
    let session = SessionId(Digest([8; 32]));
    let mut names = servers_answer(&Servers { session, ..servers() });
    names["you"] = you.into();
    names
}

fn at(party: u8) -> String {
    format!("http://p{party}.example")
}

#[test]
fn all_servers_are_asked_who_they_are_and_are_reached_where_they_say_the_first_where_it_was() {
    for pinned in [None, Some(servers().digest())] {
        let mut way = Way::new(to_servers(pinned), None);
        let mut names = servers_answer(&servers());
        (names["you"], names["servers"][1]["url"]) = (1.into(), "http://inside.example/".into());
        way.doors[1].names = Some((200, names));
        let arrived = way.arrived(150);
        assert_eq!(way.asked(), [(0, "servers"), (0, "servers"), (2, "servers")]);
        assert_eq!(arrived.addresses, [at(0), at(1), at(2)]);
        assert_eq!(arrived.entrance, at(0), "links lead to where the servers know themselves");
        assert_eq!((arrived.servers, arrived.info.you), (servers(), 1));
        assert_eq!(arrived.room, None);
    }
    let arrived = Way::new(to_servers(None), None).arrived(150);
    assert_eq!(arrived.entrance, at(1));
}

#[test]
fn servers_that_the_link_does_not_name_are_refused_and_asked_nothing_else() {
    let mut way = Way::usual();
    way.doors[0].names = Some((200, others(0)));
    assert_eq!(way.failure(5_000), ArrivingFailure::OtherServers { at: at(0) });
    assert_eq!((way.asked(), way.news.len()), (vec![(0, "servers")], 1));
}

/// What somebody says who names other servers, or calls itself another one of them.
fn contradictions() -> [Value; 2] {
    let mut another = servers_answer(&servers());
    another["you"] = 1.into();
    [others(2), another]
}

#[test]
fn who_names_other_servers_than_the_link_is_told_and_keeps_nobody_out() {
    for names in contradictions() {
        for destination in [to_room(0), to_servers(Some(servers().digest()))] {
            let mut way = Way::new(destination, None);
            way.doors[2].names = Some((200, names.clone()));
            assert_eq!(way.arrived(500).contradicting, [PartyId(2)]);
            assert!(!way.asked().contains(&(2, "room")), "nothing leads there");
        }
    }
    assert_eq!(Way::usual().arrived(500).contradicting, []);
}

#[test]
fn who_names_other_servers_is_told_where_nobody_shows_the_room() {
    let mut way = Way::showing([Says(503), Says(404), Open]);
    way.doors[2].names = Some((200, others(2)));
    let failure = way.failure(30_000);
    assert!(matches!(failure, ArrivingFailure::Refused { at, .. } if at == self::at(1)));

    let mut silent = Way::usual();
    silent.doors[2].names = Some((200, others(2)));
    (silent.doors[0].slow_room, silent.doors[1].slow_room) = (60_000, 60_000);
    assert_eq!(silent.failure(30_000), ArrivingFailure::OtherServers { at: at(2) });
}

#[test]
fn with_what_was_kept_the_first_server_that_names_others_keeps_nobody_out() {
    let mut way = Way::new(to_room(0), Some(kept()));
    way.doors[0].names = Some((200, others(0)));
    let arrived = way.arrived(500);
    assert_eq!(arrived.contradicting, [PartyId(0)]);
    assert_eq!(arrived.room.unwrap().descriptor, room());
    assert!(!way.asked().contains(&(0, "room")));
}

#[test]
fn where_no_link_says_who_the_servers_are_who_contradicts_ends_it() {
    for names in contradictions() {
        let mut way = Way::new(to_servers(None), None);
        way.doors[2].names = Some((200, names));
        assert_eq!(way.failure(5_000), ArrivingFailure::OtherServers { at: at(2) });
    }
}

#[test]
fn a_list_that_nobody_can_read_is_no_list() {
    let mut beyond = servers_answer(&servers());
    beyond["you"] = 3.into();
    let mut reversed = servers_answer(&servers());
    reversed["servers"].as_array_mut().unwrap().reverse();
    for names in [beyond, reversed, json!({"maintenance": true})] {
        let mut way = Way::usual();
        way.doors[0].names = Some((200, names));
        let failure = way.failure(60_000);
        assert!(matches!(failure, ArrivingFailure::Malformed { at, .. } if at == self::at(0)));
        assert_eq!(way.asked().len(), 1, "it would be the same again");
    }
    let mut way = Way::usual();
    way.doors[2].names = Some((200, json!({"maintenance": true})));
    way.room(200);
}

#[test]
fn the_first_server_is_asked_again_for_a_while_and_what_it_said_last_is_told() {
    let mut way = Way::usual();
    way.doors[0].names = Some((503, json!({"detail": "busy"})));
    way.advance(1_000);
    let before = way.asked().len();
    assert!((3..8).contains(&before), "{before}");
    way.doors[0].names = None;
    way.room(1_500);

    let mut busy = Way::usual();
    busy.doors[0].names = Some((503, json!({"detail": "busy"})));
    let told = |way: &mut Way| match way.failure(10_000) {
        ArrivingFailure::Refused { at, refusal } => (at, refusal.status, refusal.detail),
        other => panic!("{other:?}"),
    };
    assert_eq!(told(&mut busy), (at(0), 503, "busy".into()));
    assert!((5..10).contains(&busy.asked().len()));

    let mut refusing = Way::usual();
    refusing.doors[0].names = Some((403, json!({"detail": "no"})));
    assert_eq!(told(&mut refusing).1, 403);
    assert_eq!(refusing.asked().len(), 1, "it will not say anything else");
}

#[test]
fn a_first_server_that_hangs_is_told_once_its_time_is_over() {
    let mut way = Way::usual();
    way.away(&[0]);
    way.advance(9_000);
    assert_eq!(way.news, []);
    assert_eq!(way.failure(2_000), ArrivingFailure::Away { at: at(0) });
}

#[test]
fn a_list_of_servers_is_read_without_what_nobody_needs_here() {
    let bare = |you: u8| {
        let Value::Object(mut names) = servers_answer(&servers()) else { panic!("no list") };
        names.retain(|name, _| ["session", "servers"].contains(&name.as_str()));
        names.insert("you".into(), you.into());
        names.insert("next".into(), json!({"version": 2}));
        Some((200, Value::Object(names)))
    };
    let mut way = Way::usual();
    (way.doors[0].names, way.doors[2].names) = (bare(0), bare(2));
    way.away(&[1]);
    assert_eq!(way.arrived(5_000).contradicting, []);
    assert!(way.asked().contains(&(2, "room")));
}

#[test]
fn a_server_that_hangs_holds_nobody_up_for_long() {
    for destination in [to_room(0), to_servers(None)] {
        let mut way = Way::new(destination, None);
        way.away(&[2]);
        way.advance(2_500);
        assert!(matches!(way.news[..], [ArrivingNews::Found(_)]), "it may still contradict");
        way.arrived(1_000);
        let asked = way.exchanges.len();
        way.advance(60_000);
        assert_eq!((way.exchanges.len(), way.news.len()), (asked, 2), "it is over");
    }
}
