//! Verifiers that are unsound and pass every honest step, each with the forgery that it would
//! accept: one random weight for all equations of a branch, a statement without the trail, one
//! challenge for all ballots.

use super::world::{World, binary, head};
use crate::fault::StepFault;
use crate::group::Group;
use crate::group::elgamal::{Ciphertext, Table};
use crate::layer::Layer;
use crate::proofs::disjunction::StepProof;
use crate::statement::{Combined, Commitments, Statement, combine};
use crate::step::{Step, encode_tables};
use crate::{Helpers, History, Ristretto};

type Element = <Ristretto as Group>::Element;
type Scalar = <Ristretto as Group>::Scalar;

/// What a commitment of the true branch is moved by, for key, first and second halves.
type Skew = [Scalar; 3];

/// A ballot's proof by hand before its challenge is known.
struct Ballot {
    commitments: Vec<Commitments<Ristretto>>,
    /// Challenge and answers of the branch that is simulated.
    simulated: [Scalar; 3],
    /// z and y of the true branch, with challenge zero.
    nonces: [Scalar; 2],
    /// s, weighted.
    s: Scalar,
}

/// The last of two visitors, of two binary ballots: one new entry each.
struct Last {
    world: World<Ristretto>,
    history: History<Ristretto>,
}

impl Last {
    fn new(seed: u64) -> Self {
        let ballots = vec![binary(2, |ones| u32::from(ones == 2)), binary(2, |ones| ones as u32)];
        let mut world = World::new(seed, 2, Helpers::none(), ballots);
        let start = world.start();
        let history = world.walk(start, 0, &[0, 1]);
        Self { world, history }
    }

    fn random(&mut self) -> Scalar {
        Ristretto::random_scalar(&mut self.world.rng)
    }

    fn alpha(&self) -> Scalar {
        *self.world.key(Layer::Visitor(1)).secret()
    }

    /// New tables of value 0 in both ballots, and by how much they are rerandomised.
    fn tables(&mut self) -> (Vec<Table<Ristretto>>, Vec<Scalar>) {
        let alpha = self.alpha();
        let remaining = self.history.layers() - self.world.session.visitors()[1].public_key();
        let old = self.history.tables();
        let s = vec![self.random(), self.random()];
        let entry = |(table, s): (&Table<Ristretto>, &Scalar)| {
            let Ciphertext { u, v } = table.entries[0];
            let entry =
                Ciphertext { u: u + Ristretto::mul_base(s), v: v - u * alpha + remaining * *s };
            Table { entries: vec![entry] }
        };
        (old.iter().zip(&s).map(entry).collect(), s)
    }

    /// Commits by hand; `true_skew` moves the commitments of the true branch.
    fn commit(
        &mut self,
        statement: &Statement<Ristretto>,
        branches: &[Combined<Ristretto>],
        s: Scalar,
        true_skew: Skew,
    ) -> Ballot {
        let key = self.world.session.visitors()[1].public_key();
        let [nz, ny] = [self.random(), self.random()];
        let simulated = [self.random(), self.random(), self.random()];
        let [e, z, y] = simulated;
        let moved = |commitment: Element, by: Scalar| commitment + Ristretto::mul_base(&by);
        let w = branches[0].w;
        let own = Commitments {
            key: moved(Ristretto::mul_base(&nz), true_skew[0]),
            first: moved(Ristretto::mul_base(&ny), true_skew[1]),
            second: moved(statement.remaining * ny - w * nz, true_skew[2]),
        };
        let other = &branches[1];
        let fake = Commitments {
            key: Ristretto::mul_base(&z) - key * e,
            first: Ristretto::mul_base(&y) - other.u * e,
            second: statement.remaining * y - other.w * z - other.v * e,
        };
        Ballot { commitments: vec![own, fake], simulated, nonces: [nz, ny], s }
    }

