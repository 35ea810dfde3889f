//! Hash commitments: `Com(value; nonce) = H(context, nonce, value)` (Ruffle appendix A).
//!
//! Hiding and binding in the random-oracle model; the nonce has 256 bits.

use serde::{Deserialize, Serialize};

use crate::hash::{Digest, Transcript};

/// A commitment to a byte string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commitment(pub Digest);

/// What opens a [`Commitment`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// 256 random bits, drawn for this commitment alone.
    pub nonce: [u8; 32],
    /// The committed value.
    pub value: Vec<u8>,
}

impl Opening {
    /// The commitment that this opens. `fields` say for what and by whom (instance, step, party), so
    /// that one party cannot repeat another's commitment as its own.
    pub fn commit(&self, context: &'static str, fields: &[&[u8]]) -> Commitment {
        let mut transcript = Transcript::new(context);
        for field in fields {
            transcript.field(field);
        }
        transcript.field(&self.nonce).field(&self.value);
        Commitment(transcript.finish())
    }
}
