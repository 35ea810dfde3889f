//! A world of servers under an adversary that draws what happens next from a seed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostrakon_agreement::block::Certificate;
use ostrakon_agreement::dag::{Disk, Key, Output, Phase, Step};
use ostrakon_agreement::message::Message;
use ostrakon_agreement::{Event, Fault, Keys, Ledger, Params};
use ostrakon_crypto::hash::digest;
use ostrakon_crypto::{Digest, Transcript};
use ostrakon_party::{Delivery, PartyId, SessionId, Trust};
use ostrakon_testkit::Draw;

use crate::keys::TestKeys;

/// How a server behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Honest,
    /// Says nothing, ever.
    Dead,
    /// Two servers with one key: what it says depends on who listens.
    Twins,
    /// Votes for everything that it is shown.
    VotesForAll,
    /// Spoils messages on their way out.
    Spoils,
    /// Sends every message to some only.
    Withholds,
    /// Sends what [`World::sabotage`] makes of its messages.
    Sabotaged,
}

/// What the application has from the ledger, kept on its own disk.
#[derive(Clone, Debug, Default)]
pub struct App {
    /// Ordered records by commit.
    pub log: Vec<Vec<(PartyId, Vec<u8>)>>,
    /// The state's digest after each commit.
    pub digests: Vec<Digest>,
    pub adopted: usize,
    /// Whether the server's data were lost: what it had proposed need not come in, or may twice.
    pub lost: bool,
    pub beacons: BTreeMap<Digest, Digest>,
}

impl App {
    pub fn records(&self) -> Vec<(PartyId, Vec<u8>)> {
        self.log.concat()
    }
}

pub struct Machine {
    pub ledger: Option<Ledger<TestKeys>>,
    pub twin: Option<Ledger<TestKeys>>,
    pub disk: Disk,
    pub app: App,
    pub role: Role,
    pub readmitted: usize,
    /// How often it has said so since it was last given a nonce.
    pub data_lost: usize,
    /// Where each twin is heard.
    hears: Vec<[bool; 2]>,
}

/// What leaves in place of a message.
pub type Sabotage = Box<dyn FnMut(&Arc<[u8]>) -> Vec<Arc<[u8]>>>;

pub struct World {
    pub params: Params,
    pub machines: Vec<Machine>,
    pub pool: Vec<(PartyId, PartyId, Arc<[u8]>)>,
    pub draw: Draw,
    pub seed: u64,
    /// Pairs between which nothing is delivered for now.
    pub cut: BTreeSet<(PartyId, PartyId)>,
    /// What honest servers proposed.
    pub proposed: Vec<(PartyId, Vec<u8>)>,
    pub faults: Vec<Fault>,
    pub sent: BTreeMap<&'static str, usize>,
    /// Whether a step may be cut short by a crash, once in so many times; 0 for never.
    pub crash_once_in: usize,
    pub sabotage: Option<Sabotage>,
    /// Whose application never tells its state, so that it signs no checkpoint.
    pub slow_app: Option<usize>,
    /// Records of what every application had after each commit.
    commits: BTreeMap<usize, Vec<(PartyId, Vec<u8>)>>,
    /// Whom an honest step was cut short for: restarted by the run.
    pub restarts: usize,
}

pub fn id(index: usize) -> PartyId {
    PartyId(u8::try_from(index).unwrap())
}

/// What a message is, by its first byte: most of them need not be decoded to be carried.
fn kind(bytes: &[u8]) -> &'static str {
    match bytes[0] {
        0 => "block",
        1 => "vote",
        2 => "certificate",
        3 => "item",
        4 => "status",
        5 => "checkpoint",
        6 | 7 => "start",
        _ => "readmission",
    }
}

