//! A run: what happens in which order, and what is checked.

mod hosting;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use ostrakon_broadcast::hosting::is_ballot;
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_mixing::engine::IssueError;
use ostrakon_mixing::link::presence_digest;
use ostrakon_mixing::room::people_for;
use ostrakon_mixing::ruffle::client::RuffleClient;
use ostrakon_mixing::{ClientEngine, EpochContext, RoomDescriptor, RoomId, Servers};
use ostrakon_node::{EngineProvider, ThreeServers};
use ostrakon_party::PartyId;
use ostrakon_protocol::Presence;
use ostrakon_protocol::ServiceError;

use crate::checks::Boards;
use crate::deployment::Deployment;
use crate::engine::{PlainProvider, trust};
use crate::executor::{Executor, OUTSIDE};
use crate::host::Host;
use crate::ledger::{Ledger, Watched};
use crate::line::Line;
use crate::logs::Logs;
use crate::malice::{Malice, Vice};
use crate::participant::{Device, Participant};
use crate::random::Random;

/// How long everything may take once all is well again, in virtual time.
const LONGEST_END: Duration = Duration::from_secs(600);

/// What a seed stands for, before anything happens.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub seed: u64,
    /// How many servers there are.
    pub parties: u8,
    /// The real engine; otherwise the plain one of the tests.
    pub ruffle: bool,
    pub robust: bool,
    pub participants: u64,
    pub capacity: u32,
    pub seconds: u32,
    pub steps: u64,
    /// Whether only those take part whom the host has admitted, or who have claimed an invitation.
    pub members: bool,
    /// The server that falls into hostile hands for a while, and what it then does.
    pub hostile: Option<(PartyId, Vice)>,
}

impl Setting {
    pub fn of(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x5e77_1a96);
        const PARTIES: [u8; 16] = [3, 2, 3, 4, 3, 5, 7, 3, 3, 2, 3, 4, 6, 5, 7, 3];
        let (ruffle, parties) = (seed % 8 == 7, PARTIES[(seed % 16) as usize]);
        // With the fewest who are enough, everything waits for each of them.
        let least = u64::from(people_for(1, &trust(parties.into()))) + 1;
        let vice = |random: &mut Random| Vice::ALL[random.below(Vice::ALL.len() as u64) as usize];
        Self {
            seed,
            parties,
            ruffle,
            robust: random.chance(30),
            participants: random.within(3, if ruffle { 4 } else { 6 }).max(least),
            capacity: random.within(15, 21) as u32,
            seconds: random.within(1, 3) as u32,
            steps: if ruffle { random.within(6, 12) } else { random.within(10, 30) },
            members: random.chance(40),
            hostile: (seed % 3 == 2)
                .then(|| (PartyId(random.below(parties.into()) as u8), vice(&mut random))),
        }
    }
}

/// What is compared between two runs.
#[derive(Debug, PartialEq, Eq)]
pub struct Report {
    pub trace: Digest,
    pub shape: Digest,
    pub published: usize,
    pub virtual_ms: u64,
    pub polls: u64,
    pub disk_calls: u64,
}

/// Hands the row in as it is.
pub struct PlainClient;

impl ClientEngine for PlainClient {
    fn submit(
        &self,
        servers: &Servers,
        _: &EpochContext,
        _: u32,
        issues: &[Option<Vec<u8>>],
        row: &[u8],
        _: &SigningKey,
    ) -> Result<Vec<u8>, IssueError> {
        if issues.iter().flatten().count() >= trust(servers.keys.len()).believed() {
            Ok(row.to_vec())
        } else {
            Err(IssueError::Incomplete)
        }
    }
}

/// A run under way.
struct Run {
    setting: Setting,
    swapped: bool,
    random: Random,
    deployment: Arc<Deployment>,
    boards: Boards,
    servers: Arc<Servers>,
    room: Arc<RoomDescriptor>,
    participants: Vec<Participant>,
    /// Rooms beside the one in which something is said.
    others: Vec<RoomId>,
    hosts: Vec<Host>,
    logs: Logs,
    /// The seeds of the invitations in links.
    links: Vec<[u8; 32]>,
    /// What was said, and by whom.
    said: BTreeMap<String, usize>,
    hostile_now: bool,
}

