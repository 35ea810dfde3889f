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
/// How long the creator's stock may take: without a key in it its owner accepts later.
const FILLING: Millis = 15_000;
/// How long all operators together may take for their layers.
const GATHERING: Millis = 60_000;
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
    /// Nothing more is done at the creator's stock; the operators are asked.
    Stocked,
    /// It has begun.
    Begun(Box<SignedRecord>),
    /// So many servers show it that one of them is honest. Nothing more is done.
    Shown,
    /// They do not, and it is not looked for any more.
    Late,
    /// It was not begun.
    Failed(NotBegun),
    /// Perhaps it was begun all the same, so that what is kept stays kept.
    Doubtful(NotBegun),
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
    Layers(Vec<Operator>),
    /// What must not be lost is being written down.
    Keeping(Box<SignedRecord>),
    /// The first server is given the record.
    Posting(Box<SignedRecord>),
    /// The servers are asked whether they show it.
    Looking(Looking),
    Over,
}

/// Who is asked for a layer.
#[derive(Default)]
struct Operator {
    layer: Option<Layer>,
    errand: Errand,
    attempts: u32,
    /// What it said last in place of its layer.
    said: Option<Refusal>,
}

/// Who shows a decision.
struct Looking {
    errands: Vec<Errand>,
    /// Who says that there is none.
    denied: Vec<bool>,
    /// Who has answered, or failed to.
    heard: Vec<bool>,
    /// What is not known to have begun.
    doubt: Option<Doubt>,
}

/// A record of which the first server did not say that it took it.
struct Doubt {
    record: Box<SignedRecord>,
    /// What it said instead, if anything.
    said: Option<Refusal>,
}

impl Doubt {
    /// Whether the first server will not take it, by its own word.
    fn is_refused(&self) -> bool {
        self.said.as_ref().is_some_and(is_final)
    }

    fn why(self) -> NotBegun {
        match self.said {
            Some(refusal) => NotBegun::Server { party: SEQUENCER, refusal },
            None => NotBegun::Away(SEQUENCER),
        }
    }
}

/// The beginning of a decision.
pub struct Beginning {
    operators: Operators,
    creator: Arc<SigningKey>,
    draft: Draft,
    stage: Stage,
    /// When the stage is over, whatever has come by then; not known before its first step.
    until: Option<Millis>,
    draws: Draws,
    clock: Clock,
    now: Millis,
    unix: Millis,
    asked: BTreeMap<u64, (PartyId, Purpose)>,
    next: u64,
    actions: VecDeque<BeginningAction>,
}

/// Servers whose errands are due.
fn due<'a>(errands: impl Iterator<Item = &'a Errand>, now: Millis) -> Vec<PartyId> {
    let is_due = |errand: &Errand| errand.due().is_some_and(|due| due <= now);
    let parties = (0u8..).map(PartyId).zip(errands);
    parties.filter(|(_, errand)| is_due(errand)).map(|(party, _)| party).collect()
}

impl Stage {
    fn layers() -> Self {
        Self::Layers((0..SERVERS).map(|_| Operator::default()).collect())
    }

    fn lasts(&self) -> Option<Millis> {
        match self {
            Self::Filling(_) => Some(FILLING),
            Self::Layers(_) => Some(GATHERING),
            Self::Looking(_) => Some(PATIENT),
            Self::Keeping(_) | Self::Posting(_) | Self::Over => None,
        }
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
        let (until, clock, now, unix, asked, next, actions) = Default::default();
        let invalid = draft.validate().err();
        let mut made = Self {
            operators,
            creator,
            draft,
            stage,
            until,
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
            self.enter(Stage::Posting(record));
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
            Stage::Layers(operators) => {
                operators.iter().filter_map(|operator| operator.errand.due()).min()
            }
            Stage::Looking(looking) => looking.errands.iter().filter_map(Errand::due).min(),
            Stage::Filling(_) | Stage::Keeping(_) | Stage::Posting(_) | Stage::Over => None,
        };
        let latest = self.now + LONGEST_SLEEP;
        let due = due.into_iter().chain(self.until).fold(latest, Millis::min);
        let due = self.clock.outside(due);
        match &self.stage {
            Stage::Filling(stock) => stock.wake_at().min(due),
            _ => due,
        }
    }

