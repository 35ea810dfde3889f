//! Attacks on fetching, by name: where a client asks the servers for one row of a board, what it
//! asks for, or misses, tells of its partner. First what each attack gains in a model of that form,
//! then what it gains here, where everybody reads boards whole: what a client does on its line is
//! the same whatever happens to its rows or to its partner's, and whatever it is shown.

use std::collections::BTreeSet;

use rand_core::Rng;

use super::{World, generator};
use crate::params::CYCLE;

/// Clients of the model; 2i and 2i + 1 are partners. What servers see of a row is its place on the
/// board, so a row is named by its author here, and attacks only compare rows with each other.
const PEOPLE: usize = 250;

/// Which row a client asks for, given who it believes is sealed.
type Rule = fn(client: usize, sealed: &[bool]) -> Option<usize>;

/// The printed rule: the partner's row.
fn partners(client: usize, _: &[bool]) -> Option<usize> {
    Some(client ^ 1)
}

/// With a list of who is sealed: one's own row if the partner is not.
fn own_if_alone(client: usize, sealed: &[bool]) -> Option<usize> {
    Some(if sealed[client ^ 1] { client ^ 1 } else { client })
}

/// The same, but who is not sealed asks for nothing.
fn sealed_only(client: usize, sealed: &[bool]) -> Option<usize> {
    sealed[client].then(|| own_if_alone(client, sealed)).flatten()
}

/// Who is sealed, each client but one in `of`.
fn presence(rng: &mut impl Rng, of: u32) -> Vec<bool> {
    (0..PEOPLE).map(|_| !rng.next_u32().is_multiple_of(of)).collect()
}

/// The clients that ask for one row, if two do.
fn read_twice(asked: &[Option<usize>]) -> BTreeSet<(usize, usize)> {
    let mut readers = vec![Vec::new(); PEOPLE];
    for (client, row) in asked.iter().enumerate() {
        readers[row.unwrap_or(client)].extend(row.map(|_| client));
    }
    readers.iter().filter_map(|of_row| Some((*of_row.first()?, *of_row.get(1)?))).collect()
}

/// How many pairs are linked in 60 rounds by rows that are read twice; nobody is linked wrongly.
fn linked(rule: Rule) -> usize {
    let mut rng = generator(71);
    let mut linked = BTreeSet::new();
    for _ in 0..60 {
        let sealed = presence(&mut rng, 120);
        let asked: Vec<_> = (0..PEOPLE).map(|client| rule(client, &sealed)).collect();
        linked.extend(read_twice(&asked));
    }
    assert!(linked.iter().all(|(one, other)| one ^ 1 == *other));
    linked.len()
}

/// Whom rows that are missed name in 150 rounds: the only one who was away whenever a client missed
/// its row.
fn named(rule: Rule) -> usize {
    let mut rng = generator(72);
    let mut suspects: Vec<BTreeSet<usize>> = vec![(0..PEOPLE).collect(); PEOPLE];
    for _ in 0..150 {
        let sealed = presence(&mut rng, 20);
        for client in (0..PEOPLE).filter(|client| sealed[*client]) {
            if rule(client, &sealed).is_some_and(|row| !sealed[row]) {
                suspects[client].retain(|other| !sealed[*other]);
            }
        }
    }
    let sole = |(client, of_it): (usize, &BTreeSet<usize>)| {
        of_it.len() == 1 && of_it.contains(&(client ^ 1))
    };
    suspects.iter().enumerate().filter(|(client, of_it)| sole((*client, of_it))).count()
}

/// What a board looks like to one reader in a round; rows are with their authors. The first row of
/// a late client comes a round later.
type Shown = fn(reader: usize, round: u64, rows: &mut Vec<(usize, Vec<u8>)>, before: &[Vec<u8>]);

const CLIENTS: usize = 6;