    /// A step by hand: with commitments moved in the first ballot, and answers to the challenges
    /// that `heard` makes of the right ones. Whether it is accepted.
    fn accepted(&mut self, skew: Skew, heard: impl Fn(&[Scalar]) -> Vec<Scalar>) -> bool {
        let (tables, s) = self.tables();
        let history = self.history.clone();
        let statement = history.statement(1, &head(&history), &encode_tables(&tables));
        let zero = Ristretto::scalar(0);
        let mut ballots = Vec::new();
        for (ballot, (table, s)) in tables.iter().zip(s).enumerate() {
            let weights = statement.weights(ballot, 1);
            let maps = &history.maps()[ballot];
            let branches = combine(&weights, &history.tables()[ballot], table, maps);
            let skew = if ballot == 0 { skew } else { [zero; 3] };
            ballots.push(self.commit(&statement, &branches, weights[0] * s, skew));
        }
        let totals = statement.challenges(ballots.iter().map(|one| one.commitments.as_slice()));
        let alpha = self.alpha();
        let prove = |(ballot, total): (Ballot, Scalar)| {
            let [e1, z1, y1] = ballot.simulated;
            let e0 = total - e1;
            let [nz, ny] = ballot.nonces;
            StepProof {
                commitments: ballot.commitments,
                challenges: vec![e0],
                responses: vec![(nz + e0 * alpha, ny + e0 * ballot.s), (z1, y1)],
            }
        };
        let proofs = ballots.into_iter().zip(heard(&totals)).map(prove).collect();
        let step = Step { tables, proofs }.to_bytes();
        let verified = self.world.verify(history.clone(), 1, &head(&history), &step);
        match verified {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.fault, StepFault::Proof);
                false
            }
        }
    }
}

/// attacks.md 4.16: one random weight for all equations of a branch lets their errors cancel.
#[test]
fn equations_whose_errors_cancel_are_each_refused() {
    let mut last = Last::new(41);
    let (zero, d) = (Ristretto::scalar(0), last.random());
    let right = |totals: &[Scalar]| totals.to_vec();
    assert!(last.accepted([zero; 3], right), "made by hand, it is an honest step");
    for skew in [[d, -d, zero], [d, zero, -d], [zero, d, -d], [d, d, -d - d]] {
        assert!(!last.accepted(skew, right), "the errors of the branch add up to nothing");
    }
    assert!(!last.accepted([d, zero, zero], right), "and one error alone");
}

/// A proof that answers the first ballot's challenge in every ballot.
#[test]
fn each_ballot_answers_a_challenge_of_its_own() {
    let mut last = Last::new(42);
    let zero = Ristretto::scalar(0);
    assert!(last.accepted([zero; 3], |totals| totals.to_vec()));
    assert!(!last.accepted([zero; 3], |totals| vec![totals[0]; 2]), "one challenge for both");
    assert!(!last.accepted([zero; 3], |totals| vec![totals[1], totals[0]]), "the other's");
}

/// The same tables may come out of two courses: a step belongs to one of them.
#[test]
fn a_step_after_the_same_tables_and_another_course_is_refused() {
    let mut last = Last::new(43);
    let history = last.history.clone();
    let before = Step { tables: history.tables().to_vec(), proofs: Vec::new() };
    let tables = encode_tables(&before.tables);
    let start = last.world.start();
    let first = last.world.visit(&start, 0, &[0, 1]).to_bytes();
    // Whoever resumes from these bytes has these tables, whatever came before them.
    let bytes = [&tables[..], &first[tables.len()..]].concat();
    let resumed = |trail| {
        History::resume(last.world.session.clone(), vec![0], trail, &bytes).expect("well formed")
    };
    let (same, mut other) = (resumed(*history.trail()), *history.trail());
    other.0[0] ^= 1;
    let other = resumed(other);
    let previous = head(&history);
    let step = last.world.visit(&history, 1, &[1, 1]).to_bytes();
    assert!(last.world.verify(same, 1, &previous, &step).is_ok());
    let refused =
        last.world.verify(other, 1, &previous, &step).map(drop).expect_err("another course");
    assert_eq!(refused.fault, StepFault::Proof);
}
