//! Every function's value in every order of arrival, with every set of absentees and all inputs, in
//! a small group; samples in ristretto255.
//!
//! A [`Walk`] goes through the tree of all courses of a session depth first, so that courses with
//! the same beginning share its visits. From every state it comes back with everybody who has not
//! come as absent. What is complete:
//!
//! | functions | visitors | orders and sets of absentees | inputs | with `OSTRAKON_NIGHTLY` |
//! |---|---|---|---|---|
//! | every Boolean table, c = 2 | 1 to 4 | all | all | all |
//! | every Boolean table, c = 2 | 5 | all | one for each number of ones | all |
//! | named ones, c = 2 | 1 to 5 | all | all | all |
//! | named ones, c = 2 | 6 | all | no ones, three, six | all |
//! | plurality, tally, one table for each composition, c = 3 | 1 to 4 | all | all | all |
//!
//! Inputs are the values of those who come, and the defaults of those who do not. Every step is
//! verified. Every closing is compared with the function: those of one choice of defaults for each
//! state, and of all with `OSTRAKON_NIGHTLY`, are opened by operators and helpers with their
//! proofs, the others by the sum of all keys. The numbers of visits and closings are asserted, so
//! nothing is left out silently.

use super::world::{OPERATORS, Recorded, World, absences, below, binary, head, seeded};
use crate::closing::Absence;
use crate::composition::all;
use crate::group::toy::Toy;
use crate::layer::Layer;
use crate::{Ballot, Closing, Group, Helpers, History, Ristretto, verify_history};

/// A function of the numbers of visitors with each value.
type Rule = Box<dyn Fn(&[u16]) -> u32>;

fn rule(f: impl Fn(&[u16]) -> u32 + 'static) -> Rule {
    Box::new(f)
}

fn nightly() -> bool {
    std::env::var_os("OSTRAKON_NIGHTLY").is_some()
}

/// All orders of arrival of all subsets of `0..n`.
fn arrivals(n: usize) -> Vec<Vec<usize>> {
    let mut found: Vec<Vec<usize>> = vec![Vec::new()];
    let mut place = 0;
    while place < found.len() {
        let come: Vec<Vec<usize>> = (0..n)
            .filter(|v| !found[place].contains(v))
            .map(|v| [found[place].as_slice(), &[v]].concat())
            .collect();
        found.extend(come);
        place += 1;
    }
    found
}

/// All vectors with one of each place's values.
fn vectors(domains: &[Vec<u16>]) -> Vec<Vec<u16>> {
    domains.iter().fold(vec![Vec::new()], |vectors, domain| {
        vectors
            .iter()
            .flat_map(|v| domain.iter().map(move |x| [v.as_slice(), &[*x]].concat()))
            .collect()
    })
}

fn counts(values: &[u16], c: u16) -> Vec<u16> {
    (0..c).map(|value| values.iter().filter(|own| **own == value).count() as u16).collect()
}

fn helpers() -> Helpers {
    Helpers::new(2, 3).unwrap()
}

/// The tree of all courses of one session, and what was seen of it.
struct Walk {
    world: World<Toy>,
    rules: Vec<Rule>,
    /// How many values there are.
    c: u16,
    /// For each visitor the values that it may give, or be given if it stays away.
    domains: Vec<Vec<u16>>,
    /// The sum of everybody's keys, by layer.
    keys: Vec<<Toy as Group>::Scalar>,
    /// The values of those who came.
    given: Vec<Option<u16>>,
    visits: u64,
    closings: u64,
    /// Closings that were opened with proofs.
    proved: u64,
}

impl Walk {
    fn new(c: u16, domains: Vec<Vec<u16>>, rules: Vec<Rule>) -> Self {
        let n = domains.len();
        let ballots = rules.iter().map(|rule| Ballot::from_function(c, n, rule).unwrap()).collect();
        let world = World::<Toy>::new(n as u64, n, helpers(), ballots);
        let keys = (0..n).map(|visitor| *world.key(Layer::Visitor(visitor)).secret()).collect();
        Self {
            world,
            rules,
            c,
            given: vec![None; n],
            domains,
            keys,
            visits: 0,
            closings: 0,
            proved: 0,
        }
    }

    /// Goes through everything, and asserts that it was everything.
    fn all(c: u16, domains: Vec<Vec<u16>>, rules: Vec<Rule>) {
        let (n, d) = (domains.len() as u32, domains[0].len() as u64);
        assert!(
            domains.iter().all(|domain| domain.len() as u64 == d),
            "the formulas are for domains of one size"
        );
        let mut walk = Self::new(c, domains, rules);
        let start = walk.world.start();
        walk.explore(&start, &mut Vec::new());
        // k of n visitors come in n!/(n−k)! orders, and each has d values.
        let orders = |k: u32| (0..k).map(|come| u64::from(n - come)).product::<u64>();
        let visits: u64 = (1..=n).map(|k| orders(k) * d.pow(k)).sum();
        let states = 1 + visits;
        let closings = d.pow(n) * (0..=n).map(orders).sum::<u64>();
        assert_eq!((walk.visits, walk.closings), (visits, closings));
        assert_eq!(walk.proved, if nightly() { closings } else { states });
    }

