//! What the corrupt parties see, as exact distributions: all randomness of a group of order 3 is
//! enumerated.
//!
//! Three visitors: 0 and 1 are honest, 2, the server and the operators are corrupt, so 1 is the
//! last honest one. The view is the table after 0 and the table after 1. In the hybrid, what the
//! key of 1 hides in the table after 0 is replaced by a uniform element (decisional
//! Diffie–Hellman), and 1 hands on a fresh encryption of what its table holds.

use std::collections::BTreeMap;

use crate::composition::RowMaps;
use crate::group::Group;
use crate::group::elgamal::{Ciphertext, Table};
use crate::group::toy::{Exponent, Residue, Tiny};
use crate::proofs::disjunction::{Witness, prove};
use crate::statement::{Combined, Statement};
use crate::tests::world::{below, seeded};
use crate::visitor::hand_on;

type View = Vec<(u64, u64)>;
type Distribution = BTreeMap<Vec<View>, u32>;

const ORDER: u64 = 3;

fn view(table: &Table<Tiny>) -> View {
    table.entries.iter().map(|entry| (entry.u.0, entry.v.0)).collect()
}

/// All vectors of that many scalars.
fn scalars(count: usize) -> impl Iterator<Item = Vec<Exponent<ORDER>>> {
    let vectors = ORDER.pow(count as u32);
    (0..vectors).map(move |number| {
        (0..count).map(|i| Exponent(number / ORDER.pow(i as u32) % ORDER)).collect()
    })
}

/// The keys of 0, 1 and all others together, as exponents.
const KEYS: [Exponent<ORDER>; 3] = [Exponent(2), Exponent(1), Exponent(1)];

fn key_of(keys: &[Exponent<ORDER>]) -> Residue<7> {
    Tiny::mul_base(&keys.iter().fold(Exponent(0), |sum, key| sum + *key))
}

fn encrypted(plain: &[Residue<7>], key: &Residue<7>, r: &[Exponent<ORDER>]) -> Table<Tiny> {
    Table { entries: plain.iter().zip(r).map(|(x, r)| Ciphertext::encrypt(x, key, r)).collect() }
}

/// The majority of three: (0,1) and (1,0) leave the same table to the third visitor, (1,1) does
/// not.
fn plain() -> Vec<Residue<7>> {
    let (no, yes) = (Tiny::mul_base(&Exponent(1)), Tiny::mul_base(&Exponent(2)));
    vec![no, no, yes, yes]
}

/// The initial table, with the randomness that everybody knows.
fn initial() -> Table<Tiny> {
    encrypted(&plain(), &key_of(&KEYS), &[Exponent(1), Exponent(2), Exponent(1), Exponent(2)])
}

/// What value 0 or 1 leaves of plaintexts.
fn residual(plain: &[Residue<7>], value: u16) -> Vec<Residue<7>> {
    RowMaps::new(2, plain.len() as u16 - 2)
        .of(usize::from(value))
        .iter()
        .map(|row| plain[*row])
        .collect()
}

/// The hybrid view of the two tables, given the values of 0 and 1; `rerandomise` says whether
/// visitor 0 does.
fn hybrid(values: [u16; 2], rerandomise: bool) -> Distribution {
    let mut seen = Distribution::new();
    let left = residual(&residual(&plain(), values[0]), values[1]);
    for randomness in scalars(3 + 3 + 2) {
        let s = if rerandomise { &randomness[..3] } else { &[Exponent(0); 3] };
        let maps = RowMaps::new(2, 2);
        let mut first = hand_on(&initial(), &maps, values[0], &KEYS[0], s, &key_of(&KEYS[1..]));
        if rerandomise {
            // s·h_1 becomes uniform, independent of everything else.
            for (entry, uniform) in first.entries.iter_mut().zip(&randomness[3..6]) {
                entry.v = entry.v + Tiny::mul_base(uniform);
            }
        }
        let last = encrypted(&left, &key_of(&KEYS[2..]), &randomness[6..]);
        *seen.entry(vec![view(&first), view(&last)]).or_default() += 1;
    }
    seen
}

