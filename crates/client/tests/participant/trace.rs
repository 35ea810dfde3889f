//! What a device sends against servers that answer by a script, to the millisecond: the same script
//! is played to the machine here, to the command line's driver, and to the page's.
//!
//! The scripts are `tests/traces/*.json`. After a change of what a participant sends they are
//! written anew with `OSTRAKON_TRACES=write`, and the difference is to be looked at.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ostrakon_broadcast::SignedEntry;
use ostrakon_broadcast::hosting::{Deed, HostLog};
use ostrakon_broadcast::outbox::Outbox;
use ostrakon_client::{Action, Filled, Follower, Millis, Participant, Scene, Sight};
use ostrakon_crypto::{Digest, Secret, SigningKey, merkle};
use ostrakon_mixing::RoomDescriptor;
use ostrakon_mixing::engine::EpochContext;
use ostrakon_mixing::envelope;
use ostrakon_mixing::envelope::{Exchange, IssueName, Issued};
use ostrakon_mixing::room::Admission;
use ostrakon_party::{PartyId, wire};
use ostrakon_protocol::{Issue, Status};
use ostrakon_replicated::pair::Pair;
use ostrakon_replicated::slots::{self, SlotSeeds, SlotsContext};
use serde::Serialize;
use serde_json::{Value, json};

use crate::boards::{board, kept_back, keys, servers};
use crate::script::{NAMES, Rule, Said, Sent, Trace};
use crate::servers::servers_answer;
use crate::world;

const START: Millis = 1_790_000_000_000;

impl Trace {
    /// Plays the script to a machine that follows the room.
    fn play_following(&self) -> Vec<Sent> {
        let scene = Arc::new(Scene::new(servers(), self.descriptor.clone()));
        let room = *scene.id();
        let mut machine = Follower::new(scene, Secret::new(self.seed), self.back);
        let mut sent = Vec::new();
        let mut answers: BTreeMap<(Millis, u64), (u16, String)> = BTreeMap::new();
        let (mut now, end) = (self.start, self.start + self.lasts);
        while now < end {
            match answers.first_entry().filter(|next| next.key().0 <= now) {
                Some(next) => {
                    let ((_, id), (status, body)) = next.remove_entry();
                    machine.replied(now, id, status, body.as_bytes());
                }
                None => machine.wake(now),
            }
            while let Some(sight) = machine.next_sight() {
                let Sight::Ask(request) = sight else { continue };
                let (http, party) = (request.http(&room), request.party.0);
                let at = now - self.start;
                let (delay, status, body) = self.answer(at, party, &http.path, request.patience());
                answers.insert((now + delay, request.id), (status, body));
                let body = http.body.map(|body| body.text());
                sent.push(Sent { at, party, path: http.path, body });
            }
            let answer = answers.keys().next().map_or(end, |(at, _)| *at);
            now = machine.wake_at().min(answer).max(now);
        }
        sent
    }

    /// Plays the script to a machine.
    fn play(&self) -> Vec<Sent> {
        if self.message.is_empty() {
            return self.play_following();
        }
        let scene = Scene::new(servers(), self.descriptor.clone());
        let room = *scene.id();
        let key = SigningKey::from_seed(&self.key);
        let before = self.before.map(PartyId);
        let mut machine = Participant::new(Arc::new(scene), key, Secret::new(self.seed), before);
        let mut outbox = Outbox::default();
        outbox.agree(self.descriptor.minimum);
        outbox.put(self.message.as_bytes().to_vec()).unwrap();
        let mut sent = Vec::new();
        let mut answers: BTreeMap<(Millis, u64), (u16, String)> = BTreeMap::new();
        let mut statuses = self.statuses.iter().peekable();
        let (mut now, end) = (self.start, self.start + self.lasts);
        while now < end {
            if let Some(said) = statuses.next_if(|said| self.start + said.at <= now) {
                let status = said.status.as_ref().map(|status| (status, now));
                machine.heard(now, PartyId(said.party), status);
            } else if let Some(((_, id), (status, body))) = answers
                .first_entry()
                .filter(|next| next.key().0 <= now)
                .map(|next| next.remove_entry())
            {
                machine.replied(now, id, status, body.as_bytes());
            } else {
                machine.wake(now);
            }
            while let Some(action) = machine.next_action() {
                match action {
                    Action::Ask(request) => {
                        let (http, party) = (request.http(&room), request.party.0);
                        let at = now - self.start;
                        let (delay, status, body) =
                            self.answer(at, party, &http.path, request.patience());
                        answers.insert((now + delay, request.id), (status, body));
                        let body = http.body.map(|body| body.text());
                        sent.push(Sent { at, party, path: http.path, body });
                    }
                    Action::Fill(context) => {
                        let epoch = context.epoch.number;
                        let content = outbox.content_among(epoch, context.minimum);
                        let filled = content.map_or(Filled::Nothing, Filled::Row);
                        machine.filled(now, epoch, filled);
                    }
                    Action::Tell(_) => {}
                }
            }
            let word = statuses.peek().map_or(end, |said| self.start + said.at);
            let answer = answers.keys().next().map_or(end, |(at, _)| *at);
            now = machine.wake_at().min(word).min(answer).max(now);
        }
        sent
    }
}

