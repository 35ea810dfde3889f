//! Corrupt dealers of the shuffle, which choose what they share and prove what they can.

use std::sync::Arc;

use ostrakon_crypto::{Secret, Transcript};
use ostrakon_field::{Fp, Fp2};
use ostrakon_party::PartyId;
use ostrakon_robust::offline::proof::Cut;
use ostrakon_robust::offline::{Recipe, Shuffle, ShufflePreparation, ShuffleStock};
use ostrakon_robust::online::shuffle::DealersShuffle;
use ostrakon_robust::phase::Phase;
use ostrakon_robust::program::{Given, Program, Turn};
use ostrakon_robust::{Committee, Tape};

use crate::honest::{finish_shuffle, shuffle_shape, sizes, sorted, with_stock};
use crate::world::{Adversary, Marks, World, nightly, secrets};

/// What a dealer does to its matrix entries.
type Choose = fn(&Shuffle, &mut [Fp]);

/// A shuffle in which some members deal what they choose, with the best proof that there is.
#[derive(Clone)]
struct Chosen {
    shape: Shuffle,
    choose: Option<Choose>,
}

struct ChosenProgram {
    inner: ShufflePreparation,
    shape: Shuffle,
    choose: Option<Choose>,
    entries: Vec<Fp>,
    seeds: Vec<Fp2>,
}

impl Recipe for Chosen {
    type Program = ChosenProgram;

    fn program(&self, committee: &Arc<Committee>, me: usize) -> ChosenProgram {
        ChosenProgram {
            inner: self.shape.program(committee, me),
            shape: self.shape.clone(),
            choose: self.choose,
            entries: vec![],
            seeds: vec![],
        }
    }

    fn describe(&self, transcript: &mut Transcript) {
        self.shape.describe(transcript);
    }
}

impl Program for ChosenProgram {
    type Output = ShuffleStock;

    fn phases(&self) -> Vec<Phase> {
        self.inner.phases()
    }

    fn next(&mut self, given: Given, tape: &mut Tape) -> Turn<ShuffleStock> {
        let opened = if let Given::Opened(values) = &given { values.clone() } else { vec![] };
        match (self.inner.next(given, tape), self.choose) {
            (Turn::Deal(Some(mut secrets)), Some(choose)) if self.entries.is_empty() => {
                let (entries, seeds) = secrets.split_at_mut(self.shape.entries());
                choose(&self.shape, entries);
                self.entries = entries.to_vec();
                self.seeds = seeds.as_chunks::<2>().0.iter().map(|&[a, b]| Fp2(a, b)).collect();
                Turn::Deal(Some(secrets))
            }
            (Turn::Deal(Some(_)), Some(_)) => {
                let chi = Fp2(opened[0], opened[1]);
                let proof = Cut::of(self.shape.entries()).prove(&self.entries, &self.seeds, chi);
                Turn::Deal(Some(proof.iter().flat_map(|value| [value.0, value.1]).collect()))
            }
            (turn, _) => turn,
        }
    }
}

/// Prepares with the first t dealers choosing.
fn prepare(
    world: &mut World,
    shape: &Shuffle,
    choose: Choose,
) -> crate::world::Prepared<ShuffleStock> {
    let corrupt: Vec<u8> = (0..world.committee.corrupt() as u8).collect();
    world.adversary = Adversary::new(&corrupt, |_, m| vec![crate::world::Sent::now(&m)]);
    let shape = shape.clone();
    let t = world.committee.corrupt();
    world.prepare_by(move |me| Chosen { shape: shape.clone(), choose: (me < t).then_some(choose) })
}

/// The batch is burnt, and everybody names a corrupt dealer.
fn assert_refused(choose: Choose, name: &str) {
    for (n, t) in sizes() {
        let mut world = World::new(n, t, 31);
        let shape = shuffle_shape(&world, 8, 2, &[4, 2]);
        let prepared = prepare(&mut world, &shape, choose);
        assert!(prepared.ready.iter().all(Option::is_none), "{name}, n = {n}");
        assert_eq!(prepared.judged, vec![Some(PartyId(0)); n - t], "{name}, n = {n}");
    }
}

/// An error in P is a tag on one message: a two in place of a one doubles whoever comes that way.
#[test]
#[expect(non_snake_case, reason = "the attack is on the product of P and r")]
fn tagged_Pr() {
    assert_refused(
        |_, entries| *entries.iter_mut().find(|e| **e == Fp::ONE).unwrap() += Fp::ONE,
        "2",
    );
    assert_refused(
        |_, entries| *entries.iter_mut().find(|e| **e == Fp::ZERO).unwrap() += Fp::ONE,
        "1 more",
    );
    assert_refused(|_, entries| entries[0] -= Fp::new(5), "-5");
}

