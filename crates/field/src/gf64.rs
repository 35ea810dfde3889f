use std::iter::{Product, Sum};
use std::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use ostrakon_kernels::clmul_mul;
use rand_core::Rng;
use zeroize::Zeroize;

/// An element of GF(2^64) = GF(2)\[x\]/(x^64 + x^4 + x^3 + x + 1); bit `i` is the coefficient of
/// x^i.
///
/// Arithmetic takes time independent of the values. Equality does not: compare secrets by opening a
/// masked difference. A bare element is neither secret nor public; a type that holds a secret one
/// must not derive `Debug`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Zeroize)]
#[must_use]
pub struct Gf64(pub u64);

impl Gf64 {
    /// The neutral element of addition.
    pub const ZERO: Gf64 = Gf64(0);
    /// The neutral element of multiplication.
    pub const ONE: Gf64 = Gf64(1);

    /// Reads an element; all byte strings are canonical.
    pub fn from_le_bytes(bytes: [u8; 8]) -> Gf64 {
        Gf64(u64::from_le_bytes(bytes))
    }

    /// Writes an element.
    #[must_use]
    pub fn to_le_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }

    /// A uniform element.
    pub fn random(rng: &mut impl Rng) -> Gf64 {
        Gf64(rng.next_u64())
    }

    /// The square.
    pub fn square(self) -> Gf64 {
        self * self
    }

    /// `self^exponent`, with 0^0 = 1. Time depends on the exponent, which must be public.
    pub fn pow_vartime(self, exponent: u64) -> Gf64 {
        let mut power = Gf64::ONE;
        for i in (0..u64::BITS - exponent.leading_zeros()).rev() {
            power = power.square();
            if exponent >> i & 1 == 1 {
                power *= self;
            }
        }
        power
    }

    /// The multiplicative inverse, or `None` for zero.
    #[must_use]
    pub fn inverse(self) -> Option<Gf64> {
        // Fermat: the group of units has order 2^64 − 1, so x^(2^64 − 2) inverts. The exponent is
        // fixed.
        (self != Gf64::ZERO).then(|| self.pow_vartime(u64::MAX - 1))
    }
}

// Addition in characteristic 2 is XOR, and every element is its own negative.

impl Add for Gf64 {
    type Output = Gf64;
    #[expect(clippy::suspicious_arithmetic_impl, reason = "characteristic 2")]
    fn add(self, other: Gf64) -> Gf64 {
        Gf64(self.0 ^ other.0)
    }
}

impl Sub for Gf64 {
    type Output = Gf64;
    #[expect(clippy::suspicious_arithmetic_impl, reason = "characteristic 2")]
    fn sub(self, other: Gf64) -> Gf64 {
        self + other
    }
}

impl Neg for Gf64 {
    type Output = Gf64;
    fn neg(self) -> Gf64 {
        self
    }
}

impl Mul for Gf64 {
    type Output = Gf64;
    fn mul(self, other: Gf64) -> Gf64 {
        Gf64(clmul_mul(self.0, other.0))
    }
}

impl AddAssign for Gf64 {
    fn add_assign(&mut self, other: Gf64) {
        *self = *self + other;
    }
}

impl SubAssign for Gf64 {
    fn sub_assign(&mut self, other: Gf64) {
        *self = *self - other;
    }
}

impl MulAssign for Gf64 {
    fn mul_assign(&mut self, other: Gf64) {
        *self = *self * other;
    }
}

impl Sum for Gf64 {
    fn sum<I: Iterator<Item = Gf64>>(elements: I) -> Gf64 {
        elements.fold(Gf64::ZERO, Add::add)
    }
}

