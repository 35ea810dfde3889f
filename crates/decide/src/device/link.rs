//! Links to decisions.

use std::fmt;
use std::str::FromStr;

use ostrakon_crypto::Digest;
use ostrakon_party::{Invitation, split_link};

use crate::draft::DecisionId;
use crate::draft::gathering::GatheringId;

/// A link to a decision: where a server is, which decision, and whose keys it must be kept by. What
/// follows `#` does not leave the browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Scheme, host and port of any one of the servers, without a slash at the end.
    pub origin: String,
    /// The decision.
    pub decision: DecisionId,
    /// The digest of the servers.
    pub servers: Digest,
    /// In a link for one person: the key that signs the claim; its public half stands in the draft.
    /// Whoever uses it first takes the person's place.
    pub invitation: Option<Invitation>,
}

/// Not a link to a decision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a link to a decision: it must read http(s)://HOST[:PORT]/#/decision/ID/SERVERS, as it was sent; an invitation's has one more part"
)]
pub struct InvalidLink;

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/#/decision/{}/{}",
            self.origin,
            self.decision.to_hex(),
            self.servers.to_hex()
        )?;
        self.invitation.iter().try_for_each(|invitation| write!(f, "/{}", invitation.to_text()))
    }
}

impl FromStr for Link {
    type Err = InvalidLink;

    fn from_str(text: &str) -> Result<Self, InvalidLink> {
        let (origin, path) = split_link(text, "/#/decision/").ok_or(InvalidLink)?;
        let mut parts = path.splitn(3, '/');
        let decision = parts.next().and_then(DecisionId::from_hex).ok_or(InvalidLink)?;
        let servers = parts.next().and_then(Digest::from_hex).ok_or(InvalidLink)?;
        let invitation =
            parts.next().map(|seed| Invitation::from_text(seed).ok_or(InvalidLink)).transpose()?;
        Ok(Self { origin: origin.to_owned(), decision, servers, invitation })
    }
}

/// A join link: whoever has it can ask to take part in the decision that comes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinLink {
    /// Scheme, host and port of any one of the servers, without a slash at the end.
    pub origin: String,
    /// What it is for.
    pub gathering: GatheringId,
    /// The digest of the servers.
    pub servers: Digest,
    /// The link's key, which signs requests.
    pub secret: Invitation,
}

impl fmt::Display for JoinLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, servers) = (self.gathering.to_hex(), self.servers.to_hex());
        write!(f, "{}/#/join/{id}/{servers}/{}", self.origin, self.secret.to_text())
    }
}

impl FromStr for JoinLink {
    type Err = InvalidJoinLink;

    fn from_str(text: &str) -> Result<Self, InvalidJoinLink> {
        let (origin, path) = split_link(text, "/#/join/").ok_or(InvalidJoinLink)?;
        let mut parts = path.splitn(3, '/');
        let gathering = parts.next().and_then(GatheringId::from_hex).ok_or(InvalidJoinLink)?;
        let servers = parts.next().and_then(Digest::from_hex).ok_or(InvalidJoinLink)?;
        let secret = parts.next().and_then(Invitation::from_text).ok_or(InvalidJoinLink)?;
        Ok(Self { origin: origin.to_owned(), gathering, servers, secret })
    }
}

/// Not a join link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a join link: it must read http(s)://HOST[:PORT]/#/join/ID/SERVERS/KEY, as it was sent"
)]
pub struct InvalidJoinLink;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_links_read_back_and_others_are_refused() {
        let link = JoinLink {
            origin: "http://127.0.0.1:7000".into(),
            gathering: GatheringId([4; 16]),
            servers: Digest([7; 32]),
            secret: Invitation([5; 32]),
        };
        let text = link.to_string();
        assert_eq!(text.parse(), Ok(link));
        let without_key = text.rsplit_once('/').unwrap().0.to_owned();
        for wrong in [text.replace("/join/", "/decision/"), format!("{text}/x"), without_key] {
            assert_eq!(wrong.parse::<JoinLink>(), Err(InvalidJoinLink), "{wrong}");
        }
    }

    #[test]
    fn links_read_back_and_others_are_refused() {
        let link = Link {
            origin: "http://127.0.0.1:7000".into(),
            decision: DecisionId([4; 16]),
            servers: Digest([7; 32]),
            invitation: None,
        };
        assert_eq!(link.to_string().parse(), Ok(link.clone()));
        let invited = Link { invitation: Some(Invitation([5; 32])), ..link.clone() };
        assert_eq!(invited.to_string().parse(), Ok(invited.clone()));
        assert!(!format!("{invited:?}").contains("BQUF"), "no secret in a log");
        let text = link.to_string();
        for wrong in [
            text.replace("http://", "ftp://"),
            text.replace("127.0.0.1:7000", "a/b"),
            text.replace("/decision/", "/room/"),
            text[..text.len() - 1].to_owned(),
            format!("{text}/"),
            format!("{invited}/x"),
            String::new(),
        ] {
            assert_eq!(wrong.parse::<Link>(), Err(InvalidLink), "{wrong}");
        }
    }
}
