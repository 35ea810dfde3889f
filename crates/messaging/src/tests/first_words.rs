//! How long it takes from a contact link to the first word by it, in rounds.

use super::{WIDTH, World};
use crate::dial::opening::OPENING;
use crate::params::{CHANNELS, CYCLE};
use crate::parts::room_for_text;
use crate::{ContactState, Event};

const OTHERS: usize = 20;

/// The round in which a client read something, after `since`; they play on until then.
fn hears(world: &mut World, who: usize, text: &str, accept: impl Fn(&mut World)) -> u64 {
    for _ in 0..4 * CYCLE {
        world.round();
        accept(world);
        if world.heard(who).contains(&text) {
            return world.round - 1;
        }
    }
    panic!("it was not heard: {:?}", world.clients[who].contacts());
}

/// Whoever is called accepts at once, and says something.
fn accept(world: &mut World, who: usize, text: &str) {
    for contact in world.clients[who].contacts() {
        if contact.state == ContactState::Called {
            world.clients[who].accept(contact.number, &mut world.rng).unwrap();
            world.clients[who].say(contact.number, text).unwrap();
        }
    }
}

/// One opens the other's link at each moment of a cycle, among twenty others of whom half call the
/// other half meanwhile. The callee's first word is read within a cycle and one round: there is no
/// queue, and nobody's rows take another's place. The caller's own one is read a cycle after the
/// call.
#[test]
fn a_first_word_is_read_within_a_cycle_and_a_round() {
    let mut rounds = Vec::new();
    for moment in 0..CYCLE {
        let mut world = World::new(2 + OTHERS, 90 + moment);
        (0..CYCLE + moment).for_each(|_| world.round());
        for other in 2..2 + OTHERS / 2 {
            let link = world.clients[other + OTHERS / 2].add_link("", &mut world.rng).unwrap();
            let contact = world.clients[other].add_contact(link.callee, "x").unwrap();
            world.clients[other].call(contact, None, &mut world.rng).unwrap();
        }
        let link = world.clients[0].add_link("", &mut world.rng).unwrap();
        let contact = world.clients[1].add_contact(link.callee, "Ann").unwrap();
        world.clients[1].engage(contact, &mut world.rng).unwrap();
        world.clients[1].say(contact, "Is it you?").unwrap();
        let opened = world.round;
        let answers = |world: &mut World| {
            accept(world, 0, "It is me.");
            (2 + OTHERS / 2..2 + OTHERS).for_each(|other| accept(world, other, "x"));
        };
        let first = hears(&mut world, 1, "It is me.", answers) + 1 - opened;
        let second = hears(&mut world, 0, "Is it you?", answers) + 1 - opened;
        assert_eq!((first, second), (CYCLE - moment + 1, 2 * CYCLE - moment + 1));
        rounds.push(first);
        // The others have their words as soon.
        let spoken = |who| world.heard(who) == ["x"];
        assert!((2..2 + OTHERS / 2).all(spoken));
        let told =
            |event: &Event| matches!(event, Event::Copied { .. } | Event::CallsDropped { .. });
        assert!(!world.events.iter().flatten().any(told));
    }
    println!("first words after {rounds:?} rounds of {CYCLE} in a cycle");
    assert_eq!(rounds.iter().max(), Some(&(CYCLE + 1)));
    assert_eq!(rounds.iter().sum::<u64>(), 4 * CYCLE, "four rounds in the mean");
}

/// As many as there are channels call one person at the same time. Each has its first word in the
/// round of its channel, and nobody waits for another.
#[test]
fn callers_do_not_wait_for_each_other() {
    let callers = usize::from(CHANNELS);
    let mut world = World::new(1 + callers, 96);
    for caller in 1..=callers {
        let link = world.clients[0].add_link("", &mut world.rng).unwrap();
        let contact = world.clients[caller].add_contact(link.callee, "Ann").unwrap();
        world.clients[caller].call(contact, None, &mut world.rng).unwrap();
    }
    world.dial();
    accept(&mut world, 0, "It is me.");
    for turn in 1..=callers {
        world.round();
        let spoken = (1..=callers).filter(|caller| world.heard(*caller) == ["It is me."]).count();
        assert_eq!(spoken, turn);
    }
}

/// A first text of the callee's that does not fit beside the answer comes in parts that do; one
/// that would be of too many parts waits until the caller is heard.
#[test]
fn long_first_words_arrive_whole() {
    let beside = room_for_text(WIDTH - OPENING);
    for length in [beside, beside + 1, 5 * beside, 32 * beside + 1, 32 * room_for_text(WIDTH)] {
        let mut world = World::new(2, 97);
        let text = "w".repeat(length);
        let link = world.clients[0].add_link("", &mut world.rng).unwrap();
        let contact = world.clients[1].add_contact(link.callee, "Ann").unwrap();
        world.clients[1].call(contact, None, &mut world.rng).unwrap();
        world.dial();
        accept(&mut world, 0, &text);
        world.round();
        assert_eq!(world.heard(1).len(), usize::from(length == beside));
        // The answer was read all the same.
        assert_eq!(world.clients[1].contacts()[0].state, ContactState::Talking);
        for _ in 0..40 {
            world.dial();
        }
        assert_eq!(world.heard(1), [&*text]);
    }
}
