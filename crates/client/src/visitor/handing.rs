//! How far the handing in of a record is (`docs/spec/visitor.md`, V5).

use ostrakon_decide::SignedRecord;

use super::making::Making;
use super::request::Answer;
use crate::pauses::Errand;
use crate::refusal::Refusal;
use crate::time::Millis;

/// What a server said to a record.
pub enum Verdict {
    Taken,
    /// Another record came first, or the date has passed.
    Overtaken,
    Refused(Refusal),
    /// It passes by itself.
    Silent,
}

impl Verdict {
    pub fn of(answer: Answer) -> Self {
        match answer {
            Answer::Taken => Self::Taken,
            Answer::Refused(refusal) if refusal.is_overtaken() => Self::Overtaken,
            Answer::Refused(refusal) if !refusal.passes() => Self::Refused(refusal),
            _ => Self::Silent,
        }
    }
}

/// How far a deed is.
pub enum Stage {
    /// It is read what there is, in a look that begins after this one.
    Reading(u64),
    /// A one-time key is made.
    Making(Box<Making>),
    /// The answers are fixed and written down.
    Fixing,
    /// The first server has the record.
    First,
    /// It is looked whether the chain goes on after this many records, so many times more, in looks
    /// that begin after this one.
    Watching { length: u32, left: u32, after: u64, first: Verdict },
    /// The others have it; so many are still to answer, and are not waited for after that time.
    Others { open: usize, first: Verdict, said: Vec<Verdict>, until: Option<Millis> },
    /// It is tried again after a pause.
    Again,
}

/// The handing in of one deed.
pub struct Handing {
    /// Which request's answers are waited for.
    pub number: u64,
    pub stage: Stage,
    pub attempts: u32,
    pub pause: Errand,
    /// What was handed in last: the same bytes as long as it can be the next record.
    pub record: Option<SignedRecord>,
}
