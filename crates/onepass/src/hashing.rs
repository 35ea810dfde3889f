//! Every hash of the protocol: a tagged transcript, and what is drawn from its digest.

use ostrakon_crypto::{Digest, Secret, Transcript};

use crate::group::Group;

/// `out.len()` bytes that the digest of a transcript determines, for one purpose and place.
fn expand(label: &'static str, digest: &Digest, place: usize, out: &mut [u8]) {
    Secret::new(digest.0).fill(label, &[&(place as u64).to_le_bytes()], out);
}

/// A scalar drawn from a digest.
pub(crate) fn scalar<G: Group>(label: &'static str, digest: &Digest, place: usize) -> G::Scalar {
    let mut bytes = [0; 64];
    expand(label, digest, place, &mut bytes);
    G::scalar_from_uniform(&bytes)
}

/// An element drawn from a digest; nobody knows its logarithm.
pub(crate) fn element<G: Group>(label: &'static str, digest: &Digest, place: usize) -> G::Element {
    let mut bytes = [0; 64];
    expand(label, digest, place, &mut bytes);
    G::element_from_uniform(&bytes)
}

/// Integers of [`crate::params::WEIGHT_BITS`] bits drawn from a digest.
pub(crate) fn weights<G: Group>(
    label: &'static str,
    digest: &Digest,
    place: usize,
    count: usize,
) -> Vec<G::Scalar> {
    const BYTES: usize = crate::params::WEIGHT_BITS / 8;
    let mut bytes = vec![0; BYTES * count];
    expand(label, digest, place, &mut bytes);
    let chunks = bytes.as_chunks::<BYTES>().0;
    chunks.iter().map(|chunk| G::scalar(u128::from_le_bytes(*chunk))).collect()
}

/// Adds elements to a transcript, as one field.
pub(crate) fn elements<'a, G: Group>(
    transcript: &mut Transcript,
    elements: impl IntoIterator<Item = &'a G::Element>,
) {
    let bytes: Vec<u8> = elements.into_iter().flat_map(G::encode).collect();
    transcript.field(&bytes);
}
