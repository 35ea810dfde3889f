//! The sweep: each step of a corrupt member's messages, to one member or to all, is changed in each
//! way. Online the output is right; preparation is right, or burnt and traced to the corrupt
//! member, or waits. Nobody honest is ever blamed.

use std::cell::RefCell;
use std::rc::Rc;

use ostrakon_field::Fp;
use ostrakon_party::PartyId;
use ostrakon_robust::client::Masked;
use ostrakon_robust::message::{Part, Signed, StepId};
use ostrakon_robust::offline::recipes::{Bits, Powers, PowersStock, Triples};
use ostrakon_robust::offline::{Checked, Recipe, Spent};
use ostrakon_robust::online::butterfly::{self, Butterfly};
use ostrakon_robust::online::powermix::PowerMix;
use ostrakon_robust::program::Program;
use ostrakon_testkit::Mutation;
use rand_core::Rng;

use crate::honest::{finish_shuffle, ready_shuffle, shuffle_shape, sizes, sorted, with_stock};
use crate::products;
use crate::world::{
    Adversary, Corruption, Marks, Ran, Sent, World, assert_only_corrupt_blamed, nightly, secrets,
};

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
        // A case of many servers takes as long as many of few.
        for seed in seeds().take(20 / t.pow(2)) {
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
            for (j, mutation) in ALL.into_iter().enumerate() {
                let seed = seed * 100_000 + 50_000 + (i * ALL.len() + j) as u64;
                let ready = against((4, 1), &shape, step, mutation, seed);
                let Some((mut world, stock)) = ready else { continue };
                let rows = world.random_rows(4, 1);
                let (instance, programs) = with_stock(&mut world, &shape, stock, &rows, &[]);
                let out = finish_shuffle(&mut world, &shape, instance, programs);
                assert_eq!(sorted(out), sorted(rows));
            }
        }
    }
}

/// What all members have of a batch.
type Stock<R> = Vec<Spent<<<R as Recipe>::Program as Program>::Output>>;

/// A batch of which a step of P1's messages is changed, to the last member or to all: the stock, if
/// it comes to be ready.
fn against<R: Recipe>(
    (n, t): (usize, usize),
    recipe: &R,
    step: StepId,
    mutation: Mutation,
    seed: u64,
) -> Option<(World, Stock<R>)> {
    let mut world = World::new(n, t, seed);
    let draw = world.tape.next_u64();
    let to = draw.is_multiple_of(2).then_some(PartyId(n as u8 - 1));
    println!("n = {n}, seed {seed}: {step:?} {mutation:?} {to:?}");
    world.adversary = saboteur(step, to, mutation, draw);
    let prepared = world.prepare(recipe);
    assert_prepared_or_traced(&prepared, n - 1, mutation);
    let ready: Option<Vec<Checked<_>>> = prepared.ready.into_iter().collect();
    let spend = |checked: Checked<_>| {
        let purpose = ostrakon_crypto::Digest([1; 32]);
        checked.spend(purpose, &mut Marks::default()).unwrap()
    };
    world.adversary = Adversary::none();
    Some((world, ready?.into_iter().map(spend).collect()))
}

/// Every step of a recipe's batch, and every mutation; `check` is given what is ready.
fn sweep<R: Recipe>(
    committee: (usize, usize),
    recipe: &R,
    base: u64,
    mut check: impl FnMut(&mut World, Stock<R>),
) {
    let mut honest = World::new(committee.0, committee.1, 0);
    let _ = honest.prepare(recipe);
    let steps = steps_of(&honest);
    assert!(steps.len() >= 4);
    for seed in seeds() {
        for (i, &step) in steps.iter().enumerate() {
            for (j, mutation) in ALL.into_iter().enumerate() {
                let seed = seed * 100_000 + base + (i * ALL.len() + j) as u64;
                if let Some((mut world, stock)) = against(committee, recipe, step, mutation, seed) {
                    check(&mut world, stock);
                }
            }
        }
    }
}

#[test]
fn preparing_triples_bears_every_mutation() {
    for committee in sizes() {
        sweep(committee, &Triples { count: 3 }, 80_000, |world, stock| {
            products::check(world, stock);
        });
    }
}

#[test]
fn preparing_bits_bears_every_mutation() {
    sweep((4, 1), &Bits { count: 3 }, 82_000, |world, stock| {
        let shares: Vec<Vec<Fp>> = stock.into_iter().map(Spent::into_stock).collect();
        let bits = secrets(&world.committee, &shares);
        assert!(bits.iter().all(|bit| [Fp::ZERO, Fp::ONE].contains(bit)), "{bits:?}");
    });
}

