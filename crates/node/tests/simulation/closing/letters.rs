//! A room for messages: clients that write a row in every round of real servers, which die and come
//! back.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use ostrakon_broadcast::Entry;
use ostrakon_broadcast::outbox::Outbox;
use ostrakon_crypto::{Digest, Secret, Stream};
use ostrakon_messaging::params::CYCLE;
use ostrakon_messaging::{Client, Event, MessageState};
use ostrakon_mixing::EngineKind;
use ostrakon_party::PartyId;
use ostrakon_protocol::Status;
use sqlx::{AnyConnection, Connection};

use super::{Scene, inside};
use crate::checks::parties;
use crate::executor::OUTSIDE;
use crate::line::Line;
use crate::participant::{Device, Participant};
use crate::random::Random;

/// Bytes of a row of a room for messages: its payload without what a message begins with.
const WIDTH: usize = 254;
/// How many rounds all may take once all is well again.
const LONGEST_END: u32 = 300;

/// Seconds of a round: servers give out places by and by.
fn seconds(people: usize) -> u32 {
    3 + people as u32 / 100
}

/// What a device has that exchanges messages.
pub struct Letters {
    client: Client,
    rng: Stream,
    /// The row that was made last: the only one there will ever be for its round.
    row: Option<(u64, Vec<u8>)>,
    heard: Vec<String>,
    /// How often it was told that a message's round was stopped.
    stopped: usize,
    /// What its rows began with, behind the version: addresses, or keys of calls.
    addresses: BTreeSet<[u8; 16]>,
}

impl Letters {
    fn new(scene: &Scene, number: u64) -> Self {
        let client = Client::new(scene.room.id(), WIDTH, &format!("client {number}")).unwrap();
        let (row, heard, stopped, addresses) = Default::default();
        Self { client, rng: generator(number), row, heard, stopped, addresses }
    }

    /// Puts the row of a round into the outbox. Whether there is one.
    pub fn fill(&mut self, outbox: &mut Outbox, round: u64) -> bool {
        if self.row.as_ref().is_none_or(|(made, _)| *made != round) {
            let Ok(row) = self.client.next_row(round, &mut self.rng) else { return false };
            let address = row[1..17].try_into().expect("a row is longer");
            assert!(self.addresses.insert(address), "what is said again has another address");
            self.row = Some((round, row));
        }
        *outbox = Outbox::default();
        outbox.agree(1);
        self.row.as_ref().is_some_and(|(_, row)| outbox.put(row.clone()).is_ok())
    }

    /// Reads a round's board, and accepts whoever calls.
    pub fn read(&mut self, entry: &Entry) {
        let rows: Vec<&[u8]> = entry.bodies().collect();
        let events = self.client.on_round(entry.epoch.number, &rows);
        self.hear(events);
    }

    /// Learns that all rounds up to this one are over, of those without a board, too.
    pub fn learn(&mut self, over: u64) {
        let events = self.client.on_over(over);
        self.hear(events);
    }

    fn hear(&mut self, events: Vec<Event>) {
        for event in events {
            match event {
                Event::Called { contact, link, .. } => {
                    self.client.accept(contact, &mut self.rng).expect("a channel is free");
                    // Nobody else has it, and it would be tried on every row of every board.
                    self.client.revoke(link).expect("the link that was called");
                }
                Event::Received { text, .. } => self.heard.push(text),
                Event::Moved { state: MessageState::RoundStopped, .. } => self.stopped += 1,
                Event::Copied { .. } => panic!("nobody has a copy"),
                _ => {}
            }
        }
    }

    /// The program is killed and started again.
    fn restart(&mut self) {
        let key = Secret::new([8; 32]);
        self.client = Client::open(&key, &self.client.seal(&key, &mut self.rng)).unwrap();
        self.row = None;
    }

    fn is_quiet(&self) -> bool {
        let contacts = self.client.contacts();
        let mut messages = contacts.iter().flat_map(|contact| &contact.messages);
        messages.all(|message| message.state == MessageState::Delivered)
    }
}

fn generator(number: u64) -> Stream {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    Stream::of(Secret::new(seed), "test of letters")
}

/// People in a room for messages, each with one partner or none.
struct Crowd {
    scene: Scene,
    devices: Vec<Arc<Mutex<Device>>>,
    /// Caller and callee.
    pairs: Vec<(usize, usize)>,
    said: Vec<Vec<String>>,
}

