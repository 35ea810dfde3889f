//! Who is asked for what on the way from a link, and what is gone on with.

use std::collections::{BTreeMap, VecDeque};

use ostrakon_crypto::Secret;
use ostrakon_mixing::Servers;
use ostrakon_party::PartyId;
use ostrakon_protocol::ServersInfo;
use serde::de::DeserializeOwned;

use super::doors::{Doors, Purpose};
use super::news::{ArrivingAction, ArrivingNews, Complaint, Destination, Documents};
use crate::pauses::{Draws, Errand};
use crate::pinned::servers_of;
use crate::refusal::Refusal;
use crate::request::{Http, Sending};
use crate::time::{Clock, Millis};

/// How long a server may take to answer: everything else waits for it.
const SOON: Millis = 10_000;
/// So long a server is asked again that does not answer.
const PATIENT: Millis = 3_000;
/// The machine is woken after so long at the latest.
const LONGEST_SLEEP: Millis = 60_000;

/// How far it is.
enum Stage {
    /// The first server is asked who the servers are.
    Entering(Errand),
    /// All are asked.
    Looking(Box<Doors>),
    Over,
}

/// Somebody's way from a link.
pub struct Arriving {
    destination: Destination,
    kept: Option<Documents>,
    stage: Stage,
    began: Option<Millis>,
    draws: Draws,
    clock: Clock,
    now: Millis,
    asked: BTreeMap<u64, (PartyId, Purpose)>,
    next: u64,
    actions: VecDeque<ArrivingAction>,
}

impl Arriving {
    /// To a destination. What was kept of the room stands in for servers that do not answer, if it
    /// is what the link names. `seed` is 32 fresh random bytes.
    pub fn new(mut destination: Destination, kept: Option<Documents>, seed: Secret) -> Self {
        destination.origin.truncate(destination.origin.trim_end_matches('/').len());
        let kept = kept.filter(|kept| kept.are_of(&destination));
        let (began, clock, now, asked, next, actions) = Default::default();
        let (stage, draws) = (Stage::Entering(Errand::new()), Draws::new(seed));
        Self { destination, kept, stage, began, draws, clock, now, asked, next, actions }
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
        let Some((party, purpose)) = self.asked.remove(&id) else { return };
        self.now = self.clock.read(now);
        if let Stage::Looking(doors) = &mut self.stage {
            let again = (self.now, &mut self.draws);
            let heard = match purpose {
                Purpose::Servers => doors.named(party, read(status, body), again),
                Purpose::Room => doors.shown(party, read(status, body), again),
            };
            if let Err(failure) = heard {
                self.end(ArrivingNews::Failed(failure));
            }
        } else {
            self.entered(read(status, body));
        }
        self.step();
    }

    /// The next thing to do.
    pub fn next_action(&mut self) -> Option<ArrivingAction> {
        self.actions.pop_front()
    }

    /// When it is to be woken, by the device's clock.
    pub fn wake_at(&self) -> Millis {
        let due = match &self.stage {
            Stage::Entering(errand) => errand.due(),
            Stage::Looking(doors) => doors.due(),
            Stage::Over => None,
        };
        let latest = self.now + LONGEST_SLEEP;
        self.clock.outside(due.map_or(latest, |due| due.min(latest)))
    }

    /// Does what time and answers call for.
    fn step(&mut self) {
        match &mut self.stage {
            Stage::Entering(errand) => {
                if errand.due().is_some_and(|due| due <= self.now) {
                    errand.asked();
                    self.ask(PartyId(0), Purpose::Servers);
                }
            }
            Stage::Looking(doors) => {
                for (party, purpose) in doors.calls(self.now) {
                    self.ask(party, purpose);
                }
                self.judge();
            }
            Stage::Over => {}
        }
    }

    /// What the first server says of who the servers are.
    fn entered(&mut self, answer: Result<ServersInfo, Complaint>) {
        let Stage::Entering(errand) = &mut self.stage else { return };
        let complaint = match answer {
            Ok(info) => match servers_of(&info) {
                Some(servers) if usize::from(info.you) < servers.keys.len() => {
                    if self.destination.servers.is_none_or(|pinned| pinned == servers.digest()) {
                        return self.found(info, servers, None);
                    }
                    Complaint::OtherServers
                }
                _ => Complaint::Malformed("its list of servers is malformed".to_owned()),
            },
            Err(complaint) => complaint,
        };
        if let Some(Documents { servers: info, .. }) = self.kept.clone()
            && let Some(servers) = servers_of(&info)
        {
            return self.found(info, servers, Some(complaint));
        }
        let patient = self.began.is_some_and(|began| self.now < began + PATIENT);
        if complaint.passes() && patient {
            return errand.again(self.now, &mut self.draws);
        }
        let failure = complaint.of(&self.destination.origin);
        self.end(ArrivingNews::Failed(failure));
    }

    /// Goes on with these servers. The first one has just said who they are, if it has not said
    /// something else.
    fn found(&mut self, info: ServersInfo, servers: Servers, said: Option<Complaint>) {
        // With something to go on with, nobody is asked a second time.
        let patient = if self.kept.is_some() { self.now } else { self.now + PATIENT };
        let mut doors = Doors::new(info, servers, &self.destination, patient);
        doors.entered(said);
        if self.destination.room.is_none() {
            doors.hurry(self.now);
        }
        self.tell(ArrivingNews::Found(doors.addresses.clone()));
        self.stage = Stage::Looking(Box::new(doors));
    }

    /// Whether what was looked for is found, or was looked for long enough.
    fn judge(&mut self) {
        let Stage::Looking(doors) = &mut self.stage else { return };
        let kept = self.kept.as_ref().map(|kept| &kept.descriptor);
        if let Some(end) = doors.judge(self.now, kept) {
            let end = end.map_or_else(ArrivingNews::Failed, |arrived| {
                ArrivingNews::Arrived(Box::new(arrived))
            });
            self.end(end);
        }
    }

    fn end(&mut self, news: ArrivingNews) {
        self.asked.clear();
        self.stage = Stage::Over;
        self.tell(news);
    }

    fn tell(&mut self, news: ArrivingNews) {
        self.actions.push_back(ArrivingAction::Tell(news));
    }

    fn ask(&mut self, party: PartyId, purpose: Purpose) {
        let path = match (purpose, &self.destination.room) {
            (Purpose::Room, Some(room)) => format!("rooms/{}", room.to_hex()),
            _ => "servers".to_owned(),
        };
        let id = self.next;
        self.next += 1;
        self.asked.insert(id, (party, purpose));
        let http = Http { path, body: None };
        self.actions.push_back(ArrivingAction::Ask(Sending { id, party, http, patience: SOON }));
    }
}

fn read<T: DeserializeOwned>(status: u16, body: &[u8]) -> Result<T, Complaint> {
    match status {
        0 => Err(Complaint::Away),
        200..300 => {
            serde_json::from_slice(body).map_err(|why| Complaint::Malformed(why.to_string()))
        }
        _ => Err(Complaint::Refused(Refusal::read(status, body))),
    }
}
