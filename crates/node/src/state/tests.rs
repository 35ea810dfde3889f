//! The agreed state: what is valid, and that the order of concurrent announcements does not matter.

use ostrakon_crypto::Digest;
use ostrakon_party::SessionId;

use super::*;
use crate::provider::trusts::tests::three;

mod hosting;

const SERVERS: usize = 3;
const P0: PartyId = PartyId(0);
const P1: PartyId = PartyId(1);
const P2: PartyId = PartyId(2);

/// A state with the logs that led to it.
#[derive(Clone)]
struct Server {
    world: World,
    delivered: [u64; SERVERS],
}

impl Default for Server {
    fn default() -> Self {
        Self { world: World::new(servers(), three()), delivered: [0; SERVERS] }
    }
}

fn servers() -> Servers {
    Servers { session: SessionId(Digest([9; 32])), keys: Vec::new() }
}

impl Server {
    fn say(&self, author: PartyId, body: Body) -> (PartyId, Announcement) {
        (author, Announcement { after: self.delivered.to_vec(), body })
    }

    fn judge(
        &self,
        (author, announcement): &(PartyId, Announcement),
    ) -> Result<Option<Change>, Invalid> {
        self.world.judge(*author, self.delivered[author.index()], announcement, 5)
    }

    fn deliver(&mut self, said: &(PartyId, Announcement)) -> Result<Vec<Effect>, Invalid> {
        let change = self.judge(said)?;
        let number = self.delivered[said.0.index()];
        self.delivered[said.0.index()] += 1;
        Ok(change.map(|change| self.world.apply(number, &change, 5)).unwrap_or_default())
    }

    fn deliver_all(
        &mut self,
        author: PartyId,
        bodies: impl IntoIterator<Item = Body>,
    ) -> Vec<Effect> {
        let deliver = |body| self.deliver(&self.say(author, body).clone()).expect("valid");
        bodies.into_iter().flat_map(deliver).collect()
    }
}

fn descriptor(name: &str) -> RoomDescriptor {
    RoomDescriptor {
        payload: 32,
        capacity: 9,
        seconds: 1,
        minimum: 2,
        nonce: [1; 16],
        ..RoomDescriptor::new(name)
    }
}

fn room() -> RoomId {
    descriptor("r").id()
}

fn form() -> Form {
    Form::of(&descriptor("r"))
}

fn key(n: u8) -> VerifyingKey {
    VerifyingKey([n; 32])
}

fn assigned(slots: &[(u32, u8)]) -> Body {
    Body::Assigned {
        room: room(),
        epoch: 0,
        slots: slots.iter().map(|(slot, n)| (*slot, key(*n))).collect(),
    }
}

/// A room with two batches that are ready everywhere.
fn stocked() -> Server {
    let mut server = Server::default();
    server.deliver_all(P1, [Body::RoomCreated(descriptor("r"))]);
    for number in 0..2 {
        let effects = server.deliver_all(P0, [Body::BatchPlanned { number, form: form() }]);
        assert_eq!(effects, [Effect::Prepare(number)]);
        for party in [P0, P1, P2] {
            server.deliver_all(party, [Body::BatchReady { number }]);
        }
    }
    server
}

/// The same with an epoch that collects.
fn collecting() -> Server {
    let mut server = stocked();
    let effects = server.deliver_all(P0, [Body::EpochOpened { room: room(), number: 0, batch: 0 }]);
    assert_eq!(effects, [Effect::Load(EpochId { room: room(), number: 0 })]);
    server
}

/// Every other server says that the epoch is due, and the scheduler closes it.
fn close(server: &mut Server, room: RoomId, number: u64) -> Vec<Effect> {
    for party in [P1, P2] {
        server.deliver_all(party, [Body::EpochDue { room, number }]);
    }
    server.deliver_all(P0, [Body::EpochClosed { room, number }])
}