impl Crowd {
    fn new(seed: u64, people: usize, pairs: Vec<(usize, usize)>, mixer: EngineKind) -> Self {
        let settings = (seconds(people), 1, 3 * people as u32, 256);
        let scene = Scene::mixed(seed, settings, Some(mixer));
        let mut all: Vec<_> =
            (0..people).map(|number| Letters::new(&scene, number as u64)).collect();
        for (caller, callee) in &pairs {
            let rng = &mut generator(1000 + *callee as u64);
            let link = all[*callee].client.add_link("", rng).unwrap();
            let client = &mut all[*caller].client;
            let contact = client.add_contact(link.callee, "partner").unwrap();
            client.call(contact, None, rng).unwrap();
        }
        let enter = |(number, letters): (usize, Letters)| enter(&scene, number as u64, letters);
        let devices = all.into_iter().enumerate().map(enter).collect();
        Self { scene, devices, pairs, said: vec![Vec::new(); people] }
    }

    fn letters<T>(&self, who: usize, act: impl FnOnce(&mut Letters) -> T) -> T {
        act(self.devices[who].lock().unwrap().letters.as_mut().unwrap())
    }

    /// Somebody says something; who was never called has nobody to say it to yet.
    fn say(&mut self, who: usize) {
        let text = format!("{who:04} says {:04}", self.said[who].len());
        if self.letters(who, |letters| letters.client.say(0, &text)).is_ok() {
            self.said[who].push(text);
        }
    }

    fn run(&self, millis: u64) {
        self.scene.deployment.executor.run_for(Duration::from_millis(millis));
    }

    /// Somebody leaves, comes back, is killed, or says something.
    fn churn(&mut self, random: &mut Random) {
        let who = random.below(self.devices.len() as u64) as usize;
        match random.below(8) {
            0 => {
                let mut device = self.devices[who].lock().unwrap();
                device.open = !device.open;
            }
            1 => {
                self.letters(who, Letters::restart);
                self.devices[who].lock().unwrap().loads += 1;
            }
            _ => self.say(who),
        }
    }

    /// How often somebody was told that a message's round was stopped.
    fn stopped(&self) -> usize {
        (0..self.devices.len()).map(|who| self.letters(who, |letters| letters.stopped)).sum()
    }

    /// Whether so many boards were withheld, and a server says so.
    fn is_in_doubt(&self, boards: u64) -> bool {
        let named = |status: &Status| status.may_have_opened.len() as u64 == boards;
        self.scene.deployment.ledger.withheld() as u64 == boards
            && self.scene.statuses().iter().any(named)
    }

    /// All is well again, and everything arrives, once and in order.
    fn end(&self) {
        let deployment = &self.scene.deployment;
        parties()
            .filter(|party| deployment.is_down(*party))
            .for_each(|down| deployment.start(down));
        self.devices.iter().for_each(|device| device.lock().unwrap().open = true);
        let quiet = || (0..self.devices.len()).all(|who| self.letters(who, |one| one.is_quiet()));
        let longest = Duration::from_secs(u64::from(LONGEST_END * seconds(self.devices.len())));
        deployment.executor.run_until(longest, Duration::from_secs(1), quiet);
        for (caller, callee) in &self.pairs {
            for (from, to) in [(*caller, *callee), (*callee, *caller)] {
                let heard = self.letters(to, |letters| letters.heard.clone());
                assert_eq!(heard, self.said[from], "from {from} to {to}");
            }
        }
    }
}

