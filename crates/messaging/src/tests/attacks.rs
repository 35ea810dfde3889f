//! Attacks of the design that apply where everybody reads every board, by name. Those on fetching
//! have nothing to work on (specification, section 8); `round_reused` and replays of rows within a
//! conversation are beside [`crate::talk`].

use std::collections::BTreeSet;

use rand_core::Rng;

use super::{ROOM, WIDTH, World, generator};
use crate::dial::{self, Place};
use crate::params::{CALLS_OF_LINK, CYCLE};
use crate::{Client, ContactState, Event, MessageState, Refused, Turn};

/// Two people find each other, talk, verify, and end.
#[test]
fn two_people_talk_and_nobody_else_hears() {
    let mut world = World::new(5, 1);
    let (contact, called) = world.connect(0, 1);
    world.clients[0].say(contact, "hello").unwrap();
    world.clients[1].say(called, "and you?").unwrap();
    for _ in 0..3 {
        world.dial();
    }
    assert_eq!((world.heard(1), world.heard(0)), (vec!["hello"], vec!["and you?"]));
    assert!((2..5).all(|other| world.events[other].is_empty()));
    let view = |client: usize| world.clients[client].contacts().remove(0);
    assert_eq!(view(0).code, view(1).code);
    assert_eq!(view(0).code.unwrap().len(), 8 * 5 + 7);
    assert_eq!(view(0).messages[0].state, MessageState::Delivered);
    world.clients[0].end(contact).unwrap();
    for _ in 0..15 {
        world.dial();
    }
    assert!(world.events[1].contains(&Event::Ended { contact: called }));
    let states = [0, 1].map(|client| world.clients[client].contacts()[0].state);
    assert_eq!(states, [ContactState::Idle; 2]);
}

/// Somebody with two conversations writes one row in every round, each in its channel's.
#[test]
fn two_talks_one_round() {
    let mut world = World::new(3, 2);
    let (first, _) = world.connect(0, 1);
    let (second, _) = world.connect(0, 2);
    for contact in [first, second] {
        world.clients[0].say(contact, "words").unwrap();
    }
    for _ in 0..3 * CYCLE {
        world.round();
        assert_eq!(world.board.len(), 3, "one row each");
    }
    assert_eq!((world.heard(1), world.heard(2)), (vec!["words"], vec!["words"]));
    let channels: BTreeSet<_> = world.clients[0]
        .contacts
        .iter()
        .map(|contact| contact.talk.as_ref().unwrap().channel)
        .collect();
    assert_eq!(channels.len(), 2, "one partner each channel");
}

/// Nobody gets a second row of a round out of a client: not by asking again, not after its board,
/// not after a stop, not after a restart.
#[test]
fn second_address() {
    let mut world = World::new(2, 3);
    let (contact, _) = world.connect(0, 1);
    world.clients[0].say(contact, "words").unwrap();
    let (round, mut rng) = (world.round, generator(9));
    let client = &mut world.clients[0];
    client.next_row(round, &mut rng).unwrap();
    let refused = Err(Refused::Spent(round));
    assert_eq!(client.next_row(round, &mut rng), refused);
    let key = ostrakon_crypto::Secret::new([1; 32]);
    let mut restarted = Client::open(&key, &client.seal(&key, &mut rng)).unwrap();
    assert_eq!(restarted.next_row(round, &mut rng), refused);
    restarted.on_stopped(round);
    assert_eq!(restarted.next_row(round, &mut rng), refused);
    restarted.on_round(round + 1, &[]);
    assert_eq!(restarted.next_row(round + 1, &mut rng), Err(Refused::Spent(round + 1)));
}

/// Whoever has a public link cannot tell that its owner is called, nor read the calls: marks and
/// keys come from the owner's secret half, which is not in the link.
#[test]
fn public_link_watcher() {
    let mut world = World::new(3, 7);
    let link = world.clients[1].add_link("on my page", &mut world.rng).unwrap();
    let contact = world.clients[0].add_contact(link.callee.clone(), "callee").unwrap();
    world.clients[0].call(contact, None, &mut world.rng).unwrap();
    while Turn::of(world.round) != Turn::Dialing {
        world.round();
    }
    let round = world.round;
    world.round();
    assert!(world.called(1).is_some());
    // All that a watcher has besides its own secrets: the link. It tries its own key and, as keys,
    // the public half and the secret of the link.
    let place = Place { room: &ROOM, round, width: WIDTH };
    let mut secret = [0; 32];
    secret[..16].copy_from_slice(&link.callee.secret.0);
    let watchers = [link.callee.key, secret, [7; 32]].map(crate::hidden::Hidden);
    for row in &world.board {
        for own in &watchers {
            assert!(dial::read_call(place, &own.exchange(), &link.callee.secret, row).is_none());
        }
    }
    // And a mark is another one for the same key in every call.
    let again: Vec<_> = (0..2)
        .map(|_| {
            let call = dial::Call { once: [9; 32], channels: 1, name: "a".into(), from: None };
            dial::call(place, &link.callee, &call, None, &mut world.rng).unwrap()
        })
        .collect();
    assert_ne!(again[0][33..49], again[1][33..49]);
}

