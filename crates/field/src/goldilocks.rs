use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use ostrakon_kernels::mask;
use rand_core::Rng;
use zeroize::Zeroize;

use crate::Field;

/// 2^32 − 1 = 2^64 mod p.
const EPSILON: u64 = 0xffff_ffff;

/// An element of the field of p = 2^64 − 2^32 + 1 elements.
///
/// The representative is always below p, so equality of words is equality of elements. Sums,
/// differences and products take time independent of the values; functions that do not say
/// `vartime`. A bare element is neither secret nor public; a type that holds a secret one must not
/// derive `Debug`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Zeroize)]
#[must_use]
pub struct Fp(u64);

/// Eight bytes that are no canonical encoding: the number is p or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotCanonical;

impl Fp {
    /// The number of elements.
    pub const P: u64 = 0xffff_ffff_0000_0001;
    /// The neutral element of addition.
    pub const ZERO: Fp = Fp(0);
    /// The neutral element of multiplication.
    pub const ONE: Fp = Fp(1);
    /// A generator of the multiplicative group, and therefore no square.
    pub const GENERATOR: Fp = Fp(7);
    /// 2^32 divides p − 1: there are roots of unity of all orders 2^i up to this i.
    pub const TWO_ADICITY: u32 = 32;

    /// The element that a number stands for, modulo p.
    pub const fn new(value: u64) -> Fp {
        Fp(if value >= Fp::P { value - Fp::P } else { value })
    }

    /// The representative below p.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }

    /// Reads an element.
    ///
    /// # Errors
    /// [`NotCanonical`] for numbers from p on: every element has one encoding.
    pub fn from_le_bytes(bytes: [u8; 8]) -> Result<Fp, NotCanonical> {
        let value = u64::from_le_bytes(bytes);
        if value < Fp::P { Ok(Fp(value)) } else { Err(NotCanonical) }
    }

    /// Writes an element.
    #[must_use]
    pub fn to_le_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }

    /// A uniform element, by rejection: a word reduced modulo p would be 2^-32 off.
    pub fn random(rng: &mut impl Rng) -> Fp {
        loop {
            let value = rng.next_u64();
            if value < Fp::P {
                return Fp(value);
            }
        }
    }

    /// The square.
    pub fn square(self) -> Fp {
        self * self
    }

    /// `self^exponent`, with 0^0 = 1. Time depends on the exponent, which must be public.
    pub fn pow_vartime(self, exponent: u64) -> Fp {
        let mut power = Fp::ONE;
        for i in (0..u64::BITS - exponent.leading_zeros()).rev() {
            power = power.square();
            if exponent >> i & 1 == 1 {
                power *= self;
            }
        }
        power
    }

    /// The multiplicative inverse, or `None` for zero. Fermat: the exponent is fixed.
    #[must_use]
    pub fn inverse(self) -> Option<Fp> {
        (self != Fp::ZERO).then(|| self.pow_vartime(Fp::P - 2))
    }

    /// The smaller of the two square roots, or `None` for a non-square (Tonelli and Shanks). Time
    /// depends on the element, which must be public.
    #[must_use]
    pub fn sqrt_vartime(self) -> Option<Fp> {
        if self == Fp::ZERO {
            return Some(Fp::ZERO);
        }
        // p − 1 = 2^32 · ODD.
        const ODD: u64 = (Fp::P - 1) >> Fp::TWO_ADICITY;
        let mut generator = Fp::GENERATOR.pow_vartime(ODD);
        let half = self.pow_vartime((ODD - 1) / 2);
        let mut root = half * self;
        let mut rest = root * half;
        let mut order = Fp::TWO_ADICITY;
        while rest != Fp::ONE {
            let mut squarings = 0;
            let mut power = rest;
            while power != Fp::ONE {
                power = power.square();
                squarings += 1;
            }
            if squarings == order {
                return None;
            }
            let factor = (0..order - squarings - 1).fold(generator, |power, _| power.square());
            root *= factor;
            generator = factor.square();
            rest *= generator;
            order = squarings;
        }
        Some(Fp(root.0.min(Fp::P - root.0)))
    }

    /// A primitive root of unity of order 2^`log_order`.
    ///
    /// # Panics
    /// If `log_order` is above [`Fp::TWO_ADICITY`].
    pub fn root_of_unity(log_order: u32) -> Fp {
        assert!(log_order <= Fp::TWO_ADICITY, "p − 1 is divisible by 2^32 and no more");
        Fp::GENERATOR.pow_vartime((Fp::P - 1) >> log_order)
    }
}

