//! What a participant does between its user and its engine, without clock, sockets or randomness:
//! the statements it signs towards servers, the links it follows, and the board it checks. What it
//! has to say is kept in [`crate::outbox`].

use std::fmt;
use std::str::FromStr;

use ostrakon_crypto::{Digest, Transcript};
pub use ostrakon_party::Invitation;
use ostrakon_party::{PartyId, Trust, split_link};

use crate::board::{SignedEntry, Unproven, verify_chain};
use crate::engines;
use crate::room::{RoomDescriptor, RoomId, Servers};

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
    /// [`Servers::digest`].
    pub servers: Digest,
    /// In a link for one person: the key by which the invitation is claimed. Whoever has it first
    /// can claim the invitation for a key of its own ([`crate::hosting::Claim`]), and nothing else.
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

/// Follows a board entry by entry, believing nothing that is not signed and chained.
#[derive(Clone, Debug)]
pub struct BoardReader {
    servers: Servers,
    /// What the room's engine bears; `None` if it is not one for so many servers.
    trust: Option<Trust>,
    room: RoomDescriptor,
    head: Digest,
    last: Option<u64>,
    length: usize,
}

impl BoardReader {
    /// Starts before the first entry. The caller has compared `servers` with the link's digest and
    /// `room` with its id.
    pub fn new(servers: Servers, room: RoomDescriptor) -> Self {
        let trust = engines::trust(room.engine, servers.keys.len()).ok();
        Self { servers, trust, room, head: Digest([0; 32]), last: None, length: 0 }
    }

    /// Believes as many servers as by this trust one of them must be honest.
    #[must_use]
    pub fn under(self, trust: Trust) -> Self {
        Self { trust: Some(trust), ..self }
    }

    /// Starts in the middle of the board, before the entry with this index, which names the entry
    /// before it as `previous`. What came before is not known then. The caller has both from two
    /// servers: a single one could make it wait for entries that never come.
    pub fn starting_at(self, index: usize, previous: Digest) -> Self {
        Self { head: previous, length: index, last: None, ..self }
    }

    /// The digest of the last entry read; zeros before the first. Whoever has the same one has read
    /// the same board.
    pub fn head(&self) -> Digest {
        self.head
    }

    /// Checks that `entries` continue what was read so far, and takes them in. All or none.
    ///
    /// # Errors
    /// [`Unproven`], with the entry counted from the board's beginning.
    pub fn read(&mut self, entries: &[SignedEntry]) -> Result<(), Unproven> {
        let offset = self.length;
        let shift = |error| match error {
            Unproven::Room(index) => Unproven::Room(offset + index),
            Unproven::Chain(index) => Unproven::Chain(offset + index),
            Unproven::Signature(index, server) => Unproven::Signature(offset + index, server),
            Unproven::Quorum(index, have, need) => Unproven::Quorum(offset + index, have, need),
            other => other,
        };
        let Some(last) = entries.last() else { return Ok(()) };
        if self.last.is_some_and(|before| entries[0].entry.epoch.number <= before) {
            return Err(Unproven::Chain(offset));
        }
        let trust = self.trust.ok_or(Unproven::Trust(self.servers.keys.len()))?;
        self.head =
            verify_chain(&self.servers, &trust, &self.room, self.head, entries).map_err(shift)?;
        self.last = Some(last.entry.epoch.number);
        self.length += entries.len();
        Ok(())
    }

    /// Entries read: the index of the next one.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The epoch of the last entry read.
    pub fn last_epoch(&self) -> Option<u64> {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{Entry, Published};
    use crate::room::EpochId;
    use ostrakon_crypto::SigningKey;
    use ostrakon_party::SessionId;

    fn entry(number: u64, previous: Digest, messages: &[&[u8]]) -> Entry {
        let messages =
            messages.iter().map(|m| Published::Kept { salt: [7; 16], body: m.to_vec() }).collect();
        Entry { epoch: EpochId { room: room().id(), number }, previous, accepted: 3, messages }
    }

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

    fn servers_of(keys: &[SigningKey]) -> Servers {
        let keys = keys.iter().map(SigningKey::verifying_key).collect();
        Servers { session: SessionId(Digest([9; 32])), keys }
    }

    #[test]
    fn a_board_is_read_in_pieces_and_no_replay_or_gap_passes() {
        let keys: Vec<_> = (1..=3).map(|seed| SigningKey::from_seed(&[seed; 32])).collect();
        let servers = servers_of(&keys);
        let sign = |entry: Entry| {
            let signature = |i: u8| (PartyId(i), entry.sign(&servers, &keys[usize::from(i)]));
            SignedEntry { signatures: vec![signature(0), signature(2)], entry }
        };
        let first = sign(entry(1, Digest([0; 32]), &[b"a"]));
        let second = sign(entry(2, first.entry.digest(&servers), &[b"b"]));
        let stale = sign(entry(2, second.entry.digest(&servers), &[b"c"]));
        let mut reader = BoardReader::new(servers, room());
        assert_eq!(reader.read(std::slice::from_ref(&second)), Err(Unproven::Chain(0)));
        reader.read(std::slice::from_ref(&first)).unwrap();
        assert_eq!(reader.read(std::slice::from_ref(&first)), Err(Unproven::Chain(1)));
        let mut forged = second.clone();
        forged.entry.messages[0] = Published::Kept { salt: [7; 16], body: b"z".to_vec() };
        assert_eq!(reader.read(&[forged]), Err(Unproven::Signature(1, 0)));
        let (genuine, mut erased) = (second.clone(), second);
        erased.entry.messages[0] = erased.entry.messages[0].erased();
        reader.read(&[erased]).unwrap();
        assert_eq!((reader.length(), reader.last_epoch()), (2, Some(2)));
        let middle = BoardReader::new(servers_of(&keys), room());
        let mut middle = middle.starting_at(1, first.entry.digest(&servers_of(&keys)));
        assert_eq!(middle.read(std::slice::from_ref(&first)), Err(Unproven::Chain(1)));
        middle.read(std::slice::from_ref(&genuine)).unwrap();
        assert_eq!((middle.length(), middle.head()), (2, reader.head()));
        assert_eq!(reader.read(&[stale]), Err(Unproven::Chain(2)), "an epoch is published once");
    }
}
