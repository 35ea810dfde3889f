//! Three servers' keys, and boards that they have signed.

use ostrakon_broadcast::board::Published;
use ostrakon_broadcast::{Entry, SignedEntry};
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_mixing::{EpochId, RoomDescriptor, Servers};
use ostrakon_party::{PartyId, SessionId};

pub fn keys() -> [SigningKey; 3] {
    [1, 2, 3].map(|seed| SigningKey::from_seed(&[seed; 32]))
}

pub fn servers() -> Servers {
    let keys = keys().iter().map(SigningKey::verifying_key).collect();
    Servers { session: SessionId(Digest([7; 32])), keys }
}

/// A board of so many entries; in each, one message that the servers have not erased.
pub fn board(room: &RoomDescriptor, length: u64) -> Vec<SignedEntry> {
    let (servers, mut previous) = (servers(), Digest([0; 32]));
    let entry = |number| {
        let messages = vec![Published::Kept { salt: [7; 16], body: b"text".to_vec() }];
        let epoch = EpochId { room: room.id(), number };
        let entry = Entry { epoch, previous, accepted: 3, messages };
        previous = entry.digest(&servers);
        let sign = |party: u8| (PartyId(party), entry.sign(&servers, &keys()[usize::from(party)]));
        SignedEntry { signatures: vec![sign(0), sign(2)], entry }
    };
    (0..length).map(entry).collect()
}

/// The same, of which a server does not show the texts.
pub fn kept_back(mut entries: Vec<SignedEntry>) -> Vec<SignedEntry> {
    for message in entries.iter_mut().flat_map(|signed| &mut signed.entry.messages) {
        *message = message.erased();
    }
    entries
}
