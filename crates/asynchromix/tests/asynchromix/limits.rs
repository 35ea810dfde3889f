//! What one server or participant can make others hold, say or spend.

use std::sync::Arc;

use ostrakon_agreement::dag;
use ostrakon_asynchromix::board::{Entry, Outcome, SignedEntry};
use ostrakon_asynchromix::message::{Message, Request, ToClient, ToServer};
use ostrakon_asynchromix::participant::News;
use ostrakon_asynchromix::service::Event;
use ostrakon_asynchromix::word::{MAX_ASSIGNED, Word};
use ostrakon_asynchromix::{Key, Shape};
use ostrakon_crypto::hash::digest;
use ostrakon_crypto::{Digest, SigningKey};

use crate::devices::submission;
use crate::world::{End, Role, SHAPE, World, id};

/// Keys of whom a server has written down that they ask it, in words that are not ordered.
fn assigned(world: &World, server: usize) -> usize {
    let of = |(key, value): (&Key, &Vec<u8>)| match key {
        Key::Ledger(dag::Key::Record(_)) => match Word::decode(value) {
            Some(Word::Assign(_, assigned)) => Some(assigned.len()),
            _ => None,
        },
        _ => None,
    };
    world.disks[server].0.iter().filter_map(of).sum()
}

fn ask(world: &mut World, key: &SigningKey, epoch: u64) {
    let request = Request::sign(&world.room, epoch, key, [9; 32], id(0));
    world.event(0, Event::Client(&ToServer::Request(request).encode()));
}

/// While the ledger stands, participants make their home hold no more than the places that it can
/// give out.
#[test]
fn more_requests_than_places() {
    let mut world = World::new(4, 51);
    world.stock(2);
    let keys: Vec<_> = (0..100).map(|i| SigningKey::from_seed(&[i; 32])).collect();
    let roles = world.roles.clone();
    (1..3).for_each(|i| world.roles[i] = Role::Dead);
    for key in &keys {
        ask(&mut world, key, 0);
        world.pass(1);
    }
    let quota = world.room.quota();
    assert!(assigned(&world, 0) <= quota, "{} of {quota}", assigned(&world, 0));
    // It goes on, and who waited in memory is no more than that either; whoever was turned away
    // finds a place elsewhere.
    world.roles = roles;
    world.watch(60, |world| {
        assert!(assigned(world, 0) <= quota, "{} of {quota}", assigned(world, 0));
        world.services[0].as_ref().unwrap().state().epochs[&0].of_home(id(0)) == quota
    });
    for line in ["a", "b", "c", "d", "e", "f"] {
        world.join(Some(line));
    }
    world.all_said();
    assert_eq!(world.messages(), ["a", "b", "c", "d", "e", "f"]);
}

/// More people than one word of the ledger holds ask one home at a time: all that it has room for
/// have places, and it goes on saying words.
#[test]
fn more_requests_than_a_word_holds() {
    let shape = Shape { rows: 512, payload: 4, ..SHAPE };
    let mut world = World::with(4, 56, shape, 64);
    world.stock(1);
    let quota = world.room.quota();
    assert!(quota > MAX_ASSIGNED + 10, "{quota} places are given out in one word");
    for i in 0..quota {
        let key = SigningKey::from_seed(&digest("many ask", &i.to_le_bytes()).0);
        ask(&mut world, &key, 0);
    }
    world.pass(8);
    let state = world.services[2].as_ref().unwrap().state();
    assert_eq!(state.epochs[&0].of_home(id(0)), quota);
}

/// Keys that have a place elsewhere take none of this home's: asking is free, places are not.
#[test]
fn requests_of_who_has_a_place() {
    let mut world = World::new(4, 52);
    world.stock(2);
    let quota = world.room.quota();
    let keys: Vec<_> = (0..20).map(|i| SigningKey::from_seed(&[i; 32])).collect();
    for key in &keys[..quota] {
        let elsewhere = Request::sign(&world.room, 0, key, [9; 32], id(1));
        ask(&mut world, key, 0);
        world.event(1, Event::Client(&ToServer::Request(elsewhere).encode()));
    }
    world.pass(8);
    let of = |world: &World, home: usize| {
        world.services[2].as_ref().unwrap().state().epochs[&0].of_home(id(home))
    };
    assert_eq!(of(&world, 0) + of(&world, 1), quota);
    for key in &keys[quota..] {
        ask(&mut world, key, 0);
    }
    world.pass(8);
    assert_eq!(of(&world, 0), quota, "its places are free");
}

