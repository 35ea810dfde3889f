use ostrakon_broadcast::Entry;
use ostrakon_broadcast::board::Published;
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_mixing::EpochId;
use ostrakon_party::PartyId;
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
    let (mut board, mut outbox) = (Board::default(), Outbox::default());
    outbox.put(b"mine".to_vec()).unwrap();
    outbox.content(2);
    let mut first = signed(1, Digest([0; 32]), &["a", "\0P12345678x", "gone", "b"]);
    first.entry.messages[2] = first.entry.messages[2].erased();
    let second = signed(2, first.entry.digest(&pinned), &["mine"]);
    let mut read = |entry: SignedEntry| -> Value {
        let text = read_entries(&mut board, &[entry], &mut outbox);
        serde_json::from_str(&text).unwrap()
    };
    let expected = json!([{"epoch": 1, "accepted": 5, "signers": [0, 1, 2], "messages": ["a", "b"], "indices": [0, 3], "erased": [2], "ballots": 1}]);
    assert_eq!(
        read(first),
        json!({"entries": expected, "published": false, "erased": false, "again": false})
    );
    let settled = read(second);
    assert_eq!((&settled["published"], &settled["erased"]), (&json!(true), &json!(false)));
    assert_eq!(outbox.message(), None);
    assert_eq!(board.ballots.keys().collect::<Vec<_>>(), [&1]);
    assert_eq!(board.erased, BTreeMap::from([(1, 1), (2, 0)]));
}

#[test]
fn a_message_that_can_only_be_among_the_erased_is_not_called_unaltered() {
    for (texts, erased) in [(["mine", "other"], true), (["other", "mine"], false)] {
        let mut outbox = Outbox::default();
        outbox.put(b"mine".to_vec()).unwrap();
        outbox.content(2);
        let mut entry = signed(2, Digest([0; 32]), &texts);
        entry.entry.messages[0] = entry.entry.messages[0].erased();
        let read = read_entries(&mut Board::default(), &[entry], &mut outbox);
        let read: Value = serde_json::from_str(&read).unwrap();
        assert_eq!((&read["published"], &read["erased"]), (&json!(true), &json!(erased)));
    }
}
