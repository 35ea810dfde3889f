use ostrakon_broadcast::board::Published;
use ostrakon_broadcast::engine::{IssueError, Shape};
use ostrakon_broadcast::row::Content;
use ostrakon_broadcast::{Entry, EpochContext, EpochId, RowFormat};
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
    RoomDescriptor { payload: 64, capacity: 9, seconds: 1, ..RoomDescriptor::new("r") }
}

fn signed(number: u64, previous: Digest, messages: &[&str]) -> SignedEntry {
    let servers = servers(&answer().to_string()).unwrap();
    let keep = |text: &&str| Published::Kept { salt: [1; 16], body: text.as_bytes().to_vec() };
    let messages = messages.iter().map(keep).collect();
    let entry =
        Entry { epoch: EpochId { room: room().id(), number }, previous, accepted: 5, messages };
    let signatures = (0..)
        .zip(keys())
        .map(|(party, key)| (PartyId(party), entry.sign(&servers, &key)))
        .collect();
    SignedEntry { entry, signatures }
}

#[test]
fn so_many_servers_are_believed_as_the_engine_bears() {
    assert_eq!(trust("ruffle", 3), Trust::one_of_three());
    assert_eq!(trust("clarion", 3).believed(), 2);
    assert_eq!(trust("ruffle", 5).believed(), 5, "it is not for five");
    assert_eq!(trust("something", 3).believed(), 3);
    assert_eq!(trust("", 0).believed(), 1);
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
    let name = IssueName { room: id, number: 4, party: PartyId(1) };
    let exchange = Exchange::new(&key, &name).public();
    let query = sign_issue_request(&key, &id.to_hex(), 4, 1).unwrap();
    let start = format!(
        "key={}&exchange={}&signature=",
        key.verifying_key().to_hex(),
        Digest(exchange).to_hex()
    );
    let request = bytes(query.strip_prefix(&start).unwrap().to_owned());
    assert!(key.verifying_key().verifies(&envelope::request_digest(&name, &exchange), &request));
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
    let mut board = Board::new(BoardReader::new(pinned.clone(), room()));
    let mut outbox = Outbox::default();
    outbox.put(b"mine".to_vec()).unwrap();
    outbox.content(2);
    let mut first = signed(1, Digest([0; 32]), &["a", "\0P12345678x", "gone", "b"]);
    first.entry.messages[2] = first.entry.messages[2].erased();
    let second = signed(2, first.entry.digest(&pinned), &["mine"]);
    let mut read = |entries: &[&SignedEntry]| -> Result<Value, String> {
        let text = read_entries(&mut board, &json!(entries).to_string(), &mut outbox)?;
        Ok(serde_json::from_str(&text).unwrap())
    };
    let expected = json!([{"epoch": 1, "accepted": 5, "signers": [0, 1, 2], "messages": ["a", "b"], "indices": [0, 3], "erased": [2], "ballots": 1}]);
    assert_eq!(
        read(&[&first]).unwrap(),
        json!({"entries": expected, "published": false, "erased": false, "again": false})
    );
    let mut forged = second.clone();
    forged.entry.accepted = 900;
    assert!(read(&[&forged]).unwrap_err().contains("signature"));
    let settled = read(&[&second]).unwrap();
    assert_eq!((&settled["published"], &settled["erased"]), (&json!(true), &json!(false)));
    assert_eq!(outbox.message(), None);
    assert_eq!(board.ballots.keys().collect::<Vec<_>>(), [&1]);
    assert_eq!(board.erased, BTreeMap::from([(1, 1), (2, 0)]));
}

#[test]
fn a_message_that_can_only_be_among_the_erased_is_not_called_unaltered() {
    let pinned = servers(&answer().to_string()).unwrap();
    for (texts, erased) in [(["mine", "other"], true), (["other", "mine"], false)] {
        let mut board = Board::new(BoardReader::new(pinned.clone(), room()));
        let mut outbox = Outbox::default();
        outbox.put(b"mine".to_vec()).unwrap();
        outbox.content(2);
        let mut entry = signed(2, Digest([0; 32]), &texts);
        entry.entry.messages[0] = entry.entry.messages[0].erased();
        let read = read_entries(&mut board, &json!([entry]).to_string(), &mut outbox).unwrap();
        let read: Value = serde_json::from_str(&read).unwrap();
        assert_eq!((&read["published"], &read["erased"]), (&json!(true), &json!(erased)));
    }
}