fn refused(server: &Server, author: PartyId, body: Body) -> &'static str {
    server.judge(&server.say(author, body)).expect_err("invalid").0
}

#[test]
fn an_epoch_goes_from_opening_to_its_computation() {
    let mut server = collecting();
    server.deliver_all(P0, [assigned(&[(0, 3)])]);
    server.deliver_all(P1, [assigned(&[(1, 1), (4, 2)])]);
    let epoch = server.world.rooms[&room()].collecting(0).unwrap();
    assert_eq!((epoch.slot_of(&key(2)), epoch.begun_at), (Some(4), Some(5)));
    let effects = close(&mut server, room(), 0);
    assert_eq!(effects, [Effect::Compute(EpochId { room: room(), number: 0 })]);
    let next = server.deliver_all(P0, [Body::EpochOpened { room: room(), number: 1, batch: 1 }]);
    assert_eq!(next, [Effect::Load(EpochId { room: room(), number: 1 })]);
}

#[test]
fn only_the_scheduler_schedules() {
    let server = collecting();
    for (body, rule) in [
        (Body::BatchPlanned { number: 2, form: form() }, "plans batches"),
        (Body::EpochOpened { room: room(), number: 1, batch: 1 }, "opens epochs"),
        (Body::EpochClosed { room: room(), number: 0 }, "closes epochs"),
        (Body::EpochVoided { room: room(), number: 0 }, "closes epochs"),
    ] {
        assert!(refused(&server, P1, body).contains(rule));
    }
}

#[test]
fn slots_of_another_class_taken_slots_and_second_slots_are_refused() {
    let mut server = collecting();
    server.deliver_all(P1, [assigned(&[(1, 1)])]);
    assert!(refused(&server, P1, assigned(&[(2, 2)])).contains("own class"));
    assert!(
        refused(&server, P1, assigned(&[(10, 2)])).contains("own class"),
        "beyond the capacity"
    );
    assert!(refused(&server, P1, assigned(&[(1, 2)])).contains("given out once"));
    assert!(refused(&server, P1, assigned(&[(4, 2), (4, 3)])).contains("given out once"));
    assert!(refused(&server, P1, assigned(&[(4, 1)])).contains("one slot"));
    assert!(refused(&server, P1, assigned(&[(4, 2), (7, 2)])).contains("one slot"));
    assert!(refused(&server, P1, assigned(&[])).contains("1 to 1024"));
    let future = Body::Assigned { room: room(), epoch: 1, slots: vec![(4, key(2))] };
    assert!(refused(&server, P1, future).contains("were opened"));
    let nowhere = Body::Assigned { room: RoomId([0; 16]), epoch: 0, slots: vec![(4, key(2))] };
    assert!(refused(&server, P1, nowhere).contains("no such room"));
    // Another server may give the same key a slot; the lowest is the key's, in whatever order they
    // come.
    server.deliver_all(P0, [assigned(&[(0, 1)])]);
    assert_eq!(server.world.rooms[&room()].collecting(0).unwrap().slot_of(&key(1)), Some(0));
}

/// A corrupt server gives everybody a slot of its own class before others can: nobody would be left
/// to count for the minimum.
#[test]
fn no_server_seats_everybody_in_its_own_class() {
    let mut server = collecting();
    let many = [(1, 1), (4, 2), (7, 3)];
    assert!(refused(&server, P1, assigned(&many[..2])).contains("fuller"));
    server.deliver_all(P1, [assigned(&many[..1])]);
    assert!(refused(&server, P1, assigned(&many[1..2])).contains("fuller"));
    server.deliver_all(P2, [assigned(&[(2, 4)])]);
    assert!(refused(&server, P1, assigned(&many[1..])).contains("fuller"));
    server.deliver_all(P1, [assigned(&many[1..2])]);
    // What it had not heard of does not count, and all judge that alike.
    let said = [(P0, assigned(&[(0, 8)])), (P1, assigned(&many[2..])), (P2, assigned(&[(5, 9)]))];
    for end in all_orders(&server, &unheard(&server, said)) {
        assert_eq!(end.world.rooms[&room()].collecting(0).unwrap().assigned.as_slice(), [1, 2, 2]);
    }
}

