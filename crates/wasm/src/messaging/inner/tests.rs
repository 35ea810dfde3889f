use ostrakon_broadcast::Entry;
use ostrakon_broadcast::board::Published;
use ostrakon_crypto::{Digest, SigningKey};
use ostrakon_mixing::EpochId;
use ostrakon_party::PartyId;
use serde_json::{Value, json};

use super::*;

const ORIGIN: &str = "http://a.example";

fn keys() -> Vec<SigningKey> {
    (1..=3).map(|seed| SigningKey::from_seed(&[seed; 32])).collect()
}

fn pinned() -> String {
    let server = |(party, key): (usize, &SigningKey)| json!({"party": party, "name": "n", "url": "http://h", "key": key.verifying_key().to_hex()});
    let list: Vec<_> = keys().iter().enumerate().map(server).collect();
    json!({"you": 0, "session": "07".repeat(32), "servers": list}).to_string()
}

fn room() -> RoomDescriptor {
    RoomDescriptor { payload: 256, capacity: 9, seconds: 1, ..RoomDescriptor::new("letters") }
}

fn messenger(name: &str) -> Messenger {
    Messenger::create(&pinned(), &json!(room()).to_string(), ORIGIN, name).unwrap()
}

/// A board that is written round by round.
struct Board {
    entries: Vec<SignedEntry>,
    round: u64,
}

impl Board {
    /// The next round, in which these take part: what each is told.
    fn round(&mut self, all: &mut [&mut Messenger]) -> Vec<Value> {
        let servers = servers(&pinned()).unwrap();
        let row = |one: &mut &mut Messenger| {
            let body = one.kept.client.next_row(self.round, &mut generator().unwrap()).unwrap();
            Published::Kept { salt: [1; 16], body }
        };
        let messages = all.iter_mut().map(row).collect();
        let last = self.entries.last();
        let previous = last.map_or(Digest([0; 32]), |last| last.entry.digest(&servers));
        let epoch = EpochId { room: room().id(), number: self.round };
        let entry = Entry { epoch, previous, accepted: 2, messages };
        let sign = |(party, key): (u8, SigningKey)| (PartyId(party), entry.sign(&servers, &key));
        let signatures = (0..).zip(keys()).map(sign).collect();
        self.entries.push(SignedEntry { entry, signatures });
        self.round += 1;
        let shown = &self.entries[self.entries.len() - 1..];
        let read = |one: &mut &mut Messenger| one.read(shown);
        all.iter_mut().map(|one| serde_json::from_str(&read(one)).unwrap()).collect()
    }
}

fn view(one: &Messenger) -> Value {
    serde_json::from_str(&one.view()).unwrap()
}

/// Two who are in conversation, of which the first one called.
fn connected() -> (Messenger, Messenger, Board) {
    let (mut ann, mut ben) = (messenger("Ann"), messenger("Ben"));
    let mut board = Board { entries: Vec::new(), round: 0 };
    ben.add_link("for Ann").unwrap();
    let link = view(&ben)["links"][0]["link"].as_str().unwrap().to_owned();
    assert!(link.starts_with("http://a.example/#/chat/"));
    assert_eq!(ann.contact_of(&link), None);
    assert_eq!(ann.add_contact(&link, "Benjamin"), Ok(0));
    assert_eq!((ann.contact_of(&link), ann.contact_of("")), (Some(0), None));
    ann.say(0, "Are you there?").unwrap();
    assert_eq!(view(&ann)["contacts"][0]["state"], "calling");
    for _ in 0..5 {
        board.round(&mut [&mut ann, &mut ben]);
    }
    let call = view(&ben)["contacts"][0].clone();
    assert_eq!((&call["state"], &call["name"]), (&json!("called"), &json!("Ann")));
    assert_eq!((&call["added"], &call["link"]), (&json!(false), &json!(0)));
    ben.engage(0).unwrap();
    for _ in 0..15 {
        board.round(&mut [&mut ann, &mut ben]);
    }
    (ann, ben, board)
}

