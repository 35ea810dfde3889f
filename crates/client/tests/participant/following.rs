//! Reading what servers show that are slow, silent or lie (`docs/spec/follower.md`).

use std::sync::Arc;

use ostrakon_broadcast::SignedEntry;
use ostrakon_broadcast::hosting::{Deed, HostLog, MessageId, SignedAction};
use ostrakon_client::{Answer, Call, Follower, Millis, Request, Scene, Sight};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_mixing::RoomDescriptor;
use ostrakon_party::PartyId;
use ostrakon_protocol::{LastEpoch, MixingPhase, MixingStatus, Outcome, Status};
use serde_json::json;

use crate::boards::{board, kept_back, servers};
use crate::time::{InTime, START, Time};

/// How long a server takes to say that something has changed.
const NEWS: Millis = 1_000;

fn host() -> SigningKey {
    SigningKey::from_seed(&[8; 32])
}

fn room() -> RoomDescriptor {
    let host = Some(host().verifying_key());
    RoomDescriptor { payload: 64, capacity: 9, seconds: 3_600, host, ..RoomDescriptor::new("r") }
}

/// What hosts did, signed.
fn actions(deeds: impl IntoIterator<Item = Deed>) -> Vec<SignedAction> {
    let mut log = HostLog::new(&servers(), &room());
    let act = |deed| {
        let signed = log.act(&host(), 5, deed);
        log.apply(&signed).unwrap();
        signed
    };
    deeds.into_iter().map(act).collect()
}

fn pins(count: u32) -> Vec<SignedAction> {
    actions(
        (0..count).map(|index| Deed::Pin { target: MessageId { epoch: 1, index }, pinned: true }),
    )
}

/// One server.
#[derive(Default)]
struct Server {
    /// It does not answer how the room stands.
    away: bool,
    /// How long it takes to say how the room stands.
    late: Millis,
    /// How long it takes to show a list.
    slow: Millis,
    entries: Vec<SignedEntry>,
    actions: Vec<SignedAction>,
    /// Its lists break off.
    broken: bool,
    /// What it says that it has more.
    promises: u64,
    /// How much it shows at a time, if not all.
    page: Option<usize>,
    version: u64,
    epoch: u64,
    last: Option<LastEpoch>,
    mixing: Vec<u64>,
}

struct World {
    time: Time<(u64, Answer)>,
    follower: Follower,
    servers: Vec<Server>,
    sent: Vec<(Millis, u8, Call)>,
    alarms: Vec<u8>,
    informed: Option<Millis>,
    caught_up: Option<Millis>,
    read: Vec<SignedEntry>,
}

impl World {
    fn new() -> Self {
        Self::of(room())
    }

    fn of(room: RoomDescriptor) -> Self {
        let scene = Arc::new(Scene::new(servers(), room));
        let follower = Follower::new(scene, Secret::new([4; 32]), 10);
        let (sent, alarms, informed, caught_up, read) = Default::default();
        let servers = [(); 3].map(|()| Server { epoch: 5, ..Server::default() }).into();
        let time = Time::new();
        Self { time, follower, servers, sent, alarms, informed, caught_up, read }
    }

    /// All servers have these.
    fn with(entries: &[SignedEntry], actions: &[SignedAction]) -> Self {
        let mut world = Self::new();
        for server in &mut world.servers {
            (server.entries, server.actions) = (entries.to_vec(), actions.to_vec());
        }
        world
    }

    fn look(&mut self) {
        while let Some(sight) = self.follower.next_sight() {
            match sight {
                Sight::Ask(request) => self.ask(request),
                Sight::Entries { from, entries } => {
                    assert_eq!(from, self.read.len() as u64);
                    self.read.extend(entries);
                }
                Sight::Forged { party, .. } => self.alarms.push(party.0),
                Sight::Informed => self.informed = Some(self.time.now - START),
                Sight::CaughtUp => self.caught_up = Some(self.time.now - START),
                Sight::Heard { .. } | Sight::Actions { .. } => {}
            }
        }
    }

