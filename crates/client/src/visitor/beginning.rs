//! How a decision is begun (`docs/spec/visitor.md`, V7): the operators' layers, the first record,
//! and whether other servers show it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_decide::operators::{SERVERS, trust};
use ostrakon_decide::record::create;
use ostrakon_decide::{Chain, Draft, Layer, Operators, Refused, Seat, SignedRecord};
use ostrakon_party::{PartyId, wire};
use ostrakon_protocol::decisions::{DecisionInfo, DecisionMade, LayerInfo};
use serde::de::DeserializeOwned;

use super::news::SEQUENCER;
use super::request::{Call, WORK};
use super::stock::{Filling, Stock};
use crate::pauses::{Draws, Errand};
use crate::refusal::Refusal;
use crate::request::{Body, Http, PATIENCE, Sending};
use crate::time::{Clock, Millis};

/// How often an operator is asked for its layer before it counts as away.
const ATTEMPTS: u32 = 7;
/// So long it is looked for a decision that no other server shows.
const PATIENT: Millis = 20_000;
/// The machine is woken after so long at the latest.
const LONGEST_SLEEP: Millis = 60_000;

/// What a front end is to do.
#[derive(Debug, PartialEq)]
pub enum BeginningAction {
    /// Send this; what is posted to `decisions` with what the server's policy asks for. What comes
    /// of it is told by [`Beginning::replied`].
    Ask(Sending),
    /// Write down what must not be lost once there is the decision, such as its invitations; then
    /// call [`Beginning::kept`].
    Keep,
    /// Forget that again: there is no such decision, and will be none.
    Forget,
    /// Tell the user.
    Tell(BeginningNews),
}

/// How the beginning of a decision gets on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BeginningNews {
    /// It has begun.
    Begun(Box<SignedRecord>),
    /// So many servers show it that one of them is honest. Nothing more is done.
    Shown,
    /// They do not, and it is not looked for any more.
    Late,
    /// It was not begun; or, if a server is away, perhaps not.
    Failed(NotBegun),
}

/// Why a decision was not begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotBegun {
    /// The rules do not allow it.
    Refused(Refused),
    /// A server refuses.
    Server {
        /// The server.
        party: PartyId,
        /// What it says.
        refusal: Refusal,
    },
    /// An operator gave a layer that is not its own, or not for this draft.
    Layer(PartyId),
    /// A server does not answer.
    Away(PartyId),
    /// The server has begun another decision than was asked for.
    Altered,
    /// The device cannot write down what must be.
    NotKept,
}

/// What a request that is not answered is for.
#[derive(Clone, Copy)]
enum Purpose {
    /// The stock, under its own number.
    Stock(u64),
    Layer,
    Begin,
    Look,
}

/// How far it is.
enum Stage {
    /// Who creates and decides, too, is taken on with a key from the stock.
    Filling(Box<Stock>),
    /// The operators' layers are asked for.
    Layers {
        layers: Vec<Option<Layer>>,
        errands: Vec<Errand>,
        attempts: Vec<u32>,
    },
    /// What must not be lost is being written down.
    Keeping(Box<SignedRecord>),
    /// The first server is given the record.
    Posting(Box<SignedRecord>),
    /// The servers are asked whether they show it, until then.
    Looking(Looking),
    Over,
}

/// Who shows a decision.
struct Looking {
    until: Millis,
    errands: Vec<Errand>,
    /// The record, if nobody has told yet that it was taken.
    doubted: Option<Box<SignedRecord>>,
}

/// The beginning of a decision.
pub struct Beginning {
    operators: Operators,
    creator: Arc<SigningKey>,
    draft: Draft,
    stage: Stage,
    draws: Draws,
    clock: Clock,
    now: Millis,
    unix: Millis,
    asked: BTreeMap<u64, (PartyId, Purpose)>,
    next: u64,
    actions: VecDeque<BeginningAction>,
}

fn errands() -> Vec<Errand> {
    (0..SERVERS).map(|_| Errand::new()).collect()
}

/// Servers whose errands are due.
fn due(errands: &[Errand], now: Millis) -> Vec<PartyId> {
    let is_due = |errand: &Errand| errand.due().is_some_and(|due| due <= now);
    let parties = (0u8..).map(PartyId).zip(errands);
    parties.filter(|(_, errand)| is_due(errand)).map(|(party, _)| party).collect()
}

impl Stage {
    fn layers() -> Self {
        let (layers, attempts) = (vec![None; SERVERS], vec![0; SERVERS]);
        Self::Layers { layers, errands: errands(), attempts }
    }
}