impl Product for Gf64 {
    fn product<I: Iterator<Item = Gf64>>(elements: I) -> Gf64 {
        elements.fold(Gf64::ONE, Mul::mul)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;
    use rand_core::TryRng;

    use super::*;

    /// Multiplication bit by bit: add shifted copies, and subtract the modulus whenever the degree
    /// reaches 64.
    fn slow_mul(a: u64, b: u64) -> u64 {
        let mut product = 0;
        for i in (0..64).rev() {
            let overflow = product >> 63 == 1;
            product <<= 1;
            if overflow {
                product ^= 0b11011;
            }
            if b >> i & 1 == 1 {
                product ^= a;
            }
        }
        product
    }

    fn element() -> impl Strategy<Value = Gf64> {
        prop_oneof![any::<u64>(), Just(0), Just(1), Just(u64::MAX), Just(1 << 63)].prop_map(Gf64)
    }

    proptest! {
        #[test]
        fn is_a_commutative_ring(a in element(), b in element(), c in element()) {
            prop_assert!(a + b == b + a);
            prop_assert!((a + b) + c == a + (b + c));
            prop_assert!(a + Gf64::ZERO == a);
            prop_assert!(a - a == Gf64::ZERO && a + -a == Gf64::ZERO);
            prop_assert!(a * b == b * a);
            prop_assert!((a * b) * c == a * (b * c));
            prop_assert!(a * Gf64::ONE == a);
            prop_assert!(a * (b + c) == a * b + a * c);
        }

        #[test]
        fn all_but_zero_are_units(a in element()) {
            match a.inverse() {
                Some(inverse) => prop_assert!(a * inverse == Gf64::ONE),
                None => prop_assert!(a == Gf64::ZERO),
            }
        }

        #[test]
        fn agrees_with_the_bitwise_product(a in element(), b in element()) {
            prop_assert_eq!((a * b).0, slow_mul(a.0, b.0));
        }

        #[test]
        fn powers_add_in_the_exponent(a in element(), e in 0u64..1 << 40, f in 0u64..1 << 40) {
            prop_assert!(a.pow_vartime(e) * a.pow_vartime(f) == a.pow_vartime(e + f));
        }

        #[test]
        fn bytes_are_little_endian_and_canonical(bytes: [u8; 8]) {
            let a = Gf64::from_le_bytes(bytes);
            prop_assert_eq!(a.to_le_bytes(), bytes);
            prop_assert_eq!(a.0 & 0xff, u64::from(bytes[0]));
        }
    }

    #[test]
    fn small_products_by_hand() {
        let x = Gf64(2);
        assert!(x.pow_vartime(63) == Gf64(1 << 63));
        // x^64 = x^4 + x^3 + x + 1, the modulus without its leading term.
        assert!(x.pow_vartime(64) == Gf64(0b11011));
        // (x + 1)² = x² + 1.
        assert!(Gf64(3).square() == Gf64(5));
        // x^127 = x^63·x^64 = x^67 + x^66 + x^64 + x^63, and x^67 + x^66 + x^64 folds to 0xd8 +
        // 0x6c + 0x1b = 0xaf.
        assert!(x.pow_vartime(127) == Gf64(1 << 63 | 0xaf));
        assert!(Gf64::ZERO.pow_vartime(0) == Gf64::ONE);
        assert!(Gf64::ZERO.inverse().is_none());
    }

    #[test]
    fn the_modulus_is_irreducible() {
        // Rabin's test for degree 64 = 2^6: x^(2^64) = x, and x^(2^32) − x is a unit, modulo the
        // modulus.
        let x = Gf64(2);
        let half = (0..32).fold(x, |y, _| y.square());
        let full = (0..32).fold(half, |y, _| y.square());
        assert!(full == x);
        let unit = half - x;
        assert!(unit.pow_vartime(u64::MAX - 1) * unit == Gf64::ONE);
    }

    #[test]
    fn sums_and_products_fold() {
        let elements = [Gf64(3), Gf64(5), Gf64(7)];
        assert!(elements.into_iter().sum::<Gf64>() == Gf64(1));
        // (x + 1)(x² + 1)(x² + x + 1) = x^5 + x^3 + x^2 + 1 … by hand: (x³ + x² + x + 1)(x² + x +
        // 1) = x^5 + x^3 + x^2 + 1.
        assert!(elements.into_iter().product::<Gf64>() == Gf64(0b101101));
    }

    /// A generator that repeats one word, to see what `random` takes from it.
    struct Constant(u64);

    impl TryRng for Constant {
        type Error = Infallible;
        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            Ok(self.0 as u32)
        }
        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            Ok(self.0)
        }
        fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
            dst.fill(self.0 as u8);
            Ok(())
        }
    }

    #[test]
    fn random_elements_use_all_64_bits() {
        assert!(Gf64::random(&mut Constant(u64::MAX)) == Gf64(u64::MAX));
    }
}
