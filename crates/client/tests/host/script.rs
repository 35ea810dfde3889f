//! What hosts, those who open rooms, and those who take invitations are played in every front end
//! (`tests/traces/host*.json`, `opening*.json`, `claim.json`): the machines here, the command
//! line's driver, whose tests include this file, and the page's.

use ostrakon_broadcast::hosting::Deed;
use ostrakon_client::Millis;
use ostrakon_mixing::RoomDescriptor;
use ostrakon_protocol::NewRoom;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::exchange::{Exchange, Played};

/// The scripts of hosts.
pub const HOSTS: [&str; 2] = ["host", "host-troubles"];
/// The one of who takes an invitation.
pub const CLAIM: &str = "claim";
/// Those of who opens a room.
pub const OPENINGS: [&str; 2] = ["opening", "opening-troubles"];

/// What was asked, and what servers answered.
#[derive(Serialize, Deserialize)]
pub struct Script {
    /// The answer of `GET /api/v1/servers`.
    pub servers: Value,
    pub descriptor: RoomDescriptor,
    /// The seed of the device's key, and what it draws from.
    pub key: [u8; 32],
    pub seed: [u8; 32],
    /// The seed of the invitation that is taken, if one is.
    pub invitation: Option<[u8; 32]>,
    pub start: Millis,
    /// For how long it is watched.
    pub lasts: Millis,
    /// What the host does.
    pub wishes: Vec<Wish>,
    pub exchanges: Vec<Exchange>,
}

/// Something that the host does at a time.
#[derive(Clone, Serialize, Deserialize)]
pub struct Wish {
    pub at: Millis,
    pub deed: Deed,
}

/// The opening of a room: what was asked, and what servers answered.
#[derive(Serialize, Deserialize)]
pub struct OpeningScript {
    /// The answer of `GET /api/v1/servers`.
    pub servers: Value,
    /// The room that is wanted.
    pub wish: NewRoom,
    /// Who is asked to open it, one after the other.
    pub order: Vec<u8>,
    /// What the device draws from.
    pub seed: [u8; 32],
    pub start: Millis,
    /// For how long it is watched.
    pub lasts: Millis,
    pub exchanges: Vec<Exchange>,
}
