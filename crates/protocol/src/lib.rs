//! What goes in and out of a server: the requests, the answers and the errors of its public
//! interface, for servers and clients alike.
//!
//! Every type here is JSON as it stands. Keys, digests and room ids are lower-case hexadecimal;
//! bytes are base64url without padding. Requests are checked when they are decoded, so that a
//! server sees typed values only. With the feature `openapi` the types describe themselves.

pub mod decisions;
pub mod encoding;
mod jobs;
mod rooms;
mod servers;

pub use jobs::{JobView, parse_subject};
pub use rooms::{
    Accepted, ActionTaken, ActionsPage, BoardPage, CollectPhase, EpochStatus, Issue, IssueRequest,
    LastEpoch, MixingPhase, MixingStatus, NewRoom, Outcome, Overdue, Presence, PresenceAnswer,
    RoomInfo, RoomState, Status, SubmissionRequest, parse_room,
};
pub use servers::{
    CodeInfo, Create, FaultInfo, PeerStatus, Readiness, RoomLimits, ServerInfo, ServersInfo,
};

use ostrakon_broadcast::hosting;

/// Why a request was not carried out. The texts are meant for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// There is no such thing, or not yet (HTTP 404).
    #[error("{0}")]
    NotFound(String),
    /// It contradicts what was done before, or comes too late (HTTP 409).
    #[error("{0}")]
    Conflict(String),
    /// It can never be accepted as it is (HTTP 422).
    #[error("{0}")]
    Refused(String),
    /// The signature or the time in it is not right (HTTP 403).
    #[error("{0}")]
    Forbidden(String),
    /// Another server does this (HTTP 421).
    #[error("{0}")]
    Elsewhere(String),
    /// More bytes than the room admits (HTTP 413).
    #[error("the body is too large: at most {limit} bytes are taken")]
    TooLarge {
        /// The most bytes that would be taken.
        limit: usize,
    },
    /// A limit is reached; the same request may succeed later (HTTP 429).
    #[error("{0}")]
    Busy(String),
    /// The server cannot serve this yet, for example because its peers are missing (HTTP 503).
    #[error("{0}")]
    Unavailable(String),
    /// The server's own fault; its log says more (HTTP 500).
    #[error("the server has a problem of its own; its log says more")]
    Internal,
}

impl ServiceError {
    /// The HTTP status that says it.
    pub fn status(&self) -> u16 {
        match self {
            Self::NotFound(_) => 404,
            Self::Conflict(_) => 409,
            Self::Refused(_) => 422,
            Self::Forbidden(_) => 403,
            Self::Elsewhere(_) => 421,
            Self::TooLarge { .. } => 413,
            Self::Busy(_) => 429,
            Self::Unavailable(_) => 503,
            Self::Internal => 500,
        }
    }
}

impl From<hosting::Refused> for ServiceError {
    fn from(refused: hosting::Refused) -> Self {
        use hosting::Refused;
        let text = refused.to_string();
        match refused {
            Refused::NotNext { .. } | Refused::Closed | Refused::Claimed => {
                ServiceError::Conflict(text)
            }
            Refused::NotHost | Refused::NotFirstHost | Refused::NotInvited | Refused::Signature => {
                ServiceError::Forbidden(text)
            }
            Refused::Deed(_) | Refused::KeyInUse | Refused::Full(_) => ServiceError::Refused(text),
        }
    }
}

impl From<ostrakon_decide::Refused> for ServiceError {
    fn from(refused: ostrakon_decide::Refused) -> Self {
        let text = refused.to_string();
        if refused.is_conflict() {
            ServiceError::Conflict(text)
        } else {
            ServiceError::Refused(text)
        }
    }
}
