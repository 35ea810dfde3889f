//! A visitor's step and its wire form (spec, section 7).

use crate::fault::StepFault;
use crate::group::Group;
use crate::group::elgamal::Table;
use crate::params::{CIPHERTEXT_BYTES, proof_bytes};
use crate::proofs::disjunction::StepProof;
use crate::session::Session;

/// The new tables of all ballots, and a proof for each. It says nothing about who made it: the
/// caller's signed record does, and the proofs hold for one visitor only.
#[derive(Clone, PartialEq, Eq)]
pub struct Step<G: Group> {
    pub(crate) tables: Vec<Table<G>>,
    pub(crate) proofs: Vec<StepProof<G>>,
}

impl<G: Group> Step<G> {
    /// Tables, then proofs, each in the order of the ballots. The length is
    /// [`Session::step_bytes`].
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = encode_tables(&self.tables);
        for proof in &self.proofs {
            proof.write(&mut bytes);
        }
        bytes
    }

    /// Reads the step at a place in the order of arrival; it is not verified by that.
    ///
    /// # Errors
    /// If the length is not the one that follows from session and place, or an encoding is not
    /// canonical, or the first half of a ciphertext is the identity.
    pub fn from_bytes(
        session: &Session<G>,
        position: usize,
        bytes: &[u8],
    ) -> Result<Self, StepFault> {
        let expected = session.step_bytes(position);
        if bytes.len() != expected || expected == 0 {
            return Err(StepFault::Length { expected, found: bytes.len() });
        }
        let mut rest = bytes;
        let mut take = |length: usize| {
            let (taken, left) = rest.split_at(length);
            rest = left;
            taken
        };
        let ballots = session.ballots();
        let mut tables = Vec::with_capacity(ballots.len());
        for ballot in 0..ballots.len() {
            tables.push(Table::read(take(
                CIPHERTEXT_BYTES * session.step_entries(position, ballot),
            ))?);
        }
        let mut proofs = Vec::with_capacity(ballots.len());
        for ballot in ballots {
            proofs.push(StepProof::read(ballot.values(), take(proof_bytes(ballot.values())))?);
        }
        Ok(Self { tables, proofs })
    }
}

/// The tables as they stand at the head of a step.
pub(crate) fn encode_tables<G: Group>(tables: &[Table<G>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for table in tables {
        table.write(&mut bytes);
    }
    bytes
}
