//! Everybody follows the protocol; or some are silent.

use ostrakon_crypto::Digest;
use ostrakon_field::Fp;
use ostrakon_party::PartyId;
use ostrakon_robust::client::Masked;
use ostrakon_robust::message::Instance;
use ostrakon_robust::offline::clos;
use ostrakon_robust::offline::recipes::{Bits, Powers, Randoms, Triples};
use ostrakon_robust::offline::{Recipe, Shuffle, ShuffleStock, Spent};
use ostrakon_robust::online::butterfly::{self, Butterfly};
use ostrakon_robust::online::powermix::PowerMix;
use ostrakon_robust::online::shuffle::DealersShuffle;
use ostrakon_robust::online::sum::Sum;
use ostrakon_robust::phase::Phase;
use ostrakon_robust::program::Program;
use ostrakon_robust::{Committee, cost, rotation};

use crate::products;
use crate::world::{Adversary, World, assert_only_corrupt_blamed, nightly, secrets};

pub fn sizes() -> Vec<(usize, usize)> {
    if nightly() { vec![(4, 1), (7, 2), (10, 3)] } else { vec![(4, 1), (7, 2)] }
}

pub fn shuffle_shape(world: &World, rows: usize, width: usize, radices: &[usize]) -> Shuffle {
    let dealers = (0..=world.committee.corrupt()).collect();
    Shuffle::new(&world.committee, rows, width, radices.to_vec(), dealers).unwrap()
}

#[test]
fn random_values_triples_and_bits_are_what_they_are_called() {
    for (n, t) in sizes() {
        let mut world = World::new(n, t, 1);
        let randoms = world.stock(&Randoms { count: 11 }, 0);
        let shares: Vec<Vec<Fp>> = randoms.into_iter().map(|s| s.into_stock()).collect();
        let values = secrets(&world.committee, &shares);
        assert!(values.windows(2).all(|pair| pair[0] != pair[1]) && values.len() == 11);

        let bits = world.stock(&Bits { count: 40 }, 0);
        let shares: Vec<Vec<Fp>> = bits.into_iter().map(|s| s.into_stock()).collect();
        let ones = secrets(&world.committee, &shares);
        assert!(ones.iter().all(|bit| *bit == Fp::ZERO || *bit == Fp::ONE));
        let ones = ones.iter().filter(|bit| **bit == Fp::ONE).count();
        assert!((5..=35).contains(&ones), "{ones} of 40");

        let triples = world.stock(&Triples { count: 7 }, 0);
        products::check(&mut world, triples);
    }
}

/// Prepares and shuffles; `absent` slots have no submission. The table that every honest member
/// has.
pub fn shuffle(
    world: &mut World,
    shape: &Shuffle,
    rows: &[Vec<Fp>],
    absent: &[usize],
) -> Vec<Vec<Fp>> {
    let (instance, programs) = ready_shuffle(world, shape, rows, absent);
    finish_shuffle(world, shape, instance, programs)
}

/// Runs a shuffle that must have the same output at all honest members.
pub fn finish_shuffle(
    world: &mut World,
    shape: &Shuffle,
    instance: Instance,
    programs: Vec<DealersShuffle>,
) -> Vec<Vec<Fp>> {
    let ran = world.run(instance, programs);
    assert_only_corrupt_blamed(world, &ran.faults);
    let honest = world.honest();
    let first = ran.outputs[honest[0]].clone().expect("output is guaranteed");
    for position in honest {
        assert_eq!(ran.outputs[position].as_ref(), Some(&first), "the same at all");
    }
    first.chunks(shape.width).map(<[Fp]>::to_vec).collect()
}

/// A shuffle of these rows that is about to start.
pub fn ready_shuffle(
    world: &mut World,
    shape: &Shuffle,
    rows: &[Vec<Fp>],
    absent: &[usize],
) -> (Instance, Vec<DealersShuffle>) {
    let stock = world.stock(shape, 1);
    with_stock(world, shape, stock, rows, absent)
}

