//! Three servers and one device, without a network: what is sent, when, and what comes of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_broadcast::outbox::Outbox;
use ostrakon_client::{Action, Answer, Call, Filled, Millis, News, Participant, Request, Scene};
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_mixing::engine::{ClientEngine, EpochContext, IssueError, Shape};
use ostrakon_mixing::envelope;
use ostrakon_mixing::envelope::{IssueName, Issued};
use ostrakon_mixing::{EpochId, RoomDescriptor, RowFormat, Servers};
use ostrakon_party::{PartyId, SessionId, Trust};
use ostrakon_protocol::{
    CollectPhase, EpochStatus, IssueRequest, LastEpoch, Outcome, Status, SubmissionRequest,
};

use crate::time::{InTime, START, Time};

/// How long an answer takes.
const LATENCY: Millis = 20;
/// Servers that must say the same.
const BELIEVED: usize = 2;

/// Hands a row in as it is, once two servers have given anything but the byte 255.
struct Plain;

impl ClientEngine for Plain {
    fn submit(
        &self,
        _: &Servers,
        _: &EpochContext,
        _: u32,
        issues: &[Option<Vec<u8>>],
        row: &[u8],
        _: &SigningKey,
    ) -> Result<Vec<u8>, IssueError> {
        let good = issues.iter().flatten().filter(|issue| ***issue != [255]);
        if good.count() >= BELIEVED { Ok(row.to_vec()) } else { Err(IssueError::Incomplete) }
    }
}

pub fn room() -> RoomDescriptor {
    RoomDescriptor { payload: 64, capacity: 9, seconds: 60, ..RoomDescriptor::new("r") }
}

/// One server.
#[derive(Default)]
pub struct Server {
    /// It does not answer.
    pub away: bool,
    /// What it refuses everything with.
    pub refuses: Option<u16>,
    /// The slot that it names; without one there is none yet.
    pub slot: Option<u32>,
    /// The batch that it names, if not the true one.
    pub batch: Option<u64>,
    /// The epoch that it speaks of, whichever it is asked for.
    pub names: Option<u64>,
    /// Its material is worth nothing.
    pub spoils: bool,
    /// It answers in another's name.
    pub forges: bool,
    /// By party, as it says, who has a place there.
    pub places: Vec<u32>,
    /// How it says that it takes submissions.
    pub takes: Option<u16>,
    /// It takes submissions, and the answer gets lost.
    pub loses_answers: bool,
    /// The epoch that it collects, and when that is sealed.
    pub epoch: Option<(u64, Millis)>,
    pub last: Option<LastEpoch>,
    pub minimum: u32,
    /// What it holds, by epoch.
    pub held: BTreeMap<u64, SubmissionRequest>,
}

/// What a device does with what is to go into an epoch.
#[derive(Default)]
pub struct Device {
    pub outbox: Outbox,
    /// It can write nothing down.
    pub full: bool,
    /// It takes so long to write down.
    pub writes_for: Millis,
    /// Nothing more goes out from it in this epoch.
    pub spent: Option<u64>,
}

/// What left the device.
#[derive(Clone, Debug)]
pub struct Sent {
    pub at: Millis,
    pub party: u8,
    pub call: Call,
}

/// What may be under way.
pub enum Event {
    Answer(u64, Answer),
    Filled(u64, Filled),
}

pub struct World {
    pub time: Time<Event>,
    pub participant: Participant,
    pub servers: Vec<Server>,
    pub device: Device,
    pub sent: Vec<Sent>,
    pub news: Vec<(Millis, News)>,
    keys: Vec<SigningKey>,
}

impl World {
    pub fn new() -> Self {
        Self::with(1, None)
    }

    /// With another seed, or where it was before.
    pub fn with(seed: u8, before: Option<u8>) -> Self {
        let keys: Vec<_> = (1..=3).map(|seed| SigningKey::from_seed(&[seed; 32])).collect();
        let server =
            || Server { slot: Some(3), minimum: 3, places: vec![1; 3], ..Server::default() };
        let participant = participant(&keys, seed, before);
        let servers = [(); 3].map(|()| server()).into();
        let (device, sent, news) = Default::default();
        Self { time: Time::new(), participant, servers, device, sent, news, keys }
    }

    /// The device is started again, with what it had written down.
    pub fn restart(&mut self, before: Option<u8>) {
        let kept = serde_json::to_string(&self.device.outbox).unwrap();
        self.device.outbox = serde_json::from_str(&kept).unwrap();
        self.time.under_way.clear();
        self.participant = participant(&self.keys, 2, before);
    }

    pub fn say(&mut self, text: &str) {
        self.device.outbox.put(text.as_bytes().to_vec()).unwrap();
    }

