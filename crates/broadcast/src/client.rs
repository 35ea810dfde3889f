//! What a participant does between its user and its engine, without clock, sockets or randomness: the statements it
//! signs towards servers, the links it follows, the board it checks, and the message it keeps until it is published.
//!
//! Two rules are kept here, for every client alike. A message is put into one epoch at a time: only when that epoch
//! is known to have ended without it does it enter a later one, so nothing is published twice. And what goes into an
//! epoch is decided once: asked again, [`Outbox`] gives the same answer, so no two different rows ever meet the
//! same masks.

use std::fmt;
use std::str::FromStr;

use ostrakon_crypto::{Digest, Transcript};
use ostrakon_party::PartyId;
use serde::{Deserialize, Serialize};

use crate::board::{Entry, SignedEntry, Unproven, verify_chain};
use crate::room::{RoomDescriptor, RoomId, Servers};
use crate::row::Content;

/// Seconds by which the time of a presence may differ from the server's clock.
pub const PRESENCE_SECONDS: u64 = 120;

/// What a participant signs to be present at server `party`; `time` in seconds since 1970.
pub fn presence_digest(room: &RoomId, time: u64, party: PartyId) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/broadcast/presence");
    transcript.field(&room.0).number(time).number(u64::from(party.0)).finish()
}

/// The server to be present at: the one with the fewest participants, of those that answer (`Some`). `draw` is a random
/// number that decides between equals; `avoid` is a server that gave no slot, taken only if no other one answers.
pub fn choose_home(present: &[Option<u32>], avoid: Option<PartyId>, draw: u32) -> Option<PartyId> {
    let answering = || (0u8..).zip(present).filter_map(|(id, count)| Some((PartyId(id), (*count)?)));
    let wanted: Vec<_> = answering().filter(|(id, _)| Some(*id) != avoid).collect();
    let choice = if wanted.is_empty() { answering().collect() } else { wanted };
    let fewest = choice.iter().map(|(_, count)| *count).min()?;
    let equals: Vec<_> = choice.iter().filter(|(_, count)| *count == fewest).collect();
    Some(equals[draw as usize % equals.len()].0)
}

/// Whether the participants at `home` should make room after an epoch with too few: another server that answers (`Some`)
/// has at least two fewer. Whoever is told so moves with probability one half, so that not all go.
pub fn is_crowded(present: &[Option<u32>], home: PartyId) -> bool {
    let here = present.get(home.index()).copied().flatten().unwrap_or(0);
    present.iter().flatten().any(|count| count.saturating_add(2) <= here)
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
}

/// Not a link to a room.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a link to a room: it must read http(s)://HOST[:PORT]/#/room/ROOM/SERVERS, as the server printed it")]
pub struct InvalidLink;

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/#/room/{}/{}", self.origin, self.room.to_hex(), self.servers.to_hex())
    }
}

impl FromStr for Link {
    type Err = InvalidLink;

    fn from_str(text: &str) -> Result<Self, InvalidLink> {
        let (origin, path) = text.trim().split_once("/#/room/").ok_or(InvalidLink)?;
        let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://")).ok_or(InvalidLink)?;
        let (room, servers) = path.split_once('/').ok_or(InvalidLink)?;
        let room = RoomId::from_hex(room).ok_or(InvalidLink)?;
        let servers = Digest::from_hex(servers).ok_or(InvalidLink)?;
        if host.is_empty() || host.contains(|c: char| c == '/' || c == '#' || c.is_whitespace()) {
            return Err(InvalidLink);
        }
        Ok(Self { origin: origin.to_owned(), room, servers })
    }
}

/// Follows a board entry by entry, believing nothing that is not signed and chained.
#[derive(Clone, Debug)]
pub struct BoardReader {
    servers: Servers,
    room: RoomDescriptor,
    head: Digest,
    last: Option<u64>,
    length: usize,
}

impl BoardReader {
    /// Starts before the first entry. The caller has compared `servers` with the link's digest and `room` with its id.
    pub fn new(servers: Servers, room: RoomDescriptor) -> Self {
        Self { servers, room, head: Digest([0; 32]), last: None, length: 0 }
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
            Unproven::Quorum(index, signers) => Unproven::Quorum(offset + index, signers),
            other => other,
        };
        let Some(last) = entries.last() else { return Ok(()) };
        if self.last.is_some_and(|before| entries[0].entry.epoch.number <= before) {
            return Err(Unproven::Chain(offset));
        }
        self.head = verify_chain(&self.servers, &self.room, self.head, entries).map_err(shift)?;
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

/// What a board entry means for the message in an [`Outbox`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// It says nothing about the message.
    Nothing,
    /// The message is published.
    Published,
    /// The message's epoch is over without it; it enters the next one.
    Again,
}

