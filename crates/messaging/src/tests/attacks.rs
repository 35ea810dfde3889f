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

/// How often each byte of rows has its highest bit set, and how many enter as keys of the curve.
fn shape(rows: &[Vec<u8>], dialing: bool) -> Vec<f64> {
    let count = rows.len() as f64;
    let mut shape: Vec<f64> = (1..WIDTH)
        .map(|at| rows.iter().filter(|row| row[at] & 0x80 != 0).count() as f64 / count)
        .collect();
    if dialing {
        let on_curve = |row: &&Vec<u8>| {
            let point = curve(row[1..33].try_into().unwrap());
            point && row[32] & 0x80 == 0
        };
        shape.push(rows.iter().filter(on_curve).count() as f64 / count);
    }
    shape
}

/// Whether these bytes are the u-coordinate of a point of Curve25519, not of its twist: whether
/// u³ + 486662·u² + u is a square. What a distinguisher of keys from random bytes would test.
fn curve(bytes: &[u8; 32]) -> bool {
    on_curve::test(bytes)
}

mod on_curve {
    /// Numbers modulo 2^255 − 19 in four words, slow and plain.
    type Number = [u64; 4];
    const P: Number = [u64::MAX - 18, u64::MAX, u64::MAX, u64::MAX >> 1];

    fn reduce(mut wide: [u64; 8]) -> Number {
        for _ in 0..2 {
            let mut carry = 0u128;
            for at in 0..4 {
                let sum = u128::from(wide[at]) + 38 * u128::from(wide[at + 4]) + carry;
                wide[at] = sum as u64;
                carry = sum >> 64;
            }
            wide[4..].fill(0);
            wide[4] = carry as u64;
        }
        let mut carry = 38 * u128::from(wide[4]);
        let mut out = [0; 4];
        for at in 0..4 {
            let sum = u128::from(wide[at]) + carry;
            out[at] = sum as u64;
            carry = sum >> 64;
        }
        while out.iter().rev().ge(P.iter().rev()) {
            out = minus(out);
        }
        out
    }

    fn minus(from: Number) -> Number {
        let mut borrow = 0i128;
        let mut out = [0; 4];
        for at in 0..4 {
            let difference = i128::from(from[at]) - i128::from(P[at]) + borrow;
            out[at] = difference as u64;
            borrow = difference >> 64;
        }
        out
    }

    fn times(one: &Number, other: &Number) -> Number {
        let mut wide = [0u64; 8];
        for (i, x) in one.iter().enumerate() {
            let mut carry = 0u128;
            for (j, y) in other.iter().enumerate() {
                let sum = u128::from(wide[i + j]) + u128::from(*x) * u128::from(*y) + carry;
                wide[i + j] = sum as u64;
                carry = sum >> 64;
            }
            wide[i + 4] = carry as u64;
        }
        reduce(wide)
    }

    fn plus(one: &Number, other: &Number) -> Number {
        let mut wide = [0u64; 8];
        let mut carry = 0u128;
        for at in 0..4 {
            let sum = u128::from(one[at]) + u128::from(other[at]) + carry;
            wide[at] = sum as u64;
            carry = sum >> 64;
        }
        wide[4] = carry as u64;
        reduce(wide)
    }

    pub fn test(bytes: &[u8; 32]) -> bool {
        let word = |at: usize| u64::from_le_bytes(bytes[8 * at..8 * at + 8].try_into().unwrap());
        let u = [word(0), word(1), word(2), word(3) & u64::MAX >> 1];
        let square = times(&u, &u);
        let value = plus(&plus(&times(&square, &u), &times(&square, &[486_662, 0, 0, 0])), &u);
        // Euler: a square has value^((p − 1)/2) = 1; (p − 1)/2 = 2^254 − 10.
        let mut power = [1, 0, 0, 0];
        let exponent = [u64::MAX - 9, u64::MAX, u64::MAX, u64::MAX >> 2];
        for bit in (0..256).rev() {
            power = times(&power, &power);
            if exponent[bit / 64] >> (bit % 64) & 1 == 1 {
                power = times(&power, &value);
            }
        }
        power == [1, 0, 0, 0] || power == [0; 4]
    }
}

/// The distinguisher tells keys from random bytes: about half of the latter are on the curve.
#[test]
fn the_distinguisher_works() {
    let mut rng = generator(4);
    let mut random = [[0; 32]; 60];
    random.iter_mut().for_each(|bytes| rng.fill_bytes(bytes));
    let on = random.iter().filter(|bytes| curve(bytes)).count();
    assert!((15..=45).contains(&on), "{on} of 60");
    let key = |_| dial::fresh(&mut rng).exchange().public();
    assert!((0..20).map(key).all(|key| curve(&key)));
}

/// Rows of covers, calls and answers have one length, carry keys that all are keys, and agree in
/// every bit's frequency.
#[test]
fn dial_cover_distinguisher() {
    let place = Place { room: &ROOM, round: 4, width: WIDTH };
    let mut world = World::new(2, 5);
    let link = world.clients[1].add_link("", &mut world.rng).unwrap().callee;
    let call = dial::Call {
        once: dial::fresh(&mut world.rng).exchange().public(),
        channels: 15,
        name: "a".repeat(64),
        from: None,
    };
    let answer = dial::Answer { once: call.once, channel: 1, start: 7 };
    let rng = &mut world.rng;
    let count = 400;
    let covers: Vec<_> = (0..count).map(|_| dial::cover(place, rng)).collect();
    let calls: Vec<_> =
        (0..count).map(|_| dial::call(place, &link, &call, None, rng).unwrap()).collect();
    let answers: Vec<_> = (0..count)
        .map(|_| dial::answer(place, &link.key, &link.secret, &answer, rng).unwrap())
        .collect();
    let of_covers = shape(&covers, true);
    assert_eq!(of_covers.last(), Some(&1.0), "every cover has a key of somebody's");
    for rows in [calls, answers] {
        assert!(rows.iter().all(|row| row.len() == WIDTH && row[0] == 1));
        let distinct: BTreeSet<_> = rows.iter().map(|row| &row[1..49]).collect();
        assert_eq!(distinct.len(), count, "no key and no mark twice");
        for (at, (one, other)) in of_covers.iter().zip(shape(&rows, true)).enumerate() {
            assert!((one - other).abs() < 0.2, "byte {}: {one} and {other}", at + 1);
        }
    }
}

/// In channels' rounds, too, who talks writes rows like those of who does not.
#[test]
fn talking_and_idle_rows_are_alike() {
    let mut world = World::new(3, 6);
    let (contact, _) = world.connect(0, 1);
    let mut rows: [Vec<Vec<u8>>; 2] = [Vec::new(), Vec::new()];
    for n in 0..200 {
        if n % 3 == 0 {
            let _full = world.clients[0].say(contact, &"x".repeat(200));
        }
        let turn = Turn::of(world.round);
        for (client, into) in [(0, 0), (2, 1)] {
            let row = world.clients[client].next_row(world.round, &mut world.rng).unwrap();
            if turn != Turn::Dialing {
                rows[into].push(row);
            }
        }
        world.round += 1;
    }
    let [talking, idle] = rows.map(|rows| {
        assert!(rows.iter().all(|row| row.len() == WIDTH && row[0] == 1));
        shape(&rows, false)
    });
    for (at, (one, other)) in talking.iter().zip(idle).enumerate() {
        assert!((one - other).abs() < 0.3, "byte {}: {one} and {other}", at + 1);
    }
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
