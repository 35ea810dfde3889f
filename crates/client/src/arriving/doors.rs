//! What the servers of a deployment say to somebody who arrives.

use ostrakon_mixing::{RoomDescriptor, RoomId, Servers, engines};
use ostrakon_party::PartyId;
use ostrakon_protocol::{RoomInfo, RoomState, ServersInfo};

use super::news::{Arrived, ArrivedRoom, ArrivingFailure, Complaint, Destination};
use crate::pauses::{Draws, Errand};
use crate::pinned::servers_of;
use crate::time::Millis;

/// Once there is something to go on with, others have so long.
const LATE: Millis = 3_000;

/// What is asked of a server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Who the servers are.
    Servers,
    /// What the room is.
    Room,
}

/// One server.
struct Door {
    /// To say who the servers are.
    servers: Errand,
    /// Then, to say what the room is.
    room: Errand,
    state: Option<RoomState>,
    /// What it said last that was of no use.
    complaint: Option<Complaint>,
}

impl Door {
    fn errand(&mut self, purpose: Purpose) -> &mut Errand {
        match purpose {
            Purpose::Servers => &mut self.servers,
            Purpose::Room => &mut self.room,
        }
    }

    /// What it is to be asked next, and when.
    fn due(&self, room: bool) -> Option<(Millis, Purpose)> {
        if self.servers.is_done() {
            return self.room.due().filter(|_| room).map(|due| (due, Purpose::Room));
        }
        self.servers.due().map(|due| (due, Purpose::Servers))
    }

    /// Whether it has said who it is, or failed to once.
    fn is_known(&self) -> bool {
        self.servers.is_done() || self.complaint.is_some()
    }

    /// Whether it has shown what is looked for, or failed to once.
    fn is_tried(&self, room: bool) -> bool {
        self.complaint.is_some() || if room { self.state.is_some() } else { self.servers.is_done() }
    }

    /// Whether it says that there is no such room.
    fn has_no_such_room(&self) -> bool {
        self.servers.is_done() && self.complaint.as_ref().is_some_and(Complaint::is_missing)
    }

    /// Whether it will not show it.
    fn is_given_up(&self) -> bool {
        self.servers.is_refused() || self.room.is_refused()
    }
}

/// The servers of a deployment.
pub struct Doors {
    info: ServersInfo,
    servers: Servers,
    /// Where they are, by number.
    pub addresses: Vec<String>,
    entrance: String,
    /// Whether the link says who the servers are.
    is_pinned: bool,
    room: Option<RoomId>,
    descriptor: Option<RoomDescriptor>,
    doors: Vec<Door>,
    /// Until then who does not answer is asked again.
    patient: Millis,
    /// Until then others are waited for.
    until: Option<Millis>,
}

impl Doors {
    /// Of servers, the first one of whom is reached where it was.
    pub fn new(
        info: ServersInfo,
        servers: Servers,
        destination: &Destination,
        patient: Millis,
    ) -> Self {
        let Destination { origin, servers: pinned, room } = destination;
        let listed = info.servers.iter().map(|server| server.url.trim_end_matches('/').to_owned());
        let mut addresses: Vec<_> = listed.collect();
        let known = addresses.iter().find(|url| *url == origin).or(addresses.first());
        let entrance = known.cloned().unwrap_or_default();
        if let Some(own) = addresses.get_mut(usize::from(info.you)) {
            own.clone_from(origin);
        }
        let new = |_: &String| {
            let (servers, room) = (Errand::new(), Errand::new());
            Door { servers, room, state: None, complaint: None }
        };
        let doors = addresses.iter().map(new).collect();
        let (is_pinned, room) = (pinned.is_some(), *room);
        let (descriptor, until) = (None, None);
        Self {
            info,
            servers,
            addresses,
            entrance,
            is_pinned,
            room,
            descriptor,
            doors,
            patient,
            until,
        }
    }

    /// The first server has said who the servers are, if not something else.
    pub fn entered(&mut self, said: Option<Complaint>) {
        let door = &mut self.doors[usize::from(self.info.you)];
        if said.is_some() {
            door.servers.refused()
        } else {
            door.servers.done()
        }
        door.complaint = said;
    }

    /// There is something to go on with: others are waited for a while.
    pub fn hurry(&mut self, now: Millis) {
        self.until.get_or_insert(now + LATE);
    }

    /// When somebody is to be asked, or no one waited for any more.
    pub fn due(&self) -> Option<Millis> {
        let calls = self.doors.iter().filter_map(|door| door.due(self.room.is_some()));
        calls.map(|(due, _)| due).chain(self.until).min()
    }

    /// What is to be asked now, of whom.
    pub fn calls(&mut self, now: Millis) -> Vec<(PartyId, Purpose)> {
        let wants_room = self.room.is_some();
        let mut calls = Vec::new();
        for (party, door) in (0u8..).map(PartyId).zip(&mut self.doors) {
            if let Some((_, purpose)) = door.due(wants_room).filter(|(due, _)| *due <= now) {
                door.errand(purpose).asked();
                calls.push((party, purpose));
            }
        }
        calls
    }

