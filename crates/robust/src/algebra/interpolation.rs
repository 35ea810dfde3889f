//! Interpolation and decoding of single words, over any field; whole vectors are decoded by
//! `collector` with a few of these.

use ostrakon_field::{Field, batch_inverse};

/// For each point the inverse of the product of its differences from all others.
fn weights<F: Field>(points: &[F]) -> Vec<F> {
    let product = |i: usize| {
        let others = points.iter().enumerate().filter(|(j, _)| *j != i);
        others.fold(F::ONE, |product, (_, &x)| product * (points[i] - x))
    };
    batch_inverse(&(0..points.len()).map(product).collect::<Vec<F>>())
}

/// Lagrange's factors, given the points' weights: each is the product of a weight and of all
/// differences from `at` but one, so of those before and of those after.
fn factors<F: Field>(points: &[F], weights: &[F], at: F) -> Vec<F> {
    let mut before = F::ONE;
    let mut factors: Vec<F> = Vec::with_capacity(points.len());
    for (&x, &weight) in points.iter().zip(weights) {
        factors.push(weight * before);
        before = before * (at - x);
    }
    let mut after = F::ONE;
    for (factor, &x) in factors.iter_mut().zip(points).rev() {
        *factor = *factor * after;
        after = after * (at - x);
    }
    factors
}

/// The factors by which values at `points` make up the value at `at` of the polynomial of degree
/// below their number (Lagrange).
///
/// # Panics
/// If two points are the same.
pub fn lagrange<F: Field>(points: &[F], at: F) -> Vec<F> {
    factors(points, &weights(points), at)
}

/// The polynomial of lead one that vanishes at all points, lowest power first.
fn vanishing<F: Field>(points: &[F]) -> Vec<F> {
    let mut f = vec![F::ONE];
    for &point in points {
        f.push(F::ZERO);
        for place in (1..f.len()).rev() {
            f[place] = f[place - 1] - point * f[place];
        }
        f[0] = -(point * f[0]);
    }
    f
}

/// For each coefficient of the polynomial through values at `points`, the factors of the values:
/// the inverse of the Vandermonde matrix.
///
/// # Panics
/// If two points are the same.
pub fn coefficients<F: Field>(points: &[F]) -> Vec<Vec<F>> {
    let count = points.len();
    let mut matrix = vec![vec![F::ZERO; count]; count];
    let all = vanishing(points);
    for (i, (&point, weight)) in points.iter().zip(weights(points)).enumerate() {
        // What vanishes at all points but one, by Horner's division.
        let mut rest = F::ZERO;
        for place in (0..count).rev() {
            rest = all[place + 1] + point * rest;
            matrix[place][i] = rest * weight;
        }
    }
    matrix
}

fn evaluate<F: Field>(f: &[F], x: F) -> F {
    f.iter().rev().fold(F::ZERO, |sum, &c| sum * x + c)
}

/// Whether all values lie on one polynomial of at most `degree`.
///
/// # Panics
/// If there are no more points than `degree`, for then nothing is checked.
pub fn fits<F: Field>(points: &[F], values: &[F], degree: usize) -> bool {
    assert!(points.len() > degree + 1, "a degree is checked by more points than determine it");
    let (base, rest) = points.split_at(degree + 1);
    let weights = weights(base);
    rest.iter().zip(&values[degree + 1..]).all(|(&x, &value)| {
        let factors = factors(base, &weights, x);
        factors.iter().zip(values).fold(F::ZERO, |sum, (&w, &v)| sum + w * v) == value
    })
}

/// The places of values that lie on one polynomial of at most `degree`, if all but at most `errors`
/// do: what Berlekamp and Welch look for, found as Gao does, by Euclid's algorithm.
///
/// # Panics
/// If so many wrong values could not be told from right ones: there must be `degree` + 1 +
/// 2·`errors` values or more.
pub fn agreeing<F: Field>(
    points: &[F],
    values: &[F],
    degree: usize,
    errors: usize,
) -> Option<Vec<usize>> {
    let count = points.len();
    assert!(count > degree + 2 * errors, "right values determine the polynomial");
    let f = gao(points, values, degree)?;
    let agree: Vec<usize> = (0..count).filter(|&i| evaluate(&f, points[i]) == values[i]).collect();
    (agree.len() + errors >= count).then_some(agree)
}

