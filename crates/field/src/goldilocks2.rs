use std::ops::{Add, AddAssign, Mul, Neg, Sub};

use rand_core::Rng;
use zeroize::Zeroize;

use crate::{Field, Fp};

/// An element a + b·X of F_p\[X\]/(X² − 7), a field of p² elements because 7 is no square modulo p.
///
/// Weights and points of statistical checks are drawn here: among p² ≈ 2^128 of them one that
/// misses an error is not met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Zeroize)]
#[must_use]
pub struct Fp2(pub Fp, pub Fp);

impl Fp2 {
    /// The neutral element of addition.
    pub const ZERO: Fp2 = Fp2(Fp::ZERO, Fp::ZERO);
    /// The neutral element of multiplication.
    pub const ONE: Fp2 = Fp2(Fp::ONE, Fp::ZERO);

    /// A uniform element.
    pub fn random(rng: &mut impl Rng) -> Fp2 {
        Fp2(Fp::random(rng), Fp::random(rng))
    }

    /// A product with an element of the base field.
    #[inline(always)]
    pub fn scale(self, factor: Fp) -> Fp2 {
        Fp2(self.0 * factor, self.1 * factor)
    }

    /// `self^exponent`, with 0^0 = 1. Time depends on the exponent, which must be public.
    pub fn pow_vartime(self, exponent: u64) -> Fp2 {
        let mut power = Fp2::ONE;
        for i in (0..u64::BITS - exponent.leading_zeros()).rev() {
            power = power * power;
            if exponent >> i & 1 == 1 {
                power = power * self;
            }
        }
        power
    }

    /// The multiplicative inverse, or `None` for zero.
    #[must_use]
    pub fn inverse(self) -> Option<Fp2> {
        // (a + bX)(a − bX) = a² − 7b², which is not zero unless a = b = 0.
        let norm = self.0.square() - Fp::GENERATOR * self.1.square();
        let inverse = norm.inverse()?;
        Some(Fp2(self.0 * inverse, -self.1 * inverse))
    }
}

impl From<Fp> for Fp2 {
    fn from(a: Fp) -> Fp2 {
        Fp2(a, Fp::ZERO)
    }
}

impl Add for Fp2 {
    type Output = Fp2;
    #[inline(always)]
    fn add(self, other: Fp2) -> Fp2 {
        Fp2(self.0 + other.0, self.1 + other.1)
    }
}

impl Sub for Fp2 {
    type Output = Fp2;
    #[inline(always)]
    fn sub(self, other: Fp2) -> Fp2 {
        Fp2(self.0 - other.0, self.1 - other.1)
    }
}

impl Neg for Fp2 {
    type Output = Fp2;
    fn neg(self) -> Fp2 {
        Fp2(-self.0, -self.1)
    }
}

impl Mul for Fp2 {
    type Output = Fp2;
    #[inline(always)]
    fn mul(self, other: Fp2) -> Fp2 {
        let (low, high) = (self.0 * other.0, self.1 * other.1);
        let middle = self.0 * other.1 + self.1 * other.0;
        Fp2(low + Fp::GENERATOR * high, middle)
    }
}

impl AddAssign for Fp2 {
    #[inline(always)]
    fn add_assign(&mut self, other: Fp2) {
        *self = *self + other;
    }
}

impl Field for Fp2 {
    const ZERO: Fp2 = Fp2::ZERO;
    const ONE: Fp2 = Fp2::ONE;

    fn inverse(self) -> Option<Fp2> {
        Fp2::inverse(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn element() -> impl Strategy<Value = Fp2> {
        (any::<u64>(), any::<u64>()).prop_map(|(a, b)| Fp2(Fp::new(a), Fp::new(b)))
    }

    proptest! {
        #[test]
        fn is_a_field(a in element(), b in element(), c in element()) {
            prop_assert_eq!(a * b, b * a);
            prop_assert_eq!((a * b) * c, a * (b * c));
            prop_assert_eq!(a * (b + c), a * b + a * c);
            prop_assert_eq!(a - b + b, a);
            prop_assert_eq!(a + -a, Fp2::ZERO);
            prop_assert_eq!(a.scale(b.0), a * Fp2::from(b.0));
            if a != Fp2::ZERO {
                prop_assert_eq!(a * a.inverse().unwrap(), Fp2::ONE);
            }
        }
    }

    #[test]
    fn the_modulus_has_no_root() {
        assert!(Fp::GENERATOR.sqrt_vartime().is_none());
        let x = Fp2(Fp::ZERO, Fp::ONE);
        assert_eq!(x * x, Fp2::from(Fp::new(7)));
        assert_eq!(x.pow_vartime(Fp::P), -x, "Frobenius negates a root of X² − 7");
        assert!(Fp2::ZERO.inverse().is_none());
    }
}
