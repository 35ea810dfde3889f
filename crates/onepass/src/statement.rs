//! What a step states (V3) and commits to, and what is drawn from that: weights and challenges.

use ostrakon_crypto::{Digest, Transcript};

use crate::composition::RowMaps;
use crate::group::Group;
use crate::group::elgamal::Table;
use crate::hashing;
use crate::session::Session;

/// The public side of one step, but for its tables and proofs.
pub(crate) struct Statement<G: Group> {
    /// S.
    pub digest: Digest,
    /// h_i.
    pub key: G::Element,
    /// H′.
    pub remaining: G::Element,
}

/// Where in the session's course a step stands.
pub(crate) struct Place<'a> {
    pub position: usize,
    pub visitor: usize,
    /// hd.
    pub previous: &'a Digest,
    /// T.
    pub trail: &'a Digest,
}

/// The commitments of one branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Commitments<G: Group> {
    /// To the key: zG − eh.
    pub key: G::Element,
    /// To the rerandomisation of first halves: yG − eU.
    pub first: G::Element,
    /// To the second halves: −zW + yH′ − eV.
    pub second: G::Element,
}

impl<G: Group> Commitments<G> {
    pub(crate) fn elements(&self) -> [&G::Element; 3] {
        [&self.key, &self.first, &self.second]
    }
}

impl<G: Group> Statement<G> {
    /// V3: `tables` are the encoded new tables of all ballots.
    pub(crate) fn new(
        session: &Session<G>,
        place: &Place<'_>,
        remaining: G::Element,
        tables: &[u8],
    ) -> Self {
        let key = session.visitors()[place.visitor].public_key();
        let mut transcript = Transcript::new("ostrakon/v1/onepass/step");
        transcript
            .field(&session.binding().0)
            .number(place.position as u64)
            .number(place.visitor as u64);
        transcript.field(&place.previous.0).field(&place.trail.0);
        hashing::elements::<G>(&mut transcript, [&key, &remaining]);
        transcript.field(tables);
        Self { digest: transcript.finish(), key, remaining }
    }

    /// V4: the weights of a ballot's entries.
    pub(crate) fn weights(&self, ballot: usize, entries: usize) -> Vec<G::Scalar> {
        hashing::weights::<G>("ostrakon/v1/onepass/entry weights", &self.digest, ballot, entries)
    }

    /// V6: the challenges of all ballots, from the statement and all commitments.
    pub(crate) fn challenges<'a>(
        &self,
        commitments: impl IntoIterator<Item = &'a [Commitments<G>]>,
    ) -> Vec<G::Scalar> {
        let mut transcript = Transcript::new("ostrakon/v1/onepass/commitments");
        transcript.field(&self.digest.0);
        let mut ballots = 0;
        for ballot in commitments {
            hashing::elements::<G>(&mut transcript, ballot.iter().flat_map(Commitments::elements));
            ballots += 1;
        }
        let digest = transcript.finish();
        (0..ballots)
            .map(|b| hashing::scalar::<G>("ostrakon/v1/onepass/challenge", &digest, b))
            .collect()
    }
}

/// V5: the two tables of a ballot, combined by the weights as if the value were the branch's.
pub(crate) struct Combined<G: Group> {
    /// U.
    pub u: G::Element,
    /// V.
    pub v: G::Element,
    /// W.
    pub w: G::Element,
}

/// V5 for every branch. Everything here is public.
pub(crate) fn combine<G: Group>(
    weights: &[G::Scalar],
    old: &Table<G>,
    new: &Table<G>,
    maps: &RowMaps,
) -> Vec<Combined<G>> {
    let sum = |elements: Vec<G::Element>| G::vartime_multiscalar_mul(weights, &elements);
    let new_u = sum(new.entries.iter().map(|entry| entry.u).collect());
    let new_v = sum(new.entries.iter().map(|entry| entry.v).collect());
    let branch = |map: &[usize]| {
        let old_u = sum(map.iter().map(|&entry| old.entries[entry].u).collect());
        let old_v = sum(map.iter().map(|&entry| old.entries[entry].v).collect());
        Combined { u: new_u - old_u, v: new_v - old_v, w: old_u }
    };
    maps.iter().map(branch).collect()
}
