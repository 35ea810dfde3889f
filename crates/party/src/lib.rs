//! Who talks to whom: party ids, tagged and signed messages, the channel that carries them, meters.
//!
//! Engines are written against this crate alone. It knows no sockets and no clock: a [`Channel`] is
//! implemented over TLS by the network crate and in memory by the test kit.
//!
//! How many parties must say a thing, and how many are waited for, is asked of a [`Trust`] and of
//! nobody else.
//!
//! Three rules hold for every message:
//!
//! * it has a [`Tag`] (instance, step, sequence) that is used once, so a message is never mistaken
//!   for another;
//! * its sender signs the header (session, tag, recipient, length, digest), so that whatever a
//!   party has said can be shown to a third person ([`SignedHeader`]);
//! * the receiver says how long it may be before the first byte is stored.
//!
//! **Silence is not a fault.** [`Channel::collect`] waits for as long as it takes; an engine never
//! learns of a time-out, only, where a second source exists, that patience has run out
//! ([`Channel::patience`]), upon which it may ask the second source and blames nobody.

mod body;
mod by_party;
mod channel;
mod header;
mod link;
mod meter;
mod party;
mod servers;
mod tape;
mod trust;
pub mod wire;

pub use body::Body;
pub use by_party::{ByParty, PartySet};
pub use channel::{Channel, Message, Wrapping};
pub use header::{Header, Instance, InstanceKind, Recipient, SessionId, SignedHeader, Step, Tag};
pub use link::{Invitation, split_link};
pub use meter::{Meter, Traffic};
pub use party::{Length, Party, Received, Refused, Roster};
pub use servers::Servers;
pub use tape::{Damaged, Recorder, Reel, Tape};
pub use trust::{Delivery, Trust, Unbearable};

use serde::{Deserialize, Serialize};

/// A party's number, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PartyId(pub u8);

impl PartyId {
    /// The number as an index.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl std::fmt::Display for PartyId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "P{}", self.0)
    }
}
