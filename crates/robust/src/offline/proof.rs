//! The linear proof that dealt sharings are of bits (spec 10), as in Prio3: only linear
//! combinations of what was dealt are opened.
//!
//! Entries are cut into *wires* of H − 1 entries; a wire is the polynomial through them at the
//! first H − 1 points of a domain of H points and through a random *seed* of F_p² at the last one.
//! With a
//! public χ, P = Σ χ^j·w_j·(w_j − 1) is zero at the first H − 1 points if and only if all entries
//! are bits (but for a chance of wires/p² over χ). The dealer shares P's other values on 2H points;
//! the equation is opened at a public τ that nobody knew before.

use ostrakon_field::ntt::{Domain, powers};
use ostrakon_field::{Fp, Fp2, batch_inverse};

/// How entries are cut into wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Entries to prove.
    pub entries: usize,
    /// H, a power of two.
    pub points: usize,
}

impl Cut {
    /// Wires about as many as their points, which makes the proof shortest.
    #[must_use]
    pub fn of(entries: usize) -> Cut {
        Cut { entries, points: entries.isqrt().next_power_of_two().max(2) }
    }

    /// How many wires there are.
    #[must_use]
    pub fn wires(&self) -> usize {
        self.entries.div_ceil(self.points - 1)
    }

    /// Values of P that the dealer shares: at the seed's point, and at the odd ones of 2H points.
    #[must_use]
    pub fn proof_values(&self) -> usize {
        1 + self.points
    }

    fn domain(&self) -> Domain {
        Domain::for_length(self.points)
    }

    fn double_domain(&self) -> Domain {
        Domain::for_length(2 * self.points)
    }

    fn wire<'a>(&self, entries: &'a [Fp], j: usize) -> &'a [Fp] {
        let length = self.points - 1;
        &entries[j * length..entries.len().min((j + 1) * length)]
    }

    /// The dealer's values of P, for entries and one seed a wire.
    #[must_use]
    pub fn prove(&self, entries: &[Fp], seeds: &[Fp2], chi: Fp2) -> Vec<Fp2> {
        let h = self.points;
        let domain = self.domain();
        // Values at the odd points of the double domain are values of the polynomial with its i-th
        // coefficient times g^i, g a root of order 2H, at the points of the single one.
        let odd = powers(Fp::root_of_unity(h.ilog2() + 1), h);
        let extend = |values: &mut Vec<Fp>| {
            domain.interpolate(values);
            values.iter_mut().zip(&odd).for_each(|(c, &power)| *c *= power);
            domain.evaluate(values);
        };
        let mut seed_basis = vec![Fp::ZERO; h];
        seed_basis[h - 1] = Fp::ONE;
        extend(&mut seed_basis);
        let mut proof = vec![Fp2::ZERO; self.proof_values()];
        let mut weight = Fp2::ONE;
        for (j, &seed) in seeds.iter().enumerate() {
            let mut values = self.wire(entries, j).to_vec();
            values.resize(h, Fp::ZERO);
            extend(&mut values);
            proof[0] += weight * seed * (seed - Fp2::ONE);
            for ((sum, &value), &basis) in proof[1..].iter_mut().zip(&values).zip(&seed_basis) {
                let w = Fp2::from(value) + seed.scale(basis);
                *sum += weight * w * (w - Fp2::ONE);
            }
            weight = weight * chi;
        }
        proof
    }

    /// The factors by which a polynomial's values at a domain make up its value at τ; `None` in the
    /// unlucky case that τ is one of the points, where it would show an entry.
    fn basis_at(domain: &Domain, tau: Fp2) -> Option<Vec<Fp2>> {
        let length = domain.length();
        let scale = tau.pow_vartime(length as u64) - Fp2::ONE;
        if scale == Fp2::ZERO {
            return None;
        }
        let inverse = Fp::new(length as u64).inverse()?;
        let differences: Vec<Fp2> = domain.points().iter().map(|&x| tau - x.into()).collect();
        let inverses = batch_inverse(&differences);
        let points = domain.points().iter().zip(inverses);
        Some(points.map(|(&x, i)| (scale * i).scale(x * inverse)).collect())
    }

    /// The factors for wires and for P at τ; `None` if τ is a point of the proof.
    #[must_use]
    pub fn query(&self, tau: Fp2) -> Option<Query> {
        let wire = Cut::basis_at(&self.domain(), tau)?;
        let all = Cut::basis_at(&self.double_domain(), tau)?;
        let h = self.points;
        // The seed's point is the last one of the domain, number 2(H − 1) of the double one.
        let odd = (0..h).map(|i| all[2 * i + 1]);
        let proof = std::iter::once(all[2 * (h - 1)]).chain(odd).collect();
        Some(Query { cut: *self, wire, proof })
    }
}

/// What is asked of a proof: its values at one point.
pub struct Query {
    cut: Cut,
    wire: Vec<Fp2>,
    proof: Vec<Fp2>,
}

impl Query {
    /// The wires' values at τ, from shares (or values) of entries and seeds.
    #[must_use]
    pub fn wires(&self, entries: &[Fp], seeds: &[Fp2]) -> Vec<Fp2> {
        let seed_factor = self.wire[self.cut.points - 1];
        let wires = seeds.iter().enumerate().map(|(j, &seed)| {
            let values = self.cut.wire(entries, j).iter().zip(&self.wire);
            values.fold(seed * seed_factor, |sum, (&value, factor)| sum + factor.scale(value))
        });
        wires.collect()
    }