#[test]
fn two_inputs_that_leave_the_same_give_the_same_view() {
    assert_eq!(hybrid([0, 1], true), hybrid([1, 0], true));
}

#[test]
fn inputs_that_leave_something_else_give_another_view() {
    assert_ne!(hybrid([0, 1], true), hybrid([1, 1], true), "y_i itself is seen, as it must be");
}

/// The control: the same enumeration finds the leak that rerandomising is against.
#[test]
fn without_rerandomising_the_view_tells_the_inputs_apart() {
    assert_ne!(hybrid([0, 1], false), hybrid([1, 0], false));
}

/// Visitor 1 in fact hands on a fresh encryption of what is left, whatever the randomness of its
/// input.
#[test]
fn what_an_honest_visitor_hands_on_is_a_fresh_encryption() {
    let plain = residual(&plain(), 1);
    for value in 0..2 {
        let left = residual(&plain, value);
        let fresh: Vec<View> =
            sorted(scalars(2).map(|r| view(&encrypted(&left, &key_of(&KEYS[2..]), &r))).collect());
        for r in scalars(3) {
            let table = encrypted(&plain, &key_of(&KEYS[1..]), &r);
            let maps = RowMaps::new(2, 1);
            let handed = scalars(2)
                .map(|s| view(&hand_on(&table, &maps, value, &KEYS[1], &s, &key_of(&KEYS[2..]))));
            assert_eq!(sorted(handed.collect()), fresh, "value {value}, randomness {r:?}");
        }
    }
}

fn sorted(mut views: Vec<View>) -> Vec<View> {
    views.sort();
    views
}

/// A generator that gives the scalars of a list, one by one.
struct Script(std::vec::IntoIter<u64>);

impl rand_core::TryRng for Script {
    type Error = std::convert::Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        unreachable!("scalars are drawn from 64 bits")
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.0.next().expect("as many as are drawn"))
    }
    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
        unreachable!("scalars are drawn from 64 bits")
    }
}

impl rand_core::TryCryptoRng for Script {}

/// The proof tells nothing of the value: with both branches true, the witnesses of the one and of
/// the other give, over all randomness, the same commitments and, for every challenge, the same
/// proofs.
#[test]
fn a_proof_is_distributed_alike_for_both_values() {
    let (alpha, s) = (Exponent(2), [Exponent(1), Exponent(2)]);
    let remaining = key_of(&KEYS[1..]);
    let branch = |s: Exponent<ORDER>, w: u64| {
        let w = Tiny::mul_base(&Exponent(w));
        Combined {
            u: Tiny::mul_base(&s),
            v: Tiny::multiscalar_mul(&[-alpha, s], &[w, remaining]),
            w,
        }
    };
    let mut rng = seeded(31);
    let mut draw = || ostrakon_crypto::Digest(std::array::from_fn(|_| below(&mut rng, 256) as u8));
    let statement = Statement::<Tiny> { digest: draw(), key: Tiny::mul_base(&alpha), remaining };
    let proofs = |choice: u16| {
        let mut seen: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
        for randomness in scalars(6) {
            let mut script =
                Script(randomness.iter().map(|scalar| scalar.0).collect::<Vec<_>>().into_iter());
            let branches = [vec![branch(s[0], 2), branch(s[1], 1)]];
            let witness = Witness { choice, s: s[usize::from(choice)] };
            let proof = prove(&statement, &branches, &alpha, &[witness], &mut script).remove(0);
            let mut bytes = Vec::new();
            proof.write(&mut bytes);
            *seen.entry(bytes).or_default() += 1;
        }
        seen
    };
    let zero = proofs(0);
    assert_eq!(
        zero.len() as u64,
        ORDER.pow(5),
        "two nonces for each branch and one free challenge"
    );
    assert_eq!(zero, proofs(1));
}
