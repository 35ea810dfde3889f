//! Vectors of shares, one from each member, and the check that they lie on polynomials.
//!
//! Whole vectors are checked by one random combination of their elements in F_p² (spec 4): the
//! weights are drawn here, privately, after the vectors have come, so a vector that is wrong
//! anywhere has a wrong combination except with probability p^-2.

use ostrakon_crypto::Secret;
use ostrakon_field::{Fp, Fp2, dot};
use rand_core::Rng;
use zeroize::Zeroize;

use crate::algebra::interpolation::{agreeing, coefficients, fits, lagrange};
use crate::algebra::vectors::combine;
use crate::committee::Committee;
use crate::tape::Tape;

/// What has come from a member.
#[derive(Clone)]
enum Slot {
    Awaited,
    Here(Vec<Fp>),
    /// Something that cannot be right, or a vector that was found to be wrong.
    Excluded,
}

/// The vectors of one hop.
pub(crate) struct Collector {
    slots: Vec<Slot>,
    /// How many vectors there were when decoding was last tried.
    tried: usize,
}

impl Drop for Collector {
    fn drop(&mut self) {
        for slot in &mut self.slots {
            if let Slot::Here(vector) = slot {
                vector.zeroize();
            }
        }
    }
}

/// Vectors of a robust hop that agree.
pub(crate) struct Agreement {
    /// Positions whose vectors lie on the polynomials; at least 2t + 1.
    pub(crate) agree: Vec<usize>,
    /// Positions whose vectors do not.
    pub(crate) liars: Vec<usize>,
}

impl Collector {
    pub(crate) fn new(committee: &Committee) -> Collector {
        Collector { slots: vec![Slot::Awaited; committee.size()], tried: 0 }
    }

    /// Takes a member's vector; the first one counts.
    pub(crate) fn insert(&mut self, position: usize, vector: Vec<Fp>) {
        if matches!(self.slots[position], Slot::Awaited) {
            self.slots[position] = Slot::Here(vector);
        }
    }

    /// Takes note that a member's vector is none. What has come stays: the number of vectors only
    /// grows until they agree, so that each new one is a new attempt.
    pub(crate) fn exclude(&mut self, position: usize) {
        if matches!(self.slots[position], Slot::Awaited) {
            self.slots[position] = Slot::Excluded;
        }
    }

    pub(crate) fn vector(&self, position: usize) -> Option<&[Fp]> {
        match &self.slots[position] {
            Slot::Here(vector) => Some(vector),
            _ => None,
        }
    }

    fn here(&self) -> Vec<usize> {
        (0..self.slots.len()).filter(|&i| self.vector(i).is_some()).collect()
    }

    fn some(&self, positions: &[usize]) -> Vec<&[Fp]> {
        positions.iter().filter_map(|&i| self.vector(i)).collect()
    }

    /// Whether somebody's vector is known to be none.
    pub(crate) fn spoilt(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot, Slot::Excluded))
    }

    /// Positions of 2t + 1 or more vectors on polynomials of degree t, and of the vectors that are
    /// not; `None` as long as more must come. Wrong vectors are excluded for good.
    pub(crate) fn agreement(
        &mut self,
        committee: &Committee,
        rng: &mut impl Rng,
    ) -> Option<Agreement> {
        let here = self.here();
        if here.len() < committee.agreeing() || here.len() == self.tried {
            return None;
        }
        self.tried = here.len();
        let points: Vec<Fp> = here.iter().map(|&i| committee.point(i)).collect();
        let places = who_agrees(&points, &self.some(&here), committee.corrupt(), rng)?;
        let agree: Vec<usize> = places.into_iter().map(|place| here[place]).collect();
        let liars: Vec<usize> = here.into_iter().filter(|i| !agree.contains(i)).collect();
        liars.iter().for_each(|&liar| self.slots[liar] = Slot::Excluded);
        Some(Agreement { agree, liars })
    }

    /// Whether the vectors of all members lie on polynomials of `degree`; `None` as long as one is
    /// awaited.
    pub(crate) fn exact(
        &self,
        committee: &Committee,
        degree: usize,
        rng: &mut impl Rng,
    ) -> Option<bool> {
        if self.spoilt() {
            return Some(false);
        }
        let here = self.here();
        if here.len() < committee.size() {
            return None;
        }
        let points: Vec<Fp2> = here.iter().map(|&i| committee.point(i).into()).collect();
        Some(fits(&points, &fingerprints(&self.some(&here), rng), degree))
    }

    /// The values at zero of the polynomials of `degree` through the first vectors of `positions`.
    pub(crate) fn secrets(
        &self,
        committee: &Committee,
        positions: &[usize],
        degree: usize,
    ) -> Vec<Fp> {
        let base = &positions[..=degree];
        let points: Vec<Fp> = base.iter().map(|&i| committee.point(i)).collect();
        combine(&lagrange(&points, Fp::ZERO), &self.some(base))
    }

    /// The coefficients of the polynomials of degree t through the first vectors of `positions`:
    /// element i of the c-th vector is the c-th coefficient of the i-th polynomial.
    pub(crate) fn coefficients(&self, committee: &Committee, positions: &[usize]) -> Vec<Vec<Fp>> {
        let base = &positions[..=committee.corrupt()];
        let points: Vec<Fp> = base.iter().map(|&i| committee.point(i)).collect();
        let vectors = self.some(base);
        coefficients(&points).iter().map(|row| combine(row, &vectors)).collect()
    }
}

/// The places of 2t + 1 or more vectors that lie on polynomials of degree t, of 2t + 1 or more that
/// are here; `None` if more must come. The check is private: a wrong vector is taken for a right
/// one with probability p^-2.
///
/// # Panics
/// If there are fewer vectors, or two of one point.
pub fn who_agrees(
    points: &[Fp],
    vectors: &[&[Fp]],
    corrupt: usize,
    rng: &mut impl Rng,
) -> Option<Vec<usize>> {
    let points: Vec<Fp2> = points.iter().map(|&point| point.into()).collect();
    let combinations = fingerprints(vectors, rng);
    if fits(&points, &combinations, corrupt) {
        return Some((0..points.len()).collect());
    }
    let errors = (points.len() - 2 * corrupt - 1).min(corrupt);
    agreeing(&points, &combinations, corrupt, errors)
}

/// One random combination in F_p² of each vector's elements, the same for all vectors. A fresh seed
/// is drawn, and the weights from its tape: of them there are as many as elements.
pub(crate) fn fingerprints(vectors: &[&[Fp]], rng: &mut impl Rng) -> Vec<Fp2> {
    let length = vectors.first().map_or(0, |vector| vector.len());
    let mut seed = [0; 32];
    rng.fill_bytes(&mut seed);
    let mut tape = Tape::new(&Secret::new(seed));
    let mut draw = |()| (0..length).map(|_| Fp::random(&mut tape)).collect();
    let weights: [Vec<Fp>; 2] = [(); 2].map(&mut draw);
    vectors.iter().map(|v| Fp2(dot(&weights[0], v), dot(&weights[1], v))).collect()
}