/// The polynomial of at most `degree` on which all values lie but at most half of those beyond
/// `degree` + 1, if there is one. Where E vanishes at the places of what is wrong, E·f equals E·g
/// of the values' own polynomial g, but for a multiple of what vanishes at all points: so E and E·f
/// are met on Euclid's way from these two, at the first remainder of so low a degree.
fn gao<F: Field>(points: &[F], values: &[F], degree: usize) -> Option<Vec<F>> {
    let rows = coefficients(points);
    let dot = |row: &Vec<F>| row.iter().zip(values).fold(F::ZERO, |sum, (&c, &y)| sum + c * y);
    let (mut before, mut rest) = (vanishing(points), trimmed(rows.iter().map(dot).collect()));
    let (mut factor_before, mut factor) = (Vec::new(), vec![F::ONE]);
    // Its degree is half of the points and the degree's coefficients together, or more.
    while 2 * rest.len().saturating_sub(1) > points.len() + degree {
        let (quotient, remainder) = divide(before, &rest)?;
        let next = minus_product(factor_before, &quotient, &factor);
        (before, rest) = (rest, remainder);
        (factor_before, factor) = (factor, next);
    }
    let (f, remainder) = divide(rest, &factor)?;
    (remainder.is_empty() && f.len() <= degree + 1).then_some(f)
}

fn trimmed<F: Field>(mut f: Vec<F>) -> Vec<F> {
    while f.last() == Some(&F::ZERO) {
        f.pop();
    }
    f
}

/// Quotient and remainder; `None` where the divisor is zero.
fn divide<F: Field>(mut f: Vec<F>, divisor: &[F]) -> Option<(Vec<F>, Vec<F>)> {
    let lead = divisor.last()?.inverse()?;
    let mut quotient = vec![F::ZERO; (f.len() + 1).saturating_sub(divisor.len())];
    for place in (0..quotient.len()).rev() {
        let times = f[place + divisor.len() - 1] * lead;
        quotient[place] = times;
        for (a, &b) in f[place..].iter_mut().zip(divisor) {
            *a = *a - times * b;
        }
    }
    f.truncate(divisor.len() - 1);
    Some((quotient, trimmed(f)))
}

/// f − g·h.
fn minus_product<F: Field>(mut f: Vec<F>, g: &[F], h: &[F]) -> Vec<F> {
    f.resize(f.len().max(g.len() + h.len() - 1), F::ZERO);
    for (place, &factor) in g.iter().enumerate() {
        for (a, &b) in f[place..].iter_mut().zip(h) {
            *a = *a - factor * b;
        }
    }
    trimmed(f)
}

#[cfg(test)]
mod tests {
    use std::ops::{Add, AddAssign, Mul, Neg, Sub};

    use super::*;

    /// The field of a small prime number of elements.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Small<const Q: u32>(u32);

    impl<const Q: u32> Add for Small<Q> {
        type Output = Self;
        fn add(self, other: Self) -> Self {
            Small((self.0 + other.0) % Q)
        }
    }
    impl<const Q: u32> Sub for Small<Q> {
        type Output = Self;
        fn sub(self, other: Self) -> Self {
            Small((self.0 + Q - other.0) % Q)
        }
    }
    impl<const Q: u32> Mul for Small<Q> {
        type Output = Self;
        fn mul(self, other: Self) -> Self {
            Small(self.0 * other.0 % Q)
        }
    }
    impl<const Q: u32> Neg for Small<Q> {
        type Output = Self;
        fn neg(self) -> Self {
            Small((Q - self.0) % Q)
        }
    }
    impl<const Q: u32> AddAssign for Small<Q> {
        fn add_assign(&mut self, other: Self) {
            *self = *self + other;
        }
    }
    impl<const Q: u32> Field for Small<Q> {
        const ZERO: Self = Small(0);
        const ONE: Self = Small(1);
        fn inverse(self) -> Option<Self> {
            (1..Q).map(Small).find(|&x| x * self == Small(1))
        }
    }

