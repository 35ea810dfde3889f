//! What can be wrong, and whose fault it is.

use thiserror::Error;

use crate::layer::Layer;
use crate::params::{MAX_ENTRIES, MAX_HELPERS, MAX_OPERATORS, MAX_STEP_BYTES};

/// Why a session cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SessionError {
    /// There must be somebody to ask.
    #[error("a session has at least one visitor; add one")]
    NoVisitors,
    /// The result must be under somebody's key.
    #[error("a session has 1 to {MAX_OPERATORS} operators, not {0}")]
    Operators(usize),
    /// There must be something to ask.
    #[error("a session has at least one ballot; add one")]
    NoBallots,
    /// One value is no choice.
    #[error("a ballot has at least two values, not {0}")]
    Values(u16),
    /// The table does not have one output for each composition.
    #[error("ballot {ballot} needs a table of {expected} outputs for these visitors, not {found}")]
    TableLength {
        /// The ballot's place.
        ballot: usize,
        /// C(n+c−1, c−1).
        expected: usize,
        /// What was given.
        found: usize,
    },
    /// The tables are too large.
    #[error(
        "the tables have {entries} entries together, more than {MAX_ENTRIES}; ask fewer people, fewer questions or fewer values"
    )]
    TooManyEntries {
        /// How many there would be.
        entries: u64,
    },
    /// The steps are too large.
    #[error(
        "a step would have {bytes} bytes, more than {MAX_STEP_BYTES}; ask fewer questions, people or values"
    )]
    StepTooLong {
        /// How many it would have.
        bytes: u64,
    },
    /// The threshold does not fit the helpers.
    #[error(
        "a threshold is 1 to the number of helpers, of whom there are at most {MAX_HELPERS}; not {threshold} of {count}"
    )]
    Threshold {
        /// The threshold asked for.
        threshold: usize,
        /// The number of helpers.
        count: usize,
    },
    /// A key is shared with another threshold than the session's.
    #[error(
        "the key of {0} has commitments for another threshold; it must be made for this session's helpers"
    )]
    Sharing(Layer),
    /// Two layers have one key.
    #[error("{0} and {1} have the same key; each needs one of its own")]
    SameKey(Layer, Layer),
}

/// Why bytes are no key, share, proof or partial decryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The length is fixed beforehand.
    #[error("{expected} bytes were expected, {found} came")]
    Length {
        /// What it must be.
        expected: usize,
        /// What it is.
        found: usize,
    },
    /// Not the canonical encoding of an element.
    #[error("not a canonical encoding of a group element")]
    Point,
    /// The identity, where it would make the key or ciphertext void.
    #[error("the identity is not allowed here")]
    Identity,
    /// Not the canonical encoding of a scalar.
    #[error("not a canonical encoding of a scalar")]
    Scalar,
}

/// What is wrong with a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum StepFault {
    /// Nobody of that number is in the roster.
    #[error("no such visitor is in the session")]
    UnknownVisitor,
    /// A visitor comes once.
    #[error("the visitor has come before")]
    Repeated,
    /// The length follows from the session and the position.
    #[error("a step at this position has {expected} bytes, not {found}")]
    Length {
        /// What it must be.
        expected: usize,
        /// What it is.
        found: usize,
    },
    /// Not the canonical encoding of an element.
    #[error("it contains what is no canonical encoding of a group element")]
    Point,
    /// u is the identity.
    #[error("it contains a ciphertext whose first half is the identity")]
    Identity,
    /// Not the canonical encoding of a scalar.
    #[error("it contains what is no canonical encoding of a scalar")]
    Scalar,
    /// An entry has the same u as the one that it may come from.
    #[error("entry {entry} of ballot {ballot} was not rerandomised")]
    NotRerandomised {
        /// The ballot's place.
        ballot: usize,
        /// The new entry's place.
        entry: usize,
    },
    /// The proof does not hold: the tables do not come from the former ones by one value in range
    /// and the visitor's key, or the step was made for another session, place or history.
    #[error("its proof does not hold")]
    Proof,
}