pub fn params(n: usize, horizon: u64, interval: u64) -> Params {
    let trust = match n {
        5 => Trust::new(5, 1, Delivery::Guaranteed).unwrap(),
        n => Trust::under_a_third(n).unwrap(),
    };
    let (session, coin) = (SessionId(Digest([7; 32])), Digest([8; 32]));
    Params::with(session, &coin, trust, horizon, interval).unwrap()
}

impl World {
    pub fn new(params: Params, roles: &[Role], seed: u64) -> Self {
        let mut world = Self {
            params,
            machines: Vec::new(),
            pool: Vec::new(),
            draw: Draw(seed),
            seed,
            cut: BTreeSet::new(),
            proposed: Vec::new(),
            faults: Vec::new(),
            sent: BTreeMap::new(),
            sabotage: None,
            slow_app: None,
            crash_once_in: 0,
            commits: BTreeMap::new(),
            restarts: 0,
        };
        for (i, role) in roles.iter().enumerate() {
            let hears = (0..roles.len()).map(|_| {
                *[[true, false], [false, true], [true, true]].get(world.draw.below(3)).unwrap()
            });
            let hears = hears.collect();
            world.machines.push(Machine {
                ledger: None,
                twin: None,
                disk: Disk::default(),
                app: App::default(),
                role: *role,
                readmitted: 0,
                data_lost: 0,
                hears,
            });
            if *role == Role::Dead {
                continue;
            }
            let (ledger, step) = Ledger::found(params, world.keys(id(i)));
            world.machines[i].ledger = Some(ledger);
            if *role == Role::Twins {
                let (twin, _) = Ledger::found(params, world.keys(id(i)));
                world.machines[i].twin = Some(twin);
            }
            world.carry_out(id(i), 0, step);
        }
        world
    }

    pub fn keys(&self, party: PartyId) -> TestKeys {
        TestKeys { party, parties: self.params.parties(), needed: self.params.believed(), seed: 5 }
    }

    pub fn honest(&self) -> Vec<usize> {
        (0..self.machines.len()).filter(|i| self.machines[*i].role == Role::Honest).collect()
    }

    /// Carries out a step of a server, or a part of it if it crashes on the way.
    fn carry_out(&mut self, of: PartyId, twin: usize, step: Step) {
        let i = of.index();
        let honest = self.machines[i].role == Role::Honest;
        let total = step.writes.len() + step.sends.len();
        let crash =
            honest && self.crash_once_in > 0 && total > 0 && self.draw.once_in(self.crash_once_in);
        let until = if crash { self.draw.below(total + 1) } else { usize::MAX };
        let writes = step.writes.len();
        if twin == 0 {
            for write in step.writes.into_iter().take(until) {
                self.machines[i].disk.apply(write);
            }
        }
        let sends = step.sends.into_iter().take(until.saturating_sub(writes));
        for send in sends.collect::<Vec<_>>() {
            self.post(of, twin, send.to, send.bytes);
        }
        if crash {
            self.machines[i].ledger = None;
            self.restarts += 1;
            return;
        }
        if honest {
            for fault in step.faults {
                if let Some(culprit) = fault.convicts(&self.params, &self.keys(of)) {
                    let role = self.machines[culprit.index()].role;
                    assert_ne!(role, Role::Honest, "seed {}: {fault:?}", self.seed);
                }
                self.faults.push(fault);
            }
        }
        // Who is sabotaged has an application, too: without one it signs no checkpoint.
        if honest || self.machines[i].role == Role::Sabotaged {
            for output in step.outputs {
                self.output(of, output);
            }
        }
    }

