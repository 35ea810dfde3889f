//! What of a board a process shows: only entries that it has verified since it began. Until the
//! first verification of all boards has come to an entry, it is verified as it is asked for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ostrakon_broadcast::SignedEntry;
use ostrakon_broadcast::board::verify_chain;
use ostrakon_broadcast::room::{RoomDescriptor, RoomId, Servers};

/// How many entries of each board, from its beginning on, were verified. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Verified(Arc<Mutex<BTreeMap<RoomId, u64>>>);

impl Verified {
    fn known(&self, room: &RoomId) -> u64 {
        self.0.lock().expect("no panic while held").get(room).copied().unwrap_or(0)
    }

    /// Entries from one place to another, that one not included, were verified.
    pub fn note(&self, room: &RoomId, (from, to): (u64, u64)) {
        let mut known = self.0.lock().expect("no panic while held");
        let known = known.entry(*room).or_default();
        if from <= *known {
            *known = to.max(*known);
        }
    }

    /// Cuts entries, read from place `from` on, before the first one that the servers have not
    /// signed as it is, or that does not continue the one before it.
    pub fn cut(
        &self,
        servers: &Servers,
        room: &RoomDescriptor,
        from: u64,
        entries: &mut Vec<SignedEntry>,
    ) {
        let id = room.id();
        let known = usize::try_from(self.known(&id).saturating_sub(from)).unwrap_or(usize::MAX);
        let mut sound = known.min(entries.len());
        // What precedes the first of them is not there to be looked at.
        let first = &entries.get(sound).map(|signed| signed.entry.previous);
        let mut previous = match (sound.checked_sub(1), first) {
            (Some(before), _) => Some(entries[before].entry.digest(servers)),
            (None, first) => *first,
        };
        while let (Some(digest), Some(next)) = (previous, entries.get(sound)) {
            previous = verify_chain(servers, room, digest, std::slice::from_ref(next)).ok();
            sound += usize::from(previous.is_some());
        }
        entries.truncate(sound);
        self.note(&id, (from, from.saturating_add(sound as u64)));
    }
}