    fn ask(&mut self, Request { id, party, call }: Request) {
        self.sent.push((self.time.now, party.0, call.clone()));
        let server = &mut self.servers[party.index()];
        server.version += 1;
        fn page<T: Clone>(server: &Server, list: &[T], from: u64) -> Vec<T> {
            let page = server.page.unwrap_or(usize::MAX);
            let from = usize::try_from(from).unwrap();
            let shown = list.iter().skip(from).take(page).cloned().collect();
            if server.broken { Vec::new() } else { shown }
        }
        let (delay, answer) = match call {
            Call::News { .. } | Call::Status if server.away => (20, Answer::Nothing),
            Call::News { after } => {
                let delay = if after.is_some() { NEWS } else { 20 };
                (server.late + delay, Answer::Status(Box::new(server.status())))
            }
            Call::Board { from } => {
                (server.slow + 20, Answer::Board(page(server, &server.entries, from)))
            }
            Call::Actions { from } => {
                (server.slow + 20, Answer::Actions(page(server, &server.actions, from)))
            }
            other => panic!("whoever only follows asks for {other:?}"),
        };
        self.time.after(delay, (id, answer));
    }

    fn asked(&self, of: impl Fn(&Call) -> bool) -> Vec<u8> {
        self.sent.iter().filter(|(.., call)| of(call)).map(|(_, party, _)| *party).collect()
    }

    fn asked_for_board(&self) -> Vec<u8> {
        self.asked(|call| matches!(call, Call::Board { .. }))
    }
}

impl InTime for World {
    type Event = (u64, Answer);

    fn time(&mut self) -> &mut Time<(u64, Answer)> {
        &mut self.time
    }

    fn happen(&mut self, (id, answer): (u64, Answer)) {
        self.follower.answered(self.time.now, id, answer);
        self.look();
    }

    fn wake(&mut self) {
        self.follower.wake(self.time.now);
        self.look();
    }

    fn wake_at(&self) -> Millis {
        self.follower.wake_at()
    }
}

impl Server {
    fn status(&self) -> Status {
        let status = json!({
            "version": self.version, "epoch": {
                "number": self.epoch, "batch": null, "phase": "collecting", "closes_in_ms": 1_000,
                "assigned": 0, "submitted": 0,
            },
            "mixing": [], "last": self.last, "may_have_opened": [], "minimum": 3,
            "present": [0, 0, 0], "places": [0, 0, 0],
            "board_length": self.entries.len() as u64 + self.promises,
            "actions": self.actions.len() as u64 + self.promises, "stock": 1, "peers": [],
            "context": null,
        });
        let mixing = |number: &u64| MixingStatus { number: *number, phase: MixingPhase::Mixing };
        let status: Status = serde_json::from_value(status).unwrap();
        Status { mixing: self.mixing.iter().map(mixing).collect(), ..status }
    }
}

#[test]
fn nothing_of_the_board_is_asked_for_before_it_is_known_what_the_hosts_did() {
    let mut world = World::with(&board(&room(), 2), &pins(1));
    // Two have not heard of the action yet; the third one comes late, and is slow.
    for party in 0..2 {
        world.servers[party].actions.clear();
    }
    (world.servers[2].late, world.servers[2].slow) = (4_000, 3_000);
    world.advance(6_000);
    assert_eq!((world.informed, world.asked_for_board()), (None, vec![]));
    world.advance(10_000);
    assert_eq!(world.follower.log().length(), 1);
    assert!(world.informed.is_some() && world.caught_up >= world.informed);
    assert_eq!(world.read.len(), 2);
}

#[test]
fn a_server_that_promises_what_it_does_not_have_keeps_nobody_from_reading() {
    let mut world = World::with(&board(&room(), 1), &[]);
    (world.servers[0].promises, world.servers[2].away) = (1_000, true);
    world.advance(9_000);
    assert_eq!((world.informed, world.asked_for_board()), (None, vec![]));
    world.advance(3_000);
    assert_eq!(world.read.len(), 1);
    world.advance(60_000);
    // It is not asked without pause either.
    let asked = world.asked(|call| matches!(call, Call::Actions { .. })).len();
    assert!((10..150).contains(&asked), "{asked}");
    assert_eq!(world.alarms, [0; 0]);
}