    /// Puts a message on its way; a corrupt server's as its role has it.
    fn post(&mut self, from: PartyId, twin: usize, to: PartyId, bytes: Arc<[u8]>) {
        let role = self.machines[from.index()].role;
        *self.sent.entry(kind(&bytes)).or_default() += 1;
        match role {
            Role::Twins if !self.machines[from.index()].hears[to.index()][twin] => {}
            Role::Withholds if self.draw.once_in(3) => {}
            Role::Sabotaged => {
                let sent = self.sabotage.as_mut().map_or(vec![], |sabotage| sabotage(&bytes));
                self.pool.extend(sent.into_iter().map(|bytes| (from, to, bytes)));
            }
            Role::Spoils if self.draw.once_in(3) => {
                if let Some(bytes) = self.spoil(&bytes) {
                    self.pool.push((from, to, bytes));
                }
            }
            _ => self.pool.push((from, to, bytes)),
        }
    }

    /// One of the ways to spoil a message; `None` if it is dropped.
    fn spoil(&mut self, bytes: &[u8]) -> Option<Arc<[u8]>> {
        let mut spoilt = bytes.to_vec();
        match self.draw.below(5) {
            0 => {
                let bit = self.draw.below(spoilt.len() * 8);
                spoilt[bit / 8] ^= 1 << (bit % 8);
            }
            1 => spoilt.truncate(self.draw.below(spoilt.len())),
            2 => spoilt.push(self.draw.bits() as u8),
            3 => spoilt.fill_with(|| self.draw.bits() as u8),
            _ => return None,
        }
        Some(spoilt.into())
    }

    fn output(&mut self, of: PartyId, output: Output) {
        let seed = self.seed;
        let machine = &mut self.machines[of.index()];
        match output {
            Output::Commit(commit) => {
                let records: Vec<_> =
                    commit.records().map(|(author, record)| (author, record.to_vec())).collect();
                let number = usize::try_from(commit.number).unwrap();
                // Agreement: whoever commits this number first says what it is.
                let first = self.commits.entry(number).or_insert_with(|| records.clone());
                assert_eq!(*first, records, "seed {seed}: {of} forks at commit {number}");
                if number <= machine.app.log.len() {
                    return;
                }
                assert_eq!(number, machine.app.log.len() + 1, "seed {seed}: {of} skips commits");
                machine.app.log.push(records);
                let mut bytes = machine.app.digests.last().map_or(vec![], |d| d.0.to_vec());
                for (author, record) in &machine.app.log[number - 1] {
                    bytes.push(author.0);
                    bytes.extend(record);
                }
                machine.app.digests.push(digest("test state", &bytes));
            }
            Output::CheckpointDue(_) if self.slow_app == Some(of.index()) => {}
            Output::CheckpointDue(commits) => {
                let digest = machine.app.digests[usize::try_from(commits).unwrap() - 1];
                let Some(ledger) = &mut machine.ledger else { return };
                let step = ledger.handle(Event::State { commits, digest });
                self.carry_out(of, 0, step);
            }
            Output::Adopted { commits, state } => {
                let commits = usize::try_from(commits).unwrap();
                if commits <= machine.app.log.len() {
                    assert_eq!(machine.app.digests[commits - 1], state, "seed {seed}");
                    return;
                }
                let log: Vec<_> = (1..=commits).map(|i| self.commits[&i].clone()).collect();
                let other = self.machines.iter().find_map(|other| {
                    (other.app.digests.get(commits - 1) == Some(&state))
                        .then(|| other.app.digests.clone())
                });
                let digests = other.expect("some server has the state that was adopted");
                let machine = &mut self.machines[of.index()];
                machine.app.log = log;
                machine.app.digests = digests[..commits].to_vec();
                machine.app.adopted += 1;
            }
            Output::Beacon(name, value) => {
                machine.app.beacons.insert(name, value);
            }
            Output::Readmitted(party, _) => {
                if party == of {
                    machine.readmitted += 1;
                }
            }
            Output::DataLost => machine.data_lost += 1,
            Output::Started => {}
        }
    }

    pub fn event(&mut self, of: usize, event: Event<'_>) {
        if matches!(event, Event::Readmit(_)) {
            self.machines[of].data_lost = 0;
        }
        if let Some(ledger) = &mut self.machines[of].ledger {
            let step = ledger.handle(event.clone());
            self.carry_out(id(of), 0, step);
        }
        if let Some(twin) = &mut self.machines[of].twin {
            let step = twin.handle(event);
            self.carry_out(id(of), 1, step);
        }
    }

