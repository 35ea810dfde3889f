//! Opening a room (`docs/spec/hosting.md`, H6): which server is asked for it, and when it counts as
//! opened at all of them.

use std::collections::{BTreeMap, VecDeque};

use ostrakon_crypto::Secret;
use ostrakon_mixing::{RoomDescriptor, RoomId, Servers};
use ostrakon_party::PartyId;
use ostrakon_protocol::{NewRoom, RoomInfo, ServersInfo};
use serde::de::DeserializeOwned;

use crate::pauses::{Draws, Errand};
use crate::pinned::servers_of;
use crate::refusal::Refusal;
use crate::request::{Http, PATIENCE, Sending, posted};
use crate::time::{Clock, Millis};

/// So long it is looked for a room that nobody who counts shows.
const PATIENT: Millis = 15_000;
/// Once so many servers show it that one of them is honest, the others have so long.
const LATE: Millis = 5_000;
/// The machine is woken after so long at the latest.
const LONGEST_SLEEP: Millis = 60_000;

/// What a front end is to do.
#[derive(Debug, PartialEq)]
pub enum OpeningAction {
    /// Send this; with what the server's policy asks for, if it is posted. What comes of it is told
    /// by [`Opening::replied`].
    Ask(Sending),
    /// Tell the user.
    Tell(OpeningNews),
}

/// How the opening of a room gets on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpeningNews {
    /// A server has opened it, as it was asked for. The host's key is to be kept now: nobody can
    /// make another one for this room.
    Opened(Box<RoomDescriptor>),
    /// So many servers show it that one of them is honest.
    Shown,
    /// All servers show it, but for these. It is not looked for any more.
    Over {
        /// Who does not show it yet.
        late: Vec<PartyId>,
    },
    /// It was not opened, or is not to be used.
    Failed(OpeningFailure),
}

/// Why a room was not opened, or is not to be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpeningFailure {
    /// A server refuses.
    Refused {
        /// The server.
        party: PartyId,
        /// What it says.
        refusal: Refusal,
    },
    /// A server does not answer. The room may be there all the same: who asks it for the same with
    /// the same host's key gets that one.
    Away {
        /// The server.
        party: PartyId,
    },
    /// The server opened another room than the one that was asked for.
    Altered,
    /// A server names other servers than the one that was asked first, or calls itself another one
    /// of them: one of the two lies, so that no link would name who keeps the room.
    OtherServers {
        /// The server.
        party: PartyId,
    },
}

/// What a server says of the room, and of the servers.
struct Looked {
    room: Errand,
    servers: Errand,
}

impl Looked {
    fn errand(&mut self, purpose: Purpose) -> &mut Errand {
        match purpose {
            Purpose::Servers => &mut self.servers,
            Purpose::Open | Purpose::Room => &mut self.room,
        }
    }
}

/// How far it is.
enum Stage {
    /// The first of these is asked to open it, the others if that is for another one to do.
    Asking(VecDeque<PartyId>),
    /// It is there, and looked for until then at the latest.
    Looking { id: RoomId, until: Millis, shown: bool },
    /// It is not looked for any more.
    Over(Option<RoomId>),
}

/// What a request that is not answered asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Open,
    Room,
    Servers,
}

/// The opening of a room.
pub struct Opening {
    servers: Servers,
    believed: usize,
    wish: NewRoom,
    stage: Stage,
    looked: Vec<Looked>,
    draws: Draws,
    clock: Clock,
    now: Millis,
    asked: BTreeMap<u64, (PartyId, Purpose)>,
    next: u64,
    actions: VecDeque<OpeningAction>,
}

impl Opening {
    /// Of a room at servers that one of them has named, of whom `order` are asked to open it: the
    /// first one, and each further one if those before say that it is for another one to do. `seed`
    /// is 32 fresh random bytes.
    pub fn new(servers: Servers, order: &[PartyId], wish: NewRoom, seed: Secret) -> Self {
        let count = servers.keys.len();
        let engine = wish.clone().descriptor([0; 16]).engine;
        let believed = ostrakon_mixing::engines::believed(engine, count);
        let (looked, clock, now, asked, next, actions) = Default::default();
        let stage = Stage::Asking(order.iter().copied().collect());
        let draws = Draws::new(seed);
        Self { servers, believed, wish, stage, looked, draws, clock, now, asked, next, actions }
    }

    /// Time has passed. The first call begins.
    pub fn wake(&mut self, now: Millis) {
        self.now = self.clock.read(now);
        self.step();
    }

    /// Looks once more for a room that was opened, and was not shown in time.
    pub fn look_again(&mut self, now: Millis) {
        self.now = self.clock.read(now);
        if let Stage::Over(Some(id)) = self.stage {
            self.look(id);
        }
        self.step();
    }

    /// A request was answered with this HTTP status, or with none, which is 0.
    pub fn replied(&mut self, now: Millis, id: u64, status: u16, body: &[u8]) {
        // What is not waited for any more counts for nothing.
        let Some((party, purpose)) = self.asked.remove(&id) else { return };
        self.now = self.clock.read(now);
        match purpose {
            Purpose::Open => self.told(party, status, body),
            Purpose::Room | Purpose::Servers => self.shown(party, purpose, status, body),
        }
        self.step();
    }

    /// The next thing to do.
    pub fn next_action(&mut self) -> Option<OpeningAction> {
        self.actions.pop_front()
    }

