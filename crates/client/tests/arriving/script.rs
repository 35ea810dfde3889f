//! What somebody who arrives is played in every front end (`tests/traces/arrive*.json`): the
//! machine here, the command line's driver, whose tests include this file, and the page's.

use ostrakon_client::{Destination, Millis};
use ostrakon_crypto::Digest;
use ostrakon_mixing::RoomId;
use serde::{Deserialize, Serialize};

pub use crate::exchange::{Exchange, Played};

/// The scripts: to a room, the same with troubles, and to the servers alone.
pub const ARRIVALS: [&str; 3] = ["arrive", "arrive-troubles", "arrive-servers"];

/// What was asked, and what servers answered.
#[derive(Serialize, Deserialize)]
pub struct Script {
    /// The address of the server that is asked first.
    pub origin: String,
    /// The digest of the servers that the link names, in hexadecimal.
    pub servers: Option<String>,
    /// The room's id, in hexadecimal.
    pub room: Option<String>,
    /// What the device draws from.
    pub seed: [u8; 32],
    pub start: Millis,
    /// For how long it is watched.
    pub lasts: Millis,
    pub exchanges: Vec<Exchange>,
}

impl Script {
    /// Where the link leads.
    pub fn destination(&self) -> Destination {
        let servers = self.servers.as_ref().map(|text| Digest::from_hex(text).unwrap());
        let room = self.room.as_ref().map(|text| RoomId::from_hex(text).unwrap());
        Destination { origin: self.origin.clone(), servers, room }
    }
}
