//! Which room it is, and whether it is closed.

use ostrakon_client::{ArrivingFailure, ArrivingNews, Destination};
use ostrakon_mixing::RoomDescriptor;
use ostrakon_protocol::RoomInfo;
use serde_json::{Value, json};

use crate::time::InTime;
use crate::world::Shows::{Closed, Instead, Open, Says};
use crate::world::{Shows, Way, kept, room, to_room};

fn another() -> Value {
    json!(RoomInfo::of(&RoomDescriptor::new("Another"), true))
}

/// Servers of whom these do not answer.
fn without(away: &[usize], shows: [Shows; 3]) -> Way {
    let mut way = Way::showing(shows);
    way.away(away);
    way
}

#[test]
fn every_server_is_asked_for_the_room_once_it_has_said_who_it_is() {
    let mut way = Way::usual();
    assert_eq!(way.room(200).descriptor, room());
    let entering = (0, "servers");
    let others = [(1, "servers"), (2, "servers")];
    assert_eq!(way.asked()[..4], [&[entering][..], &[(0, "room")], &others].concat());
    assert_eq!(way.asked()[4..], [(1, "room"), (2, "room")]);
}

#[test]
fn a_room_is_closed_if_two_servers_say_so_and_not_by_the_word_of_one() {
    assert!(!Way::showing([Closed, Open, Open]).room(500).closed);
    assert!(!Way::showing([Closed, Says(503), Says(404)]).room(500).closed);
    assert!(Way::showing([Says(503), Closed, Closed]).room(500).closed);
}

#[test]
fn one_server_that_shows_the_room_is_enough_whatever_the_others_say_or_do_not_say() {
    for other in [Says(404), Says(503), Instead(another()), Instead(json!({"descriptor": {}}))] {
        let mut way = Way::showing([other.clone(), other, Open]);
        assert_eq!(way.room(500).descriptor, room());
    }
    let mut slow = Way::showing([Open, Open, Open]);
    (slow.doors[1].slow_room, slow.doors[2].slow_room) = (60_000, 60_000);
    slow.advance(2_900);
    assert!(matches!(slow.news[..], [ArrivingNews::Found(_)]), "a second one may answer");
    assert_eq!(slow.room(500).descriptor, room());
    assert_eq!(without(&[1, 2], [Open, Open, Open]).room(3_500).descriptor, room());
}

#[test]
fn another_room_in_its_place_is_refused_before_all_else_that_is_said() {
    let mut way = Way::showing([Says(404), Instead(another()), Says(403)]);
    let at = |party: u8| format!("http://p{party}.example");
    assert_eq!(way.failure(500), ArrivingFailure::OtherRoom { at: at(1) });
    let room = RoomDescriptor { capacity: 0, ..room() };
    let mut unusable = Way::new(Destination { room: Some(room.id()), ..to_room(0) }, None);
    unusable.doors[1].shows = Instead(json!(RoomInfo::of(&room, true)));
    assert!(matches!(unusable.failure(500), ArrivingFailure::Unusable { .. }));
}

#[test]
fn what_says_most_is_told_where_nobody_shows_the_room() {
    let told = |mut way: Way| match way.failure(30_000) {
        ArrivingFailure::Refused { at, refusal } => (at, refusal.status),
        other => panic!("{other:?}"),
    };
    let at = |party: u8| format!("http://p{party}.example");
    assert_eq!(told(without(&[2], [Says(503), Says(404), Open])), (at(1), 404));
    assert_eq!(told(Way::showing([Says(503), Says(503), Says(503)])), (at(0), 503));
    let nonsense = Instead(json!({"descriptor": {}}));
    assert_eq!(told(Way::showing([nonsense, Says(429), Says(500)])), (at(1), 429));
}

#[test]
fn a_room_that_no_server_shows_at_first_is_looked_for_again() {
    let mut way = Way::showing([Says(503), Says(503), Says(503)]);
    way.advance(1_500);
    for door in &mut way.doors {
        door.shows = Open;
    }
    assert_eq!(way.room(1_500).descriptor, room());
    let mut gone = Way::showing([Says(404), Says(404), Says(404)]);
    assert!(matches!(gone.failure(300), ArrivingFailure::Refused { .. }), "at once");
}

#[test]
fn what_was_kept_stands_in_for_servers_that_are_away_not_for_those_who_say_that_it_is_no_more() {
    let known = |away: &[usize], shows: [Shows; 3]| {
        let mut way = Way::new(to_room(0), Some(kept()));
        for (door, shows) in way.doors.iter_mut().zip(shows) {
            door.shows = shows;
        }
        way.away(away);
        way
    };
    let silent = known(&[0, 1, 2], [Open, Open, Open]).room(21_000);
    assert_eq!((silent.descriptor, silent.closed), (room(), false));
    assert_eq!(known(&[0, 2], [Open, Says(404), Open]).room(21_000).descriptor, room());
    assert_eq!(known(&[1], [Says(503), Open, Says(404)]).room(21_000).descriptor, room());
    let failure = known(&[1], [Says(404), Open, Says(404)]).failure(500);
    assert!(matches!(failure, ArrivingFailure::Refused { refusal, .. } if refusal.status == 404));
    let mut entrance = known(&[], [Open, Closed, Closed]);
    entrance.doors[0].names = Some((502, json!({})));
    assert!(entrance.room(500).closed, "the other servers are where they were");
    assert_eq!(entrance.asked().iter().filter(|one| **one == (0, "servers")).count(), 1);
}

#[test]
fn what_was_kept_of_something_else_counts_for_nothing() {
    let mut other_room = kept();
    other_room.descriptor = RoomDescriptor::new("Another");
    let mut other_servers = kept();
    other_servers.servers.session = "08".repeat(32);
    let mut stranger = kept();
    stranger.servers.you = 3;
    for kept in [other_room, other_servers, stranger] {
        let mut way = Way::new(to_room(0), Some(kept));
        way.away(&[0, 1, 2]);
        assert!(matches!(way.failure(30_000), ArrivingFailure::Away { .. }));
        assert_eq!(way.asked(), [(0, "servers")]);
    }
}
