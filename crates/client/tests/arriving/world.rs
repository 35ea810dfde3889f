//! Three servers, and somebody who has a link.

use ostrakon_client::{
    Arrived, ArrivedRoom, Arriving, ArrivingAction, ArrivingFailure, ArrivingNews, Destination,
    Documents, Millis,
};
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_mixing::{RoomDescriptor, Servers};
use ostrakon_party::SessionId;
use ostrakon_protocol::RoomInfo;
use serde_json::{Value, json};

use crate::script::Exchange;
use crate::servers::servers_answer;
use crate::time::{InTime, START, Time};

/// How long the servers' answers take: no two come at the same moment.
const LATENCY: [Millis; 3] = [40, 47, 54];

pub fn servers() -> Servers {
    let keys = (0..3).map(|party| SigningKey::from_seed(&[party; 32]).verifying_key()).collect();
    Servers { session: SessionId(Digest([9; 32])), keys }
}

pub fn room() -> RoomDescriptor {
    RoomDescriptor::new("Agora")
}

/// A link to the room by this server, as links are written.
pub fn to_room(party: u8) -> Destination {
    let (servers, room) = (Some(servers().digest()), Some(room().id()));
    Destination { origin: format!("http://p{party}.example/"), servers, room }
}

/// The servers alone, by the second one.
pub fn to_servers(pinned: Option<Digest>) -> Destination {
    Destination { origin: "http://p1.example".into(), servers: pinned, room: None }
}

pub fn kept() -> Documents {
    let servers = serde_json::from_value(servers_answer(&servers())).unwrap();
    Documents { servers, descriptor: room() }
}

/// What a server has on its board of rooms.
#[derive(Clone, Default)]
pub enum Shows {
    #[default]
    Open,
    Closed,
    /// This, in place of the room.
    Instead(Value),
    /// It says this.
    Says(u16),
}

/// One server.
#[derive(Default)]
pub struct Door {
    /// It answers nothing before so long after the beginning.
    pub away_until: Millis,
    /// It takes so much longer.
    pub slow: Millis,
    /// It takes so much longer for the room.
    pub slow_room: Millis,
    pub shows: Shows,
    /// What it answers to who the servers are, if not what all do.
    pub names: Option<(u16, Value)>,
}

pub struct Way {
    pub time: Time<(u64, u16, String)>,
    pub arriving: Arriving,
    pub doors: [Door; 3],
    /// The server that is asked first.
    first: u8,
    is_found: bool,
    pub news: Vec<ArrivingNews>,
    pub exchanges: Vec<Exchange>,
}

impl Way {
    pub fn new(destination: Destination, kept: Option<Documents>) -> Self {
        let first = destination.origin.as_bytes()["http://p".len()] - b'0';
        let arriving = Arriving::new(destination, kept, Secret::new([4; 32]));
        let (doors, is_found, news, exchanges) = Default::default();
        Self { time: Time::new(), arriving, doors, first, is_found, news, exchanges }
    }

    /// By a link to the room.
    pub fn usual() -> Self {
        Self::new(to_room(0), None)
    }

    /// The same, where the servers show this.
    pub fn showing(shows: [Shows; 3]) -> Self {
        let mut way = Self::usual();
        for (door, shows) in way.doors.iter_mut().zip(shows) {
            door.shows = shows;
        }
        way
    }

    pub fn away(&mut self, parties: &[usize]) {
        for party in parties {
            self.doors[*party].away_until = Millis::MAX;
        }
    }

    fn go_on(&mut self) {
        while let Some(action) = self.arriving.next_action() {
            match action {
                ArrivingAction::Ask(sending) => {
                    let (at, number) = (self.time.now - START, sending.party.0);
                    let party = if self.is_found { number } else { self.first };
                    let path = sending.http.path;
                    assert_eq!(sending.http.body, None);
                    let served = self.serve(party, &path);
                    let served = served.filter(|(delay, ..)| *delay <= sending.patience);
                    let (delay, status, answer) = served.map_or_else(
                        || (sending.patience, 0, String::new()),
                        |(delay, status, answer)| (delay, status, answer.to_string()),
                    );
                    self.time.after(delay, (sending.id, status, answer.clone()));
                    let (party, body) = (number, None);
                    self.exchanges.push(Exchange { at, party, path, body, delay, status, answer });
                }
                ArrivingAction::Tell(news) => {
                    self.is_found |= matches!(news, ArrivingNews::Found(_));
                    self.news.push(news);
                }
            }
        }
    }

    fn serve(&self, party: u8, path: &str) -> Option<(Millis, u16, Value)> {
        let door = &self.doors[usize::from(party)];
        if self.time.now - START < door.away_until {
            return None;
        }
        let delay = LATENCY[usize::from(party)] + door.slow;
        if path == "servers" {
            let (status, names) = door.names.clone().unwrap_or_else(|| {
                let mut names = servers_answer(&servers());
                names["you"] = party.into();
                (200, names)
            });
            return Some((delay, status, names));
        }
        assert!(path.starts_with("rooms/"), "{path}");
        let (status, answer) = match &door.shows {
            Shows::Open => (200, json!(RoomInfo::of(&room(), true))),
            Shows::Closed => (200, json!(RoomInfo::of(&room(), false))),
            Shows::Instead(other) => (200, other.clone()),
            Shows::Says(status) => (*status, json!({"detail": "no"})),
        };
        Some((delay + door.slow_room, status, answer))
    }

    /// What was found after so long, which is something, and at once the end.
    pub fn arrived(&mut self, ms: Millis) -> Arrived {
        self.advance(ms);
        let [ArrivingNews::Found(addresses), ArrivingNews::Arrived(arrived)] = &self.news[..]
        else {
            panic!("{:?}", self.news)
        };
        assert_eq!(addresses, &arrived.addresses);
        (**arrived).clone()
    }

    pub fn room(&mut self, ms: Millis) -> ArrivedRoom {
        self.arrived(ms).room.unwrap()
    }

    /// Why nothing was found after so long.
    pub fn failure(&mut self, ms: Millis) -> ArrivingFailure {
        self.advance(ms);
        let Some(ArrivingNews::Failed(failure)) = self.news.last() else {
            panic!("{:?}", self.news)
        };
        failure.clone()
    }

    /// What was asked for, of whom.
    pub fn asked(&self) -> Vec<(u8, &str)> {
        let kind = |path: &str| if path == "servers" { "servers" } else { "room" };
        self.exchanges.iter().map(|one| (one.party, kind(&one.path))).collect()
    }
}

impl InTime for Way {
    type Event = (u64, u16, String);

    fn time(&mut self) -> &mut Time<Self::Event> {
        &mut self.time
    }

    fn happen(&mut self, (id, status, body): Self::Event) {
        self.arriving.replied(self.time.now, id, status, body.as_bytes());
        self.go_on();
    }

    fn wake(&mut self) {
        self.arriving.wake(self.time.now);
        self.go_on();
    }

    fn wake_at(&self) -> Millis {
        self.arriving.wake_at()
    }
}