/// A server says that it holds a batch and then that it does not: that is on record, and is no
/// reason to wait with the next ones, however many are lost at once.
#[test]
fn a_batch_that_was_ready_and_is_dropped_is_on_record_and_no_failure_to_prepare() {
    let mut server = stocked();
    let dropped = [0, 1].map(|number| Body::BatchDropped { number });
    let effects = server.deliver_all(P2, dropped.clone());
    let expected =
        [0, 1].map(|number| [Effect::Discard(number), Effect::Withdrawn(number, P2)]).concat();
    assert_eq!(effects, expected);
    assert_eq!(server.world.setbacks.0, 1, "a loss counts once");
    assert_eq!(server.deliver_all(P1, dropped), [0, 1].map(Effect::Discard), "it is gone already");
    // What was never there is not withdrawn, and counts each time.
    for number in 2..5 {
        server.deliver_all(P0, [Body::BatchPlanned { number, form: form() }]);
        let effects = server.deliver_all(P1, [Body::BatchDropped { number }]);
        assert_eq!(effects, [Effect::Discard(number)]);
    }
    assert_eq!(server.world.setbacks.0, 4);
}

#[test]
fn batches_are_numbered_in_order_used_once_and_by_everybody() {
    let mut server = stocked();
    for number in [1, 3, u64::MAX] {
        assert!(
            refused(&server, P0, Body::BatchPlanned { number, form: form() })
                .contains("one after another")
        );
    }
    let strange = Body::BatchPlanned {
        number: 2,
        form: Form { engine: EngineKind::Ruffle, shape: Shape { rows: u32::MAX, width: u32::MAX } },
    };
    assert!(refused(&server, P0, strange).contains("form of a room"));
    server.deliver_all(
        P0,
        [Body::BatchPlanned { number: 2, form: form() }, Body::BatchReady { number: 2 }],
    );
    let open = |number, batch| Body::EpochOpened { room: room(), number, batch };
    assert!(refused(&server, P0, open(0, 2)).contains("not ready"));
    assert!(refused(&server, P0, open(0, 9)).contains("never planned"));
    assert!(refused(&server, P0, open(1, 0)).contains("one after another"));
    server.deliver_all(P0, [open(0, 0)]);
    assert!(refused(&server, P0, open(1, 1)).contains("one after another"), "while one collects");
    close(&mut server, room(), 0);
    assert!(refused(&server, P0, open(1, 0)).contains("used up"));
}

#[test]
fn rooms_are_within_limits() {
    let server = Server::default();
    let bad = RoomDescriptor { payload: 7, ..descriptor("x") };
    assert!(refused(&server, P2, Body::RoomCreated(bad)).contains("limits"));
    let huge = RoomDescriptor { payload: 4096, capacity: 1 << 20, ..descriptor("x") };
    assert!(refused(&server, P2, Body::RoomCreated(huge)).contains("limits"));
    let of_p2 = |name: &str| RoomDescriptor { nonce: [2; 16], ..descriptor(name) };
    let mut many = Server::default();
    for n in 0..MOST_ROOMS {
        let descriptor = of_p2(&n.to_string());
        many.world.rooms.insert(descriptor.id(), Room::new(descriptor, P2, &servers()));
    }
    assert!(refused(&many, P2, Body::RoomCreated(of_p2("one more"))).contains("limited number"));
    many.deliver_all(P1, [Body::RoomCreated(descriptor("another server's"))]);
}

#[test]
fn an_announcement_names_its_own_place() {
    let server = collecting();
    let (author, mut announcement) = server.say(P1, assigned(&[(1, 1)]));
    announcement.after[1] += 1;
    assert!(server.judge(&(author, announcement)).is_err());
}

