//! What a host's device sends, who opens a room, and who takes an invitation, to the millisecond
//! and to the byte: the same is played to the machines here, to the command line's driver, and to
//! the page's.
//!
//! The scripts are `tests/traces/host*.json`, `opening*.json` and `claim.json`. After a change of
//! what is sent they are written anew with `OSTRAKON_TRACES=write`, and the difference is to be
//! looked at.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ostrakon_broadcast::hosting::{Deed, HostLog, Poll, PollForm};
use ostrakon_client::host::{
    Action, ClaimAction, Claiming, Host, Opening, OpeningAction, OpeningNews,
};
use ostrakon_client::{Millis, Sending};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_party::PartyId;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::claiming::Device;
use crate::opening::{Street, wish};
use crate::script::{CLAIM, Exchange, HOSTS, OPENINGS, OpeningScript, Played, Script, Wish};
use crate::servers::servers_answer;
use crate::time::{InTime, START};
use crate::world::{World, host, key, pin, room, scene, servers};

/// Answers that are under way, by when they come.
#[derive(Default)]
struct UnderWay(BTreeMap<(Millis, u64), Exchange>);

impl UnderWay {
    fn send(&mut self, now: Millis, start: Millis, played: &mut Played, sending: &Sending) {
        let (party, http) = (sending.party.0, &sending.http);
        let answer = played.answer(now - start, party, http, sending.patience);
        self.0.insert((now + answer.delay, sending.id), answer);
    }

    fn next(&self, end: Millis) -> Millis {
        self.0.keys().next().map_or(end, |(at, _)| *at)
    }

    fn due(&mut self, now: Millis) -> Option<(u64, Exchange)> {
        let next = self.0.first_entry().filter(|next| next.key().0 <= now)?;
        let ((_, id), answer) = next.remove_entry();
        Some((id, answer))
    }
}

impl Script {
    /// Plays it to a host's machine: what that asks.
    fn play(&self) -> Vec<Exchange> {
        let (key, seed) = (SigningKey::from_seed(&self.key), Secret::new(self.seed));
        let log = HostLog::new(&servers(), &room());
        let mut host = Host::new(scene(), key, log, false, seed);
        let mut played = Played::new(&self.exchanges);
        let mut answers = UnderWay::default();
        let mut wishes = self.wishes.iter().peekable();
        let (mut now, end) = (self.start, self.start + self.lasts);
        while now < end {
            if wishes.next_if(|wish| self.start + wish.at <= now).is_some() {
                host.act(now);
            } else if let Some((id, Exchange { status, answer, .. })) = answers.due(now) {
                host.replied(now, id, status, answer.as_bytes());
            } else {
                host.wake(now);
            }
            while let Some(action) = host.next_action() {
                match action {
                    Action::Ask(request) => {
                        let sending = request.sending(host.room());
                        answers.send(now, self.start, &mut played, &sending);
                    }
                    Action::Decide { deed } => {
                        let wish = &self.wishes[usize::try_from(deed).unwrap()];
                        host.decided(now, Some(wish.deed.clone()));
                    }
                    Action::Keep(_) => host.kept(now, true),
                    Action::Tell(_) => {}
                }
            }
            let wish = wishes.peek().map_or(end, |wish| self.start + wish.at);
            now = host.wake_at().min(wish).min(answers.next(end)).max(now);
        }
        played.asked
    }

    /// Plays it to the machine of who takes an invitation.
    fn play_claim(&self) -> Vec<Exchange> {
        let [key, invitation] =
            [self.key, self.invitation.unwrap()].map(|seed| SigningKey::from_seed(&seed));
        let mut claiming = Claiming::new(scene(), &invitation, &key, Secret::new(self.seed));
        let mut played = Played::new(&self.exchanges);
        let mut answers = UnderWay::default();
        let (mut now, end) = (self.start, self.start + self.lasts);
        while now < end {
            match answers.due(now) {
                Some((id, Exchange { status, answer, .. })) => {
                    claiming.replied(now, id, status, answer.as_bytes());
                }
                None => claiming.wake(now),
            }
            while let Some(action) = claiming.next_action() {
                let ClaimAction::Ask(request) = action else { continue };
                let sending = request.sending(claiming.room());
                answers.send(now, self.start, &mut played, &sending);
            }
            now = claiming.wake_at().min(answers.next(end)).max(now);
        }
        played.asked
    }
}

impl OpeningScript {
    /// Plays it to the machine of who opens a room.
    fn play(&self) -> Vec<Exchange> {
        let order: Vec<_> = self.order.iter().copied().map(PartyId).collect();
        let seed = Secret::new(self.seed);
        let mut opening = Opening::new(servers(), &order, self.wish.clone(), seed);
        let mut played = Played::new(&self.exchanges);
        let mut answers = UnderWay::default();
        let (mut now, end) = (self.start, self.start + self.lasts);
        while now < end {
            match answers.due(now) {
                Some((id, Exchange { status, answer, .. })) => {
                    opening.replied(now, id, status, answer.as_bytes());
                }
                None => opening.wake(now),
            }
            while let Some(action) = opening.next_action() {
                let OpeningAction::Ask(sending) = action else { continue };
                answers.send(now, self.start, &mut played, &sending);
            }
            now = opening.wake_at().min(answers.next(end)).max(now);
        }
        played.asked
    }
}

