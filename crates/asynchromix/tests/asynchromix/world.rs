//! Servers and participants under a scheduler that draws what happens next from a seed.

use std::collections::BTreeSet;
use std::sync::Arc;

use ostrakon_agreement::Params;
use ostrakon_asynchromix::board::{Outcome, SignedEntry};
use ostrakon_asynchromix::message::{Message, RunId};
use ostrakon_asynchromix::participant::News;
use ostrakon_asynchromix::room::KEPT;
use ostrakon_asynchromix::service::{Effects, Event, Parts, Service, Told};
use ostrakon_asynchromix::visit::Ask;
use ostrakon_asynchromix::{Disk, Key, Participant, Room, Shape};
use ostrakon_crypto::hash::digest;
use ostrakon_crypto::{Digest, Secret, SigningKey, own};
use ostrakon_party::{PartyId, SessionId};
use ostrakon_testkit::Draw;

use crate::keys::TestKeys;
use crate::lies::{self, Lie};

/// How a server behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Honest,
    /// Says nothing any more.
    Dead,
    /// Spoils a third of its messages to servers on their way out.
    Spoils,
    /// Loses a third of them.
    Withholds,
    /// What it says and hears arrives when nothing else moves.
    Starved,
    /// It lies to one other member of each batch that it prepares.
    Lies(Lie),
    /// It lives twice under one key, and each peer hears one of the two: other words in the same
    /// places. The second life gives wrong shares ([`World::turn`]).
    Twins,
}

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Server(usize),
    Client(usize),
}

/// A message on its way.
pub type Flight = (End, End, Arc<[u8]>);

/// What becomes of a message on its way: `None` for lost.
pub type Meddle = Box<dyn FnMut(End, End, &[u8]) -> Option<Vec<u8>>>;

pub struct World {
    pub room: Arc<Room>,
    pub params: Params,
    pub services: Vec<Option<Service<TestKeys>>>,
    pub disks: Vec<Disk>,
    /// The second lives of those who have one, and their disks.
    twins: Vec<Option<(Service<TestKeys>, Disk)>>,
    pub roles: Vec<Role>,
    pub participants: Vec<Participant>,
    pub news: Vec<Vec<News>>,
    pub told: Vec<Vec<Told>>,
    pub meddle: Meddle,
    pub draw: Draw,
    pub seed: u64,
    /// Whether a step may be cut short by a crash, once in so many times; 0 for never.
    pub crash_once_in: usize,
    /// Once in so many times a message between servers is lost.
    pub lose_once_in: usize,
    pub crashes: usize,
    /// Once in so many deliveries time passes, and whoever runs the world looks.
    pub tick_once_in: usize,
    /// Epochs of whose shuffles messages were sent.
    pub opened: BTreeSet<u64>,
    pool: Vec<Flight>,
    late: Vec<Flight>,
}

pub fn id(i: usize) -> PartyId {
    PartyId(u8::try_from(i).unwrap())
}

pub const SHAPE: Shape = Shape { rows: 16, payload: 12, minimum: 3, ticks: 12 };

/// A server's key. All servers and participants are in this process.
pub fn signing(i: usize) -> SigningKey {
    own::remember();
    SigningKey::from_seed(&digest("test identity", &[i as u8]).0)
}

/// Every share is another one: the low byte of each element after the name.
pub fn spoil_stock(disk: &mut Disk) {
    for (_, bytes) in disk.0.iter_mut().filter(|(key, _)| matches!(key, Key::Stock(_))) {
        (32..bytes.len()).step_by(8).for_each(|at| bytes[at] ^= 1);
    }
}

pub fn room(n: usize, shape: Shape) -> Arc<Room> {
    let corrupt = match n {
        5 => 1,
        n => (n - 1) / 3,
    };
    let keys = (0..n).map(|i| signing(i).verifying_key()).collect();
    Arc::new(Room::new(Digest([4; 32]), corrupt, keys, shape).unwrap())
}

impl World {
    pub fn new(n: usize, seed: u64) -> World {
        World::with(n, seed, SHAPE, 64)
    }

    pub fn with(n: usize, seed: u64, shape: Shape, interval: u64) -> World {
        World::of(room(n, shape), seed, interval)
    }