impl Beginning {
    /// By its creator. `seed` is 32 fresh random bytes.
    pub fn new(operators: Operators, creator: SigningKey, draft: Draft, seed: &Secret) -> Self {
        let part = |context| {
            let mut bytes = [0; 32];
            seed.fill(context, &[], &mut bytes);
            Secret::new(bytes)
        };
        let creator = Arc::new(creator);
        let own = Seat::Account(creator.verifying_key());
        let stage = if draft.people.iter().any(|person| person.seat == own) {
            let seed = part("ostrakon/v1/client/beginning stock");
            Stage::Filling(Box::new(Stock::new(operators, Arc::clone(&creator), 1, &seed)))
        } else {
            Stage::layers()
        };
        let draws = Draws::new(part("ostrakon/v1/client/beginning pauses"));
        let (clock, now, unix, asked, next, actions) = Default::default();
        let invalid = draft.validate().err();
        let mut made = Self {
            operators,
            creator,
            draft,
            stage,
            draws,
            clock,
            now,
            unix,
            asked,
            next,
            actions,
        };
        if let Some(invalid) = invalid {
            made.fail(NotBegun::Refused(invalid.into()));
        }
        made
    }

    /// Time has passed. The first call begins.
    pub fn wake(&mut self, now: Millis) {
        self.at(now);
        if let Stage::Filling(stock) = &mut self.stage {
            stock.wake(now);
        }
        self.step();
    }

