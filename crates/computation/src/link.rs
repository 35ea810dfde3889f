//! Links to computations.

use std::fmt;
use std::str::FromStr;

use ostrakon_crypto::Digest;
use ostrakon_party::{Invitation, split_link};

use crate::draft::ComputationId;

/// A link to a computation: where a member is, which computation, of which committee. What follows
/// `#` does not leave the browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Scheme, host and port of any one of the members, without a slash at the end.
    pub origin: String,
    /// The computation.
    pub computation: ComputationId,
    /// The committee's digest.
    pub committee: Digest,
    /// In a link for one person: the secret half of a key in the draft.
    pub invitation: Option<Invitation>,
}

/// Not a link to a computation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a link to a computation: it must read http(s)://HOST[:PORT]/#/ask/ID/COMMITTEE, as it was sent; one for a single person has one more part"
)]
pub struct InvalidLink;

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, computation, committee, invitation } = self;
        write!(f, "{origin}/#/ask/{}/{}", computation.0.to_hex(), committee.to_hex())?;
        invitation.iter().try_for_each(|invitation| write!(f, "/{}", invitation.to_text()))
    }
}

impl FromStr for Link {
    type Err = InvalidLink;

    fn from_str(text: &str) -> Result<Self, InvalidLink> {
        let (origin, path) = split_link(text, "/#/ask/").ok_or(InvalidLink)?;
        let mut parts = path.splitn(3, '/');
        let computation = parts.next().and_then(Digest::from_hex).ok_or(InvalidLink)?;
        let committee = parts.next().and_then(Digest::from_hex).ok_or(InvalidLink)?;
        let invitation =
            parts.next().map(|seed| Invitation::from_text(seed).ok_or(InvalidLink)).transpose()?;
        let computation = ComputationId(computation);
        Ok(Self { origin: origin.to_owned(), computation, committee, invitation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_read_back_and_others_are_refused() {
        let link = Link {
            origin: "http://127.0.0.1:7100".into(),
            computation: ComputationId(Digest([4; 32])),
            committee: Digest([7; 32]),
            invitation: None,
        };
        assert_eq!(link.to_string().parse(), Ok(link.clone()));
        let invited = Link { invitation: Some(Invitation([5; 32])), ..link.clone() };
        assert_eq!(invited.to_string().parse(), Ok(invited.clone()));
        let text = link.to_string();
        for wrong in [
            text.replace("/ask/", "/room/"),
            text[..text.len() - 1].to_owned(),
            format!("{text}/"),
            format!("{invited}/x"),
            String::new(),
        ] {
            assert_eq!(wrong.parse::<Link>(), Err(InvalidLink), "{wrong}");
        }
    }
}
