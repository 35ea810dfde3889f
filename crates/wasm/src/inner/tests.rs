use ostrakon_broadcast::{EngineKind, Entry, EpochId, Mode};
use ostrakon_crypto::Signature;
use serde_json::{Value, json};

use super::*;

fn keys() -> Vec<SigningKey> {
    (1..=3).map(|seed| SigningKey::from_seed(&[seed; 32])).collect()
}

fn answer() -> Value {
    let server = |(party, key): (usize, &SigningKey)| json!({"party": party, "name": "n", "url": "http://h", "key": key.verifying_key().to_hex()});
    let servers: Vec<_> = keys().iter().enumerate().map(server).collect();
    json!({"you": 0, "session": "07".repeat(32), "digest": "", "servers": servers, "version": "0.1.0"})
}

fn room() -> RoomDescriptor {
    RoomDescriptor {
        name: "r".into(),
        engine: EngineKind::Ruffle,
        mode: Mode::Fair,
        payload: 64,
        capacity: 9,
        seconds: 1,
        minimum: 1,
        nonce: [0; 16],
    }
}

fn signed(number: u64, previous: Digest, messages: &[&str]) -> SignedEntry {
    let servers = servers(&answer().to_string()).unwrap();
    let messages = messages.iter().map(|text| text.as_bytes().to_vec()).collect();
    let entry = Entry { epoch: EpochId { room: room().id(), number }, previous, accepted: 5, messages };
    let signatures = (0..).zip(keys()).map(|(party, key)| (PartyId(party), entry.sign(&servers, &key))).collect();
    SignedEntry { entry, signatures }
}

#[test]
fn the_list_of_servers_is_read_in_order_only() {
    let read = servers(&answer().to_string()).unwrap();
    assert_eq!(read.session.0.0, [7; 32]);
    assert_eq!(read.keys, keys().iter().map(SigningKey::verifying_key).collect::<Vec<_>>());
    let mut swapped = answer();
    swapped["servers"].as_array_mut().unwrap().swap(0, 1);
    assert!(servers(&swapped.to_string()).is_err());
    let mut short = answer();
    short["servers"][0]["key"] = json!("00");
    assert!(servers(&short.to_string()).is_err());
    assert!(servers("[]").is_err());
}

#[test]
fn a_room_out_of_limits_is_refused_with_the_reason() {
    assert_eq!(descriptor(&json!(room()).to_string()), Ok(room()));
    let wide = RoomDescriptor { payload: 8192, ..room() };
    assert!(descriptor(&json!(wide).to_string()).unwrap_err().contains("8192"));
    assert!(descriptor("{}").is_err());
}

#[test]
fn signed_requests_are_what_servers_verify() {
    let key = SigningKey::from_seed(&[9; 32]);
    let id = room().id();
    let bytes = |hex: String| -> Signature {
        Signature(data_encoding::HEXLOWER.decode(hex.as_bytes()).unwrap().try_into().unwrap())
    };
    let presence = bytes(sign_presence(&key, &id.to_hex(), 1000, 2).unwrap());
    assert!(key.verifying_key().verifies(&presence_digest(&id, 1000, PartyId(2)), &presence));
    let request = bytes(sign_issue_request(&key, &id.to_hex(), 4, 1).unwrap());
    assert!(key.verifying_key().verifies(&issue_digest(&id, 4, PartyId(1)), &request));
    assert!(sign_presence(&key, "room", 1000, 2).is_err());
}

#[test]
fn links_come_out_in_their_parts() {
    let text = format!("https://a.example/#/room/{}/{}", room().id().to_hex(), "ab".repeat(32));
    let link: Value = serde_json::from_str(&parse_link(&text).unwrap()).unwrap();
    assert_eq!(link["origin"], "https://a.example");
    assert_eq!(link["room"], room().id().to_hex());
    assert_eq!(link["servers"], "ab".repeat(32));
    assert!(parse_link("https://a.example/").is_err());
}

#[test]
fn a_reading_shows_entries_and_settles_the_message() {
    let pinned = servers(&answer().to_string()).unwrap();
    let mut reader = BoardReader::new(pinned.clone(), room());
    let mut outbox = Outbox::default();
    outbox.put(b"mine".to_vec()).unwrap();
    outbox.content(2);
    let first = signed(1, Digest([0; 32]), &["a", "b"]);
    let second = signed(2, first.entry.digest(&pinned), &["mine"]);
    let mut read = |entries: &[&SignedEntry]| -> Result<Value, String> {
        let text = read_entries(&mut reader, &json!(entries).to_string(), &mut outbox)?;
        Ok(serde_json::from_str(&text).unwrap())
    };
    let expected = json!([{"epoch": 1, "accepted": 5, "signers": [0, 1, 2], "messages": ["a", "b"]}]);
    assert_eq!(read(&[&first]).unwrap(), json!({"entries": expected, "published": false, "again": false}));
    let mut forged = second.clone();
    forged.entry.accepted = 900;
    assert!(read(&[&forged]).unwrap_err().contains("signature"));
    assert_eq!(read(&[&second]).unwrap()["published"], true);
    assert_eq!(outbox.message(), None);
}
