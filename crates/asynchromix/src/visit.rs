//! A visit: what a device asks a server, and its answer (spec W1).

use ostrakon_party::{PartyId, wire};
use serde::{Deserialize, Serialize};

use crate::board::{SignedEntry, at_most};
use crate::evidence::Deed;
use crate::message::{MAX_REQUEST, ToClient, ToServer};
use crate::room::Room;

/// Messages of one visit at most.
pub const MAX_MESSAGES: usize = 3;
/// Replies of an answer at most.
const MAX_REPLIES: usize = 3 * MAX_MESSAGES;
/// Entries of an answer at most, and their bytes together, beyond the first one.
pub(crate) const MAX_ENTRIES: usize = 64;
pub(crate) const ENTRY_BYTES: usize = 256 << 10;

/// What a device asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The board's entry from which on it wants entries.
    pub entry: u64,
    /// What it tells the server.
    pub messages: Vec<ToServer>,
}

/// The epoch that collects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collecting {
    /// Its number.
    pub epoch: u64,
    /// Places that are taken.
    pub places: u32,
    /// Rows that are in.
    pub rows: u32,
    /// Ticks for which it has had rows, by the server's clock.
    pub age: u32,
}

/// How a server says that it stands. Nothing of it is signed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Whether it takes part.
    pub runs: bool,
    /// Entries on the board.
    pub entries: u64,
    /// The epoch that collects.
    pub collecting: Option<Collecting>,
    /// Epochs that are closed and not on the board.
    pub mixing: u32,
    /// Batches that are ready: epochs that can still be opened.
    pub ready: u32,
    /// Other servers with which it is connected.
    pub reached: Vec<PartyId>,
    /// Servers that were convicted, with which nothing is prepared any more, and of what.
    pub convicted: Vec<(PartyId, Deed)>,
    /// Batches that were spoilt one after another, and nobody was convicted of it.
    pub spoilt: u32,
}

/// A server's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// How it stands.
    pub standing: Standing,
    /// Entries of the board.
    #[serde(deserialize_with = "at_most::<_, _, MAX_ENTRIES>")]
    pub entries: Vec<SignedEntry>,
    /// What it tells the device.
    #[serde(deserialize_with = "at_most::<_, _, MAX_REPLIES>")]
    pub replies: Vec<ToClient>,
}

impl Ask {
    /// Bytes of a visit at most.
    #[must_use]
    pub fn longest(room: &Room) -> usize {
        MAX_MESSAGES * (MAX_REQUEST + 8 * room.width())
    }

    /// The visit's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Reads a visit; nothing of it has been checked.
    ///
    /// # Errors
    /// [`wire::Malformed`] for anything too long or not canonical.
    pub fn decode(bytes: &[u8], room: &Room) -> Result<Self, wire::Malformed> {
        if bytes.len() > Self::longest(room) {
            return Err(wire::Malformed);
        }
        let ask: Self = wire::decode(bytes)?;
        if ask.messages.len() > MAX_MESSAGES { Err(wire::Malformed) } else { Ok(ask) }
    }
}

impl Answer {
    /// Bytes of an answer at most.
    #[must_use]
    pub fn longest(room: &Room) -> usize {
        2 * room.longest()
    }

    /// The answer's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Reads an answer; nothing of it has been checked.
    ///
    /// # Errors
    /// [`wire::Malformed`] for anything too long or not canonical, or with more in it than an
    /// honest server says.
    pub fn decode(bytes: &[u8], room: &Room) -> Result<Self, wire::Malformed> {
        if bytes.len() > Self::longest(room) {
            return Err(wire::Malformed);
        }
        let answer: Self = wire::decode(bytes)?;
        let Standing { reached, convicted, .. } = &answer.standing;
        let servers = room.servers();
        let fits = reached.len() <= servers && convicted.len() <= servers;
        if fits { Ok(answer) } else { Err(wire::Malformed) }
    }
}
