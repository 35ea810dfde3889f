//! What a run consists of: phases, in an order that is public beforehand, and their parts.

use crate::committee::Committee;
use crate::opening::{Mode, message_elements};

/// One phase, with everything that fixes who sends how much to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Random sharings of which no member knows the secret: `singles`·(t+1) of degree t, and
    /// `doubles`·(t+1) pairs of one secret in degrees t and 2t (RanSha and RanDouSha).
    Random {
        /// Blocks of t + 1 random sharings.
        singles: usize,
        /// Blocks of t + 1 double sharings.
        doubles: usize,
    },
    /// Each of these positions deals `count` sharings of its own choice; over when all members
    /// have said that they hold all of them.
    Deal {
        /// The dealers' positions, ascending.
        dealers: Vec<usize>,
        /// Sharings that each deals.
        count: usize,
    },
    /// `count` values are opened.
    Open {
        /// How many.
        count: usize,
        /// How shares are believed.
        mode: Mode,
    },
}

/// What a message is for, within its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Part {
    /// Shares that the sender deals to the receiver.
    Deal = 0,
    /// Shares of sharings that the receiver checks.
    Check = 1,
    /// That all dealings of the phase have come.
    Acknowledge = 2,
    /// Shares of what the receiver is to open: the first hop of an opening.
    Encode = 3,
    /// What the sender has opened: the second hop.
    Tell = 4,
}

impl Phase {
    /// How many elements the message of a part has; `None` if there is no such message.
    pub(crate) fn expected(
        &self,
        committee: &Committee,
        part: Part,
        from: usize,
        to: usize,
    ) -> Option<usize> {
        match (self, part) {
            (Phase::Random { singles, doubles }, Part::Deal) => Some(singles + 2 * doubles),
            (Phase::Random { singles, doubles }, Part::Check) => {
                (to > committee.corrupt()).then_some(singles + 2 * doubles)
            }
            (Phase::Deal { dealers, count }, Part::Deal) => {
                dealers.contains(&from).then_some(*count)
            }
            (Phase::Deal { .. }, Part::Acknowledge) => Some(0),
            (Phase::Open { count, .. }, Part::Encode | Part::Tell) => {
                Some(message_elements(committee, *count))
            }
            _ => None,
        }
    }

    pub(crate) fn longest(&self, committee: &Committee) -> usize {
        match self {
            Phase::Random { singles, doubles } => singles + 2 * doubles,
            Phase::Deal { count, .. } => *count,
            Phase::Open { count, .. } => message_elements(committee, *count),
        }
    }

    /// Whether wrong shares in the phase are corrected, so that the right ones convict a liar.
    pub(crate) fn is_robust(&self) -> bool {
        matches!(self, Phase::Open { mode: Mode::Robust, .. })
    }
}
