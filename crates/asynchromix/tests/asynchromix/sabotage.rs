//! The sweep of the service: one server's messages of each kind, to servers and to participants,
//! are changed in each way; it and another server are away until what they lack is dropped.
//! Everybody's line is on the board, and nobody honest is blamed. (Runs' messages are signed anew
//! in the engine's sweep, and the ledger and the making of its key have their own.) Then the same
//! with what a participant says, and with what a server says while the room is founded.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use ostrakon_asynchromix::Room;
use ostrakon_asynchromix::message::{Message, RunId, ToServer};
use ostrakon_asynchromix::service::Told;
use ostrakon_crypto::SigningKey;
use ostrakon_crypto::hash::digest;
use ostrakon_robust::client::Submission;
use ostrakon_testkit::{Draw, Mutation};

use crate::devices::{key_behind, submission};
use crate::nightly;
use crate::world::{End, SHAPE, World, id, room};

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

/// So many requests for a state are changed: who lacks it and never asks rightly stays away.
const ASKED: usize = 20;

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
        let asks_rightly = to_servers && kind == 7 && count.get() == ASKED;
        if !corrupt || of_batch || asks_rightly || matches!(to, End::Server(_)) != to_servers {
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
        for (number, mutation) in ALL.into_iter().enumerate() {
            // Over the kinds each mutation has its turn.
            if !nightly() && number != usize::from(kind) % ALL.len() {
                continue;
            }
            let mut changed = 0;
            for seed in 0..6 {
                println!("{name}, {mutation:?}, seed {seed}");
                changed += sabotage(kind, to_servers, mutation, 100 * number as u64 + seed);
                // Whom a server asks is drawn: not in every life it is the one that is corrupt.
                if changed > 0 && !nightly() {
                    break;
                }
            }
            assert!(changed > 0, "no {name} was sent that {mutation:?} could change");
        }
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

/// How a participant spoils what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spoil {
    /// On the wire, each server's copy by itself.
    Wire,
    /// Its masked row, signed anew, alike for all servers.
    Row,
    /// The same, for each server by itself.
    Rows,
}

const BY_PARTICIPANTS: [(u8, &str); 3] = [(0, "hello"), (1, "request"), (2, "row")];

/// A participant's message with another row, signed for the place of the first one.
fn resigned(
    room: &Room,
    key: &SigningKey,
    bytes: &[u8],
    change: impl FnOnce(&[u8]) -> Vec<Vec<u8>>,
) -> Option<Vec<u8>> {
    let ToServer::Submit { client, epoch, slot, submission } =
        ToServer::decode(bytes, room).ok()?
    else {
        return None;
    };
    let right = Submission::from_bytes(&submission, room.width())?;
    let place = |batch| ostrakon_asynchromix::state::place(room, epoch, slot, batch);
    let place = (0..64).map(place).find(|place| place.vouches(&client, &right))?;
    let row = change(&submission[64..]).pop()?;
    let named = digest("ostrakon/v1/robust/row", &row);
    let signature = key.sign(&place.digest(&client, &named));
    let submission = [&signature.0[..], &row].concat();
    Some(ToServer::Submit { client, epoch, slot, submission }.encode())
}

/// One participant's messages of a kind are changed, among eight honest ones'; how many were.
fn spoilt_by_a_participant(kind: u8, mutation: Mutation, spoil: Spoil, seed: u64) -> usize {
    let mut world = World::deep(room(4, SHAPE), seed, 8, 2);
    world.stock(2);
    let secret = world.draw.secret();
    let key = key_behind(&secret);
    let spoiler = world.join_as(&secret, Some("spoilt"));
    let mut said = join(&mut world, "honest");
    let changed = Rc::new(Cell::new(0));
    let (count, mut last, mut draw) = (Rc::clone(&changed), Vec::new(), Draw(seed));
    let room = Arc::clone(&world.room);
    let mut told = BTreeMap::new();
    world.meddle = Box::new(move |from, _, bytes| {
        if from != End::Client(spoiler) || bytes.first() != Some(&kind) {
            return Some(bytes.to_vec());
        }
        count.set(count.get() + 1);
        let mut change = |bytes: &[u8]| {
            let before = std::mem::replace(&mut last, bytes.to_vec());
            let before = if before.is_empty() { bytes } else { &before };
            mutation.of_unsigned(bytes, before, &mut draw)
        };
        match spoil {
            Spoil::Wire => change(bytes).pop(),
            Spoil::Rows => resigned(&room, &key, bytes, change),
            Spoil::Row => told
                .entry(bytes.to_vec())
                .or_insert_with(|| resigned(&room, &key, bytes, change))
                .clone(),
        }
    });
    world.run(2500, |world| {
        let mut honest = world.participants.iter().enumerate().filter(|(i, _)| *i != spoiler);
        honest.all(|(_, participant)| participant.is_done()) && world.have(world.entries())
    });
    let board = world.messages();
    let own = board.iter().filter(|line| *line == "spoilt").count();
    assert!(own <= 1, "{board:?}");
    said.extend((0..own).map(|_| "spoilt".to_owned()));
    assert_eq!(board, said);
    world.assert_nobody_honest_blamed();
    changed.get()
}

/// Everybody else's line is on the board, and of the spoiler's nothing that it did not say.
#[test]
fn what_a_participant_says_is_changed_in_each_way() {
    let cases = [Spoil::Wire, Spoil::Row, Spoil::Rows];
    for &(kind, name) in &BY_PARTICIPANTS {
        let mut changed = 0;
        for spoil in cases.into_iter().filter(|spoil| *spoil == Spoil::Wire || kind == 2) {
            for (number, mutation) in ALL.into_iter().enumerate() {
                for seed in 0..if nightly() { 10 } else { 1 } {
                    println!("{name}, {spoil:?}, {mutation:?}, seed {seed}");
                    let seed = 1000 + 100 * number as u64 + seed;
                    changed += spoilt_by_a_participant(kind, mutation, spoil, seed);
                }
            }
        }
        assert!(changed > 0, "no {name} was sent");
    }
}
