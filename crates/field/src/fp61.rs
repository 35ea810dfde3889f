use std::iter::{Product, Sum};
use std::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use zeroize::Zeroize;

/// The Mersenne prime 2^61 − 1.
pub const P61: u64 = (1 << 61) - 1;

/// An element of the prime field of order 2^61 − 1, by its canonical representative in `0..P61`.
///
/// Arithmetic takes time independent of the values. Equality does not: compare secrets by opening a
/// masked difference. A bare element is neither secret nor public; a type that holds a secret one
/// must not derive `Debug`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Zeroize)]
#[must_use]
pub struct Fp61(u64);

/// The representative of a number below 2·P61, without a branch.
const fn reduce_once(value: u64) -> u64 {
    let (difference, borrow) = value.overflowing_sub(P61);
    let keep = (borrow as u64).wrapping_neg();
    (value & keep) | (difference & !keep)
}

impl Fp61 {
    /// The neutral element of addition.
    pub const ZERO: Fp61 = Fp61(0);
    /// The neutral element of multiplication.
    pub const ONE: Fp61 = Fp61(1);

    /// The residue class of a number.
    pub const fn new(value: u64) -> Fp61 {
        Fp61(reduce_once((value & P61) + (value >> 61)))
    }

    /// The element with this representative; `None` for a number that is no representative.
    #[must_use]
    pub const fn canonical(word: u64) -> Option<Fp61> {
        if word < P61 { Some(Fp61(word)) } else { None }
    }

    /// The representative.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }

    /// `self^exponent`, with 0^0 = 1. Time depends on the exponent, which must be public.
    pub fn pow_vartime(self, exponent: u64) -> Fp61 {
        let mut power = Fp61::ONE;
        for i in (0..u64::BITS - exponent.leading_zeros()).rev() {
            power = power * power;
            if exponent >> i & 1 == 1 {
                power *= self;
            }
        }
        power
    }

    /// The multiplicative inverse, or `None` for zero.
    #[must_use]
    pub fn inverse(self) -> Option<Fp61> {
        // Fermat; the exponent is fixed.
        (self != Fp61::ZERO).then(|| self.pow_vartime(P61 - 2))
    }
}

impl Add for Fp61 {
    type Output = Fp61;
    fn add(self, other: Fp61) -> Fp61 {
        Fp61(reduce_once(self.0 + other.0))
    }
}

impl Neg for Fp61 {
    type Output = Fp61;
    fn neg(self) -> Fp61 {
        Fp61(reduce_once(P61 - self.0))
    }
}

impl Sub for Fp61 {
    type Output = Fp61;
    fn sub(self, other: Fp61) -> Fp61 {
        Fp61(reduce_once(self.0 + (P61 - other.0)))
    }
}

impl Mul for Fp61 {
    type Output = Fp61;
    fn mul(self, other: Fp61) -> Fp61 {
        // 2^61 = 1: the product's two halves of 61 bits are added.
        let product = u128::from(self.0) * u128::from(other.0);
        Fp61(reduce_once((product as u64 & P61) + (product >> 61) as u64))
    }
}

impl AddAssign for Fp61 {
    fn add_assign(&mut self, other: Fp61) {
        *self = *self + other;
    }
}

impl SubAssign for Fp61 {
    fn sub_assign(&mut self, other: Fp61) {
        *self = *self - other;
    }
}

impl MulAssign for Fp61 {
    fn mul_assign(&mut self, other: Fp61) {
        *self = *self * other;
    }
}

impl Sum for Fp61 {
    fn sum<I: Iterator<Item = Fp61>>(elements: I) -> Fp61 {
        elements.fold(Fp61::ZERO, Add::add)
    }
}

impl Product for Fp61 {
    fn product<I: Iterator<Item = Fp61>>(elements: I) -> Fp61 {
        elements.fold(Fp61::ONE, Mul::mul)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn element() -> impl Strategy<Value = Fp61> {
        prop_oneof![0..P61, Just(0), Just(1), Just(P61 - 1), Just(1 << 60)].prop_map(Fp61)
    }

    proptest! {
        #[test]
        fn agrees_with_numbers_modulo_p(a in element(), b in element()) {
            let (x, y, p) = (u128::from(a.0), u128::from(b.0), u128::from(P61));
            let is = |result: Fp61, number: u128| u128::from(result.0) == number % p;
            prop_assert!(is(a + b, x + y) && is(a - b, x + p - y) && is(a * b, x * y));
            prop_assert!(is(-a, p - x));
        }

        #[test]
        fn all_but_zero_are_units(a in element()) {
            match a.inverse() {
                Some(inverse) => prop_assert!(a * inverse == Fp61::ONE),
                None => prop_assert!(a == Fp61::ZERO),
            }
        }

        #[test]
        fn representatives_are_unique(word: u64) {
            prop_assert_eq!(Fp61::canonical(word).is_some(), word < P61);
            prop_assert_eq!(u128::from(Fp61::new(word).0), u128::from(word) % u128::from(P61));
        }
    }

    #[test]
    fn the_edges_by_hand() {
        assert!(Fp61::new(P61) == Fp61::ZERO && Fp61::new(u64::MAX) == Fp61(7));
        assert!(Fp61(P61 - 1) * Fp61(P61 - 1) == Fp61::ONE);
        assert!(-Fp61::ZERO == Fp61::ZERO && Fp61(P61 - 1) + Fp61::ONE == Fp61::ZERO);
        assert!([Fp61(2), Fp61(3)].into_iter().sum::<Fp61>() == Fp61(5));
        assert!([Fp61(2), Fp61(3)].into_iter().product::<Fp61>() == Fp61(6));
    }
}