/// Four clients talk in pairs and two do nothing, for some cycles under `shown` and perhaps with a
/// partner away, then for some without. All who are there do the same on their lines, and what was
/// said arrives once and in order.
fn lines_are_alike(away: Option<usize>, shown: Shown) {
    let mut world = World::new(CLIENTS, 73);
    let contacts = [world.connect(0, 1), world.connect(2, 3)];
    let contact = |talker: usize| match contacts[talker / 2] {
        (caller, _) if talker.is_multiple_of(2) => caller,
        (_, callee) => callee,
    };
    let mut lines = vec![Vec::new(); CLIENTS];
    let mut said = vec![Vec::new(); 4];
    let mut before = Vec::new();
    for step in 0..20 * CYCLE {
        let (round, troubled) = (world.round, step < 10 * CYCLE);
        let there = |client: &usize| !troubled || away != Some(*client);
        for talker in (0..4).filter(|_| troubled && step.is_multiple_of(2 * CYCLE)) {
            let text = format!("{step} of {talker}");
            world.clients[talker].say(contact(talker), &text).unwrap();
            said[talker].push(text);
        }
        let mut rows = Vec::new();
        for client in (0..CLIENTS).filter(there) {
            let row = world.clients[client].next_row(round, &mut world.rng).unwrap();
            lines[client].push(row.len());
            rows.push((client, row));
        }
        for reader in (0..CLIENTS).filter(there) {
            let mut board = rows.clone();
            if troubled {
                shown(reader, round, &mut board, &before);
            }
            let board: Vec<&[u8]> = board.iter().map(|(_, row)| &**row).collect();
            let events = world.clients[reader].on_round(round, &board);
            world.events[reader].extend(events);
            let more = world.clients[reader].next_row(round, &mut world.rng);
            assert!(more.is_err(), "client {reader} says something more in a round");
        }
        before = rows.into_iter().map(|(_, row)| row).collect();
        world.round += 1;
    }
    for client in (0..CLIENTS).filter(|client| away != Some(*client)) {
        assert_eq!(lines[client], lines[5], "client {client} is told from one who does nothing");
    }
    for (talker, said) in said.iter().enumerate() {
        assert_eq!(world.heard(talker ^ 1), *said, "what {talker} said");
    }
    assert!(world.events[4].is_empty() && world.events[5].is_empty());
}

/// Whose row something is done to in a round: everybody's in turn.
fn victim(round: u64) -> usize {
    (round % CLIENTS as u64) as usize
}

/// A client whose row comes too late asks for its partner's row, and the partner, who is told that
/// it is not there, for the same one, its own.
#[test]
fn late_fetches_partner() {
    let pairs = linked(own_if_alone);
    assert!(pairs >= 60, "the attack links {pairs} of 125 pairs");
    assert_eq!(linked(sealed_only), 0);
    lines_are_alike(None, |_, round, rows, before| {
        rows.retain(|(author, _)| *author != victim(round));
        let late = before.get(victim(round - 1)).cloned();
        rows.extend(late.map(|row| (victim(round - 1), row)));
    });
}

/// A client that asks for a row that is not there has a partner who is away.
#[test]
fn miss_names_partner() {
    let people = named(partners);
    assert!(people >= 240, "the attack names the partners of {people} of 250");
    assert_eq!(named(own_if_alone), 0);
    for away in 0..4 {
        lines_are_alike(Some(away), |_, _, _, _| {});
    }
}

/// One client is told that another one is not there, who is. If they are partners, a row is read
/// twice; here nobody is told who is there but by rows.
#[test]
fn lying_presence() {
    let mut confirmed = 0;
    for (client, suspect) in (0..PEOPLE).flat_map(|client| (0..8).map(move |near| (client, near))) {
        let suspect = (client & !7) + suspect;
        let told: Vec<bool> = (0..PEOPLE).map(|other| other != suspect).collect();
        let all = [true; PEOPLE];
        let believed = |other: usize| if other == client { &told[..] } else { &all };
        let asked: Vec<_> = (0..PEOPLE).map(|other| own_if_alone(other, believed(other))).collect();
        let is_partner = client ^ 1 == suspect;
        assert_eq!(!read_twice(&asked).is_empty(), is_partner);
        confirmed += usize::from(is_partner);
    }
    assert_eq!(confirmed, PEOPLE, "the attack confirms every pair that it suspects");
    lines_are_alike(None, |reader, round, rows, _| {
        rows.retain(|(author, _)| *author != victim(round + reader as u64));
    });
}

/// A row is changed, in its address or in what is locked. Who asks for it would ask again.
#[test]
fn wrong_row() {
    lines_are_alike(None, |_, round, rows, _| {
        let (_, row) = &mut rows[victim(round)];
        let at = 1 + (round as usize * 7) % (row.len() - 1);
        row[at] ^= 0x20;
    });
}

/// A row is said not to be on a board on which it is, to one reader or to all.
#[test]
fn false_absence() {
    lines_are_alike(None, |_, round, rows, _| drop(rows.remove(victim(round))));
    lines_are_alike(None, |reader, round, rows, _| {
        if reader == victim(round / 2) {
            rows.clear();
        }
    });
}