#[test]
fn while_two_servers_promise_actions_that_cannot_be_read_nothing_of_the_board_is() {
    let mut world = World::with(&board(&room(), 1), &pins(1));
    world.servers[0].actions.clear();
    world.servers.iter_mut().for_each(|server| server.broken = true);
    world.advance(60_000);
    assert_eq!((world.informed, world.asked_for_board()), (None, vec![]));
    world.servers.iter_mut().for_each(|server| server.broken = false);
    world.advance(5_000);
    assert_eq!((world.follower.log().length(), world.read.len()), (1, 1));
}

#[test]
fn a_server_that_gives_one_action_at_a_time_and_late_holds_up_nobody() {
    let mut world = World::with(&[], &pins(50));
    (world.servers[0].page, world.servers[0].slow) = (Some(1), 14_000);
    world.advance(16_000);
    assert_eq!(world.follower.log().length(), 50);
    assert!(world.caught_up.is_some());
}

#[test]
fn a_server_that_is_alone_is_waited_for_and_anew_when_it_comes_back() {
    let mut world = World::with(&[], &pins(1));
    world.servers.iter_mut().for_each(|server| server.away = true);
    world.advance(5_000);
    assert!(world.follower.is_alone());
    (world.servers[0].away, world.servers[0].broken) = (false, true);
    world.advance(5_000);
    world.servers[0].away = true;
    world.advance(30_000);
    (world.servers[0].away, world.servers[0].broken) = (false, false);
    world.servers[0].slow = 14_000;
    world.advance(13_000);
    assert_eq!(world.informed, None);
    world.advance(25_000);
    assert_eq!(world.follower.log().length(), 1);
    assert!(world.informed.is_some());
}

#[test]
fn what_is_right_is_kept_up_to_what_is_wrong_and_who_showed_it_is_not_asked_again() {
    let mut world = World::with(&board(&room(), 2), &pins(2));
    let right = world.servers[0].actions[0].clone();
    world.servers[0].actions = vec![right.clone(), right];
    world.servers[0].entries.swap(0, 1);
    world.advance(20_000);
    assert_eq!(world.alarms, [0, 0], "of each list");
    assert_eq!((world.follower.log().length(), world.read), (2, board(&room(), 2)));
    let [asked, none] = [0, 10_000].map(|from| {
        let of = |(at, party, call): &&(Millis, u8, Call)| {
            *at >= START + from && *party == 0 && !matches!(call, Call::News { .. })
        };
        world.sent.iter().filter(of).count()
    });
    assert!(asked >= 2 && none == 0);
}

#[test]
fn bodies_that_one_server_keeps_back_are_read_from_another_one() {
    let all = board(&room(), 3);
    let mut world = World::with(&all, &[]);
    world.servers[0].entries = kept_back(all.clone());
    world.advance(5_000);
    assert_eq!((&world.read, &world.alarms[..]), (&all, &[][..]));
    // Whoever forges what is kept back raises the alarm, and nobody else.
    let mut world = World::with(&kept_back(all.clone()), &[]);
    world.servers[1].entries = all.clone();
    world.servers[1].entries[1].entry.accepted += 1;
    world.advance(20_000);
    assert_eq!(world.alarms, [1]);
    assert_eq!(world.read, kept_back(all));
}

#[test]
fn nobody_is_asked_about_what_is_known_to_be_erased() {
    let erased = kept_back(board(&room(), 2));
    let told: Vec<_> =
        (0..2).map(|epoch| Deed::Erase { target: MessageId { epoch, index: 0 } }).collect();
    let mut world = World::with(&erased, &actions(told));
    world.advance(1_000);
    assert_eq!((world.read.len(), world.asked_for_board().len()), (2, 1));
    // A host's word or the room's rule explains it: a day has 24 epochs.
    for (epoch, asked) in [(25, 1), (24, 3)] {
        let mut world = World::of(RoomDescriptor { retention_days: Some(1), ..room() });
        let room = RoomDescriptor { retention_days: Some(1), ..room() };
        for server in &mut world.servers {
            server.entries = kept_back(board(&room, 2));
            server.epoch = 40;
        }
        world.servers[1].epoch = epoch;
        world.advance(5_000);
        assert_eq!((world.read.len(), world.asked_for_board().len()), (2, asked), "{epoch}");
    }
}

