//! Which servers are asked about a join link, and when (`docs/spec/visitor.md`, V9). Each keeps
//! its own: what one passes over, another one has.

use std::collections::{BTreeMap, VecDeque};

use ostrakon_crypto::{Secret, Signature};
use ostrakon_decide::gathering::GatheringId;
use ostrakon_decide::operators::{SERVERS, trust};
use ostrakon_party::PartyId;
use ostrakon_protocol::decisions::{GatheringInfo, GatheringMade, RequestsInfo};
use ostrakon_protocol::encoding::base64;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::pauses::{Draws, Errand};
use crate::refusal::Refusal;
use crate::request::{Body, Http, PATIENCE, Sending};
use crate::time::{Clock, Millis};

/// So long a server is asked again that does not show something.
const LOOKING: Millis = 3_000;
/// The same of one that does not take something: many may hand in at the same time.
const HANDING_IN: Millis = 12_000;
/// Once so many have done it that one of them is honest, the others have so long.
const LATE: Millis = 1_500;
/// The machine is woken after so long at the latest.
const LONGEST_SLEEP: Millis = 60_000;

/// Milliseconds from one look at a join link until the next one.
pub const LOOK_AGAIN: Millis = 2_000;

/// What servers are asked about a join link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JoiningCall {
    /// To keep a new one.
    Keep(#[serde(with = "base64")] Vec<u8>),
    /// To show it, with what its creator has said.
    Show(GatheringId),
    /// To take the request of somebody who has it.
    Take {
        /// The link.
        link: GatheringId,
        /// The signed request.
        #[serde(with = "base64")]
        request: Vec<u8>,
    },
    /// To show its creator who asks.
    Requests {
        /// The link.
        link: GatheringId,
        /// In seconds since 1970.
        time: u64,
        /// By the creator.
        signature: Signature,
    },
    /// To pass on what its creator says.
    Say {
        /// The link.
        link: GatheringId,
        /// The signed word.
        #[serde(with = "base64")]
        word: Vec<u8>,
    },
}

/// What a server has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoiningAnswer {
    /// It shows the link; nothing of it is verified.
    Shown(GatheringInfo),
    /// It shows who asks; nothing of it is verified.
    Requests(RequestsInfo),
    /// It has taken what it was given.
    Taken,
}

/// What a front end is to do.
#[derive(Debug, PartialEq)]
pub enum CanvassAction {
    /// Send this; with what the server's policy asks for, if it is posted to `gatherings`. What
    /// comes of it is told by [`Canvass::replied`].
    Ask(Sending),
    /// It is over.
    Tell(CanvassNews),
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CanvassNews {
    /// These servers have done it, one at least.
    Done(Vec<JoiningAnswer>),
    /// None has. This is what says most of what they said.
    Failed {
        /// The server.
        party: PartyId,
        /// What it said, if anything.
        refusal: Option<Refusal>,
    },
}

/// One server.
struct Canvassed {
    errand: Errand,
    answer: Option<JoiningAnswer>,
    /// What it said last that was no.
    refusal: Option<Refusal>,
}

/// Something that all servers of a join link are asked.
pub struct Canvass {
    call: JoiningCall,
    servers: Vec<Canvassed>,
    began: Option<Millis>,
    /// Until then others are waited for.
    until: Option<Millis>,
    is_over: bool,
    draws: Draws,
    clock: Clock,
    now: Millis,
    asked: BTreeMap<u64, PartyId>,
    next: u64,
    actions: VecDeque<CanvassAction>,
}

impl JoiningCall {
    fn http(&self) -> Http {
        let of = |link: &GatheringId| format!("gatherings/{}", link.to_hex());
        let got = |path| Http { path, body: None };
        let posted = |path, bytes: &[u8]| Http { path, body: Some(Body::Bytes(bytes.to_vec())) };
        match self {
            Self::Keep(link) => posted("gatherings".to_owned(), link),
            Self::Show(link) => got(of(link)),
            Self::Take { link, request } => posted(format!("{}/requests", of(link)), request),
            Self::Requests { link, time, signature } => {
                let signature = data_encoding::HEXLOWER.encode(&signature.0);
                got(format!("{}/requests?time={time}&signature={signature}", of(link)))
            }
            Self::Say { link, word } => posted(format!("{}/word", of(link)), word),
        }
    }

    /// So long it is asked again what hinders may pass by itself.
    fn patient(&self) -> Millis {
        match self {
            Self::Show(_) | Self::Requests { .. } => LOOKING,
            Self::Keep(_) | Self::Take { .. } | Self::Say { .. } => HANDING_IN,
        }
    }

