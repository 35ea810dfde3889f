//! The sweep: each step of a corrupt member's messages, to one member or to all, is changed in each
//! way. Online the output is right; preparation is right, or burnt and traced to the corrupt
//! member, or waits. Nobody honest is ever blamed.

use std::cell::RefCell;
use std::rc::Rc;

use ostrakon_party::PartyId;
use ostrakon_robust::message::{Part, Signed, StepId};
use ostrakon_robust::offline::recipes::Triples;
use rand_core::Rng;

use crate::honest::{finish_shuffle, ready_shuffle, shuffle_shape, sizes, sorted, with_stock};
use crate::products;
use crate::world::{Adversary, Corruption, Marks, Sent, World, nightly};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutation {
    FlipBit,
    Randomise,
    Truncate,
    Extend,
    Drop,
    Duplicate,
    Replay,
    Delay,
    Garble,
}

use Mutation::{Delay, Drop, Duplicate, Extend, FlipBit, Garble, Randomise, Replay, Truncate};

const ALL: [Mutation; 9] =
    [FlipBit, Randomise, Truncate, Extend, Drop, Duplicate, Replay, Delay, Garble];

fn mutate(
    own: &Corruption,
    message: &Signed,
    mutation: Mutation,
    last: &[u8],
    draw: u64,
) -> Vec<Sent> {
    let mut body = message.body.clone();
    let place = draw as usize % body.len().max(1);
    match mutation {
        FlipBit | Garble if !body.is_empty() => body[place] ^= 1 << (draw >> 32 & 7),
        Randomise => {
            for (i, byte) in body.iter_mut().enumerate() {
                *byte = (draw >> (i % 8 * 8)) as u8;
            }
        }
        Truncate => {
            body.pop();
        }
        Extend => body.push(0),
        Replay => body = last.to_vec(),
        _ => {}
    }
    match mutation {
        Drop => vec![],
        Duplicate => vec![Sent::now(message), Sent::now(message)],
        Delay => vec![Sent { bytes: message.to_bytes(), late: true }],
        Garble => vec![Sent::now(&Signed { body, ..message.clone() })],
        _ => vec![Sent::now(&own.resign(message, body))],
    }
}

/// An adversary of P1 that changes the messages of one step, to one receiver or to all.
fn saboteur(step: StepId, to: Option<PartyId>, mutation: Mutation, draw: u64) -> Adversary {
    let last = Rc::new(RefCell::new(Vec::new()));
    Adversary::new(&[1], move |own, message| {
        let body = std::mem::replace(&mut *last.borrow_mut(), message.body.clone());
        if message.step == step && to.is_none_or(|to| message.to == to) {
            mutate(own, &message, mutation, &body, draw)
        } else {
            vec![Sent::now(&message)]
        }
    })
}

fn seeds() -> std::ops::Range<u64> {
    if nightly() { 0..20 } else { 0..1 }
}

fn steps_of(world: &World) -> Vec<StepId> {
    world.steps.keys().copied().collect()
}

#[test]
fn the_shuffle_bears_every_mutation() {
    for (n, t) in sizes().into_iter().take(if nightly() { 3 } else { 1 }) {
        let mut steps: Vec<StepId> = Vec::new();
        for seed in seeds() {
            let mut cases = 0;
            loop {
                let case_seed = seed * 100_000 + cases as u64;
                let mut world = World::new(n, t, case_seed);
                let shape = shuffle_shape(&world, 4, 1, &[2, 2]);
                let rows = world.random_rows(4, 1);
                let (instance, programs) = ready_shuffle(&mut world, &shape, &rows, &[]);
                world.steps.clear();
                if !steps.is_empty() {
                    let step = steps[cases / ALL.len() % steps.len()];
                    let mutation = ALL[cases % ALL.len()];
                    let draw = world.tape.next_u64();
                    let to = draw.is_multiple_of(2).then_some(PartyId(2));
                    println!("n = {n}, seed {case_seed}: {step:?} {mutation:?} {to:?}");
                    world.adversary = saboteur(step, to, mutation, draw);
                    world.adversary.starved = draw.is_multiple_of(3).then_some(PartyId(0));
                    cases += 1;
                }
                let out = finish_shuffle(&mut world, &shape, instance, programs);
                assert_eq!(sorted(out), sorted(rows));
                steps = steps_of(&world);
                if cases == steps.len() * ALL.len() {
                    break;
                }
            }
        }
    }
}

