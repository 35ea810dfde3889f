//! What the host of a room does, as a log that everybody can check.
//!
//! A room's descriptor may name a *host*, a key. The host, and the co-hosts that it names, act by
//! signed *actions*: they hide, pin, answer, group and erase messages, ask polls, admit members,
//! close the room. The actions of a room form a chain, the **host log**: each has a number and the
//! digest of the one before. So a server can withhold the end of the log, but it can neither invent
//! nor reorder nor leave out an action in the middle, and whoever compares two heads knows whether
//! two people saw the same.
//!
//! [`HostLog::apply`] is the one rule by which servers accept an action and by which pages believe
//! it. The servers put the actions of a room into one order (the scheduler's); an action that was
//! made for a place that another one has taken meanwhile is refused, and its author looks again.
//!
//! In a room of members the log also holds *claims*: a device that opens an invitation's link
//! enters a key of its own, and that key takes part ([`Claim`]). So the link's key, which the host
//! knows, is good for nothing but being claimed once.
//!
//! What the host cannot do: learn who wrote what, change or invent a message, count a vote twice,
//! or hide that something was hidden. Marks are shown beside the board, which they do not change;
//! erasing leaves the digest.

mod action;
mod claim;
mod log;
mod members;
mod message;
mod poll;
mod refused;

pub use action::{Action, Deed, KEYS_AT_ONCE, LABEL_BYTES, SignedAction};
pub use claim::Claim;
pub use log::{Host, HostLog, MOST_ACTIONS, MOST_BYTES, Marks, PollState};
pub use members::{Invitation, MOST_MEMBERS};
pub use message::MessageId;
pub use poll::{
    Answer, HIGHEST, InvalidAnswer, OPTION_BYTES, OPTIONS, Poll, PollForm, QUESTION_BYTES, TARGETS,
    Tally, is_ballot, tally,
};
pub use refused::{InvalidDeed, MostActions, Refused};