fn room() -> RoomDescriptor {
    let host = Some(SigningKey::from_seed(&[8; 32]).verifying_key());
    RoomDescriptor { payload: 32, capacity: 9, seconds: 10, host, ..RoomDescriptor::new("trace") }
}

fn context(number: u64) -> EpochContext {
    let room = room();
    world::context(&room, number, room.minimum)
}

/// What a server gives for a slot of an epoch, as it answers a device.
fn issue(device: &SigningKey, party: u8, number: u64, slot: u32) -> String {
    let (servers, room) = (servers(), room());
    let tables = Pair::ALL.map(|pair| {
        let prg = slots::slots_prg(&Secret::new([40 + pair.index() as u8; 32]));
        let context = SlotsContext::new(&servers.session.0, number, pair);
        let seeds: Vec<_> = (0..room.capacity).map(|slot| SlotSeeds::derive(&prg, slot)).collect();
        let leaves = (0..).zip(&seeds).map(|(slot, seeds)| seeds.leaf(&context, slot)).collect();
        (merkle::Tree::new(leaves), seeds)
    });
    let given = slots::Issue {
        roots: tables.each_ref().map(|(tree, _)| tree.root()),
        seeds: Pair::of_party(party).map(|pair| {
            let (tree, seeds) = &tables[pair.index()];
            (seeds[slot as usize].clone(), tree.path(slot as usize))
        }),
    };
    let issued = Issued { context: context(number), slot, issue: wire::encode(&given) };
    let name = IssueName { room: room.id(), number, party: PartyId(party) };
    let owner = device.verifying_key();
    let sign = |digest: &Digest| keys()[usize::from(party)].sign(digest);
    let offer = envelope::offer(&servers, &name, &owner, issued, sign);
    let exchange = Exchange::new(device, &name).public();
    let issue = envelope::close(&servers, &name, &owner, &exchange, &offer, [5; 32]);
    serde_json::to_string(&Issue { issue }).unwrap()
}

/// How the room stands while an epoch collects for `left` more; `version` tells statuses apart.
fn status(version: u64, number: u64, left: Millis, places: [u32; 3]) -> Status {
    let epoch = json!({
        "number": number, "batch": number, "phase": "collecting", "closes_in_ms": left,
        "assigned": 0, "submitted": 0,
    });
    let status = json!({
        "version": version, "epoch": epoch, "mixing": [], "last": null, "may_have_opened": [],
        "minimum": room().minimum, "present": places, "places": places, "board_length": 0,
        "actions": 0, "stock": 2, "peers": [], "context": context(number),
    });
    serde_json::from_value(status).unwrap()
}

/// Writes scripts.
struct Writer {
    trace: Trace,
    device: SigningKey,
}

impl Writer {
    fn new(message: &str, lasts: Millis, before: Option<u8>) -> Self {
        let (key, seed) = ([9; 32], [4; 32]);
        let (statuses, rules, requests) = Default::default();
        let (start, servers, descriptor) = (START, servers_answer(&servers()), room());
        let message = message.to_owned();
        let trace = Trace {
            servers,
            descriptor,
            key,
            seed,
            before,
            message,
            back: 10,
            start,
            lasts,
            statuses,
            rules,
            requests,
        };
        Self { trace, device: SigningKey::from_seed(&key) }
    }

    fn rule(&mut self, from: Millis, party: u8, path: &str, status: u16, body: String) {
        // No two answers come at the same moment.
        let delay = 31 + 10 * Millis::from(party);
        let path = path.to_owned();
        self.trace.rules.push(Rule { from, party, path, delay, status, body });
    }

