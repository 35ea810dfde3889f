//! The limit of a visit: what nobody can avoid, straight on curve25519-dalek, on one core like the
//! visit itself.

use std::collections::BTreeMap;
use std::hint::black_box;

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::{MultiscalarMul, VartimeMultiscalarMul};

use super::Shape;
use crate::limit::time;

/// Points and scalars that are there before the clock starts, and how many of each kind of work
/// there is.
pub(super) struct Work {
    encoded: Vec<CompressedRistretto>,
    points: Vec<RistrettoPoint>,
    scalars: Vec<Scalar>,
    weights: Vec<Scalar>,
    counts: Counts,
}

/// How often each kind of work is done in one visit.
struct Counts {
    /// Points of all earlier steps.
    decompressions: usize,
    /// Points of the one combination of them all: these, the keys, the generator, the encodings of
    /// outputs.
    combination: usize,
    /// Entries of one ballot's new table, and of the initial one if the visitor is the first.
    entries: usize,
    initial: usize,
    ballots: usize,
    /// Branches of a ballot's proof.
    values: usize,
}

impl Counts {
    fn of(shape: &Shape) -> Self {
        let (ballots, values) = (shape.form.ballots, usize::from(shape.form.values));
        let of_step = |place| ballots * (2 * shape.entries(place) + 3 * values);
        let decompressions = (0..shape.before).map(of_step).sum();
        let shared = 2 + shape.form.visitors + ballots * values;
        let first = shape.before == 0;
        // Before the first visitor a table has the entries that it would have after one visitor
        // fewer.
        let larger = Shape {
            form: super::Form { visitors: shape.form.visitors + 1, ..shape.form },
            ..*shape
        };
        Self {
            decompressions,
            combination: if first { 0 } else { decompressions + shared },
            entries: shape.entries(shape.before),
            initial: if first { larger.entries(0) } else { 0 },
            ballots,
            values,
        }
    }
}

/// Numbers that are no weaker than random ones for measuring.
fn scalars(count: usize) -> Vec<Scalar> {
    let mut bytes = [1; 64];
    let scalar = |i: usize| {
        bytes[..8].copy_from_slice(&(i as u64 + 1).to_le_bytes());
        let wide = ostrakon_crypto::hash::digest("ostrakon/v1/bench scalar", &bytes).0;
        Scalar::from_bytes_mod_order(wide)
    };
    (0..count).map(scalar).collect()
}

impl Work {
    pub(super) fn of(shape: &Shape) -> Self {
        let counts = Counts::of(shape);
        let scalars = scalars(counts.combination.max(counts.entries).max(counts.initial).max(3));
        let points: Vec<_> = scalars.iter().map(RistrettoPoint::mul_base).collect();
        let encoded =
            points[..counts.decompressions].iter().map(RistrettoPoint::compress).collect();
        let half = |scalar: &Scalar| {
            let bytes = scalar.to_bytes();
            Scalar::from(u128::from_le_bytes(*bytes.first_chunk().expect("a scalar has 32 bytes")))
        };
        let weights = scalars[..counts.entries].iter().map(half).collect();
        Self { encoded, points, scalars, weights, counts }
    }

    /// Milliseconds by kind of work.
    pub(super) fn measure(&self) -> BTreeMap<&'static str, f64> {
        let parts = [
            ("decompress", time(|| self.decompress())),
            ("combination", time(|| self.combination())),
            ("table", time(|| self.table())),
            ("weigh", time(|| self.weigh())),
            ("prove", time(|| self.prove())),
        ];
        parts.map(|(kind, seconds)| (kind, seconds * 1e3)).into()
    }

    fn decompress(&self) {
        self.encoded.iter().for_each(|encoded| {
            black_box(encoded.decompress());
        });
    }

    fn combination(&self) {
        let size = self.counts.combination;
        if size > 0 {
            black_box(RistrettoPoint::vartime_multiscalar_mul(
                &self.scalars[..size],
                &self.points[..size],
            ));
        }
    }

    /// A layer removed and every entry rerandomised and encoded (V2); the first visitor encrypts
    /// the initial table before.
    fn table(&self) {
        let Counts { entries, initial, ballots, .. } = self.counts;
        for _ in 0..ballots {
            for (s, point) in self.scalars.iter().zip(&self.points).take(initial) {
                black_box((
                    RistrettoPoint::mul_base(s),
                    RistrettoPoint::multiscalar_mul([s], [point]),
                ));
            }
            for (s, point) in self.scalars.iter().zip(&self.points).take(entries) {
                let second = RistrettoPoint::multiscalar_mul(
                    [s, &self.scalars[0]],
                    [point, &self.points[1]],
                );
                black_box((RistrettoPoint::mul_base(s).compress(), second.compress()));
            }
        }
    }

    /// Old and new tables combined by the weights (V5).
    fn weigh(&self) {
        for _ in 0..self.counts.ballots * (2 + 2 * self.counts.values) {
            let points = &self.points[..self.counts.entries];
            black_box(RistrettoPoint::vartime_multiscalar_mul(&self.weights, points));
        }
    }

    /// Commitments of every branch, encoded (V6).
    fn prove(&self) {
        let ([s, t, u], [p, q, r]) = (
            self.scalars.first_chunk().expect("at least three"),
            self.points.first_chunk().expect("at least three"),
        );
        for _ in 0..self.counts.ballots * self.counts.values {
            let key = RistrettoPoint::mul_base(s) + RistrettoPoint::multiscalar_mul([t], [p]);
            let first = RistrettoPoint::mul_base(t) + RistrettoPoint::multiscalar_mul([u], [q]);
            let second = RistrettoPoint::multiscalar_mul([s, t, u], [p, q, r]);
            black_box((key.compress(), first.compress(), second.compress()));
        }
    }
}