    pub fn of(room: Arc<Room>, seed: u64, interval: u64) -> World {
        World::deep(room, seed, 64, interval)
    }

    pub fn deep(room: Arc<Room>, seed: u64, horizon: u64, interval: u64) -> World {
        let n = room.servers();
        let session = SessionId(room.digest());
        let params =
            Params::with(session, &Digest([8; 32]), *room.trust(), horizon, interval).unwrap();
        let mut world = World {
            params,
            services: (0..n).map(|_| None).collect(),
            disks: vec![Disk::default(); n],
            twins: (0..n).map(|_| None).collect(),
            roles: vec![Role::Honest; n],
            participants: Vec::new(),
            news: Vec::new(),
            told: vec![Vec::new(); n],
            meddle: Box::new(|_, _, bytes| Some(bytes.to_vec())),
            draw: Draw(seed),
            seed,
            crash_once_in: 0,
            lose_once_in: 0,
            crashes: 0,
            tick_once_in: 400,
            opened: BTreeSet::new(),
            pool: Vec::new(),
            late: Vec::new(),
            room,
        };
        for i in 0..n {
            let parts = world.parts(i);
            let (service, effects) = Service::found(parts);
            world.services[i] = Some(service);
            world.carry_out(i, effects);
        }
        world
    }

    fn parts(&mut self, i: usize) -> Parts<TestKeys> {
        let keys = TestKeys {
            party: id(i),
            parties: self.room.servers(),
            needed: self.room.trust().believed(),
            seed: 5,
        };
        Parts {
            room: Arc::clone(&self.room),
            params: self.params,
            keys,
            signing: Arc::new(signing(i)),
            randomness: self.draw.secret(),
        }
    }

    pub fn honest(&self) -> Vec<usize> {
        let honest = |i: &usize| matches!(self.roles[*i], Role::Honest | Role::Starved);
        (0..self.roles.len()).filter(honest).collect()
    }

    pub fn kill(&mut self, i: usize) {
        self.services[i] = None;
    }

    /// Starts a server from its disk.
    pub fn restart(&mut self, i: usize) {
        let parts = self.parts(i);
        let (service, effects) = Service::restore(parts, &self.disks[i]);
        self.services[i] = Some(service);
        self.carry_out(i, effects);
    }

    /// Has a server live twice from now on, from its disk; the second time with other shares.
    pub fn turn(&mut self, i: usize) {
        let mut disk = self.disks[i].clone();
        spoil_stock(&mut disk);
        let parts = self.parts(i);
        let (twin, effects) = Service::restore(parts, &disk);
        self.twins[i] = Some((twin, disk));
        self.kill(i);
        self.restart(i);
        self.roles[i] = Role::Twins;
        self.second_life(i, effects);
    }

    /// Carries out what a server does in its second life.
    fn second_life(&mut self, i: usize, effects: Effects) {
        let Some((_, disk)) = &mut self.twins[i] else { return };
        effects.writes.into_iter().for_each(|write| disk.apply(write));
        for (to, bytes) in effects.sends {
            if self.hears(i, to.index(), 1) {
                self.pool.push((End::Server(i), End::Server(to.index()), bytes));
            }
        }
        for (client, message) in effects.replies {
            if let Some(at) = self.participants.iter().position(|p| p.key() == client) {
                self.pool.push((End::Server(i), End::Client(at), message.encode().into()));
            }
        }
    }

    /// Whether a peer hears a server in this life. Both are taken for the server that they were
    /// until they take part.
    fn hears(&self, of: usize, peer: usize, life: usize) -> bool {
        let twin = self.twins[of].as_ref().map(|(twin, _)| twin);
        let parted = [self.services[of].as_ref(), twin].iter().flatten().all(|s| s.runs());
        !parted || (peer + usize::from(peer > of)) % 2 == life
    }

    /// Adds a participant that says something, or a cover.
    pub fn join(&mut self, message: Option<&str>) -> usize {
        let secret = self.draw.secret();
        self.join_as(&secret, message)
    }