#[test]
fn old_batches_fall_out_of_memory() {
    let mut server = stocked();
    let plans = (2..BATCHES_KEPT + 2).map(|number| Body::BatchPlanned { number, form: form() });
    let effects = server.deliver_all(P0, plans);
    assert!(effects.contains(&Effect::Discard(0)));
    assert_eq!(server.world.batches.len() as u64, BATCHES_KEPT);
}

#[test]
fn the_batch_that_an_idle_epoch_waits_with_is_remembered_however_many_come_after_it() {
    let mut server = collecting();
    let plans = |from: u64| {
        (from..from + BATCHES_KEPT + 1).map(|number| Body::BatchPlanned { number, form: form() })
    };
    let effects = server.deliver_all(P0, plans(2));
    assert!(effects.contains(&Effect::Discard(1)) && !effects.contains(&Effect::Discard(0)));
    assert!(server.world.batches[&0].used && server.world.batches[&0].dropped.is_empty());
    let idle = server.world.rooms[&room()].collecting.clone().unwrap();
    assert_eq!((idle.number, idle.batch), (0, 0));
    assert_eq!(
        crate::state::scheduling::decide(&server.world, 10, 1),
        None,
        "nobody voids the epoch"
    );
    // Once it is sealed, it is forgotten as the others are.
    server.deliver_all(P0, [assigned(&[(0, 9)])]);
    close(&mut server, room(), 0);
    server.deliver_all(P0, plans(BATCHES_KEPT + 3));
    assert_eq!(
        server.world.batches.first_key_value().map(|(number, _)| *number),
        Some(BATCHES_KEPT + 4)
    );
}

#[test]
fn a_batch_that_a_server_lost_voids_its_epoch_when_the_scheduler_says_so() {
    let mut server = collecting();
    let effects = server.deliver_all(P2, [Body::BatchDropped { number: 0 }]);
    assert_eq!(effects, [Effect::Withdrawn(0, P2)], "an epoch collects with it");
    let effects = server.deliver_all(P0, [Body::EpochVoided { room: room(), number: 0 }]);
    assert_eq!(effects, [Effect::Discard(0)]);
    assert_eq!(server.world.rooms[&room()].last.as_ref().unwrap().number, 0);
    let effects = server.deliver_all(P2, [Body::BatchDropped { number: 1 }]);
    assert_eq!(effects, [Effect::Discard(1), Effect::Withdrawn(1, P2)]);
}

#[test]
fn a_server_that_says_again_that_it_holds_a_batch_interrupts_those_who_prepare_it() {
    let mut server = stocked();
    server.deliver_all(
        P0,
        [Body::BatchPlanned { number: 2, form: form() }, Body::BatchReady { number: 2 }],
    );
    server.deliver_all(P1, [Body::BatchReady { number: 2 }]);
    assert!(!server.world.batches[&2].interrupted);
    server.deliver_all(P1, [Body::BatchReady { number: 2 }]);
    let batch = &server.world.batches[&2];
    assert!(batch.interrupted && batch.is_supply() && !batch.is_usable());
    server.deliver_all(P2, [Body::BatchReady { number: 2 }]);
    assert!(server.world.batches[&2].is_usable(), "the last one was done before it heard of it");
}

/// Every order of the concurrent announcements, each author's own in its order, leads to the same
/// state, and each is judged alike.
#[test]
fn the_order_of_concurrent_announcements_does_not_matter() {
    let mut start = collecting();
    start.deliver_all(P1, [Body::EpochDue { room: room(), number: 0 }]);
    start.deliver_all(P2, [Body::EpochDue { room: room(), number: 0 }]);
    // What each says without having heard the others.
    let said = [
        (P0, assigned(&[(0, 9)])),
        (P0, Body::EpochClosed { room: room(), number: 0 }),
        (P0, Body::EpochOpened { room: room(), number: 1, batch: 1 }),
        (P1, assigned(&[(1, 1)])),
        (P1, Body::RoomClosed(room())),
        (P1, assigned(&[(1, 3)])),
        (P2, Body::BatchDropped { number: 1 }),
        (P2, assigned(&[(2, 1), (5, 2)])),
    ];
    let logs = unheard(&start, said);
    assert_eq!(all_orders(&start, &logs).len(), 560, "8! / (3! 3! 2!)");
}

