//! Discrete Laplace noise from secret random bits: one draw for the committee, which no member
//! knows or can bend.
//!
//! The noise is G_1 − G_2 with G geometric, Pr[G = g] ∝ a^g for a = e^(−1/b). The binary digits of
//! G are independent, digit j being one with a^(2^j)/(1 + a^(2^j)); each digit here is "64 random
//! bits,
//! read as a number, are below a constant". For a statistic that one person changes by at most 1
//! ideal draws make the result (1/b)-private; what is drawn here is [`distance`] away from them.

use crate::circuit::{Builder, Circuit, Wire};

/// Random bits of one digit.
pub const DIGIT_BITS: usize = 64;

/// Largest scale.
pub const MAX_SCALE: u64 = 1 << 40;

/// Binary digits after the point in the computation of constants.
const POINT: u32 = 120;
const ONE: u128 = 1 << POINT;

/// Digits of G for a scale: the rest is cut off with less than 2^-64.
pub fn digits(scale: u64) -> usize {
    assert!((1..=MAX_SCALE).contains(&scale), "a scale from 1 to {MAX_SCALE}");
    ((45 * scale).ilog2() as usize + 1).max(6)
}

/// The statistical distance of a draw from a discrete Laplace variable, at most: 2·[`digits`]
/// probabilities are rounded to 64 binary digits, after errors of their [`constants`] below 2^-70,
/// and both G are cut off. Answers with noise of distances that add up to η are (ε, (1 + e^ε)·η)-
/// private where ideal ones would be ε-private.
pub fn distance(scale: u64) -> f64 {
    let digits = digits(scale) as i32;
    let rounded = 2.0 * f64::from(digits) * (2f64.powi(-65) + 2f64.powi(-70));
    let cut = 2.0 * (2f64.powi(digits) / -(scale as f64)).exp();
    rounded + cut
}

/// x², with `POINT` binary digits after the point, rounded down.
fn square(x: u128) -> u128 {
    let (high, low) = (x >> 64, x & u128::from(u64::MAX));
    // x² = high²·2^128 + 2·high·low·2^64 + low², divided by 2^120. high is below 2^57.
    ((high * high) << (128 - POINT)) + ((high * low) >> (POINT - 65)) + ((low * low) >> POINT)
}

/// The constants of the digits: round(2^64·p_j).
pub fn constants(scale: u64) -> Vec<u64> {
    // e^(−1/b) by its series, whose terms fall by n·b each.
    let (mut power, mut term, mut n) = (0i128, ONE as i128, 1i128);
    while term != 0 {
        power += term;
        term = -term / (i128::from(scale) * n);
        n += 1;
    }
    let mut power = power as u128;
    (0..digits(scale))
        .map(|_| {
            let (divisor, mut rest, mut quotient) = (ONE + power, power, 0u128);
            for _ in 0..65 {
                rest <<= 1;
                quotient <<= 1;
                if rest >= divisor {
                    rest -= divisor;
                    quotient |= 1;
                }
            }
            power = square(power);
            // 65 digits were computed; the last one rounds. All probabilities are at most 1/2.
            ((quotient + 1) >> 1) as u64
        })
        .collect()
}

/// Whether random bits (lowest digit first) are below a public number. At most one AND for each bit
/// but the lowest.
fn below(builder: &mut Builder, random: &[Wire], number: u64) -> Wire {
    let mut below: Option<Wire> = None;
    for (i, &bit) in random.iter().enumerate() {
        let zero = builder.not(bit);
        below = match (number >> i & 1 == 1, below) {
            (true, None) => Some(zero),
            (false, None) => None,
            // A zero decides; after a one the lower digits do.
            (true, Some(lower)) => {
                let not_lower = builder.not(lower);
                let fails = builder.and(bit, not_lower);
                Some(builder.not(fails))
            }
            (false, Some(lower)) => Some(builder.and(zero, lower)),
        };
    }
    below.unwrap_or_else(|| builder.constant(false))
}

/// Random bits that one draw of a scale needs.
pub fn random_bits(scale: u64) -> usize {
    2 * DIGIT_BITS * digits(scale)
}

/// One draw from [`random_bits`] secret random bits: G_1 − G_2 in two's complement, lowest digit
/// first, the last one the sign.
///
/// # Panics
/// If the number of random bits is another.
pub fn laplace(builder: &mut Builder, scale: u64, random: &[Wire]) -> Vec<Wire> {
    assert_eq!(random.len(), random_bits(scale), "64 random bits for each digit");
    let constants = constants(scale);
    let mut geometric = |random: &[Wire]| -> Vec<Wire> {
        let digits = random.chunks(DIGIT_BITS).zip(&constants);
        digits.map(|(random, &constant)| below(builder, random, constant)).collect()
    };
    let (first, second) = random.split_at(random.len() / 2);
    let (first, second) = (geometric(first), geometric(second));
    let mut borrow = builder.constant(false);
    let mut difference = Vec::with_capacity(first.len() + 1);
    for (&x, &y) in first.iter().zip(&second) {
        let differ = builder.xor(x, y);
        difference.push(builder.xor(differ, borrow));
        let equal = builder.not(differ);
        let change = builder.xor(borrow, y);
        let kept = builder.and(equal, change);
        borrow = builder.xor(y, kept);
    }
    difference.push(borrow);
    difference
}

/// The circuit that opens one draw.
pub fn circuit(scale: u64) -> Circuit {
    let mut builder = Builder::new(random_bits(scale));
    let random: Vec<Wire> = (0..random_bits(scale)).map(|i| builder.input(i)).collect();
    for wire in laplace(&mut builder, scale, &random) {
        builder.open(wire);
    }
    builder.finish()
}