    fn words<const Q: u32>(length: usize) -> impl Iterator<Item = Vec<Small<Q>>> {
        (0..Q.pow(length as u32))
            .map(move |number| (0..length).map(|i| Small(number / Q.pow(i as u32) % Q)).collect())
    }

    fn points<const Q: u32>(count: usize) -> Vec<Small<Q>> {
        (1..=count as u32).map(Small).collect()
    }

    /// Where the words of a polynomial that agrees in enough places do, found by trying all.
    fn oracle<const Q: u32>(
        codewords: &[Vec<Small<Q>>],
        word: &[Small<Q>],
        needed: usize,
    ) -> Option<Vec<usize>> {
        codewords.iter().find_map(|codeword| {
            let same: Vec<_> = (0..word.len()).filter(|&i| codeword[i] == word[i]).collect();
            (same.len() >= needed).then_some(same)
        })
    }

    fn codewords<const Q: u32>(points: &[Small<Q>], degree: usize) -> Vec<Vec<Small<Q>>> {
        words(degree + 1)
            .map(|f: Vec<Small<Q>>| points.iter().map(|&x| evaluate(&f, x)).collect())
            .collect()
    }

    /// All 7^4 words that four servers can send, and all 7^3 of three.
    #[test]
    fn every_word_of_four_with_one_liar_decodes_as_by_trying_all_polynomials() {
        for count in [3, 4] {
            let points = points::<7>(count);
            let codewords = codewords(&points, 1);
            for word in words::<7>(count) {
                assert_eq!(
                    agreeing(&points, &word, 1, count - 3),
                    oracle(&codewords, &word, 3),
                    "{word:?}"
                );
                assert_eq!(fits(&points, &word, 1), codewords.contains(&word));
            }
        }
    }

    /// All errors in up to three of seven places (by linearity it suffices to add them to zero);
    /// three are more than can be corrected, and must never be taken for another polynomial's.
    #[test]
    fn every_error_of_seven_with_two_liars_decodes_as_by_trying_all_polynomials() {
        let nightly = ostrakon_testkit::nightly();
        for count in [5, 6, 7] {
            let points = points::<11>(count);
            let codewords = codewords(&points, 2);
            for mask in 0u32..1 << count {
                let weight = mask.count_ones() as usize;
                if weight > 3 || (weight == 3 && !nightly && !mask.is_multiple_of(5)) {
                    continue;
                }
                for errors in words::<11>(weight).filter(|word| word.iter().all(|x| x.0 != 0)) {
                    let mut word = vec![Small(0); count];
                    let places = (0..count).filter(|i| mask >> i & 1 == 1);
                    places.zip(errors).for_each(|(i, error)| word[i] = error);
                    let found = agreeing(&points, &word, 2, count - 5);
                    assert_eq!(found, oracle(&codewords, &word, 5), "{word:?}");
                    assert!(weight + 5 > count || found.is_some());
                }
            }
        }
    }

    #[test]
    fn coefficients_and_values_are_inverse() {
        let points = points::<11>(4);
        let matrix = coefficients(&points);
        for f in words::<11>(4).step_by(7) {
            let values: Vec<_> = points.iter().map(|&x| evaluate(&f, x)).collect();
            for (row, &c) in matrix.iter().zip(&f) {
                let sum = row.iter().zip(&values).fold(Small(0), |sum, (&a, &b)| sum + a * b);
                assert_eq!(sum, c);
            }
            let at = Small(9);
            let sum = lagrange(&points, at)
                .iter()
                .zip(&values)
                .fold(Small(0), |sum, (&a, &b)| sum + a * b);
            assert_eq!(sum, evaluate(&f, at));
        }
    }

    #[test]
    #[should_panic(expected = "right values determine the polynomial")]
    fn more_errors_than_can_be_corrected_are_refused() {
        let points = points::<7>(4);
        let _ = agreeing(&points, &points, 1, 2);
    }
}