    /// The same with a participant's secret.
    pub fn join_as(&mut self, secret: &Secret, message: Option<&str>) -> usize {
        let home = self.participants.len();
        let message = message.map(|text| text.as_bytes().to_vec());
        let room = Arc::clone(&self.room);
        self.participants.push(Participant::new(room, message, home, secret).unwrap());
        self.news.push(Vec::new());
        self.participants.len() - 1
    }

    fn carry_out(&mut self, i: usize, effects: Effects) {
        let total = effects.writes.len() + effects.sends.len() + effects.replies.len();
        let honest = self.roles[i] == Role::Honest;
        let crash = honest && total > 0 && self.draw.once_in(self.crash_once_in);
        let until = if crash { self.draw.below(total + 1) } else { usize::MAX };
        let writes = effects.writes.len();
        for write in effects.writes.into_iter().take(until) {
            self.disks[i].apply(write);
        }
        let left = until.saturating_sub(writes);
        for (to, bytes) in effects.sends.into_iter().take(left) {
            self.post(End::Server(i), End::Server(to.index()), bytes);
        }
        if crash {
            self.services[i] = None;
            self.crashes += 1;
            return;
        }
        for (client, message) in effects.replies {
            let at = self.participants.iter().position(|p| p.key() == client);
            if let Some(at) = at {
                self.post(End::Server(i), End::Client(at), message.encode().into());
            }
        }
        self.told[i].extend(effects.told);
    }

    fn post(&mut self, from: End, to: End, bytes: Arc<[u8]>) {
        let End::Server(sender) = from else {
            return self.pool.push((from, to, bytes));
        };
        let role = self.roles[sender];
        let starved = |end: End| matches!(end, End::Server(i) if self.roles[i] == Role::Starved);
        if role == Role::Dead || self.draw.once_in(self.lose_once_in) {
            return;
        }
        if let Ok(Message::Run(RunId::Epoch(epoch), _)) = Message::decode(&bytes, usize::MAX)
            && matches!(to, End::Server(_))
        {
            self.opened.insert(epoch);
        }
        if starved(from) || starved(to) {
            return self.late.push((from, to, bytes));
        }
        match (role, to) {
            (Role::Twins, End::Server(peer)) if !self.hears(sender, peer, 0) => return,
            _ => {}
        }
        if let (Role::Lies(lie), Some(service)) = (role, &self.services[sender])
            && let known = (&*self.room, service.state())
            && let Some(told) = lies::told(lie, known, &signing(sender), &bytes)
        {
            return self.pool.push((from, to, told.into()));
        }
        match role {
            Role::Withholds if self.draw.once_in(3) => {}
            Role::Spoils if self.draw.once_in(3) => {
                let spoilt = self.spoil(&bytes);
                self.pool.push((from, to, spoilt.into()));
            }
            _ => self.pool.push((from, to, bytes)),
        }
    }

    /// One of the ways to spoil a message.
    fn spoil(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut spoilt = bytes.to_vec();
        match self.draw.below(4) {
            0 => {
                let bit = self.draw.below(spoilt.len() * 8);
                spoilt[bit / 8] ^= 1 << (bit % 8);
            }
            1 => spoilt.truncate(self.draw.below(spoilt.len())),
            2 => spoilt.push(self.draw.bits() as u8),
            _ => spoilt.fill_with(|| self.draw.bits() as u8),
        }
        spoilt
    }

    pub fn event(&mut self, i: usize, event: Event<'_>) {
        if self.roles[i] == Role::Dead {
            return;
        }
        if let Some((twin, _)) = &mut self.twins[i] {
            let effects = twin.handle(event);
            self.second_life(i, effects);
        }
        if let Some(service) = &mut self.services[i] {
            let effects = service.handle(event);
            self.carry_out(i, effects);
        }
    }

    /// A device visits a server; its answer, if the server lives.
    pub fn visit(&mut self, i: usize, ask: &[u8]) -> Option<Vec<u8>> {
        if self.roles[i] == Role::Dead {
            return None;
        }
        let reached = (0..self.services.len())
            .filter(|j| *j != i && self.roles[*j] != Role::Dead && self.services[*j].is_some());
        let reached = reached.map(id).collect();
        let ask = Ask::decode(ask, &self.room).unwrap();
        let (effects, answer) = self.services[i].as_mut()?.visit(ask, reached);
        self.carry_out(i, effects);
        self.services[i].as_ref().map(|_| answer.encode())
    }

