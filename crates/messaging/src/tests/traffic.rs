//! What a client gives and takes, in number, order and length, does not depend on what it does.

use ostrakon_crypto::merkle::Tree;
use ostrakon_crypto::sealed::ExchangeKey;
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_mixing::engine::{EpochContext, Shape};
use ostrakon_mixing::room::Admission;
use ostrakon_mixing::{Content, EngineKind, EpochId, RoomDescriptor, RowFormat, Servers, engines};
use ostrakon_party::{SessionId, wire};
use ostrakon_replicated::pair::Pair;
use ostrakon_replicated::slots::{Issue, SlotSeeds, SlotsContext, slots_prg};

use super::World;
use crate::params::CYCLE;

/// A server's secret of a pair, in this test.
fn secret(of: usize, round: u64) -> Secret {
    let mut seed = [of as u8 + 1; 32];
    seed[..8].copy_from_slice(&round.to_le_bytes());
    Secret::new(seed)
}

/// What a server gives to the owner of a slot of a Ruffle room.
fn ruffle_issue(servers: &Servers, context: &EpochContext, party: u8, slot: u32) -> Vec<u8> {
    let streams = [0, 1, 2].map(|pair| slots_prg(&secret(pair, context.batch)));
    let trees = Pair::ALL.map(|pair| {
        let named = SlotsContext::new(&servers.session.0, context.batch, pair);
        let leaf = |slot| SlotSeeds::derive(&streams[pair.index()], slot).leaf(&named, slot);
        Tree::new((0..context.shape.rows).map(leaf).collect())
    });
    let given = |pair: Pair| {
        let at = pair.index();
        (SlotSeeds::derive(&streams[at], slot), trees[at].path(slot as usize))
    };
    let roots = trees.each_ref().map(Tree::root);
    wire::encode(&Issue { roots, seeds: Pair::of_party(party).map(given) })
}

/// Bytes that the owner of a slot hands in for a row, to each server.
fn handed_in(engine: EngineKind, row: &[u8], round: u64, owner: usize) -> usize {
    let admission = Admission::Messages;
    let room = RoomDescriptor {
        payload: 256,
        capacity: 12,
        engine,
        admission,
        ..RoomDescriptor::new("letters")
    };
    let seeds = [1, 2, 3].map(|seed| [seed; 32]);
    let keys = seeds.map(|seed| SigningKey::from_seed(&seed).verifying_key()).to_vec();
    let servers = Servers { session: SessionId(Digest([7; 32])), keys };
    let context = EpochContext {
        epoch: EpochId { room: room.id(), number: round },
        batch: round,
        engine,
        shape: Shape::of(&room),
        mode: room.mode,
        minimum: 1,
    };
    let slot = owner as u32;
    let issue = |party: u8| match engine {
        EngineKind::Ruffle => ruffle_issue(&servers, &context, party, slot),
        EngineKind::Clarion => {
            ExchangeKey::new(&Secret::new(seeds[usize::from(party)])).public().to_vec()
        }
    };
    let issues = [0, 1, 2].map(|party| Some(issue(party)));
    let key = SigningKey::from_seed(&[owner as u8 + 9; 32]);
    let format = RowFormat::new(&room, round);
    let row = format.encode(&Content::Message(row.to_vec()), &format.padding(&key)).unwrap();
    engines::client(engine).submit(&servers, &context, slot, &issues, &row, &key).unwrap().len()
}

/// What was seen of one client on its line.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    /// With all that is handed in for it, by engine.
    Row {
        round: u64,
        bytes: [usize; EngineKind::ALL.len()],
    },
    Board {
        round: u64,
        bytes: usize,
    },
}

/// Six clients: two talk, one calls somebody who never answers, one is called, one talks to a
/// partner who went away, one does nothing. In every round each gives one row and takes one board,
/// and nothing else, and the bytes are as many.
#[test]
fn traffic_is_equal_when_talking_idle_dialing_and_with_a_partner_away() {
    const GONE: usize = 6;
    let mut world = World::new(7, 41);
    let (ann, ben) = world.connect(0, 1);
    let (to_gone, _) = world.connect(4, GONE);
    let deaf = world.clients[3].add_link("", &mut world.rng).unwrap();
    let contact = world.clients[2].add_contact(deaf.callee, "never answers").unwrap();
    world.clients[2].call(contact, None, &mut world.rng).unwrap();
    let mut seen: [Vec<Seen>; GONE] = Default::default();
    for round in 0..10 * CYCLE {
        if round % 3 == 0 {
            world.clients[0].say(ann, &"long ".repeat(90)).unwrap();
            world.clients[1].say(ben, "short").unwrap();
            world.clients[4].say(to_gone, "are you there?").unwrap();
        }
        let round = world.round;
        world.board.clear();
        for (at, (client, seen)) in world.clients.iter_mut().zip(&mut seen).enumerate() {
            let row = client.next_row(round, &mut world.rng).unwrap();
            assert!(client.next_row(round, &mut world.rng).is_err(), "one row in a round");
            let bytes = EngineKind::ALL.map(|engine| handed_in(engine, &row, round, at));
            seen.push(Seen::Row { round, bytes });
            world.board.push(row);
        }
        let bytes = world.board.iter().map(Vec::len).sum();
        seen.iter_mut().for_each(|seen| seen.push(Seen::Board { round, bytes }));
        world.show(&[true, true, true, true, true, true, false]);
    }
    // They did do different things.
    assert!(world.heard(1).len() >= 2 && world.heard(0).len() >= 4);
    assert!(world.called(3).is_some() && world.events[5].is_empty());
    for (client, other) in seen.iter().enumerate().skip(1) {
        assert_eq!(*other, seen[0], "client {client} is not told from the first by its traffic");
    }
}