/// What a mutation may lead to in preparation.
fn assert_prepared_or_traced(
    prepared: &crate::world::Prepared<impl Sized>,
    honest: usize,
    mutation: Mutation,
) {
    let ready = prepared.ready.iter().filter(|checked| checked.is_some()).count();
    for culprit in &prepared.judged {
        assert_eq!(*culprit, Some(PartyId(1)), "nobody honest is named");
    }
    if prepared.burned {
        assert_eq!((ready, prepared.judged.len()), (0, honest), "everybody knows");
    } else {
        // Ready at all, or waiting, for what was not sent or not signed.
        assert!(ready >= honest || (ready == 0 && matches!(mutation, Drop | Garble)));
    }
    if matches!(mutation, Duplicate | Delay) {
        assert!(ready >= honest);
    }
}

#[test]
fn preparing_a_shuffle_bears_every_mutation() {
    let mut world = World::new(4, 1, 0);
    let shape = shuffle_shape(&world, 4, 1, &[2, 2]);
    let _ = world.prepare(&shape);
    let steps = steps_of(&world);
    assert_eq!(steps.len(), 14);
    for seed in seeds() {
        for (i, &step) in steps.iter().enumerate() {
            for (j, &mutation) in ALL.iter().enumerate() {
                let seed = seed * 100_000 + 50_000 + (i * ALL.len() + j) as u64;
                let mut world = World::new(4, 1, seed);
                let draw = world.tape.next_u64();
                let to = draw.is_multiple_of(2).then_some(PartyId(2));
                println!("seed {seed}: {step:?} {mutation:?} {to:?}");
                world.adversary = saboteur(step, to, mutation, draw);
                let prepared = world.prepare(&shape);
                assert_prepared_or_traced(&prepared, 3, mutation);
                if prepared.ready.iter().any(Option::is_none) {
                    continue;
                }
                let spend = |checked: Option<ostrakon_robust::offline::Checked<_>>| {
                    let purpose = ostrakon_crypto::Digest([1; 32]);
                    checked.unwrap().spend(purpose, &mut Marks::default()).unwrap()
                };
                let stock = prepared.ready.into_iter().map(spend).collect();
                world.adversary = Adversary::none();
                let rows = world.random_rows(4, 1);
                let (instance, programs) = with_stock(&mut world, &shape, stock, &rows, &[]);
                let out = finish_shuffle(&mut world, &shape, instance, programs);
                assert_eq!(sorted(out), sorted(rows));
            }
        }
    }
}

#[test]
fn preparing_triples_bears_every_mutation() {
    for (n, t) in sizes() {
        let parts = [(0, Part::Deal), (0, Part::Check), (1, Part::Encode), (1, Part::Tell)];
        for seed in seeds() {
            for (i, (phase, part)) in parts.into_iter().enumerate() {
                for (j, mutation) in ALL.into_iter().enumerate() {
                    let seed = seed * 100_000 + 80_000 + (i * ALL.len() + j) as u64;
                    let mut world = World::new(n, t, seed);
                    let draw = world.tape.next_u64();
                    let last = PartyId(n as u8 - 1);
                    let to = draw.is_multiple_of(2).then_some(last);
                    println!("n = {n}, seed {seed}: {phase} {part:?} {mutation:?} {to:?}");
                    world.adversary = saboteur(StepId { phase, part }, to, mutation, draw);
                    let prepared = world.prepare(&Triples { count: 3 });
                    assert_prepared_or_traced(&prepared, n - 1, mutation);
                    if prepared.ready.iter().any(Option::is_none) {
                        continue;
                    }
                    let spend = |checked: Option<ostrakon_robust::offline::Checked<_>>| {
                        let purpose = ostrakon_crypto::Digest([1; 32]);
                        checked.unwrap().spend(purpose, &mut Marks::default()).unwrap()
                    };
                    let stock = prepared.ready.into_iter().map(spend).collect();
                    world.adversary = Adversary::none();
                    products::check(&mut world, stock);
                }
            }
        }
    }
}
