//! What the bindings do, in plain Rust.

use std::collections::BTreeMap;

use ostrakon_broadcast::hosting::is_ballot;
use ostrakon_broadcast::outbox::{Observed, Outbox};
use ostrakon_broadcast::{Entry, SignedEntry};
use ostrakon_client::servers_of;
use ostrakon_mixing::link::Link;
use ostrakon_mixing::{RoomDescriptor, Servers, engines};
use ostrakon_party::Trust;
use ostrakon_protocol::ServersInfo;
use serde::Serialize;

/// What is shown to the user.
type Sentence = String;

/// Reads the answer of `GET /api/v1/servers`.
pub fn servers(json: &str) -> Result<Servers, Sentence> {
    let info = serde_json::from_str::<ServersInfo>(json).ok();
    info.and_then(|info| servers_of(&info))
        .ok_or_else(|| "the server's list of servers is malformed".to_owned())
}

/// Reads a room's descriptor and checks its limits.
pub fn descriptor(json: &str) -> Result<RoomDescriptor, Sentence> {
    let room: RoomDescriptor = serde_json::from_str(json)
        .map_err(|_| "the server's description of the room is malformed".to_owned())?;
    room.validate().map_err(|error| error.to_string())?;
    Ok(room)
}

/// What an engine bears among so many servers, by its name in descriptors. Of one that is not
/// known, or not for so many, nobody is believed alone.
pub fn trust(engine: &str, servers: usize) -> Trust {
    let kind = serde_json::from_value(engine.into()).ok();
    let known = kind.and_then(|kind| engines::trust(kind, servers).ok());
    let all = || Trust::all_but_one(servers.clamp(1, 255)).expect("so many can be");
    known.unwrap_or_else(all)
}

#[derive(Serialize)]
struct ReadLink {
    origin: String,
    room: String,
    servers: String,
    invitation: Option<String>,
}

pub fn parse_link(text: &str) -> Result<String, Sentence> {
    let link: Link =
        text.parse().map_err(|error: ostrakon_mixing::link::InvalidLink| error.to_string())?;
    Ok(json(&ReadLink {
        room: link.room.to_hex(),
        servers: link.servers.to_hex(),
        invitation: link.invitation.map(|invitation| invitation.to_text()),
        origin: link.origin,
    }))
}

/// One entry of the wall, as it is shown.
#[derive(Serialize)]
struct ShownEntry {
    epoch: u64,
    accepted: u32,
    signers: Vec<u8>,
    /// Texts that are there.
    messages: Vec<String>,
    /// Their places among the entry's messages, by which hosts name them.
    indices: Vec<usize>,
    /// Places of messages whose bodies were erased.
    erased: Vec<usize>,
    /// Answers to polls.
    ballots: usize,
}

#[derive(Serialize)]
struct Reading {
    entries: Vec<ShownEntry>,
    published: bool,
    /// It was taken as published, and is not among the bodies that are left.
    erased: bool,
    again: bool,
}

/// Of the entries that were read: the answers to polls that they hold, and how many bodies they
/// lack.
#[derive(Default)]
pub struct Board {
    pub ballots: BTreeMap<u64, Entry>,
    pub erased: BTreeMap<u64, usize>,
}

/// Shows verified entries to the outbox, and describes them.
pub fn read_entries(board: &mut Board, entries: &[SignedEntry], outbox: &mut Outbox) -> String {
    let mut reading =
        Reading { entries: Vec::new(), published: false, erased: false, again: false };
    for signed in entries {
        // Published is also what may be among the erased; the author is told which of the two it
        // is.
        let legible =
            outbox.message().is_some_and(|own| signed.entry.bodies().any(|body| body == own));
        match outbox.observe(&signed.entry) {
            // The outbox says so itself.
            Observed::Nothing | Observed::Held => {}
            Observed::Published => (reading.published, reading.erased) = (true, !legible),
            Observed::Again => reading.again = true,
        }
        let shown = shown(signed);
        board.erased.insert(shown.epoch, shown.erased.len());
        reading.entries.push(shown);
        let mut entry = signed.entry.clone();
        entry.messages.retain(|message| message.body().is_some_and(is_ballot));
        if !entry.messages.is_empty() {
            board.ballots.insert(entry.epoch.number, entry);
        }
    }
    json(&reading)
}

fn shown(signed: &SignedEntry) -> ShownEntry {
    let entry = &signed.entry;
    let mut shown = ShownEntry {
        epoch: entry.epoch.number,
        accepted: entry.accepted,
        signers: signed.signatures.iter().map(|(party, _)| party.0).collect(),
        messages: Vec::new(),
        indices: Vec::new(),
        erased: Vec::new(),
        ballots: 0,
    };
    for (index, message) in entry.messages.iter().enumerate() {
        match message.body() {
            None => shown.erased.push(index),
            Some(body) if is_ballot(body) => shown.ballots += 1,
            Some(body) => {
                shown.messages.push(String::from_utf8_lossy(body).into_owned());
                shown.indices.push(index);
            }
        }
    }
    shown
}

pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("writing plain data into memory does not fail")
}

#[cfg(test)]
mod tests;
