//! Three servers with a decision, a device, and what passes between them.

use data_encoding::BASE64URL_NOPAD;
use ostrakon_client::visitor::{Action, News, Request, Visitor};
use ostrakon_client::{Body, Http, Millis};
use ostrakon_crypto::{Digest, Secret, SigningKey, Stream};
use ostrakon_decide::keys::receipt_digest;
use ostrakon_decide::record::create;
use ostrakon_decide::{
    Acknowledgement, Ballot, Chain, Content, Deposit, Draft, Examined, Function, HelperKey,
    Invitation, Layer, Memory, Operators, Person, Seat, SignedRecord, Stage, Visit,
    device::receipt,
};
use ostrakon_party::{PartyId, Servers, SessionId};
use ostrakon_protocol::decisions::{
    Acknowledged, DecisionInfo, DecisionStage, DepositReceipt, OpeningInfo, RecordTaken,
    RecordsPage, StockLevel,
};
use serde_json::Value;

use crate::script::Exchange;
use crate::time::{InTime, START, Time};

/// How long an answer takes.
const LATENCY: Millis = 40;
/// The decision's dates, in seconds since 1970.
const ACCEPT_BY: u64 = 5_000;
const DEADLINE: u64 = 9_000;

pub fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32])
}

/// Somebody who is asked.
pub fn account(person: u8) -> SigningKey {
    key(20 + person)
}

/// The first person has created it.
pub fn creator() -> SigningKey {
    account(0)
}

pub fn servers() -> Servers {
    let keys = (0..3).map(|party| key(party).verifying_key()).collect();
    Servers { session: SessionId(Digest([9; 32])), keys }
}

pub fn operators() -> Operators {
    Operators::new(&servers()).unwrap()
}

pub fn rng() -> Stream {
    Stream::of(Secret::new([77; 32]), "test/randomness")
}

fn drawn(party: u8) -> Secret {
    Secret::new([party + 90; 32])
}

/// Of so many people, by their accounts; with threshold 0, servers hold no shares.
pub fn draft(people: u8, threshold: u8) -> Draft {
    let person = |n: u8| Person {
        name: format!("person {n}"),
        seat: Seat::Account(account(n).verifying_key()),
    };
    Draft {
        question: "Shall we?".into(),
        ballots: vec![Ballot {
            label: String::new(),
            options: vec!["no".into(), "yes".into()],
            function: Function::Tally,
            assumed: 0,
        }],
        people: (0..people).map(person).collect(),
        gathering: None,
        accept_by: ACCEPT_BY,
        all_needed: false,
        deadline: DEADLINE,
        quorum: u16::from(people.min(3)),
        threshold,
        creator: creator().verifying_key(),
        nonce: [3; 16],
        servers: operators().digest,
    }
}

pub fn first(draft: &Draft) -> SignedRecord {
    let layer = |party: u8| {
        let at = (&drawn(party), 5);
        Layer::of(at, &key(party), PartyId(party), &operators(), draft, &mut rng()).unwrap()
    };
    create(draft.clone(), [layer(0), layer(1), layer(2)], &operators(), &creator(), 5)
}

/// One server.
pub struct Server {
    party: u8,
    pub records: Vec<SignedRecord>,
    pub openings: Vec<OpeningInfo>,
    /// It does not answer.
    pub away: bool,
    /// It says how the decision stands, and shows no records.
    pub breaks_off: bool,
    /// It changes the record of this number when it shows it.
    pub changes: Option<usize>,
    /// Why it does not open what is closed, as it says.
    pub refusal: Option<String>,
    /// It says this to every record, and takes none.
    pub says: Option<u16>,
    /// It takes records, and says nothing.
    pub loses: bool,
    /// What it was given.
    pub given: Vec<Vec<u8>>,
    /// What it holds for P0.
    pub held: Vec<SignedRecord>,
}

impl Server {
    fn new(party: u8, first: SignedRecord) -> Self {
        let (openings, given, held) = Default::default();
        let (away, breaks_off, changes, refusal, says, loses) = Default::default();
        let records = vec![first];
        Self {
            party,
            records,
            openings,
            away,
            breaks_off,
            changes,
            refusal,
            says,
            loses,
            given,
            held,
        }
    }

