//! A room's whole board as a file, made piece by piece: what is in memory at a time does not grow
//! with the board.

use std::collections::VecDeque;

use ostrakon_broadcast::SignedEntry;
use ostrakon_broadcast::board::ArchiveWriter;
use ostrakon_mixing::room::{RoomDescriptor, RoomId, Servers};
use ostrakon_party::Trust;

use crate::answers::internal;
use crate::boards::reading::{READ_ENTRIES, damaged_entry, read_entry};
use crate::disk::Disk;
use crate::memory::verified::Verified;
use ostrakon_protocol::ServiceError;

/// An archive ([`ostrakon_broadcast::Archive`]) that is being written: the board as it was when
/// this was made, or a little more.
pub struct BoardArchive {
    store: Disk,
    room: RoomId,
    of: (Servers, Trust, RoomDescriptor),
    verified: Verified,
    beginning: Option<String>,
    /// `None` once the end was handed out.
    writer: Option<ArchiveWriter>,
    /// Entries that were read and not written yet.
    ready: VecDeque<SignedEntry>,
    read: u64,
}

impl BoardArchive {
    pub(crate) fn new(
        store: Disk,
        (servers, trust): (Servers, Trust),
        room: RoomDescriptor,
        verified: Verified,
    ) -> Self {
        let id = room.id();
        let of = (servers.clone(), trust, room.clone());
        let (writer, beginning) = ArchiveWriter::begin(servers, room);
        let (beginning, writer) = (Some(beginning), Some(writer));
        Self { store, room: id, of, verified, beginning, writer, ready: VecDeque::new(), read: 0 }
    }

    /// The next piece of the text; `None` after the last.
    ///
    /// # Errors
    /// `Internal` if the disk does not work, `Unavailable` if it has changed an entry. What was
    /// handed out so far is then no archive.
    pub async fn next(&mut self) -> Result<Option<String>, ServiceError> {
        if let Some(beginning) = self.beginning.take() {
            return Ok(Some(beginning));
        }
        if self.writer.is_some() && self.ready.is_empty() {
            let rows = self
                .store
                .entries(&self.room.0, self.read, READ_ENTRIES)
                .await
                .map_err(internal)?;
            let damaged = self.store.damaged(&self.room.0, self.read).await.map_err(internal)?;
            let (from, all) = (self.read, rows.len());
            let mut entries: Vec<_> =
                rows.into_iter().map_while(|row| read_entry(row).ok()).collect();
            let (servers, trust, room) = &self.of;
            self.verified.cut((servers, trust), room, from, &mut entries);
            if entries.len() < all {
                return Err(damaged_entry(from + entries.len() as u64));
            }
            self.read += all as u64;
            if let Some(position) = damaged.filter(|position| *position < self.read) {
                return Err(damaged_entry(position));
            }
            self.ready = entries.into();
        }
        let Some(writer) = &mut self.writer else { return Ok(None) };
        match self.ready.pop_front() {
            Some(entry) => Ok(Some(writer.entry(&entry))),
            None => Ok(self.writer.take().map(ArchiveWriter::end)),
        }
    }

    /// All pieces that are left, together. For boards that are known to be small.
    ///
    /// # Errors
    /// As [`BoardArchive::next`].
    pub async fn text(mut self) -> Result<String, ServiceError> {
        let mut text = String::new();
        while let Some(piece) = self.next().await? {
            text.push_str(&piece);
        }
        Ok(text)
    }
}
