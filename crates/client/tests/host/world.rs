//! Three servers with a room, its host's device, and what passes between them.

use std::sync::Arc;

use ostrakon_broadcast::hosting::{Claim, Deed, HostLog, MessageId, Refused, SignedAction};
use ostrakon_client::host::{Action, Call, Failure, Host, News};
use ostrakon_client::{Millis, Scene};
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_mixing::room::Admission;
use ostrakon_mixing::{RoomDescriptor, Servers};
use ostrakon_party::SessionId;
use serde_json::json;

use crate::script::Exchange;
use crate::time::{InTime, START, Time};

/// How long the servers' answers take: no two come at the same moment.
const LATENCY: [Millis; 3] = [40, 47, 54];

pub fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32])
}

/// The room's first host.
pub fn host() -> SigningKey {
    key(7)
}

pub fn servers() -> Servers {
    let keys = (0..3).map(|party| key(party).verifying_key()).collect();
    Servers { session: SessionId(Digest([9; 32])), keys }
}

pub fn room() -> RoomDescriptor {
    RoomDescriptor {
        host: Some(host().verifying_key()),
        admission: Admission::Members,
        ..RoomDescriptor::new("r")
    }
}

pub fn scene() -> Arc<Scene> {
    Arc::new(Scene::new(servers(), room()))
}

pub fn pin(index: u32) -> Deed {
    Deed::Pin { target: MessageId { epoch: 1, index }, pinned: true }
}

/// One server.
#[derive(Default)]
pub struct Server {
    pub actions: Vec<SignedAction>,
    /// It answers nothing.
    pub away: bool,
    /// It shows no host log.
    pub is_mute: bool,
    /// It says this to everything that it is given, and takes nothing.
    pub says: Option<u16>,
    /// It takes so many, and says nothing.
    pub loses: u32,
    /// It gets so many not at all.
    pub misses: u32,
    /// Before it takes anything, somebody else is so often first.
    pub rivals: u32,
    /// It does not hear of what the first server takes.
    pub is_behind: bool,
    /// It shows this instead of its log.
    pub shows: Option<Vec<SignedAction>>,
    /// What it was given.
    pub given: Vec<String>,
}

pub struct World {
    pub time: Time<(u64, u16, String)>,
    pub host: Host<HostLog>,
    pub servers: Vec<Server>,
    pub latency: [Millis; 3],
    /// What is done, by the number of the deed.
    pub deeds: Vec<Deed>,
    /// What was written down, and how often.
    pub kept: Vec<SignedAction>,
    /// Nothing can be written down.
    pub full: bool,
    pub news: Vec<News>,
    pub exchanges: Vec<Exchange>,
}

pub fn machine(seed: u8) -> Host<HostLog> {
    let log = HostLog::new(&servers(), &room());
    Host::new(scene(), host(), log, false, Secret::new([seed; 32]))
}

impl World {
    pub fn new() -> Self {
        let servers = (0..3).map(|_| Server::default()).collect();
        let (deeds, kept, full, news, exchanges) = Default::default();
        let (time, host, latency) = (Time::new(), machine(4), LATENCY);
        Self { time, host, servers, latency, deeds, kept, full, news, exchanges }
    }

    /// The device is started again, with nothing but what it had written down.
    pub fn restart(&mut self) {
        self.time.under_way.clear();
        self.deeds.clear();
        self.host = machine(5);
    }

    pub fn act(&mut self, deed: Deed) -> u64 {
        self.deeds.push(deed);
        let number = self.host.act(self.time.now);
        self.go_on();
        number
    }

    /// What was written down last is found out about.
    pub fn resume(&mut self) {
        let left = self.kept.last().unwrap().clone();
        self.deeds.push(left.action.deed.clone());
        self.host.resume(self.time.now, left);
        self.go_on();
    }

    /// The log of the first server.
    pub fn truth(&self) -> HostLog {
        let mut log = HostLog::new(&servers(), &room());
        self.servers[0].actions.iter().for_each(|signed| log.apply(signed).unwrap());
        log
    }

    /// The host acts from another device.
    pub fn other(&mut self, deed: Deed) {
        let signed = self.truth().act(&host(), 1, deed);
        self.take(signed).unwrap();
    }

    pub fn take(&mut self, signed: SignedAction) -> Result<(), Refused> {
        let place = usize::try_from(signed.action.number).unwrap();
        if self.servers[0].actions.get(place) == Some(&signed) {
            return Ok(());
        }
        self.truth().apply(&signed)?;
        self.servers[0].actions.push(signed);
        let all = self.servers[0].actions.clone();
        let hear = |server: &mut Server| server.actions = all.clone();
        self.servers.iter_mut().filter(|server| !server.is_behind).for_each(hear);
        Ok(())
    }