    pub fn propose(&mut self, of: usize, record: Vec<u8>) {
        if let Some(ledger) = &mut self.machines[of].ledger
            && let Ok(step) = ledger.propose(record.clone())
        {
            if self.machines[of].role == Role::Honest {
                self.proposed.push((id(of), record));
            }
            // The application says it again if the server crashes before it has it.
            let crash = std::mem::take(&mut self.crash_once_in);
            self.carry_out(id(of), 0, step);
            self.crash_once_in = crash;
        }
    }

    pub fn restart(&mut self, of: usize) {
        let nonce = self.draw.bytes();
        let keys = self.keys(id(of));
        let (ledger, step) = Ledger::restore(self.params, keys, &self.machines[of].disk, nonce);
        self.machines[of].ledger = Some(ledger);
        self.carry_out(id(of), 0, step);
    }

    pub fn deliver(&mut self, at: usize) {
        let (from, to, bytes) = self.pool.swap_remove(at);
        self.receive(from, to, &bytes);
    }

    pub fn receive(&mut self, from: PartyId, to: PartyId, bytes: &[u8]) {
        if self.machines[to.index()].role == Role::VotesForAll
            && let Ok(Message::Block(signed)) = Message::decode(bytes, &self.params)
        {
            let vote = crate::attacks::any_vote(self, to, &signed);
            self.pool.push((to, from, Message::Vote(vote).encode().into()));
        }
        self.event(to.index(), Event::Receive(from, bytes));
    }

    pub fn is_cut(&self, from: PartyId, to: PartyId) -> bool {
        self.cut.contains(&(from.min(to), from.max(to)))
    }

    /// Delivers everything in a drawn order, with what it leads to, up to `limit` messages.
    pub fn deliver_all(&mut self, limit: usize) {
        for _ in 0..limit {
            let first = self.pool.len().min(64);
            if first > 0 && self.cut.is_empty() {
                let at = self.draw.below(first);
                self.deliver(at);
                continue;
            }
            let open: Vec<_> = (0..self.pool.len())
                .filter(|at| !self.is_cut(self.pool[*at].0, self.pool[*at].1))
                .take(64)
                .collect();
            if open.is_empty() {
                return;
            }
            let at = open[self.draw.below(open.len())];
            self.deliver(at);
        }
    }

    /// Delivers up to `limit` messages in the order of sending.
    pub fn deliver_in_order(&mut self, limit: usize) {
        for _ in 0..limit {
            if self.pool.is_empty() {
                return;
            }
            let (from, to, bytes) = self.pool.remove(0);
            self.receive(from, to, &bytes);
        }
    }

    /// The author that the coin will choose for `round`, which nobody can know beforehand.
    pub fn leader(&self, round: u64) -> PartyId {
        let mut transcript = Transcript::new("ostrakon/v1/agreement/coin label");
        let label = transcript.field(&self.params.session().0.0).number(round).finish();
        let keys = self.keys(id(0));
        let shares: Vec<_> =
            (0..self.params.believed()).map(|i| (id(i), keys.share(&label).unwrap())).collect();
        let coin = keys.combine(&label, &shares).unwrap();
        let index = u64::from_le_bytes(*coin.0.first_chunk().unwrap());
        id((index % self.params.parties() as u64) as usize)
    }

    /// The round that `servers` servers have reached.
    pub fn lowest_round(&self, servers: usize) -> u64 {
        let top = |i: &usize| self.machines[*i].ledger.as_ref().map_or(0, Ledger::top);
        let mut tops: Vec<_> = self.honest().iter().map(top).collect();
        tops.sort_unstable_by_key(|top| std::cmp::Reverse(*top));
        tops[servers - 1]
    }

