//! Polynomials over [`Fp`] as lists of coefficients, the constant one first; the last one is not
//! zero, and the zero polynomial is the empty list. Time depends on the coefficients, which must be
//! public.

use rand_core::Rng;

use crate::Fp;
use crate::ntt::Domain;

/// Products of shorter factors are computed term by term.
const TRANSFORM_FROM: usize = 96;
/// From this degree on the transforms of a modulus are prepared for many products.
const PREPARED_FROM: usize = 32;

/// Removes leading zeros.
pub fn trim(f: &mut Vec<Fp>) {
    while f.last() == Some(&Fp::ZERO) {
        f.pop();
    }
}

/// The value at a point.
pub fn evaluate(f: &[Fp], x: Fp) -> Fp {
    f.iter().rev().fold(Fp::ZERO, |sum, &c| sum * x + c)
}

/// The product.
pub fn multiply(f: &[Fp], g: &[Fp]) -> Vec<Fp> {
    if f.is_empty() || g.is_empty() {
        return Vec::new();
    }
    let length = f.len() + g.len() - 1;
    if f.len().min(g.len()) < TRANSFORM_FROM {
        let mut product = vec![Fp::ZERO; length];
        for (i, &a) in f.iter().enumerate() {
            for (sum, &b) in product[i..].iter_mut().zip(g) {
                *sum += a * b;
            }
        }
        return product;
    }
    let domain = Domain::for_length(length);
    let mut product = domain.times(f, &domain.values_of(g));
    product.truncate(length);
    product
}

/// Quotient and remainder.
///
/// # Panics
/// If `divisor` is zero.
pub fn divide(f: &[Fp], divisor: &[Fp]) -> (Vec<Fp>, Vec<Fp>) {
    let (lead, rest) = divisor.split_last().expect("the divisor is not zero");
    let inverse = lead.inverse().expect("the leading coefficient is not zero");
    let mut remainder = f.to_vec();
    let mut quotient = vec![Fp::ZERO; f.len().saturating_sub(rest.len())];
    for place in (0..quotient.len()).rev() {
        let factor = remainder[place + rest.len()] * inverse;
        quotient[place] = factor;
        for (a, &b) in remainder[place..].iter_mut().zip(rest) {
            *a -= factor * b;
        }
    }
    remainder.truncate(rest.len());
    trim(&mut remainder);
    trim(&mut quotient);
    (quotient, remainder)
}

/// The monic greatest common divisor; zero of two zeros.
pub fn gcd(f: &[Fp], g: &[Fp]) -> Vec<Fp> {
    let (mut f, mut g) = (f.to_vec(), g.to_vec());
    while !g.is_empty() {
        let remainder = divide(&f, &g).1;
        f = std::mem::replace(&mut g, remainder);
    }
    if let Some(inverse) = f.last().and_then(|lead| lead.inverse()) {
        f.iter_mut().for_each(|c| *c *= inverse);
    }
    f
}

/// The derivative.
pub fn derivative(f: &[Fp]) -> Vec<Fp> {
    let mut derived: Vec<Fp> =
        f.iter().enumerate().skip(1).map(|(i, &c)| Fp::new(i as u64) * c).collect();
    trim(&mut derived);
    derived
}

/// Arithmetic modulo a fixed polynomial: remainders by multiplication with the inverse of the
/// reversed modulus, where long division takes degree² steps.
struct Modulus {
    modulus: Vec<Fp>,
    /// The inverse power series of the reversed modulus, of as many terms as the degree.
    inverse: Vec<Fp>,
    /// Of what is multiplied by again and again, from a degree on at which that pays.
    transforms: Option<Transforms>,
}

/// What products modulo a polynomial are computed with.
struct Transforms {
    /// At least 2·degree − 1 points: a product of two remainders fits.
    wide: Domain,
    /// At least degree points: a remainder fits.
    narrow: Domain,
    /// The inverse power series at the points of `wide`.
    inverse: Vec<Fp>,
    /// The modulus at the points of `narrow`.
    modulus: Vec<Fp>,
}

impl Transforms {
    fn of(modulus: &[Fp], inverse: &[Fp]) -> Transforms {
        let degree = modulus.len() - 1;
        let [wide, narrow] = [2 * degree - 1, degree].map(Domain::for_length);
        let (inverse, modulus) = (wide.values_of(inverse), narrow.values_of(modulus));
        Transforms { wide, narrow, inverse, modulus }
    }
}

