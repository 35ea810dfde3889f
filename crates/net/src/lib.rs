//! Authenticated channels between a handful of parties over TCP: [`ostrakon_party::Channel`] for
//! servers.
//!
//! Each party runs one [`Mesh`]. Between each two parties there is one link: TLS 1.3 over TCP with
//! pinned Ed25519 keys ([`Identity`]), or, when no direct connection can be had, the same TLS
//! through a third party, which sees ciphertext only.
//!
//! # Delivery
//!
//! The sender keeps what it posts until the instance is retired; the receiver asks for what it
//! awaits ([`frame::Want`]) at once, after every reconnection, and every one to two seconds. So
//! loss, reconnection, a restart of either side (the restarted sender posts the same messages
//! again) and forged messages are all met by one mechanism: asking. Messages of at most
//! [`frame::SMALL`] bytes are also sent unasked when they are posted. Longer ones travel only when
//! asked for, normally without waiting since the request is there before the message; they are cut
//! into chunks that take turns, so that short ones overtake them.
//!
//! # What it guarantees
//!
//! * Nobody but the two parties reads or alters what they exchange; each knows that the other holds
//!   the pinned key.
//! * An honest party's posted message reaches an honest party that collects it, for as long as both
//!   run and are connected directly or by way of some third party that passes their bytes on.
//! * Memory that a peer can make this party use is bounded: a frame by [`frame::MAX_LENGTH`],
//!   unasked messages by [`Quota`], a long message by the limit given to `collect`, remembered
//!   requests by number, tunnels by [`bounds::WINDOW`] and [`bounds::FORWARDED`]. A length is
//!   checked before anything is reserved for it.
//! * A malformed frame closes the connection it came by and nothing else; the parties connect
//!   again.
//!
//! # What it does not
//!
//! * It hides neither from the network nor from a relaying party that two servers talk, how much,
//!   and when. The jobs above it send the same amount whatever the secret inputs are.
//! * It does not check signatures or digests of messages: [`ostrakon_party::Party`] does.
//! * It does not defend against floods of connections beyond closing them early: a firewall in
//!   front of the port does.
//! * It keeps nothing on disk.

pub mod bounds;
mod connect;
pub mod frame;
mod inbox;
mod link;
mod mesh;
mod outbox;
mod peer;
pub mod probe;
mod relay;
mod retired;
mod shared;
mod timing;
mod tls;

pub use inbox::Quota;
pub use mesh::{Config, Mesh, StartError};
pub use peer::{PeerState, Reach};
pub use probe::Acquaintance;
pub use timing::Timing;
pub use tls::{Identity, any_name, presented};
