//! Exact division of shared numbers by powers of two (`docs/spec/graph.md`, section 9).
//!
//! x is opened under a uniform mask r whose bits are shared: c = x + r mod p. Then x is c − r, or
//! c − r + p if c < r; and ⌊x/2^f⌋ follows from the bits of r and two comparisons of them with
//! public numbers. What is opened is uniform whatever x is.

use ostrakon_field::Fp61;

use crate::ruffle2::fault::Stop;
use crate::ruffle2::product::{Products, Unchecked};
use crate::ruffle2::sharing::Rss;

/// Bits of a number modulo p = 2^61 − 1.
pub const BITS: usize = 61;

fn power(exponent: usize) -> Fp61 {
    Fp61::new(1 << exponent)
}

/// Uniform numbers that nobody knows, in verified bits: bit i of number j at i·count + j. Not
/// `Clone`: a mask serves once.
pub struct Mask {
    bits: Rss<Fp61>,
    count: usize,
}

impl Mask {
    /// Of so many numbers' bits ([`Products::bits`]).
    ///
    /// # Panics
    /// If they are not as many.
    pub fn of_bits(bits: Rss<Fp61>, count: usize) -> Self {
        assert_eq!(bits.len(), BITS * count, "all bits of all numbers");
        Self { bits, count }
    }

    /// Bit i of all numbers.
    pub(crate) fn bit(&self, i: usize) -> Rss<Fp61> {
        self.bits.part(i * self.count..(i + 1) * self.count)
    }

    /// Masks of the first `count` numbers of these, and of the others.
    pub(crate) fn split(self, count: usize) -> (Self, Self) {
        let of = |range: std::ops::Range<usize>| {
            let place = |i: usize| range.clone().map(move |j| i * self.count + j);
            let bits = self.bits.map(|bits| (0..BITS).flat_map(place).map(|at| bits[at]).collect());
            Self { bits, count: range.len() }
        };
        (of(0..count), of(count..self.count))
    }

    /// ⌊r/2^shift⌋. Of the word 2^61 − 1, which is 0 modulo p, too: it is a number like others.
    pub(crate) fn above(&self, shift: usize) -> Rss<Fp61> {
        self.bits.map(|bits| {
            let number =
                |j: usize| (shift..BITS).map(|i| bits[i * self.count + j] * power(i - shift)).sum();
            (0..self.count).map(number).collect()
        })
    }
}

/// How some bits of public numbers compare with the same bits of masks.
pub(crate) struct Compared {
    /// 1 where the public number is less.
    pub less: Unchecked<Fp61>,
    /// 1 where both are equal.
    pub equal: Unchecked<Fp61>,
}

/// ⌊x/2^shift⌋ for every x from 0 to p − 1.
///
/// # Errors
/// [`Stop`].
///
/// # Panics
/// If there is not one mask for each number, or `shift` is not from 1 to 60.
pub async fn truncate(
    products: &mut Products<'_, Fp61>,
    x: &Unchecked<Fp61>,
    mask: Mask,
    shift: usize,
) -> Result<Unchecked<Fp61>, Stop> {
    assert!((1..BITS).contains(&shift), "a part of the bits");
    let opened = products.open_masked(x, &mask.above(0)).await?;
    let [low, high] = compared(products, &opened, &mask, shift).await?;
    // w says that x + r went beyond p; then p has to be added, which has all bits set: of the lower
    // ones 2^shift − 1, so they borrow if they are less than or equal to the mask's.
    let beyond = products.multiply(&high.equal, &low.less).await?.zip(&high.less, |a, b| a + b);
    let besides = products.multiply(&beyond, &low.equal).await?;
    let public: Vec<Fp61> = opened.iter().map(|c| Fp61::new(c.value() >> shift)).collect();
    let ones = vec![Fp61::ONE; public.len()];
    let whole = products.with(mask.above(shift).map(|r| r.iter().map(|r| -*r).collect()));
    let whole = whole.zip(&beyond, |whole, w| whole + w * power(BITS - shift));
    let whole = whole.zip(&low.less, |a, b| a - b).zip(&besides, |a, b| a - b);
    Ok(whole.affine(&ones, &public))
}