    /// All servers say that epoch `number` collects for `ms` more.
    pub fn collect(&mut self, number: u64, ms: Millis) {
        for party in 0..3 {
            self.servers[party].epoch = Some((number, self.time.now + ms));
            self.push(party);
        }
    }

    /// By each server, how many have a place there.
    pub fn places(&mut self, places: [u32; 3]) {
        self.servers.iter_mut().for_each(|server| server.places = places.to_vec());
    }

    /// How the epoch before ended.
    pub fn ended(&mut self, number: u64, outcome: Outcome) {
        let last = LastEpoch { number, outcome, detail: String::new() };
        self.servers.iter_mut().for_each(|server| server.last = Some(last.clone()));
    }

    /// The device hears how the room stands at a server, or that it does not answer.
    pub fn push(&mut self, party: usize) {
        let server = &self.servers[party];
        let status = (!server.away).then(|| self.status(server));
        let status = status.as_ref().map(|status| (status, self.time.now));
        self.participant.heard(self.time.now, PartyId(party as u8), status);
        self.act();
    }

    /// How the room stands at a server.
    pub fn status_of(&self, party: usize) -> Status {
        self.status(&self.servers[party])
    }

    fn status(&self, server: &Server) -> Status {
        let epoch = server.epoch.map(|(number, seals)| EpochStatus {
            number,
            batch: Some(number),
            phase: CollectPhase::Collecting,
            closes_in_ms: Some(seals.saturating_sub(self.time.now)),
            assigned: 0,
            submitted: 0,
        });
        Status {
            version: self.time.now,
            epoch,
            mixing: Vec::new(),
            last: server.last.clone(),
            may_have_opened: Vec::new(),
            minimum: 3,
            present: server.places.clone(),
            places: server.places.clone(),
            board_length: 0,
            actions: 0,
            stock: 1,
            peers: Vec::new(),
            overdue: None,
            context: server.epoch.map(|(number, _)| context(&room(), number, server.minimum)),
        }
    }

    /// The device stands still: nothing comes of what is under way.
    pub fn stand_still(&mut self, ms: Millis) {
        self.time.now += ms;
        for (at, event) in &mut self.time.under_way {
            *at = self.time.now;
            if let Event::Answer(_, answer) = event {
                *answer = Answer::Nothing;
            }
        }
    }

    fn act(&mut self) {
        while let Some(action) = self.participant.next_action() {
            match action {
                Action::Ask(request) => self.ask(request),
                Action::Fill(context) => {
                    let (epoch, minimum) = (context.epoch.number, context.minimum);
                    let filled = self.device.fill(epoch, minimum);
                    if self.device.writes_for == 0 {
                        self.participant.filled(self.time.now, epoch, filled);
                    } else {
                        let event = Event::Filled(epoch, filled);
                        self.time.after(self.device.writes_for, event);
                    }
                }
                Action::Tell(news) => self.news.push((self.time.now, news)),
            }
        }
    }

    fn ask(&mut self, request: Request) {
        let party = request.party;
        self.sent.push(Sent { at: self.time.now, party: party.0, call: request.call.clone() });
        let patience = request.patience();
        let (after, answer) = if self.servers[party.index()].away {
            (patience, Answer::Nothing)
        } else {
            (LATENCY, self.answer(party, request.call))
        };
        self.time.after(after, Event::Answer(request.id, answer));
    }

    fn answer(&mut self, party: PartyId, call: Call) -> Answer {
        let server = &self.servers[party.index()];
        if let Some(status) = server.refuses {
            return Answer::Refused(status);
        }
        match call {
            Call::Status => Answer::Status(Box::new(self.status(server))),
            Call::Presence(_) => Answer::Present,
            Call::News { .. } | Call::Board { .. } | Call::Actions { .. } => {
                unreachable!("a participant follows nothing")
            }
            Call::Issue { epoch, request } => {
                if server.epoch.is_none_or(|(number, _)| number != epoch) {
                    return Answer::Refused(404);
                }
                let Some(slot) = server.slot else { return Answer::Refused(404) };
                Answer::Issue(self.issue(party, epoch, slot, &request))
            }
            Call::Submit { epoch, request } => {
                let server = &mut self.servers[party.index()];
                if let Some(status) = server.takes {
                    return Answer::Refused(status);
                }
                let held = server.held.entry(epoch).or_insert_with(|| request.clone());
                assert_eq!(*held, request, "one slot, two submissions");
                if server.loses_answers { Answer::Nothing } else { Answer::Taken }
            }
        }
    }

