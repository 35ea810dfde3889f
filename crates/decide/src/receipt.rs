//! What a person keeps to show that the answer was taken.

use ostrakon_crypto::Digest;
use serde::{Deserialize, Serialize};

use crate::draft::DecisionId;

/// Where in which chain a person's answers are. It does not say what they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The decision.
    pub decision: DecisionId,
    /// The digest of the servers.
    pub servers: Digest,
    /// The person's place in the draft.
    pub person: u16,
    /// The number of the record.
    pub number: u32,
    /// The digest of the record.
    pub digest: Digest,
}