    /// Who the servers are, as one of them says.
    pub fn named(
        &mut self,
        party: PartyId,
        answer: Result<ServersInfo, Complaint>,
        again: (Millis, &mut Draws),
    ) -> Result<(), ArrivingFailure> {
        match answer.map(|info| (info.you, servers_of(&info))) {
            Ok((you, Some(servers))) if you == party.0 && servers == self.servers => {
                self.doors[party.index()].servers.done();
            }
            Ok((_, Some(_))) if self.is_pinned => {
                // The link says who the servers are: this one alone keeps nobody out.
                self.complain(party, Purpose::Servers, Complaint::OtherServers, again);
            }
            Ok((_, Some(_))) => {
                let at = self.addresses[party.index()].clone();
                return Err(ArrivingFailure::OtherServers { at });
            }
            Ok((_, None)) => {
                let why = "its list of servers is malformed".to_owned();
                self.complain(party, Purpose::Servers, Complaint::Malformed(why), again);
            }
            Err(complaint) => self.complain(party, Purpose::Servers, complaint, again),
        }
        Ok(())
    }

    /// What the room is, as one of them says.
    pub fn shown(
        &mut self,
        party: PartyId,
        answer: Result<RoomInfo, Complaint>,
        again: (Millis, &mut Draws),
    ) -> Result<(), ArrivingFailure> {
        match answer {
            Ok(info) if Some(info.descriptor.id()) == self.room => {
                // The id proves it: no other server shows another one.
                let valid = info.descriptor.validate();
                valid.map_err(|why| ArrivingFailure::Unusable { why: why.to_string() })?;
                let door = &mut self.doors[party.index()];
                door.room.done();
                door.state = Some(info.state);
                self.descriptor = Some(info.descriptor);
                self.hurry(again.0);
            }
            Ok(_) => self.complain(party, Purpose::Room, Complaint::OtherRoom, again),
            Err(complaint) => self.complain(party, Purpose::Room, complaint, again),
        }
        Ok(())
    }

    fn complain(
        &mut self,
        party: PartyId,
        purpose: Purpose,
        complaint: Complaint,
        (now, draws): (Millis, &mut Draws),
    ) {
        let door = &mut self.doors[party.index()];
        if complaint.passes() && now < self.patient {
            door.errand(purpose).again(now, draws);
        } else {
            door.errand(purpose).refused();
        }
        door.complaint = Some(complaint);
    }

    /// Whether what was looked for is found, or was looked for long enough. What was `kept` of the
    /// room stands in if nobody shows it, unless so many say that it is no more that one of them is
    /// honest.
    pub fn judge(
        &self,
        now: Millis,
        kept: Option<&RoomDescriptor>,
    ) -> Option<Result<Arrived, ArrivingFailure>> {
        let wants_room = self.room.is_some();
        let is_late = self.until.is_some_and(|until| until <= now);
        let all = |is: fn(&Door) -> bool| self.doors.iter().all(is);
        let tried = self.doors.iter().all(|door| door.is_tried(wants_room));
        if !wants_room {
            return (tried || is_late).then(|| Ok(self.arrived(None)));
        }
        if let Some(descriptor) = &self.descriptor {
            let believed = self.believed(descriptor);
            let states = || self.doors.iter().filter_map(|door| door.state);
            let enough = states().count() >= believed;
            if !((enough && all(Door::is_known)) || tried || is_late) {
                return None;
            }
            let closed = states().filter(|state| *state == RoomState::Closed).count() >= believed;
            let room = ArrivedRoom { descriptor: descriptor.clone(), closed };
            return Some(Ok(self.arrived(Some(room))));
        }
        let missing = self.doors.iter().filter(|door| door.has_no_such_room()).count();
        let is_no_more = kept.is_some_and(|kept| missing >= self.believed(kept));
        if !is_no_more && !all(Door::is_given_up) {
            return None;
        }
        if let Some(descriptor) = kept.filter(|_| !is_no_more) {
            let room = ArrivedRoom { descriptor: descriptor.clone(), closed: false };
            return Some(Ok(self.arrived(Some(room))));
        }
        self.failure().map(Err)
    }

    fn believed(&self, descriptor: &RoomDescriptor) -> usize {
        engines::believed(descriptor.engine, self.doors.len())
    }

    /// What servers said that was of no use, the first server's before the others'.
    fn complaints(&self) -> impl Iterator<Item = (&str, &Complaint)> {
        let you = usize::from(self.info.you);
        let others = (0..self.doors.len()).filter(move |party| *party != you);
        [you].into_iter().chain(others).filter_map(|party| {
            let complaint = self.doors[party].complaint.as_ref()?;
            Some((self.addresses[party].as_str(), complaint))
        })
    }

    /// What to tell where nobody shows the room. Who shows another one is not to be gone on with;
    /// who has an answer says more than who is away.
    fn failure(&self) -> Option<ArrivingFailure> {
        let rank = |complaint: &Complaint| match complaint {
            Complaint::OtherRoom => 0,
            Complaint::Refused(_) if complaint.is_missing() => 1,
            Complaint::Refused(_) => 2,
            Complaint::OtherServers => 3,
            Complaint::Malformed(_) => 4,
            Complaint::Away => 5,
        };
        let told = self.complaints().min_by_key(|(_, complaint)| rank(complaint));
        told.map(|(at, complaint)| complaint.clone().of(at))
    }

    fn arrived(&self, room: Option<ArrivedRoom>) -> Arrived {
        let contradicts = |door: &Door| matches!(door.complaint, Some(Complaint::OtherServers));
        let doors = (0u8..).map(PartyId).zip(&self.doors);
        let contradicting = doors.filter(|(_, door)| contradicts(door));
        Arrived {
            info: self.info.clone(),
            servers: self.servers.clone(),
            addresses: self.addresses.clone(),
            entrance: self.entrance.clone(),
            room,
            contradicting: contradicting.map(|(party, _)| party).collect(),
        }
    }
}