    /// All servers welcome everybody, have no slot yet, and take what is handed in.
    fn kind(&mut self) {
        for party in 0..3 {
            self.rule(0, party, "/presence", 200, json!({"home": true}).to_string());
            self.rule(0, party, "/submission", 202, json!({"accepted": true}).to_string());
            self.rule(0, party, "/issue", 404, String::new());
        }
    }

    /// From `at` on an epoch collects for `left`, by these; each hears a little later than the one
    /// before.
    fn collects(&mut self, at: Millis, by: &[u8], number: u64, left: Millis, places: [u32; 3]) {
        for party in by {
            let at = at + 7 * Millis::from(*party);
            let status = status(at + 1, number, left, places);
            let body = serde_json::to_string(&status).unwrap();
            self.rule(at, *party, "/status", 200, body);
            self.trace.statuses.push(Said { at, party: *party, status: Some(status) });
        }
        self.trace.statuses.sort_by_key(|said| said.at);
    }

    fn gives(&mut self, at: Millis, by: &[u8], number: u64, slot: u32) {
        for party in by {
            let body = issue(&self.device, *party, number, slot);
            self.rule(at, *party, &format!("/epochs/{number}/issue"), 200, body);
        }
    }
}

/// Two epochs, in which nothing goes wrong.
fn plain() -> Trace {
    let mut writer = Writer::new("hello", 22_000, None);
    writer.kind();
    writer.collects(0, &[0, 1, 2], 1, 10_000, [2, 1, 3]);
    writer.gives(1_500, &[0, 1, 2], 1, 4);
    writer.collects(10_000, &[0, 1, 2], 2, 10_000, [2, 1, 3]);
    writer.gives(10_300, &[0, 1, 2], 2, 7);
    writer.trace
}

/// A server that is full, one that is gone, answers that get lost, slots that contradict each
/// other, and an epoch that closes later than was said.
fn troubles() -> Trace {
    let mut writer = Writer::new("through", 45_000, None);
    writer.kind();
    writer.rule(0, 1, "/presence", 503, String::new());
    writer.collects(0, &[0, 1, 2], 1, 20_000, [2, 0, 1]);
    writer.gives(9_000, &[0, 2], 1, 4);
    writer.gives(9_000, &[1], 1, 5);
    writer.rule(4_000, 2, "/presence", 0, String::new());
    writer.rule(0, 0, "/epochs/1/submission", 503, String::new());
    writer.rule(0, 1, "/epochs/1/submission", 422, String::new());
    writer.rule(0, 2, "/epochs/1/submission", 200, "<html>".to_owned());
    let taken = json!({"accepted": true}).to_string();
    writer.rule(23_000, 0, "/epochs/1/submission", 202, taken.clone());
    writer.rule(24_000, 2, "/epochs/1/submission", 202, taken);
    writer.collects(14_000, &[0, 1, 2], 1, 12_000, [2, 2, 1]);
    let silent = Said { at: 21_000, party: 1, status: None };
    writer.trace.statuses.push(silent);
    writer.collects(26_000, &[0, 2], 2, 10_000, [2, 2, 1]);
    writer.gives(27_000, &[0], 2, 1);
    writer.gives(27_000, &[2], 2, 3);
    writer.gives(34_000, &[0, 1, 2], 2, 3);
    writer.trace
}

/// A device that was there a moment ago, in an epoch that has waited for people for long.
fn again() -> Trace {
    let mut writer = Writer::new("back", 15_000, Some(2));
    writer.kind();
    writer.collects(0, &[0, 1, 2], 6, 0, [2, 1, 3]);
    writer.gives(0, &[0, 1, 2], 6, 2);
    writer.trace
}

impl Writer {
    /// A device that only follows a room.
    fn following(room: RoomDescriptor, lasts: Millis) -> Self {
        let mut writer = Self::new("", lasts, None);
        writer.trace.descriptor = room;
        writer
    }

    /// From `at` on a server says that its lists are so long, at once if it is asked for how the
    /// room stands now, and after three seconds if for news.
    fn has(&mut self, at: Millis, party: u8, entries: u64, actions: u64) {
        let said = Status { board_length: entries, actions, ..status(at + 1, 9, 5_000, [1; 3]) };
        let body = serde_json::to_string(&said).unwrap();
        self.rule(at, party, "/status", 200, body);
        let news =
            Rule { delay: 3_000 + Millis::from(party), path: "/status?".into(), ..self.last() };
        self.trace.rules.push(news);
    }

