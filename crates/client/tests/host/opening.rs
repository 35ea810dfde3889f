//! Opening a room.

use ostrakon_client::Millis;
use ostrakon_client::host::{Opening, OpeningAction, OpeningFailure, OpeningNews};
use ostrakon_crypto::{Digest, Secret};
use ostrakon_mixing::room::Admission;
use ostrakon_mixing::{EngineKind, Mode, RoomDescriptor, Servers};
use ostrakon_party::{PartyId, SessionId};
use ostrakon_protocol::{NewRoom, RoomInfo};
use serde_json::{Value, json};

use crate::script::Exchange;
use crate::servers::servers_answer;
use crate::time::{InTime, START, Time};
use crate::world::{host, servers};

/// How long the servers' answers take: no two come at the same moment.
const LATENCY: [Millis; 3] = [40, 47, 54];

/// One server.
#[derive(Default)]
pub struct Door {
    /// It says this to who asks for a room.
    pub says: Option<u16>,
    /// It opens so many rooms, and says nothing.
    pub loses: u32,
    /// It answers nothing.
    pub is_away: bool,
    /// It shows the room from so long after the beginning on.
    pub shows_from: Millis,
    /// What it names as the servers, if not those that all name.
    pub names: Option<Value>,
    /// What it opens, if not what is wanted.
    pub bends: Option<fn(&mut RoomDescriptor)>,
}

/// Somebody who opens a room.
pub struct Street {
    pub time: Time<(u64, u16, String)>,
    pub opening: Opening,
    pub doors: [Door; 3],
    /// The rooms that were opened.
    pub rooms: Vec<RoomDescriptor>,
    pub news: Vec<OpeningNews>,
    pub exchanges: Vec<Exchange>,
}

/// A room for members.
pub fn wish() -> NewRoom {
    NewRoom {
        purpose: "for all".into(),
        host: Some(host().verifying_key()),
        admission: Admission::Members,
        engine: Some(EngineKind::Ruffle),
        people: Some(12),
        ..NewRoom::named("Agora")
    }
}

impl Street {
    /// The servers of this order are asked.
    pub fn new(order: &[u8], wish: NewRoom) -> Self {
        let order: Vec<_> = order.iter().copied().map(PartyId).collect();
        let opening = Opening::new(servers(), &order, wish, Secret::new([4; 32]));
        let (doors, rooms, news, exchanges) = Default::default();
        Self { time: Time::new(), opening, doors, rooms, news, exchanges }
    }

    fn usual() -> Self {
        Self::new(&[0, 1, 2], wish())
    }

    fn go_on(&mut self) {
        while let Some(action) = self.opening.next_action() {
            match action {
                OpeningAction::Ask(sending) => {
                    let (at, party) = (self.time.now - START, sending.party.0);
                    let (path, body) = (sending.http.path, sending.http.body);
                    let body = body.map(|body| body.text());
                    let (delay, status, answer) = match self.serve(party, &path, body.as_deref()) {
                        Some((status, answer)) => {
                            (LATENCY[usize::from(party)], status, answer.to_string())
                        }
                        None => (sending.patience, 0, String::new()),
                    };
                    self.time.after(delay, (sending.id, status, answer.clone()));
                    self.exchanges.push(Exchange { at, party, path, body, delay, status, answer });
                }
                OpeningAction::Tell(news) => self.news.push(news),
            }
        }
    }

    fn serve(&mut self, party: u8, path: &str, body: Option<&str>) -> Option<(u16, Value)> {
        let said = |status: u16| Some((status, json!({"detail": "no"})));
        let door = &mut self.doors[usize::from(party)];
        if door.is_away {
            return None;
        }
        if let Some(body) = body {
            if let Some(status) = door.says {
                return said(status);
            }
            let nonce = [u8::try_from(self.rooms.len()).unwrap(); 16];
            let mut room = serde_json::from_str::<NewRoom>(body).unwrap().descriptor(nonce);
            if let Some(bend) = door.bends {
                bend(&mut room);
            }
            let is_there =
                |there: &RoomDescriptor| RoomDescriptor { nonce, ..there.clone() } == room;
            if !self.rooms.iter().any(is_there) {
                self.rooms.push(room.clone());
            }
            if door.loses > 0 {
                door.loses -= 1;
                return None;
            }
            return Some((201, json!(RoomInfo::of(&room, true))));
        }
        if path == "servers" {
            let mut names = door.names.clone().unwrap_or_else(|| servers_answer(&servers()));
            if door.names.is_none() {
                names["you"] = party.into();
            }
            return Some((200, names));
        }
        let id = path.strip_prefix("rooms/").unwrap();
        let room = self.rooms.iter().find(|room| room.id().to_hex() == id);
        match room.filter(|_| self.time.now >= START + door.shows_from) {
            Some(room) => Some((200, json!(RoomInfo::of(room, true)))),
            None => said(404),
        }
    }

    fn posted(&self) -> Vec<u8> {
        let posted = self.exchanges.iter().filter(|one| one.body.is_some());
        posted.map(|one| one.party).collect()
    }

    fn opened(&self) -> Option<&RoomDescriptor> {
        self.news.iter().find_map(|news| match news {
            OpeningNews::Opened(room) => Some(&**room),
            _ => None,
        })
    }

    /// What was told after the room was opened.
    fn ended(&self) -> &[OpeningNews] {
        assert!(self.opened().is_some());
        &self.news[1..]
    }
}

impl InTime for Street {
    type Event = (u64, u16, String);

    fn time(&mut self) -> &mut Time<Self::Event> {
        &mut self.time
    }

