//! Groups that decide something, among servers that die and come back, with lines that lose
//! answers, devices that are closed and opened again, and a clock that is wrong.
//!
//! Everybody who takes part does so by the visitor that real devices have. Whoever answers is
//! counted, once, as first answered; whoever stays away counts as assumed; and there is no result
//! where the rules say so.

mod person;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use futures::FutureExt;
use ostrakon_crypto::{Secret, SigningKey, Stream};
use ostrakon_decide::record::create;
use ostrakon_decide::{
    Ballot, Content, DecisionId, Draft, Function, Invitation, Layer, Meaning, Opening, Operators,
    Person, Seat, SignedRecord, Stage, examine,
};
use ostrakon_decisions::DecisionServer;
use ostrakon_node::Creator;
use ostrakon_party::{PartyId, wire};
use ostrakon_protocol::decisions::{DecisionStage, OpeningInfo, RecordsPage};

use self::person::{Device, Signed, Visiting};
use crate::checks::parties;
use crate::closing::inside;
use crate::deployment::Deployment;
use crate::executor::OUTSIDE;
use crate::jobs;
use crate::line::Line;
use crate::random::Random;

/// Seconds from the beginning until everybody must have accepted, and answered.
const ACCEPT: u64 = 240;
const ANSWER: u64 = 600;
/// Runs, and those of a nightly run.
const SEEDS: u64 = 16;
const NIGHTLY: u64 = 300;
/// How long servers may take to open, once all is well.
const OPENING: Duration = Duration::from_secs(120);
/// The option that is assumed of who stays away.
const ASSUMED: u8 = 1;

/// What somebody does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Answers,
    /// Accepts, and comes no more.
    Accepts,
    StaysAway,
}

/// What a seed stands for.
#[derive(Clone, Debug)]
struct Setting {
    seed: u64,
    roles: Vec<Role>,
    threshold: u8,
    all_needed: bool,
    /// The server whose clock is ahead from its next start on, and by how many seconds.
    wrong: Option<(PartyId, u64)>,
}

impl Setting {
    fn of(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0xdec1_de00);
        let people = random.within(3, 5);
        let role = |random: &mut Random| match random.below(10) {
            0 => Role::StaysAway,
            1 | 2 => Role::Accepts,
            _ => Role::Answers,
        };
        let roles = (0..people).map(|_| role(&mut random)).collect();
        let threshold = [2, 2, 3, 0][random.below(4) as usize];
        let all_needed = random.chance(20);
        // Of the servers the first one matters most: it says by its clock whom it takes.
        let party = PartyId([0, 0, 1, 2][random.below(4) as usize]);
        let wrong = (party, random.within(ANSWER / 2, 2 * ANSWER));
        let wrong = random.chance(70).then_some(wrong);
        Self { seed, roles, threshold, all_needed, wrong }
    }

    fn count(&self, of: impl Fn(Role) -> bool) -> usize {
        self.roles.iter().filter(|role| of(**role)).count()
    }

    /// How it must end, by the rules: how often each option, or nothing.
    fn outcome(&self, answers: &[u8]) -> Option<Vec<u16>> {
        let accepted = self.count(|role| role != Role::StaysAway);
        let answered = self.count(|role| role == Role::Answers);
        let begins = accepted == self.roles.len() || (accepted >= 3 && !self.all_needed);
        let ends = answered == accepted || (answered >= 3 && self.threshold > 0);
        if !begins || !ends {
            return None;
        }
        let mut counts = vec![0, 0];
        for (role, answer) in self.roles.iter().zip(answers) {
            match role {
                Role::Answers => counts[usize::from(*answer)] += 1,
                Role::Accepts => counts[usize::from(ASSUMED)] += 1,
                Role::StaysAway => {}
            }
        }
        Some(counts)
    }
}

/// A run under way.
struct Run {
    setting: Setting,
    random: Random,
    deployment: Arc<Deployment>,
    operators: Operators,
    id: DecisionId,
    devices: Vec<Arc<Mutex<Device>>>,
}

fn seed_of(person: usize) -> [u8; 32] {
    [u8::try_from(person).unwrap() + 100; 32]
}

fn creator() -> SigningKey {
    SigningKey::from_seed(&[99; 32])
}

/// The first person is named by the account, the others by invitations.
fn invitation(person: usize) -> Option<Invitation> {
    (person > 0).then(|| Invitation([u8::try_from(person).unwrap() + 150; 32]))
}

fn draft(setting: &Setting, operators: &Operators, now: u64) -> Draft {
    let seat = |person: usize| match invitation(person) {
        Some(invitation) => Seat::Invitation(invitation.key().verifying_key()),
        None => Seat::Account(SigningKey::from_seed(&seed_of(person)).verifying_key()),
    };
    let person = |person: usize| Person { name: format!("person {person}"), seat: seat(person) };
    Draft {
        question: "Shall we?".into(),
        ballots: vec![Ballot {
            label: String::new(),
            options: vec!["no".into(), "yes".into()],
            function: Function::Tally,
            assumed: ASSUMED,
        }],
        people: (0..setting.roles.len()).map(person).collect(),
        accept_by: now + ACCEPT,
        all_needed: setting.all_needed,
        deadline: now + ANSWER,
        quorum: 3,
        threshold: setting.threshold,
        creator: creator().verifying_key(),
        gathering: None,
        nonce: [1; 16],
        servers: operators.digest,
    }
}

