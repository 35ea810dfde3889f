//! When epochs open and close, who gets slots, what is prepared.

use ostrakon_crypto::Digest;
use ostrakon_mixing::room::{RoomDescriptor, Servers};
use ostrakon_party::{ByParty, SessionId, Trust};

use super::*;
use crate::provider::trusts::tests::three;
use crate::state::{BatchInfo, Computing, Held, Owner};

const SERVERS: usize = 3;

pub(crate) fn descriptor(capacity: u32) -> RoomDescriptor {
    RoomDescriptor { payload: 32, capacity, minimum: 2, ..RoomDescriptor::new("r") }
}

fn key(n: u32) -> VerifyingKey {
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&n.to_le_bytes());
    VerifyingKey(bytes)
}

pub(crate) fn batch(form: Form) -> BatchInfo {
    let said = ByParty::new(SERVERS, |_| Some(0));
    BatchInfo { said, held: Held::File, ..BatchInfo::planned(form, 0, SERVERS) }
}

fn servers() -> Servers {
    Servers { session: SessionId(Digest([9; 32])), keys: Vec::new() }
}

/// One room of nine slots, and batches of its shape.
pub(crate) fn world(batches: u64) -> (World, RoomId) {
    let mut world = World::new(servers(), three());
    let id = descriptor(9).id();
    world.rooms.insert(id, Room::new(descriptor(9), PartyId(0), &servers()));
    for number in 0..batches {
        world.batches.insert(number, batch(Form::of(&descriptor(9))));
    }
    (world, id)
}

/// The same with an epoch that collects since time 1000, in which these slots are assigned and have
/// submitted.
pub(crate) fn with_slots(slots: &[u32]) -> (World, RoomId) {
    let (mut world, id) = world(3);
    world.batches.get_mut(&0).unwrap().used = true;
    let mut collecting = Collecting::new(0, 0, 500, 2, None, Trust::one_of_three());
    for slot in slots {
        collecting.begun_at = Some(1000);
        collecting.assign(*slot, Owner { key: key(*slot), announcement: 0 });
        collecting.submitted.insert(*slot);
    }
    let room = world.rooms.get_mut(&id).unwrap();
    room.next_epoch = 1;
    room.collecting = Some(collecting);
    (world, id)
}

#[test]
fn an_epoch_opens_when_a_batch_is_ready_and_not_before() {
    let (mut world, id) = world(1);
    assert_eq!(decide(&world, 0, 1), Some(Body::EpochOpened { room: id, number: 0, batch: 0 }));
    world.batches.get_mut(&0).unwrap().said[PartyId(1)] = None;
    assert_eq!(decide(&world, 0, 1), None);
    world.batches.get_mut(&0).unwrap().dropped.insert(PartyId(1));
    assert_eq!(
        decide(&world, 0, 1),
        Some(Body::BatchPlanned { number: 1, form: Form::of(&descriptor(9)) })
    );
    world.rooms.get_mut(&id).unwrap().open = false;
    assert_eq!(decide(&world, 0, 1), None);
}

/// What every server says of the room's epoch at this time, after a beat.
pub(crate) fn said(world: &mut World, now: u64) -> Option<Body> {
    let enough = newly_enough(world);
    note_enough(world, &enough, now);
    due(world, PartyId(1), now)
}

/// All servers have said that it is due.
pub(crate) fn all_due(world: &mut World, id: &RoomId) {
    let collecting = world.rooms.get_mut(id).unwrap().collecting.as_mut().unwrap();
    collecting.due = ByParty::new(SERVERS, |_| Some(1));
}