/// The message that a participant has to say, until it is on the board.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outbox {
    message: Option<Vec<u8>>,
    /// The epoch that the message was put into, while its outcome is unknown.
    undecided: Option<u64>,
    /// The latest epoch that something was put into, and whether it was the message.
    latest: Option<(u64, bool)>,
    /// The latest epoch known to be over.
    over: Option<u64>,
}

/// A participant has one message at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message before is not on the board yet: wait until it is")]
pub struct Occupied;

impl Outbox {
    /// Takes a message to be said; an empty one is nothing to say.
    ///
    /// # Errors
    /// [`Occupied`] while the message before is not published.
    pub fn put(&mut self, message: Vec<u8>) -> Result<(), Occupied> {
        if self.message.is_some() {
            return Err(Occupied);
        }
        self.message = Some(message).filter(|text| !text.is_empty());
        Ok(())
    }

    /// The message that is not published yet.
    pub fn message(&self) -> Option<&[u8]> {
        self.message.as_deref()
    }

    /// The epoch whose outcome decides about the message.
    pub fn undecided(&self) -> Option<u64> {
        self.undecided
    }

    /// What to put into epoch `number`: the message, or a cover while there is none or while it may still come out of an
    /// earlier epoch. The answer for an epoch never changes. `None` for an epoch that is over, or before one already answered for.
    pub fn content(&mut self, number: u64) -> Option<Content> {
        match self.latest {
            Some((latest, _)) if number < latest => return None,
            _ if self.over.is_some_and(|over| number <= over) => return None,
            Some((latest, with_message)) if number == latest => {
                return Some(self.message.clone().filter(|_| with_message).map_or(Content::Cover, Content::Message));
            }
            _ => {}
        }
        let message = self.message.clone().filter(|_| self.undecided.is_none());
        self.latest = Some((number, message.is_some()));
        if message.is_some() {
            self.undecided = Some(number);
        }
        Some(message.map_or(Content::Cover, Content::Message))
    }

    /// Learns from a verified board entry. Entries are shown in order, none left out.
    pub fn observe(&mut self, entry: &Entry) -> Observed {
        self.observe_with(entry.epoch.number, |message| entry.messages.iter().any(|text| text == message))
    }

    /// Like [`Outbox::observe`], for a program with several participants, whose messages may be equal: `holds` says whether
    /// the entry of epoch `number` holds the message, and counts every copy for one participant only.
    pub fn observe_with(&mut self, number: u64, holds: impl FnOnce(&[u8]) -> bool) -> Observed {
        self.over = self.over.max(Some(number));
        let Some(undecided) = self.undecided.filter(|undecided| *undecided <= number) else {
            return Observed::Nothing;
        };
        self.undecided = None;
        if number == undecided && self.message.as_deref().is_some_and(holds) {
            self.message = None;
            return Observed::Published;
        }
        Observed::Again
    }