impl Run {
    fn begin(setting: Setting) -> Self {
        let deployment = jobs::begin(3, setting.seed);
        let servers = deployment.pinned(PartyId(0)).expect("it answers");
        let operators = Operators::new(&servers).expect("three servers");
        let draft = draft(&setting, &operators, deployment.executor.now_ms() / 1_000);
        let layers: Vec<Layer> = parties().map(|party| layer(&deployment, party, &draft)).collect();
        let (layers, time) = (layers.try_into().expect("three"), draft.accept_by - ACCEPT);
        let first = create(draft.clone(), layers, &operators, &creator(), time).encode();
        let made = deployment.call(PartyId(0), |server| {
            async move {
                let decisions = server.driver::<DecisionServer>()?;
                decisions.create_decision(Creator::Guest(Some(1)), &first).await
            }
            .boxed()
        });
        made.expect("it answers").expect("it begins");
        let random = Random::new(setting.seed ^ 0x0dec_1de5);
        let (id, devices) = (draft.id(), Vec::new());
        Self { setting, random, deployment, operators, id, devices }
    }

    /// Everybody comes, each with an answer.
    fn come(&mut self) -> Vec<u8> {
        let signed = Arc::new(Mutex::new(Signed::default()));
        let mut answers = Vec::new();
        for (number, role) in self.setting.roles.clone().into_iter().enumerate() {
            let answer = self.random.below(2) as u8;
            answers.push(answer);
            if role == Role::StaysAway {
                continue;
            }
            let device = Device::new(seed_of(number), invitation(number));
            let device = Arc::new(Mutex::new(device));
            let line = Line { number: number as u64, deployment: Arc::clone(&self.deployment) };
            let visiting = Visiting {
                line,
                device: Arc::clone(&device),
                operators: self.operators,
                id: self.id,
                signed: Arc::clone(&signed),
            };
            self.deployment.executor.spawn(OUTSIDE, visiting.go_on().boxed());
            device.lock().unwrap().answer = (role == Role::Answers).then_some(answer);
            self.devices.push(device);
        }
        answers
    }

    fn some(&mut self) -> PartyId {
        PartyId(self.random.below(3) as u8)
    }

    /// Something happens.
    fn step(&mut self) {
        let (party, other) = (self.some(), self.some());
        let device = self.random.below(self.devices.len().max(1) as u64) as usize;
        let device = self.devices.get(device).cloned();
        match self.random.below(9) {
            0 => self.deployment.kill(party),
            1 | 2 => self.deployment.kill_after(party, self.random.within(1, 30)),
            3 => self.start(party),
            4 if party != other => self.deployment.network.set_cut(party, other, true),
            5 if party != other => self.deployment.network.set_cut(party, other, false),
            6 => device.into_iter().for_each(|device| device.lock().unwrap().loads += 1),
            7 => device.into_iter().for_each(|device| {
                let mut device = device.lock().unwrap();
                device.open = !device.open;
            }),
            8 => device.into_iter().for_each(|device| {
                let mut device = device.lock().unwrap();
                device.full = !device.full;
            }),
            _ => {}
        }
    }

    fn start(&self, party: PartyId) {
        if let Some((_, ahead)) = self.setting.wrong.filter(|(wrong, _)| *wrong == party) {
            self.deployment.set_clock(party, ahead * 1_000);
        }
        self.deployment.start(party);
    }

    fn trouble(&mut self, steps: u64) {
        for _ in 0..steps {
            self.step();
            let pause = self.random.within(0, 3_000);
            self.deployment.executor.run_for(Duration::from_millis(pause));
        }
        for a in parties() {
            self.deployment.kill_after(a, 0);
            parties()
                .filter(|b| *b != a)
                .for_each(|b| self.deployment.network.set_cut(a, b, false));
            if self.deployment.is_down(a) {
                self.start(a);
            }
        }
        for device in &self.devices {
            let mut device = device.lock().unwrap();
            (device.open, device.full) = (true, false);
        }
    }

    fn until(&self, limit: Duration, what: impl FnMut() -> bool) -> bool {
        self.deployment.executor.run_until(limit, Duration::from_millis(500), what)
    }

    fn all(&self, what: impl Fn(&Device) -> bool) -> bool {
        self.devices.iter().all(|device| what(&device.lock().unwrap()))
    }

    /// How everything stands, for whoever reads why a run failed.
    fn shown(&self) -> String {
        let stages: Vec<_> = parties().map(|party| self.stage(party)).collect();
        let devices = self.devices.iter().map(|device| device.lock().unwrap().shown());
        format!("{stages:?}, {:?}", devices.collect::<Vec<_>>())
    }