impl Modulus {
    /// Takes a monic polynomial of degree at least 1.
    fn new(modulus: &[Fp]) -> Modulus {
        let degree = modulus.len() - 1;
        let reversed: Vec<Fp> = modulus.iter().rev().copied().collect();
        let mut inverse = vec![Fp::ONE];
        // Newton: g ← g(2 − f·g) doubles the number of right terms; the constant term of f is 1.
        while inverse.len() < degree {
            let terms = (2 * inverse.len()).min(degree);
            let mut error = multiply(&reversed[..terms.min(reversed.len())], &inverse);
            error.truncate(terms);
            error.iter_mut().for_each(|c| *c = -*c);
            error[0] += Fp::new(2);
            inverse = multiply(&inverse, &error);
            inverse.truncate(terms);
        }
        let transforms = (degree >= PREPARED_FROM).then(|| Transforms::of(modulus, &inverse));
        Modulus { modulus: modulus.to_vec(), inverse, transforms }
    }

    /// The remainder of a polynomial of at most twice as many terms as the modulus has degree.
    fn reduce(&self, f: Vec<Fp>) -> Vec<Fp> {
        let degree = self.modulus.len() - 1;
        debug_assert!(f.len() <= 2 * degree, "the inverse has too few terms");
        let Some(places) = f.len().checked_sub(degree).filter(|&places| places > 0) else {
            return f;
        };
        let high: Vec<Fp> = f.iter().rev().take(places).copied().collect();
        let mut quotient = match &self.transforms {
            Some(Transforms { wide, inverse, .. }) => wide.times(&high, inverse),
            None => multiply(&high, &self.inverse[..places.min(degree)]),
        };
        quotient.resize(places, Fp::ZERO);
        quotient.reverse();
        // The remainder has fewer than `degree` terms, so it is the same modulo X^N − 1: N is not
        // below the degree.
        let product = match &self.transforms {
            Some(Transforms { narrow, modulus, .. }) => narrow.times(&quotient, modulus),
            None => multiply(&quotient, &self.modulus),
        };
        let length = self.transforms.as_ref().map_or(f.len(), |of| of.narrow.length());
        let mut remainder: Vec<Fp> = (0..degree)
            .map(|i| f[i..].iter().step_by(length).copied().sum::<Fp>() - product[i])
            .collect();
        trim(&mut remainder);
        remainder
    }

    /// The square of a remainder.
    fn square(&self, f: &[Fp]) -> Vec<Fp> {
        let Some(Transforms { wide, .. }) = &self.transforms else {
            return self.reduce(multiply(f, f));
        };
        let mut square = wide.values_of(f);
        square.iter_mut().for_each(|value| *value = value.square());
        wide.interpolate(&mut square);
        square.truncate((2 * f.len()).saturating_sub(1));
        self.reduce(square)
    }

    /// (X + `shift`)^`exponent` modulo the modulus.
    fn power(&self, shift: Fp, exponent: u64) -> Vec<Fp> {
        let base = self.reduce(vec![shift, Fp::ONE]);
        let mut power = vec![Fp::ONE];
        for i in (0..u64::BITS - exponent.leading_zeros()).rev() {
            power = self.square(&power);
            if exponent >> i & 1 == 1 {
                power = self.reduce(multiply(&power, &base));
            }
        }
        power
    }
}

/// The roots of a monic polynomial without repeated factors, ascending; `None` if it has fewer
/// roots in the field than its degree (Cantor and Zassenhaus: (X + a)^((p−1)/2) is 1 at about half
/// of the roots). The generator decides the time only.
pub fn roots(f: &[Fp], rng: &mut impl Rng) -> Option<Vec<Fp>> {
    let degree = f.len().checked_sub(1)?;
    let mut found = Vec::with_capacity(degree);
    let mut factors = vec![f.to_vec()];
    while let Some(f) = factors.pop() {
        match f.len() {
            0 | 1 => {}
            2 => found.push(-f[0]),
            length => {
                let modulus = Modulus::new(&f);
                let shift = Fp::random(rng);
                let mut half = modulus.power(shift, (Fp::P - 1) / 2);
                // X^p − X is the product of all X − a: f divides it if and only if it splits, and
                // its factors do so then. X^p + a = (X + a)^p is the square of `half` by X + a.
                let whole = length == degree + 1;
                let shifted = [shift, Fp::ONE];
                if whole && modulus.reduce(multiply(&modulus.square(&half), &shifted)) != shifted {
                    return None;
                }
                if half.is_empty() {
                    half.push(Fp::ZERO);
                }
                half[0] -= Fp::ONE;
                trim(&mut half);
                let factor = gcd(&f, &half);
                if factor.len() > 1 && factor.len() < f.len() {
                    factors.push(divide(&f, &factor).0);
                    factors.push(factor);
                } else {
                    factors.push(f);
                }
            }
        }
    }
    found.sort_unstable();
    Some(found)
}

