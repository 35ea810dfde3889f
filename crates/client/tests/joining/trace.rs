//! What is asked about a join link, to the millisecond and to the byte: the same is played to the
//! machine here, to the command line's driver, and to the page's.
//!
//! The scripts are `tests/traces/join*.json`. After a change of what is sent they are written anew
//! with `OSTRAKON_TRACES=write`, and the difference is to be looked at.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ostrakon_client::Millis;
use ostrakon_client::joining::{Canvass, CanvassAction, CanvassNews};
use ostrakon_crypto::Secret;

use crate::script::{CANVASSES, CanvassScript, Exchange, Played};
use crate::time::{InTime, START};
use crate::world::{BUSY, SHOWN, TAKEN, World, look, request};

/// Plays it to the machine: what that asks, and how it ends.
fn play(script: &CanvassScript) -> (Vec<Exchange>, Option<CanvassNews>) {
    let mut canvass = Canvass::new(script.call.clone(), Secret::new(script.seed));
    let mut played = Played::new(&script.exchanges);
    let mut answers: BTreeMap<(Millis, u64), Exchange> = BTreeMap::new();
    let (mut now, end, mut last) = (script.start, script.start + script.lasts, None);
    while now < end {
        if let Some(next) = answers.first_entry().filter(|next| next.key().0 <= now) {
            let ((_, id), Exchange { status, answer, .. }) = next.remove_entry();
            canvass.replied(now, id, status, answer.as_bytes());
        } else {
            canvass.wake(now);
        }
        while let Some(action) = canvass.next_action() {
            match action {
                CanvassAction::Ask(sending) => {
                    let (at, party) = (now - script.start, sending.party.0);
                    let answer = played.answer(at, party, &sending.http, sending.patience);
                    answers.insert((now + answer.delay, sending.id), answer);
                }
                CanvassAction::Tell(news) => last = Some(news),
            }
        }
        let answer = answers.keys().next().map_or(end, |(at, _)| *at);
        now = canvass.wake_at().min(answer).max(now);
    }
    (played.asked, last)
}

/// Somebody looks, where all answer; or asks, where one server is busy at first, one takes it, and
/// one is away.
fn write(name: &str) -> CanvassScript {
    let (call, mut world) = match name {
        "join-look" => (look(), World::new(look(), [SHOWN; 3])),
        _ => (request(), World::new(request(), [BUSY, TAKEN, TAKEN]).away(&[2])),
    };
    world.advance(900);
    (world.doors[0].status, world.doors[0].answer) = match name {
        "join-look" => SHOWN,
        _ => TAKEN,
    };
    world.advance(3_100);
    assert_eq!(world.news.len(), 1);
    let (seed, start, lasts) = ([4; 32], START, world.time.now - START);
    CanvassScript { call, seed, start, lasts, exchanges: world.exchanges }
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/traces/{name}.json"))
}

#[test]
fn who_has_a_join_link_asks_what_is_written_in_the_scripts() {
    for (name, count) in CANVASSES.into_iter().zip([3, 2]) {
        if std::env::var("OSTRAKON_TRACES").is_ok_and(|value| value == "write") {
            let text = serde_json::to_string_pretty(&write(name)).unwrap();
            std::fs::write(path(name), text + "\n").unwrap();
        }
        let text = std::fs::read_to_string(path(name)).unwrap();
        let script: CanvassScript = serde_json::from_str(&text).unwrap();
        let (asked, end) = play(&script);
        assert_eq!(asked, script.exchanges, "{name}");
        let Some(CanvassNews::Done(answers)) = end else { panic!("{name}: {end:?}") };
        assert_eq!(answers.len(), count, "{name}");
    }
}
