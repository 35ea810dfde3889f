//! What a host, or whoever takes an invitation, asks of a server, as it travels, and what may come
//! back.

use ostrakon_broadcast::hosting::{Claim, SignedAction};
use ostrakon_mixing::RoomId;
use ostrakon_party::PartyId;
use ostrakon_protocol::{Accepted, ActionTaken, ActionsPage};
use serde::de::DeserializeOwned;

use crate::refusal::Refusal;
use crate::request::{Http, PATIENCE, Sending, posted};

/// A request to one server.
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
    /// What the room's hosts did.
    Actions {
        /// The number of the first action.
        from: u64,
    },
    /// To put an action into the host log.
    Act(Box<SignedAction>),
    /// To put the claim of an invitation there.
    Claim(Box<Claim>),
}

/// What came of a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Actions of hosts, nothing of which is verified.
    Actions(Vec<SignedAction>),
    /// It is in the host log, by this server's word.
    Taken,
    /// The server said no.
    Refused(Refusal),
    /// No answer, or one that nobody can read.
    Nothing,
}

impl Request {
    /// On its way, in a room.
    pub fn sending(&self, room: &RoomId) -> Sending {
        let (id, party, http) = (self.id, self.party, self.call.http(room));
        Sending { id, party, http, patience: PATIENCE }
    }
}

impl Call {
    /// As it travels, in a room.
    pub fn http(&self, room: &RoomId) -> Http {
        let room = format!("rooms/{}", room.to_hex());
        match self {
            Self::Actions { from } => {
                Http { path: format!("{room}/actions?from={from}"), body: None }
            }
            Self::Act(signed) => posted(format!("{room}/actions"), signed),
            Self::Claim(claim) => posted(format!("{room}/claims"), claim),
        }
    }

    /// What its answer is read as.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Actions { .. } => Kind::Actions,
            Self::Act(_) => Kind::Act,
            Self::Claim(_) => Kind::Claim,
        }
    }
}

/// What an answer is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Actions,
    Act,
    Claim,
}

impl Answer {
    /// Reads an answer with its HTTP status, which is 0 if none came.
    pub(crate) fn read(kind: Kind, status: u16, body: &[u8]) -> Self {
        fn of<T: DeserializeOwned>(body: &[u8], answer: impl FnOnce(T) -> Answer) -> Answer {
            serde_json::from_slice(body).map_or(Answer::Nothing, answer)
        }
        match (status, kind) {
            (200..300, Kind::Actions) => of(body, |page: ActionsPage| Self::Actions(page.actions)),
            (200..300, Kind::Act) => of(body, |_: ActionTaken| Self::Taken),
            (200..300, Kind::Claim) => of(body, |_: Accepted| Self::Taken),
            (400..600, _) => Self::Refused(Refusal::read(status, body)),
            _ => Self::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_none_counts_as_silence_and_a_refusal_has_its_reason() {
        let read = |kind, status, body: &str| Answer::read(kind, status, body.as_bytes());
        assert!(matches!(read(Kind::Act, 201, r#"{"number":3}"#), Answer::Taken));
        assert!(matches!(read(Kind::Claim, 201, r#"{"accepted":true}"#), Answer::Taken));
        let refused = read(Kind::Act, 403, r#"{"detail":"no host","status":403}"#);
        let expected = Refusal { status: 403, detail: "no host".into() };
        assert!(matches!(refused, Answer::Refused(refusal) if refusal == expected));
        for (kind, status, body) in [
            (Kind::Actions, 200, "{}"),
            (Kind::Actions, 200, r#"{"actions":["forged"]}"#),
            (Kind::Act, 0, ""),
            (Kind::Act, 201, "<html>"),
            (Kind::Act, 302, r#"{"number":3}"#),
            (Kind::Claim, 201, "{}"),
        ] {
            assert!(matches!(read(kind, status, body), Answer::Nothing), "{status} {body}");
        }
    }
}
