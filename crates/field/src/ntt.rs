//! Number-theoretic transforms of power-of-two length over [`Fp`].

use crate::Fp;

/// The 2^`log` powers of a primitive root of unity, with tables for transforms.
pub struct Domain {
    log: u32,
    roots: Vec<Fp>,
    /// The roots that each layer of a transform multiplies by, layer after layer, so that it reads
    /// them in order: 1, 2, 4, … of them.
    twiddles: Vec<Fp>,
    length_inverse: Fp,
}

impl Domain {
    /// The domain of 2^`log` points.
    ///
    /// # Panics
    /// If `log` is above [`Fp::TWO_ADICITY`].
    pub fn new(log: u32) -> Domain {
        let root = Fp::root_of_unity(log);
        let roots = powers(root, 1 << log);
        let of_layer = |layer: u32| roots.iter().step_by(1 << (log - layer)).take(1 << (layer - 1));
        let twiddles = (1..=log).flat_map(of_layer).copied().collect();
        let length_inverse = Fp::new(1 << log).inverse().expect("2^log is no multiple of p");
        Domain { log, roots, twiddles, length_inverse }
    }

    /// The smallest domain of at least `points` points.
    pub fn for_length(points: usize) -> Domain {
        Domain::new(points.next_power_of_two().ilog2())
    }

    /// The number of points.
    #[must_use]
    pub fn length(&self) -> usize {
        self.roots.len()
    }

    /// The points, the powers of the root in order.
    pub fn points(&self) -> &[Fp] {
        &self.roots
    }

    /// Coefficients to values at the points, in order, in place.
    ///
    /// # Panics
    /// If there are not as many values as points.
    pub fn evaluate(&self, values: &mut [Fp]) {
        assert_eq!(values.len(), self.length(), "as many values as points");
        for i in 0..values.len() {
            let j = i.reverse_bits() >> (usize::BITS - self.log.max(1));
            if self.log > 0 && i < j {
                values.swap(i, j);
            }
        }
        // The first layer's only root is one.
        for [a, b] in values.as_chunks_mut().0 {
            (*a, *b) = (*a + *b, *a - *b);
        }
        let mut half = 2;
        while half < values.len() {
            let roots = &self.twiddles[half - 1..][..half];
            for block in values.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for ((a, b), &root) in low.iter_mut().zip(high).zip(roots) {
                    let product = *b * root;
                    (*a, *b) = (*a + product, *a - product);
                }
            }
            half *= 2;
        }
    }

    /// The values of a polynomial at the points. Of coefficients there may be more than points:
    /// those that are a multiple of the length apart count together, since a point's power of it is
    /// 1.
    pub fn values_of(&self, coefficients: &[Fp]) -> Vec<Fp> {
        let mut values = vec![Fp::ZERO; self.length()];
        for part in coefficients.chunks(self.length()) {
            values.iter_mut().zip(part).for_each(|(sum, &coefficient)| *sum += coefficient);
        }
        self.evaluate(&mut values);
        values
    }

    /// The coefficients of the product of a polynomial and of one that has these values at the
    /// points, modulo X^length − 1.
    ///
    /// # Panics
    /// If there are not as many values as points.
    pub fn times(&self, coefficients: &[Fp], values: &[Fp]) -> Vec<Fp> {
        assert_eq!(values.len(), self.length(), "as many values as points");
        let mut product = self.values_of(coefficients);
        product.iter_mut().zip(values).for_each(|(a, &b)| *a *= b);
        self.interpolate(&mut product);
        product
    }

    /// Values at the points to coefficients, in place: the inverse of [`Domain::evaluate`].
    ///
    /// # Panics
    /// If there are not as many values as points.
    pub fn interpolate(&self, values: &mut [Fp]) {
        self.evaluate(values);
        values[1..].reverse();
        for value in values {
            *value *= self.length_inverse;
        }
    }
}

/// 1, `base`, …, `base`^(`count` − 1).
pub fn powers(base: Fp, count: usize) -> Vec<Fp> {
    std::iter::successors(Some(Fp::ONE), |power| Some(*power * base)).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poly;

    #[test]
    fn transforms_evaluate_and_come_back() {
        for log in 0..7 {
            let domain = Domain::new(log);
            let coefficients: Vec<Fp> = (0..1u64 << log).map(|i| Fp::new(i * i + 3)).collect();
            let mut values = coefficients.clone();
            domain.evaluate(&mut values);
            for (point, value) in domain.points().iter().zip(&values) {
                assert_eq!(poly::evaluate(&coefficients, *point), *value);
            }
            domain.interpolate(&mut values);
            assert_eq!(values, coefficients);
        }
        assert_eq!(Domain::for_length(5).length(), 8);
        assert_eq!(Domain::for_length(8).length(), 8);
    }
}