    fn explore(&mut self, history: &History<Toy>, path: &mut Vec<Recorded>) {
        self.close(history);
        if history.remaining().is_empty() {
            return self.verify_whole(path);
        }
        for visitor in history.remaining() {
            for value in self.domains[visitor].clone() {
                let choices = vec![value; self.rules.len()];
                let step = self.world.visit(history, visitor, &choices).to_bytes();
                let previous = head(history);
                let after = self
                    .world
                    .verify(history.clone(), visitor, &previous, &step)
                    .expect("an honest step");
                self.visits += 1;
                self.given[visitor] = Some(value);
                path.push((visitor, previous, step));
                self.explore(&after, path);
                path.pop();
                self.given[visitor] = None;
            }
        }
    }

    /// All steps at once, as the next visitor would verify them; for long courses that takes too
    /// long by default.
    fn verify_whole(&mut self, path: &[Recorded]) {
        if path.len() <= 3 || nightly() {
            let steps: Vec<_> = path
                .iter()
                .map(|(visitor, head, step)| (*visitor, *head, step.as_slice()))
                .collect();
            verify_history(self.world.session.clone(), &steps, &mut self.world.rng)
                .expect("honest steps");
        }
    }

    /// Everybody who has not come stays away, with all defaults.
    fn close(&mut self, history: &History<Toy>) {
        let absent = history.remaining();
        let domains: Vec<_> = absent.iter().map(|visitor| self.domains[*visitor].clone()).collect();
        let all = vectors(&domains);
        // Another one in every state.
        let proved = self.closings as usize % all.len();
        for (place, defaults) in all.iter().enumerate() {
            let absence = |(visitor, value): (&usize, &u16)| Absence {
                visitor: *visitor,
                choices: vec![*value; self.rules.len()],
            };
            let absences: Vec<_> = absent.iter().zip(defaults).map(absence).collect();
            let closing = history.close(&head(history), &absences).expect("everybody is named");
            let mut values = self.given.clone();
            absent
                .iter()
                .zip(defaults)
                .for_each(|(visitor, value)| values[*visitor] = Some(*value));
            let values: Vec<u16> = values.into_iter().flatten().collect();
            let composition = counts(&values, self.c);
            let expected: Vec<u32> = self.rules.iter().map(|rule| rule(&composition)).collect();
            assert_eq!(
                self.read(&closing),
                expected,
                "{:?} came, values {values:?}",
                history.arrived()
            );
            self.closings += 1;
            if place == proved || nightly() {
                assert_eq!(
                    self.open(&closing),
                    expected,
                    "{:?} came, values {values:?}",
                    history.arrived()
                );
                self.proved += 1;
            }
        }
    }

    /// The outputs by the sum of all keys.
    fn read(&self, closing: &Closing<Toy>) -> Vec<u32> {
        let operators =
            (0..OPERATORS).map(|operator| *self.world.key(Layer::Operator(operator)).secret());
        let absent = closing.absent().iter().map(|visitor| self.keys[*visitor]);
        let key = operators.chain(absent).fold(Toy::scalar(0), |sum, key| sum + key);
        let output = |(ballot, last): (usize, &crate::group::elgamal::Ciphertext<Toy>)| {
            let x = last.v - Toy::multiscalar_mul(&[key], &[last.u]);
            let found =
                self.world.session.encodings(ballot).iter().find(|(_, encoding)| *encoding == x);
            found.expect("an output").0
        };
        closing.finals().iter().enumerate().map(output).collect()
    }

    /// The outputs by operators and helpers. Which helpers stand in changes from closing to closing
    /// and from layer to layer.
    fn open(&mut self, closing: &Closing<Toy>) -> Vec<u32> {
        let (needed, count) = (helpers().threshold(), helpers().count());
        let mut removed: Vec<_> =
            (0..OPERATORS).map(|operator| self.world.operate(closing, operator)).collect();
        for visitor in closing.absent().to_vec() {
            let first = (self.proved as usize + visitor) % count;
            for helper in (first..first + needed).map(|helper| helper % count) {
                removed.push(self.world.help(closing, helper, Layer::Visitor(visitor)));
            }
        }
        closing.open(&removed).expect("everything is removed")
    }
}

/// Every symmetric Boolean function of n visitors.
fn every_boolean_table(n: usize) -> Vec<Rule> {
    (0..1_u32 << (n + 1)).map(|table| rule(move |counts| table >> counts[1] & 1)).collect()
}

fn named(n: usize) -> Vec<Rule> {
    let n = n as u16;
    let mut rules = vec![
        rule(move |counts| u32::from(2 * counts[1] > n)),
        rule(move |counts| u32::from(counts[1] == 0 || counts[1] == n)),
        rule(|counts| u32::from(counts[1] == 0)),
        rule(|counts| u32::from(counts[1] % 2)),
        rule(|counts| u32::from(counts[1])),
    ];
    rules.extend((1..=n).map(|k| rule(move |counts| u32::from(counts[1] >= k))));
    rules
}

