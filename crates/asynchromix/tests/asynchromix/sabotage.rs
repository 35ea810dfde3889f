//! The sweep of the service: one server's messages of each kind, to servers and to participants,
//! are changed in each way; it and another server are away until what they lack is dropped.
//! Everybody's line is on the board, and nobody honest is blamed. (Runs' messages are signed anew
//! in the engine's sweep, and the ledger has its own.)

use std::cell::Cell;
use std::rc::Rc;

use ostrakon_asynchromix::message::{Message, RunId};
use ostrakon_asynchromix::service::Told;
use ostrakon_testkit::{Draw, Mutation};

use crate::nightly;
use crate::world::{End, SHAPE, World, id, room, submission};

const CORRUPT: usize = 3;
const AWAY: usize = 1;
/// Kinds of messages, by their first bytes. Of states that are later than what is asked for there
/// is a test of its own (`late.rs`). What the corrupt server asks for the sake of its own board
/// concerns nobody else.
const TO_SERVERS: [(u8, &str); 7] = [
    (3, "run"),
    (4, "again"),
    (5, "row that is asked for"),
    (6, "row"),
    (7, "state that is asked for"),
    (8, "state"),
    (11, "entry"),
];
const TO_PARTICIPANTS: [(u8, &str); 4] = [(0, "now"), (1, "masks"), (2, "in"), (3, "entry")];

use Mutation::{Drop, Extend, FlipBit, Randomise, Replay, Truncate};

/// Without what is sent twice: the world hands one message on for each.
const ALL: [Mutation; 6] = [FlipBit, Randomise, Truncate, Extend, Drop, Replay];

/// What a message of a kind answers.
fn request_of(kind: u8) -> Option<u8> {
    match kind {
        6 => Some(5),
        8 => Some(7),
        11 => Some(10),
        _ => None,
    }
}

fn join(world: &mut World, of: &str) -> Vec<String> {
    let lines: Vec<String> = (0..8).map(|i| format!("{of} {i}")).collect();
    for line in &lines {
        world.join(Some(line));
    }
    lines
}

/// Plays a room's life; how many messages were changed.
fn sabotage(kind: u8, to_servers: bool, mutation: Mutation, seed: u64) -> usize {
    let mut world = World::deep(room(4, SHAPE), seed, 8, 2);
    world.stock(2);
    let changed = Rc::new(Cell::new(0));
    let (count, mut last, mut draw) = (Rc::clone(&changed), Vec::new(), Draw(seed));
    let room = std::sync::Arc::clone(&world.room);
    world.meddle = Box::new(move |from, to, bytes| {
        // The first one's row comes to two servers, the second one's to the others.
        if let (End::Client(client @ (0 | 1)), End::Server(server)) = (from, to)
            && submission(bytes, &room).is_some_and(|row| row.0 == 0)
        {
            return (server / 2 != client).then(|| bytes.to_vec());
        }
        // Whom a server asks is drawn: what it asks others is lost until the corrupt one has
        // answered.
        let request = request_of(kind).is_some_and(|request| bytes.first() == Some(&request));
        let asks = request && from == End::Server(AWAY);
        if to_servers && asks && to != End::Server(CORRUPT) && count.get() == 0 {
            return None;
        }
        let corrupt = from == End::Server(CORRUPT) && bytes.first() == Some(&kind);
        // A batch is prepared by all four, or waits.
        let of_batch = to_servers
            && matches!(
                Message::decode(bytes, usize::MAX),
                Ok(Message::Run(RunId::Batch(_), _) | Message::Again(RunId::Batch(_), _))
            );
        if !corrupt || of_batch || matches!(to, End::Server(_)) != to_servers {
            return Some(bytes.to_vec());
        }
        count.set(count.get() + 1);
        let before = std::mem::replace(&mut last, bytes.to_vec());
        let before = if before.is_empty() { bytes } else { &before };
        mutation.of_unsigned(bytes, before, &mut draw).pop()
    });
    let mut said = join(&mut world, "first");
    world.all_said();
    for away in [CORRUPT, AWAY] {
        world.kill(away);
        world.forget_clients();
        said.extend(join(&mut world, &format!("without {away}")));
        world.pass(60);
        world.restart(away);
        world.all_said();
    }
    said.sort();
    assert_eq!(world.messages(), said);
    for (i, told) in world.told.iter().enumerate().take(CORRUPT) {
        for told in told {
            let Told::Fault(party, what) = told else { continue };
            assert_eq!(*party, id(CORRUPT), "{i} says: {what}");
        }
    }
    changed.get()
}

fn sweep(kinds: &[(u8, &str)], to_servers: bool) {
    for &(kind, name) in kinds {
        let mut changed = 0;
        for (number, mutation) in ALL.into_iter().enumerate() {
            // Over the kinds each mutation has its turn.
            if !nightly() && number != usize::from(kind) % ALL.len() {
                continue;
            }
            for seed in 0..6 {
                println!("{name}, {mutation:?}, seed {seed}");
                changed += sabotage(kind, to_servers, mutation, 100 * number as u64 + seed);
                // Whom a server asks is drawn: not in every life it is the one that is corrupt.
                if changed > 0 && !nightly() {
                    break;
                }
            }
        }
        assert!(changed > 0, "no {name} was sent");
    }
}

#[test]
fn what_a_server_says_of_rows_and_runs_is_changed_in_each_way() {
    sweep(&TO_SERVERS[..4], true);
}

#[test]
fn what_a_server_says_of_states_and_entries_is_changed_in_each_way() {
    sweep(&TO_SERVERS[4..], true);
}

#[test]
fn what_a_server_says_to_participants_is_changed_in_each_way() {
    sweep(&TO_PARTICIPANTS, false);
}
