//! What keeps a draft from being a decision.

use serde::{Deserialize, Serialize};

/// What a limit is about that a draft breaks. A front end has a sentence of its own for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flaw {
    /// Nothing is asked.
    Question,
    /// A text is too long: the question, a name, an option or a label.
    Long,
    /// No such number of servers can stand in.
    Threshold,
    /// Too few ballots, or too many.
    Ballots,
    /// Ballots that nobody can tell apart.
    Labels,
    /// Too few people, or too many.
    People,
    /// People without names, or that nobody can tell apart.
    Names,
    /// Two people with one account, or one invitation.
    Seats,
    /// The number that must answer tells too much, or is more than there are.
    Quorum,
    /// The time to accept by has passed, or is not before the deadline.
    AcceptBy,
    /// The deadline has passed, or is too far.
    Deadline,
    /// Too few options, too many, or such as nobody can tell apart.
    Options,
    /// What is assumed of who stays away is none of the options.
    Assumed,
    /// The function is one of another number of options.
    Function,
    /// Of “at least k” the number is none of people.
    Enough,
    /// A custom table is not as long as people and options make it.
    Table,
    /// It is too much to be answered in one visit.
    Large,
}

/// A draft that breaks a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct InvalidDraft {
    /// What the limit is about.
    pub flaw: Flaw,
    /// Names it, and says what may be done.
    pub sentence: String,
}

impl InvalidDraft {
    /// With the sentence that names the limit.
    pub fn new(flaw: Flaw, sentence: impl Into<String>) -> Self {
        Self { flaw, sentence: sentence.into() }
    }
}
