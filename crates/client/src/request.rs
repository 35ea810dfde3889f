//! What a participant asks of a server, as it travels, and what may come back.

use ostrakon_broadcast::RoomId;
use ostrakon_party::PartyId;
use ostrakon_protocol::{
    Accepted, Issue, IssueRequest, Presence, PresenceAnswer, Status, SubmissionRequest,
};
use serde::de::DeserializeOwned;

use crate::time::Millis;

/// How long a server may take to answer.
const PATIENCE: Millis = 15_000;
/// The same for a sign of presence: who cannot give it to one server goes to another.
const PRESENCE_PATIENCE: Millis = 5_000;
/// The same for how the room stands now.
pub const STATUS_PATIENCE: Millis = 1_500;

/// A request to one server. It is to be answered within [`Request::patience`], or given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What its answer is told by.
    pub id: u64,
    /// The server.
    pub party: PartyId,
    /// What is asked.
    pub call: Call,
}

/// What is asked of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// How the room stands now.
    Status,
    /// To note that the participant is there.
    Presence(Presence),
    /// What the server gives for the participant's slot.
    Issue {
        /// The epoch.
        epoch: u64,
        /// The signed request.
        request: IssueRequest,
    },
    /// To take the submission.
    Submit {
        /// The epoch.
        epoch: u64,
        /// The submission.
        request: SubmissionRequest,
    },
}

/// What came of a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// How the room stands.
    Status(Box<Status>),
    /// The participant's presence is noted.
    Present,
    /// What the server gives, closed.
    Issue(Vec<u8>),
    /// The submission is on the server's disk.
    Taken,
    /// The server said no, with this HTTP status.
    Refused(u16),
    /// No answer, or one that nobody can read.
    Nothing,
}

/// A request as HTTP carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Http {
    /// Path and query, after `/api/v1/`.
    pub path: String,
    /// The JSON to be posted; without it the path is got.
    pub body: Option<String>,
}

impl Request {
    /// How long the server may take: then there is no answer.
    pub fn patience(&self) -> Millis {
        match self.call {
            Call::Status => STATUS_PATIENCE,
            Call::Presence(_) => PRESENCE_PATIENCE,
            Call::Issue { .. } | Call::Submit { .. } => PATIENCE,
        }
    }

    /// As it travels, in a room.
    pub fn http(&self, room: &RoomId) -> Http {
        let room = format!("rooms/{}", room.to_hex());
        match &self.call {
            Call::Status => Http { path: format!("{room}/status"), body: None },
            Call::Presence(presence) => {
                Http { path: format!("{room}/presence"), body: Some(json(presence)) }
            }
            Call::Issue { epoch, request } => {
                let path = format!("{room}/epochs/{epoch}/issue?{}", query(request));
                Http { path, body: None }
            }
            Call::Submit { epoch, request } => Http {
                path: format!("{room}/epochs/{epoch}/submission"),
                body: Some(json(request)),
            },
        }
    }
}

/// What an answer is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Status,
    Presence,
    Issue,
    Submission,
}

impl Call {
    /// What its answer is read as.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Status => Kind::Status,
            Self::Presence(_) => Kind::Presence,
            Self::Issue { .. } => Kind::Issue,
            Self::Submit { .. } => Kind::Submission,
        }
    }
}

impl Answer {
    /// Reads an answer with its HTTP status, which is 0 if none came.
    pub fn read(kind: Kind, status: u16, body: &[u8]) -> Self {
        fn of<T: DeserializeOwned>(body: &[u8], answer: impl FnOnce(T) -> Answer) -> Answer {
            serde_json::from_slice(body).map_or(Answer::Nothing, answer)
        }
        match (status, kind) {
            (200..300, Kind::Status) => of(body, |status| Self::Status(Box::new(status))),
            (200..300, Kind::Presence) => of(body, |_: PresenceAnswer| Self::Present),
            (200..300, Kind::Issue) => of(body, |given: Issue| Self::Issue(given.issue)),
            (200..300, Kind::Submission) => of(body, |_: Accepted| Self::Taken),
            (400..600, _) => Self::Refused(status),
            _ => Self::Nothing,
        }
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("writing plain data into memory does not fail")
}

fn query(request: &IssueRequest) -> String {
    let fields = serde_json::to_value(request).expect("plain data");
    let text = |name: &str| fields[name].as_str().expect("hexadecimal").to_owned();
    ["key", "exchange", "signature"].map(|name| format!("{name}={}", text(name))).join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_none_counts_as_silence() {
        let read = |kind, status, body: &str| Answer::read(kind, status, body.as_bytes());
        assert!(matches!(read(Kind::Presence, 200, r#"{"home":true}"#), Answer::Present));
        assert!(matches!(read(Kind::Submission, 202, r#"{"accepted":true}"#), Answer::Taken));
        assert!(
            matches!(read(Kind::Issue, 200, r#"{"issue":"AAE"}"#), Answer::Issue(bytes) if bytes == [0, 1])
        );
        assert!(matches!(read(Kind::Issue, 409, ""), Answer::Refused(409)));
        for (kind, status, body) in [
            (Kind::Presence, 0, ""),
            (Kind::Presence, 200, "<html>Sign in to this network</html>"),
            (Kind::Presence, 302, ""),
            (Kind::Issue, 200, r#"{"issue":"!"}"#),
            (Kind::Status, 200, "{}"),
            (Kind::Submission, 200, ""),
        ] {
            assert!(matches!(read(kind, status, body), Answer::Nothing), "{status} {body}");
        }
    }
}
