//! What people send each other in rooms for messages, and what they hand on.

use ostrakon_crypto::{Digest, Stream};
use ostrakon_messaging::{Client, ContactLink, Event, hostile};
use ostrakon_mixing::RoomId;
use ostrakon_mixing::link::Link;

use super::onepass::seeded;

const ROOM: RoomId = RoomId([5; 16]);
const WIDTH: usize = 254;
/// A round for calls.
const DIALING: u64 = 4;

fn rng() -> Stream {
    seeded(9)
}

/// A client with a link, and the link.
fn callee() -> (Client, ContactLink) {
    let mut client = Client::new(ROOM, WIDTH, "callee").expect("the room is wide enough");
    let link = client.add_link("", &mut rng()).expect("it is the first");
    let room = Link {
        origin: "https://a.example".to_owned(),
        room: ROOM,
        servers: Digest([8; 32]),
        invitation: None,
    };
    (client, ContactLink::in_room(&room, link.callee))
}

pub fn valid_contact_link() -> Vec<u8> {
    callee().1.to_string().into_bytes()
}

pub fn read_contact_link(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(link) = text.parse::<ContactLink>() else { return false };
    let again = link.to_string();
    assert_eq!(again.parse(), Ok(link), "what was read is written and read alike");
    true
}

pub fn valid_call() -> Vec<u8> {
    // A call with a key of its own, all channels, no link, and a name.
    let mut plain = vec![0; 164];
    plain[0] = 1;
    plain[1..33].fill(9);
    plain[33] = 15;
    plain[99] = 3;
    plain[100..103].copy_from_slice(b"Ann");
    plain
}

/// Bytes that somebody who has a link seals in a call.
pub fn read_call(bytes: &[u8]) -> bool {
    let (mut client, link) = callee();
    let place = (&ROOM, DIALING, WIDTH);
    let Some(row) = hostile::call(&link.callee, place, bytes, &mut rng()) else { return false };
    let events = client.on_round(DIALING, &[&row]);
    let [Event::Called { contact, name, known: false, .. }] = &events[..] else {
        assert!(events.is_empty(), "a stranger calls, or nothing happens");
        return false;
    };
    assert!(!name.chars().any(char::is_control) && !name.trim().is_empty());
    // Whatever key it named: it is accepted, or it is from nobody.
    let _accepted = client.accept(*contact, &mut rng());
    assert_eq!(client.next_row(DIALING + 5, &mut rng()).map(|row| row.len()), Ok(WIDTH));
    true
}

pub fn valid_said() -> Vec<u8> {
    let mut plain = vec![0; 221];
    plain[0] = 1;
    (plain[17], plain[18]) = (0, 1);
    plain[19] = 5;
    plain[21..26].copy_from_slice(b"hello");
    plain
}

/// Bytes that a partner locks in a row.
pub fn read_said(bytes: &[u8]) -> bool {
    hostile::said(bytes, WIDTH)
}

pub fn valid_rows() -> Vec<u8> {
    let (_, link) = callee();
    let place = (&ROOM, DIALING, WIDTH);
    hostile::call(&link.callee, place, &valid_call(), &mut rng()).expect("the link's key is one")
}

/// Rows of a board by strangers, in a round of each kind: none does harm.
pub fn read_rows(bytes: &[u8]) -> bool {
    let (mut client, _) = callee();
    let rows: Vec<&[u8]> = bytes.chunks(WIDTH).collect();
    let heard = (0..=DIALING).flat_map(|round| client.on_round(round, &rows)).count();
    assert_eq!(client.last_read(), Some(DIALING));
    heard > 0
}