    pub fn chain(&self) -> Chain {
        let mut chain = Chain::begin(operators(), &self.records[0]).unwrap();
        self.records[1..].iter().for_each(|record| chain.apply(record).unwrap());
        chain
    }

    fn info(&self) -> DecisionInfo {
        let chain = self.chain();
        DecisionInfo {
            id: chain.id().to_hex(),
            records: chain.length(),
            head: chain.head().to_hex(),
            stage: DecisionStage::of(chain.stage(), self.openings.len() == 3),
            people: 2,
            answered: chain.answered(),
            verified: 0,
            deadline: DEADLINE,
            openings: Vec::new(),
            refusal: self.refusal.clone(),
        }
    }

    fn page(&self, from: usize) -> RecordsPage {
        let shown = |(number, record): (usize, &SignedRecord)| {
            let mut bytes = record.encode();
            if self.changes == Some(number) {
                *bytes.last_mut().unwrap() ^= 1;
            }
            BASE64URL_NOPAD.encode(&bytes)
        };
        let records = self.records.iter().enumerate().skip(from).map(shown).collect();
        RecordsPage { records, openings: self.openings.clone() }
    }

    fn receipt(&self, number: usize) -> Option<Acknowledged> {
        let record = self.records.get(number)?;
        let (decision, digest) = (record.record.decision, record.digest(&operators()));
        let number = u32::try_from(number).unwrap();
        let said = receipt::acknowledged(&operators(), &decision, number, &digest);
        let word = Acknowledgement::of(&key(self.party), PartyId(self.party), &said);
        Some(Acknowledged { party: self.party, signature: word.signature })
    }

    fn deposit(&self, bytes: &[u8]) -> DepositReceipt {
        deposited(self.party, bytes)
    }
}

/// A server takes a share of a key.
pub fn deposited(party: u8, bytes: &[u8]) -> DepositReceipt {
    let deposit = Deposit::decode(bytes).unwrap();
    let (identity, party) = (key(party), PartyId(party));
    let held = deposit.open(&identity, party, &operators(), 1_000).unwrap();
    let digest = receipt_digest(&operators(), party, held.statement());
    DepositReceipt { receipt: identity.sign(&digest) }
}

/// What may be under way.
pub enum Event {
    Answer(u64, u16, Vec<u8>),
}

pub struct World {
    pub time: Time<Event>,
    pub visitor: Visitor,
    pub servers: Vec<Server>,
    pub memory: Memory,
    /// The device can write nothing down.
    pub full: bool,
    pub news: Vec<News>,
    /// What passed between the device and the servers.
    pub exchanges: Vec<Exchange>,
    person: u8,
    draft: Draft,
}

impl World {
    /// The device of the first of so many people.
    pub fn new(people: u8, threshold: u8) -> Self {
        Self::of(0, people, threshold)
    }

    /// Somebody's device.
    pub fn of(person: u8, people: u8, threshold: u8) -> Self {
        let draft = draft(people, threshold);
        let first = first(&draft);
        let servers = (0..3).map(|party| Server::new(party, first.clone())).collect();
        let visitor = visitor(&draft, person, 4);
        let (memory, full, news, exchanges) = Default::default();
        let time = Time::new();
        Self { time, visitor, servers, memory, full, news, exchanges, person, draft }
    }

    /// The device is started again, with what it had written down.
    pub fn restart(&mut self, seed: u8) {
        self.time.under_way.clear();
        self.visitor = visitor(&self.draft, self.person, seed);
    }

    /// The same, by a link with this invitation.
    pub fn invite(&mut self, invitation: Invitation) {
        let (id, device) = (self.draft.id(), account(self.person));
        let seed = Secret::new([6; 32]);
        self.visitor = Visitor::new(operators(), id, Some(invitation), device, &seed);
    }

    pub fn accept(&mut self) {
        self.visitor.accept(self.time.now);
        self.act();
    }

