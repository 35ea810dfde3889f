//! Why an action is not accepted.

/// A deed that breaks a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidDeed(pub String);

/// Why an action is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Another action has this place.
    #[error(
        "another action came first: read the log again and act on what it says (the next number is {next})"
    )]
    NotNext {
        /// The number of the next action.
        next: u64,
    },
    /// The author is no host of the room, or not any more.
    #[error("the signer is not a host of this room")]
    NotHost,
    /// Only the room's first host may do this.
    #[error("only the first host of the room may name co-hosts")]
    NotFirstHost,
    /// The signature is not the author's.
    #[error("the signature is not the author's on this action, this room and these servers")]
    Signature,
    /// See [`InvalidDeed`].
    #[error(transparent)]
    Deed(#[from] InvalidDeed),
    /// The invitation is none, or not any more.
    #[error(
        "the host has not made this invitation, or has taken it back: ask the host for another link"
    )]
    NotInvited,
    /// Another key has claimed the invitation.
    #[error(
        "this invitation was used on another device: take part there, or ask the host for another link"
    )]
    Claimed,
    /// The key that claims takes part already, or is an invitation itself.
    #[error("the key takes part already, or is in a link: claim with a key of the device's own")]
    KeyInUse,
    /// The room is closed.
    #[error("the room is closed: it takes marks and erasures only")]
    Closed,
    /// The log is full.
    #[error(transparent)]
    Full(#[from] MostActions),
}

impl Refused {
    /// A word for the kind of refusal, by which a page finds its own sentence.
    pub fn code(&self) -> &'static str {
        match self {
            Refused::NotNext { .. } => "not-next",
            Refused::NotHost => "not-host",
            Refused::NotFirstHost => "not-first-host",
            Refused::Signature => "signature",
            Refused::Deed(_) => "deed",
            Refused::NotInvited => "not-invited",
            Refused::Claimed => "claimed",
            Refused::KeyInUse => "key-in-use",
            Refused::Closed => "closed",
            Refused::Full(_) => "full",
        }
    }
}

/// A bound of the log is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the room has as many {0} as it can have")]
pub struct MostActions(pub &'static str);
