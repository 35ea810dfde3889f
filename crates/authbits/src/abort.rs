//! Why a run stopped.

use std::fmt;

use ostrakon_party::PartyId;

/// Why a run stopped. After any of these its material is burnt.
///
/// A named party has sent the message that shows it, over an authentic channel; that is certain for
/// whoever reads this, and no evidence for a third person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abort {
    /// A message has another length than its step has.
    Length(PartyId),
    /// A message is not the canonical encoding of anything.
    Malformed(PartyId),
    /// A tree's leaves are not what its owner stated (step 2).
    Trees(PartyId),
    /// Columns are not correlated by one string of bits (step 5).
    Correlation(PartyId),
    /// A party opened something else than it had committed to.
    Commitment(PartyId),
    /// A party has heard something else than this one. Either may be at fault, or a third.
    View(PartyId),
    /// A MAC check failed; nobody can tell whose fault it is.
    MacCheck,
    /// A peer says that it has stopped.
    Stopped(PartyId),
}

impl Abort {
    /// Why, with the parties under the names that `name` gives them.
    pub fn sentence(&self, name: impl Fn(PartyId) -> String) -> String {
        let (party, what) = match *self {
            Self::Length(party) => (party, "sent a message of a wrong length"),
            Self::Malformed(party) => (party, "sent a message that means nothing"),
            Self::Trees(party) => (party, "made keys that are not consistent"),
            Self::Correlation(party) => (party, "made correlated bits that are not consistent"),
            Self::Commitment(party) => (party, "opened another value than it had committed to"),
            Self::View(party) => (party, "and this server were told different things"),
            Self::MacCheck => return "a MAC check failed".to_owned(),
            Self::Stopped(party) => (party, "has stopped"),
        };
        format!("{} {what}", name(party))
    }
}

impl fmt::Display for Abort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence(|party| party.to_string()))
    }
}

impl std::error::Error for Abort {}

/// What a call on a segment came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The computation stopped, and the segment is burnt.
    #[error(transparent)]
    Aborted(#[from] Abort),
    /// An earlier call failed or was broken off: the segment's key counts as known.
    #[error("the segment is burnt")]
    Burnt,
    /// Shares of another key. Only an import brings bits from one key to another.
    #[error("the shares belong to another key")]
    ForeignKey,
    /// The other segment belongs to another party, session or committee.
    #[error("the segments belong to different committees")]
    OtherCommittee,
    /// The segment has fewer triples than the circuit has AND gates.
    #[error("the circuit needs {needed} triples, the segment has {left}")]
    Exhausted {
        /// AND gates.
        needed: usize,
        /// Triples left.
        left: usize,
    },
    /// A circuit is given another number of inputs than it has.
    #[error("the circuit has another number of inputs")]
    Inputs,
}