/// The first of those that most have.
fn plurality(counts: &[u16]) -> u32 {
    let most = counts.iter().max();
    counts.iter().position(|count| Some(count) == most).unwrap() as u32
}

/// Plurality, the tally, and for each composition the table that tells whether it is this one:
/// every table is made of those.
fn three_values(n: usize) -> Vec<Rule> {
    let tally = |counts: &[u16]| u32::from(counts[1]) << 8 | u32::from(counts[2]);
    let mut rules = vec![rule(plurality), rule(tally)];
    rules.extend(
        all(3, n as u16)
            .into_iter()
            .map(|composition| rule(move |counts| u32::from(counts == composition))),
    );
    rules
}

fn every_input(n: usize, c: u16) -> Vec<Vec<u16>> {
    vec![(0..c).collect(); n]
}

/// One input for every so many numbers of ones; at night all.
fn by_ones(n: usize, every: usize, rules: fn(usize) -> Vec<Rule>) {
    if nightly() {
        return Walk::all(2, every_input(n, 2), rules(n));
    }
    for ones in (0..=n).step_by(every) {
        // Who says yes is shifted, so that it is not always the last in the roster.
        let value = |visitor: usize| u16::from((visitor + ones) % n < ones);
        Walk::all(2, (0..n).map(|visitor| vec![value(visitor)]).collect(), rules(n));
    }
}

#[test]
fn every_boolean_table_of_up_to_four_visitors() {
    for n in 1..=4 {
        Walk::all(2, every_input(n, 2), every_boolean_table(n));
    }
}

#[test]
fn every_boolean_table_of_five_visitors() {
    by_ones(5, 1, every_boolean_table);
}

#[test]
fn named_tables_of_up_to_five_visitors() {
    for n in 1..=5 {
        Walk::all(2, every_input(n, 2), named(n));
    }
}

#[test]
fn named_tables_of_six_visitors() {
    by_ones(6, 3, named);
}

#[test]
fn tables_of_three_values_of_up_to_four_visitors() {
    for n in 1..=4 {
        Walk::all(3, every_input(n, 3), three_values(n));
    }
}

#[test]
fn ristretto_agrees_with_the_function() {
    let seed = 43;
    println!("seed {seed}");
    let mut rng = seeded(seed);
    let mut rules: Vec<(u16, Rule)> = named(5).into_iter().map(|rule| (2, rule)).collect();
    rules.extend(three_values(5).into_iter().take(2).map(|rule| (3, rule)));
    let ballots =
        rules.iter().map(|(c, rule)| Ballot::from_function(*c, 5, rule).unwrap()).collect();
    let mut world = World::<Ristretto>::new(5, 5, helpers(), ballots);
    let orders = arrivals(5);
    for _ in 0..4 {
        let order = orders[below(&mut rng, orders.len())].clone();
        // Each ballot has choices of its own.
        let mut choose =
            |_| rules.iter().map(|(c, _)| below(&mut rng, usize::from(*c)) as u16).collect();
        let choices: Vec<Vec<u16>> = (0..5).map(&mut choose).collect();
        let (_, steps) = world.run(&order, &choices);
        let steps: Vec<_> =
            steps.iter().map(|(visitor, head, step)| (*visitor, *head, step.as_slice())).collect();
        let history = verify_history(world.session.clone(), &steps, &mut world.rng).unwrap();
        let closing = history.close(&head(&history), &absences(&history, &choices)).unwrap();
        let opened = world.open(&closing);
        for (ballot, (c, rule)) in rules.iter().enumerate() {
            let values: Vec<u16> = choices.iter().map(|choices| choices[ballot]).collect();
            assert_eq!(
                opened[ballot],
                rule(&counts(&values, *c)),
                "order {order:?}, ballot {ballot}"
            );
        }
    }
}

/// The paper, section 1.2.1: (0,0,1,1) → (0,0,1) → (0,1) → (0).
#[test]
fn the_majority_of_three_of_the_paper_step_by_step() {
    let mut world = World::<Ristretto>::new(
        7,
        3,
        Helpers::none(),
        vec![binary(3, |ones| u32::from(ones >= 2))],
    );
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
    use crate::layer::Layer;
    let visitors = history.remaining().into_iter().map(Layer::Visitor);
    let layers = visitors.chain((0..super::world::OPERATORS).map(Layer::Operator));
    let key = layers.fold(Ristretto::scalar(0), |sum, layer| sum + *world.key(layer).secret());
    let read = |entry: &crate::group::elgamal::Ciphertext<Ristretto>| {
        let x = entry.v - entry.u * key;
        let found = world.session.encodings(0).iter().find(|(_, encoding)| *encoding == x);
        found.expect("an output").0
    };
    history.tables()[0].entries.iter().map(read).collect()
}