/// All entries are bits and all rows sums right, but a row is there twice, and another one lost.
#[test]
fn doubled_row() {
    assert_refused(
        |shape, entries| {
            let radix = shape.radices[0];
            // The block of row 0 in the first stage: rows 0, stride, …
            let stride = shape.rows / radix;
            let line: Vec<Fp> = entries[..radix].to_vec();
            entries[stride * radix..][..radix].copy_from_slice(&line);
        },
        "doubled",
    );
}

/// Errors in two rows that cancel in every sum, with entries that are no bits.
#[test]
fn sums_alone_would_not_do() {
    assert_refused(
        |shape, entries| {
            let radix = shape.radices[0];
            let stride = shape.rows / radix;
            for (row, column, sign) in [(0, 0, 1), (0, 1, -1), (1, 0, -1), (1, 1, 1)] {
                let entry = &mut entries[row * stride * radix + column];
                *entry += if sign > 0 { Fp::new(5) } else { -Fp::new(5) };
            }
        },
        "cancelling",
    );
}

fn identity(shape: &Shuffle, entries: &mut [Fp]) {
    let mut rest = entries;
    for digit in shape.digits() {
        let (matrix, more) = rest.split_at_mut(shape.rows * digit.radix);
        for (row, line) in matrix.chunks_mut(digit.radix).enumerate() {
            for (j, entry) in line.iter_mut().enumerate() {
                *entry = Fp::new(u64::from(j == digit.of(row)));
            }
        }
        rest = more;
    }
}

/// What servers come to whose openings are put together at once, without a message.
fn in_lockstep(committee: &Committee, mut programs: Vec<DealersShuffle>) -> Vec<Fp> {
    let tape = &mut Tape::new(&Secret::new([0; 32]));
    let mut opened: Option<Vec<Fp>> = None;
    loop {
        let turns = programs.iter_mut().map(|program| {
            let given = opened.clone().map_or(Given::Nothing, Given::Opened);
            match program.next(given, tape) {
                Turn::Open(shares) => Ok(shares),
                Turn::Done(table) => Err(table),
                _ => panic!("a shuffle opens only"),
            }
        });
        match turns.collect::<Result<Vec<_>, _>>() {
            Ok(shares) => opened = Some(secrets(committee, &shares)),
            Err(table) => return table,
        }
    }
}

/// So many shuffles are played message by message; what is to be counted beyond that depends on
/// what was dealt, and signing what opens it would take half of the time.
const PLAYED: u64 = 120;

/// The order in which four rows come out if t dealers choose the identity.
fn order_of(seed: u64) -> Vec<u64> {
    let mut world = World::new(4, 1, 1000 + seed);
    let shape = shuffle_shape(&world, 4, 1, &[2, 2]);
    let prepared = prepare(&mut world, &shape, identity);
    let stock = prepared.ready.into_iter().map(|checked| {
        let mut marks = Marks::default();
        let purpose = ostrakon_crypto::Digest([1; 32]);
        checked.expect("the identity is a permutation").spend(purpose, &mut marks).unwrap()
    });
    let stock = stock.collect();
    let rows: Vec<Vec<Fp>> = (0..4).map(|i| vec![Fp::new(i)]).collect();
    let (instance, programs) = with_stock(&mut world, &shape, stock, &rows, &[]);
    let out = if seed < PLAYED {
        finish_shuffle(&mut world, &shape, instance, programs)
    } else {
        in_lockstep(&world.committee, programs).into_iter().map(|value| vec![value]).collect()
    };
    assert_eq!(sorted(out.clone()), rows);
    out.iter().map(|row| row[0].value()).collect()
}

/// t dealers choose the identity: the one honest dealer makes the order uniform all the same.
#[test]
fn one_honest_dealer_makes_the_order_uniform() {
    let (runs, threads) = if nightly() { (100_000, 4) } else { (PLAYED, 1) };
    let mut counts = std::collections::BTreeMap::<Vec<u64>, u64>::new();
    std::thread::scope(|scope| {
        let part = |first| (first..runs).step_by(threads).map(order_of).collect::<Vec<_>>();
        let parts: Vec<_> =
            (0..threads as u64).map(|first| scope.spawn(move || part(first))).collect();
        for order in parts.into_iter().flat_map(|part| part.join().unwrap()) {
            *counts.entry(order).or_default() += 1;
        }
    });
    let expected = runs as f64 / 24.0;
    let seen: f64 = counts.values().map(|&c| (c as f64 - expected).powi(2) / expected).sum();
    let chi_square = seen + (24 - counts.len()) as f64 * expected;
    println!("{runs} runs, {} orders, chi-square {chi_square:.1}", counts.len());
    // 23 degrees of freedom: above 77 with probability 10^-7.
    assert!(chi_square < 77.0, "{chi_square}: {counts:?}");
}