    /// What a server has done, by its answer; what nobody can read is none.
    fn answer(&self, status: u16, body: &[u8]) -> Option<JoiningAnswer> {
        fn read<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
            serde_json::from_slice(body).ok()
        }
        let is_done = (200..300).contains(&status);
        is_done.then_some(())?;
        match self {
            Self::Keep(_) => read(body).map(|_: GatheringMade| JoiningAnswer::Taken),
            Self::Show(_) => read(body).map(JoiningAnswer::Shown),
            Self::Requests { .. } => read(body).map(JoiningAnswer::Requests),
            // Who answers in a server's place, such as a network that wants a name first, says
            // something.
            Self::Take { .. } | Self::Say { .. } => (status == 204).then_some(JoiningAnswer::Taken),
        }
    }
}

impl Canvass {
    /// Asks all servers this. `seed` is 32 fresh random bytes.
    pub fn new(call: JoiningCall, seed: Secret) -> Self {
        let new = || Canvassed { errand: Errand::new(), answer: None, refusal: None };
        let servers = std::iter::repeat_with(new).take(SERVERS).collect();
        let (began, until, is_over, clock, now, asked, next, actions) = Default::default();
        let draws = Draws::new(seed);
        Self { call, servers, began, until, is_over, draws, clock, now, asked, next, actions }
    }

    /// Time has passed. The first call begins.
    pub fn wake(&mut self, now: Millis) {
        self.now = self.clock.read(now);
        self.began.get_or_insert(self.now);
        self.step();
    }

    /// A request was answered with this HTTP status, or with none, which is 0.
    pub fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]) {
        // What is not waited for any more counts for nothing.
        let Some(party) = self.asked.remove(&id) else { return };
        self.now = self.clock.read(now);
        let is_patient = self.now < self.patient_until();
        let server = &mut self.servers[party.index()];
        server.answer = self.call.answer(status, body);
        let refusal = (400..600).contains(&status).then(|| Refusal::read(status, body));
        let may_pass = refusal.as_ref().is_none_or(Refusal::passes);
        if server.answer.is_some() {
            server.errand.done();
        } else if may_pass && is_patient {
            server.errand.again(self.now, &mut self.draws);
        } else {
            server.errand.refused();
        }
        // Silence takes back nothing that was said.
        server.refusal = refusal.or(server.refusal.take());
        self.step();
    }

    /// The next thing to do.
    pub fn next_action(&mut self) -> Option<CanvassAction> {
        self.actions.pop_front()
    }

    /// When it is to be woken, by the device's clock.
    pub fn wake_at(&self) -> Millis {
        let latest = self.now + LONGEST_SLEEP;
        let dues = self.servers.iter().filter_map(|server| server.errand.due());
        let dues = dues.chain(self.until).filter(|_| !self.is_over);
        self.clock.outside(dues.min().unwrap_or(latest).min(latest))
    }

    fn patient_until(&self) -> Millis {
        self.began.unwrap_or(self.now) + self.call.patient()
    }

    /// Does what time and answers call for.
    fn step(&mut self) {
        self.judge();
        if self.is_over {
            return;
        }
        for (party, server) in (0u8..).map(PartyId).zip(&mut self.servers) {
            if server.errand.due().is_some_and(|due| due <= self.now) {
                server.errand.asked();
                let id = self.next;
                self.next += 1;
                self.asked.insert(id, party);
                let sending = Sending { id, party, http: self.call.http(), patience: PATIENCE };
                self.actions.push_back(CanvassAction::Ask(sending));
            }
        }
    }

    /// Whether all have done it or will not, or enough have and the others were waited for.
    fn judge(&mut self) {
        if self.is_over {
            return;
        }
        let done = self.servers.iter().filter(|server| server.answer.is_some()).count();
        if done > 0 {
            let soon = self.now + LATE;
            let enough = done >= trust().believed();
            let late = if enough { soon } else { soon.max(self.patient_until()) };
            // None that is slow holds anybody up for longer.
            self.until = Some(self.until.map_or(late, |until| until.min(late)));
        }
        let is_late = self.until.is_some_and(|until| until <= self.now);
        let is_settled = |one: &Canvassed| one.errand.is_done() || one.errand.is_refused();
        if !is_late && !self.servers.iter().all(is_settled) {
            return;
        }
        self.is_over = true;
        self.asked.clear();
        let answers: Vec<_> = self.servers.iter_mut().filter_map(|one| one.answer.take()).collect();
        let news = if answers.is_empty() { self.failure() } else { CanvassNews::Done(answers) };
        self.actions.push_back(CanvassAction::Tell(news));
    }

    /// What says most: no that stays no, before one that passes, before silence; among equals the
    /// first server's.
    fn failure(&self) -> CanvassNews {
        let rank = |refusal: &Option<Refusal>| match refusal {
            Some(refusal) if !refusal.passes() => 0,
            Some(_) => 1,
            None => 2,
        };
        let said = (0u8..).map(PartyId).zip(self.servers.iter().map(|server| &server.refusal));
        let told = said.min_by_key(|(_, refusal)| rank(refusal));
        let (party, refusal) = told.expect("there are servers");
        CanvassNews::Failed { party, refusal: refusal.clone() }
    }
}