/// A step that is refused, by its place in the order of arrival and its visitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("step {position}, of visitor {visitor}: {fault}")]
pub struct HistoryError {
    /// The place in the order of arrival.
    pub position: usize,
    /// Whose step it is.
    pub visitor: usize,
    /// What is wrong with it.
    pub fault: StepFault,
}

/// Why a visitor cannot make its step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum VisitError {
    /// Nobody of that number is in the roster.
    #[error("no such visitor is in the session")]
    UnknownVisitor,
    /// The key is another one than the roster says.
    #[error(
        "the key is not the one that this session has for visitor {0}; use the key that was made for it"
    )]
    WrongKey(usize),
    /// A visitor comes once.
    #[error("visitor {0} has come already")]
    Repeated(usize),
    /// The history is of another session than the visitor's.
    #[error("the history belongs to another session")]
    OtherSession,
    /// One value per ballot.
    #[error("one choice for each of {expected} ballots is needed, not {found}")]
    Choices {
        /// The number of ballots.
        expected: usize,
        /// The number of choices.
        found: usize,
    },
    /// A value beyond the ballot's.
    #[error("the choice in ballot {0} is none of its values")]
    Range(usize),
}

/// Why a history cannot be closed like this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CloseError {
    /// Somebody is named absent who came, or is not in the session, or is named twice.
    #[error("visitor {0} is not absent, or named twice")]
    NotAbsent(usize),
    /// Somebody did not come and is not named.
    #[error("visitor {0} has not come and is not among the absent")]
    NotNamed(usize),
    /// The defaults do not fit the ballots.
    #[error("the default values of visitor {0} do not fit the ballots")]
    Defaults(usize),
    /// Nobody can remove the absentees' layers.
    #[error("visitor {0} has not come and the session has no helpers: everybody must come")]
    NoHelpers(usize),
}

/// Why a partial decryption cannot be made or is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PartialError {
    /// Nobody of that number is in the session.
    #[error("operator {0} is not in the session")]
    UnknownOperator(usize),
    /// Nobody of that number is in the session.
    #[error("helper {0} is not in the session")]
    UnknownHelper(usize),
    /// The key is another one than the session's.
    #[error("the key is not the one that this session has for operator {0}")]
    WrongKey(usize),
    /// A share that does not belong to its commitments.
    #[error("the share of the key of {0} does not fit its commitments")]
    WrongShare(Layer),
    /// The visitor came and removed its layer, or is not in the session.
    #[error("visitor {0} is not absent in this closing: no layer of it is left to the helpers")]
    NotAbsent(usize),
    /// Not one element for each ballot.
    #[error("a partial decryption for {expected} ballots is needed, not for {found}")]
    Length {
        /// The number of ballots.
        expected: usize,
        /// What the partial decryption has.
        found: usize,
    },
    /// The operator's proof does not hold.
    #[error("the partial decryption of operator {0} is wrong")]
    Operator(usize),
    /// The helper's proof does not hold.
    #[error("the partial decryption of helper {0} for {1} is wrong")]
    Helper(usize, Layer),
}

/// Why a closing cannot be opened yet, or at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OpenError {
    /// A contribution to another closing.
    #[error("a contribution belongs to another closing")]
    OtherClosing,
    /// Nobody has removed the operator's layer.
    #[error(
        "the layer of operator {0} is still on the result: it or enough helpers must remove it"
    )]
    Operator(usize),
    /// Too few helpers gave their part for a layer.
    #[error("{needed} helpers have to remove the layer of {layer}, but only {found} did")]
    Helpers {
        /// The layer that is still on the result.
        layer: Layer,
        /// The threshold.
        needed: usize,
        /// How many contributed.
        found: usize,
    },
    /// Nothing matches; cannot happen if everything was verified.
    #[error("the result of ballot {0} is none of its outputs")]
    NoOutput(usize),
}