    /// A tick for everybody, in a drawn order; who crashed comes back now and then.
    pub fn tick(&mut self) {
        let n = self.services.len();
        let first = self.draw.below(n);
        for i in (0..n).map(|i| (first + i) % n) {
            if self.services[i].is_none()
                && self.crash_once_in > 0
                && self.roles[i] == Role::Honest
                && self.draw.once_in(3)
            {
                self.restart(i);
            }
            self.event(i, Event::Tick);
        }
        for i in 0..self.participants.len() {
            let messages = self.participants[i].tick();
            self.say(i, messages);
        }
    }

    /// A participant tells all servers.
    pub fn say(&mut self, i: usize, messages: Vec<Vec<u8>>) {
        for message in messages {
            for server in 0..self.services.len() {
                self.post(End::Client(i), End::Server(server), message.clone().into());
            }
        }
    }

    /// What was sent and has not arrived, for a scheduler that delivers it by itself.
    pub fn depart(&mut self) -> Vec<Flight> {
        std::mem::take(&mut self.pool)
    }

    /// A message arrives.
    pub fn deliver(&mut self, (from, to, bytes): Flight) {
        let Some(bytes) = (self.meddle)(from, to, &bytes) else { return };
        match (from, to) {
            (End::Server(from), End::Server(to)) => {
                self.event(to, Event::Server(id(from), &bytes));
            }
            (End::Client(_), End::Server(to)) => self.event(to, Event::Client(&bytes)),
            (End::Server(from), End::Client(to)) => {
                let (messages, news) = self.participants[to].receive(id(from), &bytes);
                self.news[to].extend(news);
                self.say(to, messages);
            }
            (End::Client(_), End::Client(_)) => {}
        }
    }

    /// What a server has sent and has not arrived is lost.
    pub fn lose_sent_by(&mut self, server: usize) {
        self.pool.retain(|(from, ..)| *from != End::Server(server));
    }

    /// All participants leave.
    pub fn forget_clients(&mut self) {
        self.participants.clear();
        self.news.clear();
        let gone = |end: &End| matches!(end, End::Client(_));
        self.pool.retain(|(from, to, _)| !gone(from) && !gone(to));
        self.late.retain(|(from, to, _)| !gone(from) && !gone(to));
    }

    /// Runs until `done`, at most so many ticks.
    pub fn run(&mut self, ticks: usize, mut done: impl FnMut(&World) -> bool) {
        let mut ticked = 0;
        loop {
            // Time passes before everything has arrived, now and then.
            if self.pool.is_empty() || self.draw.once_in(self.tick_once_in) {
                if done(self) {
                    return;
                }
                if ticked >= ticks {
                    let seed = self.seed;
                    panic!("seed {seed}: not done after {ticks} ticks\n{}", self.describe());
                }
                ticked += 1;
                self.time_passes();
            }
            self.next();
        }
    }

    /// Runs until `done`, which looks after every delivery.
    pub fn watch(&mut self, ticks: usize, mut done: impl FnMut(&World) -> bool) {
        for _ in 0..ticks {
            while !self.pool.is_empty() && !self.draw.once_in(self.tick_once_in) {
                if done(self) {
                    return;
                }
                self.next();
            }
            self.time_passes();
        }
        panic!("seed {}: not done after {ticks} ticks\n{}", self.seed, self.describe());
    }

    fn time_passes(&mut self) {
        let late = std::mem::take(&mut self.late);
        self.pool.extend(late);
        self.tick();
    }

    /// Delivers a drawn message.
    fn next(&mut self) {
        if !self.pool.is_empty() {
            let at = self.draw.below(self.pool.len());
            let flight = self.pool.swap_remove(at);
            self.deliver(flight);
        }
    }

