//! When epochs open and close, who gets slots, what is prepared.

use ostrakon_broadcast::room::{RoomDescriptor, Servers};
use ostrakon_crypto::Digest;
use ostrakon_party::SessionId;

use super::*;
use crate::rooms::{BatchInfo, Computing, Held, Owner};

fn descriptor(capacity: u32) -> RoomDescriptor {
    RoomDescriptor { payload: 32, capacity, minimum: 2, ..RoomDescriptor::new("r") }
}

fn key(n: u32) -> VerifyingKey {
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&n.to_le_bytes());
    VerifyingKey(bytes)
}

fn batch(shape: Shape) -> BatchInfo {
    BatchInfo { ready: 7, held: Held::File, ..BatchInfo::planned(shape, 0) }
}

fn servers() -> Servers {
    Servers { session: SessionId(Digest([9; 32])), keys: Vec::new() }
}

/// One room of nine slots, and batches of its shape.
fn world(batches: u64) -> (World, RoomId) {
    let mut world = World::new(servers());
    let id = descriptor(9).id();
    world.rooms.insert(id, Room::new(descriptor(9), PartyId(0), &servers()));
    for number in 0..batches {
        world.batches.insert(number, batch(Shape::of(&descriptor(9))));
    }
    (world, id)
}

/// The same with an epoch that collects since time 1000, in which these slots are assigned and have submitted.
fn with_slots(slots: &[u32]) -> (World, RoomId) {
    let (mut world, id) = world(3);
    world.batches.get_mut(&0).unwrap().used = true;
    let mut collecting = Collecting::new(0, 0, 500, None);
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
    world.batches.get_mut(&0).unwrap().ready = 5;
    assert_eq!(decide(&world, 0, 1), None);
    world.batches.get_mut(&0).unwrap().dropped = 2;
    assert_eq!(
        decide(&world, 0, 1),
        Some(Body::BatchPlanned { number: 1, shape: Shape::of(&descriptor(9)) })
    );
    world.rooms.get_mut(&id).unwrap().open = false;
    assert_eq!(decide(&world, 0, 1), None);
}

