use ostrakon_broadcast::board::{Entry, Published};
use ostrakon_broadcast::hosting::Deed;
use ostrakon_crypto::SigningKey;
use ostrakon_mixing::room::EpochId;
use ostrakon_party::SessionId;

use super::*;
use crate::provider::trusts::tests::three;

fn key(n: u8) -> SigningKey {
    SigningKey::from_seed(&[n; 32])
}

fn servers() -> Servers {
    Servers {
        session: SessionId(Digest([9; 32])),
        keys: (0..3).map(|n| key(n).verifying_key()).collect(),
    }
}

fn descriptor() -> RoomDescriptor {
    let host = Some(key(40).verifying_key());
    RoomDescriptor {
        payload: 64,
        capacity: 9,
        seconds: 1,
        minimum: 2,
        host,
        ..RoomDescriptor::new("r")
    }
}

fn entry(number: u64, previous: Digest, text: &str, signers: &[u8]) -> SignedEntry {
    let messages = vec![Published::Kept { salt: [7; 16], body: text.into() }];
    let entry = Entry {
        epoch: EpochId { room: descriptor().id(), number },
        previous,
        accepted: 3,
        messages,
    };
    let signatures =
        signers.iter().map(|n| (PartyId(*n), entry.sign(&servers(), &key(*n)))).collect();
    SignedEntry { entry, signatures }
}

/// A board of so many entries, signed by servers 1 and 2.
fn board(length: u64) -> Vec<Dated> {
    let mut previous = Digest([0; 32]);
    let mut entries = Vec::new();
    for number in 0..length {
        let entry = entry(number, previous, &number.to_string(), &[1, 2]);
        previous = entry.entry.digest(&servers());
        entries.push(Dated { published_on: 100, entry });
    }
    entries
}

fn actions(deeds: &[Deed]) -> Vec<SignedAction> {
    let mut log = HostLog::new(&servers(), &descriptor());
    let act = |deed: &Deed| {
        let action = log.act(&key(40), 5, deed.clone());
        log.apply(&action).unwrap();
        action
    };
    deeds.iter().map(act).collect()
}

fn room(entries: u64) -> RoomState {
    RoomState {
        descriptor: descriptor(),
        author: PartyId(1),
        open: true,
        next_epoch: entries,
        actions: Vec::new(),
        entries: board(entries),
        concluded: Vec::new(),
        in_doubt: Vec::new(),
    }
}

fn state(party: u8, room: RoomState) -> State {
    State { generation: 0, party: PartyId(party), servers: servers(), rooms: vec![room] }
}

fn merged(one: RoomState, other: RoomState) -> Result<Room, String> {
    let merged = merge(&servers(), &three(), &[state(0, one), state(2, other)])?;
    assert_eq!(merged.generation, 1);
    Ok(merged.rooms[&descriptor().id()].clone())
}

#[test]
fn the_longer_board_and_host_log_go_on_and_no_number_comes_again() {
    let deeds = [Deed::Moderate { on: true }, Deed::Moderate { on: false }];
    let one = RoomState { actions: actions(&deeds[..1]), next_epoch: 5, ..room(2) };
    let other = RoomState { actions: actions(&deeds), next_epoch: 4, ..room(3) };
    let both = merged(one.clone(), other.clone()).unwrap();
    assert_eq!(
        (both.entries.len(), both.log.length(), both.first_epoch, both.open),
        (3, 2, 6, true)
    );
    assert_eq!(
        merged(other.clone(), one.clone()).unwrap(),
        both,
        "the order of the files does not matter"
    );
    let digest = |a: &RoomState, b: &RoomState| {
        let states = [state(0, a.clone()), state(2, b.clone())];
        merge(&servers(), &three(), &states).unwrap().digest(&servers())
    };
    assert_eq!(digest(&one, &other), digest(&other, &one));
    assert_ne!(digest(&one, &other), digest(&one, &one));
    let closed = RoomState { open: false, ..one };
    assert!(!merged(closed, other).unwrap().open, "closed is closed");
}