    fn at(&mut self, now: Millis) {
        (self.now, self.unix) = (self.clock.read(now), now);
    }

    /// Goes on to another stage, in which nothing counts that was asked before.
    fn enter(&mut self, stage: Stage) {
        self.asked.clear();
        (self.stage, self.until) = (stage, None);
    }

    /// Does what time and answers call for.
    fn step(&mut self) {
        if self.until.is_none() {
            self.until = self.stage.lasts().map(|lasts| self.now + lasts);
        }
        let left = self.until.unwrap_or_default().saturating_sub(self.now);
        match &mut self.stage {
            Stage::Filling(_) if left == 0 => self.stocked(),
            Stage::Filling(_) => self.fill(),
            Stage::Layers(_) if left == 0 => self.give_up(),
            Stage::Layers(operators) => {
                let parties = due(operators.iter().map(|operator| &operator.errand), self.now);
                for party in &parties {
                    operators[party.index()].errand.asked();
                    operators[party.index()].attempts += 1;
                }
                for party in parties {
                    let body = Some(Body::Bytes(wire::encode(&self.draft)));
                    self.ask(party, Purpose::Layer, Http { path: "layers".into(), body }, left);
                }
            }
            Stage::Looking(looking) => {
                let parties = due(looking.errands.iter(), self.now);
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

    /// Passes on what the stock asks, until that is over.
    fn fill(&mut self) {
        loop {
            let Stage::Filling(stock) = &mut self.stage else { return };
            match stock.next_filling() {
                Some(Filling::Ask(request)) => {
                    let Sending { id, party, http, patience } = request.sending();
                    self.ask(party, Purpose::Stock(id), http, patience);
                }
                Some(Filling::Full(_) | Filling::Failed(_)) => return self.stocked(),
                None => return,
            }
        }
    }

    /// Goes on to the layers.
    fn stocked(&mut self) {
        self.tell(BeginningNews::Stocked);
        self.enter(Stage::layers());
        self.step();
    }

    /// What an operator says that was asked for its layer.
    fn layer(&mut self, party: PartyId, status: u16, body: &[u8]) {
        let Stage::Layers(operators) = &mut self.stage else { return };
        let operator = &mut operators[party.index()];
        if let Some(info) = read::<LayerInfo>(status, body) {
            let bytes = BASE64URL_NOPAD.decode(info.layer.as_bytes()).ok();
            let layer = bytes.and_then(|bytes| wire::decode::<Layer>(&bytes).ok());
            let genuine = |layer: &Layer| {
                layer.party == party && layer.verify(&self.operators, &self.draft).is_ok()
            };
            let Some(layer) = layer.filter(genuine) else {
                return self.fail(NotBegun::Layer(party));
            };
            operator.errand.done();
            operator.layer = Some(layer);
            return self.make();
        }
        operator.said = refusal(status, body);
        // Whom a limit keeps from it now is kept from it for longer than anybody waits.
        if operator.attempts < ATTEMPTS && !operator.said.as_ref().is_some_and(is_final) {
            return operator.errand.again(self.now, &mut self.draws);
        }
        let failure = operator.failure(party);
        self.fail(failure);
    }

    /// Time is over, and a layer is missing. Who said something says more than who is away.
    fn give_up(&mut self) {
        let Stage::Layers(operators) = &self.stage else { return };
        let all = (0u8..).map(PartyId).zip(operators);
        let missing = all.filter(|(_, operator)| operator.layer.is_none());
        let told = missing.min_by_key(|(_, operator)| operator.said.is_none());
        if let Some(failure) = told.map(|(party, operator)| operator.failure(party)) {
            self.fail(failure);
        }
    }

    /// Makes the record once there are all layers.
    fn make(&mut self) {
        let Stage::Layers(operators) = &self.stage else { return };
        let layers: Option<Vec<_>> =
            operators.iter().map(|operator| operator.layer.clone()).collect();
        let Some(Ok(layers)) = layers.map(<[Layer; SERVERS]>::try_from) else { return };
        let (draft, time) = (self.draft.clone(), self.unix / 1_000);
        let record = create(draft, layers, &self.operators, &self.creator, time);
        if let Err(refused) = Chain::begin(self.operators, &record) {
            return self.fail(NotBegun::Refused(refused));
        }
        self.enter(Stage::Keeping(Box::new(record)));
        self.actions.push_back(BeginningAction::Keep);
    }

    /// What the first server says that was given the record.
    fn posted(&mut self, status: u16, body: &[u8]) {
        let Stage::Posting(record) = &self.stage else { return };
        let record = record.clone();
        let made = read::<DecisionMade>(status, body);
        if made.as_ref().is_some_and(|made| made.id != self.draft.id().to_hex()) {
            return self.doubt(NotBegun::Altered);
        }
        let doubt = if made.is_some() {
            self.tell(BeginningNews::Begun(record));
            None
        } else {
            Some(Doubt { record, said: refusal(status, body) })
        };
        let mut errands: Vec<_> = (0..SERVERS).map(|_| Errand::new()).collect();
        // Who refuses is not asked whether it took it after all: the others may have it from there.
        if doubt.as_ref().is_some_and(Doubt::is_refused) {
            errands[SEQUENCER.index()].refused();
        }
        let (denied, heard) = (vec![false; SERVERS], vec![false; SERVERS]);
        self.enter(Stage::Looking(Looking { errands, denied, heard, doubt }));
    }

    /// Whether a server shows it.
    fn shown(&mut self, party: PartyId, status: u16, body: &[u8]) {
        let Stage::Looking(looking) = &mut self.stage else { return };
        let (errand, id) = (&mut looking.errands[party.index()], self.draft.id().to_hex());
        looking.heard[party.index()] = true;
        if read::<DecisionInfo>(status, body).is_some_and(|info| info.id == id) {
            errand.done();
        } else {
            looking.denied[party.index()] = status == 404;
            errand.again(self.now, &mut self.draws);
        }
    }

    /// Whether enough servers show it, or it was looked for long enough.
    fn judge(&mut self) {
        let Stage::Looking(Looking { errands, denied, heard, doubt }) = &mut self.stage else {
            return;
        };
        let showing = errands.iter().filter(|errand| errand.is_done()).count();
        let is_over = self.until.is_some_and(|until| until <= self.now);
        let others = SEQUENCER.index() + 1..;
        let is_tried = showing == 0 && heard[others.clone()].iter().all(|heard| *heard);
        let is_denied = is_tried && denied[others].iter().all(|denied| *denied);
        if showing >= trust().believed() {
            let doubt = doubt.take();
            self.enter(Stage::Over);
            if let Some(Doubt { record, .. }) = doubt {
                self.tell(BeginningNews::Begun(record));
            }
            return self.tell(BeginningNews::Shown);
        }
        match doubt.take_if(|doubt| is_over || (is_tried && doubt.is_refused())) {
            Some(doubt) if is_denied && doubt.is_refused() => {
                self.actions.push_back(BeginningAction::Forget);
                self.fail(doubt.why());
            }
            Some(doubt) => self.doubt(doubt.why()),
            None if is_over => {
                self.enter(Stage::Over);
                self.tell(BeginningNews::Late);
            }
            None => {}
        }
    }

    fn fail(&mut self, failure: NotBegun) {
        self.enter(Stage::Over);
        self.tell(BeginningNews::Failed(failure));
    }

    fn doubt(&mut self, failure: NotBegun) {
        self.enter(Stage::Over);
        self.tell(BeginningNews::Doubtful(failure));
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

impl Operator {
    /// Why there is no layer of this operator.
    fn failure(&self, party: PartyId) -> NotBegun {
        match self.said.clone() {
            Some(refusal) => NotBegun::Server { party, refusal },
            None => NotBegun::Away(party),
        }
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
