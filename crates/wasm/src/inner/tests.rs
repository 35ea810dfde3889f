use ostrakon_broadcast::row::Content;
use ostrakon_broadcast::{EngineKind, Entry, Mode};
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

/// Hands the row in as it is, once two servers have given anything but the byte 255.
struct Plain;

impl ClientEngine for Plain {
    fn submit(
        &self,
        _: &Servers,
        _: &EpochContext,
        _: u32,
        issues: &[Option<Vec<u8>>],
        row: &[u8],
        _: &SigningKey,
    ) -> Result<Vec<u8>, IssueError> {
        if let Some(at) = issues.iter().position(|issue| *issue == Some(vec![255])) {
            return Err(IssueError::Bad(PartyId(u8::try_from(at).unwrap())));
        }
        if issues.iter().flatten().count() >= 2 { Ok(row.to_vec()) } else { Err(IssueError::Incomplete) }
    }
}

fn context_of(room: &RoomDescriptor, number: u64) -> EpochContext {
    let epoch = EpochId { room: room.id(), number };
    EpochContext { epoch, batch: 3, shape: Shape::of(room), mode: room.mode, minimum: room.minimum }
}

#[test]
fn a_submission_carries_what_the_outbox_puts_into_the_epoch() {
    let (servers, room) = (servers(&answer().to_string()).unwrap(), room());
    let key = SigningKey::from_seed(&[9; 32]);
    let mut outbox = Outbox::default();
    outbox.put(b"hello".to_vec()).unwrap();
    let mut submit = |number, issues: &[Option<Vec<u8>>]| {
        let context = json!(context_of(&room, number)).to_string();
        let place = Place { servers: &servers, room: &room, context: &context, slot: 4, issues };
        super::submit(&Plain, &place, &mut outbox, &key)
    };
    assert!(submit(5, &[None, Some(vec![1]), None]).unwrap_err().contains("wait"));
    assert!(submit(5, &[Some(vec![255]), Some(vec![1]), None]).unwrap_err().contains("wait"));
    let given = [Some(vec![1]), Some(vec![1]), Some(vec![255])];
    let body = submit(5, &given).unwrap().unwrap();
    assert_eq!(RowFormat::new(&room, 5).decode(&body), Some(Content::Message(b"hello".to_vec())));
    assert_eq!(submit(5, &given), Ok(Some(body)), "asked again, the same answer");
    let cover = submit(6, &given).unwrap().unwrap();
    assert_eq!(RowFormat::new(&room, 6).decode(&cover), Some(Content::Cover));
    assert_eq!(submit(5, &given), Ok(None));
}

#[test]
fn an_epoch_that_is_not_the_room_s_gets_nothing() {
    let (servers, room) = (servers(&answer().to_string()).unwrap(), room());
    let key = SigningKey::from_seed(&[9; 32]);
    let good = context_of(&room, 5);
    let other_room = context_of(&RoomDescriptor { nonce: [1; 16], ..room.clone() }, 5);
    let wider = EpochContext { shape: Shape { rows: 9, width: 8 }, ..good.clone() };
    let laxer = EpochContext { minimum: 0, ..good.clone() };
    let trusting = EpochContext { mode: Mode::Robust, ..good.clone() };
    for (context, slot) in [(other_room, 0), (wider, 0), (laxer, 0), (trusting, 0), (good, room.capacity)] {
        let context = json!(context).to_string();
        let place = Place { servers: &servers, room: &room, context: &context, slot, issues: &[Some(vec![1])] };
        let mut outbox = Outbox::default();
        assert!(super::submit(&Plain, &place, &mut outbox, &key).unwrap_err().contains("otherwise"));
        assert_eq!(outbox, Outbox::default(), "nothing was decided");
    }
}
