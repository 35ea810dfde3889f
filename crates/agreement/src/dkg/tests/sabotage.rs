//! The sweep: what corrupt servers say of each kind is changed in each way and signed anew, alike
//! for all or for each by itself. Whoever finishes has the one key; an attempt that fails names a
//! corrupt server; or all wait.

use std::collections::BTreeMap;

use ostrakon_testkit::{Draw, Mutation};

use super::*;

const N: usize = 7;
/// The first one deals a share that does not fit to the second, where complaints are changed.
const CORRUPT: [usize; 2] = [1, 2];
const KINDS: [&str; 5] = ["commitment", "opening", "signature", "complaint", "finished key"];
const COMPLAINT: usize = 3;

/// The bytes of a changed message, signed anew if they are a message.
fn spoilt(body: &[u8], of: usize) -> Vec<u8> {
    match wire::decode::<Body>(body) {
        Ok(body) => wire::encode(&DkgMessage::sign(body, &context_of(N, 0), id(of), &signing(of))),
        Err(_) => body.to_vec(),
    }
}

/// Plays an attempt; how many messages were changed.
fn sabotage(kind: usize, mutation: Mutation, alike: bool, seed: u64) -> usize {
    let mut world = World::new(N, 0);
    let mut draw = Draw(seed);
    let mut changed = 0;
    let mut last = Vec::new();
    let mut told: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
    while !world.pool.is_empty() {
        let at = draw.below(world.pool.len());
        let (from, to, bytes) = world.pool.swap_remove(at);
        let mut message = DkgMessage::decode(&bytes).unwrap();
        if kind == COMPLAINT
            && from == CORRUPT[0]
            && let Body::Open(opening) = &mut message.body
        {
            opening.shares[CORRUPT[1]].spoil();
            message = DkgMessage::sign(message.body, &context_of(N, 0), id(from), &signing(from));
        }
        let mut arrives = vec![wire::encode(&message)];
        if CORRUPT.contains(&from) && message.body.kind() == kind as u64 + 1 {
            let body = wire::encode(&message.body);
            let before = std::mem::replace(&mut last, body.clone());
            let before = if before.is_empty() { body.clone() } else { before };
            let mut fresh = || -> Vec<Vec<u8>> {
                let changed = mutation.of_unsigned(&body, &before, &mut draw);
                changed.iter().map(|body| spoilt(body, from)).collect()
            };
            arrives = match alike {
                true => told.entry(bytes).or_insert_with(fresh).clone(),
                false => fresh(),
            };
            changed += 1;
        }
        for bytes in arrives {
            let step = world.machines[to].handle(id(from), &bytes);
            world.take(N, to, step);
        }
    }
    let honest = || (0..N).filter(|i| !CORRUPT.contains(i));
    for i in honest() {
        let named = world.failed[i].map(|failure| failure.culprit().index());
        assert!(named.is_none_or(|named| CORRUPT.contains(&named)), "{i} names {named:?}");
    }
    let keys: Vec<_> = honest().filter_map(|i| world.finished[i].as_ref()).collect();
    assert!(keys.iter().all(|finished| finished.keys == keys[0].keys));
    changed
}

#[test]
fn every_kind_of_message_changed_in_each_way_names_nobody_honest() {
    for (kind, name) in KINDS.iter().enumerate() {
        let mut changed = 0;
        for (number, mutation) in Mutation::UNSIGNED.into_iter().enumerate() {
            let seeds = if ostrakon_testkit::nightly() { 40 } else { 1 };
            for seed in 0..seeds {
                for alike in [true, false] {
                    println!("{name}, {mutation:?}, alike {alike}, seed {seed}");
                    changed += sabotage(kind, mutation, alike, 100 * number as u64 + seed);
                }
            }
        }
        assert!(changed > 0, "no {name} was sent");
    }
}
