//! The paper's checks as printed, as small oracles: each falls to the attack for which it is absent
//! here. Shares are of two servers; sums and products are in GF(2^64).

use ostrakon_kernels::{Prg, clmul_mul, permutation};

use crate::world::nightly;

const ROWS: usize = 12;

fn draws(seed: u64) -> impl FnMut() -> u64 {
    let mut key = [6; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let (prg, mut at) = (Prg::new(&key), 0);
    move || {
        let mut word = [0; 8];
        prg.fill_at(at, &mut word);
        at += 8;
        u64::from_le_bytes(word)
    }
}

fn shuffle(seed: u64) -> Vec<u32> {
    permutation::sample(&Prg::new(&[seed as u8; 32]), ROWS)
}

fn tries() -> u64 {
    if nightly() { 1000 } else { 50 }
}

/// The second check opens Σ(tag − MAC). Distinct errors on the tags, their sum taken out of the own
/// share: it passes, and the opened tags show every error in its new place.
#[test]
fn tag_sum() {
    for seed in 0..tries() {
        let mut draw = draws(seed);
        let pi = shuffle(seed);
        let errors: Vec<u64> = (0..ROWS).map(|_| draw()).collect();
        let shuffled: Vec<u64> = pi.iter().map(|from| errors[*from as usize]).collect();
        let own_share = errors.iter().fold(0, |sum, error| sum ^ error);
        let opened = shuffled.iter().fold(own_share, |sum, difference| sum ^ difference);
        assert_eq!(opened, 0, "the printed check passes");
        let read: Vec<u32> = shuffled
            .iter()
            .map(|error| errors.iter().position(|known| known == error).unwrap() as u32)
            .collect();
        assert_eq!(read, pi, "and gives the permutation away");
        // Weighed by a coin that is tossed after the errors are fixed, it does not pass.
        let weights: Vec<u64> = (0..ROWS).map(|_| draw()).collect();
        let weighed = shuffled.iter().zip(&weights).map(|(d, w)| clmul_mul(*d, *w));
        assert_ne!(weighed.fold(own_share, |sum, term| sum ^ term), 0);
    }
}

/// The sacrifice of a triple x, y, z for a triple a, b, c by a coin: what is opened and is to be 0.
fn sacrifice([a, b, c]: [u64; 3], [x, y, z]: [u64; 3], coin: u64) -> u64 {
    let (rho, sigma) = (clmul_mul(coin, a) ^ x, b ^ y);
    let crossed = clmul_mul(rho, y) ^ clmul_mul(sigma, x) ^ clmul_mul(rho, sigma);
    clmul_mul(coin, c) ^ z ^ crossed
}

/// Triples that the checked party deals take its own error out again; sacrificed against a later
/// coin they do not, whatever the second triple is that it has dealt with them.
#[test]
fn checked_party_triples() {
    for seed in 0..tries() {
        let mut draw = draws(1_000_000 + seed);
        // The dealer knows where its error e stands, since it deals the triple for that row, and
        // deals c = ab + e.
        let (key, value, error) = (draw(), draw(), draw() | 1);
        let (a, b) = (draw(), draw());
        let right = clmul_mul(a, b);
        let c = right ^ clmul_mul(key, error);
        let tag = clmul_mul(key, value);
        let (epsilon, delta) = (key ^ a, value ^ error ^ b);
        let product = c ^ clmul_mul(a, delta) ^ clmul_mul(epsilon, b) ^ clmul_mul(epsilon, delta);
        assert_eq!(product ^ tag, 0, "the printed check passes with a wrong value");
        // The second triple is dealt before the coin, too: right; wrong by the same; or so that the
        // two errors cancel for one coin, which is the best that there is.
        let ([x, y], guess, coin) = ([draw(), draw()], draw(), draw());
        let second = |wrong: u64| [x, y, clmul_mul(x, y) ^ wrong];
        let cancels = clmul_mul(guess, c ^ right);
        for wrong in [0, c ^ right, cancels] {
            assert_ne!(sacrifice([a, b, c], second(wrong), coin), 0, "it is found");
        }
        assert_eq!(sacrifice([a, b, c], second(cancels), guess), 0, "one coin of 2^64 is passed");
        assert_eq!(sacrifice([a, b, right], second(0), coin), 0, "who is honest passes");
    }
}

/// The first check with 1 added to the share of the key of `ek`: what is opened is `ek`.
#[test]
fn first_check_opens_a_key() {
    for seed in 0..tries() {
        let mut draw = draws(2_000_000 + seed);
        let (key, ek) = (draw(), draw());
        let tag = clmul_mul(key, ek);
        assert_eq!(clmul_mul(key ^ 1, ek) ^ tag, ek);
    }
}

/// One check at the end: an error put in before a permutation and taken out at a guess after it
/// survives whenever the guess is right, with 1/N. (That it never survives here:
/// `guesses::cancel_at_a_guess`.)
#[test]
fn an_end_check_is_passed_by_a_right_guess() {
    let mut survived = 0;
    let runs = 200 * tries();
    for seed in 0..runs {
        let pi = permutation::sample(
            &Prg::new(&{
                let mut key = [2; 32];
                key[..8].copy_from_slice(&seed.to_le_bytes());
                key
            }),
            ROWS,
        );
        let (row, guess) = (seed as usize % ROWS, (seed as usize / ROWS) % ROWS);
        survived += u64::from(pi[guess] as usize == row);
    }
    let expected = runs / ROWS as u64;
    assert!((expected * 9 / 10..expected * 11 / 10).contains(&survived), "{survived} of {runs}");
}

/// Inputs in two shares without MACs: who adds an error to its share of one row finds the row.
#[test]
fn two_shares_without_macs_are_marked() {
    for seed in 0..tries() {
        let mut draw = draws(3_000_000 + seed);
        let pi = shuffle(seed);
        let (target, error) = (seed as usize % ROWS, draw());
        // Rows carry redundancy: their second word is zero.
        let mut rows = [(0, 0); ROWS];
        rows.iter_mut().for_each(|row| row.0 = draw());
        rows[target].1 ^= error;
        let opened: Vec<(u64, u64)> = pi.iter().map(|from| rows[*from as usize]).collect();
        let marked = opened.iter().position(|row| row.1 == error).unwrap();
        assert_eq!(pi[marked] as usize, target);
    }
}