/// `value` if the flag is set, else zero; without a branch.
#[inline(always)]
fn if_set(flag: bool, value: u64) -> u64 {
    value & mask(flag)
}

/// Brings a sum or difference of representatives below p. `value` is below 2^64 < 2p.
#[inline(always)]
fn canonical(value: u64) -> Fp {
    let (less, borrow) = value.overflowing_sub(Fp::P);
    Fp(less.wrapping_add(if_set(borrow, Fp::P)))
}

/// Reduces a product: 2^64 = 2^32 − 1 and 2^96 = −1 modulo p.
#[inline(always)]
fn reduce(wide: u128) -> Fp {
    let (low, high) = (wide as u64, (wide >> 64) as u64);
    let (difference, borrow) = low.overflowing_sub(high >> 32);
    let difference = difference.wrapping_sub(if_set(borrow, EPSILON));
    let (sum, carry) = difference.overflowing_add((high & EPSILON) * EPSILON);
    canonical(sum.wrapping_add(if_set(carry, EPSILON)))
}

/// A sum of products that is reduced once, in the end. Up to 2^64 of them fit.
#[derive(Clone, Copy, Default)]
pub struct Accumulator {
    sum: u128,
    /// How often `sum` has passed 2^128.
    carries: u64,
}

impl Accumulator {
    /// Adds a product.
    #[inline(always)]
    pub fn add_product(&mut self, a: Fp, b: Fp) {
        let (sum, carry) = self.sum.overflowing_add(u128::from(a.0) * u128::from(b.0));
        self.sum = sum;
        self.carries += u64::from(carry);
    }

    /// The sum.
    #[inline(always)]
    pub fn reduce(self) -> Fp {
        // 2^128 = −2^32 modulo p.
        reduce(self.sum) - reduce(u128::from(self.carries) << 32)
    }
}

/// The inner product of as many elements as the shorter slice has.
pub fn dot(a: &[Fp], b: &[Fp]) -> Fp {
    let mut sum = Accumulator::default();
    a.iter().zip(b).for_each(|(&x, &y)| sum.add_product(x, y));
    sum.reduce()
}

impl Add for Fp {
    type Output = Fp;
    #[inline(always)]
    fn add(self, other: Fp) -> Fp {
        let (sum, carry) = self.0.overflowing_add(other.0);
        canonical(sum.wrapping_add(if_set(carry, EPSILON)))
    }
}

impl Sub for Fp {
    type Output = Fp;
    #[inline(always)]
    fn sub(self, other: Fp) -> Fp {
        let (difference, borrow) = self.0.overflowing_sub(other.0);
        Fp(difference.wrapping_add(if_set(borrow, Fp::P)))
    }
}

impl Neg for Fp {
    type Output = Fp;
    #[inline(always)]
    fn neg(self) -> Fp {
        Fp::ZERO - self
    }
}

impl Mul for Fp {
    type Output = Fp;
    #[inline(always)]
    fn mul(self, other: Fp) -> Fp {
        reduce(u128::from(self.0) * u128::from(other.0))
    }
}

impl AddAssign for Fp {
    #[inline(always)]
    fn add_assign(&mut self, other: Fp) {
        *self = *self + other;
    }
}

impl SubAssign for Fp {
    #[inline(always)]
    fn sub_assign(&mut self, other: Fp) {
        *self = *self - other;
    }
}

impl MulAssign for Fp {
    #[inline(always)]
    fn mul_assign(&mut self, other: Fp) {
        *self = *self * other;
    }
}

impl Sum for Fp {
    fn sum<I: Iterator<Item = Fp>>(elements: I) -> Fp {
        elements.fold(Fp::ZERO, Add::add)
    }
}

impl Field for Fp {
    const ZERO: Fp = Fp::ZERO;
    const ONE: Fp = Fp::ONE;