/// A link that was taken back is heard no more; what it led to goes on.
#[test]
fn revoked_link() {
    let mut world = World::new(3, 8);
    let link = world.clients[1].add_link("", &mut world.rng).unwrap();
    for caller in [0, 2] {
        let contact = world.clients[caller].add_contact(link.callee.clone(), "c").unwrap();
        if caller == 0 {
            world.clients[0].call(contact, None, &mut world.rng).unwrap();
            world.dial();
            let called = world.called(1).unwrap();
            world.clients[1].accept(called, &mut world.rng).unwrap();
            world.dial();
            world.dial();
        }
    }
    world.clients[1].revoke(link.number).unwrap();
    world.clients[2].call(0, None, &mut world.rng).unwrap();
    world.clients[0].say(0, "still here").unwrap();
    world.events[1].clear();
    for _ in 0..3 {
        world.dial();
    }
    assert_eq!(world.heard(1), ["still here"]);
    assert_eq!(world.called(1), None);
    assert_eq!(world.clients[1].revoke(link.number), Err(Refused::NoLink(link.number)));
}

/// Two links of one person have nothing in common, nor do the answers to calls by them.
#[test]
fn links_read_together() {
    let mut world = World::new(3, 9);
    let links = [0, 1].map(|_| world.clients[2].add_link("", &mut world.rng).unwrap().callee);
    let bytes: BTreeSet<_> = links.iter().flat_map(|link| link.key.chunks(4)).collect();
    assert_eq!(bytes.len(), 16);
    assert!(links[0].secret != links[1].secret);
    for (caller, link) in links.into_iter().enumerate() {
        let contact = world.clients[caller].add_contact(link, "c").unwrap();
        world.clients[caller].call(contact, None, &mut world.rng).unwrap();
    }
    world.dial();
    let calls: Vec<_> = world.clients[2].contacts().iter().map(|view| view.number).collect();
    assert_eq!(calls.len(), 2);
    for call in calls {
        world.clients[2].accept(call, &mut world.rng).unwrap();
    }
    let contacts = &world.clients[2].contacts;
    let answers = [0, 1].map(|at| contacts[at].answering.as_ref().unwrap().answer.clone());
    assert_ne!(answers[0].once, answers[1].once);
    assert_ne!(answers[0].channel, answers[1].channel);
    world.dial();
    world.dial();
    world.dial();
    let codes = [0, 1].map(|caller| world.clients[caller].contacts()[0].code.clone());
    assert!(codes[0].is_some() && codes[1].is_some() && codes[0] != codes[1]);
}

/// Rows of dial rounds, shown again later, call nobody.
#[test]
fn replayed_calls() {
    let mut world = World::new(3, 10);
    let link = world.clients[1].add_link("", &mut world.rng).unwrap();
    let contact = world.clients[0].add_contact(link.callee, "c").unwrap();
    world.clients[0].call(contact, None, &mut world.rng).unwrap();
    world.dial();
    let called = world.called(1).unwrap();
    let old = world.board.clone();
    world.clients[1].decline(called).unwrap();
    assert!(world.clients[1].contacts().is_empty(), "nobody whom the user knows");
    world.clients[0].end(contact).unwrap();
    world.events[1].clear();
    // Not because it is remembered.
    world.clients[1].seen.clear();
    for _ in 0..CYCLE - 1 {
        world.round();
    }
    world.board = old;
    world.show(&[true; 3]);
    assert!(world.events[1].is_empty());
    // Nor does a second board of a round that was read.
    world.clients[0].call(contact, None, &mut world.rng).unwrap();
    while Turn::of(world.round) != Turn::Dialing {
        world.round();
    }
    let round = world.round;
    let row = world.clients[0].next_row(round, &mut world.rng).unwrap();
    assert!(world.clients[1].on_round(round, &[]).is_empty());
    assert!(world.clients[1].on_round(round, &[&row]).is_empty());
    assert_eq!(world.clients[2].on_round(round, &[&row]).len(), 0);
}

