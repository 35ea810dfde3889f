//! The beginnings of decisions that every front end is played (`tests/traces/begin*.json`): the
//! machine here, the command line's driver, whose tests include this file, and the page's.

use ostrakon_client::Millis;
use ostrakon_decide::Draft;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::exchange::{Exchange, Played};

/// The scripts: of somebody who decides, too; and with troubles.
pub const BEGINNINGS: [&str; 2] = ["begin", "begin-troubles"];

/// What was asked, and what servers answered.
#[derive(Serialize, Deserialize)]
pub struct BeginningScript {
    /// The answer of `GET /api/v1/servers`.
    pub servers: Value,
    pub draft: Draft,
    /// The seed of the creator's account, and what its device draws from.
    pub key: [u8; 32],
    pub seed: [u8; 32],
    pub start: Millis,
    /// For how long it is watched.
    pub lasts: Millis,
    pub exchanges: Vec<Exchange>,
}
