//! Sealing (Ruffle §5.1.2 with the fixes of `docs/spec/ruffle.md`, "Sealing"): what
//! [`ostrakon_threeparty::seal`] needs to know of Ruffle's submissions, and what follows for them.

use std::borrow::Cow;

use ostrakon_crypto::{Digest, Signature, VerifyingKey};
use ostrakon_threeparty::seal::{Scope, Sealable, Unsealed};

use crate::client::Submission;
use crate::epoch::Unmixed;
use crate::fault::{Fault, Statement};
use crate::messages::EpochSpec;
use crate::slots::{masked_digest, submission_digest_of};

pub use ostrakon_threeparty::seal::{agree, digest, guaranteed, vote};

/// A slot that was given out, as one server knows it.
pub type Slot = ostrakon_threeparty::seal::Slot<Submission>;

/// The agreed submissions.
pub struct Sealed<'a> {
    /// Accepted slots in ascending order, with the digests of their submissions.
    pub slots: Vec<(u32, Digest)>,
    /// The submissions, in the same order.
    pub submissions: Vec<Cow<'a, Submission>>,
    /// All parties' votes, for evidence.
    pub votes: [Statement; 3],
}

/// What an epoch seals.
pub fn scope(spec: &EpochSpec) -> Scope {
    Scope { context: spec.context, width: spec.batch.shape.width }
}

impl Sealable for Submission {
    fn content(&self) -> Digest {
        masked_digest(&self.masked)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn listed(context: &Digest, slot: u32, owner: &VerifyingKey, content: &Digest) -> Digest {
        submission_digest_of(context, slot, &owner.0, content)
    }

    fn is_wide(&self, width: usize) -> bool {
        self.masked.len() == width
    }
}

impl From<Unsealed<Fault>> for Unmixed {
    fn from(unsealed: Unsealed<Fault>) -> Self {
        match unsealed {
            Unsealed::Fault(fault) => Unmixed::Fault(fault),
            Unsealed::Marks(why) => Unmixed::Marks(why),
        }
    }
}