    /// A request was answered with this HTTP status, or with none, which is 0.
    pub fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]) {
        // What is not waited for any more counts for nothing.
        let Some((party, purpose)) = self.asked.remove(&id) else { return };
        self.at(now);
        match purpose {
            Purpose::Stock(id) => {
                if let Stage::Filling(stock) = &mut self.stage {
                    stock.replied(now, id, status, body);
                }
            }
            Purpose::Layer => self.layer(party, status, body),
            Purpose::Begin => self.posted(status, body),
            Purpose::Look => self.shown(party, status, body),
        }
        self.step();
    }

    /// What must not be lost is written down, or cannot be.
    pub fn kept(&mut self, now: Millis, written: bool) {
        self.at(now);
        if !matches!(self.stage, Stage::Keeping(_)) {
            return;
        }
        if !written {
            return self.fail(NotBegun::NotKept);
        }
        if let Stage::Keeping(record) = std::mem::replace(&mut self.stage, Stage::Over) {
            let body = Some(Body::Bytes(record.encode()));
            self.stage = Stage::Posting(record);
            self.ask(SEQUENCER, Purpose::Begin, Http { path: "decisions".into(), body }, WORK);
        }
    }

    /// The next thing to do.
    pub fn next_action(&mut self) -> Option<BeginningAction> {
        self.actions.pop_front()
    }

    /// When it is to be woken, by the device's clock.
    pub fn wake_at(&self) -> Millis {
        let due = match &self.stage {
            Stage::Filling(stock) => return stock.wake_at(),
            Stage::Layers { errands, .. } => errands.iter().filter_map(Errand::due).min(),
            Stage::Looking(Looking { errands, until, .. }) => {
                errands.iter().filter_map(Errand::due).chain([*until]).min()
            }
            Stage::Keeping(_) | Stage::Posting(_) | Stage::Over => None,
        };
        let latest = self.now + LONGEST_SLEEP;
        self.clock.outside(due.map_or(latest, |due| due.min(latest)))
    }

    fn at(&mut self, now: Millis) {
        (self.now, self.unix) = (self.clock.read(now), now);
    }

    /// Does what time and answers call for.
    fn step(&mut self) {
        match &mut self.stage {
            Stage::Filling(_) => self.fill(),
            Stage::Layers { errands, attempts, .. } => {
                let parties = due(errands, self.now);
                for party in &parties {
                    errands[party.index()].asked();
                    attempts[party.index()] += 1;
                }
                for party in parties {
                    let body = Some(Body::Bytes(wire::encode(&self.draft)));
                    self.ask(party, Purpose::Layer, Http { path: "layers".into(), body }, WORK);
                }
            }
            Stage::Looking(looking) => {
                let parties = due(&looking.errands, self.now);
                parties.iter().for_each(|party| looking.errands[party.index()].asked());
                for party in parties {
                    let http = Call::Info(self.draft.id()).http();
                    self.ask(party, Purpose::Look, http, PATIENCE);
                }
                self.judge();
            }
            Stage::Keeping(_) | Stage::Posting(_) | Stage::Over => {}
        }
    }

    /// Passes on what the stock asks, until that is over: without a key its owner accepts later.
    fn fill(&mut self) {
        loop {
            let Stage::Filling(stock) = &mut self.stage else { return };
            match stock.next_filling() {
                Some(Filling::Ask(request)) => {
                    let Sending { id, party, http, patience } = request.sending();
                    self.ask(party, Purpose::Stock(id), http, patience);
                }
                Some(Filling::Full(_) | Filling::Failed(_)) => {
                    self.asked.clear();
                    self.stage = Stage::layers();
                    return self.step();
                }
                None => return,
            }
        }
    }

    /// What an operator says that was asked for its layer.
    fn layer(&mut self, party: PartyId, status: u16, body: &[u8]) {
        let Stage::Layers { layers, errands, attempts } = &mut self.stage else { return };
        let place = party.index();
        if let Some(info) = read::<LayerInfo>(status, body) {
            let bytes = BASE64URL_NOPAD.decode(info.layer.as_bytes()).ok();
            let layer = bytes.and_then(|bytes| wire::decode::<Layer>(&bytes).ok());
            let genuine = |layer: &Layer| {
                layer.party == party && layer.verify(&self.operators, &self.draft).is_ok()
            };
            let Some(layer) = layer.filter(genuine) else {
                return self.fail(NotBegun::Layer(party));
            };
            errands[place].done();
            layers[place] = Some(layer);
            return self.make();
        }
        match refusal(status, body) {
            // Whom a limit keeps from it now is kept from it for longer than anybody waits.
            Some(refusal) if is_final(&refusal) => self.fail(NotBegun::Server { party, refusal }),
            _ if attempts[place] < ATTEMPTS => errands[place].again(self.now, &mut self.draws),
            Some(refusal) => self.fail(NotBegun::Server { party, refusal }),
            None => self.fail(NotBegun::Away(party)),
        }
    }

    /// Makes the record once there are all layers.
    fn make(&mut self) {
        let Stage::Layers { layers, .. } = &self.stage else { return };
        let layers: Option<Vec<_>> = layers.iter().cloned().collect();
        let Some(Ok(layers)) = layers.map(<[Layer; SERVERS]>::try_from) else { return };
        let (draft, time) = (self.draft.clone(), self.unix / 1_000);
        let record = create(draft, layers, &self.operators, &self.creator, time);
        if let Err(refused) = Chain::begin(self.operators, &record) {
            return self.fail(NotBegun::Refused(refused));
        }
        self.stage = Stage::Keeping(Box::new(record));
        self.actions.push_back(BeginningAction::Keep);
    }

    /// What the first server says that was given the record.
    fn posted(&mut self, status: u16, body: &[u8]) {
        let Stage::Posting(record) = &self.stage else { return };
        let record = record.clone();
        if let Some(refusal) = refusal(status, body) {
            // A server that is over-worked, or a proxy before it, may have passed it on.
            if is_final(&refusal) {
                self.actions.push_back(BeginningAction::Forget);
            }
            return self.fail(NotBegun::Server { party: SEQUENCER, refusal });
        }
        let made = read::<DecisionMade>(status, body);
        if made.as_ref().is_some_and(|made| made.id != self.draft.id().to_hex()) {
            return self.fail(NotBegun::Altered);
        }
        let mut doubted = Some(record);
        if made.is_some()
            && let Some(record) = doubted.take()
        {
            self.tell(BeginningNews::Begun(record));
        }
        let until = self.now + PATIENT;
        self.stage = Stage::Looking(Looking { until, errands: errands(), doubted });
    }

    /// Whether a server shows it.
    fn shown(&mut self, party: PartyId, status: u16, body: &[u8]) {
        let Stage::Looking(Looking { errands, .. }) = &mut self.stage else { return };
        let errand = &mut errands[party.index()];
        let id = self.draft.id().to_hex();
        if read::<DecisionInfo>(status, body).is_some_and(|info| info.id == id) {
            errand.done();
        } else {
            errand.again(self.now, &mut self.draws);
        }
    }

    /// Whether enough servers show it, or it was looked for long enough.
    fn judge(&mut self) {
        let Stage::Looking(Looking { until, errands, doubted }) = &mut self.stage else { return };
        let showing = errands.iter().filter(|errand| errand.is_done()).count();
        let is_over = *until <= self.now;
        if showing >= trust().believed() {
            let record = doubted.take();
            self.end();
            if let Some(record) = record {
                self.tell(BeginningNews::Begun(record));
            }
            self.tell(BeginningNews::Shown);
        } else if is_over && doubted.is_some() {
            self.fail(NotBegun::Away(SEQUENCER));
        } else if is_over {
            self.end();
            self.tell(BeginningNews::Late);
        }
    }

    fn end(&mut self) {
        self.asked.clear();
        self.stage = Stage::Over;
    }

    fn fail(&mut self, failure: NotBegun) {
        self.end();
        self.tell(BeginningNews::Failed(failure));
    }

    fn tell(&mut self, news: BeginningNews) {
        self.actions.push_back(BeginningAction::Tell(news));
    }

    fn ask(&mut self, party: PartyId, purpose: Purpose, http: Http, patience: Millis) {
        let id = self.next;
        self.next += 1;
        self.asked.insert(id, (party, purpose));
        self.actions.push_back(BeginningAction::Ask(Sending { id, party, http, patience }));
    }
}

fn refusal(status: u16, body: &[u8]) -> Option<Refusal> {
    (400..600).contains(&status).then(|| Refusal::read(status, body))
}

/// Whether a server has certainly done nothing, and will not soon.
fn is_final(refusal: &Refusal) -> bool {
    !refusal.passes() || refusal.status == 429
}

fn read<T: DeserializeOwned>(status: u16, body: &[u8]) -> Option<T> {
    (200..300).contains(&status).then(|| serde_json::from_slice(body).ok()).flatten()
}