/// A shuffle with stock that is there.
pub fn with_stock(
    world: &mut World,
    shape: &Shuffle,
    stock: Vec<Spent<ShuffleStock>>,
    rows: &[Vec<Fp>],
    absent: &[usize],
) -> (Instance, Vec<DealersShuffle>) {
    let width = shape.width;
    let submissions: Vec<Option<Masked>> = rows
        .iter()
        .enumerate()
        .map(|(slot, row)| {
            let masks = world.masks(|position| {
                let stock = stock[position].stock();
                let mask = &stock.stages[0].mask[slot * width..][..width];
                [mask, &stock.pads[2 * slot..][..2]].concat()
            });
            (!absent.contains(&slot)).then(|| masks.for_row(row))
        })
        .collect();
    let name = stock[0].name();
    let programs: Vec<DealersShuffle> =
        stock.into_iter().map(|s| DealersShuffle::new(s, submissions.clone())).collect();
    let phases = DealersShuffle::phases_of(shape, rows.len() - absent.len());
    (world.instance(name, phases), programs)
}

pub fn sorted(mut rows: Vec<Vec<Fp>>) -> Vec<Vec<Fp>> {
    rows.sort_unstable();
    rows
}

#[test]
fn the_shuffle_brings_all_rows_out() {
    for (n, t) in sizes() {
        for (rows, radices) in [(4, &[4][..]), (4, &[2, 2]), (16, &[4, 4]), (8, &[2, 2, 2])] {
            let mut world = World::new(n, t, 5);
            let shape = shuffle_shape(&world, rows, 3, radices);
            let table = world.random_rows(rows, 3);
            let out = shuffle(&mut world, &shape, &table, &[]);
            assert_eq!(sorted(out), sorted(table));
        }
    }
}