    /// Where everybody stands.
    fn describe(&self) -> String {
        let mut text = String::new();
        for (i, service) in self.services.iter().enumerate() {
            let Some(service) = service else { continue };
            let state = service.state();
            text += &format!(
                "server {i}: runs {}, commits {}, ready {}, entries {}, held {:?}\n",
                service.runs(),
                service.commits(),
                state.stock.ready(),
                state.entries,
                service.held(),
            );
            for (number, epoch) in &state.epochs {
                let sealed = epoch
                    .seal
                    .as_ref()
                    .map(|seal| (seal.rows.iter().flatten().count(), seal.enough));
                text += &format!(
                    "  epoch {number}: batch {}, places {}, collects {}, sealed {sealed:?}, {:?}\n",
                    epoch.batch,
                    epoch.places.len(),
                    epoch.collects(),
                    (0..self.services.len()).map(|i| epoch.is_final(id(i))).collect::<Vec<_>>(),
                );
            }
            for (number, batch) in &state.stock.batches {
                text += &format!(
                    "  batch {number}: committed {:?}, ready {}\n",
                    batch.committed.keys(),
                    batch.ready
                );
            }
        }
        for (i, participant) in self.participants.iter().enumerate() {
            text += &format!("participant {i}: {} {:?}\n", participant.is_done(), self.news[i]);
        }
        text
    }

    /// Lets so many ticks pass.
    pub fn pass(&mut self, ticks: usize) {
        let mut passed = 0;
        self.run(ticks + 1, |_| {
            passed += 1;
            passed > ticks
        });
    }

    /// Runs until every honest server has so many batches ready.
    pub fn stock(&mut self, batches: usize) {
        self.run(400, |world| {
            let ready = |i: &usize| {
                world.services[*i]
                    .as_ref()
                    .is_some_and(|s| s.state().stock.ready() + s.state().epochs.len() >= batches)
            };
            world.honest().iter().all(ready)
        });
    }

    /// Whether every honest server has so many entries, and of them those that are kept.
    pub fn have(&self, entries: u64) -> bool {
        let kept = entries.min(KEPT as u64);
        self.honest().iter().all(|i| {
            self.services[*i].as_ref().is_some_and(|service| {
                service.state().entries >= entries && service.board().count() as u64 >= kept
            })
        })
    }

    /// Runs until every participant's message is on the board.
    pub fn all_said(&mut self) {
        self.run(2500, |world| {
            world.participants.iter().all(Participant::is_done) && world.have(world.entries())
        });
    }

    /// The entries that some honest server has.
    pub fn entries(&self) -> u64 {
        let of = |i: &usize| self.services[*i].as_ref().map(|s| s.state().entries);
        self.honest().iter().filter_map(of).max().unwrap_or(0)
    }

    /// The board, which is the same at all honest servers.
    pub fn board(&self) -> Vec<SignedEntry> {
        let mut boards: Vec<Vec<SignedEntry>> = self
            .honest()
            .iter()
            .filter_map(|i| self.services[*i].as_ref())
            .map(|service| service.board().cloned().collect())
            .collect();
        let board = boards.pop().unwrap();
        for other in &boards {
            let same = |(a, b): (&SignedEntry, &SignedEntry)| a.entry == b.entry;
            assert!(other.iter().zip(&board).all(same), "seed {}: boards differ", self.seed);
        }
        assert!(board.iter().all(|entry| entry.verifies(&self.room)));
        board
    }

    /// All messages of the board, sorted.
    pub fn messages(&self) -> Vec<String> {
        let mut all: Vec<String> = self
            .board()
            .iter()
            .flat_map(|signed| match &signed.entry.outcome {
                Outcome::Messages(messages) => messages.clone(),
                Outcome::TooFew => Vec::new(),
            })
            .map(|message| String::from_utf8(message).unwrap())
            .collect();
        all.sort();
        all
    }

    /// Nobody honest says that somebody honest did something wrong.
    pub fn assert_nobody_honest_blamed(&self) {
        for i in self.honest() {
            for told in &self.told[i] {
                let (Told::Fault(party, _) | Told::Convicted(party, _)) = told else { continue };
                let role = self.roles[party.index()];
                let corrupt = !matches!(role, Role::Honest | Role::Starved);
                assert!(corrupt, "seed {}: {i} says of {party}: {told:?}", self.seed);
            }
        }
    }
}