    fn last(&self) -> Rule {
        let Rule { from, party, path, delay, status, body } = self.trace.rules.last().unwrap();
        let (path, body) = (path.clone(), body.clone());
        Rule { from: *from, party: *party, path, delay: *delay, status: *status, body }
    }

    /// From `at` on a server shows these from that place on.
    fn shows<T: Serialize>(&mut self, at: Millis, party: u8, list: &str, from: usize, items: &[T]) {
        let name = if list == "board" { "entries" } else { "actions" };
        let body = json!({ name: items }).to_string();
        self.rule(at, party, &format!("/{list}?from={from}"), 200, body);
    }
}

/// Two actions and three entries; a server that keeps texts back, one that promises what it does
/// not have and is away for a while, and one that shows something forged.
fn follow() -> Trace {
    let mut writer = Writer::following(room(), 40_000);
    let mut log = HostLog::new(&servers(), &room());
    let host = SigningKey::from_seed(&[8; 32]);
    let actions: Vec<_> = [true, false]
        .map(|on| {
            let signed = log.act(&host, 5, Deed::Moderate { on });
            log.apply(&signed).unwrap();
            signed
        })
        .into();
    let entries = board(&room(), 3);
    writer.has(0, 0, 2, 1);
    writer.has(0, 1, 2, 2);
    writer.has(0, 2, 900, 1);
    for party in 0..3 {
        for from in 0..2 {
            writer.shows(0, party, "actions", from, &actions[from..2]);
        }
    }
    writer.shows(0, 0, "board", 0, &kept_back(entries[..2].to_vec()));
    writer.shows(0, 1, "board", 0, &entries[..2]);
    writer.shows::<SignedEntry>(0, 2, "board", 0, &[]);
    writer.shows::<SignedEntry>(0, 2, "board", 2, &[]);
    writer.rule(9_000, 2, "/status", 503, String::new());
    writer.has(20_000, 2, 3, 2);
    writer.shows(20_000, 2, "board", 2, &["forged"]);
    writer.has(30_000, 0, 3, 2);
    writer.shows(30_000, 0, "board", 2, &entries[2..]);
    writer.trace
}

/// A room for messages, whose board is read from near its end, by the word of two servers; then it
/// grows by more than is read in order.
fn follow_end() -> Trace {
    let (admission, payload) = (Admission::Messages, 256);
    let room = RoomDescriptor { admission, payload, host: None, ..room() };
    let mut writer = Writer::following(room.clone(), 20_000);
    let entries = board(&room, 90);
    for (at, length) in [(0, 15), (8_000, 90)] {
        for party in 0..3 {
            writer.has(at, party, if party == 2 { 900 } else { length as u64 }, 0);
            writer.shows(at, party, "board", length - 10, &entries[length - 10..length]);
        }
    }
    // One shows another entry in that place.
    writer.shows(0, 0, "board", 5, &entries[1..3]);
    writer.trace
}

/// A script as it is kept: one item of a list a line.
fn written(script: &Trace) -> String {
    let Value::Object(fields) = serde_json::to_value(script).unwrap() else { unreachable!() };
    let field = |(name, value): (&String, &Value)| match value {
        Value::Array(items) if items.iter().all(Value::is_object) => {
            let items: Vec<_> = items.iter().map(|item| format!("    {item}")).collect();
            format!("  \"{name}\": [\n{}\n  ]", items.join(",\n"))
        }
        other => format!("  \"{name}\": {other}"),
    };
    let fields: Vec<_> = fields.iter().map(field).collect();
    format!("{{\n{}\n}}\n", fields.join(",\n"))
}

#[test]
fn scripts_make_a_device_send_what_is_written_in_them() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
    let scripts = [plain(), troubles(), again(), follow(), follow_end()];
    for (name, mut script) in NAMES.into_iter().zip(scripts) {
        script.requests = script.play();
        let last = if script.message.is_empty() { "/board?" } else { "/submission" };
        assert!(script.requests.iter().any(|sent| sent.path.contains(last)), "{name}");
        let text = written(&script);
        let path = folder.join(format!("{name}.json"));
        if std::env::var("OSTRAKON_TRACES").is_ok_and(|what| what == "write") {
            std::fs::write(&path, &text).unwrap();
        }
        let kept: Trace = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(kept.requests, script.requests, "{name}");
        assert_eq!(written(&kept), text, "{name}");
    }
}
