//! What the bindings do, in plain Rust.

use ostrakon_broadcast::client::{BoardReader, Link, Observed, Outbox, issue_digest, presence_digest};
use ostrakon_broadcast::engine::{IssueError, Shape};
use ostrakon_broadcast::{
    ClientEngine, EpochContext, EpochId, RoomDescriptor, RoomId, RowFormat, Servers, SignedEntry,
};
use ostrakon_crypto::{Digest, SigningKey, VerifyingKey};
use ostrakon_party::{PartyId, SessionId};
use serde::{Deserialize, Serialize};

/// What is shown to the user.
type Sentence = String;

/// The answer of `GET /api/v1/servers`, as far as it matters here.
#[derive(Deserialize)]
struct ServersAnswer {
    session: String,
    servers: Vec<ServerAnswer>,
}

#[derive(Deserialize)]
struct ServerAnswer {
    party: u8,
    key: String,
}

/// Reads the answer of `GET /api/v1/servers`.
pub fn servers(json: &str) -> Result<Servers, Sentence> {
    let malformed = || "the server's list of servers is malformed".to_owned();
    let answer: ServersAnswer = serde_json::from_str(json).map_err(|_| malformed())?;
    let session = Digest::from_hex(&answer.session).ok_or_else(malformed)?;
    let in_order = answer.servers.iter().enumerate().all(|(i, server)| usize::from(server.party) == i);
    let keys: Option<Vec<_>> = answer.servers.iter().map(|server| VerifyingKey::from_hex(&server.key)).collect();
    match keys {
        Some(keys) if in_order => Ok(Servers { session: SessionId(session), keys }),
        _ => Err(malformed()),
    }
}

/// Reads a room's descriptor and checks its limits.
pub fn descriptor(json: &str) -> Result<RoomDescriptor, Sentence> {
    let room: RoomDescriptor =
        serde_json::from_str(json).map_err(|_| "the server's description of the room is malformed".to_owned())?;
    room.validate().map_err(|error| error.to_string())?;
    Ok(room)
}

fn room_id(hex: &str) -> Result<RoomId, Sentence> {
    RoomId::from_hex(hex).ok_or_else(|| "this is no room's name: it must have 32 hexadecimal digits".to_owned())
}

pub fn sign_presence(key: &SigningKey, room: &str, time: u64, party: u8) -> Result<String, Sentence> {
    let digest = presence_digest(&room_id(room)?, time, PartyId(party));
    Ok(data_encoding::HEXLOWER.encode(&key.sign(&digest).0))
}

pub fn sign_issue_request(key: &SigningKey, room: &str, number: u64, party: u8) -> Result<String, Sentence> {
    let digest = issue_digest(&room_id(room)?, number, PartyId(party));
    Ok(data_encoding::HEXLOWER.encode(&key.sign(&digest).0))
}

#[derive(Serialize)]
struct ReadLink {
    origin: String,
    room: String,
    servers: String,
}

pub fn parse_link(text: &str) -> Result<String, Sentence> {
    let link: Link = text.parse().map_err(|error: ostrakon_broadcast::client::InvalidLink| error.to_string())?;
    Ok(json(&ReadLink { room: link.room.to_hex(), servers: link.servers.to_hex(), origin: link.origin }))
}

/// What a submission is made from, besides what the device keeps.
pub struct Place<'a> {
    pub servers: &'a Servers,
    pub room: &'a RoomDescriptor,
    /// The epoch's context, as a server describes it.
    pub context: &'a str,
    pub slot: u32,
    /// What each server gave for the slot.
    pub issues: &'a [Option<Vec<u8>>],
}

/// Makes the submission of an epoch from what the outbox puts into it; `None` if the epoch is over.
pub fn submit(
    engine: &dyn ClientEngine,
    place: &Place<'_>,
    outbox: &mut Outbox,
    key: &SigningKey,
) -> Result<Option<Vec<u8>>, Sentence> {
    let context = context(place)?;
    let Some(content) = outbox.content(context.epoch.number) else { return Ok(None) };
    let row = RowFormat::new(place.room, context.epoch.number).encode(&content).map_err(|error| error.to_string())?;
    let mut issues = place.issues.to_vec();
    loop {
        match engine.submit(place.servers, &context, place.slot, &issues, &row, key) {
            Ok(body) => return Ok(Some(body)),
            // What one server spoils, the others may make good.
            Err(IssueError::Bad(party)) if issues.get(party.index()).is_some_and(Option::is_some) => {
                issues[party.index()] = None;
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Reads an epoch's context and compares it with what the room's descriptor says it must be.
fn context(place: &Place<'_>) -> Result<EpochContext, Sentence> {
    let room = place.room;
    let context: EpochContext = serde_json::from_str(place.context)
        .map_err(|_| "the server's description of the epoch is malformed".to_owned())?;
    let expected = EpochContext {
        epoch: EpochId { room: room.id(), number: context.epoch.number },
        batch: context.batch,
        shape: Shape::of(room),
        mode: room.mode,
        minimum: room.minimum,
    };
    if context != expected || place.slot >= room.capacity {
        return Err("the server describes the epoch otherwise than the room: the message was not sent".to_owned());
    }
    Ok(context)
}

/// One entry of the wall, as it is shown.
#[derive(Serialize)]
struct ShownEntry {
    epoch: u64,
    accepted: u32,
    signers: Vec<u8>,
    messages: Vec<String>,
}

#[derive(Serialize)]
struct Reading {
    entries: Vec<ShownEntry>,
    published: bool,
    again: bool,
}

/// Verifies the next entries of a board, shows them to the outbox, and describes them.
pub fn read_entries(reader: &mut BoardReader, entries: &str, outbox: &mut Outbox) -> Result<String, Sentence> {
    let entries: Vec<SignedEntry> =
        serde_json::from_str(entries).map_err(|_| "the server's wall is malformed".to_owned())?;
    reader.read(&entries).map_err(|error| error.to_string())?;
    let mut reading = Reading { entries: Vec::new(), published: false, again: false };
    for signed in &entries {
        match outbox.observe(&signed.entry) {
            Observed::Nothing => {}
            Observed::Published => reading.published = true,
            Observed::Again => reading.again = true,
        }
        reading.entries.push(shown(signed));
    }
    Ok(json(&reading))
}

fn shown(signed: &SignedEntry) -> ShownEntry {
    let entry = &signed.entry;
    ShownEntry {
        epoch: entry.epoch.number,
        accepted: entry.accepted,
        signers: signed.signatures.iter().map(|(party, _)| party.0).collect(),
        messages: entry.messages.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect(),
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("writing plain data into memory does not fail")
}

#[cfg(test)]
mod tests;
