//! What a client tells its user.

use serde::{Deserialize, Serialize};

/// Where a message of the user's stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MessageState {
    /// On this device only: it waits for a turn, or for the conversation to begin.
    Waiting,
    /// All of it was sent once.
    Sent,
    /// The partner's device has it.
    Delivered,
    /// It was not acknowledged in time and is sent again, once more or more often.
    SentAgain,
    /// The round that it was sent in brought nothing out; it is sent again by itself.
    RoundStopped,
    /// The conversation ended before it was acknowledged: whether it arrived is not known.
    Unknown,
}

impl MessageState {
    /// Whether nothing more becomes of it.
    pub fn is_settled(self) -> bool {
        matches!(self, MessageState::Delivered | MessageState::Unknown)
    }
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its number on this device, counted for each contact.
    pub number: u64,
    /// Whether the user of this device wrote it.
    pub own: bool,
    /// What it says.
    pub text: String,
    /// Where it stands; of the partner's it is always delivered.
    pub state: MessageState,
    /// The round in which that became so; none while it waits.
    pub round: Option<u64>,
}

/// How it stands with a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContactState {
    /// There is no conversation, and nobody calls.
    Idle,
    /// The user calls, in every dial round, until there is an answer.
    Calling,
    /// The contact calls and waits for an answer by the user.
    Called,
    /// The user has accepted; nothing of the partner's was read yet.
    Answering,
    /// A conversation goes on.
    Talking,
    /// One side has ended it, and the last words are on their way.
    Ending,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "event")]
pub enum Event {
    /// Somebody calls.
    Called {
        /// The contact, a new one or one that was known by its link.
        contact: u32,
        /// The name that the caller gives itself; nothing proves it.
        name: String,
        /// Whether the caller has proved to own the link by which the contact was known.
        known: bool,
        /// The link of the user's that was called.
        link: u32,
    },
    /// A contact has accepted a call: the conversation begins.
    Accepted {
        /// The contact.
        contact: u32,
    },
    /// The partner's first row was read: the conversation stands.
    Connected {
        /// The contact.
        contact: u32,
    },
    /// The caller did not come back for the answer; it may call again.
    Unanswered {
        /// The contact.
        contact: u32,
    },
    /// A message of the partner's.
    Received {
        /// The contact.
        contact: u32,
        /// The message's number.
        message: u64,
        /// What it says.
        text: String,
    },
    /// A message of the user's stands otherwise than before.
    Moved {
        /// The contact.
        contact: u32,
        /// The message's number.
        message: u64,
        /// How it stands.
        state: MessageState,
    },
    /// The partner has ended the conversation.
    Ended {
        /// The contact.
        contact: u32,
    },
    /// Another copy of this client has written to the contact, or the contact has written in the
    /// user's place. The conversation was ended here: both would use the same keys.
    Copied {
        /// The contact.
        contact: u32,
    },
    /// More calls came in than are kept.
    CallsDropped {
        /// How many.
        count: usize,
    },
}