#[cfg(test)]
mod tests {
    use ostrakon_kernels::Prg;
    use proptest::prelude::*;
    use rand_core::TryRng;

    use super::*;

    fn polynomial(most: usize) -> impl Strategy<Value = Vec<Fp>> {
        prop::collection::vec(0u64..Fp::P, 0..most).prop_map(|coefficients| {
            let mut f: Vec<Fp> = coefficients.into_iter().map(Fp::new).collect();
            trim(&mut f);
            f
        })
    }

    fn of_roots(roots: &[Fp]) -> Vec<Fp> {
        roots.iter().fold(vec![Fp::ONE], |f, &root| multiply(&f, &[-root, Fp::ONE]))
    }

    struct Seeded(Prg, u64);

    impl TryRng for Seeded {
        type Error = std::convert::Infallible;
        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            Ok(self.try_next_u64()? as u32)
        }
        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            let mut word = [0; 8];
            self.0.fill_at(self.1, &mut word);
            self.1 += 8;
            Ok(u64::from_le_bytes(word))
        }
        fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
            self.0.fill_at(self.1, out);
            self.1 += out.len() as u64;
            Ok(())
        }
    }

    fn seeded(seed: u8) -> Seeded {
        Seeded(Prg::new(&[seed; 32]), 0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn division_undoes_multiplication(
            f in polynomial(260), g in polynomial(180), r in polynomial(40)
        ) {
            prop_assume!(g.len() > r.len());
            let mut sum = multiply(&f, &g);
            sum.resize(sum.len().max(r.len()), Fp::ZERO);
            for (a, &b) in sum.iter_mut().zip(&r) {
                *a += b;
            }
            trim(&mut sum);
            let (quotient, remainder) = divide(&sum, &g);
            prop_assert!(quotient == f && remainder == r);
            let mut monic = g.clone();
            let inverse = monic.last().unwrap().inverse().unwrap();
            monic.iter_mut().for_each(|c| *c *= inverse);
            let degree = monic.len() - 1;
            if degree > 0 && sum.len() <= 2 * degree {
                let reduced = Modulus::new(&monic).reduce(sum.clone());
                prop_assert!(reduced == divide(&sum, &monic).1);
                let mut square = multiply(&reduced, &reduced);
                trim(&mut square);
                let square = divide(&square, &monic).1;
                prop_assert!(Modulus::new(&monic).square(&reduced) == square);
            }
        }

        #[test]
        fn products_evaluate_to_products(f in polynomial(130), g in polynomial(130), x: u64) {
            let x = Fp::new(x);
            prop_assert!(evaluate(&multiply(&f, &g), x) == evaluate(&f, x) * evaluate(&g, x));
        }
    }

    #[test]
    fn roots_are_found_and_missing_ones_noticed() {
        for count in [0usize, 1, 2, 3, 17, 200] {
            let mut rng = seeded(count as u8);
            let mut wanted: Vec<Fp> = (0..count).map(|_| Fp::random(&mut rng)).collect();
            if count > 2 {
                wanted[0] = Fp::ZERO;
            }
            let f = of_roots(&wanted);
            wanted.sort_unstable();
            assert_eq!(roots(&f, &mut rng), Some(wanted));
            // X² − 7 has no root.
            let spoilt = multiply(&f, &[-Fp::GENERATOR, Fp::ZERO, Fp::ONE]);
            assert_eq!(roots(&spoilt, &mut rng), None);
        }
        assert_eq!(roots(&[], &mut seeded(0)), None, "everything is a root of zero");
    }

    #[test]
    fn common_divisors_and_derivatives() {
        let [a, b, c] = [2, 3, 5].map(Fp::new);
        let f = of_roots(&[a, a, b]);
        assert_eq!(gcd(&f, &of_roots(&[a, a, c])), of_roots(&[a, a]));
        assert_eq!(gcd(&f, &derivative(&f)), of_roots(&[a]));
        assert_eq!(gcd(&[], &[]), []);
        assert_eq!(derivative(&[a]), []);
    }
}