#[test]
fn two_pages_talk_and_know_what_is_new() {
    let (ann, mut ben, _) = connected();
    let [of_ann, of_ben] = [view(&ann), view(&ben)].map(|view| view["contacts"][0].clone());
    assert_eq!(of_ann["code"], of_ben["code"]);
    assert_eq!((&of_ann["unread"], &of_ben["unread"]), (&json!(0), &json!(1)));
    assert_eq!(of_ann["last"]["state"], "delivered");
    let said: Value = serde_json::from_str(&ben.messages(0)).unwrap();
    assert_eq!(said[0]["text"], "Are you there?");
    ben.mark_read(0);
    assert_eq!(view(&ben)["contacts"][0]["unread"], 0);
    assert_eq!(ben.messages(7), "[]");
}

#[test]
fn what_is_kept_goes_on_where_it_stopped_and_no_row_is_made_twice() {
    let (mut ann, mut ben, mut board) = connected();
    ben.mark_read(0);
    ann.kept.client.next_row(board.round, &mut generator().unwrap()).unwrap();
    let sealed = ann.seal(&[7; 32]).unwrap();
    assert!(!sealed.windows(7).any(|bytes| bytes == b"Are you"));
    let open = |key: &[u8], sealed: &[u8]| {
        Messenger::open(&pinned(), &json!(room()).to_string(), ORIGIN, key, sealed)
    };
    assert!(open(&[8; 32], &sealed).is_err() && open(&[7; 31], &sealed).is_err());
    assert!(
        open(&[7; 32], &ann.kept.client.seal(&Secret::new([7; 32]), &mut generator().unwrap()))
            .is_err()
    );
    let mut again = open(&[7; 32], &sealed).unwrap();
    let spent = again.kept.client.next_row(board.round, &mut generator().unwrap());
    assert_eq!(spent, Err(Refused::Spent(board.round)));
    assert_eq!(again.messages(0), ann.messages(0));
    again.read(&board.entries[board.entries.len() - 1..]);
    assert!(again.over(board.round).contains("[]"));
    board.round += 1;
    ben.say(0, "Here.").unwrap();
    for _ in 0..10 {
        board.round(&mut [&mut again, &mut ben]);
    }
    assert!(again.messages(0).contains("Here."));
}

#[test]
fn refusals_name_their_kind() {
    let (mut ann, ben) = (messenger("Ann"), messenger("Ben"));
    ann.add_link("").unwrap();
    let own = view(&ann)["links"][0]["link"].as_str().unwrap().to_owned();
    let kind = |refused: Sentence| refused.split_once('|').unwrap().0.to_owned();
    assert_eq!(kind(ann.add_contact(&own, "me").unwrap_err()), "own-link");
    assert_eq!(kind(ann.add_contact("http://a.example/", "x").unwrap_err()), "no-link");
    let other = own.replace(&room().id().to_hex(), &"00".repeat(16));
    assert_eq!(kind(ann.add_contact(&other, "x").unwrap_err()), "other-room");
    assert_eq!(kind(ann.revoke(9).unwrap_err()), "no-such-link");
    assert_eq!(kind(ann.say(9, "x").unwrap_err()), "no-such-contact");
    assert!(view(&ben)["contacts"].as_array().unwrap().is_empty());
    let narrow = json!(RoomDescriptor { payload: 64, ..room() }).to_string();
    let refused = Messenger::create(&pinned(), &narrow, ORIGIN, "Ann").err().unwrap();
    assert_eq!(kind(refused), "too-narrow");
}

/// A call by a link that was taken back is not heard; the caller sees how long it waits.
#[test]
fn revoked_link_stays_silent() {
    let (mut ann, mut ben) = (messenger("Ann"), messenger("Ben"));
    let mut board = Board { entries: Vec::new(), round: 0 };
    let number = ben.add_link("for Ann").unwrap();
    let link = view(&ben)["links"][0]["link"].as_str().unwrap().to_owned();
    ben.revoke(number).unwrap();
    ann.add_contact(&link, "Ben").unwrap();
    ann.engage(0).unwrap();
    for _ in 0..20 {
        let told = board.round(&mut [&mut ann, &mut ben]);
        assert!(told.iter().all(|events| events == &json!([])));
    }
    assert_eq!(view(&ann)["contacts"][0]["waited"], 19);
}
