//! What a device asks that arrives, to the millisecond and to the byte: the same is played to the
//! machine here, to the command line's driver, and to the page's.
//!
//! The scripts are `tests/traces/arrive*.json`. After a change of what is sent they are written
//! anew with `OSTRAKON_TRACES=write`, and the difference is to be looked at.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ostrakon_client::{Arriving, ArrivingAction, ArrivingNews, Millis};
use ostrakon_crypto::Secret;

use crate::script::{ARRIVALS, Exchange, Played, Script};
use crate::time::{InTime, START};
use crate::world::{Way, servers, to_room, to_servers};

/// Plays it to the machine: what that asks, and how it ends.
fn play(script: &Script) -> (Vec<Exchange>, Option<ArrivingNews>) {
    let mut arriving = Arriving::new(script.destination(), None, Secret::new(script.seed));
    let mut played = Played::new(&script.exchanges);
    let mut answers: BTreeMap<(Millis, u64), Exchange> = BTreeMap::new();
    let (mut now, end) = (script.start, script.start + script.lasts);
    let mut last = None;
    while now < end {
        match answers.first_entry().filter(|next| next.key().0 <= now) {
            Some(next) => {
                let ((_, id), Exchange { status, answer, .. }) = next.remove_entry();
                arriving.replied(now, id, status, answer.as_bytes());
            }
            None => arriving.wake(now),
        }
        while let Some(action) = arriving.next_action() {
            match action {
                ArrivingAction::Ask(sending) => {
                    let (at, party) = (now - script.start, sending.party.0);
                    let answer = played.answer(at, party, &sending.http, sending.patience);
                    answers.insert((now + answer.delay, sending.id), answer);
                }
                ArrivingAction::Tell(news) => last = Some(news),
            }
        }
        let answer = answers.keys().next().map_or(end, |(at, _)| *at);
        now = arriving.wake_at().min(answer).max(now);
    }
    (played.asked, last)
}

/// Somebody arrives. With troubles, the first server is just starting, one is away, and one takes
/// its time.
fn write(name: &str) -> Script {
    let destination = match name {
        "arrive-servers" => to_servers(None),
        "arrive" => to_room(0),
        _ => to_room(1),
    };
    let mut way = Way::new(destination.clone(), None);
    if name == "arrive-troubles" {
        way.doors[1].names = Some((503, serde_json::json!({"detail": "not ready"})));
        way.away(&[0]);
        way.doors[2].slow_room = 1_200;
        way.advance(400);
        way.doors[1].names = None;
    }
    way.arrived(6_000);
    let (servers, room) = (destination.servers.map(|servers| servers.to_hex()), destination.room);
    assert_eq!(servers.is_some(), room.is_some());
    let (room, exchanges) = (room.map(|room| room.to_hex()), way.exchanges);
    let (seed, start, lasts) = ([4; 32], START, way.time.now - START);
    Script { origin: destination.origin, servers, room, seed, start, lasts, exchanges }
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/traces/{name}.json"))
}

#[test]
fn who_arrives_asks_what_is_written_in_the_scripts() {
    for name in ARRIVALS {
        if std::env::var("OSTRAKON_TRACES").is_ok_and(|value| value == "write") {
            let text = serde_json::to_string_pretty(&write(name)).unwrap();
            std::fs::write(path(name), text + "\n").unwrap();
        }
        let text = std::fs::read_to_string(path(name)).unwrap();
        let script: Script = serde_json::from_str(&text).unwrap();
        let (asked, end) = play(&script);
        assert_eq!(asked, script.exchanges, "{name}");
        let Some(ArrivingNews::Arrived(arrived)) = end else { panic!("{name}: {end:?}") };
        assert_eq!(arrived.servers, servers());
        assert_eq!(arrived.room.is_some(), script.room.is_some());
    }
}
