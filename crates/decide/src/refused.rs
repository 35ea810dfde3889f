//! Why a record, an opening or an archive is refused: sentences that name the record and the
//! person.

use ostrakon_onepass::StepFault;

use crate::draft::flaw::InvalidDraft;
use crate::keys::InvalidKey;

/// Why something is refused. Records are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Another record has this place.
    #[error("another record came first: read on and try again (the next number is {next})")]
    NotNext {
        /// The number of the next record.
        next: u32,
    },
    /// Not a record.
    #[error("this is no record of a decision: it is malformed or too long")]
    Form,
    /// Another decision's, or of other servers.
    #[error("record {number} is of another decision or of other servers")]
    Decision {
        /// The record's number.
        number: u32,
    },
    /// Not signed by its author.
    #[error(
        "record {number} is not signed by the author that it names: whoever showed it has changed it"
    )]
    Signature {
        /// The record's number.
        number: u32,
    },
    /// The draft breaks a limit.
    #[error(transparent)]
    Draft(#[from] InvalidDraft),
    /// Against the rules at its place.
    #[error("record {number} is against the rules: {reason}")]
    Rule {
        /// The record's number.
        number: u32,
        /// What is wrong.
        reason: String,
    },
    /// A key in it is not as it must be.
    #[error("record {number}, {whose}: {error}")]
    Key {
        /// The record's number.
        number: u32,
        /// Whose key.
        whose: String,
        /// What is wrong with it.
        error: InvalidKey,
    },
    /// A step does not hold.
    #[error("the step in record {number}, which “{name}” signed, is wrong: {fault}")]
    Step {
        /// The record's number.
        number: u32,
        /// The person.
        person: u16,
        /// The person's name.
        name: String,
        /// What is wrong.
        fault: StepFault,
    },
    /// The device has seen a longer chain.
    #[error(
        "the server shows {shown} records, but this device has seen {seen} before: ask another server, for this one is behind or hides records"
    )]
    Shorter {
        /// What is shown.
        shown: u32,
        /// What was seen.
        seen: u32,
    },
    /// The device has seen another record at this place.
    #[error(
        "record {number} is another one than this device has seen before: the servers show different people different histories. Do not answer; tell the others"
    )]
    Forked {
        /// The record's number.
        number: u32,
    },
    /// The device cannot do what was asked.
    #[error("{0}")]
    Device(String),
    /// A server's opening does not hold.
    #[error("the opening of server {party} is wrong: {reason}")]
    Opening {
        /// The server.
        party: u8,
        /// What is wrong.
        reason: String,
    },
    /// There is no result yet, or none at all.
    #[error("there is no result: {0}")]
    NoResult(String),
    /// Not a receipt that proves anything.
    #[error("the receipt proves nothing: {0}")]
    Receipt(String),
    /// An archive of a release with another format.
    #[error(
        "the archive is of another version ({0}): read it with the release that wrote it, or save the records again"
    )]
    Version(String),
    /// Not an archive, or an altered one.
    #[error("the archive is refused: {0}")]
    Archive(String),
}

impl Refused {
    /// Whether reading on and trying again can help.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Refused::NotNext { .. })
    }
}