fn enter(scene: &Scene, number: u64, letters: Letters) -> Arc<Mutex<Device>> {
    let mut seed = [9; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    let mut device = Device::new(seed, false, None);
    device.letters = Some(letters);
    let device = Arc::new(Mutex::new(device));
    let participant = Participant {
        line: Line { number, deployment: Arc::clone(&scene.deployment) },
        device: Arc::clone(&device),
        room: Arc::clone(&scene.room),
        servers: Arc::clone(&scene.servers),
        engine: scene.engine,
        honest: true,
    };
    scene.deployment.executor.spawn(OUTSIDE, participant.take_part().boxed());
    device
}

fn neighbours(pairs: usize) -> Vec<(usize, usize)> {
    (0..pairs).map(|pair| (2 * pair, 2 * pair + 1)).collect()
}

/// People come, go and are killed; one server after another dies, the second between two of its
/// writes, and is started again; one board is read by the servers and published by none. The rounds
/// go on by themselves, and every message arrives once and in order. At night there are a thousand
/// people; `OSTRAKON_PAIRS` says of how many pairs.
#[test]
fn every_message_arrives_once_while_servers_die_and_come_back() {
    let nightly = ostrakon_testkit::nightly();
    let (pairs, rounds, each) = if nightly { (500, 20, 1) } else { (2, 9, 2) };
    let pairs = crate::number("OSTRAKON_PAIRS").map_or(pairs, |pairs| pairs as usize);
    inside(|| {
        let mut crowd = Crowd::new(11, 2 * pairs, neighbours(pairs), EngineKind::Clarion);
        let mut random = Random::new(12);
        for round in 0..rounds {
            match round {
                3 => crowd.scene.deployment.kill(PartyId(1)),
                4 => crowd.scene.deployment.start(PartyId(1)),
                6 => crowd.scene.deployment.kill_after(PartyId(2), 7),
                8 => crowd.scene.deployment.start(PartyId(2)),
                _ => {}
            }
            let events = each * pairs;
            for _ in 0..events {
                crowd.churn(&mut random);
                crowd.run(u64::from(seconds(2 * pairs)) * 1000 / events as u64);
            }
        }
        crowd.end();
        // All are in conversation, so in the cycle after the round under way each row has words.
        crowd.scene.deployment.ledger.withhold(1 + CYCLE);
        (0..2 * pairs).for_each(|who| crowd.say(who));
        crowd.end();
        let said: usize = crowd.said.iter().map(Vec::len).sum();
        let stopped = crowd.stopped();
        println!("{said} messages of {pairs} pairs, {stopped} of them in stopped rounds");
        assert!(said > pairs && stopped > 0);
        assert!(crowd.is_in_doubt(1 + CYCLE), "somebody is told that rows may have been read");
        crowd.scene.deployment.end();
    });
}

/// What the servers see and keep of a run.
#[derive(Debug, PartialEq, Eq)]
struct Observed {
    /// What all lines carry and when, but for its contents.
    shape: Digest,
    /// The lengths of what is on each server's board.
    boards: Vec<Vec<Vec<usize>>>,
    /// What each server has on its disk.
    stored: Vec<BTreeMap<String, Vec<String>>>,
    /// What all of them log.
    log: Vec<String>,
}

/// Whatever is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A line without what is drawn at random: of digests and keys, as hexadecimal digits, the length.
fn without_digests(line: &str) -> String {
    let part = |part: &str| {
        let word = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let random = word.len() >= 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        if random {
            format!("({} digits){}", word.len(), &part[word.len()..])
        } else {
            part.to_owned()
        }
    };
    line.split_inclusive(|c: char| !c.is_ascii_alphanumeric()).map(part).collect()
}

/// Of every table the rows, of every other file its length. Numbers are as they are, of all else
/// there are the lengths: it looks random, or names what does.
fn stored(data: &Path) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![data.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = entry.path().strip_prefix(data).unwrap().display().to_string();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if !name.starts_with("ostrakon.db") {
                found.insert(name, vec![entry.metadata().unwrap().len().to_string()]);
            }
        }
    }
    futures::executor::block_on(tables(&data.join("ostrakon.db"), &mut found));
    found
}

async fn tables(database: &Path, found: &mut BTreeMap<String, Vec<String>>) {
    sqlx::any::install_default_drivers();
    let mut connection =
        AnyConnection::connect(&format!("sqlite:{}", database.display())).await.unwrap();
    let names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '_sqlx%'";
    let names: Vec<String> = sqlx::query_scalar(names).fetch_all(&mut connection).await.unwrap();
    for table in names {
        let columns = format!("SELECT name FROM pragma_table_info('{table}')");
        let columns: Vec<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(columns))
            .fetch_all(&mut connection)
            .await
            .unwrap();
        let shown = columns.iter().map(|column| {
            format!(
                "CASE WHEN typeof(\"{column}\") IN ('blob', 'text') THEN typeof(\"{column}\") || length(\"{column}\") ELSE quote(\"{column}\") END"
            )
        });
        let rows =
            format!("SELECT {} FROM \"{table}\"", shown.collect::<Vec<_>>().join(" || ' ' || "));
        let mut rows: Vec<String> =
            sqlx::query_scalar(sqlx::AssertSqlSafe(rows)).fetch_all(&mut connection).await.unwrap();
        rows.sort();
        found.insert(table, rows);
    }
}

