//! RanSha and RanDouSha (spec 6): random sharings made of all members' contributions by a
//! hyper-invertible matrix. t + 1 of its outputs are kept, each of the 2t others is checked by one
//! member.

use std::sync::Arc;

use ostrakon_field::{Fp, Fp2};
use rand_core::Rng;

use crate::algebra::interpolation::{fits, lagrange};
use crate::algebra::vectors::{combine, hyper_invertible, share};
use crate::collector::{Collector, fingerprints};
use crate::committee::Committee;
use crate::message::Part;
use crate::program::Given;
use crate::tape::Tape;

/// One member's part.
pub(super) struct Random {
    committee: Arc<Committee>,
    me: usize,
    singles: usize,
    doubles: usize,
    dealt: Collector,
    checked: Collector,
    mixed: Option<Mixed>,
}

/// The own shares of all outputs of the matrix.
struct Mixed {
    kept: Vec<Vec<Fp>>,
    sent: bool,
    checks: Vec<Vec<Fp>>,
}

impl Random {
    /// Draws the own contributions; the vectors to deal, by position. A vector is `singles` shares
    /// of degree t, then `doubles` of degree t and the same secrets' shares in degree 2t.
    pub(super) fn start(
        committee: Arc<Committee>,
        me: usize,
        singles: usize,
        doubles: usize,
        tape: &mut Tape,
    ) -> (Random, Vec<Vec<Fp>>) {
        assert!(committee.prepares(), "material is prepared by 3t + 1 members");
        let t = committee.corrupt();
        let mut draw = |count| (0..count).map(|_| Fp::random(tape)).collect::<Vec<Fp>>();
        let secrets = zeroize::Zeroizing::new(draw(singles + doubles));
        let mut vectors = share(&secrets, t, &committee, tape);
        let wide = share(&secrets[singles..], 2 * t, &committee, tape);
        vectors.iter_mut().zip(wide).for_each(|(vector, wide)| vector.extend(wide));
        let mut dealt = Collector::new(&committee);
        dealt.insert(me, vectors[me].clone());
        let checked = Collector::new(&committee);
        (Random { committee, me, singles, doubles, dealt, checked, mixed: None }, vectors)
    }

    pub(super) fn receive(&mut self, part: Part, from: usize, vector: Option<Vec<Fp>>) {
        let collector = if part == Part::Deal { &mut self.dealt } else { &mut self.checked };
        match vector {
            Some(vector) => collector.insert(from, vector),
            None => collector.exclude(from),
        }
    }

    /// The shares of checked outputs, each for its checker, once everybody's dealing is here.
    pub(super) fn checks(&mut self) -> Vec<(usize, Vec<Fp>)> {
        let size = self.committee.size();
        if self.mixed.is_none() {
            let dealt: Option<Vec<&[Fp]>> = (0..size).map(|i| self.dealt.vector(i)).collect();
            let Some(dealt) = dealt else {
                return Vec::new();
            };
            let mut rows: Vec<Vec<Fp>> =
                hyper_invertible(size).iter().map(|row| combine(row, &dealt)).collect();
            let checks = rows.split_off(self.committee.corrupt() + 1);
            self.mixed = Some(Mixed { kept: rows, sent: false, checks });
        }
        let first = self.committee.corrupt() + 1;
        let Some(mixed) = self.mixed.as_mut().filter(|mixed| !mixed.sent) else {
            return Vec::new();
        };
        mixed.sent = true;
        if self.me >= first {
            self.checked.insert(self.me, std::mem::take(&mut mixed.checks[self.me - first]));
        }
        let checks = std::mem::take(&mut mixed.checks);
        let checks = checks.into_iter().enumerate().map(|(row, vector)| (row + first, vector));
        checks.filter(|(checker, _)| *checker != self.me).collect()
    }

    /// The outputs, once this member has nothing left to check; `Err` with the part in which
    /// something is wrong.
    pub(super) fn poll(&mut self, rng: &mut impl Rng) -> Option<Result<Given, Part>> {
        if self.dealt.spoilt() {
            return Some(Err(Part::Deal));
        }
        self.mixed.as_ref()?;
        if self.me > self.committee.corrupt() && !self.verified(rng)? {
            return Some(Err(Part::Check));
        }
        let kept = self.mixed.take()?.kept;
        let column = |from: usize, count: usize| {
            kept.iter().flat_map(|row| &row[from..from + count]).copied().collect::<Vec<Fp>>()
        };
        Some(Ok(Given::Random {
            singles: column(0, self.singles),
            doubles: column(self.singles, self.doubles),
            wide: column(self.singles + self.doubles, self.doubles),
        }))
    }

    /// Whether the output that this member checks is of the right degrees and the same secrets.
    fn verified(&self, rng: &mut impl Rng) -> Option<bool> {
        if self.checked.spoilt() {
            return Some(false);
        }
        let size = self.committee.size();
        let vectors: Vec<&[Fp]> =
            (0..size).map(|i| self.checked.vector(i)).collect::<Option<_>>()?;
        let narrow = self.singles + self.doubles;
        let part = |from: usize, to: usize| -> Vec<&[Fp]> {
            vectors.iter().map(|vector| &vector[from..to]).collect()
        };
        let points: Vec<Fp2> = self.committee.points().into_iter().map(Fp2::from).collect();
        let t = self.committee.corrupt();
        let singles = fingerprints(&part(0, narrow), rng);
        let wide = fingerprints(&part(narrow, narrow + self.doubles), rng);
        if !fits(&points, &singles, t) || !fits(&points, &wide, 2 * t) {
            return Some(false);
        }
        // The difference of the two sharings of one secret is of degree 2t and zero at zero.
        let differences: Vec<Vec<Fp>> = vectors
            .iter()
            .map(|v| (0..self.doubles).map(|i| v[narrow + i] - v[self.singles + i]).collect())
            .collect();
        let differences: Vec<&[Fp]> = differences.iter().map(Vec::as_slice).collect();
        let combined = fingerprints(&differences, rng);
        let weights = lagrange(&points[..=2 * t], Fp2::ZERO);
        let at_zero = weights.iter().zip(&combined).fold(Fp2::ZERO, |s, (&w, &v)| s + w * v);
        Some(at_zero == Fp2::ZERO)
    }
}