#[test]
fn an_epoch_is_due_by_the_clock_if_there_are_enough_and_closed_when_all_say_so() {
    let (mut world, id) = with_slots(&[0, 1, 2]);
    let due = Some(Body::EpochDue { room: id, number: 0 });
    assert_eq!(said(&mut world, 10_999), None);
    assert_eq!(said(&mut world, 11_000), due);
    assert_eq!(decide(&world, 11_000, 2), None, "the others have not said so");
    let closed = Some(Body::EpochClosed { room: id, number: 0 });
    all_due(&mut world, &id);
    assert_eq!(said(&mut world, 11_000), None, "it is said once");
    assert_eq!(decide(&world, 11_000, 2), closed);
    // Not while too many are unfinished.
    let computing = Computing { batch: 9, minimum: 2, phase: None };
    let room = world.rooms.get_mut(&id).unwrap();
    room.computing = (0..MOST_COMPUTING as u64).map(|number| (number + 10, computing)).collect();
    assert_eq!(decide(&world, 11_000, 2), None);
    // Two people are too few for a minimum of two.
    let (mut few, _) = with_slots(&[0, 1]);
    assert_eq!(said(&mut few, 1_000_000), None);
    // An empty room uses up nothing.
    let (mut idle, _) = with_slots(&[]);
    assert_eq!(said(&mut idle, 1_000_000_000), None);
    // Full before the time.
    let (mut full, _) = with_slots(&[0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(said(&mut full, 1001), due);
}

/// Whoever was given a place and has gone keeps nobody waiting.
#[test]
fn an_epoch_does_not_wait_for_slots_that_were_given_and_not_handed_in() {
    let (mut world, id) = with_slots(&[0, 1, 2]);
    let collecting = world.rooms.get_mut(&id).unwrap().collecting.as_mut().unwrap();
    for gone in [3, 4, 5, 6] {
        collecting.assign(gone, Owner { key: key(gone), announcement: 0 });
    }
    let due = Some(Body::EpochDue { room: id, number: 0 });
    assert_eq!(said(&mut world, 10_999), None, "they have the whole time");
    assert_eq!(said(&mut world, 11_000), due);
    all_due(&mut world, &id);
    assert_eq!(decide(&world, 11_000, 2), Some(Body::EpochClosed { room: id, number: 0 }));
}

/// Whoever comes after a group has left is not sealed with the first two others who come.
#[test]
fn the_clock_begins_anew_when_there_are_enough_only_after_it_had_run_out() {
    let (mut world, id) = with_slots(&[0, 1]);
    assert_eq!(said(&mut world, 500_000), None);
    let submitted = |world: &mut World, slot| {
        world.rooms.get_mut(&id).unwrap().collecting.as_mut().unwrap().submitted.insert(slot);
    };
    submitted(&mut world, 2);
    assert_eq!(said(&mut world, 600_000), None);
    let room = &world.rooms[&id];
    assert_eq!(remaining(room.collecting.as_ref().unwrap(), room, 600_000), Some(10_000));
    submitted(&mut world, 3);
    assert_eq!(said(&mut world, 609_999), None);
    assert!(said(&mut world, 610_000).is_some(), "nobody waits for longer than an epoch");
    // What comes about together with the end is not after it.
    let (mut world, _) = with_slots(&[0, 1, 2]);
    assert!(said(&mut world, 11_000 + LATE_MS).is_some());
    let (mut world, _) = with_slots(&[0, 1, 2]);
    assert_eq!(said(&mut world, 11_001 + LATE_MS), None);
}

/// A participant that does not reach one of the servers does not keep it from going along.
#[test]
fn another_server_s_word_counts_that_there_are_enough_but_not_that_it_is_time() {
    let (mut world, id) = with_slots(&[0, 1]);
    let collecting = world.rooms.get_mut(&id).unwrap().collecting.as_mut().unwrap();
    collecting.due[PartyId(2)] = Some(7);
    assert_eq!(said(&mut world, 2_000), None);
    assert_eq!(said(&mut world, 11_000), Some(Body::EpochDue { room: id, number: 0 }));
}

/// Everybody is at home at one server, or nearly: waiting would not help, but moving would.
#[test]
fn an_epoch_whose_participants_are_badly_spread_is_due_all_the_same() {
    for slots in [[0, 3, 6], [0, 1, 3]] {
        let (mut world, id) = with_slots(&slots);
        assert_eq!(said(&mut world, 10_999), None);
        assert_eq!(said(&mut world, 11_000), Some(Body::EpochDue { room: id, number: 0 }));
    }
}

#[test]
fn a_class_without_slots_left_closes_the_epoch_in_the_end() {
    let (mut world, id) = with_slots(&[1, 4, 7]);
    world.rooms.get_mut(&id).unwrap().collecting.as_mut().unwrap().submitted.clear();
    assert_eq!(said(&mut world, 20_999), None);
    assert_eq!(said(&mut world, 21_000), Some(Body::EpochDue { room: id, number: 0 }));
}

/// One person alone is enough where no crowd is asked for.
#[test]
fn a_room_for_practice_is_due_with_one_person() {
    let (mut world, id) = with_slots(&[1]);
    world.rooms.get_mut(&id).unwrap().collecting.as_mut().unwrap().minimum = 0;
    assert_eq!(said(&mut world, 10_999), None);
    assert_eq!(said(&mut world, 11_000), Some(Body::EpochDue { room: id, number: 0 }));
}

#[test]
fn an_epoch_that_waits_is_given_up_when_fewer_are_to_be_enough() {
    let (mut world, id) = with_slots(&[0, 1]);
    world.rooms.get_mut(&id).unwrap().collecting.as_mut().unwrap().minimum = 3;
    assert_eq!(decide(&world, 2_000, 2), Some(Body::EpochVoided { room: id, number: 0 }));
    let (mut enough, id) = with_slots(&[0, 1, 2, 3, 4]);
    enough.rooms.get_mut(&id).unwrap().collecting.as_mut().unwrap().minimum = 3;
    assert_eq!(decide(&enough, 2_000, 2), None, "it has enough as it is");
}

#[test]
fn a_lost_batch_or_an_idle_closed_room_voids_the_epoch() {
    let (mut world, id) = with_slots(&[0, 1, 2]);
    let voided = Some(Body::EpochVoided { room: id, number: 0 });
    world.batches.get_mut(&0).unwrap().dropped.insert(PartyId(1));
    assert_eq!(decide(&world, 11_000, 2), voided);
    let (mut idle, _) = with_slots(&[]);
    idle.rooms.get_mut(&id).unwrap().open = false;
    assert_eq!(decide(&idle, 0, 2), voided);
    let (mut busy, _) = with_slots(&[0, 1, 2]);
    busy.rooms.get_mut(&id).unwrap().open = false;
    assert_eq!(decide(&busy, 5_000, 2), None, "what is under way is finished");
    assert_eq!(said(&mut busy, 11_000), Some(Body::EpochDue { room: id, number: 0 }));
}

#[test]
fn stock_is_planned_to_its_target_two_at_a_time_and_slowly_after_setbacks() {
    let (mut world, _) = with_slots(&[]);
    let form = Form::of(&descriptor(9));
    // Two are ready; a target of five lacks three, of which two are prepared at a time.
    assert_eq!(decide(&world, 0, 2), None);
    for number in 3..5 {
        assert_eq!(decide(&world, 0, 5), Some(Body::BatchPlanned { number, form }));
        world.batches.insert(number, BatchInfo::planned(form, 0, SERVERS));
    }
    assert_eq!(decide(&world, 0, 5), None);
    world.batches.get_mut(&3).unwrap().dropped.insert(PartyId(0));
    world.setbacks = (2, 10_000);
    assert_eq!(decide(&world, 11_999, 5), None);
    assert_eq!(decide(&world, 12_000, 5), Some(Body::BatchPlanned { number: 5, form }));
}

/// The rows of the batches that are planned now, in their order.
fn planned(world: &mut World, ready: u32) -> Vec<u32> {
    let mut rows = Vec::new();
    while let Some(Body::BatchPlanned { number, form }) = decide(world, 0, ready) {
        world.batches.insert(number, BatchInfo::planned(form, 0, SERVERS));
        rows.push(form.shape.rows);
    }
    rows
}

/// A room of a million rows whose batches take minutes, beside one of nine.
fn with_a_giant(collects: bool) -> World {
    let (mut world, _) = with_slots(&[]);
    world.batches.retain(|_, batch| batch.used);
    let mut giant = Room::new(descriptor(1_000_000), PartyId(0), &servers());
    if collects {
        let epoch = Collecting::new(0, 1, 500, 2, None, Trust::one_of_three());
        giant.collecting = Some(epoch);
        let used = BatchInfo { used: true, ..batch(Form::of(&giant.descriptor)) };
        world.batches.insert(1, used);
    }
    world.rooms.insert(giant.descriptor.id(), giant);
    world
}

#[test]
fn a_giant_room_keeps_no_other_from_its_batch() {
    const GIANT: u32 = 1_000_000;
    // Each lacks three. The small one's epoch has just ended.
    let mut world = with_a_giant(true);
    let small = descriptor(9).id();
    world.rooms.get_mut(&small).unwrap().collecting = None;
    assert_eq!(planned(&mut world, 3), [9, 9], "who waits, then who is small");
    // Both have an epoch that collects.
    assert_eq!(planned(&mut with_a_giant(true), 3), [9, 9]);
    // Small rooms do not keep the large one from its own, however fast they go.
    assert_eq!(planned(&mut with_a_giant(false), 3), [GIANT, 9]);
    let mut world = with_a_giant(false);
    world.rooms.get_mut(&small).unwrap().collecting = None;
    assert_eq!(planned(&mut world, 3), [9, GIANT], "what is planned for a room is its own");
}

/// Twenty small rooms, each with a form of its own, use up every batch at once: there is always one
/// of them that can do nothing.
#[test]
fn small_rooms_in_haste_do_not_starve_a_large_one() {
    let mut world = World::new(servers(), three());
    for capacity in (9..29).chain([1000]) {
        let room = Room::new(descriptor(capacity), PartyId(0), &servers());
        world.rooms.insert(room.descriptor.id(), room);
    }
    let mut planned = Vec::new();
    for number in 1..64 {
        let Some(Body::BatchPlanned { form, .. }) = decide(&world, 0, 1) else {
            panic!("every room waits");
        };
        world.batches.insert(number, BatchInfo { used: true, ..batch(form) });
        planned.push(form.shape.rows);
    }
    let rooms: Vec<u32> = (9..29).chain([1000]).collect();
    assert_eq!(planned[..21], rooms, "the small ones first, where nothing else tells them apart");
    for turns in planned.windows(21) {
        assert!(turns.contains(&1000), "a large room waits while others have two turns");
    }
}

#[test]
fn of_forms_of_one_size_the_one_that_lacks_most_comes_first() {
    let (mut world, _) = with_slots(&[]);
    let clarion = |nonce| RoomDescriptor {
        engine: ostrakon_mixing::EngineKind::Clarion,
        nonce: [nonce; 16],
        ..descriptor(9)
    };
    let form = Form::of(&clarion(1));
    assert_eq!(form.shape, Form::of(&descriptor(9)).shape);
    world.batches.insert(3, BatchInfo { used: true, ..batch(form) });
    for nonce in 1..4 {
        let mut room = Room::new(clarion(nonce), PartyId(0), &servers());
        room.collecting = Some(Collecting::new(0, 3, 500, 2, None, Trust::one_of_three()));
        world.rooms.insert(room.descriptor.id(), room);
    }
    // Two are ready for the one room of the other engine, which lacks one of its three.
    assert_eq!(decide(&world, 0, 3), Some(Body::BatchPlanned { number: 4, form }));
}

/// Whoever creates rooms that nobody uses makes the servers prepare one batch for each, and no
/// more.
#[test]
fn a_room_that_nobody_uses_costs_one_batch() {
    let (mut world, id) = with_slots(&[]);
    world.batches.retain(|_, batch| batch.used);
    let planned = Some(Body::BatchPlanned { number: 1, form: Form::of(&descriptor(9)) });
    assert_eq!(decide(&world, USED_MS - 1, 2), planned, "it was just created, or used");
    assert_eq!(decide(&world, USED_MS, 2), None, "its epoch has a batch to wait with");
    let idle = RoomDescriptor { nonce: [1; 16], ..descriptor(9) };
    world.rooms.insert(idle.id(), Room::new(idle, PartyId(0), &servers()));
    assert_eq!(decide(&world, USED_MS, 2), planned, "one for the other room's epoch");
    world.batches.insert(1, BatchInfo::planned(Form::of(&descriptor(9)), 0, SERVERS));
    assert_eq!(decide(&world, USED_MS, 2), None);
    world.rooms.get_mut(&id).unwrap().active_at = 1;
    assert!(decide(&world, USED_MS, 2).is_some(), "somebody came");
}

fn waiting(keys: &[u32], stays: bool) -> Vec<Waiting> {
    keys.iter().map(|n| Waiting { key: key(*n), stays }).collect()
}

fn given(body: Option<Body>) -> Vec<(u32, VerifyingKey)> {
    let Some(Body::Assigned { slots, epoch: 0, .. }) = body else { panic!("slots are given out") };
    slots
}

#[test]
fn members_and_nobody_else_get_slots() {
    let (mut world, id) = with_slots(&[0]);
    let collecting = world.rooms.get_mut(&id).unwrap().collecting.as_mut().unwrap();
    collecting.members = Some(std::sync::Arc::new([key(40), key(60)].into()));
    let slots = given(assign(&world, PartyId(1), &id, &waiting(&[50, 40, 60], true)));
    assert_eq!(slots, [(1, key(40)), (4, key(60))]);
}

#[test]
fn slots_go_to_those_without_one_in_order_of_arrival() {
    let present = waiting(&[50, 1, 40, 60], true);
    let (world, id) = with_slots(&[0, 3, 6, 1]);
    let slots = given(assign(&world, PartyId(1), &id, &present));
    assert_eq!(slots, [(4, key(50)), (7, key(40))], "the class has no third one left");
    assert_eq!(assign(&world, PartyId(1), &id, &waiting(&[1], true)), None);
    let (gap, _) = with_slots(&[0, 3, 6, 7, 1]);
    let slots = given(assign(&gap, PartyId(1), &id, &present));
    assert_eq!(slots, [(4, key(50))], "below slots that have owners");
    let (full, _) = with_slots(&[1, 4, 7]);
    assert_eq!(assign(&full, PartyId(1), &id, &waiting(&[50], true)), None);
    let (mut due, id) = with_slots(&[1]);
    all_due(&mut due, &id);
    assert_eq!(assign(&due, PartyId(1), &id, &present), None, "nothing of what is due");
}

/// Otherwise the same number of people would be enough or not, by where they came in.
#[test]
fn no_server_gives_out_many_slots_more_than_another_unless_people_stay() {
    let (world, id) = with_slots(&[]);
    let three = waiting(&[50, 51, 52], false);
    assert_eq!(given(assign(&world, PartyId(0), &id, &three)), [(0, key(50))]);
    let (world, id) = with_slots(&[0, 1]);
    assert_eq!(assign(&world, PartyId(0), &id, &three), None, "P2 has given out none");
    let patient = [three[0], Waiting { stays: true, ..three[1] }, three[2]];
    assert_eq!(given(assign(&world, PartyId(0), &id, &patient)), [(3, key(51))]);
    let (world, id) = with_slots(&[0, 3, 1]);
    assert_eq!(assign(&world, PartyId(0), &id, &patient), None, "two more than the fuller one");
    let (world, id) = with_slots(&[0, 1, 2]);
    assert_eq!(given(assign(&world, PartyId(2), &id, &three)), [(5, key(50))]);
    let everybody = waiting(&[50, 51, 52, 53], false);
    // Eight for each other server: ten, in a room with places for that.
    let eight: Vec<u32> = (0..24).filter(|slot| slot % 3 != 2).collect();
    let (mut world, id) = with_slots(&eight);
    world.rooms.get_mut(&id).unwrap().descriptor.capacity = 60;
    let collecting = world.rooms.get_mut(&id).unwrap().collecting.as_mut().unwrap();
    collecting.minimum = 20;
    for slot in (2..26).step_by(3) {
        collecting.assign(slot, Owner { key: key(slot), announcement: 0 });
    }
    let slots = given(assign(&world, PartyId(2), &id, &everybody));
    assert_eq!(slots, [(26, key(50)), (29, key(51))]);
    // Thirteen, if three are enough: whatever it gives out, the others have three more.
    let collecting = world.rooms.get_mut(&id).unwrap().collecting.as_mut().unwrap();
    collecting.minimum = 3;
    assert_eq!(given(assign(&world, PartyId(2), &id, &everybody)).len(), 4);
    // Who has no slots left is not waited for.
    let (world, id) = with_slots(&[0, 3, 6, 2, 5, 8, 1]);
    assert_eq!(given(assign(&world, PartyId(1), &id, &three)), [(4, key(50)), (7, key(51))]);
}

#[test]
fn classes_share_all_slots() {
    let epoch = Collecting::new(0, 0, 0, 0, None, Trust::one_of_three());
    for capacity in 3..20 {
        let slots = |class| epoch.slots_of(PartyId(class), capacity);
        let sum: u32 = (0..3).map(slots).sum();
        assert_eq!(sum, capacity);
        for class in 0..3 {
            let counted = (0..capacity).filter(|slot| slot % 3 == u32::from(class)).count();
            assert_eq!(slots(class) as usize, counted);
        }
    }
}

/// Who was away when the epoch's time ran out says that it is due as soon as it is back.
#[test]
fn a_restart_does_not_begin_the_clock_anew() {
    let (mut world, id) = with_slots(&[0, 1, 2]);
    let collecting = world.rooms.get_mut(&id).unwrap().collecting.as_mut().unwrap();
    restored(collecting);
    assert!(said(&mut world, 500_000).is_some());
    let (mut world, id) = with_slots(&[0]);
    restored(world.rooms.get_mut(&id).unwrap().collecting.as_mut().unwrap());
    assert_eq!(said(&mut world, 500_000), None, "there are not enough");
}

/// Two of five may be corrupt: if they take turns, they get one slot more than the fullest honest
/// server has given out, and no more.
#[test]
fn corrupt_servers_together_do_not_outrun_the_honest_ones() {
    let trust = Trust::new(5, 2, ostrakon_party::Delivery::Stoppable).unwrap();
    let mut collecting = Collecting::new(0, 0, 0, 2, None, trust);
    let owner = |slot| Owner { key: key(slot), announcement: 0 };
    for slot in [0, 5, 10, 15, 20, 1, 2] {
        collecting.assign(slot, owner(slot));
    }
    let bound = |party| collecting.most_for(PartyId(party), &[1; 5]);
    // Server 0 has given out five, servers 1 and 2 one each.
    assert_eq!(bound(1), 2, "what one other server has may be invented");
    assert_eq!(bound(0), 2);
    assert_eq!(collecting.most_for(PartyId(1), &[0; 5]), 1, "it has heard of none");
    assert_eq!((collecting.lowest_free[PartyId(0)], collecting.lowest_free[PartyId(4)]), (25, 4));
    for slot in (0..50).filter(|slot| !collecting.slots.contains_key(slot)).collect::<Vec<_>>() {
        collecting.assign(slot, owner(slot));
    }
    let bound = |party| collecting.most_for(PartyId(party), &[1; 5]);
    assert_eq!(
        bound(1),
        14,
        "half of what three have beyond the minimum: two of them take as many"
    );
}

/// In how many turns so many come in at each of three servers, all of which hear of each other
/// between two turns.
fn turns(each: u32, minimum: u32) -> u32 {
    let (mut world, id) = with_slots(&[]);
    let room = world.rooms.get_mut(&id).unwrap();
    room.descriptor.capacity = 3 * each;
    room.collecting.as_mut().unwrap().minimum = minimum;
    for turn in 0.. {
        let collecting = world.rooms[&id].collecting.as_ref().unwrap();
        if collecting.slots.len() as u32 == 3 * each {
            return turn;
        }
        let without = |number: &u32| collecting.slot_of(&person(*number)).is_none();
        let give = |class: u32| {
            let present = (0..each).map(|number| 3 * number + class).filter(without);
            let present: Vec<Waiting> =
                present.map(|number| Waiting { key: person(number), stays: false }).collect();
            given(assign(&world, PartyId(class as u8), &id, &present))
        };
        let words: Vec<_> = (0..3).flat_map(give).collect();
        let collecting = world.rooms.get_mut(&id).unwrap().collecting.as_mut().unwrap();
        for (slot, key) in words {
            collecting.assign(slot, Owner { key, announcement: 0 });
        }
    }
    unreachable!("the turns do not end")
}

fn person(number: u32) -> VerifyingKey {
    let mut key = [0; 32];
    key[..4].copy_from_slice(&number.to_le_bytes());
    VerifyingKey(key)
}

/// What the minimum needs comes in evenly; beyond it, a crowd need not.
#[test]
fn a_crowd_comes_in_within_few_turns_once_the_minimum_is_met() {
    assert_eq!([2, 5, 16, 100].map(|minimum| turns(1000, minimum)), [13, 16, 22, 33]);
    assert_eq!(turns(1000, 2000), 45, "all are needed");
}

/// Should a server give its slots to people who have others', that leaves the others the minimum.
#[test]
fn who_gives_out_far_more_than_the_others_leaves_them_the_minimum() {
    let mut collecting = Collecting::new(0, 0, 0, 4, None, Trust::one_of_three());
    let mut bounds = Vec::new();
    for number in 0..10 {
        for class in 1..3 {
            let slot = 3 * number + class;
            collecting.assign(slot, Owner { key: key(slot), announcement: number.into() });
        }
        bounds.push(collecting.most_for(PartyId(0), &[0, 100, 100]));
    }
    assert_eq!(bounds, [2, 3, 4, 5, 6, 8, 10, 12, 14, 16]);
    assert_eq!(collecting.most_for(PartyId(0), &[0, 10, 0]), 12, "it has heard of one alone");
    assert_eq!(collecting.most_for(PartyId(0), &[0, 10, 3]), 12);
    assert_eq!(collecting.most_for(PartyId(0), &[0, 10, 7]), 13);
}