    /// When it is to be woken, by the device's clock.
    pub fn wake_at(&self) -> Millis {
        let latest = self.now + LONGEST_SLEEP;
        let due = match &self.stage {
            Stage::Looking { until, .. } => {
                let errands = self.looked.iter().flat_map(|one| [&one.room, &one.servers]);
                errands.filter_map(Errand::due).min().map_or(*until, |due| due.min(*until))
            }
            Stage::Asking(_) | Stage::Over(_) => latest,
        };
        self.clock.outside(due.min(latest))
    }

    /// Does what time and answers call for.
    fn step(&mut self) {
        match &self.stage {
            Stage::Asking(order) if self.asked.is_empty() => {
                if let Some(party) = order.front().copied() {
                    self.ask(party, Purpose::Open, posted("rooms".into(), &self.wish));
                }
            }
            Stage::Looking { id, .. } => self.go_on_looking(*id),
            Stage::Asking(_) | Stage::Over(_) => {}
        }
    }

    /// What a server says to the wish.
    fn told(&mut self, party: PartyId, status: u16, body: &[u8]) {
        let Stage::Asking(order) = &mut self.stage else { return };
        if status == 421 && order.len() > 1 {
            order.pop_front();
            return;
        }
        if (400..600).contains(&status) {
            let refusal = Refusal::read(status, body);
            return self.fail(OpeningFailure::Refused { party, refusal });
        }
        let Some(room) = read::<RoomInfo>(status, body) else {
            return self.fail(OpeningFailure::Away { party });
        };
        if !self.is_as_asked(&room) {
            return self.fail(OpeningFailure::Altered);
        }
        let id = room.descriptor.id();
        self.tell(OpeningNews::Opened(Box::new(room.descriptor)));
        self.look(id);
    }

    /// Whether a room is the one that was asked for. The engine was the server's to choose if none
    /// was named.
    fn is_as_asked(&self, room: &RoomInfo) -> bool {
        let found = &room.descriptor;
        let engine = self.wish.engine.or(Some(found.engine));
        NewRoom { engine, ..self.wish.clone() }.descriptor(found.nonce) == *found
    }

    /// Begins to look for a room at all servers.
    fn look(&mut self, id: RoomId) {
        let new = |_| Looked { room: Errand::new(), servers: Errand::new() };
        self.looked = self.servers.keys.iter().map(new).collect();
        self.asked.clear();
        self.stage = Stage::Looking { id, until: self.now + PATIENT, shown: false };
    }

    fn go_on_looking(&mut self, id: RoomId) {
        let due = |errand: &Errand| errand.due().is_some_and(|due| due <= self.now);
        let looked = (0u8..).map(PartyId).zip(&self.looked);
        let wanted: Vec<_> = looked
            .flat_map(|(party, one)| {
                [(party, Purpose::Room, &one.room), (party, Purpose::Servers, &one.servers)]
            })
            .filter(|(_, _, errand)| due(errand))
            .map(|(party, purpose, _)| (party, purpose))
            .collect();
        for (party, purpose) in wanted {
            let path = match purpose {
                Purpose::Room => format!("rooms/{}", id.to_hex()),
                _ => "servers".to_owned(),
            };
            self.looked[party.index()].errand(purpose).asked();
            self.ask(party, purpose, Http { path, body: None });
        }
        self.judge(id);
    }

    /// What a server shows, or does not show yet.
    fn shown(&mut self, party: PartyId, purpose: Purpose, status: u16, body: &[u8]) {
        let Stage::Looking { id, .. } = self.stage else { return };
        let seen = if purpose == Purpose::Room {
            read(status, body).is_some_and(|room: RoomInfo| room.descriptor.id() == id)
        } else if let Some(info) = read::<ServersInfo>(status, body) {
            if info.you != party.0 || servers_of(&info).as_ref() != Some(&self.servers) {
                return self.fail(OpeningFailure::OtherServers { party });
            }
            true
        } else {
            false
        };
        let errand = self.looked[party.index()].errand(purpose);
        if seen {
            errand.done();
        } else {
            errand.again(self.now, &mut self.draws);
        }
    }

    /// Whether enough servers show it, all do, or it was looked for long enough.
    fn judge(&mut self, id: RoomId) {
        let now = self.now;
        let is_seen = |one: &Looked| one.room.is_done() && one.servers.is_done();
        let looked = (0u8..).map(PartyId).zip(&self.looked);
        let late: Vec<_> =
            looked.filter(|(_, one)| !is_seen(one)).map(|(party, _)| party).collect();
        let Stage::Looking { until, shown, .. } = &mut self.stage else { return };
        let enough = self.looked.len() - late.len() >= self.believed;
        let news = enough && !std::mem::replace(shown, enough);
        if news {
            *until = (*until).min(now + LATE);
        }
        let is_over = late.is_empty() || now >= *until;
        if news {
            self.tell(OpeningNews::Shown);
        }
        if is_over {
            self.end(Some(id));
            self.tell(OpeningNews::Over { late });
        }
    }

    fn end(&mut self, id: Option<RoomId>) {
        self.asked.clear();
        self.stage = Stage::Over(id);
    }

    fn fail(&mut self, failure: OpeningFailure) {
        self.end(None);
        self.tell(OpeningNews::Failed(failure));
    }

    fn tell(&mut self, news: OpeningNews) {
        self.actions.push_back(OpeningAction::Tell(news));
    }

    fn ask(&mut self, party: PartyId, purpose: Purpose, http: Http) {
        let id = self.next;
        self.next += 1;
        self.asked.insert(id, (party, purpose));
        let sending = Sending { id, party, http, patience: PATIENCE };
        self.actions.push_back(OpeningAction::Ask(sending));
    }
}

fn read<T: DeserializeOwned>(status: u16, body: &[u8]) -> Option<T> {
    (200..300).contains(&status).then(|| serde_json::from_slice(body).ok()).flatten()
}