/// What others say is due or give out while the scheduler gives the epoch up.
#[test]
fn an_epoch_is_given_up_or_closed_everywhere_alike() {
    let due = Body::EpochDue { room: room(), number: 0 };
    let said = [
        (P0, Body::EpochVoided { room: room(), number: 0 }),
        (P0, Body::EpochOpened { room: room(), number: 1, batch: 1 }),
        (P1, assigned(&[(1, 1)])),
        (P1, due.clone()),
        (P1, assigned(&[(4, 2)])),
        (P2, due),
        (P2, assigned(&[(2, 3)])),
    ];
    let start = collecting();
    for end in all_orders(&start, &unheard(&start, said)) {
        assert_eq!(end.world.rooms[&room()].collecting.as_ref().unwrap().number, 1);
    }
}

/// A corrupt scheduler closes when it likes, and leaves out whom it likes.
#[test]
fn an_epoch_is_closed_when_all_say_it_is_due_and_with_all_that_was_given_out() {
    let mut server = collecting();
    let closed = || Body::EpochClosed { room: room(), number: 0 };
    let due = || Body::EpochDue { room: room(), number: 0 };
    server.deliver_all(P1, [assigned(&[(1, 1)])]);
    assert!(refused(&server, P0, closed()).contains("every server's clock"), "early");
    server.deliver_all(P0, [due()]);
    server.deliver_all(P1, [due()]);
    assert!(refused(&server, P0, closed()).contains("every server's clock"), "P2's is not over");
    server.deliver_all(P2, [assigned(&[(2, 2)])]);
    // It pretends not to have heard of the last slots.
    let (_, mut early) = server.say(P0, closed());
    server.deliver_all(P2, [due()]);
    early.after[0] = server.delivered[0];
    assert!(server.judge(&(P0, early)).unwrap_err().0.contains("every server's clock"));
    for (party, slot) in [(P0, 3), (P1, 4), (P2, 5)] {
        assert!(refused(&server, party, assigned(&[(slot, 7)])).contains("that is due"));
        assert!(refused(&server, party, due()).contains("once"));
    }
    assert_eq!(server.world.rooms[&room()].collecting(0).unwrap().slots.len(), 2);
    let effects = server.deliver_all(P0, [closed()]);
    assert_eq!(effects, [Effect::Compute(EpochId { room: room(), number: 0 })]);
}

/// A corrupt server speaks of what it has not heard of, so that those take it who have heard of it,
/// and the others do not.
#[test]
fn what_its_author_had_not_heard_of_is_valid_nowhere() {
    let other = descriptor("another");
    let said = [
        (P0, Body::BatchPlanned { number: 2, form: form() }),
        (P0, Body::EpochOpened { room: room(), number: 0, batch: 0 }),
        (P1, Body::RoomCreated(other.clone())),
        (P2, Body::BatchReady { number: 2 }),
        (P2, assigned(&[(2, 1)])),
        (P2, Body::RoomClosed(other.id())),
    ];
    let start = stocked();
    for end in all_orders(&start, &unheard(&start, said)) {
        assert!(end.world.batches[&2].said.iter().all(|(_, said)| said.is_none()));
        assert!(end.world.rooms[&room()].collecting(0).unwrap().slots.is_empty());
        assert!(end.world.rooms[&other.id()].open);
    }
}