    /// Certified blocks of a round, as parents.
    pub fn parents(&self, round: u64) -> Vec<(PartyId, Digest)> {
        let disk = &self.machines[0].disk.0;
        let certified = disk.iter().filter_map(|(key, value)| match key {
            Key::Certificate(of, author) if *of == round => {
                let certificate: Certificate = ostrakon_party::wire::decode(value).unwrap();
                Some((*author, certificate.block.digest))
            }
            _ => None,
        });
        certified.collect()
    }

    pub fn tick_all(&mut self) {
        for i in 0..self.machines.len() {
            self.event(i, Event::Tick);
        }
    }

    /// Lets everything that was sent arrive and time pass, until the honest servers have nothing
    /// more to do; fails if that does not come about.
    pub fn settle(&mut self) {
        self.cut.clear();
        self.crash_once_in = 0;
        for i in self.honest() {
            if self.machines[i].ledger.is_none() {
                self.restart(i);
            }
        }
        let limit = 2_000 * self.machines.len().pow(2);
        for _ in 0..150 {
            self.deliver_all(limit);
            assert!(self.pool.is_empty(), "seed {}: messages lead to more without end", self.seed);
            if self.is_settled() {
                return;
            }
            self.tick_all();
            for i in self.honest() {
                // Whoever runs a server gives it one nonce when it says that its data are lost.
                if self.machines[i].data_lost > 0 {
                    let nonce = self.draw.bytes();
                    self.event(i, Event::Readmit(nonce));
                }
            }
        }
        self.print();
        panic!("seed {}: the servers do not come to rest", self.seed);
    }

    fn is_settled(&self) -> bool {
        let honest = self.honest();
        let logs: Vec<_> = honest.iter().map(|i| self.machines[*i].app.log.len()).collect();
        let rest = honest.iter().all(|i| {
            let ledger = self.machines[*i].ledger.as_ref().unwrap();
            ledger.phase() == Phase::Running && !ledger.is_busy()
        });
        rest && logs.iter().all(|len| *len == logs[0]) && self.all_in(honest[0])
    }

    fn all_in(&self, of: usize) -> bool {
        let records: BTreeSet<_> = self.machines[of].app.records().into_iter().collect();
        self.proposed
            .iter()
            .all(|said| records.contains(said) || self.machines[said.0.index()].app.lost)
    }

    pub fn print(&self) {
        for (i, machine) in self.machines.iter().enumerate() {
            let Some(ledger) = &machine.ledger else {
                eprintln!("{i}: {:?}, down", machine.role);
                continue;
            };
            let agreed = ledger.agreed();
            eprintln!(
                "{i}: {:?} {:?} top {} last {} commits {} busy {} all in {}",
                machine.role,
                ledger.phase(),
                ledger.top(),
                agreed.last,
                agreed.commits,
                ledger.is_busy(),
                self.all_in(i),
            );
        }
    }

    /// Safety: of two honest servers one has a beginning of the other's order. Nothing that an
    /// honest server proposed is in twice, unless it went through a loss.
    pub fn check(&self) {
        for i in self.honest() {
            for (number, records) in self.machines[i].app.log.iter().enumerate() {
                assert_eq!(self.commits.get(&(number + 1)), Some(records), "seed {}", self.seed);
            }
            let records = self.machines[i].app.records();
            let distinct: BTreeSet<_> = records.iter().collect();
            for said in &distinct {
                let author = &self.machines[said.0.index()];
                if author.role == Role::Honest && author.app.adopted == 0 && !author.app.lost {
                    let times = records.iter().filter(|other| other == said).count();
                    assert_eq!(times, 1, "seed {}: {said:?} is in {times} times", self.seed);
                    assert!(
                        self.proposed.contains(said),
                        "seed {}: nobody said {said:?}",
                        self.seed
                    );
                }
            }
        }
    }
}
