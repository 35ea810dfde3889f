//! The equations of many steps (H2) as one linear combination of points (H3).

use rand_core::CryptoRng;

use crate::composition::RowMaps;
use crate::group::Group;
use crate::group::elgamal::Table;
use crate::proofs::disjunction::StepProof;
use crate::session::Session;
use crate::statement::Statement;

/// Where the entries of a ballot's table stand in a combination.
#[derive(Clone, Copy)]
pub(crate) enum Operand {
    /// As points, u and v alternating, from this place on.
    Points(usize),
    /// As the initial table: on the generator, the keys and the encodings of outputs.
    Initial,
}

/// A combination of points that is the identity if all equations hold, and otherwise only with
/// probability 2^-128.
pub(crate) struct Combination<G: Group> {
    scalars: Vec<G::Scalar>,
    points: Vec<G::Element>,
    /// The first place of each ballot's encodings of outputs.
    encodings: Vec<usize>,
}

/// The place of the generator; the visitors' keys follow in the order of the roster, then the
/// operators' key.
const GENERATOR: usize = 0;
const VISITORS: usize = 1;

/// What a step contributes, and the operands that its equations speak of.
pub(crate) struct Equations<'a, G: Group> {
    pub session: &'a Session<G>,
    pub statement: &'a Statement<G>,
    pub visitor: usize,
    /// Who comes later than this step.
    pub remaining: &'a [usize],
    pub proofs: &'a [StepProof<G>],
    pub maps: &'a [RowMaps],
    pub old: &'a [Operand],
    pub new: &'a [Operand],
}

impl<G: Group> Combination<G> {
    /// The empty combination, with places for what all steps of a session share.
    pub(crate) fn new(session: &Session<G>) -> Self {
        let mut combination =
            Self { scalars: Vec::new(), points: Vec::new(), encodings: Vec::new() };
        combination.push(G::generator());
        for key in session.visitors() {
            combination.push(key.public_key());
        }
        combination.push(session.operators_key());
        for ballot in 0..session.ballots().len() {
            combination.encodings.push(combination.points.len());
            for (_, encoding) in session.encodings(ballot) {
                combination.push(*encoding);
            }
        }
        combination
    }

    /// A new point, with scalar zero; returns its place.
    fn push(&mut self, point: G::Element) -> usize {
        self.points.push(point);
        self.scalars.push(G::scalar(0));
        self.points.len() - 1
    }

    fn add(&mut self, place: usize, scalar: G::Scalar) {
        self.scalars[place] = self.scalars[place] + scalar;
    }

    /// The entries of tables as points.
    pub(crate) fn tables(&mut self, tables: &[Table<G>]) -> Vec<Operand> {
        let mut table = |table: &Table<G>| {
            let first = self.points.len();
            for entry in &table.entries {
                self.push(entry.u);
                self.push(entry.v);
            }
            Operand::Points(first)
        };
        tables.iter().map(&mut table).collect()
    }

    /// Whether the combination is the identity. Everything in it is public.
    pub(crate) fn is_identity(&self) -> bool {
        G::vartime_multiscalar_mul(&self.scalars, &self.points) == G::identity()
    }

    /// H3: adds all equations of a step with random weights.
    pub(crate) fn add_step(&mut self, step: &Equations<'_, G>, rng: &mut impl CryptoRng) {
        let totals =
            step.statement.challenges(step.proofs.iter().map(|proof| proof.commitments.as_slice()));
        for (ballot, total) in totals.iter().enumerate() {
            self.add_ballot(step, ballot, total, rng);
        }
    }

    fn add_ballot(
        &mut self,
        step: &Equations<'_, G>,
        ballot: usize,
        total: &G::Scalar,
        rng: &mut impl CryptoRng,
    ) {
        let (proof, maps) = (&step.proofs[ballot], &step.maps[ballot]);
        let gammas = step.statement.weights(ballot, maps.entries());
        let zero = G::scalar(0);
        // Scalars of the old entries' halves, and the sums over branches of those of the new
        // entries'.
        let old_entries = match step.old[ballot] {
            Operand::Initial => step.session.ballots()[ballot].outputs().len(),
            Operand::Points(_) => step.session.step_entries(position_before(step), ballot),
        };
        let (mut old_u, mut old_v) = (vec![zero; old_entries], vec![zero; old_entries]);
        let (mut new_u, mut new_v, mut later) = (zero, zero, zero);
        let challenges = proof.branch_challenges(total);
        for (branch, map) in maps.iter().enumerate() {
            let [key, first, second] =
                [G::random_weight(rng), G::random_weight(rng), G::random_weight(rng)];
            let (e, (z, y), commitments) =
                (challenges[branch], proof.responses[branch], &proof.commitments[branch]);
            // zG = A + eh
            self.add(GENERATOR, key * z);
            self.commitment(commitments.key, key);
            self.add(VISITORS + step.visitor, -(key * e));
            // yG = B + eU
            self.add(GENERATOR, first * y);
            self.commitment(commitments.first, first);
            // −zW + yH′ = C + eV
            self.commitment(commitments.second, second);
            later = later + second * y;
            let (u, v, w) = (first * e, second * e, second * z);
            for (gamma, &entry) in gammas.iter().zip(map) {
                old_u[entry] = old_u[entry] + (u - w) * *gamma;
                old_v[entry] = old_v[entry] + v * *gamma;
            }
            (new_u, new_v) = (new_u - u, new_v - v);
        }
        self.add_layers(step.session, step.remaining, later);
        let scale = |sum: G::Scalar| gammas.iter().map(|gamma| sum * *gamma).collect::<Vec<_>>();
        self.add_table(step, ballot, step.new[ballot], &scale(new_u), &scale(new_v));
        self.add_table(step, ballot, step.old[ballot], &old_u, &old_v);
    }

    fn commitment(&mut self, commitment: G::Element, weight: G::Scalar) {
        let place = self.push(commitment);
        self.add(place, -weight);
    }

    /// Adds a multiple of the sum of the keys that are on a table.
    fn add_layers(&mut self, session: &Session<G>, visitors: &[usize], scalar: G::Scalar) {
        for visitor in visitors {
            self.add(VISITORS + visitor, scalar);
        }
        self.add(VISITORS + session.visitors().len(), scalar);
    }

    fn add_table(
        &mut self,
        step: &Equations<'_, G>,
        ballot: usize,
        operand: Operand,
        u: &[G::Scalar],
        v: &[G::Scalar],
    ) {
        match operand {
            Operand::Points(first) => {
                for (entry, (u, v)) in u.iter().zip(v).enumerate() {
                    self.add(first + 2 * entry, *u);
                    self.add(first + 2 * entry + 1, *v);
                }
            }
            Operand::Initial => {
                let mut layers = G::scalar(0);
                let randomness = step.session.initial_randomness(ballot);
                for (entry, ((u, v), r)) in u.iter().zip(v).zip(&randomness).enumerate() {
                    // u_j = r_j G and v_j = r_j H + X, with H over all layers.
                    self.add(GENERATOR, *u * *r);
                    layers = layers + *v * *r;
                    self.add(
                        self.encodings[ballot] + step.session.initial_output(ballot, entry),
                        *v,
                    );
                }
                let everybody: Vec<usize> = (0..step.session.visitors().len()).collect();
                self.add_layers(step.session, &everybody, layers);
            }
        }
    }
}

/// The place in the order of arrival of the step before this one, which is not the first.
fn position_before<G: Group>(step: &Equations<'_, G>) -> usize {
    step.session.visitors().len() - step.remaining.len() - 2
}