/// What is seen and kept, and its contents, with these pairs of four people. The boards of one
/// cycle are read by the servers and by nobody else, so that what was said is said again.
fn observed(pairs: Vec<(usize, usize)>, mixer: EngineKind) -> (Digest, Observed) {
    const PEOPLE: usize = 4;
    let mut crowd = Crowd::new(21, PEOPLE, pairs, mixer);
    let rounds = 28;
    for round in 0..rounds {
        if round == 17 {
            crowd.scene.deployment.ledger.withhold(CYCLE);
        }
        // From the beginning: also callees, as soon as they have read the call's board and before
        // they make their next row.
        (0..PEOPLE).filter(|who| who % 3 != round % 3).for_each(|who| crowd.say(who));
        crowd.run(u64::from(seconds(PEOPLE)) * 1000);
    }
    let deployment = &crowd.scene.deployment;
    let room = crowd.scene.room.id();
    let board = |party: PartyId| {
        let page = deployment.call(party, |server| {
            async move { server.board(room, 0, Duration::ZERO).await }.boxed()
        });
        let entries = page.unwrap().unwrap().entries;
        let lengths = |signed: &ostrakon_broadcast::SignedEntry| {
            signed.entry.bodies().map(<[u8]>::len).collect()
        };
        entries.iter().map(lengths).collect()
    };
    let boards: Vec<Vec<Vec<usize>>> = parties().map(board).collect();
    let (trace, shape) = deployment.executor.digests();
    for who in 0..PEOPLE {
        let talks = crowd.pairs.iter().any(|(caller, callee)| who == *caller || who == *callee);
        let heard = crowd.letters(who, |letters| letters.heard.len());
        assert_eq!(heard > 0, talks, "{who}");
    }
    assert!(crowd.is_in_doubt(CYCLE));
    assert_eq!(crowd.stopped() > 0, !crowd.pairs.is_empty(), "what was said is said again");
    for (caller, callee) in &crowd.pairs {
        for (from, to) in [(*caller, *callee), (*callee, *caller)] {
            let heard = crowd.letters(to, |letters| letters.heard.clone());
            assert!(crowd.said[from].starts_with(&heard), "from {from} to {to}: {heard:?}");
        }
    }
    deployment.end();
    let stored = parties().map(|party| stored(&deployment.data(party))).collect();
    (trace, Observed { shape, boards, stored, log: Vec::new() })
}

/// The same, with what is logged meanwhile.
fn observed_and_logged(pairs: Vec<(usize, usize)>, mixer: EngineKind) -> (Digest, Observed) {
    let log = Log::default();
    let sink = log.clone();
    let lines = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .without_time()
        .with_ansi(false)
        .with_writer(move || sink.clone());
    let (trace, observed) =
        tracing::subscriber::with_default(lines.finish(), || observed(pairs, mixer));
    let log = String::from_utf8(std::mem::take(&mut *log.0.lock().unwrap())).unwrap();
    let log = log.lines().map(without_digests).collect();
    (trace, Observed { log, ..observed })
}

/// Who talks to whom, and whether anybody does, changes nothing that the servers see, keep or log,
/// but for bytes that look random. By day partners are exchanged in a room of one engine, at night
/// with each of them two are silent, too, or all.
#[test]
fn who_talks_to_whom_changes_nothing_that_servers_have() {
    let nightly = ostrakon_testkit::nightly();
    let exchanged = vec![(0, 3), (2, 1)];
    let others = if nightly { vec![exchanged, vec![(0, 3)], Vec::new()] } else { vec![exchanged] };
    let engines = if nightly { &EngineKind::ALL[..] } else { &[EngineKind::Clarion] };
    for engine in engines {
        inside(|| nothing_changes(*engine, &others));
    }
}

fn nothing_changes(engine: EngineKind, others: &[Vec<(usize, usize)>]) {
    let (trace, seen) = observed_and_logged(neighbours(2), engine);
    let board = &seen.boards[0];
    assert!(board.len() >= 8 && seen.boards.iter().all(|other| other == board));
    assert!(seen.stored.iter().all(|one| one["entries"].len() == board.len()));
    assert!(seen.log.iter().any(|line| line.contains("at work")), "{:?}", seen.log);
    for pairs in others {
        let (other_trace, other) = observed_and_logged(pairs.clone(), engine);
        assert_eq!(seen.shape, other.shape, "the same lines carry the same lengths at one time");
        assert_eq!(seen.boards, other.boards);
        for (one, other) in seen.stored.iter().zip(&other.stored) {
            assert!(one.keys().eq(other.keys()));
            one.iter().for_each(|(table, rows)| assert_eq!(rows, &other[table], "{table}"));
        }
        assert_eq!(seen.log, other.log);
        assert_ne!(trace, other_trace, "but not the same contents");
    }
}