    pub fn answer(&mut self, answer: u8) {
        self.visitor.answer(self.time.now, &[answer]);
        self.act();
    }

    /// Somebody else accepts or answers, at all servers.
    pub fn other(&mut self, person: u8, answer: Option<u8>) {
        let mut visit = Visit::new(operators(), self.draft.id());
        for record in &self.servers[0].records {
            visit.read(&record.encode(), &mut rng()).unwrap();
        }
        visit.verify(&mut rng()).unwrap();
        let account = account(person);
        let mut memory = Memory::default();
        let record = match answer {
            Some(answer) => visit.answer(&account, &[answer], &mut memory, 1_000, &mut rng()),
            None => {
                let terms = (self.draft.threshold, DEADLINE + 20 * 24 * 3_600);
                let helpers: Vec<_> = (0..3).map(helper).collect();
                let serial = ostrakon_decide::Serial([person; 16]);
                let new = ostrakon_decide::keys::shares::new_key(
                    &account,
                    serial,
                    terms,
                    &operators(),
                    &helpers,
                    &mut rng(),
                );
                let new = new.unwrap();
                let sign = |(server, deposit): (&Server, &Deposit)| {
                    server.deposit(&ostrakon_party::wire::encode(deposit)).receipt
                };
                let receipts = self.servers.iter().zip(&new.deposits).map(sign).collect();
                let statement = new.statement;
                let key =
                    ostrakon_decide::keys::certify(&account, statement, receipts, &operators());
                visit.accept(&account, key.unwrap(), None, 1_000)
            }
        };
        let record = record.unwrap();
        self.servers.iter_mut().for_each(|server| server.records.push(record.clone()));
    }

    /// P0 closes, and all servers open.
    pub fn close(&mut self) {
        let chain = self.servers[0].chain();
        assert_eq!(chain.stage(), Stage::Answering);
        let absent = chain.missing();
        let time = if absent.is_empty() { 2_000 } else { DEADLINE };
        let close = chain.next(&key(0), time, Content::Close { absent });
        self.servers.iter_mut().for_each(|server| server.records.push(close.clone()));
        let openings: Vec<_> = (0..3).map(|party| self.opening(party)).collect();
        self.servers.iter_mut().for_each(|server| server.openings = openings.clone());
    }

    /// What a server opens of what is closed.
    pub fn opening(&self, party: u8) -> OpeningInfo {
        let mut visit = Visit::new(operators(), self.draft.id());
        for record in &self.servers[0].records {
            visit.read(&record.encode(), &mut rng()).unwrap();
        }
        visit.verify(&mut rng()).unwrap();
        let examined = Examined::of(&visit).unwrap();
        let opening = examined.open(&drawn(party), PartyId(party), &[], &mut rng()).unwrap();
        OpeningInfo { party, opening: BASE64URL_NOPAD.encode(&opening.encode()) }
    }

    /// Every server has what P0 has.
    pub fn spread(&mut self) {
        let records = self.servers[0].records.clone();
        self.servers.iter_mut().for_each(|server| server.records = records.clone());
    }

    pub fn told(&self, what: impl Fn(&News) -> bool) -> usize {
        self.news.iter().filter(|news| what(news)).count()
    }

    /// The records that were handed in at a server.
    pub fn given(&self, party: usize) -> &[Vec<u8>] {
        &self.servers[party].given
    }

    fn act(&mut self) {
        while let Some(action) = self.visitor.next_action() {
            match action {
                Action::Ask(request) => self.ask(&request),
                Action::Keep => {
                    let mut memory = self.memory.clone();
                    self.visitor.keep(&mut memory);
                    if !self.full {
                        self.memory = memory;
                    }
                    self.visitor.kept(self.time.now, !self.full);
                }
                Action::Tell(news) => self.news.push(news),
            }
        }
    }

