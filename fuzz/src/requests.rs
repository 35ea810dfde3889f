//! The bodies of requests to a server, and what servers announce to each other.

use ostrakon_mixing::envelope;
use ostrakon_mixing::envelope::Exchange;
use ostrakon_mixing::link::presence_digest;
use ostrakon_mixing::room::RoomId;
use ostrakon_node::announcement::{Announcement, Body};
use ostrakon_party::PartyId;
use ostrakon_protocol::{IssueRequest, NewRoom, Presence, SubmissionRequest, parse_room};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{issue_name, key, room, valid_submission};

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain data")
}

/// Reads a request, and checks that what was read says the same when it is written.
fn read<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(bytes: &[u8]) -> Option<T> {
    let request: T = serde_json::from_slice(bytes).ok()?;
    assert_eq!(serde_json::from_slice::<T>(&json(&request)).ok().as_ref(), Some(&request));
    Some(request)
}

pub fn valid_presence() -> Vec<u8> {
    let signature = key(8).sign(&presence_digest(&room().id(), 1_000, PartyId(1)));
    json(&Presence { key: key(8).verifying_key(), time: 1_000, signature })
}

pub fn read_presence(bytes: &[u8]) -> bool {
    let Some(presence) = read::<Presence>(bytes) else { return false };
    let digest = presence_digest(&room().id(), presence.time, PartyId(1));
    let verifies = presence.key.verifies(&digest, &presence.signature);
    let own = presence.key == key(8).verifying_key();
    assert!(
        !verifies || !own || presence.time == 1_000,
        "the participant has signed one presence only"
    );
    verifies && own
}

pub fn valid_issue_request() -> Vec<u8> {
    let exchange = Exchange::new(key(8), &issue_name()).public();
    let signature = key(8).sign(&envelope::request_digest(&issue_name(), &exchange));
    json(&IssueRequest { key: key(8).verifying_key(), exchange, signature })
}

pub fn read_issue_request(bytes: &[u8]) -> bool {
    let Some(request) = read::<IssueRequest>(bytes) else { return false };
    let digest = envelope::request_digest(&issue_name(), &request.exchange);
    let verifies = request.key.verifies(&digest, &request.signature);
    let own = request.key == key(8).verifying_key();
    let exchange = Exchange::new(key(8), &issue_name()).public();
    assert!(
        !verifies || !own || request.exchange == exchange,
        "the participant has signed one exchange key only"
    );
    verifies && own
}

pub fn valid_submission_request() -> Vec<u8> {
    json(&SubmissionRequest { key: key(8).verifying_key(), slot: 2, body: valid_submission() })
}

pub fn read_submission_request(bytes: &[u8]) -> bool {
    let Some(request) = read::<SubmissionRequest>(bytes) else { return false };
    // The body is base64url: never longer than the request.
    assert!(request.body.len() < bytes.len());
    request.key == key(8).verifying_key() && request.body == valid_submission()
}

pub fn valid_new_room() -> Vec<u8> {
    br#"{"name":"A room","payload":64,"capacity":12,"seconds":10,"minimum":3,"mode":"fair"}"#
        .to_vec()
}

/// Whatever is asked for, a room that is created has a descriptor that everybody accepts.
pub fn read_new_room(bytes: &[u8]) -> bool {
    let Some(wanted) = read::<NewRoom>(bytes) else { return false };
    let descriptor = wanted.descriptor([4; 16]);
    if descriptor.validate().is_err() {
        return false;
    }
    let id = descriptor.id();
    assert_eq!(parse_room(&id.to_hex()).ok(), Some(id));
    true
}

pub fn valid_announcement() -> Vec<u8> {
    let slots = vec![(1, key(8).verifying_key()), (4, key(9).verifying_key())];
    let body = Body::Assigned { room: RoomId([4; 16]), epoch: 3, slots };
    Announcement { after: vec![3, 9, 4], body }.encode()
}

pub fn read_announcement(bytes: &[u8]) -> bool {
    let Ok(announcement) = Announcement::decode(bytes, 3) else { return false };
    assert_eq!(announcement.encode(), bytes, "only one encoding is accepted");
    true
}
