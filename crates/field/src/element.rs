use std::fmt::Debug;
use std::ops::{Add, AddAssign, Mul, Neg, Sub};

/// What decoders and interpolation need of a field, so that they can be tried exhaustively over
/// small ones.
pub trait Field:
    Copy
    + Debug
    + PartialEq
    + Eq
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + AddAssign
{
    /// The neutral element of addition.
    const ZERO: Self;
    /// The neutral element of multiplication.
    const ONE: Self;

    /// The multiplicative inverse, or `None` for zero.
    #[must_use]
    fn inverse(self) -> Option<Self>;
}

/// The inverses of all elements with one inversion and three products for each.
///
/// # Panics
/// If an element is zero: callers pass differences of points that they know to be distinct.
pub fn batch_inverse<F: Field>(elements: &[F]) -> Vec<F> {
    let mut inverses = Vec::with_capacity(elements.len());
    let mut product = F::ONE;
    for &element in elements {
        inverses.push(product);
        product = product * element;
    }
    let mut rest = product.inverse().expect("no element is zero");
    for (inverse, &element) in inverses.iter_mut().zip(elements).rev() {
        *inverse = *inverse * rest;
        rest = rest * element;
    }
    inverses
}
