//! Contact links: how somebody can be called (specification, section 2).

use std::fmt;
use std::str::FromStr;

use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::Digest;
use ostrakon_mixing::RoomId;
use ostrakon_mixing::link::Link;
use ostrakon_party::split_link;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::hidden::Hidden;
use crate::params::LINK_SECRET;

/// The part of a contact link that calls its owner: a public key, and a secret that all have who
/// have the link. Its secret is wiped when dropped, and neither is printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct Callee {
    pub(crate) key: [u8; 32],
    pub(crate) secret: Hidden<LINK_SECRET>,
}

impl fmt::Debug for Callee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callee")
    }
}

impl Callee {
    /// base64url without padding, 64 characters.
    pub fn to_text(&self) -> String {
        BASE64URL_NOPAD.encode(&[&self.key[..], &self.secret.0].concat())
    }

    /// Reads what [`Callee::to_text`] writes; `None` for anything else.
    pub fn from_text(text: &str) -> Option<Self> {
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
        let (key, secret) = bytes.split_first_chunk::<32>()?;
        Some(Self { key: *key, secret: Hidden(secret.try_into().ok()?) })
    }
}

/// A contact link: where messages are exchanged, and whom to call there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContactLink {
    /// Scheme, host and port of any one of the servers, without a slash at the end.
    pub origin: String,
    /// The room for messages.
    pub room: RoomId,
    /// The digest of its servers, as in a room's link.
    pub servers: Digest,
    /// Whom to call.
    pub callee: Callee,
    /// Whether that is a partner for practice, a program, as whoever made the link says.
    pub practice: bool,
}

/// How the link of a partner for practice ends.
const PRACTICE: &str = "practice";

/// Not a contact link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a contact link: it must read http(s)://HOST[:PORT]/#/chat/ROOM/SERVERS/KEY, as its owner's program printed it"
)]
pub struct InvalidContactLink;

impl ContactLink {
    /// The link to the room.
    pub fn room_link(&self) -> Link {
        Link {
            origin: self.origin.clone(),
            room: self.room,
            servers: self.servers,
            invitation: None,
        }
    }

    /// The link to somebody in the room of a link.
    pub fn in_room(room: &Link, callee: Callee) -> Self {
        let (origin, practice) = (room.origin.clone(), false);
        Self { origin, room: room.room, servers: room.servers, callee, practice }
    }

    /// The same, said to be of a partner for practice.
    #[must_use]
    pub fn for_practice(self) -> Self {
        Self { practice: true, ..self }
    }
}

impl fmt::Display for ContactLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (room, servers) = (self.room.to_hex(), self.servers.to_hex());
        write!(f, "{}/#/chat/{room}/{servers}/{}", self.origin, self.callee.to_text())?;
        if self.practice { write!(f, "/{PRACTICE}") } else { Ok(()) }
    }
}

impl FromStr for ContactLink {
    type Err = InvalidContactLink;

    fn from_str(text: &str) -> Result<Self, InvalidContactLink> {
        let (origin, path) = split_link(text, "/#/chat/").ok_or(InvalidContactLink)?;
        let mut parts = path.split('/');
        let mut part = || parts.next().ok_or(InvalidContactLink);
        let room = RoomId::from_hex(part()?).ok_or(InvalidContactLink)?;
        let servers = Digest::from_hex(part()?).ok_or(InvalidContactLink)?;
        let callee = Callee::from_text(part()?).ok_or(InvalidContactLink)?;
        let practice = match parts.next() {
            None => false,
            Some(PRACTICE) if parts.next().is_none() => true,
            Some(_) => return Err(InvalidContactLink),
        };
        Ok(Self { origin: origin.to_owned(), room, servers, callee, practice })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link() -> ContactLink {
        ContactLink {
            origin: "http://127.0.0.1:7000".into(),
            room: RoomId([1; 16]),
            servers: Digest([2; 32]),
            callee: Callee { key: [3; 32], secret: Hidden([4; 16]) },
            practice: false,
        }
    }

    #[test]
    fn links_read_back_and_others_are_refused() {
        let text = link().to_string();
        assert_eq!(text.parse(), Ok(link()));
        let practice = link().for_practice().to_string();
        assert_eq!(practice, format!("{text}/practice"));
        assert_eq!(practice.parse(), Ok(link().for_practice()));
        for wrong in [
            text.replace("/chat/", "/room/"),
            text.replace("http://", "ftp://"),
            text[..text.len() - 1].to_owned(),
            format!("{text}A"),
            format!("{text}/x"),
            format!("{text}/"),
            format!("{practice}/"),
            format!("{practice}/practice"),
            link().room_link().to_string(),
            String::new(),
        ] {
            assert_eq!(wrong.parse::<ContactLink>(), Err(InvalidContactLink), "{wrong}");
        }
    }

    #[test]
    fn no_secret_in_a_log() {
        assert!(!format!("{:?}", link()).contains("BAQE"));
        assert!(format!("{:?}", link()).contains("Callee"));
    }
}
