//! Interpolation and decoding of single words, over any field; whole vectors are decoded by
//! `collector` with a few of these.

use ostrakon_field::{Field, batch_inverse};

/// The factors by which values at `points` make up the value at `at` of the polynomial of degree
/// below their number (Lagrange).
///
/// # Panics
/// If two points are the same.
pub fn lagrange<F: Field>(points: &[F], at: F) -> Vec<F> {
    let others = |i: usize| points.iter().enumerate().filter(move |(j, _)| *j != i);
    let product = |i: usize, from: F| others(i).fold(F::ONE, |p, (_, &x)| p * (from - x));
    let denominators: Vec<F> = (0..points.len()).map(|i| product(i, points[i])).collect();
    let inverses = batch_inverse(&denominators);
    (0..points.len()).map(|i| product(i, at) * inverses[i]).collect()
}

/// For each coefficient of the polynomial through values at `points`, the factors of the values:
/// the inverse of the Vandermonde matrix.
///
/// # Panics
/// If two points are the same.
pub fn coefficients<F: Field>(points: &[F]) -> Vec<Vec<F>> {
    let count = points.len();
    let mut matrix = vec![vec![F::ZERO; count]; count];
    for (i, &point) in points.iter().enumerate() {
        // The i-th Lagrange polynomial, multiplied out.
        let mut basis = vec![F::ONE];
        let mut scale = F::ONE;
        for &other in points.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, x)| x) {
            basis.push(F::ZERO);
            for place in (1..basis.len()).rev() {
                basis[place] = basis[place - 1] - other * basis[place];
            }
            basis[0] = -(other * basis[0]);
            scale = scale * (point - other);
        }
        let scale = scale.inverse().expect("points are distinct");
        for (row, c) in matrix.iter_mut().zip(basis) {
            row[i] = c * scale;
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
    rest.iter().zip(&values[degree + 1..]).all(|(&x, &value)| {
        let weights = lagrange(base, x);
        weights.iter().zip(values).fold(F::ZERO, |sum, (&w, &v)| sum + w * v) == value
    })
}

/// The places of values that lie on one polynomial of at most `degree`, if all but at most `errors`
/// do (Berlekamp and Welch).
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
    let f = welch(points, values, degree, errors)?;
    let agree: Vec<usize> = (0..count).filter(|&i| evaluate(&f, points[i]) == values[i]).collect();
    (agree.len() + errors >= count).then_some(agree)
}

/// Q(x) = y·E(x) at all points with E monic of degree `errors` and Q of degree at most `degree` +
/// `errors`: E vanishes where values are wrong, and Q / E is the polynomial.
fn welch<F: Field>(points: &[F], values: &[F], degree: usize, errors: usize) -> Option<Vec<F>> {
    let unknowns = degree + 1 + 2 * errors;
    let rows = points.iter().zip(values).map(|(&x, &y)| {
        let powers: Vec<F> = std::iter::successors(Some(F::ONE), |&power| Some(power * x))
            .take(degree + errors + 1)
            .collect();
        let locator = powers[..errors].iter().map(|&power| -(y * power));
        let right = y * powers[errors];
        powers.iter().copied().chain(locator).chain([right]).collect::<Vec<F>>()
    });
    let solution = solve(rows.collect(), unknowns)?;
    let (numerator, locator) = solution.split_at(degree + errors + 1);
    let mut rest = numerator.to_vec();
    let mut quotient = vec![F::ZERO; degree + 1];
    for place in (0..=degree).rev() {
        let lead = rest[place + errors];
        quotient[place] = lead;
        for (a, &b) in rest[place..].iter_mut().zip(locator) {
            *a = *a - lead * b;
        }
    }
    rest[..errors].iter().all(|&c| c == F::ZERO).then_some(quotient)
}

/// A solution of linear equations, given as rows of coefficients and right side; `None` if there is
/// none. Unknowns that the equations leave open are zero.
fn solve<F: Field>(mut rows: Vec<Vec<F>>, unknowns: usize) -> Option<Vec<F>> {
    let mut pivots = Vec::new();
    for column in 0..unknowns {
        let done = pivots.len();
        let Some(found) = (done..rows.len()).find(|&row| rows[row][column] != F::ZERO) else {
            continue;
        };
        rows.swap(done, found);
        let inverse = rows[done][column].inverse()?;
        rows[done].iter_mut().for_each(|value| *value = *value * inverse);
        let pivot = rows[done].clone();
        for row in rows.iter_mut().enumerate().filter(|(i, _)| *i != done).map(|(_, row)| row) {
            let factor = row[column];
            if factor != F::ZERO {
                for (value, &p) in row.iter_mut().zip(&pivot) {
                    *value = *value - factor * p;
                }
            }
        }
        pivots.push(column);
    }
    if rows[pivots.len()..].iter().any(|row| row[unknowns] != F::ZERO) {
        return None;
    }
    let mut solution = vec![F::ZERO; unknowns];
    for (row, column) in pivots.into_iter().enumerate() {
        solution[column] = rows[row][unknowns];
    }
    Some(solution)
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
        let nightly = std::env::var_os("OSTRAKON_NIGHTLY").is_some();
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
