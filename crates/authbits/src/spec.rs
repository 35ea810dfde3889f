//! What a segment is made as: its number, its sizes, and how sure it is asked to be.

use ostrakon_crypto::Transcript;
use ostrakon_party::{Instance, InstanceKind};

use crate::params::{self, BadSpec};
use crate::triples::bound;

/// What the parties agree on before they prepare a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentSpec {
    /// Its number, never used twice in a session, also not after a run that broke off:
    /// [`crate::Ticket::take`] sees to it.
    pub number: u64,
    /// ℓ, the triples.
    pub triples: usize,
    /// B, the size of a bucket.
    pub bucket: usize,
    /// The bound that is asked for: a cheater succeeds with at most 2^-security. Less than 40 is
    /// for tests.
    pub security: u32,
}

impl SegmentSpec {
    /// The run's name. The whole specification is part of it.
    pub fn instance(&self) -> Instance {
        let mut transcript = Transcript::new("ostrakon/v1/authbits/segment scope");
        transcript
            .number(self.number)
            .number(self.triples as u64)
            .number(self.bucket as u64)
            .number(u64::from(self.security));
        let scope = transcript.finish().0[..16].try_into().expect("half of 32 bytes");
        Instance { kind: InstanceKind::Batch, scope, number: self.number }
    }

    /// Whether `parties` parties may prepare it.
    ///
    /// # Errors
    /// If a limit is passed, or the bound is worse than asked.
    pub fn validate(&self, parties: usize) -> Result<(), BadSpec> {
        if !(2..=params::MAX_PARTIES).contains(&parties) {
            return Err(BadSpec::Parties);
        }
        let sizes = (1..=params::MAX_TRIPLES).contains(&self.triples)
            && (1..=params::MAX_BUCKET).contains(&self.bucket);
        if !sizes {
            return Err(BadSpec::Size);
        }
        let log2 = bound::segment(parties, self.triples, self.bucket);
        if log2 > -f64::from(self.security) {
            return Err(BadSpec::Bound { asked: self.security, log2 });
        }
        Ok(())
    }

    /// N, the leaky triples.
    pub fn leaky(&self) -> usize {
        self.triples * self.bucket
    }
}
