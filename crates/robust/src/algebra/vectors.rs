//! Linear algebra on vectors of field elements, one vector for each server.

use ostrakon_field::{Accumulator, Fp};
use rand_core::Rng;

use crate::algebra::interpolation::lagrange;
use crate::committee::Committee;

/// Sums that are computed at a time, so few that they stay in registers.
const TOGETHER: usize = 4;

/// Σ `factors`\[i\] · `vectors`\[i\], element by element.
///
/// # Panics
/// If the vectors are not of one length.
pub fn combine(factors: &[Fp], vectors: &[&[Fp]]) -> Vec<Fp> {
    let mut sum = vec![Fp::ZERO; vectors.first().map_or(0, |vector| vector.len())];
    assert!(vectors.iter().all(|vector| vector.len() == sum.len()), "vectors of one length");
    combine_into(&mut sum, &factors[..vectors.len().min(factors.len())], |i| vectors[i]);
    sum
}

/// Σ `factors`\[i\] · `vector`(i), element by element, as many as there are places in `sums`.
///
/// # Panics
/// If a vector is shorter.
pub(crate) fn combine_into<'a>(
    sums: &mut [Fp],
    factors: &[Fp],
    vector: impl Fn(usize) -> &'a [Fp],
) {
    let length = sums.len();
    let (blocks, rest) = sums.as_chunks_mut::<TOGETHER>();
    for (place, block) in blocks.iter_mut().enumerate() {
        *block = sums_from(TOGETHER * place, factors, &vector);
    }
    for (place, sum) in (length - rest.len()..).zip(rest) {
        [*sum] = sums_from(place, factors, &vector);
    }
}

/// N of these sums, from a place on.
fn sums_from<'a, const N: usize>(
    from: usize,
    factors: &[Fp],
    vector: impl Fn(usize) -> &'a [Fp],
) -> [Fp; N] {
    let mut sums = [Accumulator::default(); N];
    for (i, &factor) in factors.iter().enumerate() {
        let values: &[Fp; N] = vector(i)[from..].first_chunk().expect("a vector is long enough");
        sums.iter_mut().zip(values).for_each(|(sum, &value)| sum.add_product(factor, value));
    }
    sums.map(Accumulator::reduce)
}

/// Shares each of `secrets` by a polynomial of `degree` with uniform higher coefficients; one
/// vector of shares for each member, by position.
pub fn share(
    secrets: &[Fp],
    degree: usize,
    committee: &Committee,
    rng: &mut impl Rng,
) -> Vec<Vec<Fp>> {
    let mut higher: Vec<Vec<Fp>> =
        (0..degree).map(|_| secrets.iter().map(|_| Fp::random(rng)).collect()).collect();
    let shares = committee
        .points()
        .into_iter()
        .map(|point| {
            // Horner, over all secrets at once.
            let mut values = vec![Fp::ZERO; secrets.len()];
            for coefficients in higher.iter().rev() {
                for (value, &c) in values.iter_mut().zip(coefficients) {
                    *value = (*value + c) * point;
                }
            }
            for (value, &secret) in values.iter_mut().zip(secrets) {
                *value += secret;
            }
            values
        })
        .collect();
    zeroize::Zeroize::zeroize(&mut higher);
    shares
}

/// A matrix of which every square part is invertible (Beerliová-Trubíniová and Hirt): it maps the
/// values of a polynomial of degree below `size` at 1, …, `size` to those at the next `size`
/// numbers. So any `size` of its inputs and outputs determine all others, linearly.
#[must_use]
pub fn hyper_invertible(size: usize) -> Vec<Vec<Fp>> {
    let number = |i: usize| Fp::new(i as u64 + 1);
    let inputs: Vec<Fp> = (0..size).map(number).collect();
    (size..2 * size).map(|output| lagrange(&inputs, number(output))).collect()
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::Secret;
    use ostrakon_party::PartyId;

    use super::*;
    use crate::algebra::interpolation::fits;
    use crate::tape::Tape;

    fn invertible(matrix: &[Vec<Fp>], rows: u32, columns: u32) -> bool {
        let chosen = |mask: u32| (0..matrix.len()).filter(move |i| mask >> i & 1 == 1);
        let mut part: Vec<Vec<Fp>> =
            chosen(rows).map(|i| chosen(columns).map(|j| matrix[i][j]).collect()).collect();
        for column in 0..part.len() {
            let Some(pivot) = (column..part.len()).find(|&row| part[row][column] != Fp::ZERO)
            else {
                return false;
            };
            part.swap(column, pivot);
            let inverse = part[column][column].inverse().unwrap();
            for row in column + 1..part.len() {
                let factor = part[row][column] * inverse;
                let (above, below) = part.split_at_mut(row);
                for (entry, pivot) in below[0].iter_mut().zip(&above[column]).skip(column) {
                    *entry -= factor * *pivot;
                }
            }
        }
        true
    }

    #[test]
    fn every_square_part_of_the_matrix_is_invertible() {
        for size in [4usize, 7] {
            let matrix = hyper_invertible(size);
            for rows in 1u32..1 << size {
                for columns in (1u32..1 << size).filter(|c| c.count_ones() == rows.count_ones()) {
                    assert!(invertible(&matrix, rows, columns), "{size} {rows:b} {columns:b}");
                }
            }
        }
    }

    #[test]
    fn shares_have_the_degree_and_the_secret() {
        let members: Vec<_> = [0, 2, 3, 5, 6, 7, 9].map(PartyId).to_vec();
        let committee = Committee::new(&members, 2).unwrap();
        let mut tape = Tape::new(&Secret::new([1; 32]));
        let secrets: Vec<Fp> = (0..20).map(Fp::new).collect();
        for degree in [2, 4] {
            let shares = share(&secrets, degree, &committee, &mut tape);
            let points = committee.points();
            let zero = lagrange(&points[..=degree], Fp::ZERO);
            for (i, &secret) in secrets.iter().enumerate() {
                let values: Vec<Fp> = shares.iter().map(|share| share[i]).collect();
                assert!(fits(&points, &values, degree) && !fits(&points, &values, degree - 1));
                assert_eq!(ostrakon_field::dot(&zero, &values), secret);
            }
        }
    }
}