#[test]
fn preparing_powers_bears_every_mutation() {
    let shape = Powers { slots: 1, powers: 3, columns: 1 };
    sweep((4, 1), &shape, 84_000, |world, stock| {
        let of = |part: fn(&PowersStock) -> &Vec<Fp>| {
            let shares: Vec<Vec<Fp>> = stock.iter().map(|s| part(s.stock()).clone()).collect();
            secrets(&world.committee, &shares)
        };
        let (b, a) = (of(|stock| &stock.keys), of(|stock| &stock.payloads));
        let divisors = [1, 1, 2, 6].map(Fp::new);
        for l in 1..=3 {
            assert_eq!(b[l - 1] * divisors[l], b[0].pow_vartime(l as u64));
        }
        assert_eq!((a[1], a[2] * divisors[2]), (a[0] * b[0], a[0] * b[0].square()));
    });
}

/// Every step and every mutation of a program among four; `run` prepares, sets the adversary, runs,
/// and asserts the output.
fn online(steps: usize, base: u64, mut run: impl FnMut(&mut World, &mut dyn FnMut(&mut World))) {
    for seed in seeds() {
        for case in 0..steps * ALL.len() {
            let seed = seed * 100_000 + base + case as u64;
            let mut world = World::new(4, 1, seed);
            let parts = [Part::Encode, Part::Tell];
            let (at, mutation) = (case / ALL.len(), ALL[case % ALL.len()]);
            let step = StepId { phase: (at / 2) as u16, part: parts[at % 2] };
            run(&mut world, &mut |world| {
                let draw = world.tape.next_u64();
                let to = draw.is_multiple_of(2).then_some(PartyId(2));
                println!("seed {seed}: {step:?} {mutation:?} {to:?}");
                world.adversary = saboteur(step, to, mutation, draw);
                world.adversary.starved = draw.is_multiple_of(3).then_some(PartyId(0));
            });
        }
    }
}

/// What all honest members have, which is the same.
fn output<T: Clone + PartialEq>(world: &World, ran: Ran<T>) -> T {
    assert_only_corrupt_blamed(world, &ran.faults);
    let outputs: Vec<T> =
        world.honest().iter().map(|&i| ran.outputs[i].clone().expect("guaranteed")).collect();
    assert!(outputs.windows(2).all(|pair| pair[0] == pair[1]));
    outputs[0].clone()
}

#[test]
fn powermix_bears_every_mutation() {
    online(2, 86_000, |world, corrupt| {
        let stock = world.stock(&Powers { slots: 3, powers: 3, columns: 1 }, 1);
        let said = world.random_rows(3, 2);
        let submissions: Vec<Option<Masked>> = (0..3)
            .map(|slot| {
                let masks = world.masks(|position| stock[position].stock().masks(slot));
                Some(masks.for_carrier(said[slot][0], &said[slot][1..]))
            })
            .collect();
        let name = stock[0].name();
        let programs: Vec<PowerMix> =
            stock.into_iter().map(|s| PowerMix::new(s, submissions.clone())).collect();
        let instance = world.instance(name, programs[0].phases());
        corrupt(world);
        let ran = world.run(instance, programs);
        let sums = output(world, ran);
        let carriers = sums.solve(&mut world.tape).unwrap();
        let out = carriers.into_iter().map(|c| [&[c.key], &c.payload[..]].concat()).collect();
        assert_eq!(sorted(out), sorted(said));
    });
}

#[test]
fn the_butterfly_bears_every_mutation() {
    let phases = 1 + butterfly::iterations(2) + 1;
    online(2 * phases, 87_000, |world, corrupt| {
        let stock = world.stock(&butterfly::stock_of(2, 1), 1);
        let rows = world.random_rows(2, 1);
        let submissions: Vec<Option<Masked>> = (0..2)
            .map(|slot| {
                let masks = world.masks(|position| {
                    let stock = stock[position].stock();
                    [&stock.masks[slot..=slot], &stock.pads[slot * 2..][..2]].concat()
                });
                Some(masks.for_row(&rows[slot]))
            })
            .collect();
        let name = stock[0].name();
        let programs: Vec<Butterfly> =
            stock.into_iter().map(|s| Butterfly::new(s, submissions.clone())).collect();
        let instance = world.instance(name, programs[0].phases());
        assert_eq!(instance.phases.len(), phases);
        corrupt(world);
        let ran = world.run(instance, programs);
        let out = output(world, ran).chunks(1).map(<[Fp]>::to_vec).collect();
        assert_eq!(sorted(out), sorted(rows));
    });
}