/// One corrupt server of the two cannot rewrite what was published or done, nor use up a room's
/// numbers.
#[test]
fn a_state_that_no_honest_server_has_ends_the_attempt() {
    let refused = |change: fn(&mut RoomState), reason: &str| {
        let mut other = RoomState { actions: actions(&[Deed::Moderate { on: true }]), ..room(2) };
        let one = other.clone();
        change(&mut other);
        let why = merged(one, other).unwrap_err();
        assert!(why.contains(reason), "{why}");
    };
    refused(|room| room.entries[1].entry.signatures.truncate(1), "board");
    refused(|room| room.entries[0].entry.entry.accepted = 9, "board");
    refused(|room| drop(room.entries.remove(0)), "board");
    refused(|room| room.actions = actions(&[Deed::Moderate { on: false }]), "different host logs");
    refused(|room| room.actions[0].action.time = 6, "host log does not hold");
    refused(|room| room.next_epoch += WINDOW + 1, "does not tell the truth");
    let fork = |room: &mut RoomState| {
        let head = room.entries[0].entry.entry.digest(&servers());
        room.entries[1].entry = entry(1, head, "another", &[0, 2]);
    };
    refused(fork, "different boards");
}

#[test]
fn states_of_one_server_or_of_two_generations_make_none() {
    let (one, other) = (state(0, room(1)), state(2, room(1)));
    let refused = |states: &[State]| merge(&servers(), &three(), states).unwrap_err();
    assert!(refused(&[one.clone(), one.clone()]).contains("each of another server"));
    assert!(refused(&[]).contains(": 2, each"), "none");
    assert!(refused(std::slice::from_ref(&one)).contains(": 2, each"), "one is not enough");
    let all = [one.clone(), state(1, room(1)), other.clone()];
    assert!(refused(&all).contains(": 2, each"), "all three have not lost anything");
    let later = State { generation: 1, ..other.clone() };
    assert!(refused(&[one, later]).contains("different generations"));
    let file = other.to_file(&key(2));
    assert_eq!(State::from_file(&file, &servers()), Ok(other.clone()));
    assert!(
        State::from_file(&other.to_file(&key(1)), &servers()).unwrap_err().contains("not signed")
    );
    for end in 0..file.len() {
        assert!(State::from_file(&file[..end], &servers()).is_err());
    }
}

#[test]
fn an_epoch_that_somebody_may_have_read_is_published_or_ends_its_room() {
    let mut concluded = room(1);
    let head = concluded.entries[0].entry.entry.digest(&servers());
    concluded.concluded = vec![entry(1, head, "last", &[0])];
    (concluded.in_doubt, concluded.next_epoch) = (vec![1], 2);
    let doubtful = RoomState { concluded: Vec::new(), in_doubt: vec![1], next_epoch: 2, ..room(1) };
    let clean = RoomState { in_doubt: Vec::new(), ..doubtful.clone() };

    let ended = merged(concluded.clone(), doubtful).unwrap();
    assert_eq!(
        (ended.entries.len(), ended.open, &ended.in_doubt[..]),
        (1, false, &[1][..]),
        "one signature is none"
    );
    assert!(!merged(clean.clone(), concluded.clone()).unwrap().open, "the word of one is enough");
    let mut other = concluded.clone();
    other.concluded = vec![entry(1, head, "last", &[2])];
    let published = merged(concluded.clone(), other).unwrap();
    assert_eq!((published.entries.len(), published.open), (2, true));
    assert_eq!(published.entries[1].entry.signatures.len(), 2);
    // A signature twice is one.
    assert!(!merged(concluded.clone(), concluded).unwrap().open);
    let untouched = merged(clean.clone(), clean).unwrap();
    assert_eq!((untouched.open, untouched.first_epoch), (true, 3));
}