/// Begins a deployment with one room, lets happen what the seed says, makes all well again, and
/// checks.
pub fn run(setting: Setting, swapped: bool) -> Report {
    let executor = Executor::new(setting.seed);
    let ledger = Arc::new(Ledger::default());
    let inner: Arc<dyn EngineProvider> = if setting.ruffle {
        Arc::new(ThreeServers)
    } else {
        Arc::new(PlainProvider(Arc::default()))
    };
    let provider = Arc::new(Watched { inner, ledger: Arc::clone(&ledger) });
    let deployment = Deployment::new(setting.parties, executor.clone(), provider, ledger);
    deployment.parties().for_each(|party| deployment.start(party));
    let mut servers = None;
    executor.run_until(Duration::from_secs(60), Duration::from_millis(200), || {
        let said: Option<Vec<_>> =
            deployment.parties().map(|party| deployment.pinned(party)).collect();
        servers = said
            .filter(|said| said.iter().all(|one| *one == said[0]))
            .map(|mut said| said.remove(0));
        servers.is_some()
    });
    let servers = servers.expect("the servers set up their session");
    let room = create_room(&deployment, &setting, PartyId(1)).expect("a room is created");
    let mut run = Run {
        setting,
        swapped,
        random: Random::new(setting.seed ^ 0x0005_ce9a),
        boards: Boards::new(&deployment, servers.clone()),
        logs: Logs::new(&deployment, servers.digest(), &room),
        room: Arc::new(room),
        deployment,
        servers: Arc::new(servers),
        participants: Vec::new(),
        others: Vec::new(),
        hosts: Vec::new(),
        links: Vec::new(),
        said: BTreeMap::new(),
        hostile_now: false,
    };
    run.seat_host();
    for _ in 0..setting.participants {
        run.join(false);
    }
    if run.random.chance(25) {
        run.join(true);
    }
    for _ in 0..setting.steps {
        let pause = run.random.within(0, 2_000);
        run.deployment.executor.run_for(Duration::from_millis(pause));
        run.step();
        run.check();
    }
    run.end()
}

fn create_room(
    deployment: &Deployment,
    setting: &Setting,
    party: PartyId,
) -> Option<RoomDescriptor> {
    let mode = if setting.robust { "robust" } else { "fair" };
    let admission = if setting.members { "members" } else { "open" };
    let host = hosting::host_key(setting.seed, 0).verifying_key().to_hex();
    // The same name would be the same room.
    let name = format!("a room of {}", deployment.executor.now_ms());
    let room = serde_json::json!({
        "name": name, "payload": 64, "capacity": setting.capacity, "seconds": setting.seconds, "minimum": 1, "mode": mode,
        "host": host, "admission": admission,
    });
    let room = serde_json::from_value(room).expect("a room's settings");
    let info =
        deployment.call(party, |server| async move { server.create_room(room).await }.boxed())?;
    info.ok().map(|info| info.descriptor)
}

impl Run {
    fn server(&mut self) -> PartyId {
        PartyId(self.random.below(self.setting.parties.into()) as u8)
    }

    fn someone(&mut self) -> usize {
        self.random.below(self.participants.len() as u64) as usize
    }

    /// One thing happens.
    fn step(&mut self) {
        let deed = self.random.below(125);
        tracing::info!(deed, at = self.deployment.executor.now() / 1000, "a step");
        match deed {
            0..35 => self.say(),
            35..42 => self.kill(),
            42..50 => {
                let (party, calls) = (self.server(), self.random.within(1, 40));
                self.deployment.kill_after(party, calls);
            }
            50..62 => self.restart(),
            62..70 => self.cut(),
            70..76 => self.heal(),
            76..79 => self.leave_or_return(),
            79..82 => self.reload(),
            82..84 => {
                let cheats = self.random.chance(40);
                self.join(cheats);
            }
            84..87 => self.replay(),
            87..89 => self.other_room(),
            89..91 => self.set_clock(),
            91..94 => {
                let long = self.random.within(5, 40);
                self.deployment.executor.run_for(Duration::from_secs(long));
            }
            94..100 => self.turn_coat(),
            _ => self.host_step(),
        }
    }

    fn join(&mut self, cheats: bool) {
        let number = self.participants.len() as u64;
        if number >= 8 {
            return;
        }
        let mut seed = [0; 32];
        Random::new(self.setting.seed ^ (number << 32)).fill(&mut seed);
        let key = SigningKey::from_seed(&seed);
        let invitation = self.let_in(key.verifying_key(), number, cheats);
        let engine: &'static (dyn ClientEngine + Send + Sync) =
            if self.setting.ruffle { &RuffleClient } else { &PlainClient };
        let participant = Participant {
            line: Line { number, deployment: Arc::clone(&self.deployment) },
            device: Arc::new(Mutex::new(Device::new(seed, cheats, invitation))),
            room: Arc::clone(&self.room),
            servers: Arc::clone(&self.servers),
            engine,
            honest: self.setting.hostile.is_none(),
        };
        self.deployment.executor.spawn(OUTSIDE, participant.clone().take_part().boxed());
        self.participants.push(participant);
    }

