//! The name of a field of a report, and the keys that are made of it.

use ostrakon_crypto::{Digest, Secret, Transcript, VerifyingKey};

use super::Field;
use crate::group::Encoded;

/// Names one field of one reporter's report under one scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(Digest);

impl Label {
    pub(crate) fn new(scope: &Digest, reporter: &VerifyingKey, field: Field) -> Self {
        let mut transcript = Transcript::new("ostrakon/v1/stats/label");
        transcript.field(&scope.0).field(&reporter.0).number(field as u64);
        Self(transcript.finish())
    }

    /// K = KDF(L, i, R, Z).
    pub(crate) fn key(&self, member: usize, point: &Encoded, z: &Encoded) -> Secret {
        let fields: [&[u8]; 3] = [&self.0.0, &(member as u64).to_le_bytes(), point];
        Secret::new(*z).derive("ostrakon/v1/stats/share key", &fields)
    }
}