    fn inverse(self) -> Option<Fp> {
        Fp::inverse(self)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;
    use rand_core::TryRng;

    use super::*;
    use crate::batch_inverse;

    fn element() -> impl Strategy<Value = Fp> {
        let edges = [0, 1, 2, EPSILON, EPSILON + 1, Fp::P - 1, Fp::P - 2, 1 << 63, Fp::P >> 1];
        prop_oneof![
            any::<u64>().prop_map(Fp::new),
            (0..edges.len()).prop_map(move |i| Fp::new(edges[i]))
        ]
    }

    proptest! {
        #[test]
        fn agrees_with_wide_integers(a in element(), b in element()) {
            let p = u128::from(Fp::P);
            let (x, y) = (u128::from(a.0), u128::from(b.0));
            prop_assert_eq!(u128::from((a + b).0), (x + y) % p);
            prop_assert_eq!(u128::from((a - b).0), (x + p - y) % p);
            prop_assert_eq!(u128::from((a * b).0), x * y % p);
            prop_assert_eq!(u128::from((-a).0), (p - x) % p);
        }

        #[test]
        fn wide_words_are_reduced(wide: u128) {
            prop_assert_eq!(u128::from(reduce(wide).0), wide % u128::from(Fp::P));
        }

        #[test]
        fn all_but_zero_are_units(a in element()) {
            match a.inverse() {
                Some(inverse) => prop_assert!(a * inverse == Fp::ONE),
                None => prop_assert!(a == Fp::ZERO),
            }
        }

        #[test]
        fn squares_have_a_smaller_root_and_seven_times_a_square_has_none(a in element()) {
            let root = a.square().sqrt_vartime();
            prop_assert!(root == Some(a.min(-a)));
            prop_assert!(a == Fp::ZERO || (a.square() * Fp::GENERATOR).sqrt_vartime().is_none());
        }

        #[test]
        fn one_encoding_each(word: u64) {
            match Fp::from_le_bytes(word.to_le_bytes()) {
                Ok(a) => prop_assert!(word < Fp::P && a.to_le_bytes() == word.to_le_bytes()),
                Err(NotCanonical) => prop_assert!(word >= Fp::P),
            }
        }

        #[test]
        fn inner_products_and_batched_inverses(
            pairs in prop::collection::vec((element(), element()), 0..40)
        ) {
            let (a, b): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            prop_assert!(dot(&a, &b) == a.iter().zip(&b).map(|(&x, &y)| x * y).sum());
            let units: Vec<_> = a.into_iter().filter(|x| *x != Fp::ZERO).collect();
            for (x, inverse) in units.iter().zip(batch_inverse(&units)) {
                prop_assert!(*x * inverse == Fp::ONE);
            }
        }
    }

    #[test]
    fn encodings_from_p_on_are_refused() {
        assert_eq!(Fp::from_le_bytes(Fp::P.to_le_bytes()), Err(NotCanonical));
        assert_eq!(Fp::from_le_bytes([0xff; 8]), Err(NotCanonical));
        assert_eq!(Fp::from_le_bytes((Fp::P - 1).to_le_bytes()), Ok(-Fp::ONE));
    }

    /// Sums of products of the largest elements pass 2^128 again and again.
    #[test]
    fn the_largest_inner_product_does_not_overflow() {
        for length in [1, 2, 3, 1 << 16] {
            let most = vec![-Fp::ONE; length];
            assert_eq!(dot(&most, &most), Fp::new(length as u64));
        }
        let full = Accumulator { sum: u128::MAX, carries: u64::MAX };
        // (2^64 − 1)·2^128 + 2^128 − 1 = 2^192 − 1 = (2^96)² − 1 = 0.
        assert_eq!(full.reduce(), Fp::ZERO);
    }

    #[test]
    fn the_generator_generates() {
        // The prime factors of p − 1 = 2^32 · 3 · 5 · 17 · 257 · 65537.
        assert_eq!(Fp::P - 1, (1 << 32) * 3 * 5 * 17 * 257 * 65537);
        for factor in [2, 3, 5, 17, 257, 65537] {
            assert_ne!(Fp::GENERATOR.pow_vartime((Fp::P - 1) / factor), Fp::ONE);
        }
        assert_eq!(Fp::root_of_unity(1), -Fp::ONE);
        assert_eq!(Fp::root_of_unity(32).pow_vartime(1 << 31), -Fp::ONE);
    }

    /// Gives the words of a list, one after the other.
    struct Words(std::vec::IntoIter<u64>);

    impl TryRng for Words {
        type Error = Infallible;
        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            Ok(self.0.next().unwrap() as u32)
        }
        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            Ok(self.0.next().unwrap())
        }
        fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
            dst.fill(0);
            Ok(())
        }
    }

    #[test]
    fn words_from_p_on_are_drawn_again() {
        let mut words = Words(vec![Fp::P, u64::MAX, 5, Fp::P - 1].into_iter());
        assert_eq!(Fp::random(&mut words), Fp::new(5));
        assert_eq!(Fp::random(&mut words), -Fp::ONE);
    }
}
