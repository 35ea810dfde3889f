//! The messages of the servers' logs, and of what they say about epochs and boards.

use ostrakon_party::{Instance, InstanceKind, PartyId, Step, Tag};

use crate::state::announcement::LONGEST;

/// Bytes of an encoded signed header at most.
pub(crate) const LONGEST_ECHO: u64 = 512;

/// Steps of the control instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControlStep {
    /// An announcement, from its author.
    Announce = 1,
    /// Its header, from a receiver.
    Echo = 2,
    /// What a server found in an epoch.
    Verdict = 3,
    /// An epoch's entry, for whoever lacks it.
    Entry = 4,
    /// An entry of a board, for a server whose own is damaged.
    Mended = 5,
}

impl ControlStep {
    pub(crate) fn of(self, instance: Instance) -> Tag {
        Tag { instance, step: Step(self as u16), sequence: 0 }
    }
}

/// Bytes of the longest message of a log's step.
pub(crate) fn longest(step: ControlStep) -> Option<u64> {
    match step {
        ControlStep::Announce => Some(LONGEST),
        ControlStep::Echo => Some(LONGEST_ECHO),
        ControlStep::Verdict | ControlStep::Entry | ControlStep::Mended => None,
    }
}

/// The instance of an announcement and its echoes.
pub(crate) fn instance(author: PartyId, number: u64) -> Instance {
    let mut scope = *b"announcements  \0";
    scope[15] = author.0;
    Instance { kind: InstanceKind::Control, scope, number }
}
