//! What is done in a visit, and what comes of it.

use ostrakon_decide::{InvalidKey, Refused};
use ostrakon_party::PartyId;

use super::reading::Doubt;
use super::request::Request;
use crate::refusal::Refusal;

/// The server that puts all records into one order.
pub(crate) const SEQUENCER: PartyId = PartyId(0);
/// What a person does in a decision: each ends with a record in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Takes the place of the link's invitation, or the one that names the account.
    Accept,
    /// Gives the answers.
    Answer,
    /// As the creator: takes a person off the list.
    Remove(u16),
    /// As the creator: calls it off.
    Cancel,
    /// Says to the others that everything was checked.
    Verified,
}

/// Why something is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The device may not, or the rules do not allow it.
    Refused(Refused),
    /// A server refuses; if others were asked, another one does, too, or none of them answers.
    Server {
        /// The server.
        party: PartyId,
        /// What it says.
        refusal: Refusal,
    },
    /// What a server gave for a one-time key is not genuine.
    Key(InvalidKey),
    /// A server that is needed does not answer.
    Away(PartyId),
    /// Other people's records always came first.
    Busy,
    /// The device cannot write down what must be.
    NotKept,
}

/// What a front end is to do.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Send this. What comes of it is told by [`Visitor::replied`](super::Visitor::replied).
    Ask(Request),
    /// Call [`Visitor::keep`](super::Visitor::keep) with what the device remembers of decisions,
    /// write that down, then call [`Visitor::kept`](super::Visitor::kept).
    Keep,
    /// Tell the user.
    Tell(News),
}

/// How the visit gets on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// So many records of so many are verified.
    Verifying {
        /// Records that are verified.
        done: u32,
        /// Records that a server says to have.
        all: u32,
    },
    /// No server answers that has it; [`Visitor::silence`](super::Visitor::silence) says what each
    /// said.
    Away,
    /// No two servers show it, or not as much as the device has seen.
    Alone,
    /// The servers were asked, what so many show alike that it is believed was read, and it is
    /// written down what was seen.
    Read,
    /// The device cannot write down what was seen: nothing goes on until it can.
    NotKept,
    /// What was found is not what honest servers show: nothing goes on.
    Refused(Doubt),
    /// A server that does not put records into order holds what was handed in.
    Held(Deed),
    /// No server has taken what was handed in; that is tried again.
    NotTaken(Deed),
    /// It is in the chain.
    Done(Deed),
    /// It is given up.
    Failed(Deed, Failure),
    /// A server has signed the receipt.
    Signed,
}