fn script(lasts: Millis, wishes: Vec<Wish>, exchanges: Vec<Exchange>) -> Script {
    let exchanges = exchanges.into_iter().filter(|one| one.at < lasts).collect();
    let (servers, descriptor, invitation) = (servers_answer(&servers()), room(), None);
    let (key, seed, start) = ([7; 32], [4; 32], START);
    Script { servers, descriptor, key, seed, invitation, start, lasts, wishes, exchanges }
}

/// A host asks a question, invites, and marks a message. With troubles, another host is first,
/// answers are lost, a server is away, and one refuses.
fn write(troubles: bool) -> Script {
    assert_eq!(SigningKey::from_seed(&[7; 32]).verifying_key(), host().verifying_key());
    let form = PollForm::Choice { options: vec!["yes".into(), "no".into()], several: false };
    let poll = Poll { question: "Tea?".into(), form, epoch: 4 };
    let keys = vec![key(30).verifying_key(), key(31).verifying_key()];
    let deeds = [Deed::Poll { poll }, Deed::Invite { keys }, pin(2), Deed::Withdraw { poll: 77 }];
    let at = [300, 310, 20_000, 45_000];
    let wishes: Vec<_> = at.into_iter().zip(deeds).map(|(at, deed)| Wish { at, deed }).collect();
    let mut world = World::new();
    world.other(pin(50));
    if troubles {
        world.servers[0].rivals = 2;
        world.servers[0].loses = 2;
        world.servers[1].away = true;
        world.servers[2].is_behind = true;
    }
    let mut past = 0;
    for wish in &wishes {
        world.advance(wish.at - past);
        past = wish.at;
        if troubles && past == 20_000 {
            world.servers[1].away = false;
            (world.servers[0].misses, world.servers[0].says) = (1, None);
        }
        world.act(wish.deed.clone());
    }
    world.advance(15_000);
    assert_eq!((world.taken(0).is_some(), world.taken(1).is_some()), (true, true));
    assert!(world.taken(2).is_some() && world.failure(3).is_some(), "{:?}", world.news);
    script(world.time.now - START, wishes, world.exchanges)
}

/// A device takes an invitation; the first server is too busy at first, and loses an answer.
fn write_claim() -> Script {
    let mut world = World::new();
    world.other(Deed::Invite { keys: vec![key(30).verifying_key()] });
    world.servers[0].says = Some(429);
    let mut device = Device::new(world, 30, 40);
    device.advance(1_000);
    (device.world.servers[0].says, device.world.servers[0].loses) = (None, 1);
    device.advance(30_000);
    assert_eq!(device.world.truth().members().len(), 1);
    let script = script(31_000, Vec::new(), device.world.exchanges);
    Script { key: [40; 32], invitation: Some([30; 32]), ..script }
}

/// Somebody opens a room. With troubles, the first server is not the one to ask, and the others
/// hear of the room late.
fn write_opening(troubles: bool) -> OpeningScript {
    let order = if troubles { vec![1, 0, 2] } else { vec![0, 1, 2] };
    let mut street = Street::new(&order, wish());
    if troubles {
        street.doors[1].says = Some(421);
        (street.doors[1].shows_from, street.doors[2].shows_from) = (900, 3_000);
    }
    street.advance(6_000);
    assert!(matches!(street.news.last(), Some(OpeningNews::Over { late }) if late.is_empty()));
    let (servers, wish, seed) = (servers_answer(&servers()), wish(), [4; 32]);
    let (start, lasts, exchanges) = (START, 6_000, street.exchanges);
    OpeningScript { servers, wish, order, seed, start, lasts, exchanges }
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/traces/{name}.json"))
}

/// The script of a name, which is written anew if that is wanted.
fn read<S: Serialize + DeserializeOwned>(name: &str, write: impl FnOnce() -> S) -> S {
    if std::env::var("OSTRAKON_TRACES").is_ok_and(|value| value == "write") {
        let text = serde_json::to_string_pretty(&write()).unwrap();
        std::fs::write(path(name), text + "\n").unwrap();
    }
    serde_json::from_str(&std::fs::read_to_string(path(name)).unwrap()).unwrap()
}

#[test]
fn a_host_sends_what_is_written_in_the_scripts() {
    for (name, troubles) in HOSTS.into_iter().zip([false, true]) {
        let script = read(name, || write(troubles));
        assert!(script.exchanges.len() > 5);
        assert_eq!(script.play(), script.exchanges, "{name}");
    }
}

#[test]
fn who_takes_an_invitation_sends_what_is_written_in_the_script() {
    let script = read(CLAIM, write_claim);
    assert!(script.exchanges.len() >= 3);
    assert_eq!(script.play_claim(), script.exchanges);
}

#[test]
fn who_opens_a_room_sends_what_is_written_in_the_scripts() {
    for (name, troubles) in OPENINGS.into_iter().zip([false, true]) {
        let script = read(name, || write_opening(troubles));
        assert!(script.exchanges.len() >= 7);
        assert_eq!(script.play(), script.exchanges, "{name}");
    }
}