    fn issue(&self, party: PartyId, number: u64, slot: u32, request: &IssueRequest) -> Vec<u8> {
        let server = &self.servers[party.index()];
        let name = IssueName { room: room().id(), number, party };
        assert!(
            request
                .key
                .verifies(&envelope::request_digest(&name, &request.exchange), &request.signature)
        );
        let issue = vec![if server.spoils { 255 } else { party.0 }];
        let mut context = context(&room(), server.names.unwrap_or(number), server.minimum);
        context.batch = server.batch.unwrap_or(context.batch);
        let issued = Issued { context, slot, issue };
        let signer = if server.forges { (party.index() + 1) % 3 } else { party.index() };
        let sign = |digest: &Digest| self.keys[signer].sign(digest);
        let servers = servers(&self.keys);
        let offer = envelope::offer(&servers, &name, &request.key, issued, sign);
        envelope::close(&servers, &name, &request.key, &request.exchange, &offer, [5; 32])
    }

    /// Where it said that it is there, one after the other.
    pub fn homes(&self) -> Vec<u8> {
        let greets = |sent: &&Sent| matches!(sent.call, Call::Presence(_));
        let mut homes: Vec<u8> = self.sent.iter().filter(greets).map(|sent| sent.party).collect();
        homes.dedup();
        homes
    }

    /// How often it said so.
    pub fn greetings(&self) -> usize {
        self.sent.iter().filter(|sent| matches!(sent.call, Call::Presence(_))).count()
    }

    /// What was handed in for an epoch, by party: the slot, and the text or "cover".
    pub fn handed_in(&self, epoch: u64) -> Vec<(u8, u32, String)> {
        let of = |party: u8| {
            let held = self.servers[usize::from(party)].held.get(&epoch)?;
            let content = RowFormat::new(&room(), epoch).decode(&held.body).expect("a row");
            let text = match content {
                ostrakon_mixing::Content::Cover => "cover".to_owned(),
                ostrakon_mixing::Content::Message(text) => String::from_utf8(text).unwrap(),
            };
            Some((party, held.slot, text))
        };
        (0..3).filter_map(of).collect()
    }

    /// When a submission for the epoch left first, in milliseconds since the start.
    pub fn submitted_at(&self, epoch: u64) -> Option<Millis> {
        let of = |sent: &&Sent| matches!(sent.call, Call::Submit { epoch: e, .. } if e == epoch);
        self.sent.iter().find(of).map(|sent| sent.at - START)
    }

    /// When it was told that enough servers have it.
    pub fn told_handed_in(&self, epoch: u64) -> Option<Millis> {
        let told = |news: &News| matches!(news, News::HandedIn { epoch: e, .. } if *e == epoch);
        self.news.iter().find(|(_, news)| told(news)).map(|(at, _)| at - START)
    }
}

impl InTime for World {
    type Event = Event;

    fn time(&mut self) -> &mut Time<Event> {
        &mut self.time
    }

    fn happen(&mut self, event: Event) {
        let now = self.time.now;
        match event {
            Event::Answer(id, answer) => self.participant.answered(now, id, answer),
            Event::Filled(epoch, filled) => self.participant.filled(now, epoch, filled),
        }
    }

    fn wake(&mut self) {
        self.participant.wake(self.time.now);
        self.act();
    }

    fn wake_at(&self) -> Millis {
        self.participant.wake_at()
    }
}

impl Device {
    fn fill(&mut self, epoch: u64, minimum: u32) -> Filled {
        if self.outbox.agreed().is_none() {
            self.outbox.agree(minimum);
        }
        if self.spent == Some(epoch) {
            return Filled::Nothing;
        }
        let content = self.outbox.content_among(epoch, minimum);
        match content {
            _ if self.full => Filled::Later,
            Some(content) => Filled::Row(content),
            None => Filled::Nothing,
        }
    }
}

fn participant(keys: &[SigningKey], seed: u8, before: Option<u8>) -> Participant {
    let scene = Scene::new(servers(keys), room()).with(&Plain, Trust::one_of_three());
    let key = SigningKey::from_seed(&[7; 32]);
    Participant::new(Arc::new(scene), key, Secret::new([seed; 32]), before.map(PartyId))
}

fn servers(keys: &[SigningKey]) -> Servers {
    let keys = keys.iter().map(SigningKey::verifying_key).collect();
    Servers { session: SessionId(Digest([9; 32])), keys }
}

/// What servers say of an epoch of this room.
pub fn context(room: &RoomDescriptor, number: u64, minimum: u32) -> EpochContext {
    EpochContext {
        epoch: EpochId { room: room.id(), number },
        batch: number,
        engine: room.engine,
        shape: Shape::of(room),
        mode: room.mode,
        minimum,
    }
}
