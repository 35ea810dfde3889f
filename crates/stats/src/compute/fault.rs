//! Why there is no answer, and who has lied.

use ostrakon_authbits::{Abort, NoTicket, Refused, Unprepared};
use ostrakon_party::PartyId;

/// What a member has done that shows who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Shown a point of a report that is not its own key's. Its message convicts it.
    Opening,
    /// Put in something else than its share of a report.
    Difference,
    /// Shown other masks than it had made.
    Masks,
    /// Opened, or stated, something else in the check than it holds.
    Check,
    /// Signed another list of accepted reports.
    List,
}

/// Why there is no answer. Nothing about a report was revealed, but for a failure in
/// [`Failed::Computation`] after the answer was opened to others.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Failed {
    /// Fewer reports than the question's minimum.
    #[error("{missing} more reports are needed")]
    TooFew {
        /// How many are missing.
        missing: u64,
    },
    /// The question cannot be asked.
    #[error(transparent)]
    Question(#[from] crate::BadQuestion),
    /// The servers of the session are not the committee, or the exchange key is not this member's.
    #[error("the committee of the reports is another one than the servers of this session")]
    Roster,
    /// The reports are of another scope, or not the seal's.
    #[error("the reports are not those of a seal of this question")]
    Reports,
    /// More gates than one segment has triples, or numbers that are too long.
    #[error("the question is too large for so many reports: it takes {0} AND gates")]
    TooLarge(usize),
    /// The segment's number has been used, or cannot be written down.
    #[error(transparent)]
    Ticket(#[from] NoTicket),
    /// Something cannot be written down that must be before it is said.
    #[error("the journal cannot be written: {0}")]
    Journal(String),
    /// Reports that an earlier run has used, which this is not. They can never be computed on
    /// again: their reporters make new ones, for the scope's next number.
    #[error(
        "{} reports were used by a run that broke off, and cannot be used again: ask for new ones",
        .reports.len()
    )]
    Spent {
        /// Their places in the seal.
        reports: Vec<usize>,
    },
    /// The preparation stopped.
    #[error(transparent)]
    Preparation(#[from] Unprepared),
    /// The computation stopped.
    #[error(transparent)]
    Computation(#[from] Refused),
    /// A member has lied, in this server's own sight.
    #[error("{member} has lied ({lie:?}): the run is void, and its reports are spent")]
    Member {
        /// Who.
        member: PartyId,
        /// What.
        lie: Lie,
    },
    /// One of two members has lied.
    #[error("{0} or {1} has lied: the run is void, and its reports are spent")]
    Dispute(PartyId, PartyId),
    /// The journal's keeper lets nothing be opened: the computation was cancelled.
    #[error("it was cancelled before anything was opened")]
    Withheld,
    /// What was opened is not the question's, which is a defect.
    #[error("what was opened cannot be read")]
    Contradiction,
}

impl From<Abort> for Failed {
    fn from(abort: Abort) -> Self {
        Failed::Computation(Refused::Aborted(abort))
    }
}
