//! What a device asks and hands in, to the millisecond and to the byte: the same visit is played to
//! the machine here, to the command line's driver, and to the page's.
//!
//! The scripts are `tests/traces/visit*.json`. After a change of what a visitor sends they are
//! written anew with `OSTRAKON_TRACES=write`, and the difference is to be looked at.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ostrakon_client::Millis;
use ostrakon_client::visitor::{Action, Visitor};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_decide::{DecisionId, Memory};

use crate::script::{Exchange, NAMES, Played, Script, Wish};
use crate::servers::servers_answer;
use crate::time::{InTime, START};
use crate::world::{World, account, operators, servers};

impl Script {
    /// Plays the visit to a machine: what it asks.
    fn play(&self) -> Vec<Exchange> {
        let (device, seed) = (SigningKey::from_seed(&self.key), Secret::new(self.seed));
        let id = DecisionId::from_hex(&self.decision).unwrap();
        let mut visitor = Visitor::new(operators(), id, None, device, &seed);
        let (mut memory, mut played) = (Memory::default(), Played::new(&self.exchanges));
        let mut answers: BTreeMap<(Millis, u64), Exchange> = BTreeMap::new();
        let mut wishes = self.wishes.iter().peekable();
        let (mut now, end) = (self.start, self.start + self.lasts);
        while now < end {
            if let Some(wish) = wishes.next_if(|wish| self.start + wish.at <= now) {
                match &wish.answers {
                    Some(answers) => visitor.answer(now, answers),
                    None => visitor.accept(now),
                };
            } else if let Some(next) = answers.first_entry().filter(|next| next.key().0 <= now) {
                let ((_, id), Exchange { status, answer, .. }) = next.remove_entry();
                visitor.replied(now, id, status, answer.as_bytes());
            } else {
                visitor.wake(now);
            }
            while let Some(action) = visitor.next_action() {
                match action {
                    Action::Ask(request) => {
                        let (sending, at) = (request.sending(), now - self.start);
                        let party = sending.party.0;
                        let answer = played.answer(at, party, &sending.http, sending.patience);
                        answers.insert((now + answer.delay, request.id), answer);
                    }
                    Action::Keep => {
                        visitor.keep(&mut memory);
                        visitor.kept(now, true);
                    }
                    Action::Tell(_) => {}
                }
            }
            let wish = wishes.peek().map_or(end, |wish| self.start + wish.at);
            let answer = answers.keys().next().map_or(end, |(at, _)| *at);
            now = visitor.wake_at().min(wish).min(answer).max(now);
        }
        played.asked
    }
}

/// A person of two accepts and answers; the other one does so meanwhile. With troubles, servers
/// refuse, and one loses its answer.
fn write(troubles: bool) -> Script {
    let mut world = World::new(2, 2);
    let wishes = [(700, None), (9_000, Some(vec![1]))];
    let wishes = wishes.map(|(at, answers)| Wish { at, answers });
    world.advance(700);
    if troubles {
        world.servers[0].says = Some(422);
        world.servers[2].says = Some(503);
    }
    world.accept();
    world.advance(3_300);
    world.servers[0].says = None;
    world.servers[2].says = None;
    world.advance(3_000);
    world.other(1, None);
    world.advance(2_000);
    if troubles {
        world.servers[0].loses = true;
    }
    world.answer(1);
    world.advance(60);
    world.spread();
    world.other(1, Some(0));
    world.advance(4_940);
    world.servers[0].loses = false;
    world.spread();
    world.advance(6_000);
    world.close();
    world.advance(6_000);
    assert!(world.visitor.outcome().is_some(), "{:?}", world.news);
    let decision = world.visitor.chain().unwrap().id().to_hex();
    let lasts = world.time.now - START;
    let exchanges = world.exchanges.into_iter().filter(|one| one.at < lasts).collect();
    let (key, seed) = ([20; 32], [4; 32]);
    assert_eq!(SigningKey::from_seed(&key).verifying_key(), account(0).verifying_key());
    let (servers, wishes) = (servers_answer(&servers()), wishes.to_vec());
    Script { servers, decision, key, seed, start: START, lasts, wishes, exchanges }
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/traces/{name}.json"))
}

#[test]
fn visits_make_a_device_send_what_is_written_in_them() {
    for (name, troubles) in NAMES.into_iter().zip([false, true]) {
        if std::env::var("OSTRAKON_TRACES").is_ok_and(|value| value == "write") {
            let text = serde_json::to_string_pretty(&write(troubles)).unwrap();
            std::fs::write(path(name), text + "\n").unwrap();
        }
        let text = std::fs::read_to_string(path(name)).unwrap();
        let script: Script = serde_json::from_str(&text).unwrap();
        assert!(script.exchanges.len() > 20);
        assert_eq!(script.play(), script.exchanges, "{name}");
    }
}
