//! The proof of a step (V6): for each ballot an OR over its values, of constant size.
//!
//! Cramer, Damgård, Schoenmakers: *Proofs of Partial Knowledge*, CRYPTO 1994. In the branch of the
//! own value the prover knows (α, s) with h = αG, U = sG, V = −αW + sH′; the other branches are
//! simulated. All branches are computed alike.

use rand_core::CryptoRng;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::{Zeroize, Zeroizing};

use crate::fault::StepFault;
use crate::group::Group;
use crate::params::{ELEMENT_BYTES, proof_bytes};
use crate::statement::{Combined, Commitments, Statement};

/// The proof for one ballot.
#[derive(Clone, PartialEq, Eq)]
pub struct StepProof<G: Group> {
    /// One for each value.
    pub(crate) commitments: Vec<Commitments<G>>,
    /// One for each value but the last.
    pub(crate) challenges: Vec<G::Scalar>,
    /// (z, y) for each value.
    pub(crate) responses: Vec<(G::Scalar, G::Scalar)>,
}

impl<G: Group> StepProof<G> {
    /// H2: the challenges of all branches, the last of which is what the others leave of `total`.
    pub(crate) fn branch_challenges(&self, total: &G::Scalar) -> Vec<G::Scalar> {
        let last = self.challenges.iter().fold(*total, |left, challenge| left - *challenge);
        self.challenges.iter().copied().chain([last]).collect()
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.commitments.iter().flat_map(Commitments::elements).flat_map(G::encode));
        out.extend(self.challenges.iter().flat_map(G::encode_scalar));
        out.extend(self.responses.iter().flat_map(|(z, y)| [z, y]).flat_map(G::encode_scalar));
    }

    /// Reads a proof over `values` values from exactly its [`proof_bytes`].
    pub(crate) fn read(values: u16, bytes: &[u8]) -> Result<Self, StepFault> {
        debug_assert_eq!(bytes.len(), proof_bytes(values), "the caller has compared the length");
        let values = usize::from(values);
        let fields = bytes.as_chunks::<ELEMENT_BYTES>().0;
        let (elements, scalars) = fields.split_at(3 * values);
        let (challenges, responses) = scalars.split_at(values - 1);
        let element = |bytes: &[u8; ELEMENT_BYTES]| G::decode(bytes).ok_or(StepFault::Point);
        let scalar = |bytes: &[u8; ELEMENT_BYTES]| G::decode_scalar(bytes).ok_or(StepFault::Scalar);
        let commitments = |[key, first, second]: &[[u8; ELEMENT_BYTES]; 3]| {
            Ok(Commitments { key: element(key)?, first: element(first)?, second: element(second)? })
        };
        Ok(Self {
            commitments: elements
                .as_chunks()
                .0
                .iter()
                .map(commitments)
                .collect::<Result<_, _>>()?,
            challenges: challenges.iter().map(scalar).collect::<Result<_, _>>()?,
            responses: responses
                .as_chunks()
                .0
                .iter()
                .map(|[z, y]| Ok((scalar(z)?, scalar(y)?)))
                .collect::<Result<_, _>>()?,
        })
    }
}

/// What the prover knows of one ballot: s = Σ γ_j s_j for the rows of its value.
pub(crate) struct Witness<G: Group> {
    pub choice: u16,
    pub s: G::Scalar,
}

impl<G: Group> Drop for Witness<G> {
    fn drop(&mut self) {
        self.choice.zeroize();
        self.s.zeroize();
    }
}

/// A ballot's proof before the challenge is known.
struct Committed<G: Group> {
    commitments: Vec<Commitments<G>>,
    /// Zero in the own branch.
    challenges: Zeroizing<Vec<G::Scalar>>,
    z: Zeroizing<Vec<G::Scalar>>,
    y: Zeroizing<Vec<G::Scalar>>,
}

/// Whether a branch is the one of the choice.
fn own(branch: usize, choice: u16) -> Choice {
    (branch as u64).ct_eq(&u64::from(choice))
}

/// Simulates every branch; with challenge zero a simulation is a commitment to z and y.
fn commit<G: Group>(
    statement: &Statement<G>,
    branches: &[Combined<G>],
    choice: u16,
    rng: &mut impl CryptoRng,
) -> Committed<G> {
    let mut committed = Committed {
        commitments: Vec::with_capacity(branches.len()),
        challenges: Zeroizing::new(Vec::with_capacity(branches.len())),
        z: Zeroizing::new(Vec::with_capacity(branches.len())),
        y: Zeroizing::new(Vec::with_capacity(branches.len())),
    };
    for (branch, combined) in branches.iter().enumerate() {
        let (e, z, y) = (G::random_scalar(rng), G::random_scalar(rng), G::random_scalar(rng));
        let e = G::Scalar::conditional_select(&e, &G::scalar(0), own(branch, choice));
        let Combined { u, v, w } = combined;
        committed.commitments.push(Commitments {
            key: G::mul_base(&z) + G::multiscalar_mul(&[-e], &[statement.key]),
            first: G::mul_base(&y) + G::multiscalar_mul(&[-e], &[*u]),
            second: G::multiscalar_mul(&[-z, y, -e], &[*w, statement.remaining, *v]),
        });
        committed.challenges.push(e);
        committed.z.push(z);
        committed.y.push(y);
    }
    committed
}

/// Gives the own branch the challenge that the others leave of `total`, and answers it.
fn respond<G: Group>(
    mut committed: Committed<G>,
    total: &G::Scalar,
    alpha: &G::Scalar,
    witness: &Witness<G>,
) -> StepProof<G> {
    let left = committed.challenges.iter().fold(*total, |left, challenge| left - *challenge);
    let zero = G::scalar(0);
    for branch in 0..committed.challenges.len() {
        let e = G::Scalar::conditional_select(&zero, &left, own(branch, witness.choice));
        committed.challenges[branch] = committed.challenges[branch] + e;
        committed.z[branch] = committed.z[branch] + e * *alpha;
        committed.y[branch] = committed.y[branch] + e * witness.s;
    }
    let responses = committed.z.iter().copied().zip(committed.y.iter().copied()).collect();
    let challenges = committed.challenges[..committed.challenges.len() - 1].to_vec();
    StepProof { commitments: committed.commitments, challenges, responses }
}

/// V6: proves all ballots of a step. `branches` are the combined tables of each ballot, `witnesses`
/// what is known of it.
pub(crate) fn prove<G: Group>(
    statement: &Statement<G>,
    branches: &[Vec<Combined<G>>],
    alpha: &G::Scalar,
    witnesses: &[Witness<G>],
    rng: &mut impl CryptoRng,
) -> Vec<StepProof<G>> {
    let commit = |(branches, witness): (&Vec<Combined<G>>, &Witness<G>)| {
        commit(statement, branches, witness.choice, rng)
    };
    let committed: Vec<Committed<G>> = branches.iter().zip(witnesses).map(commit).collect();
    let totals =
        statement.challenges(committed.iter().map(|committed| committed.commitments.as_slice()));
    let respond = |((committed, total), witness)| respond(committed, total, alpha, witness);
    committed.into_iter().zip(&totals).zip(witnesses).map(respond).collect()
}
