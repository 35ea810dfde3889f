//! Square roots of many public elements, which every random bit takes one of: Tonelli and Shanks
//! with the logarithm read from tables, eight bits at a time (Sarkar). The elements were opened.

use ostrakon_field::Fp;

/// Bits of the logarithm that are found at a time.
const WINDOW: u32 = 8;
const WINDOWS: usize = (Fp::TWO_ADICITY / WINDOW) as usize;
const DIGITS: usize = 1 << WINDOW;

/// Tables for g, of order 2^32.
pub(crate) struct Roots {
    /// For each window i and digit d: g^(−d·2^(8i)).
    inverses: Vec<[Fp; DIGITS]>,
    /// The powers of g that have order 256 or less, with their digits, ascending.
    digits: Vec<(Fp, usize)>,
}

impl Roots {
    pub(crate) fn new() -> Roots {
        let g = Fp::root_of_unity(Fp::TWO_ADICITY);
        let inverse = g.inverse().expect("a root of unity is not zero");
        let powers = |base: Fp| {
            let mut all = [Fp::ONE; DIGITS];
            (1..DIGITS).for_each(|d| all[d] = all[d - 1] * base);
            all
        };
        let window = |i: usize| powers(repeated_square(inverse, WINDOW * i as u32));
        let last = powers(repeated_square(g, Fp::TWO_ADICITY - WINDOW));
        let mut digits: Vec<(Fp, usize)> = last.into_iter().zip(0..).collect();
        digits.sort_unstable();
        Roots { inverses: (0..WINDOWS).map(window).collect(), digits }
    }

    /// The smaller of the two roots; `None` for zero and for what is no square.
    pub(crate) fn of(&self, square: Fp) -> Option<Fp> {
        // p − 1 = 2^32·m with m = 2^32 − 1. Of a: a^((m − 1)/2), a^((m + 1)/2) and b = a^m = g^e.
        let half = ones_of_31(square);
        let root = half * square;
        let rest = root * half;
        let exponent = self.logarithm(rest).filter(|exponent| exponent.is_multiple_of(2))?;
        // (a^((m + 1)/2)·g^(−e/2))² = a·b·g^(−e) = a.
        let mut root = root;
        for (i, window) in self.inverses.iter().enumerate() {
            root *= window[digit(exponent / 2, i)];
        }
        let other = -root;
        (square != Fp::ZERO).then(|| root.min(other))
    }

    /// e with b = g^e, lowest digits first: b^(2^24) tells the lowest one, and so on.
    fn logarithm(&self, b: Fp) -> Option<u64> {
        let mut powers = [b; WINDOWS];
        for i in (0..WINDOWS - 1).rev() {
            powers[i] = repeated_square(powers[i + 1], WINDOW);
        }
        let mut exponent = 0;
        for (i, &power) in powers.iter().enumerate() {
            // What the digits below make of this power is taken away.
            let mut rest = power;
            for below in 0..i {
                rest *= self.inverses[below + WINDOWS - 1 - i][digit(exponent, below)];
            }
            let at = self.digits.binary_search_by_key(&rest, |(power, _)| *power).ok()?;
            exponent |= (self.digits[at].1 as u64) << (WINDOW * i as u32);
        }
        Some(exponent)
    }
}

fn digit(exponent: u64, window: usize) -> usize {
    (exponent >> (WINDOW * window as u32)) as usize % DIGITS
}

fn repeated_square(element: Fp, times: u32) -> Fp {
    (0..times).fold(element, |power, _| power.square())
}

/// The power of 2^31 − 1: from k ones of the exponent to 2k, or to k + 1.
fn ones_of_31(element: Fp) -> Fp {
    let double = |ones: Fp, count: u32| repeated_square(ones, count) * ones;
    let one_more = |ones: Fp| ones.square() * element;
    let three = one_more(double(element, 1));
    let seven = one_more(double(three, 3));
    let fifteen = one_more(double(seven, 7));
    one_more(double(fifteen, 15))
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::Secret;

    use super::*;
    use crate::tape::Tape;

    #[test]
    fn roots_are_those_of_the_field() {
        let roots = Roots::new();
        let mut tape = Tape::new(&Secret::new([4; 32]));
        let drawn = (0..2000).map(|_| Fp::random(&mut tape));
        let unities = (0..=Fp::TWO_ADICITY).map(Fp::root_of_unity);
        for a in drawn.chain(unities).chain((1..20).map(Fp::new)) {
            assert_eq!(roots.of(a), a.sqrt_vartime(), "{a:?}");
            let square = a.square();
            let root = roots.of(square).unwrap();
            assert!((root == a || root == -a) && root <= -root);
        }
        assert_eq!(roots.of(Fp::ZERO), None);
    }

    #[test]
    fn exponents_are_of_ones() {
        let a = Fp::new(0x1234_5678_9abc_def1);
        assert_eq!(ones_of_31(a), a.pow_vartime((1 << 31) - 1));
    }
}
