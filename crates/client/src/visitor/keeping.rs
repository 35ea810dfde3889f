//! What is to be written down, and was (`docs/spec/visitor.md`, V4).

use ostrakon_decide::{Refused, SignedRecord};

use crate::time::Millis;

#[derive(Default)]
pub enum State {
    /// Nothing is to be written down.
    #[default]
    Idle,
    /// Something is, from this time on.
    Wanted(Millis),
    /// The front end does it.
    Asked,
}

/// What came of a look at the memory.
pub enum Found {
    /// The device has seen more, which one server shows.
    Behind,
    /// The history does not continue what was seen, or the one-time key is used elsewhere.
    Refused(Refused),
    /// It does. With the answers that are on their way, and the record that hands them in, if that
    /// was made.
    Noted(Option<Vec<u8>>, Option<Result<Box<SignedRecord>, Refused>>),
}

/// What is to be written down, and was.
#[derive(Default)]
pub struct Keeping {
    pub state: State,
    /// Whether that is what a look has found.
    pub looked: bool,
    /// Records that were noted.
    pub noted: u32,
    pub pending: Option<Vec<u8>>,
    pub found: Option<Found>,
}

impl Keeping {
    pub fn is_asked(&self) -> bool {
        matches!(self.state, State::Asked)
    }

    pub fn due(&self) -> Option<Millis> {
        match self.state {
            State::Wanted(at) => Some(at),
            _ => None,
        }
    }

    /// Whether a history of this length was noted.
    pub fn has_noted(&self, length: u32) -> bool {
        self.noted == length
    }

    pub fn pending(&self) -> Option<&[u8]> {
        self.pending.as_deref()
    }

    /// What a look has found is to be written down.
    pub fn want(&mut self) {
        self.looked = true;
        self.state = State::Wanted(0);
    }

    /// Something else is: answers that are to be fixed, or can be forgotten.
    pub fn want_more(&mut self) {
        self.state = State::Wanted(0);
    }
}
