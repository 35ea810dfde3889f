//! Reads a board without believing a server, clock, sockets and randomness aside.

use ostrakon_crypto::Digest;
use ostrakon_mixing::engines;
use ostrakon_mixing::room::{RoomDescriptor, Servers};
use ostrakon_party::Trust;

use crate::board::{SignedEntry, Unproven, verify_chain};

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
    use ostrakon_crypto::SigningKey;
    use ostrakon_mixing::room::EpochId;
    use ostrakon_party::{PartyId, SessionId};

    fn entry(number: u64, previous: Digest, messages: &[&[u8]]) -> Entry {
        let messages =
            messages.iter().map(|m| Published::Kept { salt: [7; 16], body: m.to_vec() }).collect();
        Entry { epoch: EpochId { room: room().id(), number }, previous, accepted: 3, messages }
    }

    fn room() -> RoomDescriptor {
        RoomDescriptor { payload: 64, capacity: 9, seconds: 1, ..RoomDescriptor::new("r") }
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