#[test]
fn an_entry_without_bodies_waits_for_who_has_not_come_so_far_but_not_for_ever() {
    let all = board(&room(), 3);
    let mut world = World::with(&all, &[]);
    world.servers[0].entries = kept_back(all.clone());
    world.servers[0].entries[0] = all[0].clone();
    world.servers[1].entries.truncate(1);
    world.servers[2].away = true;
    world.advance(4_000);
    assert_eq!(world.read, all[..1]);
    world.servers[1].entries.push(all[1].clone());
    world.advance(4_000);
    assert_eq!(world.read, all[..2]);
    world.advance(15_000);
    assert_eq!(world.read[2..], kept_back(all)[2..]);
}

#[test]
fn one_silent_server_delays_all_entries_that_lack_something_once() {
    let all = kept_back(board(&room(), 5));
    let mut world = World::with(&all[..4], &[]);
    // It promises everything and gives nothing. The other one gives one entry at a time.
    world.servers[0].entries.clear();
    world.servers[0].promises = 0;
    (world.servers[1].page, world.servers[2].away) = (Some(1), true);
    world.servers[0].entries = all[..4].to_vec();
    world.servers[0].broken = true;
    world.advance(9_000);
    assert_eq!(world.read.len(), 0);
    world.advance(5_000);
    assert_eq!(world.read.len(), 4);
    world.servers[1].entries = all.clone();
    world.advance(9_000);
    assert_eq!(world.read.len(), 4);
    world.advance(5_000);
    assert_eq!(world.read.len(), 5);
}

#[test]
fn one_server_alone_ends_no_epoch_nor_two_whose_boards_are_not_read() {
    let ended = |number, outcome| Some(LastEpoch { number, outcome, detail: String::new() });
    let over = |change: &dyn Fn(&mut Vec<Server>)| {
        let mut world = World::with(&board(&room(), 4), &[]);
        change(&mut world.servers);
        world.advance(15_000);
        world.follower.over()
    };
    let few = |server: &mut Server| {
        (server.last, server.epoch) = (ended(7, Outcome::TooFew), 8);
    };
    assert_eq!(over(&|_| {}), None);
    assert_eq!(over(&|servers| few(&mut servers[0])), None);
    assert_eq!(over(&|servers| servers[1..].iter_mut().for_each(few)), Some(7));
    // Its board is to hold what it has published, and what it says that it holds.
    for (number, over_by_two) in [(3, Some(3)), (4, None)] {
        let published = |server: &mut Server| server.last = ended(number, Outcome::Published);
        assert_eq!(over(&|servers| servers[1..].iter_mut().for_each(published)), over_by_two);
    }
    let more = |servers: &mut Vec<Server>| {
        servers[1..].iter_mut().for_each(few);
        (servers[1].promises, servers[1].broken) = (1, true);
    };
    assert_eq!(over(&more), None);
    // What is mixed, or collects, is not over.
    let mixes = |servers: &mut Vec<Server>| {
        servers[1..].iter_mut().for_each(few);
        servers[1].mixing = vec![6, 7];
    };
    assert_eq!(over(&mixes), Some(5));
}

#[test]
fn a_server_is_asked_for_news_and_after_silence_for_how_the_room_stands() {
    let mut world = World::new();
    world.advance(10_000);
    let of = |world: &World, party: u8| -> Vec<(Millis, Call)> {
        let of = |(at, other, call): &(Millis, u8, Call)| {
            (*other == party).then(|| (*at - START, call.clone()))
        };
        world.sent.iter().filter_map(of).collect()
    };
    let asked = of(&world, 0);
    assert_eq!(asked[0], (0, Call::News { after: None }));
    let later = |(_, call): &(Millis, Call)| matches!(call, Call::News { after: Some(_) });
    assert!(asked[1..].iter().all(later));
    // A quarter of a second after each answer, varied by a quarter.
    assert!((7..=9).contains(&asked.len()), "{asked:?}");
    world.servers[0].away = true;
    world.advance(60_000);
    let silent = of(&world, 0);
    let last: Vec<_> = silent[silent.len() - 5..].to_vec();
    assert!(last.iter().all(|(_, call)| *call == Call::News { after: None }));
    assert!(last.windows(2).all(|two| (3_000..5_200).contains(&(two[1].0 - two[0].0))), "{last:?}");
    assert!(world.follower.status(PartyId(0)).is_none());
    let (word, came) = world.follower.last_word(PartyId(0));
    assert!(word.is_some() && came < START + 12_000);
}
