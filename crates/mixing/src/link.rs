//! What a participant needs before it takes part: the link that it follows, and the statement by
//! which it is present.

use std::fmt;
use std::str::FromStr;

use ostrakon_crypto::{Digest, Transcript};
pub use ostrakon_party::Invitation;
use ostrakon_party::{PartyId, split_link};

use crate::room::RoomId;

/// Seconds by which the time of a presence may differ from the server's clock.
pub const PRESENCE_SECONDS: u64 = 120;

/// What a participant signs to be present at server `party`; `time` in seconds since 1970.
pub fn presence_digest(room: &RoomId, time: u64, party: PartyId) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/broadcast/presence");
    transcript.field(&room.0).number(time).number(u64::from(party.0)).finish()
}

/// A link to a room: where a server is, which room, and whose keys it must be kept by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Scheme, host and port of any one of the servers, without a slash at the end.
    pub origin: String,
    /// The room.
    pub room: RoomId,
    /// [`Servers::digest`](crate::room::Servers::digest).
    pub servers: Digest,
    /// In a link for one person: the key by which the invitation is claimed. Whoever has it first
    /// can claim the invitation for a key of its own, and nothing else.
    /// In a host's link it is the host's key.
    pub invitation: Option<Invitation>,
}

/// Not a link to a room.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a link to a room: it must read http(s)://HOST[:PORT]/#/room/ROOM/SERVERS, as the server printed it; an invitation's has one more part"
)]
pub struct InvalidLink;

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/#/room/{}/{}", self.origin, self.room.to_hex(), self.servers.to_hex())?;
        self.invitation.iter().try_for_each(|invitation| write!(f, "/{}", invitation.to_text()))
    }
}

impl FromStr for Link {
    type Err = InvalidLink;

    fn from_str(text: &str) -> Result<Self, InvalidLink> {
        let (origin, path) = split_link(text, "/#/room/").ok_or(InvalidLink)?;
        let (room, rest) = path.split_once('/').ok_or(InvalidLink)?;
        let (servers, invitation) =
            rest.split_once('/').map_or((rest, None), |(servers, seed)| (servers, Some(seed)));
        let invitation =
            invitation.map(|seed| Invitation::from_text(seed).ok_or(InvalidLink)).transpose()?;
        let room = RoomId::from_hex(room).ok_or(InvalidLink)?;
        let servers = Digest::from_hex(servers).ok_or(InvalidLink)?;
        Ok(Self { origin: origin.to_owned(), room, servers, invitation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::RoomDescriptor;

    fn room() -> RoomDescriptor {
        RoomDescriptor { payload: 64, capacity: 9, seconds: 1, ..RoomDescriptor::new("r") }
    }

    #[test]
    fn links_read_back_and_others_are_refused() {
        let link = Link {
            origin: "http://127.0.0.1:7000".into(),
            room: room().id(),
            servers: Digest([7; 32]),
            invitation: None,
        };
        assert_eq!(link.to_string().parse(), Ok(link.clone()));
        let invited = Link { invitation: Some(Invitation([5; 32])), ..link.clone() };
        assert_eq!(invited.to_string().parse(), Ok(invited.clone()));
        assert_eq!(format!("{invited}x").parse::<Link>(), Err(InvalidLink));
        assert!(!format!("{invited:?}").contains("BQUF"), "no secret in a log");
        let text = link.to_string();
        for wrong in [
            text.replace("http://", "ftp://"),
            text.replace("127.0.0.1:7000", ""),
            text.replace("127.0.0.1:7000", "a/b"),
            text.replace("/room/", "/rooms/"),
            text[..text.len() - 1].to_owned(),
            format!("{text}0"),
            String::new(),
        ] {
            assert_eq!(wrong.parse::<Link>(), Err(InvalidLink), "{wrong}");
        }
    }

    #[test]
    fn statements_differ_in_every_part() {
        let room = room().id();
        let other = RoomId([1; 16]);
        let base = presence_digest(&room, 5, PartyId(0));
        let others = [
            presence_digest(&other, 5, PartyId(0)),
            presence_digest(&room, 6, PartyId(0)),
            presence_digest(&room, 5, PartyId(1)),
        ];
        assert!(others.iter().all(|digest| *digest != base));
    }
}
