//! The scripts that every front end is played (`tests/traces/*.json`): the machine here, and the
//! command line's driver, whose tests include this file.

use ostrakon_client::Millis;
use ostrakon_mixing::RoomDescriptor;
use ostrakon_protocol::Status;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The scripts.
pub const NAMES: [&str; 5] = ["plain", "troubles", "again", "follow", "follow-end"];

/// A script, and what it makes a device send.
#[derive(Serialize, Deserialize)]
pub struct Trace {
    /// The answer of `GET /api/v1/servers`.
    pub servers: Value,
    pub descriptor: RoomDescriptor,
    /// The seed of the device's key, and what it draws from.
    pub key: [u8; 32],
    pub seed: [u8; 32],
    pub before: Option<u8>,
    /// What it has to say; nothing, if it only follows the room.
    pub message: String,
    /// Entries before the end from which it follows the board of a room for messages.
    pub back: u64,
    pub start: Millis,
    /// For how long it is watched.
    pub lasts: Millis,
    pub statuses: Vec<Said>,
    pub rules: Vec<Rule>,
    pub requests: Vec<Sent>,
}

/// A server's word on the room, which the device has at that time; `None` if it is silent.
#[derive(Serialize, Deserialize)]
pub struct Said {
    pub at: Millis,
    pub party: u8,
    pub status: Option<Status>,
}

/// From a time on, a server answers requests with this in their paths so; the last rule counts.
/// Without one there is no answer, nor where the status is 0.
#[derive(Serialize, Deserialize)]
pub struct Rule {
    pub from: Millis,
    pub party: u8,
    pub path: String,
    pub delay: Millis,
    pub status: u16,
    pub body: String,
}

/// What left the device.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    pub at: Millis,
    pub party: u8,
    pub path: String,
    pub body: Option<String>,
}

impl Trace {
    /// What a server answers then: after how long, with which HTTP status, and what. Without an
    /// answer the status is 0, after all patience.
    pub fn answer(
        &self,
        at: Millis,
        party: u8,
        path: &str,
        patience: Millis,
    ) -> (Millis, u16, String) {
        let fits =
            |rule: &&Rule| rule.from <= at && rule.party == party && path.contains(&rule.path);
        match self.rules.iter().rfind(fits).filter(|rule| rule.status != 0) {
            Some(rule) => (rule.delay, rule.status, rule.body.clone()),
            None => (patience, 0, String::new()),
        }
    }
}