/// A participant whose row one server alone has, or one server that says so, ends no epoch: each
/// costs a batch.
#[test]
fn a_row_that_one_server_has_ends_nothing() {
    let mut world = World::new(4, 53);
    world.stock(2);
    let alone = world.join(Some("alone"));
    let room = Arc::clone(&world.room);
    world.meddle = Box::new(move |from, to, bytes| {
        let row = from == End::Client(alone) && submission(bytes, &room).is_some();
        (!row || to == End::Server(0)).then(|| bytes.to_vec())
    });
    world.pass(12 * SHAPE.ticks as usize);
    let state = world.services[1].as_ref().unwrap().state().clone();
    assert!(state.epochs[&0].collects(), "a batch is spent on nothing");
    assert_eq!(state.entries, 0);
    assert_eq!(state.epochs[&0].places.len(), 1);
    // With company it is not lost for the others.
    for line in ["a", "b", "c", "d", "e"] {
        world.join(Some(line));
    }
    let said = |news: &Vec<News>| news.iter().any(|news| matches!(news, News::Published(_)));
    world.run(900, |world| world.news[1..].iter().all(said));
}

fn entry(messages: usize, sealed: usize) -> SignedEntry {
    let entry = Entry {
        epoch: 0,
        previous: Digest([0; 32]),
        sealed: vec![0; sealed],
        outcome: Outcome::Messages(vec![Vec::new(); messages]),
    };
    SignedEntry { entry, signatures: Vec::new() }
}

/// A byte of a frame makes a vector of an empty message: no more of them are read than a room can
/// have.
#[test]
fn entries_of_empty_messages() {
    for (messages, sealed, right) in
        [(1 << 16, 1 << 16, true), ((1 << 16) + 1, 0, false), (0, (1 << 16) + 1, false)]
    {
        let message = Message::Entry(entry(messages, sealed)).encode();
        assert_eq!(Message::decode(&message, usize::MAX).is_ok(), right);
        let room = crate::world::room(4, SHAPE);
        let answer = ToClient::Entry(entry(messages, sealed)).encode();
        assert_eq!(ToClient::decode(&answer, &room).is_ok(), right);
    }
}

/// No run has so many steps: it is no question.
#[test]
fn questions_about_endless_steps() {
    use ostrakon_asynchromix::message::RunId;
    use ostrakon_asynchromix::service::Told;
    let mut world = World::new(4, 54);
    world.stock(1);
    let again = |steps: usize| Message::Again(RunId::Epoch(0), vec![[1; 3]; steps]).encode();
    world.event(0, Event::Server(id(1), &again(100)));
    assert!(!world.told[0].iter().any(|told| matches!(told, Told::Fault(..))));
    world.event(0, Event::Server(id(1), &again(1 << 16)));
    assert!(world.told[0].contains(&Told::Fault(id(1), "malformed message")));
}

/// Entries that servers do not give any more are gone from the disk, also those that an earlier
/// version left there.
#[test]
fn old_entries_are_forgotten() {
    use ostrakon_asynchromix::room::KEPT;
    use ostrakon_party::wire;
    let mut world = World::new(4, 55);
    world.stock(1);
    world.kill(0);
    let count = KEPT + 5;
    for number in 0..count as u64 {
        let mut old = entry(0, 0);
        old.entry.epoch = number;
        world.disks[0].0.insert(Key::Entry(number), wire::encode(&old));
    }
    world.restart(0);
    let entries = || world.disks[0].0.keys().filter(|key| matches!(key, Key::Entry(_))).count();
    assert_eq!(entries(), KEPT);
    assert!(world.disks[0].0.contains_key(&Key::Entry(count as u64 - 1)));
}
