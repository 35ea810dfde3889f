//! Decoding what is opened, at one server, on one core: from the vectors of 2t + 1 servers that are
//! right, and from those of all, of which t are wrong everywhere.

use std::hint::black_box;

use ostrakon_crypto::Secret;
use ostrakon_field::{Fp, ntt};
use ostrakon_robust::interpolation::coefficients;
use ostrakon_robust::vectors::combine;
use ostrakon_robust::{Tape, who_agrees};

use super::Units;
use super::part::Part;
use crate::limit::time;
use crate::processor;

/// Elements of a message of 32 bytes.
pub(super) const WIDTH: usize = 5;

/// What servers tell of opened values, t + 1 of them a polynomial.
struct Told {
    points: Vec<Fp>,
    corrupt: usize,
    values: Vec<Vec<Fp>>,
    /// By server: the polynomials at its point.
    vectors: Vec<Vec<Fp>>,
}

impl Told {
    fn new(servers: usize, values: usize, tape: &mut Tape) -> Told {
        let corrupt = (servers - 1) / 3;
        let length = values.div_ceil(corrupt + 1);
        let mut random = || (0..length).map(|_| Fp::random(tape)).collect::<Vec<Fp>>();
        let values: Vec<Vec<Fp>> = (0..=corrupt).map(|_| random()).collect();
        let rows: Vec<&[Fp]> = values.iter().map(Vec::as_slice).collect();
        let points: Vec<Fp> = (1..=servers as u64).map(Fp::new).collect();
        let at = |point: &Fp| combine(&ntt::powers(*point, corrupt + 1), &rows);
        let vectors = points.iter().map(at).collect();
        Told { points, corrupt, values, vectors }
    }

    /// What the vectors of these servers say.
    ///
    /// # Panics
    /// If fewer than 2t + 1 agree.
    fn decode(&self, servers: std::ops::Range<usize>, tape: &mut Tape) -> Vec<Vec<Fp>> {
        let points = &self.points[servers.clone()];
        let vectors: Vec<&[Fp]> = self.vectors[servers].iter().map(Vec::as_slice).collect();
        let agree = who_agrees(points, &vectors, self.corrupt, tape).expect("2t + 1 are right");
        let base = &agree[..=self.corrupt];
        let points: Vec<Fp> = base.iter().map(|&place| points[place]).collect();
        let vectors: Vec<&[Fp]> = base.iter().map(|&place| vectors[place]).collect();
        coefficients(&points).iter().map(|row| combine(row, &vectors)).collect()
    }
}

/// Measures both ways to decode so many values among so many servers.
pub(super) fn measure(servers: usize, values: usize, runs: u32, units: &Units) -> [Part; 2] {
    let mut tape = Tape::new(&Secret::new([1; 32]));
    let mut told = Told::new(servers, values, &mut tape);
    let agreeing = 2 * told.corrupt + 1;
    let honest = one(&told, "decoding", 0..agreeing, runs, units, &mut tape);
    for vector in told.vectors.iter_mut().step_by(3).take(told.corrupt) {
        vector.iter_mut().for_each(|value| *value += Fp::ONE);
    }
    let wrong = one(&told, "decoding, t are wrong", 0..servers, runs, units, &mut tape);
    [honest, wrong]
}

fn one(
    told: &Told,
    part: &'static str,
    servers: std::ops::Range<usize>,
    runs: u32,
    units: &Units,
    tape: &mut Tape,
) -> Part {
    let timed = (0..runs).map(|_| {
        let begun = processor::seconds_of_thread();
        let mut found = Vec::new();
        let seconds = time(|| found = black_box(told.decode(servers.clone(), tape)));
        let cpu = processor::seconds_of_thread() - begun;
        assert!(found == told.values, "what was told is decoded");
        (seconds, cpu)
    });
    let timed = timed.collect();
    // A combination in F_p² of each vector, and t + 1 products a value.
    let length = told.vectors[0].len();
    let t = told.corrupt;
    let products = length * (2 * servers.len() + (t + 1) * (t + 1));
    let limit = products as f64 * units.product * rayon::current_num_threads() as f64;
    Part::new(part, told.points.len(), length * (t + 1), timed, limit)
}
