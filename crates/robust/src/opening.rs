//! Batch opening (spec 4; the paper's Fig. 2): t + 1 sharings at a time are encoded into N, member
//! i learns the i-th of them and tells everybody.

use std::sync::Arc;

use ostrakon_field::{Fp, dot};
use rand_core::Rng;

use crate::algebra::interpolation::lagrange;
use crate::collector::Collector;
use crate::committee::Committee;

/// How the shares of an opening are believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Sharings of degree t: 2t + 1 members that agree suffice, and wrong shares are corrected.
    Robust,
    /// Sharings of this degree, at most 2t: all N members' shares must lie on one polynomial, for
    /// material that is thrown away if they do not.
    Exact(usize),
}

/// What an opening has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The values.
    Open(Vec<Fp>),
    /// The shares of all members do not lie on polynomials of the degree.
    Mismatch,
}

/// One server's part in opening a vector.
pub(crate) struct Opening {
    committee: Arc<Committee>,
    me: usize,
    count: usize,
    mode: Mode,
    hops: [Collector; 2],
    encoded: bool,
    verdict: Option<Verdict>,
}

/// Elements of each message of an opening of `count` values.
#[must_use]
pub fn message_elements(committee: &Committee, count: usize) -> usize {
    count.div_ceil(committee.corrupt() + 1)
}

/// What is to be sent, and who was found to lie in which hop.
#[derive(Default)]
pub(crate) struct Progress {
    pub(crate) tell: Option<Vec<Fp>>,
    pub(crate) liars: Vec<(usize, usize)>,
    /// Whose vectors agree, by hop.
    pub(crate) agree: [Vec<usize>; 2],
}

impl Opening {
    /// Starts with one's own shares; the vectors of the first hop, by receiver.
    pub(crate) fn start(
        committee: Arc<Committee>,
        me: usize,
        shares: &[Fp],
        mode: Mode,
    ) -> (Opening, Vec<Vec<Fp>>) {
        let vectors: Vec<Vec<Fp>> =
            committee.points().iter().map(|&point| encode(shares, &committee, point)).collect();
        let hops = [Collector::new(&committee), Collector::new(&committee)];
        let count = shares.len();
        let mut opening =
            Opening { committee, me, count, mode, hops, encoded: false, verdict: None };
        opening.hops[0].insert(me, vectors[me].clone());
        (opening, vectors)
    }

    /// Takes a member's vector of a hop, or that it sent none that could be right.
    pub(crate) fn receive(&mut self, hop: usize, from: usize, vector: Option<Vec<Fp>>) {
        match vector {
            Some(vector) => self.hops[hop].insert(from, vector),
            None => self.hops[hop].exclude(from),
        }
    }

    pub(crate) fn verdict(&self) -> Option<&Verdict> {
        self.verdict.as_ref()
    }

    /// Goes as far as what has come allows.
    pub(crate) fn poll(&mut self, rng: &mut impl Rng) -> Progress {
        let mut progress = Progress::default();
        if self.verdict.is_some() {
            return progress;
        }
        if !self.encoded
            && let Some(values) = self.first_hop(&mut progress, rng)
        {
            self.tell(values, &mut progress);
        }
        if self.verdict.is_none() && (self.encoded || self.mode == Mode::Robust) {
            self.second_hop(&mut progress, rng);
        }
        progress
    }

    fn tell(&mut self, values: Vec<Fp>, progress: &mut Progress) {
        self.encoded = true;
        self.hops[1].insert(self.me, values.clone());
        progress.tell = Some(values);
    }

    /// The own encoded values, once the shares of them decode.
    fn first_hop(&mut self, progress: &mut Progress, rng: &mut impl Rng) -> Option<Vec<Fp>> {
        let committee = &self.committee;
        match self.mode {
            Mode::Robust => {
                let found = self.hops[0].agreement(committee, rng)?;
                progress.liars.extend(found.liars.iter().map(|&liar| (0, liar)));
                let secrets = self.hops[0].secrets(committee, &found.agree, committee.corrupt());
                progress.agree[0] = found.agree;
                Some(secrets)
            }
            Mode::Exact(degree) => {
                if !self.hops[0].exact(committee, degree, rng)? {
                    self.verdict = Some(Verdict::Mismatch);
                    return None;
                }
                let all: Vec<usize> = (0..committee.size()).collect();
                Some(self.hops[0].secrets(committee, &all, degree))
            }
        }
    }

    /// All values, once the members' encoded ones decode: always robustly, since whatever an
    /// honest member tells is right.
    fn second_hop(&mut self, progress: &mut Progress, rng: &mut impl Rng) {
        let Some(found) = self.hops[1].agreement(&self.committee, rng) else {
            return;
        };
        progress.liars.extend(found.liars.iter().map(|&liar| (1, liar)));
        let columns = self.hops[1].coefficients(&self.committee, &found.agree);
        let values: Vec<Fp> =
            (0..self.count).map(|i| columns[i % columns.len()][i / columns.len()]).collect();
        if !self.encoded {
            // Others may still need what this server would have told.
            let point = self.committee.point(self.me);
            self.tell(encode(&values, &self.committee, point), progress);
        }
        progress.agree[1] = found.agree;
        self.verdict = Some(Verdict::Open(values));
    }
}

/// The encodings at `point` of t + 1 values each: the values of the polynomials that have them as
/// coefficients. Missing values of the last group count as zero.
fn encode(values: &[Fp], committee: &Committee, point: Fp) -> Vec<Fp> {
    let powers = ostrakon_field::ntt::powers(point, committee.corrupt() + 1);
    values.chunks(powers.len()).map(|group| dot(group, &powers)).collect()
}

/// The value that sharings of degree t have at zero, from the first t + 1 members' shares, for
/// tests that look at what is shared.
pub fn reveal(committee: &Committee, shares: &[Fp]) -> Fp {
    let points = committee.points();
    dot(&lagrange(&points[..=committee.corrupt()], Fp::ZERO), shares)
}
