//! Those who answer a call at once, and speak before the caller can hear them.

use super::World;
use crate::params::CYCLE;
use crate::{Event, MessageState};

/// What a client is told that its partner has.
fn delivered(world: &World, who: usize) -> Vec<String> {
    let contacts = world.clients[who].contacts();
    let messages = contacts.into_iter().flat_map(|contact| contact.messages);
    let there = messages.filter(|message| message.own && message.state == MessageState::Delivered);
    there.map(|message| message.text).collect()
}

/// Nobody is told that the partner has what the partner was not shown.
fn expect_truth(world: &World) {
    for who in [0, 1] {
        let (delivered, heard) = (delivered(world, who), world.heard(1 - who));
        assert!(delivered.len() <= heard.len(), "{delivered:?} of {heard:?}");
        assert_eq!(heard[..delivered.len()], delivered[..]);
    }
}

/// Client 0 calls client 1 in round 4. Client 1 reads that board, accepts and speaks, and makes its
/// row of round 5 then; both go on to speak in every round, and the caller is not there in those
/// that are named. Everything arrives once and in order. Returns the rounds in which the caller and
/// the callee read the partner's first word.
fn answered_at_once(seed: u64, away: &[u64]) -> [u64; 2] {
    let mut world = World::new(3, seed);
    let link = world.clients[1].add_link("", &mut world.rng).unwrap();
    let contact = world.clients[0].add_contact(link.callee, "callee").unwrap();
    world.clients[0].call(contact, None, &mut world.rng).unwrap();
    world.dial();
    let caller = world.called(1).expect("the call was heard");
    world.clients[1].accept(caller, &mut world.rng).unwrap();
    let mut said = [Vec::new(), Vec::new()];
    for round in CYCLE..8 * CYCLE {
        for (who, partner) in [(0, contact), (1, caller)] {
            let text = format!("{who} in round {round}");
            world.clients[who].say(partner, &text).unwrap();
            said[who].push(text);
        }
        world.round_of(&[!away.contains(&round), true, true]);
        expect_truth(&world);
    }
    // One part goes out in a cycle.
    for _ in 0..8 * CYCLE {
        world.dial();
        expect_truth(&world);
    }
    for who in [0, 1] {
        assert_eq!(world.heard(1 - who), said[who], "what {who} said");
        assert_eq!(delivered(&world, who), said[who], "all of it is known to be there");
    }
    assert!(world.events[2].is_empty());
    [0, 1].map(|who| first_read(&world, who))
}

/// The round in which a client read its partner's first word.
fn first_read(world: &World, who: usize) -> u64 {
    let received = |event: &Event| match event {
        Event::Received { contact, message, .. } => Some((*contact, *message)),
        _ => None,
    };
    let (contact, number) = world.events[who].iter().find_map(received).expect("it was heard");
    let contacts = world.clients[who].contacts();
    let of_contact = contacts.iter().find(|view| view.number == contact).expect("it is known");
    let message = of_contact.messages.iter().find(|message| message.number == number);
    message.and_then(|message| message.round).expect("the round is kept")
}

/// The answer comes with the callee's first word, in round 5; the caller writes from round 10 on.
#[test]
fn who_answers_at_once_is_heard_from_the_first_word_on() {
    assert_eq!(answered_at_once(71, &[]), [5, 10]);
}

/// The caller misses the first answer, and reads the one in the dial round that follows or, if it
/// misses that as well, the one in round 10. What was written in round 5 comes again as soon as the
/// callee knows that the caller lacks it, though there is always something new to say.
#[test]
fn what_was_written_before_the_caller_heard_the_answer_comes_again() {
    assert_eq!(answered_at_once(72, &[5]), [15, 10]);
    assert_eq!(answered_at_once(73, &[5, 9]), [20, 15]);
}