    fn happen(&mut self, (id, status, body): Self::Event) {
        self.opening.replied(self.time.now, id, status, body.as_bytes());
        self.go_on();
    }

    fn wake(&mut self) {
        self.opening.wake(self.time.now);
        self.go_on();
    }

    fn wake_at(&self) -> Millis {
        self.opening.wake_at()
    }
}

fn over(late: &[u8]) -> OpeningNews {
    OpeningNews::Over { late: late.iter().copied().map(PartyId).collect() }
}

#[test]
fn a_room_is_asked_for_at_one_server_and_looked_for_at_all() {
    let mut street = Street::usual();
    street.doors[1].shows_from = 700;
    street.doors[2].shows_from = 2_500;
    street.advance(500);
    assert_eq!((street.posted(), street.ended()), (vec![0], &[][..]), "one server alone shows it");
    assert_eq!(street.opened(), Some(&wish().descriptor([0; 16])));
    street.advance(1_500);
    assert_eq!(street.ended(), [OpeningNews::Shown]);
    street.advance(8_000);
    assert_eq!(street.ended(), [OpeningNews::Shown, over(&[])]);
    let asked = street.exchanges.len();
    street.advance(60_000);
    assert_eq!(street.exchanges.len(), asked, "it is over");
}

#[test]
fn a_server_that_does_not_show_it_holds_up_nobody_for_long() {
    let mut street = Street::usual();
    street.doors[2].is_away = true;
    street.advance(1_000);
    assert_eq!(street.ended(), [OpeningNews::Shown]);
    street.advance(5_000);
    assert_eq!(street.ended()[1..], [over(&[2])]);
}

#[test]
fn a_room_that_one_server_alone_shows_is_looked_for_again_and_no_other_is_opened() {
    let mut street = Street::usual();
    (street.doors[1].shows_from, street.doors[2].shows_from) = (20_000, 20_000);
    street.advance(14_000);
    assert_eq!(street.ended(), []);
    street.advance(2_000);
    assert_eq!(street.ended(), [over(&[1, 2])]);
    street.advance(10_000);
    street.opening.look_again(street.time.now);
    street.advance(1_000);
    assert_eq!(street.ended()[1..], [OpeningNews::Shown, over(&[])]);
    assert_eq!(street.posted(), [0]);
}

#[test]
fn the_next_server_is_asked_if_it_is_for_another_one_to_do_and_the_last_word_is_told() {
    let mut street = Street::new(&[2, 0, 1], wish());
    (street.doors[2].says, street.doors[0].says) = (Some(421), Some(429));
    street.advance(1_000);
    assert_eq!(street.posted(), [2, 0]);
    let failed = |street: &Street| match &street.news[..] {
        [OpeningNews::Failed(OpeningFailure::Refused { party, refusal })] => {
            (party.0, refusal.status, refusal.detail.clone())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(failed(&street), (0, 429, "no".into()));

    let mut alone = Street::new(&[2], wish());
    alone.doors[2].says = Some(421);
    alone.advance(1_000);
    assert_eq!((failed(&alone).1, alone.posted()), (421, vec![2]));
}

#[test]
fn an_answer_that_is_lost_is_told_and_nothing_is_sent_again_by_itself() {
    let mut street = Street::usual();
    street.doors[0].loses = 1;
    street.advance(60_000);
    let away = OpeningFailure::Away { party: PartyId(0) };
    assert_eq!(street.news, [OpeningNews::Failed(away)]);
    assert_eq!((street.posted(), street.rooms.len()), (vec![0], 1));
}

#[test]
fn another_room_than_the_one_that_was_asked_for_is_not_taken() {
    type Bend = fn(&mut RoomDescriptor);
    let bends: [Bend; 9] = [
        |room| room.name.push('!'),
        |room| room.purpose.clear(),
        |room| room.host = None,
        |room| room.admission = Admission::Open,
        |room| room.minimum = 1,
        |room| room.people = None,
        |room| room.retention_days = Some(3),
        |room| room.engine = EngineKind::Clarion,
        |room| (room.mode, room.payload) = (Mode::Robust, 512),
    ];
    for bend in bends {
        let mut street = Street::usual();
        street.doors[0].bends = Some(bend);
        street.advance(1_000);
        assert_eq!(street.news, [OpeningNews::Failed(OpeningFailure::Altered)]);
        assert_eq!(street.exchanges.len(), 1, "nothing else is asked");
    }
    let mut free = Street::new(&[0], NewRoom { engine: None, ..wish() });
    free.doors[0].bends = Some(|room| room.engine = EngineKind::Clarion);
    free.advance(1_000);
    assert!(free.opened().is_some(), "the engine was the server's to choose");
}

#[test]
fn who_names_other_servers_or_calls_itself_another_one_is_told() {
    let others = Servers { session: SessionId(Digest([8; 32])), ..servers() };
    let another = |you: u8, servers: &Servers| {
        let mut names = servers_answer(servers);
        names["you"] = you.into();
        names
    };
    for names in [another(2, &others), another(1, &servers())] {
        let mut street = Street::usual();
        street.doors[2].names = Some(names);
        street.advance(1_000);
        let failure = OpeningFailure::OtherServers { party: PartyId(2) };
        assert_eq!(street.news.last(), Some(&OpeningNews::Failed(failure)));
        assert!(street.opened().is_some(), "its host keeps the key");
        let asked = street.exchanges.len();
        street.advance(60_000);
        assert_eq!(street.exchanges.len(), asked);
    }
    let mut garbage = Street::usual();
    garbage.doors[2].names = Some(json!({"maintenance": true}));
    garbage.advance(10_000);
    assert_eq!(garbage.ended(), [OpeningNews::Shown, over(&[2])], "it may just be away");
}