/// Hands the row in as it is.
struct Plain;

impl ClientEngine for Plain {
    fn submit(
        &self,
        _: &Servers,
        _: &EpochContext,
        _: u32,
        _: &[Option<Vec<u8>>],
        row: &[u8],
        _: &SigningKey,
    ) -> Result<Vec<u8>, IssueError> {
        Ok(row.to_vec())
    }
}

/// What server `signer` makes for server `party`'s place, in answer to the request of a device for
/// epoch 5, saying that the epoch is `number` with `batch`.
fn sent(device: &SigningKey, signer: usize, party: u8, number: u64, batch: u64) -> Vec<u8> {
    let (servers, room) = (servers(&answer().to_string()).unwrap(), room());
    let name = IssueName { room: room.id(), number: 5, party: PartyId(party) };
    let exchange = Exchange::new(device, &name).public();
    let epoch = EpochId { room: room.id(), number };
    let context = EpochContext {
        epoch,
        batch,
        engine: room.engine,
        shape: Shape::of(&room),
        mode: room.mode,
        minimum: room.minimum,
    };
    let issued = Issued { context, slot: 4, issue: vec![party] };
    let sign = |digest: &Digest| keys()[signer].sign(digest);
    let offer = envelope::offer(&servers, &name, &device.verifying_key(), issued, sign);
    envelope::close(&servers, &name, &device.verifying_key(), &exchange, &offer, [5; 32])
}

fn no_issues() -> Issues {
    Issues::new(servers(&answer().to_string()).unwrap(), room(), 5)
}

#[test]
fn a_submission_is_made_of_what_two_servers_gave() {
    let device = SigningKey::from_seed(&[9; 32]);
    let mut outbox = Outbox::default();
    outbox.put(b"hello".to_vec()).unwrap();
    let mut issues = no_issues();
    issues.take(&device, 2, &sent(&device, 2, 2, 5, 3)).unwrap();
    assert!(issues.submission(&Plain, &mut outbox, &device).unwrap_err().contains("two servers"));
    issues.take(&device, 0, &sent(&device, 0, 0, 5, 3)).unwrap();
    let made = issues.submission(&Plain, &mut outbox, &device).unwrap().unwrap();
    assert_eq!(made.slot, 4);
    assert_eq!(
        RowFormat::new(&room(), 5).decode(&made.body),
        Some(Content::Message(b"hello".to_vec()))
    );
}

#[test]
fn nobody_puts_itself_in_a_server_s_place() {
    let device = SigningKey::from_seed(&[9; 32]);
    let mut issues = no_issues();
    for (signer, place) in [(0, 1), (1, 0), (2, 1)] {
        let refusal = issues.take(&device, place, &sent(&device, signer, place, 5, 3)).unwrap_err();
        assert!(refusal.contains(&format!("server P{place}")), "{refusal}");
    }
    assert!(
        issues.take(&device, 2, &sent(&device, 1, 1, 5, 3)).is_err(),
        "a server's issue in another's place"
    );
    assert!(issues.take(&device, 9, &sent(&device, 1, 1, 5, 3)).is_err(), "no such server");
    assert!(
        issues.take(&SigningKey::from_seed(&[8; 32]), 1, &sent(&device, 1, 1, 5, 3)).is_err(),
        "another's"
    );
    assert!(issues.given.iter().all(Option::is_none));
}

/// With the true batch under another number, a server would otherwise get two different rows under
/// the same masks.
#[test]
fn one_server_alone_cannot_name_another_epoch_or_batch() {
    let device = SigningKey::from_seed(&[9; 32]);
    let mut outbox = Outbox::default();
    outbox.put(b"hello".to_vec()).unwrap();
    let before = outbox.clone();
    let mut issues = no_issues();
    assert!(
        issues.take(&device, 0, &sent(&device, 0, 0, 4, 3)).is_err(),
        "not the epoch that was asked for"
    );
    issues.take(&device, 0, &sent(&device, 0, 0, 5, 2)).unwrap();
    issues.take(&device, 1, &sent(&device, 1, 1, 5, 3)).unwrap();
    assert!(issues.submission(&Plain, &mut outbox, &device).is_err());
    assert_eq!(outbox, before, "nothing was decided");
    issues.take(&device, 2, &sent(&device, 2, 2, 5, 3)).unwrap();
    assert!(issues.submission(&Plain, &mut outbox, &device).unwrap().is_some());
}
