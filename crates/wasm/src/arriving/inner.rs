//! What the binding does, in plain Rust.

use ostrakon_client::host::Refusal;
use ostrakon_client::{
    Arrived, ArrivedRoom, ArrivingAction, ArrivingFailure, ArrivingNews, Destination, Documents,
};
use ostrakon_crypto::{Digest, Secret};
use ostrakon_mixing::{RoomDescriptor, RoomId};
use ostrakon_protocol::ServersInfo;
use serde::{Deserialize, Serialize};

use crate::inner::json;
use crate::taking_part::inner::AskJson;

/// What is shown to the user.
type Sentence = String;

pub struct Arriving {
    pub machine: ostrakon_client::Arriving,
}

/// What was kept of a room.
#[derive(Deserialize)]
struct KeptJson {
    /// JSON.
    servers: String,
    descriptor: RoomDescriptor,
}

#[derive(Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum ArrivingJson {
    Ask(AskJson),
    Found { addresses: Vec<String> },
    Arrived(Box<ArrivedJson>),
    Failed { failure: NotArrived },
}

#[derive(Serialize)]
struct ArrivedJson {
    servers: ServersInfo,
    addresses: Vec<String>,
    entrance: String,
    room: Option<RoomJson>,
    contradicting: Vec<u8>,
}

#[derive(Serialize)]
struct RoomJson {
    descriptor: RoomDescriptor,
    closed: bool,
}

/// Why somebody does not arrive.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum NotArrived {
    OtherServers { at: String },
    OtherRoom { at: String },
    Unusable { why: String },
    Server { at: String, status: u16, detail: String },
    Malformed { at: String, why: String },
    Away { at: String },
}

impl NotArrived {
    fn of(failure: ArrivingFailure) -> Self {
        match failure {
            ArrivingFailure::OtherServers { at } => Self::OtherServers { at },
            ArrivingFailure::OtherRoom { at } => Self::OtherRoom { at },
            ArrivingFailure::Unusable { why } => Self::Unusable { why },
            ArrivingFailure::Refused { at, refusal: Refusal { status, detail } } => {
                Self::Server { at, status, detail }
            }
            ArrivingFailure::Malformed { at, why } => Self::Malformed { at, why },
            ArrivingFailure::Away { at } => Self::Away { at },
        }
    }
}

impl ArrivingJson {
    fn of(news: ArrivingNews) -> Self {
        match news {
            ArrivingNews::Found(addresses) => Self::Found { addresses },
            ArrivingNews::Arrived(arrived) => {
                let Arrived { info: servers, addresses, entrance, room, contradicting, .. } =
                    *arrived;
                let room =
                    room.map(|ArrivedRoom { descriptor, closed }| RoomJson { descriptor, closed });
                let contradicting = contradicting.into_iter().map(|party| party.0).collect();
                let arrived = ArrivedJson { servers, addresses, entrance, room, contradicting };
                Self::Arrived(Box::new(arrived))
            }
            ArrivingNews::Failed(failure) => Self::Failed { failure: NotArrived::of(failure) },
        }
    }
}

impl Arriving {
    pub fn new(
        origin: &str,
        servers: Option<&str>,
        room: Option<&str>,
        kept: Option<&str>,
        seed: &[u8],
    ) -> Result<Self, Sentence> {
        let digest = |text| Digest::from_hex(text).ok_or("a digest of servers is malformed");
        let id = |text| RoomId::from_hex(text).ok_or("a room's id is malformed");
        let (servers, room) = (servers.map(digest).transpose()?, room.map(id).transpose()?);
        let seed = seed.try_into().map_err(|_| "a seed has 32 bytes")?;
        let destination = Destination { origin: origin.to_owned(), servers, room };
        let machine = ostrakon_client::Arriving::new(
            destination,
            kept.and_then(documents),
            Secret::new(seed),
        );
        Ok(Self { machine })
    }

    pub fn actions(&mut self) -> String {
        let mut actions = Vec::new();
        while let Some(action) = self.machine.next_action() {
            actions.push(match action {
                ArrivingAction::Ask(sending) => ArrivingJson::Ask(AskJson::of(sending)),
                ArrivingAction::Tell(news) => ArrivingJson::of(news),
            });
        }
        json(&actions)
    }
}

fn documents(kept: &str) -> Option<Documents> {
    let KeptJson { servers, descriptor } = serde_json::from_str(kept).ok()?;
    Some(Documents { servers: serde_json::from_str(&servers).ok()?, descriptor })
}

#[cfg(test)]
mod tests;