/// The same of a corrupt scheduler.
#[test]
fn the_scheduler_opens_nothing_that_it_had_not_heard_of() {
    let mut start = stocked();
    start.deliver_all(
        P0,
        [Body::BatchPlanned { number: 2, form: form() }, Body::BatchReady { number: 2 }],
    );
    start.deliver_all(P1, [Body::BatchReady { number: 2 }]);
    let other = RoomDescriptor { payload: 64, ..descriptor("another") };
    let said = [
        (P0, Body::EpochOpened { room: room(), number: 0, batch: 2 }),
        (P0, Body::EpochOpened { room: other.id(), number: 0, batch: 0 }),
        (P0, Body::BatchPlanned { number: 3, form: Form::of(&other) }),
        (P1, Body::RoomCreated(other.clone())),
        (P2, Body::BatchReady { number: 2 }),
    ];
    for end in all_orders(&start, &unheard(&start, said)) {
        assert!(
            end.world.rooms.values().all(|room| room.next_epoch == 0)
                && !end.world.batches.contains_key(&3)
        );
    }
}

/// Whose room it is, and how many rooms a server has, does not depend on who is heard first.
#[test]
fn a_room_is_of_the_server_that_its_nonce_names() {
    let start = Server::default();
    let said = [P0, P1, P2].map(|author| (author, Body::RoomCreated(descriptor("r"))));
    for end in all_orders(&start, &unheard(&start, said)) {
        assert_eq!(end.world.rooms[&room()].author, P1);
    }
    for (party, first) in
        [P0, P1, P2].into_iter().flat_map(|party| (0..=255).map(move |first| (party, first)))
    {
        let nonce = room_nonce([first; 16], party, SERVERS);
        assert_eq!(room_class(&RoomDescriptor { nonce, ..descriptor("r") }, SERVERS), party);
    }
}

/// What servers say of whom none has heard what the others say.
fn unheard(
    start: &Server,
    said: impl IntoIterator<Item = (PartyId, Body)>,
) -> [Vec<(PartyId, Announcement)>; SERVERS] {
    let mut logs: [Vec<(PartyId, Announcement)>; SERVERS] = Default::default();
    for (author, body) in said {
        let mut after = start.delivered;
        after[author.index()] += logs[author.index()].len() as u64;
        logs[author.index()].push((author, Announcement { after: after.to_vec(), body }));
    }
    logs
}

/// The ends of all orders, which are alike.
fn all_orders(start: &Server, logs: &[Vec<(PartyId, Announcement)>; SERVERS]) -> Vec<Server> {
    let mut ends = Vec::new();
    interleave(start, logs, [0; SERVERS], &mut ends);
    for end in &ends {
        assert_eq!(agreed(&end.world), agreed(&ends[0].world));
    }
    ends
}

fn interleave(
    server: &Server,
    logs: &[Vec<(PartyId, Announcement)>; SERVERS],
    next: [usize; SERVERS],
    ends: &mut Vec<Server>,
) {
    let mut last = true;
    for author in 0..SERVERS {
        let Some(said) = logs[author].get(next[author]) else { continue };
        last = false;
        let mut server = server.clone();
        // An invalid announcement changes nothing, but counts.
        if server.deliver(said).is_err() {
            server.delivered[author] += 1;
        }
        let mut next = next;
        next[author] += 1;
        interleave(&server, logs, next, ends);
    }
    if last {
        ends.push(server.clone());
    }
}

/// What the servers must agree on: not versions and times of setbacks. The slots of a sealed epoch
/// are on disk, cut by the announcement that sealed it.
fn agreed(world: &World) -> World {
    let mut world = world.clone();
    world.version = 0;
    world.setbacks = (0, 0);
    for room in world.rooms.values_mut() {
        (room.version, room.active_at) = (0, 0);
        // In which order a server learned of slots is its own.
        room.collecting.iter_mut().for_each(|collecting| collecting.order.clear());
    }
    world
}
