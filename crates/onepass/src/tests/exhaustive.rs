//! Every function's value in every order of arrival and with every set of absentees, in a small group; samples in ristretto255.

use super::world::{SeededRng, World, absences, binary, head};
use crate::composition::all;
use crate::toy::Toy;
use crate::{Ballot, Group, Helpers, Ristretto, verify_history};

/// All orders of arrival of all subsets of `0..n`.
fn arrivals(n: usize) -> Vec<Vec<usize>> {
    let mut found: Vec<Vec<usize>> = vec![Vec::new()];
    let mut place = 0;
    while place < found.len() {
        let come: Vec<Vec<usize>> =
            (0..n).filter(|v| !found[place].contains(v)).map(|v| [found[place].as_slice(), &[v]].concat()).collect();
        found.extend(come);
        place += 1;
    }
    found
}

/// All vectors of `n` values below `c`.
fn inputs(n: usize, c: u16) -> Vec<Vec<u16>> {
    (0..n).fold(vec![Vec::new()], |vectors, _| {
        vectors.iter().flat_map(|v| (0..c).map(move |x| [v.as_slice(), &[x]].concat())).collect()
    })
}

fn counts(values: &[u16], c: u16) -> Vec<u16> {
    (0..c).map(|value| values.iter().filter(|own| **own == value).count() as u16).collect()
}

/// Those of `order` come with their values of `values`, the same in every ballot; the others' values are the defaults.
fn outputs<G: Group>(world: &mut World<G>, order: &[usize], values: &[u16]) -> Vec<u32> {
    let ballots = world.session.ballots().len();
    let choices: Vec<Vec<u16>> = values.iter().map(|value| vec![*value; ballots]).collect();
    let (_, steps) = world.run(order, &choices);
    let steps: Vec<_> = steps.iter().map(|(visitor, head, step)| (*visitor, *head, step.as_slice())).collect();
    let history = verify_history(world.session.clone(), &steps, &mut world.rng).expect("honest steps");
    let closing = history.close(&head(&history), &absences(&history, &choices)).expect("everybody is named");
    world.open(&closing)
}

/// The output of a ballot by its table.
fn expected(ballot: &Ballot, values: &[u16]) -> u32 {
    let composition = counts(values, ballot.values());
    let place = all(ballot.values(), values.len() as u16).iter().position(|counts| *counts == composition);
    ballot.outputs()[place.expect("a composition")]
}

fn check<G: Group>(world: &mut World<G>, order: &[usize], values: &[u16]) {
    let expected: Vec<u32> = world.session.ballots().iter().map(|ballot| expected(ballot, values)).collect();
    assert_eq!(outputs(world, order, values), expected, "order {order:?}, values {values:?}");
}

fn helpers() -> Helpers {
    Helpers::new(2, 3).unwrap()
}

/// Every symmetric Boolean function of n visitors, one ballot for each.
fn every_boolean_table(n: usize) -> Vec<Ballot> {
    (0..1_u32 << (n + 1)).map(|table| binary(n, |ones| table >> ones & 1)).collect()
}

fn named_tables(n: usize) -> Vec<Ballot> {
    let at_least = |k: usize| binary(n, move |ones| u32::from(ones >= k));
    let mut ballots = vec![
        binary(n, |ones| u32::from(2 * ones > n)),
        binary(n, |ones| u32::from(ones == 0 || ones == n)),
        binary(n, |ones| u32::from(ones == 0)),
        binary(n, |ones| (ones % 2) as u32),
        binary(n, |ones| ones as u32),
    ];
    ballots.extend((1..=n).map(at_least));
    ballots
}

fn three_values(n: usize) -> Vec<Ballot> {
    let plurality = |counts: &[u16]| {
        let most = *counts.iter().max().unwrap();
        counts.iter().position(|count| *count == most).unwrap() as u32
    };
    let tally = |counts: &[u16]| u32::from(counts[1]) << 8 | u32::from(counts[2]);
    vec![Ballot::from_function(3, n, plurality).unwrap(), Ballot::from_function(3, n, tally).unwrap()]
}

#[test]
fn every_boolean_table_of_up_to_three_visitors_in_every_order_with_every_absence() {
    for n in 1..=3 {
        let mut world = World::<Toy>::new(n as u64, n, helpers(), every_boolean_table(n));
        for order in arrivals(n) {
            for values in inputs(n, 2) {
                check(&mut world, &order, &values);
            }
        }
    }
}

