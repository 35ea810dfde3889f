//! The visits that every front end is played (`tests/traces/visit*.json`): the machine here, the
//! command line's driver, whose tests include this file, and the page's.

use ostrakon_client::Millis;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::exchange::{Exchange, Played};

/// The scripts.
pub const NAMES: [&str; 2] = ["visit", "visit-troubles"];

/// A visit: what was asked, and what servers answered.
#[derive(Serialize, Deserialize)]
pub struct Script {
    /// The answer of `GET /api/v1/servers`.
    pub servers: Value,
    /// The decision's id.
    pub decision: String,
    /// The seed of the device's account, and what it draws from.
    pub key: [u8; 32],
    pub seed: [u8; 32],
    pub start: Millis,
    /// For how long it is watched.
    pub lasts: Millis,
    /// What the person does.
    pub wishes: Vec<Wish>,
    pub exchanges: Vec<Exchange>,
}

/// Something that the person does at a time: accepts without answers, answers otherwise.
#[derive(Clone, Serialize, Deserialize)]
pub struct Wish {
    pub at: Millis,
    pub answers: Option<Vec<u8>>,
}