    /// Learns that epoch `number` ended without a board. The caller has it from two servers, one of which is honest:
    /// a single one could make the message come out twice.
    pub fn ended_without_board(&mut self, number: u64) {
        self.over = self.over.max(Some(number));
        if self.undecided == Some(number) {
            self.undecided = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::{EngineKind, EpochId, Mode};
    use ostrakon_crypto::SigningKey;
    use ostrakon_party::SessionId;

    fn entry(number: u64, previous: Digest, messages: &[&[u8]]) -> Entry {
        let messages = messages.iter().map(|m| m.to_vec()).collect();
        Entry { epoch: EpochId { room: room().id(), number }, previous, accepted: 3, messages }
    }

    fn room() -> RoomDescriptor {
        RoomDescriptor {
            name: "r".into(),
            engine: EngineKind::Ruffle,
            mode: Mode::Fair,
            payload: 64,
            capacity: 9,
            seconds: 1,
            minimum: 1,
            nonce: [0; 16],
        }
    }

    #[test]
    fn a_message_is_in_one_epoch_at_a_time_until_it_is_published() {
        let said = || Some(Content::Message(b"hello".to_vec()));
        let zero = Digest([0; 32]);
        let mut outbox = Outbox::default();
        assert_eq!(outbox.content(1), Some(Content::Cover));
        outbox.put(b"hello".to_vec()).unwrap();
        assert_eq!(outbox.put(b"more".to_vec()), Err(Occupied));
        assert_eq!(outbox.content(1), Some(Content::Cover), "what goes into an epoch is decided once");
        assert_eq!(outbox.content(2), said());
        assert_eq!(outbox.content(3), Some(Content::Cover), "epoch 2 is undecided");
        assert_eq!(outbox.content(2), None, "no going back");
        assert_eq!(outbox.observe(&entry(1, zero, &[b"hello"])), Observed::Nothing, "somebody else's");
        assert_eq!(outbox.observe(&entry(2, zero, &[b"other"])), Observed::Again);
        assert_eq!(outbox.content(3), Some(Content::Cover), "epoch 3 was answered for");
        assert_eq!(outbox.content(4), said());
        assert_eq!(outbox.observe(&entry(5, zero, &[b"hello"])), Observed::Again, "epoch 4 was left out of the chain");
        assert_eq!(outbox.content(6), said());
        assert_eq!(outbox.content(6), said());
        outbox.ended_without_board(5);
        assert_eq!(outbox.undecided(), Some(6));
        outbox.ended_without_board(6);
        assert_eq!(outbox.content(7), said());
        assert_eq!(outbox.observe(&entry(7, zero, &[b"x", b"hello"])), Observed::Published);
        assert_eq!(outbox.message(), None);
        outbox.put(b"next".to_vec()).unwrap();
        assert_eq!(outbox.content(7), None, "epoch 7 is over");
        assert_eq!(outbox.observe(&entry(8, zero, &[b"next"])), Observed::Nothing);
        assert_eq!(outbox.content(9), Some(Content::Message(b"next".to_vec())));
        assert_eq!(outbox.observe(&entry(9, zero, &[b"next"])), Observed::Published);
        assert_eq!(outbox.put(Vec::new()), Ok(()));
        assert_eq!(outbox.content(10), Some(Content::Cover));
    }

    #[test]
    fn links_read_back_and_others_are_refused() {
        let link = Link { origin: "http://127.0.0.1:7000".into(), room: room().id(), servers: Digest([7; 32]) };
        assert_eq!(link.to_string().parse(), Ok(link.clone()));
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
    fn the_home_is_the_emptiest_server_that_answers() {
        assert_eq!(choose_home(&[Some(3), Some(1), Some(2)], None, 9), Some(PartyId(1)));
        assert_eq!(choose_home(&[Some(3), Some(1), Some(2)], Some(PartyId(1)), 9), Some(PartyId(2)));
        assert_eq!(choose_home(&[Some(1), None, Some(1)], None, 0), Some(PartyId(0)));
        assert_eq!(choose_home(&[Some(1), None, Some(1)], None, 1), Some(PartyId(2)));
        assert_eq!(choose_home(&[None, Some(5), None], Some(PartyId(1)), 1), Some(PartyId(1)));
        assert_eq!(choose_home(&[None, None], None, 1), None);
    }

    #[test]
    fn only_a_server_with_two_more_than_another_is_crowded() {
        let home = PartyId(0);
        assert!(is_crowded(&[Some(2), Some(0), Some(2)], home));
        assert!(!is_crowded(&[Some(2), Some(1), Some(1)], home));
        assert!(!is_crowded(&[Some(2), Some(0), Some(2)], PartyId(1)));
        assert!(!is_crowded(&[Some(2), None, None], home), "nowhere to go");
        assert!(!is_crowded(&[None, Some(0), Some(0)], home));
        assert!(!is_crowded(&[Some(u32::MAX)], PartyId(3)));
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

    #[test]
    fn a_board_is_read_in_pieces_and_no_replay_or_gap_passes() {
        let keys: Vec<_> = (1..=3).map(|seed| SigningKey::from_seed(&[seed; 32])).collect();
        let servers =
            Servers { session: SessionId(Digest([9; 32])), keys: keys.iter().map(SigningKey::verifying_key).collect() };
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
        forged.entry.messages[0] = b"z".to_vec();
        assert_eq!(reader.read(&[forged]), Err(Unproven::Signature(1, 0)));
        reader.read(&[second]).unwrap();
        assert_eq!((reader.length(), reader.last_epoch()), (2, Some(2)));
        assert_eq!(reader.read(&[stale]), Err(Unproven::Chain(2)), "an epoch is published once");
    }
}