    /// P's value at τ, from shares (or values) of the proof. Its values at the entries' points are
    /// zero, whatever the dealer says.
    pub fn proof(&self, values: &[Fp2]) -> Fp2 {
        values.iter().zip(&self.proof).fold(Fp2::ZERO, |sum, (&v, &factor)| sum + v * factor)
    }

    /// Whether the opened values fit together.
    #[must_use]
    pub fn holds(&self, wires: &[Fp2], proof: Fp2, chi: Fp2) -> bool {
        let mut weight = Fp2::ONE;
        let mut sum = Fp2::ZERO;
        for &wire in wires {
            sum += weight * wire * (wire - Fp2::ONE);
            weight = weight * chi;
        }
        wires.len() == self.cut.wires() && sum == proof
    }

    /// The factor of a wire's seed, which is never zero: so an opened wire is uniform.
    pub fn seed_factor(&self) -> Fp2 {
        debug_assert!(self.wire[self.cut.points - 1].inverse().is_some());
        self.wire[self.cut.points - 1]
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::Secret;
    use rand_core::Rng;

    use super::*;
    use crate::tape::Tape;

    struct World {
        tape: Tape,
        chi: Fp2,
        tau: Fp2,
    }

    fn world(seed: u8) -> World {
        let mut tape = Tape::new(&Secret::new([seed; 32]));
        let [chi, tau] = [(); 2].map(|()| Fp2::random(&mut tape));
        World { tape, chi, tau }
    }

    impl World {
        fn bits(&mut self, count: usize) -> Vec<Fp> {
            (0..count).map(|_| Fp::new(self.tape.next_u64() & 1)).collect()
        }

        fn seeds(&mut self, cut: Cut) -> Vec<Fp2> {
            (0..cut.wires()).map(|_| Fp2::random(&mut self.tape)).collect()
        }

        fn accepts(&mut self, entries: &[Fp], zero_at_entries: bool) -> bool {
            let cut = Cut::of(entries.len());
            let seeds = self.seeds(cut);
            let mut proof = cut.prove(entries, &seeds, self.chi);
            if !zero_at_entries {
                proof[0] += Fp2::ONE;
            }
            let query = cut.query(self.tau).unwrap();
            let wires = query.wires(entries, &seeds);
            query.holds(&wires, query.proof(&proof), self.chi)
        }
    }

    #[test]
    fn bits_are_proved_and_nothing_else() {
        for count in [1, 2, 3, 16, 100, 1000] {
            let mut world = world(count as u8);
            let bits = world.bits(count);
            assert!(world.accepts(&bits, true));
            assert!(!world.accepts(&bits, false), "another proof");
            let mut spoilt = bits.clone();
            spoilt[count / 2] = Fp::new(2);
            assert!(!world.accepts(&spoilt, true));
        }
    }

    /// Two entries at one place of two wires whose b² − b cancel pass if wires are added without
    /// weights.
    #[test]
    fn errors_that_cancel_between_wires_are_found() {
        // x² − x = −2·(v² − v)/… : v with 1 − 4(v² − v) a square gives x with x² − x = −(v² − v).
        let (v, x) = (2..)
            .find_map(|v| {
                let v = Fp::new(v);
                let error = v * v - v;
                let root = (Fp::ONE - Fp::new(4) * error).sqrt_vartime()?;
                Some((v, (Fp::ONE + root) * Fp::new(2).inverse()?))
            })
            .unwrap();
        assert_eq!(v * v - v + x * x - x, Fp::ZERO);
        let mut world = world(3);
        let mut entries = world.bits(100);
        let cut = Cut::of(100);
        entries[4] = v;
        entries[4 + cut.points - 1] = x;
        assert!(!world.accepts(&entries, true));
        world.chi = Fp2::ONE;
        assert!(world.accepts(&entries, true), "without weights they would pass");
    }

    /// A wire's opened value is compatible with every list of entries if seeds are of F_p²; with
    /// seeds of the base field it rules out all lists but one.
    #[test]
    fn seed_in_base_field() {
        let mut world = world(5);
        let cut = Cut { entries: 15, points: 16 };
        let query = cut.query(world.tau).unwrap();
        let truth = world.bits(15);
        let explains = |opened: Fp2, entries: &[Fp]| {
            let without_seed = query.wires(entries, &[Fp2::ZERO])[0];
            let seed = (opened - without_seed) * query.seed_factor().inverse().unwrap();
            assert_eq!(query.wires(entries, &[seed])[0], opened);
            seed
        };
        let base_seed = Fp2::from(Fp::random(&mut world.tape));
        let opened = query.wires(&truth, &[base_seed])[0];
        let compatible = (0u64..1 << 15).filter(|word| {
            let entries: Vec<Fp> = (0..15).map(|i| Fp::new(word >> i & 1)).collect();
            explains(opened, &entries).1 == Fp::ZERO
        });
        let guess: Vec<u64> = compatible.collect();
        let word: u64 = truth.iter().enumerate().map(|(i, b)| b.value() << i).sum();
        assert_eq!(guess, [word], "a seed of the base field hides nothing");
        // What is dealt is drawn from F_p²: the seed that explains any other list is as likely.
        let seed = world.seeds(cut)[0];
        assert!(seed.1 != Fp::ZERO);
    }

    #[test]
    fn points_of_the_proof_are_no_queries() {
        let cut = Cut::of(100);
        for point in cut.double_domain().points() {
            assert!(cut.query((*point).into()).is_none());
        }
    }
}
