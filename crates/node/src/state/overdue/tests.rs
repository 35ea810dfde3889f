//! Whose word is told to be missing for an epoch to go on, and from when.

use ostrakon_mixing::room::RoomId;
use ostrakon_party::PartySet;

use super::*;
use crate::state::Computing;
use crate::state::scheduling::tests::{all_due, batch, descriptor, said, with_slots, world};

const ME: PartyId = PartyId(1);

/// Whose word is missing, as this server sees it.
fn by(world: &World, id: &RoomId, now: u64) -> Option<Vec<PartyId>> {
    overdue(&world.rooms[id], ME, &[], now).map(|found| found.by)
}

/// Nobody waits in silence for an epoch that somebody does not close.
#[test]
fn an_epoch_that_could_be_closed_and_is_not_is_told_with_whose_word_is_missing() {
    let (mut world, id) = with_slots(&[0, 1, 2]);
    let late = 11_000 + OVERDUE_MS;
    drop(said(&mut world, 11_000));
    assert_eq!(by(&world, &id, late - 1), None, "a restart takes its time");
    let others = vec![PartyId(0), PartyId(2)];
    let told = Overdue { since: 11_000, by: others };
    assert_eq!(overdue(&world.rooms[&id], ME, &[], late), Some(told), "of itself it knows");
    all_due(&mut world, &id);
    assert_eq!(
        by(&world, &id, late),
        Some(vec![SCHEDULER]),
        "all have said it: it is to be closed"
    );
    // Whoever waits for news hears of it once.
    let before = world.rooms[&id].version;
    assert_eq!(newly_overdue(&world, ME, late), [id]);
    note_overdue(&mut world, &[id]);
    assert!(world.rooms[&id].version > before);
    assert_eq!(newly_overdue(&world, ME, late), []);
    // Nobody's is while earlier ones are computed.
    let computing = Computing { batch: 9, minimum: 2, phase: None };
    let room = world.rooms.get_mut(&id).unwrap();
    room.computing = (0..MOST_COMPUTING as u64).map(|number| (number + 10, computing)).collect();
    assert_eq!(by(&world, &id, late), Some(Vec::new()));
    // Too few are not overdue, however long they wait.
    let (mut few, id) = with_slots(&[0, 1]);
    drop(said(&mut few, 1_000_000));
    assert_eq!(by(&few, &id, 1_000_000), None);
}

/// Nor for one that the scheduler does not open, or plans nothing for.
#[test]
fn an_epoch_that_could_be_opened_and_is_not_is_told_to_wait_for_the_scheduler() {
    let (mut world, id) = world(2);
    note_owed(&mut world, 5_000);
    note_owed(&mut world, 5_100);
    let late = 5_000 + OVERDUE_MS;
    assert_eq!(by(&world, &id, late - 1), None, "an honest one opens it at its next beat");
    let told = Overdue { since: 5_000, by: vec![SCHEDULER] };
    assert_eq!(overdue(&world.rooms[&id], ME, &[], late), Some(told));
    let before = world.version;
    assert_eq!(newly_overdue(&world, ME, late), [id]);
    note_overdue(&mut world, &[id]);
    note_owed(&mut world, late);
    assert!(world.rooms[&id].version > before);
    assert_eq!(newly_overdue(&world, ME, late), [], "it is told once");
    // It uses the batch for another room: that is no silence.
    world.batches.get_mut(&0).unwrap().used = true;
    note_owed(&mut world, late);
    assert_eq!(by(&world, &id, late), None);
    assert_eq!(by(&world, &id, late + OVERDUE_MS), Some(vec![SCHEDULER]), "of the other batch");
    // While one is prepared, nobody is named, however long that takes.
    world.batches.get_mut(&1).unwrap().said[PartyId(2)] = None;
    note_owed(&mut world, late);
    assert_eq!(by(&world, &id, 1_000_000), None);
    // It falls through, and the scheduler plans no other one.
    world.batches.get_mut(&1).unwrap().dropped = PartySet::from_iter([PartyId(2)]);
    note_owed(&mut world, late);
    assert_eq!(by(&world, &id, late + OVERDUE_MS), Some(vec![SCHEDULER]));
    // A pause after a setback is none of its whims.
    world.setbacks = (1, late);
    note_owed(&mut world, late);
    assert_eq!(by(&world, &id, late + OVERDUE_MS), None);
    // Nobody waits for anything in a closed room.
    world.batches.insert(2, batch(Form::of(&descriptor(9))));
    note_owed(&mut world, late);
    assert!(by(&world, &id, late + OVERDUE_MS).is_some());
    world.rooms.get_mut(&id).unwrap().open = false;
    assert_eq!(by(&world, &id, late + OVERDUE_MS), None);
}

/// Whatever is said is heard with everybody's echo only, so these may have spoken.
#[test]
fn a_silent_server_is_named_in_the_place_of_whom_it_silences() {
    let (mut world, id) = with_slots(&[0, 1, 2]);
    drop(said(&mut world, 11_000));
    let (late, silent) = (11_000 + OVERDUE_MS, [PartyId(2)]);
    let by =
        |world: &World, now| overdue(&world.rooms[&id], ME, &silent, now).map(|found| found.by);
    assert_eq!(by(&world, late), Some(silent.to_vec()), "what P0 said may wait for its echo");
    all_due(&mut world, &id);
    assert_eq!(by(&world, late), Some(silent.to_vec()));
    assert_eq!(by(&world, late - 1), None);
    let room = world.rooms.get_mut(&id).unwrap();
    room.collecting = None;
    note_owed(&mut world, late);
    assert_eq!(by(&world, late + OVERDUE_MS), Some(silent.to_vec()));
}
