//! What a host's machine has others do, and how a deed gets on.

use ostrakon_broadcast::hosting::{Refused, SignedAction};
use ostrakon_party::PartyId;

use super::request::Request;
use crate::refusal::Refusal;

/// The server that puts all actions of hosts, and all claims, into one order.
pub const SCHEDULER: PartyId = PartyId(0);

/// What a front end is to do.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Send this. What comes of it is told by [`Host::replied`](super::Host::replied).
    Ask(Request),
    /// Say what is to be done now, seen what the host log has become; then
    /// [`Host::decided`](super::Host::decided).
    Decide {
        /// The deed's number.
        deed: u64,
    },
    /// Write this down, in place of what was written down for this room before, since it may be
    /// done though nothing says so; then [`Host::kept`](super::Host::kept).
    Keep(Box<SignedAction>),
    /// Tell the user.
    Tell(News),
}

/// Why something is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The host log does not take it, so it was not sent.
    Declined(Refused),
    /// The first server refuses.
    Server(Refusal),
    /// The first server does not answer, or says that something came first and nobody shows that.
    /// It may be done all the same.
    Unknown(Option<Refusal>),
    /// Others' actions always came first.
    Busy,
    /// What an earlier run has left was not done, since another action has its place.
    Overtaken,
    /// It cannot be written down.
    NotKept,
    /// No server shows the host log.
    Unshown,
    /// The front end does not want it any more.
    GivenUp,
}

/// How a deed gets on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// It is in the host log.
    Taken {
        /// The deed's number.
        deed: u64,
        /// The number of the action.
        number: u64,
    },
    /// It is given up.
    Failed {
        /// The deed's number.
        deed: u64,
        /// Why.
        failure: Failure,
    },
    /// The first server does not say that it was done, nor why not. It is looked whether it was.
    Unanswered {
        /// The deed's number.
        deed: u64,
        /// What it says, if anything.
        said: Option<Refusal>,
    },
    /// No server shows the host log; it is looked again.
    Unshown,
    /// A server shows a host log that does not hold.
    Forged {
        /// The server.
        party: PartyId,
        /// What is wrong with it.
        why: String,
    },
}
