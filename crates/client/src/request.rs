//! What a device asks of a server, as it travels, and what may come back.

use data_encoding::BASE64URL_NOPAD;
use ostrakon_broadcast::SignedEntry;
use ostrakon_broadcast::hosting::SignedAction;
use ostrakon_crypto::SigningKey;
use ostrakon_mixing::RoomId;
use ostrakon_mixing::envelope::{self, Exchange, IssueName};
use ostrakon_mixing::link::presence_digest;
use ostrakon_mixing::submission::Submission;
use ostrakon_party::PartyId;
use ostrakon_protocol::{
    Accepted, ActionsPage, BoardPage, Issue, IssueRequest, Presence, PresenceAnswer, Status,
    SubmissionRequest,
};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::time::Millis;

/// How long a server may take to answer.
pub const PATIENCE: Millis = 15_000;
/// The same for a sign of presence: who cannot give it to one server goes to another.
const PRESENCE_PATIENCE: Millis = 5_000;
/// The same for how the room stands now.
pub const STATUS_PATIENCE: Millis = 1_500;
/// The same for a page of a board, which may hold one large epoch.
const PAGE_PATIENCE: Millis = 30_000;
/// Seconds for which a server may hold back that nothing has changed.
pub const WAIT: u64 = 20;

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
    /// How the room stands, as soon as it is newer than a version; without one at once.
    News {
        /// The version.
        after: Option<u64>,
    },
    /// Entries of the board.
    Board {
        /// The index of the first one.
        from: u64,
    },
    /// What the room's hosts did.
    Actions {
        /// The number of the first action.
        from: u64,
    },
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
    /// Entries of the board, nothing of which is verified.
    Board(Vec<SignedEntry>),
    /// Actions of hosts, nothing of which is verified.
    Actions(Vec<SignedAction>),
    /// A list as it was asked for, of something else.
    Malformed,
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
    /// What is to be posted; without it the path is got.
    pub body: Option<Body>,
}

/// What is posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// `application/json`.
    Json(String),
    /// `application/octet-stream`.
    Bytes(Vec<u8>),
}

/// A request on its way: to which server, and how long that may take to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sending {
    /// What its answer is told by.
    pub id: u64,
    /// The server.
    pub party: PartyId,
    /// What is sent.
    pub http: Http,
    /// After so long there is no answer.
    pub patience: Millis,
}

impl Body {
    /// As a text: the JSON, or the bytes in base64url.
    pub fn text(&self) -> String {
        match self {
            Self::Json(text) => text.clone(),
            Self::Bytes(bytes) => BASE64URL_NOPAD.encode(bytes),
        }
    }
}

impl Request {
    /// How long the server may take: then there is no answer.
    pub fn patience(&self) -> Millis {
        match self.call {
            Call::Status => STATUS_PATIENCE,
            Call::Presence(_) => PRESENCE_PATIENCE,
            Call::News { after: Some(_) } => PATIENCE + WAIT * 1_000,
            Call::Board { .. } => PAGE_PATIENCE,
            Call::News { after: None }
            | Call::Actions { .. }
            | Call::Issue { .. }
            | Call::Submit { .. } => PATIENCE,
        }
    }

    /// On its way, in a room.
    pub fn sending(&self, room: &RoomId) -> Sending {
        let (id, party, patience) = (self.id, self.party, self.patience());
        Sending { id, party, http: self.http(room), patience }
    }

    /// As it travels, in a room.
    pub fn http(&self, room: &RoomId) -> Http {
        self.call.http(room)
    }
}

impl Call {
    /// As it travels, in a room.
    pub fn http(&self, room: &RoomId) -> Http {
        let room = format!("rooms/{}", room.to_hex());
        let got = |path| Http { path, body: None };
        match self {
            Self::Status | Self::News { after: None } => got(format!("{room}/status")),
            Self::News { after: Some(version) } => {
                got(format!("{room}/status?after={version}&wait={WAIT}"))
            }
            Self::Board { from } => got(format!("{room}/board?from={from}")),
            Self::Actions { from } => got(format!("{room}/actions?from={from}")),
            Self::Presence(presence) => posted(format!("{room}/presence"), presence),
            Self::Issue { epoch, request } => {
                got(format!("{room}/epochs/{epoch}/issue?{}", query(request)))
            }
            Self::Submit { epoch, request } => {
                posted(format!("{room}/epochs/{epoch}/submission"), request)
            }
        }
    }