/// How the bits of public numbers below `shift`, and those from it on, compare with the masks'.
pub(crate) async fn compared(
    products: &mut Products<'_, Fp61>,
    opened: &[Fp61],
    mask: &Mask,
    shift: usize,
) -> Result<[Compared; 2], Stop> {
    let leaf = |i: usize| {
        let bit = mask.bit(i);
        let is = |value: u64, public: &Fp61| public.value() >> i & 1 == value;
        let ones = |value: u64| -> Vec<Fp61> {
            opened.iter().map(|c| Fp61::new(is(value, c).into())).collect()
        };
        let (zero, one) = (ones(0), ones(1));
        // Equal: r where c is 1, and 1 − r where it is 0.
        let sign: Vec<Fp61> = zero.iter().zip(&one).map(|(zero, one)| *one - *zero).collect();
        Compared {
            less: products.with(bit.affine(&zero, &vec![Fp61::ZERO; zero.len()])),
            equal: products.with(bit.affine(&sign, &zero)),
        }
    };
    let halves = [(0..shift).map(leaf).collect(), (shift..BITS).map(leaf).collect()];
    compare(products, halves).await
}

/// From comparisons of single bits, the lowest first, to that of all: neighbours are joined.
async fn compare(
    products: &mut Products<'_, Fp61>,
    mut halves: [Vec<Compared>; 2],
) -> Result<[Compared; 2], Stop> {
    while halves.iter().any(|half| half.len() > 1) {
        let pairs = halves.iter().flat_map(|half| half.chunks_exact(2));
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for pair in pairs {
            x.extend([&pair[1].equal; 2]);
            y.extend([&pair[0].less, &pair[0].equal]);
        }
        let (x, y) = (products.concat(&x), products.concat(&y));
        let joined = products.multiply(&x, &y).await?;
        let mut at = 0;
        for half in &mut halves {
            let mut next = Vec::with_capacity(half.len().div_ceil(2));
            let mut bits = std::mem::take(half).into_iter();
            while let Some(lower) = bits.next() {
                let Some(higher) = bits.next() else {
                    next.push(lower);
                    break;
                };
                let count = higher.less.len();
                let less = joined.part(at..at + count).zip(&higher.less, |a, b| a + b);
                let equal = joined.part(at + count..at + 2 * count);
                at += 2 * count;
                next.push(Compared { less, equal });
            }
            *half = next;
        }
    }
    Ok(halves.map(|mut half| half.pop().expect("each half has a bit")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What [`truncate`] computes of x, opened under the mask r.
    fn by_hand(x: u64, r: u64, shift: usize) -> i128 {
        let p = (1u128 << BITS) - 1;
        let c = ((u128::from(x) + u128::from(r)) % p) as u64;
        let part = |n: u64| n & ((1 << shift) - 1);
        let (beyond, less) = (i128::from(c < r), i128::from(part(c) < part(r)));
        let besides = beyond * i128::from(part(c) == part(r));
        i128::from(c >> shift) - i128::from(r >> shift) + (beyond << (BITS - shift))
            - less
            - besides
    }

    #[test]
    fn the_quotient_is_exact_for_every_number_and_mask() {
        let p = (1u64 << BITS) - 1;
        let mut numbers: Vec<u64> = (0..BITS).flat_map(|i| [(1 << i) - 1, 1 << i]).collect();
        numbers.extend([p - 2, p - 1, 0x1234_5678_9abc_def0 >> 3, 0x0fed_cba9_8765_4321 >> 1]);
        for shift in [1, 2, 30, 59, 60] {
            for x in numbers.iter().filter(|x| **x < p) {
                for r in numbers.iter().chain([&p]) {
                    assert_eq!(by_hand(*x, *r, shift), i128::from(x >> shift), "{x} {r} {shift}");
                }
            }
        }
    }
}
