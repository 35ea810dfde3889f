//! The visits that every front end is played (`tests/traces/visit*.json`): the machine here, the
//! command line's driver, whose tests include this file, and the page's.

use ostrakon_client::{Http, Millis};
use serde::{Deserialize, Serialize};
use serde_json::Value;

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

/// A request, and what comes of it after a while. Without an answer the status is 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    pub at: Millis,
    pub party: u8,
    pub path: String,
    /// What is posted: bytes in base64url.
    pub body: Option<String>,
    pub delay: Millis,
    pub status: u16,
    pub answer: String,
}

/// Servers that answer as they are written to have answered.
pub struct Played {
    left: Vec<Exchange>,
    /// What was asked, with when.
    pub asked: Vec<Exchange>,
}

impl Played {
    pub fn new(script: &Script) -> Self {
        Self { left: script.exchanges.clone(), asked: Vec::new() }
    }

    /// What comes of a request; nothing, if there is no such in the script.
    pub fn answer(&mut self, at: Millis, party: u8, http: &Http, patience: Millis) -> Exchange {
        let body = http.body.as_ref().map(|body| body.text());
        let (path, answer) = (http.path.clone(), String::new());
        let silent = Exchange { at, party, path, body, delay: patience, status: 0, answer };
        let same = |one: &Exchange| {
            (one.party, &one.path, &one.body) == (silent.party, &silent.path, &silent.body)
        };
        let found = self.left.iter().position(same).map(|place| self.left.remove(place));
        let exchange = found.map_or(silent, |found| Exchange { at, ..found });
        self.asked.push(exchange.clone());
        exchange
    }
}
