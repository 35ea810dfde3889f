//! What passes between a device and servers that answer as they are written to have answered. The
//! scripts' tests include this file.

use ostrakon_client::{Http, Millis};
use serde::{Deserialize, Serialize};

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
    pub fn new(exchanges: &[Exchange]) -> Self {
        Self { left: exchanges.to_vec(), asked: Vec::new() }
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