#[test]
fn every_boolean_table_of_four_and_five_visitors_in_every_order_with_every_absence() {
    let seed = 41;
    println!("seed {seed}");
    let mut rng = SeededRng::new(seed);
    for n in 4..=5 {
        let mut world = World::<Toy>::new(n as u64, n, helpers(), every_boolean_table(n));
        let all = inputs(n, 2);
        for order in arrivals(n) {
            let values = all[rng.below(all.len())].clone();
            check(&mut world, &order, &values);
        }
    }
}

#[test]
fn named_tables_of_up_to_six_visitors() {
    let seed = 42;
    println!("seed {seed}");
    let mut rng = SeededRng::new(seed);
    for n in 1..=6 {
        let mut world = World::<Toy>::new(n as u64, n, helpers(), named_tables(n));
        let (orders, all) = (arrivals(n), inputs(n, 2));
        for values in &all {
            for _ in 0..4 {
                let order = orders[rng.below(orders.len())].clone();
                check(&mut world, &order, values);
            }
        }
    }
}

#[test]
fn plurality_and_tally_of_three_values() {
    for n in 1..=3 {
        let mut world = World::<Toy>::new(n as u64, n, helpers(), three_values(n));
        for order in arrivals(n) {
            for values in inputs(n, 3) {
                check(&mut world, &order, &values);
            }
        }
    }
    let mut world = World::<Toy>::new(4, 4, helpers(), three_values(4));
    let orders = arrivals(4);
    for (place, values) in inputs(4, 3).iter().enumerate() {
        check(&mut world, &orders[place * 7 % orders.len()].clone(), values);
        check(&mut world, &[3, 1, 0, 2], values);
    }
}

#[test]
fn ristretto_agrees_with_the_function() {
    let seed = 43;
    println!("seed {seed}");
    let mut rng = SeededRng::new(seed);
    let mut ballots = named_tables(5);
    ballots.extend(three_values(5));
    let mut world = World::<Ristretto>::new(5, 5, helpers(), ballots);
    let binary = world.session.ballots().len() - 2;
    let orders = arrivals(5);
    for _ in 0..4 {
        let order = orders[rng.below(orders.len())].clone();
        // Each ballot has choices of its own.
        let mut choices: Vec<Vec<u16>> = Vec::new();
        for _ in 0..5 {
            choices.push((0..binary + 2).map(|ballot| rng.below(if ballot < binary { 2 } else { 3 }) as u16).collect());
        }
        let (_, steps) = world.run(&order, &choices);
        let steps: Vec<_> = steps.iter().map(|(visitor, head, step)| (*visitor, *head, step.as_slice())).collect();
        let history = verify_history(world.session.clone(), &steps, &mut world.rng).unwrap();
        let closing = history.close(&head(&history), &absences(&history, &choices)).unwrap();
        let opened = world.open(&closing);
        for ballot in 0..binary + 2 {
            let values: Vec<u16> = choices.iter().map(|choices| choices[ballot]).collect();
            let expected = expected(&world.session.ballots()[ballot], &values);
            assert_eq!(opened[ballot], expected, "order {order:?}, ballot {ballot}");
        }
    }
}

/// The paper, section 1.2.1: (0,0,1,1) → (0,0,1) → (0,1) → (0).
#[test]
fn the_majority_of_three_of_the_paper_step_by_step() {
    let mut world = World::<Ristretto>::new(7, 3, Helpers::none(), vec![binary(3, |ones| u32::from(ones >= 2))]);
    let mut history = world.start();
    let mut rows = vec![decrypted(&world, &history)];
    for (visitor, value) in [0, 1, 0].into_iter().enumerate() {
        history = world.walk(history, visitor, &[value]);
        rows.push(decrypted(&world, &history));
    }
    assert_eq!(rows, [vec![0, 0, 1, 1], vec![0, 0, 1], vec![0, 1], vec![0]]);
}

/// The plaintexts of the table, with the keys of everybody who has a layer on it.
fn decrypted(world: &World<Ristretto>, history: &crate::History<Ristretto>) -> Vec<u32> {
    use crate::closing::Layer;
    let visitors = history.remaining().into_iter().map(Layer::Visitor);
    let layers = visitors.chain((0..super::world::OPERATORS).map(Layer::Operator));
    let key = layers.fold(Ristretto::scalar(0), |sum, layer| sum + *world.key(layer).secret());
    let read = |entry: &crate::elgamal::Ciphertext<Ristretto>| {
        let x = entry.v - entry.u * key;
        let found = world.session.encodings(0).iter().find(|(_, encoding)| *encoding == x);
        found.expect("an output").0
    };
    history.tables()[0].entries.iter().map(read).collect()
}