    fn ask(&mut self, request: &Request) {
        let (at, party) = (self.time.now - START, request.party.0);
        let sending = request.sending();
        // No two answers come at the same moment.
        let latency = LATENCY + 7 * Millis::from(party);
        let waits = sending.http.path.contains("wait=");
        let answer = self.serve(party, &sending.http);
        let (delay, status, answer) = match answer {
            Some((status, answer)) => (if waits { 5_000 } else { latency }, status, answer),
            None => (sending.patience, 0, String::new()),
        };
        let body = sending.http.body.as_ref().map(Body::text);
        let (path, text) = (sending.http.path, answer.clone());
        self.exchanges.push(Exchange { at, party, path, body, delay, status, answer: text });
        self.time.after(delay, Event::Answer(request.id, status, answer.into_bytes()));
    }

    /// The HTTP status and the body that a server answers.
    fn serve(&mut self, party: u8, http: &Http) -> Option<(u16, String)> {
        let server = &mut self.servers[usize::from(party)];
        if server.away {
            return None;
        }
        let json = |value: Value| Some((200, value.to_string()));
        let of = |value: serde_json::Result<Value>| json(value.unwrap());
        let query = |name: &str| -> Option<usize> {
            let (_, rest) = http.path.split_once(&format!("{name}="))?;
            rest.split('&').next()?.parse().ok()
        };
        match &http.body {
            None if http.path == "helper" => of(serde_json::to_value(helper(party))),
            None if http.path.starts_with("accounts/") => {
                of(serde_json::to_value(StockLevel { stock: 8, wanted: 8 }))
            }
            None if http.path.contains("/receipts/") => {
                let number = http.path.rsplit('/').next()?.parse().ok()?;
                match server.receipt(number) {
                    Some(word) => of(serde_json::to_value(word)),
                    None => Some((404, r#"{"detail":"no such record"}"#.into())),
                }
            }
            None => match query("from") {
                Some(_) if server.breaks_off => None,
                Some(from) => of(serde_json::to_value(server.page(from))),
                None => of(serde_json::to_value(server.info())),
            },
            Some(Body::Bytes(bytes)) if http.path == "shares" => {
                of(serde_json::to_value(server.deposit(bytes)))
            }
            Some(Body::Bytes(bytes)) => self.take(party, &bytes.clone()),
            Some(Body::Json(_)) => unreachable!("nothing is posted as JSON"),
        }
    }

    /// A server is given a record: P0 takes it, another one holds it.
    fn take(&mut self, party: u8, bytes: &[u8]) -> Option<(u16, String)> {
        let server = &mut self.servers[usize::from(party)];
        server.given.push(bytes.to_vec());
        let said = |status: u16| Some((status, format!(r#"{{"detail":"status {status}"}}"#)));
        if let Some(status) = server.says {
            return if status == 0 { None } else { said(status) };
        }
        let record = SignedRecord::decode(bytes).unwrap();
        let number = record.record.number;
        if server.records.get(number as usize) != Some(&record) {
            match server.chain().check(&record) {
                Err(refused) if refused.is_conflict() => return said(409),
                Err(_) => return said(422),
                Ok(()) if party == 0 => server.records.push(record),
                Ok(()) => server.held.push(record),
            }
        }
        if server.loses {
            return None;
        }
        let taken = RecordTaken { number, held: party > 0 };
        if party == 0 {
            self.spread();
        }
        Some((201, serde_json::to_string(&taken).unwrap()))
    }
}

/// A server's key for shares.
pub fn helper(party: u8) -> HelperKey {
    HelperKey::of(&key(party), PartyId(party), &operators())
}

fn visitor(draft: &Draft, person: u8, seed: u8) -> Visitor {
    Visitor::new(operators(), draft.id(), None, account(person), &Secret::new([seed; 32]))
}

impl InTime for World {
    type Event = Event;

    fn time(&mut self) -> &mut Time<Event> {
        &mut self.time
    }

    fn happen(&mut self, Event::Answer(id, status, body): Event) {
        self.visitor.replied(self.time.now, id, status, &body);
    }

    fn wake(&mut self) {
        self.visitor.wake(self.time.now);
        self.act();
    }

    fn wake_at(&self) -> Millis {
        self.visitor.wake_at()
    }
}