/// Many callers with one link fill what is kept of that link, and no more; others come through.
#[test]
fn flooding_of_dials() {
    let flood = CALLS_OF_LINK + 5;
    let mut world = World::new(flood + 2, 11);
    let (victim, friend) = (flood, flood + 1);
    let public = world.clients[victim].add_link("public", &mut world.rng).unwrap();
    let private = world.clients[victim].add_link("private", &mut world.rng).unwrap();
    for caller in 0..flood {
        let contact = world.clients[caller].add_contact(public.callee.clone(), "v").unwrap();
        world.clients[caller].call(contact, None, &mut world.rng).unwrap();
    }
    world.dial();
    assert_eq!(world.clients[victim].contacts().len(), CALLS_OF_LINK);
    assert!(world.events[victim].contains(&Event::CallsDropped { count: 5 }));
    let contact = world.clients[friend].add_contact(private.callee, "v").unwrap();
    world.clients[friend].call(contact, None, &mut world.rng).unwrap();
    world.dial();
    assert_eq!(world.clients[victim].contacts().len(), CALLS_OF_LINK + 1);
    world.clients[victim].revoke(public.number).unwrap();
    let calls = world.clients[victim].contacts();
    let waiting = calls.iter().filter(|view| view.state == ContactState::Called).count();
    assert_eq!(waiting, 1, "what came by the link is gone with it");
}

/// Who is known by a link and proves it is recognised; who only knows the link of another is not.
#[test]
fn a_caller_is_known_by_its_link() {
    let mut world = World::new(3, 12);
    let links = [0, 1].map(|at| world.clients[at].add_link("", &mut world.rng).unwrap());
    let [ann, bob] = links;
    world.clients[1].add_contact(ann.callee.clone(), "Ann").unwrap();
    let contact = world.clients[0].add_contact(bob.callee.clone(), "Bob").unwrap();
    world.clients[0].call(contact, Some(ann.number), &mut world.rng).unwrap();
    let contact = world.clients[2].add_contact(bob.callee, "Bob").unwrap();
    world.clients[2].call(contact, None, &mut world.rng).unwrap();
    world.dial();
    let known = |event: &Event| match event {
        Event::Called { contact: 0, known: true, .. } => Some(true),
        Event::Called { known: false, .. } => Some(false),
        _ => None,
    };
    let mut heard: Vec<_> = world.events[1].iter().filter_map(known).collect();
    heard.sort_unstable();
    assert_eq!(heard, [false, true]);
}

/// Two who call each other at the same time have one conversation, without a question.
#[test]
fn two_who_call_each_other_talk() {
    let mut world = World::new(2, 13);
    let links = [0, 1].map(|at| world.clients[at].add_link("", &mut world.rng).unwrap());
    for (caller, callee) in [(0, 1), (1, 0)] {
        let to = links[callee].callee.clone();
        let contact = world.clients[caller].add_contact(to, "the other").unwrap();
        let from = Some(links[caller].number);
        world.clients[caller].call(contact, from, &mut world.rng).unwrap();
        world.clients[caller].say(contact, "hello").unwrap();
    }
    for _ in 0..5 {
        world.dial();
    }
    assert_eq!((world.heard(0), world.heard(1)), (vec!["hello"], vec!["hello"]));
    let codes = [0, 1].map(|at| world.clients[at].contacts()[0].code.clone());
    assert!(codes[0].is_some() && codes[0] == codes[1]);
}

/// An answer that nobody comes back for is given up, and its channel is free again.
#[test]
fn a_caller_that_is_gone_keeps_no_channel() {
    let mut world = World::new(2, 14);
    let link = world.clients[1].add_link("", &mut world.rng).unwrap();
    let contact = world.clients[0].add_contact(link.callee, "c").unwrap();
    world.clients[0].call(contact, None, &mut world.rng).unwrap();
    world.dial();
    let called = world.called(1).unwrap();
    world.clients[1].accept(called, &mut world.rng).unwrap();
    assert_eq!(world.clients[1].free_channels().count_ones(), 3);
    for _ in 0..CYCLE * u64::from(crate::params::ANSWERS) {
        world.round_of(&[false, true]);
    }
    assert!(world.events[1].contains(&Event::Unanswered { contact: called }));
    assert_eq!(world.clients[1].free_channels().count_ones(), 4);
}

/// Boards of anything at all panic nobody.
#[test]
fn boards_of_nonsense_are_read() {
    let mut world = World::new(2, 15);
    world.connect(0, 1);
    let mut rng = generator(16);
    for _ in 0..4 * CYCLE {
        let round = world.round;
        world.clients[0].next_row(round, &mut rng).unwrap();
        world.board = (0..20)
            .map(|_| {
                let mut row = vec![0; rng.next_u32() as usize % 400];
                rng.fill_bytes(&mut row);
                if let Some(first) = row.first_mut() {
                    *first = 1;
                }
                row
            })
            .collect();
        world.show(&[true, false]);
    }
    assert!(world.heard(0).is_empty());
}
