//! What of a board a process shows: only entries that it has verified since it began. Until the
//! first verification of all boards has come to an entry, it is verified as it is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use ostrakon_broadcast::SignedEntry;
use ostrakon_broadcast::board::verify_chain;
use ostrakon_mixing::room::{RoomDescriptor, RoomId, Servers};
use ostrakon_party::Trust;

/// Entries that are not as they were published, by room and place.
pub(crate) type Damaged = BTreeMap<RoomId, BTreeSet<u64>>;

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
        (servers, trust): (&Servers, &Trust),
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
            previous = verify_chain(servers, trust, room, digest, std::slice::from_ref(next)).ok();
            sound += usize::from(previous.is_some());
        }
        entries.truncate(sound);
        self.note(&id, (from, from.saturating_add(sound as u64)));
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_broadcast::Entry;
    use ostrakon_crypto::{Digest, SigningKey};
    use ostrakon_mixing::EpochId;
    use ostrakon_party::{PartyId, SessionId};

    use super::*;

    /// A board of so many entries, without messages.
    fn board(count: u64) -> (Servers, RoomDescriptor, Vec<SignedEntry>) {
        let keys: Vec<_> = (1..4).map(|seed| SigningKey::from_seed(&[seed; 32])).collect();
        let session = SessionId(Digest([9; 32]));
        let servers =
            Servers { session, keys: keys.iter().map(SigningKey::verifying_key).collect() };
        let room = RoomDescriptor::new("r");
        let (mut entries, mut previous) = (Vec::new(), Digest([0; 32]));
        for number in 0..count {
            let epoch = EpochId { room: room.id(), number };
            let entry = Entry { epoch, previous, accepted: 3, messages: Vec::new() };
            previous = entry.digest(&servers);
            let sign =
                |party: u8| (PartyId(party), entry.sign(&servers, &keys[usize::from(party)]));
            entries.push(SignedEntry { signatures: vec![sign(0), sign(1)], entry });
        }
        (servers, room, entries)
    }

    #[test]
    fn a_page_ends_before_what_the_servers_have_not_signed_wherever_it_begins() {
        let (servers, room, entries) = board(6);
        let trust = Trust::one_of_three();
        let mut changed = entries.clone();
        changed[3].entry.accepted += 1;
        let mut exchanged = entries.clone();
        exchanged.swap(3, 4);
        for (from, sound) in [(0, 3), (2, 1), (3, 0)] {
            let mut page = changed[from..].to_vec();
            Verified::default().cut((&servers, &trust), &room, from as u64, &mut page);
            assert_eq!(page.len(), sound, "from {from}");
        }
        let mut page = exchanged.clone();
        let verified = Verified::default();
        verified.cut((&servers, &trust), &room, 0, &mut page);
        assert_eq!(page.len(), 3, "signed, but not in its place");
        // What was verified is not verified again; what comes later is, from there on.
        assert_eq!(verified.known(&room.id()), 3);
        verified.note(&room.id(), (4, 6));
        assert_eq!(verified.known(&room.id()), 3, "there is a gap");
        let mut page = entries[2..].to_vec();
        verified.cut((&servers, &trust), &room, 2, &mut page);
        assert_eq!((page.len(), verified.known(&room.id())), (4, 6));
    }
}