    /// Somebody says something. In the swapped run the first two say each other's words, which are
    /// of equal length.
    fn say(&mut self) {
        let who = self.someone();
        if self.participants[who].device.lock().unwrap().cheats {
            return;
        }
        let words = match (self.swapped, who) {
            (true, 0) => 1,
            (true, 1) => 0,
            _ => who,
        };
        let mut device = self.participants[who].device.lock().unwrap();
        let count = self.said.keys().filter(|text| text.starts_with(&format!("{words} "))).count();
        let text = format!("{words} says {count:03}");
        device.wishes.push(text.clone());
        self.said.insert(text, who);
    }

    fn kill(&mut self) {
        let party = self.server();
        self.deployment.kill(party);
    }

    fn restart(&mut self) {
        let party = self.server();
        self.deployment.start(party);
    }

    fn cut(&mut self) {
        let a = self.server();
        let next = PartyId((a.0 + 1) % self.setting.parties);
        self.deployment.network.set_cut(a, next, true);
        if self.random.chance(40) {
            // Nobody can relay: this server is alone.
            for b in self.deployment.parties().filter(|b| *b != a) {
                self.deployment.network.set_cut(a, b, true);
            }
        }
    }

    fn heal(&mut self) {
        let a = self.server();
        for b in self.deployment.parties().filter(|b| *b != a) {
            self.deployment.network.set_cut(a, b, false);
        }
    }

    fn leave_or_return(&mut self) {
        let who = self.someone();
        let mut device = self.participants[who].device.lock().unwrap();
        device.open = !device.open;
    }

    fn reload(&mut self) {
        let who = self.someone();
        let mut device = self.participants[who].device.lock().unwrap();
        let kept = serde_json::to_string(&device.outbox).expect("an outbox can be kept");
        device.outbox = serde_json::from_str(&kept).expect("what was kept is read");
        device.loads += 1;
    }

    /// Somebody sends again what an honest participant once sent: to the same epoch, with the same
    /// signature, or an old presence.
    fn replay(&mut self) {
        let (who, party) = (self.someone(), self.server());
        let (request, presence) = {
            let device = self.participants[who].device.lock().unwrap();
            let old = self.deployment.executor.now_ms() / 1000 - 60;
            let signature = device.key.sign(&presence_digest(&self.room.id(), old, party));
            let presence = Presence { key: device.key.verifying_key(), time: old, signature };
            (device.said.clone(), presence)
        };
        let room = self.room.id();
        let _ = self
            .deployment
            .call(party, |server| async move { server.presence(room, presence).await }.boxed());
        if request.is_empty() {
            return;
        }
        let chosen = self.random.below(request.len() as u64) as usize;
        let (room, epoch, body) = request[chosen].clone();
        // The plain engine checks no signature, so only the real one can tell another epoch's
        // submission.
        let epoch = if self.setting.ruffle { epoch + self.random.below(3) } else { epoch };
        let later = epoch > request[chosen].1;
        let answer = self
            .deployment
            .call(party, |server| async move { server.submit(room, epoch, body).await }.boxed());
        assert!(
            !(later && matches!(answer, Some(Ok(_)))),
            "a submission is taken for another epoch"
        );
    }

    fn other_room(&mut self) {
        let party = self.server();
        if self.others.len() < 2 && self.random.chance(60) {
            let room = create_room(&self.deployment, &self.setting, party);
            self.others.extend(room.map(|room| room.id()));
        } else if let Some(room) = self.others.pop() {
            let _ = self
                .deployment
                .call(party, |server| async move { server.close_room(room).await }.boxed());
        }
    }

    fn set_clock(&mut self) {
        let (party, ahead) = (self.server(), self.random.below(100_000));
        self.deployment.set_clock(party, ahead);
    }

    /// The server that is to be hostile becomes so, or stops.
    fn turn_coat(&mut self) {
        let Some((party, vice)) = self.setting.hostile else { return };
        self.hostile_now = !self.hostile_now;
        self.deployment.set_hostile(party, Some(vice).filter(|_| self.hostile_now));
        let percent = [3, 20, 60][self.random.below(3) as usize];
        let malice = Malice {
            key: self.deployment.key(party),
            vice,
            percent,
            control_only: !self.setting.ruffle,
            earlier: Vec::new(),
        };
        self.deployment.network.set_malice(party, Some(malice).filter(|_| self.hostile_now));
    }