#[test]
fn absent_rows_come_out_as_noise_and_equal_messages_both() {
    let mut world = World::new(4, 1, 6);
    let shape = shuffle_shape(&world, 8, 2, &[4, 2]);
    let mut table = world.random_rows(8, 2);
    table[3] = table[5].clone();
    let out = shuffle(&mut world, &shape, &table, &[0, 7]);
    let count = |row: &Vec<Fp>| out.iter().filter(|r| *r == row).count();
    assert_eq!((count(&table[3]), count(&table[1])), (2, 1));
    assert_eq!((count(&table[0]), count(&table[7])), (0, 0));
    let nothing = shuffle(&mut world, &shape, &table, &[0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(nothing.iter().all(|row| !table.contains(row)));
}

/// One server says nothing, another one is cut off until the end: output all the same.
#[test]
fn the_shuffle_needs_no_silent_and_no_slow_server() {
    for (n, t) in sizes() {
        for seed in 0..3 {
            let mut world = World::new(n, t, seed);
            let shape = shuffle_shape(&world, 4, 2, &[2, 2]);
            let table = world.random_rows(4, 2);
            // Preparation needs all; then t fall silent.
            let (instance, programs) = ready_shuffle(&mut world, &shape, &table, &[]);
            let quiet: Vec<u8> = (0..t as u8).map(|i| (seed as u8 + i) % n as u8).collect();
            world.adversary = Adversary::silent(&quiet);
            world.adversary.starved = Some(PartyId((seed as u8 + t as u8) % n as u8));
            let out = finish_shuffle(&mut world, &shape, instance, programs);
            assert_eq!(sorted(out), sorted(table), "n = {n}, seed {seed}");
        }
    }
}

/// With an absent slot, and with as many messages as there are powers.
#[test]
fn powermix_brings_equal_messages_out_twice() {
    let absent = [Some(2), None];
    for ((n, t), absent) in sizes().into_iter().flat_map(|size| absent.map(|a| (size, a))) {
        let mut world = World::new(n, t, 8);
        let shape = Powers { slots: 6, powers: 6, columns: 2 };
        let stock = world.stock(&shape, 1);
        // The same message twice, under keys of their own.
        let mut payloads = world.random_rows(6, 2);
        payloads[4] = payloads[1].clone();
        let keys: Vec<Fp> = world.random_rows(1, 6).remove(0);
        let submissions: Vec<Option<Masked>> = (0..6)
            .map(|slot| {
                let masks = world.masks(|position| stock[position].stock().masks(slot));
                (Some(slot) != absent).then(|| masks.for_carrier(keys[slot], &payloads[slot]))
            })
            .collect();
        let name = stock[0].name();
        let programs: Vec<PowerMix> =
            stock.into_iter().map(|s| PowerMix::new(s, submissions.clone())).collect();
        let instance = world.instance(name, programs[0].phases());
        let silent: Vec<u8> = (0..t as u8).collect();
        world.adversary = Adversary::silent(&silent);
        let ran = world.run(instance, programs);
        let mut wanted: Vec<(Fp, Vec<Fp>)> = (0..6)
            .filter(|slot| Some(*slot) != absent)
            .map(|slot| (keys[slot], payloads[slot].clone()))
            .collect();
        wanted.sort_unstable();
        for position in world.honest() {
            let sums = ran.outputs[position].as_ref().expect("output is guaranteed");
            let carriers = sums.solve(&mut world.tape).unwrap();
            assert!(carriers.iter().all(|carrier| carrier.count == 1));
            let found: Vec<_> = carriers.into_iter().map(|c| (c.key, c.payload)).collect();
            assert_eq!(found, wanted);
        }
    }
}

#[test]
fn sums_tell_the_sum_of_what_is_sealed() {
    let mut world = World::new(7, 2, 14);
    let stock = world.stock(&Randoms { count: 8 }, 1);
    let submissions: Vec<Option<Masked>> = (0..4)
        .map(|slot| {
            let masks = world.masks(|position| stock[position].stock()[slot * 2..][..2].to_vec());
            let row = [Fp::new(10 + slot as u64), Fp::new(1 << slot)];
            (slot != 1).then(|| masks.for_carrier(row[0], &row[1..]))
        })
        .collect();
    let name = stock[0].name();
    let programs: Vec<Sum> =
        stock.into_iter().map(|s| Sum::new(s, submissions.clone(), 2)).collect();
    let instance = world.instance(name, programs[0].phases());
    world.adversary = Adversary::silent(&[0, 6]);
    let ran = world.run(instance, programs);
    for position in world.honest() {
        assert_eq!(ran.outputs[position], Some(vec![Fp::new(10 + 12 + 13), Fp::new(1 + 4 + 8)]));
    }
}

#[test]
fn the_butterfly_brings_all_rows_out() {
    for (n, t) in sizes() {
        let mut world = World::new(n, t, 9);
        let recipe = butterfly::stock_of(4, 2);
        let stock = world.stock(&recipe, 1);
        let rows = world.random_rows(4, 2);
        let submissions: Vec<Option<Masked>> = (0..4)
            .map(|slot| {
                let masks = world.masks(|position| {
                    let stock = stock[position].stock();
                    [&stock.masks[slot * 2..][..2], &stock.pads[slot * 2..][..2]].concat()
                });
                (slot != 3).then(|| masks.for_row(&rows[slot]))
            })
            .collect();
        let name = stock[0].name();
        let programs: Vec<Butterfly> =
            stock.into_iter().map(|s| Butterfly::new(s, submissions.clone())).collect();
        let instance = world.instance(name, programs[0].phases());
        assert_eq!(instance.phases.len(), 1 + 2 * butterfly::iterations(4) + 1);
        world.adversary.starved = Some(PartyId(0));
        let ran = world.run(instance, programs);
        let table = ran.outputs[0].clone().expect("output is guaranteed");
        let out: Vec<Vec<Fp>> = table.chunks(2).map(<[Fp]>::to_vec).collect();
        assert!(rows[..3].iter().all(|row| out.contains(row)) && !out.contains(&rows[3]));
    }
}

/// What members send is what the formulas say, for each member and phase.
#[test]
fn bytes_and_rounds_are_the_formulas() {
    for (n, t) in sizes() {
        let mut world = World::new(n, t, 10);
        let prepared = world.prepare(&Triples { count: 30 * (t + 1) });
        assert_formulas(&world, &prepared.instance.phases, "triples", false);
        // The busiest member's price of a triple, exactly.
        assert_eq!(
            1000 * world.sent[&PartyId(0)] / (30 * (t + 1)),
            cost::triple_thousandths(&world.committee)
        );
        forget_costs(&mut world);
        let shape = shuffle_shape(&world, 16, 2, &[4, 4]);
        let rows = world.random_rows(16, 2);
        let (instance, programs) = ready_shuffle(&mut world, &shape, &rows, &[]);
        assert_eq!(instance.phases.len(), cost::shuffle_openings(&world.committee, 2));
        forget_costs(&mut world);
        let phases = instance.phases.clone();
        let _ = world.run(instance, programs);
        assert_formulas(&world, &phases, "shuffle", true);
    }
}

fn forget_costs(world: &mut World) {
    world.sent.clear();
    world.steps.clear();
}

/// What every member has sent, and in how many rounds, is what the formulas say of these phases. In
/// a run in which everybody sends in each, a step is n·(n − 1) messages.
fn assert_formulas(world: &World, phases: &[Phase], of: &str, all_send: bool) {
    let n = world.size();
    for (position, party) in world.committee.members().iter().enumerate() {
        let elements = phases.iter().map(|p| cost::elements(p, &world.committee, position));
        assert_eq!(world.sent[party], elements.sum::<usize>(), "{of}, n = {n}, {party}");
    }
    let rounds: usize = phases.iter().map(cost::rounds).sum();
    assert_eq!(world.steps.len(), rounds, "{of}, n = {n}: a step is a round");
    if all_send {
        assert!(world.steps.values().all(|&messages| messages == n * (n - 1)), "{of}, n = {n}");
    }
}

/// Values that are opened in these phases.
fn opened(phases: &[Phase]) -> usize {
    let count = |phase: &Phase| match phase {
        Phase::Open { count, .. } => *count,
        _ => 0,
    };
    phases.iter().map(count).sum()
}

/// The stock of every recipe, and the two other mixes.
#[test]
fn stock_and_mixes_cost_the_formulas() {
    for (n, t) in sizes() {
        let mut world = World::new(n, t, 15);
        let count = 10 * (t + 1);
        let bits = world.prepare(&Bits { count }).instance;
        assert_eq!(opened(&bits.phases), count, "a bit is one opening");
        assert_formulas(&world, &bits.phases, "bits", false);
        forget_costs(&mut world);
        let shape = shuffle_shape(&world, 16, 2, &[4, 4]);
        let prepared = world.prepare(&shape);
        assert_formulas(&world, &prepared.instance.phases, "matrices", false);
        let kept = prepared.ready[0].as_ref().unwrap().stock().to_bytes().len();
        assert_eq!(kept, 8 * cost::shuffle_stock(&shape), "n = {n}");

        let (rows, width) = (8, 2);
        let recipe = butterfly::stock_of(rows, width);
        let stock = prepared_stock(&mut world, &recipe, "switches");
        let table = world.random_rows(rows, width);
        let submissions: Vec<Option<Masked>> = (0..rows)
            .map(|slot| {
                let masks = world.masks(|position| {
                    let stock = stock[position].stock();
                    [&stock.masks[slot * width..][..width], &stock.pads[slot * 2..][..2]].concat()
                });
                Some(masks.for_row(&table[slot]))
            })
            .collect();
        let name = stock[0].name();
        let programs: Vec<Butterfly> =
            stock.into_iter().map(|s| Butterfly::new(s, submissions.clone())).collect();
        let phases = programs[0].phases();
        let layers = butterfly::iterations(rows) * rows.ilog2() as usize;
        assert_eq!(opened(&phases), 2 * rows + layers * rows / 2 * width + rows * width);
        let instance = world.instance(name, phases.clone());
        forget_costs(&mut world);
        let _ = world.run(instance, programs);
        assert_formulas(&world, &phases, "butterfly", true);

        let shape = Powers { slots: 6, powers: 6, columns: 2 };
        let stock = prepared_stock(&mut world, &shape, "powers");
        let payloads = world.random_rows(6, 2);
        let keys: Vec<Fp> = world.random_rows(1, 6).remove(0);
        let submissions: Vec<Option<Masked>> = (0..6)
            .map(|slot| {
                let masks = world.masks(|position| stock[position].stock().masks(slot));
                Some(masks.for_carrier(keys[slot], &payloads[slot]))
            })
            .collect();
        let name = stock[0].name();
        let programs: Vec<PowerMix> =
            stock.into_iter().map(|s| PowerMix::new(s, submissions.clone())).collect();
        let phases = programs[0].phases();
        assert_eq!(opened(&phases), 6 * (1 + 2), "a key and each element of a payload");
        let instance = world.instance(name, phases.clone());
        forget_costs(&mut world);
        let _ = world.run(instance, programs);
        assert_formulas(&world, &phases, "PowerMix", true);
    }
}

/// Stock that was prepared at the price of the formulas.
fn prepared_stock<R: Recipe>(
    world: &mut World,
    recipe: &R,
    of: &str,
) -> Vec<Spent<<R::Program as Program>::Output>> {
    forget_costs(world);
    let stock = world.stock(recipe, 1);
    let phases = recipe.program(&world.committee, 0).phases();
    assert_formulas(world, &phases, of, false);
    stock
}

#[test]
fn openings_at_four_thousand_rows() {
    for (t, openings) in [(1, 7), (2, 10), (3, 13)] {
        let members: Vec<_> = (0..=3 * t as u8).map(PartyId).collect();
        let committee = Committee::new(&members, t).unwrap();
        let dealers = (0..=t).collect();
        let shape = Shuffle::new(&committee, 4096, 23, clos::radices(4096), dealers).unwrap();
        assert_eq!(DealersShuffle::phases_of(&shape, 4000).len(), openings);
    }
}

/// One of five servers is dead: the set without it prepares, and shuffles.
#[test]
fn with_one_dead_of_five_the_stock_has_no_end() {
    let sets = rotation::sets(5, 1).unwrap();
    let dead = PartyId(3);
    let mut ready = 0;
    for set in &sets {
        let mut world = World::of(set, 1, 11);
        if set.contains(&dead) {
            world.adversary = Adversary::silent(&[dead.0]);
            world.adversary.record = Box::new(|_, _| None);
        }
        let shape = shuffle_shape(&world, 4, 1, &[2, 2]);
        let prepared = world.prepare(&shape);
        let all = prepared.ready.iter().filter(|checked| checked.is_some()).count();
        assert_eq!(all, if set.contains(&dead) { 0 } else { 4 });
        assert!(!prepared.burned && prepared.judged.is_empty(), "silence names nobody");
        ready += usize::from(all == 4);
    }
    assert_eq!(ready, 1);
    let alive: Vec<PartyId> = sets.into_iter().find(|set| !set.contains(&dead)).unwrap();
    let mut world = World::of(&alive, 1, 12);
    let shape = shuffle_shape(&world, 4, 1, &[2, 2]);
    let rows = world.random_rows(4, 1);
    let out = shuffle(&mut world, &shape, &rows, &[]);
    assert_eq!(sorted(out), sorted(rows));
}

#[test]
fn runs_have_names_of_their_own() {
    let mut world = World::new(4, 1, 13);
    let names: Vec<Digest> =
        (0..2).map(|_| world.stock(&Randoms { count: 1 }, 0)[0].name()).collect();
    assert_ne!(names[0], names[1]);
}