    /// How the decision stands at a server.
    fn stage(&self, party: PartyId) -> Option<DecisionStage> {
        let id = self.id;
        let info = self.deployment.call(party, |server| {
            async move { server.driver::<DecisionServer>()?.decision(id) }.boxed()
        });
        Some(info?.ok()?.stage)
    }

    /// What a server shows of it in the end: its records, and the openings.
    fn page(&self, party: PartyId) -> RecordsPage {
        let id = self.id;
        let page = self.deployment.call(party, |server| {
            async move { server.driver::<DecisionServer>()?.records(id, 0).await }.boxed()
        });
        page.expect("it answers").expect("it shows it")
    }

    /// All servers are done with it.
    fn is_over(&self) -> bool {
        let over =
            |stage: DecisionStage| matches!(stage, DecisionStage::Done | DecisionStage::Lapsed);
        parties().all(|party| self.stage(party).is_some_and(over))
    }
}

fn layer(deployment: &Deployment, party: PartyId, draft: &Draft) -> Layer {
    let bytes = wire::encode(draft);
    let given = deployment.call(party, |server| {
        async move { server.driver::<DecisionServer>()?.layer(None, &bytes).await }.boxed()
    });
    let given = given.expect("it answers").expect("it has a layer");
    wire::decode(&BASE64URL_NOPAD.decode(given.layer.as_bytes()).unwrap()).unwrap()
}

/// Everybody comes twice among troubles; then it ends as the rules say, the same everywhere.
fn run(seed: u64) {
    let setting = Setting::of(seed);
    let told = format!("{setting:?}");
    let mut run = Run::begin(setting);
    let answers = run.come();
    let steps = run.random.within(4, 10);
    run.trouble(steps);
    let accepted = run.until(Duration::from_secs(ACCEPT / 2), || run.all(|device| device.accepted));
    assert!(accepted, "not everybody has accepted who came: {told}; {}", run.shown());
    let begins = run.setting.count(|role| role != Role::StaysAway) >= 3
        && (!run.setting.all_needed || run.setting.count(|role| role == Role::StaysAway) == 0);
    // Those who answer wait until it begins, which may be when the time to accept is over.
    if begins {
        run.until(Duration::from_secs(ACCEPT), || run.all(|device| device.answers_are_taken));
        let steps = run.random.within(4, 12);
        run.trouble(steps);
        let answered = || run.all(|device| device.answer.is_none() || device.answered);
        let answered = run.until(Duration::from_secs(ANSWER / 4), answered);
        assert!(answered, "not everybody has answered who came: {told}; {}", run.shown());
    }
    run.devices.iter().for_each(|device| device.lock().unwrap().open = false);
    let left = Duration::from_secs(ACCEPT + ANSWER) + OPENING;
    assert!(run.until(left, || run.is_over()), "it does not end: {told}");
    check(&run, &answers, &told);
    run.deployment.end();
}

/// What there is in the end is the same everywhere, and right.
fn check(run: &Run, answers: &[u8], told: &str) {
    let pages: Vec<RecordsPage> = parties().map(|party| run.page(party)).collect();
    assert!(pages.iter().all(|page| page.records == pages[0].records), "one history: {told}");
    assert!(pages.iter().all(|page| page.openings == pages[0].openings), "one opening: {told}");
    let decode = |text: &String| BASE64URL_NOPAD.decode(text.as_bytes()).unwrap();
    let records: Vec<Vec<u8>> = pages[0].records.iter().map(decode).collect();
    let mut steps: BTreeMap<u16, u32> = BTreeMap::new();
    for record in &records {
        if let Content::Step { person, .. } = SignedRecord::decode(record).unwrap().record.content {
            *steps.entry(person).or_default() += 1;
        }
    }
    assert!(steps.values().all(|count| *count == 1), "somebody is counted twice: {told}");
    let mut rng = Stream::of(Secret::new([7; 32]), "test/randomness");
    let expected = run.setting.outcome(answers);
    let examined = examine(run.operators, &records, &mut rng).expect("an honest history");
    let found = (examined.chain().stage() == Stage::Closed).then(|| {
        let read = |info: &OpeningInfo| {
            (PartyId(info.party), Opening::decode(&decode(&info.opening)).unwrap())
        };
        let openings: Vec<_> = pages[0].openings.iter().map(read).collect();
        examined.result(&openings).expect("a result").meanings
    });
    assert_eq!(found, expected.map(|counts| vec![Meaning::Counts(counts)]), "{told}");
    for by in parties() {
        let faults = run.deployment.call(by, |server| async move { server.faults().await }.boxed());
        assert!(faults.unwrap().unwrap().is_empty(), "{by} blames somebody who is honest: {told}");
    }
}

#[test]
fn who_answers_is_counted_once_as_first_answered_among_servers_that_die() {
    if let Some(seed) = crate::number("OSTRAKON_SEED") {
        return inside(|| run(seed));
    }
    let seeds = if ostrakon_testkit::nightly() { NIGHTLY } else { SEEDS };
    let seeds = crate::number("OSTRAKON_SEEDS").unwrap_or(seeds);
    crate::run_many(seeds, |seed| inside(|| run(seed)));
}