    /// What holds at any time.
    fn check(&mut self) {
        let room = self.room.id();
        for party in self.deployment.parties() {
            for room in self.others.iter().chain([&room]) {
                if let Some((entries, _)) = self.deployment.lengths(party, *room) {
                    self.boards.read(*room, party, entries);
                }
            }
            // Whose messages are there now, the log says that is read after them.
            let Some((_, actions)) = self.deployment.lengths(party, room) else { continue };
            if !self.logs.read(party, actions) {
                continue;
            }
            for (_, body) in self.boards.shown(room, party).filter(|(_, body)| is_text(body)) {
                let text = String::from_utf8(body).expect("only texts are said");
                let Some(who) = self.said.get(&text) else {
                    panic!("{text:?} is published, but nobody said it")
                };
                let key = self.participants[*who].device.lock().unwrap().key.verifying_key();
                assert!(
                    self.logs.was_member(&key),
                    "{text:?} is published, but its author was never a member"
                );
            }
        }
        self.boards.check_polls(room, &self.logs, &self.deployment.ledger.votes());
    }

    /// What is still to be published at some server.
    fn missing(&self) -> Vec<String> {
        let due = |(text, who): (&String, &usize)| {
            let device = self.participants[*who].device.lock().unwrap();
            let due =
                self.logs.is_member(&device.key.verifying_key()) && !device.given_up.contains(text);
            due.then(|| text.clone())
        };
        let mut due: Vec<_> = self.said.iter().filter_map(due).collect();
        let published: Vec<BTreeSet<_>> = self
            .deployment
            .parties()
            .map(|party| self.boards.shown(self.room.id(), party).map(|(_, body)| body).collect())
            .collect();
        due.retain(|text| published.iter().any(|published| !published.contains(text.as_bytes())));
        due
    }

    fn make_all_well(&mut self) {
        if let Some((party, _)) = self.setting.hostile {
            self.deployment.set_hostile(party, None);
            self.deployment.network.set_malice(party, None);
        }
        for a in self.deployment.parties() {
            self.deployment.kill_after(a, 0);
            self.deployment
                .parties()
                .filter(|b| *b != a)
                .for_each(|b| self.deployment.network.set_cut(a, b, false));
            if self.deployment.is_down(a) {
                self.deployment.start(a);
            }
        }
        for participant in &self.participants {
            participant.device.lock().unwrap().open = true;
        }
    }

    /// Says how everything stands, for whoever reads why a run failed.
    fn describe(&mut self) {
        let room = self.room.id();
        for party in self.deployment.parties() {
            let status = self.deployment.call(party, |server| {
                async move { server.status(room, 0, Duration::ZERO).await }.boxed()
            });
            eprintln!("{party}: {status:?}\n  blames {:?}", self.boards.blamed(party));
        }
        for participant in &self.participants {
            let device = participant.device.lock().unwrap();
            eprintln!(
                "participant {}: {:?}, wants to say {:?}",
                participant.line.number, device.outbox, device.wishes
            );
        }
        for host in &self.hosts {
            eprintln!("host {}: wants {:?}", host.line.number, host.desk.lock().unwrap().wishes);
        }
    }

    fn end(mut self) -> Report {
        self.make_all_well();
        let heals = self.setting.hostile.is_none_or(|(_, vice)| vice.heals());
        let executor = self.deployment.executor.clone();
        let limit = executor.now_ms() + LONGEST_END.as_millis() as u64;
        self.check();
        if !heals {
            executor.run_for(Duration::from_secs(20));
            self.check();
        }
        while heals && !(self.missing().is_empty() && self.is_hosted()) {
            if executor.now_ms() >= limit {
                self.describe();
                panic!(
                    "all is well again, and not everything is published or done everywhere: {:?}",
                    self.missing()
                );
            }
            executor.run_for(Duration::from_secs(2));
            self.check();
        }
        for party in self.deployment.parties() {
            self.boards.read_whole(self.room.id(), party);
        }
        self.check_promises();
        for by in self.deployment.parties() {
            for (culprit, what) in self.boards.blamed(by) {
                let guilty = self.setting.hostile.is_some_and(|(party, _)| party == culprit);
                let itself = self.setting.hostile.is_some_and(|(party, _)| party == by);
                assert!(guilty || itself, "{by} blames {culprit}, who is honest: {what}");
            }
        }
        self.deployment.end();
        let (trace, shape) = executor.digests();
        let published = self.boards.all(self.room.id()).count();
        let (virtual_ms, polls, disk_calls) =
            (executor.now() / 1000, executor.polls(), executor.disk_calls());
        Report { trace, shape, published, virtual_ms, polls, disk_calls }
    }
}

/// Whether it was said as a text by somebody who does not cheat.
fn is_text(body: &[u8]) -> bool {
    !is_ballot(body) && !body.starts_with(b"cheat ")
}
