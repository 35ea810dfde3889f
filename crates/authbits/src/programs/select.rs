//! The value of a secret rank by descent from the highest bit: the median and other quantiles.
//!
//! Among the values that still match, it counts those with a zero in the next bit. If the rank is
//! below the count, the wanted value has a zero there, and the values with a one drop out;
//! otherwise it has a one, the values with a zero drop out, and the rank falls by the count. Who
//! matches, the
//! counts and the rank stay secret. For n values of w ≥ 2 bits, with L the length of n in bits and
//! s(n) the number of ones in n: (2w − 3)·n + w·(n − s(n)) + w·L + (w − 1)·(2L − 1) AND gates.

use super::arithmetic::{compress, popcount};
use crate::circuit::{Builder, Circuit, Wire};

/// a < b for numbers of one length, lowest digit first. One AND per digit.
pub fn less(builder: &mut Builder, a: &[Wire], b: &[Wire]) -> Wire {
    let mut below = builder.constant(false);
    for (&x, &y) in a.iter().zip(b) {
        // Where the digits are equal the lower ones decide, otherwise y does.
        let differ = builder.xor(x, y);
        let equal = builder.not(differ);
        let change = builder.xor(below, y);
        let kept = builder.and(equal, change);
        below = builder.xor(y, kept);
    }
    below
}

/// a − (b if `chosen`, else 0) for numbers of one length, modulo its power of two. Two ANDs per
/// digit but the last, whose borrow nobody reads.
pub fn subtract_if(builder: &mut Builder, a: &[Wire], b: &[Wire], chosen: Wire) -> Vec<Wire> {
    let mut borrow = builder.constant(false);
    let mut difference = Vec::with_capacity(a.len());
    for (i, (&x, &y)) in a.iter().zip(b).enumerate() {
        let y = builder.and(y, chosen);
        let differ = builder.xor(x, y);
        difference.push(builder.xor(differ, borrow));
        if i + 1 == a.len() {
            break;
        }
        let equal = builder.not(differ);
        let change = builder.xor(borrow, y);
        let kept = builder.and(equal, change);
        borrow = builder.xor(y, kept);
    }
    difference
}

/// The digits, lowest first, of the value of rank `rank` (from 0, ascending; lowest digit first)
/// among `values` (each lowest digit first).
pub fn select(builder: &mut Builder, values: &[Vec<Wire>], rank: Vec<Wire>) -> Vec<Wire> {
    select_among(builder, values, None, rank)
}

/// [`select`] among those values of which a secret bit says that they count. The rank is below
/// their number.
pub fn select_among(
    builder: &mut Builder,
    values: &[Vec<Wire>],
    mut matching: Option<Vec<Wire>>,
    mut rank: Vec<Wire>,
) -> Vec<Wire> {
    let width = values.first().map_or(0, Vec::len);
    let mut result = Vec::with_capacity(width);
    for digit in (0..width).rev() {
        let mut zeros = Vec::with_capacity(values.len());
        for (i, value) in values.iter().enumerate() {
            let zero = builder.not(value[digit]);
            zeros.push(matching.as_ref().map_or(zero, |matching| builder.and(matching[i], zero)));
        }
        let mut count = popcount(builder, &zeros);
        while count.len() < rank.len() {
            count.push(builder.constant(false));
        }
        let below = less(builder, &rank, &count);
        let one = builder.not(below);
        result.push(one);
        if digit > 0 {
            rank = subtract_if(builder, &rank, &count, one);
            let keep = |(i, &zero): (usize, &Wire)| {
                let others =
                    matching.as_ref().map_or(one, |matching| builder.and(one, matching[i]));
                builder.xor(zero, others)
            };
            matching = Some(zeros.iter().enumerate().map(keep).collect());
        }
    }
    result.reverse();
    result
}

/// [`select_among`] with noise on the count of every level, one number in two's complement for
/// each: the comparison is with the noisy count, and the true one is subtracted from the rank. The
/// rank has a sign, since after a noisy choice it may fall below zero.
pub fn noisy_select(
    builder: &mut Builder,
    values: &[Vec<Wire>],
    matching: Option<Vec<Wire>>,
    mut rank: Vec<Wire>,
    noise: &[Vec<Wire>],
) -> Vec<Wire> {
    let width = values.first().map_or(0, Vec::len);
    let length = rank.len().max(noise.iter().map(Vec::len).max().unwrap_or(0)) + 2;
    let zero = builder.constant(false);
    rank.resize(length, zero);
    let mut matching = matching.unwrap_or_else(|| vec![builder.constant(true); values.len()]);
    let mut result = Vec::with_capacity(width);
    for (digit, noise) in (0..width).rev().zip(noise) {
        let mut zeros = Vec::with_capacity(values.len());
        for (value, matching) in values.iter().zip(&matching) {
            let zero = builder.not(value[digit]);
            zeros.push(builder.and(*matching, zero));
        }
        let mut count = popcount(builder, &zeros);
        count.resize(length, zero);
        let mut noise = noise.clone();
        let sign = noise.last().copied().unwrap_or(zero);
        noise.resize(length, sign);
        let columns = count.iter().zip(noise).map(|(a, b)| vec![*a, b]).collect();
        let mut noisy = compress(builder, columns);
        noisy.truncate(length);
        // Numbers with their sign turned round have the order of numbers without.
        let mut compared = [rank.clone(), noisy];
        for number in &mut compared {
            number[length - 1] = builder.not(number[length - 1]);
        }
        let below = less(builder, &compared[0], &compared[1]);
        let one = builder.not(below);
        result.push(one);
        rank = subtract_if(builder, &rank, &count, one);
        let keep = |(matching, &zero): (&Wire, &Wire)| {
            let others = builder.and(one, *matching);
            builder.xor(zero, others)
        };
        matching = matching.iter().zip(&zeros).map(keep).collect();
    }
    result.reverse();
    result
}

/// The circuit that opens the value of a public rank among `count` inputs of `width` bits each.
///
/// # Panics
/// If the rank is not below the count.
pub fn order_statistic(count: usize, width: usize, rank: usize) -> Circuit {
    assert!(rank < count, "rank {rank} of {count}");
    let mut builder = Builder::new(count * width);
    let value = |i: usize| (0..width).map(|digit| builder.input(i * width + digit)).collect();
    let values: Vec<Vec<Wire>> = (0..count).map(value).collect();
    let digits = usize::BITS - count.leading_zeros();
    let rank = (0..digits).map(|digit| builder.constant(rank >> digit & 1 == 1)).collect();
    for wire in select(&mut builder, &values, rank) {
        builder.open(wire);
    }
    builder.finish()
}

/// The median; of an even number of values the lower one in the middle.
pub fn median(count: usize, width: usize) -> Circuit {
    order_statistic(count, width, count.saturating_sub(1) / 2)
}

/// AND gates of [`order_statistic`], for `width` ≥ 2.
pub fn and_gates(count: usize, width: usize) -> usize {
    let digits = (usize::BITS - count.leading_zeros()) as usize;
    let counting = (2 * width - 3) * count + width * (count - count.count_ones() as usize);
    counting + width * digits + (width - 1) * (2 * digits - 1)
}
