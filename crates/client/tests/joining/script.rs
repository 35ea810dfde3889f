//! What is asked about a join link in every front end (`tests/traces/join*.json`): the machine
//! here, the command line's driver, whose tests include this file, and the page's.

use ostrakon_client::Millis;
use ostrakon_client::joining::JoiningCall;
use serde::{Deserialize, Serialize};

pub use crate::exchange::{Exchange, Played};

/// The scripts: of a look, and of a request that servers take with troubles.
pub const CANVASSES: [&str; 2] = ["join-look", "join-troubles"];

/// What was asked, and what servers answered.
#[derive(Serialize, Deserialize)]
pub struct CanvassScript {
    pub call: JoiningCall,
    /// What the device draws from.
    pub seed: [u8; 32],
    pub start: Millis,
    /// For how long it is watched.
    pub lasts: Millis,
    pub exchanges: Vec<Exchange>,
}
