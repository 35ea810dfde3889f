//! Reads pages of a board from the disk.

use ostrakon_broadcast::{Entry, SignedEntry};
use ostrakon_mixing::room::{RoomDescriptor, Servers};
use ostrakon_party::{Trust, wire};
use ostrakon_store::EntryRow;

use crate::answers::internal;
use crate::disk::Disk;
use crate::memory::verified::Verified;
use ostrakon_protocol::{BoardPage, ServiceError};

/// Entries of a board in one answer at most, and their bytes, roughly.
const PAGE_ENTRIES: u32 = 64;
const PAGE_BYTES: usize = 4 << 20;
/// Entries that the store is asked for at once.
pub(crate) const READ_ENTRIES: u32 = 16;

/// A page of a room's board, from entry `from` on: of what the servers have signed, as it is
/// ([`Verified`]).
async fn read_board(
    (store, verified): (&Disk, &Verified),
    (servers, trust, room): (&Servers, &Trust, &RoomDescriptor),
    from: u64,
) -> Result<BoardPage, ServiceError> {
    let id = room.id();
    let mut entries: Vec<SignedEntry> = Vec::new();
    let mut bytes = 0;
    'reading: while bytes < PAGE_BYTES && entries.len() < PAGE_ENTRIES as usize {
        let next = from.saturating_add(entries.len() as u64);
        // Of a large room, one entry may weigh more than a page; what they weigh is known from
        // those before.
        let weight = bytes.checked_div(entries.len()).unwrap_or(PAGE_BYTES).max(1);
        let most = READ_ENTRIES.min(PAGE_ENTRIES - entries.len() as u32);
        let count = u32::try_from((PAGE_BYTES - bytes) / weight).unwrap_or(u32::MAX).clamp(1, most);
        let rows = store.entries(&id.0, next, count).await.map_err(internal)?;
        if rows.is_empty() {
            break;
        }
        bytes += rows.iter().map(|row| row.body.len()).sum::<usize>();
        for row in rows {
            let position = row.position;
            match read_entry(row) {
                Ok(entry) => entries.push(entry),
                Err(_) if entries.is_empty() => return Err(damaged_entry(position)),
                // What comes before it may be sound.
                Err(_) => break 'reading,
            }
        }
    }
    let read = entries.len();
    verified.cut((servers, trust), room, from, &mut entries);
    if read > 0 && entries.is_empty() {
        return Err(damaged_entry(from));
    }
    Ok(BoardPage { entries })
}

/// A board from an entry on, up to the first one that is damaged.
///
/// # Errors
/// `Unavailable` if that is the one from which to read.
pub(crate) async fn read_sound_board(
    board: (&Disk, &Verified),
    of: (&Servers, &Trust, &RoomDescriptor),
    from: u64,
    damaged: Option<u64>,
) -> Result<BoardPage, ServiceError> {
    if damaged == Some(from) {
        return Err(damaged_entry(from));
    }
    let mut page = read_board(board, of, from).await?;
    let sound = damaged.map_or(usize::MAX, |place| usize::try_from(place - from).unwrap_or(0));
    page.entries.truncate(sound);
    Ok(page)
}

/// Of an entry that the disk has changed.
pub(crate) fn damaged_entry(position: u64) -> ServiceError {
    ServiceError::Unavailable(format!(
        "entry {position} of this board is damaged on this server's disk, and is being fetched from the other servers; read the board there meanwhile"
    ))
}

/// An entry as it is on disk.
pub(crate) fn read_entry(row: EntryRow) -> Result<SignedEntry, ServiceError> {
    let entry: Entry = wire::decode(&row.body).map_err(|_| {
        tracing::error!("the database holds an entry that cannot be read");
        ServiceError::Internal
    })?;
    Ok(SignedEntry { entry, signatures: row.signatures })
}
