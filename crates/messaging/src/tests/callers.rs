//! What callers can make of a user's contacts, links and attention.

use super::World;
use crate::params::{CALLS_OF_LINK, CHANNELS, CONTACTS, HISTORY, OUTGOING};
use crate::{ContactState, Event, Message, MessageState, Refused};

/// What a client was told of calls: whether each was by somebody known.
fn calls(world: &World, client: usize) -> Vec<bool> {
    let call = |event: &Event| match event {
        Event::Called { known, .. } => Some(*known),
        _ => None,
    };
    world.events[client].iter().filter_map(call).collect()
}

/// Who calls twice, naming the same link of its own, is no acquaintance by that.
#[test]
fn a_stranger_that_calls_twice_is_a_stranger() {
    let mut world = World::new(2, 31);
    let bob = world.clients[0].add_link("public", &mut world.rng).unwrap();
    let own = world.clients[1].add_link("", &mut world.rng).unwrap();
    let contact = world.clients[1].add_contact(bob.callee, "Bob").unwrap();
    for _ in 0..3 {
        world.clients[1].call(contact, Some(own.number), &mut world.rng).unwrap();
        world.dial();
        world.clients[1].end(contact).unwrap();
    }
    assert_eq!(calls(&world, 0), [false], "told once, and not as somebody known");
    let seen = world.clients[0].contacts();
    assert_eq!(seen.len(), 1);
    assert!(!seen[0].added && seen[0].called_by == Some(bob.number));
    // Its last call is the one that can be accepted.
    world.clients[1].call(contact, Some(own.number), &mut world.rng).unwrap();
    world.dial();
    world.clients[0].accept(seen[0].number, &mut world.rng).unwrap();
    world.dial();
    world.dial();
    assert_eq!(world.clients[1].contacts()[0].state, ContactState::Talking);
    assert!(world.clients[0].contacts()[0].added);
}

/// Two whom somebody calls are not named the same link, and whoever was given one is named that.
#[test]
fn each_contact_is_named_a_link_of_its_own() {
    let mut world = World::new(3, 32);
    let others = [1, 2].map(|at| world.clients[at].add_link("for Ann", &mut world.rng).unwrap());
    let labelled = world.clients[0].add_link("Carol", &mut world.rng).unwrap();
    for (other, name) in others.iter().zip(["Bob", "Carol"]) {
        let contact = world.clients[0].add_contact(other.callee.clone(), name).unwrap();
        world.clients[0].engage(contact, &mut world.rng).unwrap();
    }
    let links = world.clients[0].links();
    assert_eq!(links.iter().map(|link| &*link.label).collect::<Vec<_>>(), ["Carol", "Bob"]);
    world.dial();
    world.dial();
    let mut named = [1, 2].map(|at| {
        let contact = &world.clients[at].contacts[0];
        contact.incoming.as_ref().unwrap().from.as_ref().unwrap().to_text()
    });
    assert_eq!(named[1], labelled.callee.to_text());
    named.sort_unstable();
    assert_ne!(named[0], named[1]);
    // Who accepts a call names the link that was called when it calls back.
    world.clients[1].accept(0, &mut world.rng).unwrap();
    assert_eq!(world.clients[1].contacts[0].given, Some(others[0].number));
    world.clients[1].revoke(others[0].number).unwrap();
    assert_eq!(world.clients[1].contacts[0].given, None);
    let gave = |world: &mut World, link| world.clients[0].gave(0, link);
    assert_eq!(gave(&mut world, 9), Err(Refused::NoLink(9)));
    assert_eq!(gave(&mut world, labelled.number), Ok(()));
}

/// Public links that are flooded and taken back, again and again, use up nothing.
#[test]
fn revoking_leaves_nobody_behind() {
    let mut world = World::new(CALLS_OF_LINK + 1, 33);
    for _ in 0..CONTACTS / CALLS_OF_LINK + 1 {
        let public = world.clients[0].add_link("public", &mut world.rng).unwrap();
        for caller in 1..=CALLS_OF_LINK {
            let contact =
                world.clients[caller].add_contact(public.callee.clone(), "victim").unwrap();
            world.clients[caller].call(contact, None, &mut world.rng).unwrap();
        }
        world.dial();
        assert_eq!(world.clients[0].contacts().len(), CALLS_OF_LINK);
        world.clients[0].revoke(public.number).unwrap();
        assert!(world.clients[0].contacts().is_empty());
        for caller in 1..=CALLS_OF_LINK {
            let contact = world.clients[caller].contacts()[0].number;
            world.clients[caller].remove_contact(contact).unwrap();
        }
    }
}

/// No more calls go out at a time than conversations could follow: what is tried on every row is
/// bounded by that, and as much whether anybody is called.
#[test]
fn calls_that_go_out_are_bounded() {
    let mut world = World::new(2, 34);
    for at in 0..=usize::from(CHANNELS) {
        let link = world.clients[1].add_link("", &mut world.rng).unwrap();
        let contact = world.clients[0].add_contact(link.callee, "x").unwrap();
        let called = world.clients[0].call(contact, None, &mut world.rng);
        let full = at == usize::from(CHANNELS);
        assert_eq!(called, if full { Err(Refused::NoChannel) } else { Ok(()) });
    }
    assert_eq!(world.clients[0].links().len(), 0, "no link was made for a call that was refused");
}

/// Names that callers give cannot turn around or hide what is written beside them.
#[test]
fn a_name_cannot_turn_the_writing() {
    let mut world = World::new(2, 35);
    let link = world.clients[0].add_link("", &mut world.rng).unwrap();
    world.clients[1].name = "a\u{202e}b\u{200b}\nc".into();
    let contact = world.clients[1].add_contact(link.callee, "x").unwrap();
    world.clients[1].call(contact, None, &mut world.rng).unwrap();
    world.dial();
    assert_eq!(world.clients[0].contacts()[0].name, "a\u{fffd}b\u{fffd}\u{fffd}c");
}

/// A partner's flood does not push out what waits for it.
#[test]
fn a_flood_pushes_out_nothing_that_waits() {
    let mut world = World::new(2, 36);
    let (contact, _) = world.connect(0, 1);
    for number in 0..OUTGOING {
        world.clients[0].say(contact, &format!("{number}")).unwrap();
    }
    let of_contact = &mut world.clients[0].contacts[0];
    for _ in 0..2 * HISTORY {
        of_contact.note(false, "flood".into(), Some(1));
    }
    let waits = |message: &&Message| message.own && message.state == MessageState::Waiting;
    assert_eq!(of_contact.history.iter().filter(waits).count(), OUTGOING);
    assert_eq!(of_contact.history.len(), HISTORY);
}

/// Who lets everybody in gets its channels back from those who are gone.
#[test]
fn silent_conversations_make_room() {
    let mut world = World::new(3, 37);
    world.connect(0, 1);
    world.connect(2, 1);
    for _ in 0..20 {
        (0..5).for_each(|_| world.round_of(&[false, true, true]));
    }
    world.clients[1].give_up_silent(10);
    let states: Vec<_> = world.clients[1].contacts().iter().map(|c| c.state).collect();
    assert_eq!(states, [ContactState::Idle, ContactState::Talking]);
}