    /// To note that the participant with this key is there, at `time` in seconds since 1970.
    pub fn presence(key: &SigningKey, room: &RoomId, time: u64, home: PartyId) -> Self {
        let signature = key.sign(&presence_digest(room, time, home));
        Self::Presence(Presence { key: key.verifying_key(), time, signature })
    }

    /// What a server gives for this participant's slot.
    pub fn issue(key: &SigningKey, name: &IssueName) -> Self {
        let exchange = Exchange::new(key, name).public();
        let signature = key.sign(&envelope::request_digest(name, &exchange));
        let request = IssueRequest { key: key.verifying_key(), exchange, signature };
        Self::Issue { epoch: name.number, request }
    }

    /// To take what this participant submits: the same for all servers.
    pub fn submit(key: &SigningKey, epoch: u64, Submission { slot, body, .. }: Submission) -> Self {
        Self::Submit { epoch, request: SubmissionRequest { key: key.verifying_key(), slot, body } }
    }
}

/// What an answer is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Status,
    Board,
    Actions,
    Presence,
    Issue,
    Submission,
}

impl Call {
    /// What its answer is read as.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Status | Self::News { .. } => Kind::Status,
            Self::Board { .. } => Kind::Board,
            Self::Actions { .. } => Kind::Actions,
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
        /// A list under one of the two names.
        #[derive(Deserialize)]
        struct List {
            #[serde(alias = "entries", alias = "actions", rename = "items")]
            _items: Vec<IgnoredAny>,
        }
        fn page<T: DeserializeOwned>(body: &[u8], answer: impl FnOnce(T) -> Answer) -> Answer {
            serde_json::from_slice(body)
                .map(answer)
                .unwrap_or_else(|_| of(body, |_: List| Answer::Malformed))
        }
        match (status, kind) {
            (200..300, Kind::Board) => page(body, |page: BoardPage| Self::Board(page.entries)),
            (200..300, Kind::Actions) => {
                page(body, |page: ActionsPage| Self::Actions(page.actions))
            }
            (200..300, Kind::Status) => of(body, |status| Self::Status(Box::new(status))),
            (200..300, Kind::Presence) => of(body, |_: PresenceAnswer| Self::Present),
            (200..300, Kind::Issue) => of(body, |given: Issue| Self::Issue(given.issue)),
            (200..300, Kind::Submission) => of(body, |_: Accepted| Self::Taken),
            (400..600, _) => Self::Refused(status),
            _ => Self::Nothing,
        }
    }
}

/// A request by which plain data is posted.
pub(crate) fn posted(path: String, body: &impl serde::Serialize) -> Http {
    Http { path, body: Some(Body::Json(json(body))) }
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
        for (kind, name) in [(Kind::Board, "entries"), (Kind::Actions, "actions")] {
            let forged = read(kind, 200, &format!(r#"{{"{name}":["forged"]}}"#));
            assert!(matches!(forged, Answer::Malformed), "a list that does not hold");
        }
        for (kind, status, body) in [
            (Kind::Presence, 0, ""),
            (Kind::Presence, 200, "<html>Sign in to this network</html>"),
            (Kind::Presence, 302, ""),
            (Kind::Issue, 200, r#"{"issue":"!"}"#),
            (Kind::Status, 200, "{}"),
            (Kind::Submission, 200, ""),
            (Kind::Board, 200, "<html>"),
            (Kind::Board, 200, r#"{"entries":null}"#),
            (Kind::Actions, 200, "{}"),
        ] {
            assert!(matches!(read(kind, status, body), Answer::Nothing), "{status} {body}");
        }
    }
}
