//! A thousand clients: some talk, some dial, most are idle; they come and go, rounds are stopped,
//! rows are lost, programs restart from what they wrote down. Every message arrives once and in
//! order.

use ostrakon_crypto::Secret;
use rand_core::Rng;

use super::{World, generator};
use crate::chain::Side;
use crate::client::Client;
use crate::params::{CHANNELS, CYCLE};
use crate::talk::Talk;
use crate::{Event, MessageState};

const CLIENTS: usize = 1000;
/// Pairs that are in conversation from the beginning: clients 0 and 1, 2 and 3 …
const PAIRS: usize = 300;
/// Clients that call others, by dialing.
const CALLERS: usize = 6;
/// Rounds in which things go wrong.
const ROUNDS: u64 = 20;

/// Puts two clients in conversation, as after a call.
fn introduce(world: &mut World, pair: usize) {
    let mut root = [0; 32];
    world.rng.fill_bytes(&mut root);
    let channel = (pair % usize::from(CHANNELS)) as u8;
    for (client, side) in [(2 * pair, Side::Caller), (2 * pair + 1, Side::Callee)] {
        let number = world.clients[client].new_contact("partner".into(), None).unwrap();
        let contact = world.clients[client].contact_mut(number).unwrap();
        contact.talk = Some(Talk::new(&Secret::new(root), channel, 0, side));
    }
}

/// One chance in `of`.
fn by_chance(rng: &mut impl Rng, of: u32) -> bool {
    rng.next_u32().is_multiple_of(of)
}

/// A client that is killed and started again knows what it wrote down.
fn restart(client: &mut Client, seed: u64) {
    let key = Secret::new([8; 32]);
    *client = Client::open(&key, &client.seal(&key, &mut generator(seed))).unwrap();
}

/// A round with absentees, losses, stops and restarts.
fn troubled_round(world: &mut World, present: &mut [bool]) {
    for (there, client) in present.iter_mut().zip(&mut world.clients) {
        if by_chance(&mut world.rng, 15) {
            *there = !*there;
        }
        if by_chance(&mut world.rng, 50) {
            restart(client, world.rng.next_u64());
        }
    }
    world.board.clear();
    for (client, _) in world.clients.iter_mut().zip(&*present).filter(|(_, there)| **there) {
        let row = client.next_row(world.round, &mut world.rng).unwrap();
        // Some are killed after they wrote down and before the row left, or come too late.
        if !by_chance(&mut world.rng, 20) {
            world.board.push(row);
        }
    }
    if by_chance(&mut world.rng, 6) {
        for (client, _) in world.clients.iter_mut().zip(&*present).filter(|(_, there)| **there) {
            client.on_stopped(world.round);
        }
        world.round += 1;
    } else {
        world.show(present);
    }
}

/// What was said, by client.
fn chatter(world: &mut World, said: &mut [Vec<String>]) {
    for (client, said) in said.iter_mut().enumerate().take(2 * PAIRS) {
        if by_chance(&mut world.rng, 8) {
            let long = by_chance(&mut world.rng, 10);
            let length = if long { 300 + world.rng.next_u32() as usize % 500 } else { 0 };
            let text = format!("{}. of {client}: {}", said.len(), "x".repeat(length));
            world.clients[client].say(0, &text).unwrap();
            said.push(text);
        }
    }
}

/// Accepts every call, and lets callers say one thing.
fn accept_calls(world: &mut World) {
    for client in 0..CLIENTS {
        for view in world.clients[client].contacts() {
            if view.state == crate::ContactState::Called {
                let _taken = world.clients[client].accept(view.number, &mut world.rng);
            }
        }
    }
}

fn crowd(seed: u64) {
    let mut world = World::new(CLIENTS, seed);
    (0..PAIRS).for_each(|pair| introduce(&mut world, pair));
    // The last clients are called by those before them.
    for caller in 2 * PAIRS..2 * PAIRS + CALLERS {
        let link = world.clients[caller + CALLERS].add_link("", &mut world.rng).unwrap();
        let contact = world.clients[caller].add_contact(link.callee, "callee").unwrap();
        world.clients[caller].call(contact, None, &mut world.rng).unwrap();
        world.clients[caller].say(contact, &format!("I am {caller}")).unwrap();
    }
    let mut said = vec![Vec::new(); CLIENTS];
    let mut present = vec![true; CLIENTS];
    for _ in 0..ROUNDS {
        chatter(&mut world, &mut said);
        troubled_round(&mut world, &mut present);
        accept_calls(&mut world);
    }
    // Everybody comes back, and what is left is delivered.
    let quiet = |world: &World| {
        world.clients.iter().flat_map(Client::contacts).all(|contact| {
            contact.messages.iter().all(|message| message.state == MessageState::Delivered)
        })
    };
    for cycle in 0.. {
        assert!(cycle < 30, "seed {seed}: not everything is delivered");
        (0..CYCLE).for_each(|_| world.round());
        accept_calls(&mut world);
        if quiet(&world) {
            break;
        }
    }
    for client in 0..2 * PAIRS {
        assert_eq!(world.heard(client), said[client ^ 1], "seed {seed}, client {client}");
    }
    for callee in 2 * PAIRS + CALLERS..2 * PAIRS + 2 * CALLERS {
        assert_eq!(world.heard(callee), [format!("I am {}", callee - CALLERS)], "seed {seed}");
    }
    let others = &world.events[2 * PAIRS + 2 * CALLERS..];
    assert!(others.iter().all(Vec::is_empty), "seed {seed}: nobody else was told anything");
    let delivered: usize = said.iter().map(Vec::len).sum();
    println!("seed {seed}: {delivered} messages of {PAIRS} pairs in {} rounds", world.round);
    let received = |event: &&Event| matches!(event, Event::Received { .. });
    let all: usize = world.events.iter().map(|events| events.iter().filter(received).count()).sum();
    assert_eq!(all, delivered + CALLERS);
}

#[test]
fn every_message_arrives_once_and_in_order() {
    let seeds = if std::env::var_os("OSTRAKON_NIGHTLY").is_some() { 30 } else { 2 };
    (1..seeds).for_each(crowd);
}