    /// The places in the log of a deed.
    pub fn places(&self, deed: &Deed) -> Vec<usize> {
        let actions = self.servers[0].actions.iter().enumerate();
        actions.filter(|(_, signed)| signed.action.deed == *deed).map(|(place, _)| place).collect()
    }

    pub fn taken(&self, deed: u64) -> Option<u64> {
        self.news.iter().find_map(|news| match news {
            News::Taken { deed: one, number } if *one == deed => Some(*number),
            _ => None,
        })
    }

    pub fn failure(&self, deed: u64) -> Option<&Failure> {
        self.news.iter().find_map(|news| match news {
            News::Failed { deed: one, failure } if *one == deed => Some(failure),
            _ => None,
        })
    }

    fn go_on(&mut self) {
        while let Some(action) = self.host.next_action() {
            let now = self.time.now;
            match action {
                Action::Ask(request) => {
                    let (id, room) = (request.id, *self.host.room());
                    let answer = self.serve(request.party.0, &request.call);
                    let sending = request.sending(&room);
                    let (delay, status, text) = self.carry(sending, answer);
                    self.time.after(delay, (id, status, text));
                }
                Action::Decide { deed } => {
                    let deed = self.deeds.get(usize::try_from(deed).unwrap()).cloned();
                    self.host.decided(now, deed);
                }
                Action::Keep(signed) => {
                    if !self.full {
                        self.kept.push(*signed);
                    }
                    self.host.kept(now, !self.full);
                }
                Action::Tell(news) => self.news.push(news),
            }
        }
    }

    /// Notes what passes, and after how long what is answered comes.
    pub fn carry(
        &mut self,
        sending: ostrakon_client::Sending,
        answer: Option<(u16, String)>,
    ) -> (Millis, u16, String) {
        let (at, party) = (self.time.now - START, sending.party.0);
        let latency = self.latency[usize::from(party)];
        let (delay, status, answer) = match answer {
            Some((status, answer)) => (latency, status, answer),
            None => (sending.patience, 0, String::new()),
        };
        let (path, body) = (sending.http.path, sending.http.body.map(|body| body.text()));
        let text = answer.clone();
        self.exchanges.push(Exchange { at, party, path, body, delay, status, answer: text });
        (delay, status, answer)
    }

    /// The HTTP status and the body that a server answers.
    pub fn serve(&mut self, party: u8, call: &Call) -> Option<(u16, String)> {
        let server = &mut self.servers[usize::from(party)];
        if server.away {
            return None;
        }
        match call {
            Call::Actions { .. } if server.is_mute => None,
            Call::Actions { from } => {
                let shown = server.shows.as_ref().unwrap_or(&server.actions);
                let from = usize::try_from(*from).unwrap().min(shown.len());
                Some((200, json!({"actions": shown[from..]}).to_string()))
            }
            Call::Act(signed) => {
                server.given.push(serde_json::to_string(signed).unwrap());
                self.give(party, |world| world.take((**signed).clone()))
            }
            Call::Claim(claim) => {
                server.given.push(serde_json::to_string(claim).unwrap());
                let claim: Claim = (**claim).clone();
                self.give(party, |world| {
                    let log = world.truth();
                    let before = log.invitations().get(&claim.invitation);
                    if before.is_some_and(|before| before.claimed == Some(claim.key)) {
                        return Ok(());
                    }
                    log.check_claim(&claim)?;
                    world.take(log.place(&claim))
                })
            }
        }
    }

    fn give(
        &mut self,
        party: u8,
        take: impl FnOnce(&mut Self) -> Result<(), Refused>,
    ) -> Option<(u16, String)> {
        let said = |status: u16| Some((status, json!({"detail": "no"}).to_string()));
        let server = &mut self.servers[usize::from(party)];
        if let Some(status) = server.says {
            return said(status);
        }
        if party > 0 {
            return said(421);
        }
        if server.misses > 0 {
            server.misses -= 1;
            return None;
        }
        if server.rivals > 0 {
            server.rivals -= 1;
            let index = 100 + server.rivals;
            self.other(pin(index));
        }
        match take(self) {
            Ok(()) => {}
            Err(Refused::NotNext { .. } | Refused::Closed | Refused::Claimed) => return said(409),
            Err(Refused::Deed(_)) => return said(422),
            Err(_) => return said(403),
        }
        let server = &mut self.servers[0];
        if server.loses > 0 {
            server.loses -= 1;
            return None;
        }
        Some((201, json!({"number": 0, "accepted": true}).to_string()))
    }
}

impl InTime for World {
    type Event = (u64, u16, String);

    fn time(&mut self) -> &mut Time<Self::Event> {
        &mut self.time
    }

    fn happen(&mut self, (id, status, body): Self::Event) {
        self.host.replied(self.time.now, id, status, body.as_bytes());
        self.go_on();
    }

    fn wake(&mut self) {
        self.host.wake(self.time.now);
        self.go_on();
    }

    fn wake_at(&self) -> Millis {
        self.host.wake_at()
    }
}