#[test]
fn an_epoch_closes_by_the_clock_if_it_has_its_minimum() {
    let (mut world, id) = with_slots(&[0, 1, 2]);
    let closed = Some(Body::EpochClosed { room: id, number: 0 });
    assert_eq!(decide(&world, 10_999, 2), None);
    assert_eq!(decide(&world, 11_000, 2), closed);
    // Without the class of which most are held, one submission remains: below the minimum.
    let (few, _) = with_slots(&[0, 3]);
    assert_eq!(decide(&few, 1_000_000, 2), None);
    // An empty room uses up nothing.
    let (idle, _) = with_slots(&[]);
    assert_eq!(decide(&idle, 1_000_000_000, 2), None);
    // Full before the time.
    let (full, _) = with_slots(&[0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(decide(&full, 1001, 2), closed);
    // Not while too many are unfinished.
    let computing = Computing { batch: 9, phase: None };
    let room = world.rooms.get_mut(&id).unwrap();
    room.computing = (0..MOST_COMPUTING as u64).map(|number| (number + 10, computing)).collect();
    assert_eq!(decide(&world, 11_000, 2), None);
}

/// Everybody is at home at one server, or nearly: waiting would not help, but moving would.
#[test]
fn an_epoch_whose_participants_are_badly_spread_closes_in_the_end() {
    for slots in [[0, 3, 6], [0, 1, 3]] {
        let (world, id) = with_slots(&slots);
        assert_eq!(decide(&world, 20_999, 2), None);
        assert_eq!(decide(&world, 21_000, 2), Some(Body::EpochClosed { room: id, number: 0 }));
    }
}

#[test]
fn a_class_without_slots_left_closes_the_epoch_in_the_end() {
    let (mut world, id) = with_slots(&[1, 4, 7]);
    world.rooms.get_mut(&id).unwrap().collecting.as_mut().unwrap().submitted.clear();
    assert_eq!(decide(&world, 20_999, 2), None);
    assert_eq!(decide(&world, 21_000, 2), Some(Body::EpochClosed { room: id, number: 0 }));
}

#[test]
fn a_lost_batch_or_an_idle_closed_room_voids_the_epoch() {
    let (mut world, id) = with_slots(&[0, 1, 2]);
    let voided = Some(Body::EpochVoided { room: id, number: 0 });
    world.batches.get_mut(&0).unwrap().dropped = 2;
    assert_eq!(decide(&world, 11_000, 2), voided);
    let (mut idle, _) = with_slots(&[]);
    idle.rooms.get_mut(&id).unwrap().open = false;
    assert_eq!(decide(&idle, 0, 2), voided);
    let (mut busy, _) = with_slots(&[0, 1, 2]);
    busy.rooms.get_mut(&id).unwrap().open = false;
    assert_eq!(decide(&busy, 5_000, 2), None, "what is under way is finished");
    assert_eq!(decide(&busy, 11_000, 2), Some(Body::EpochClosed { room: id, number: 0 }));
}

#[test]
fn stock_is_planned_to_its_target_two_at_a_time_and_slowly_after_setbacks() {
    let (mut world, _) = with_slots(&[]);
    let shape = Shape::of(&descriptor(9));
    // Two are ready; a target of five lacks three, of which two are prepared at a time.
    assert_eq!(decide(&world, 0, 2), None);
    for number in 3..5 {
        assert_eq!(decide(&world, 0, 5), Some(Body::BatchPlanned { number, shape }));
        world.batches.insert(number, BatchInfo { ready: 0, held: Held::Nothing, ..batch(shape) });
    }
    assert_eq!(decide(&world, 0, 5), None);
    world.batches.get_mut(&3).unwrap().dropped = 1;
    world.setbacks = (2, 10_000);
    assert_eq!(decide(&world, 11_999, 5), None);
    assert_eq!(decide(&world, 12_000, 5), Some(Body::BatchPlanned { number: 5, shape }));
}

/// Whoever creates rooms that nobody uses makes the servers prepare one batch for each, and no more.
#[test]
fn a_room_that_nobody_uses_costs_one_batch() {
    let (mut world, id) = with_slots(&[]);
    world.batches.retain(|_, batch| batch.used);
    let planned = Some(Body::BatchPlanned { number: 1, shape: Shape::of(&descriptor(9)) });
    assert_eq!(decide(&world, USED_MS - 1, 2), planned, "it was just created, or used");
    assert_eq!(decide(&world, USED_MS, 2), None, "its epoch has a batch to wait with");
    let idle = RoomDescriptor { nonce: [1; 16], ..descriptor(9) };
    world.rooms.insert(idle.id(), Room::new(idle, PartyId(0), &servers()));
    assert_eq!(decide(&world, USED_MS, 2), planned, "one for the other room's epoch");
    world
        .batches
        .insert(1, BatchInfo { ready: 0, held: Held::Nothing, ..batch(Shape::of(&descriptor(9))) });
    assert_eq!(decide(&world, USED_MS, 2), None);
    world.rooms.get_mut(&id).unwrap().active_at = 1;
    assert!(decide(&world, USED_MS, 2).is_some(), "somebody came");
}

#[test]
fn members_and_nobody_else_get_slots() {
    let (mut world, id) = with_slots(&[]);
    let collecting = world.rooms.get_mut(&id).unwrap().collecting.as_mut().unwrap();
    collecting.members = Some(std::sync::Arc::new([key(40), key(60)].into()));
    let present = [key(50), key(40), key(60)];
    let Some(Body::Assigned { slots, .. }) = assign(&world, PartyId(1), &id, &present) else {
        panic!("slots are given out")
    };
    assert_eq!(slots, [(1, key(40)), (4, key(60))]);
}

#[test]
fn slots_go_to_those_without_one_in_order_of_arrival() {
    let (world, id) = with_slots(&[1]);
    let present = [key(50), key(1), key(40), key(60)];
    let Some(Body::Assigned { slots, epoch: 0, .. }) = assign(&world, PartyId(1), &id, &present)
    else {
        panic!("slots are given out")
    };
    assert_eq!(slots, [(4, key(50)), (7, key(40))], "the class has no third one left");
    assert_eq!(assign(&world, PartyId(1), &id, &[key(1)]), None);
    let (gap, _) = with_slots(&[7, 1]);
    let Some(Body::Assigned { slots, .. }) = assign(&gap, PartyId(1), &id, &present) else {
        panic!("one is left")
    };
    assert_eq!(slots, [(4, key(50))], "below slots that have owners");
    let (full, _) = with_slots(&[1, 4, 7]);
    assert_eq!(assign(&full, PartyId(1), &id, &[key(50)]), None);
}

#[test]
fn classes_share_all_slots() {
    for capacity in 3..20 {
        let sum: u32 = (0..SERVERS).map(|class| slots_of_class(capacity, class)).sum();
        assert_eq!(sum, capacity);
        for class in 0..SERVERS {
            let counted = (0..capacity).filter(|slot| *slot as usize % SERVERS == class).count();
            assert_eq!(slots_of_class(capacity, class) as usize, counted);
        }
    }
}
