//! What a room is, as it is described, and how long its words and rows are.
//!
//! These tests need no more than the crate shows, and lie here so that the crate is not compiled
//! once more for them.

use std::collections::BTreeSet;

use ostrakon_agreement::params::MAX_RECORD;
use ostrakon_asynchromix::description::Unsound;
use ostrakon_asynchromix::room::{WHOLE, radices};
use ostrakon_asynchromix::row::{self, Said};
use ostrakon_asynchromix::word::{Assignment, Declaration, MAX_ASSIGNED, MAX_DECLARED, Word};
use ostrakon_asynchromix::{Card, Description, Room, Shape, Unfit};
use ostrakon_crypto::{Digest, Signature, SigningKey, VerifyingKey};

/// A word that the ledger does not take would stand before all later ones for ever.
#[test]
fn the_longest_words_fit_into_a_record() {
    let (digest, signature) = (Digest([0xff; 32]), Signature([0xff; 64]));
    let client = VerifyingKey([0xff; 32]);
    let assignment = Assignment { client, exchange: [0xff; 32], signature };
    let declaration = Declaration { slot: u32::MAX, row: digest, signature };
    let longest = [
        Word::Assign(u64::MAX, vec![assignment; MAX_ASSIGNED]),
        Word::Declare(u64::MAX, vec![declaration; MAX_DECLARED]),
        Word::Board(u64::MAX, digest, signature),
    ];
    for word in longest {
        let bytes = word.encode();
        assert!(bytes.len() <= MAX_RECORD, "{} bytes", bytes.len());
        assert_eq!(Word::decode(&bytes), Some(word));
    }
}

type Change = Box<dyn Fn(&mut Description)>;

fn card(i: u8) -> Card {
    let key = SigningKey::from_seed(&[i; 32]);
    Card::sign(&format!("s{i}"), &format!("https://s{i}.test"), &format!("s{i}.test:7"), &key)
}

fn description() -> Description {
    Description {
        name: "Agora".into(),
        nonce: Digest([7; 32]),
        corrupt: 1,
        servers: (0..4).map(card).collect(),
        shape: Shape { rows: 16, payload: 40, minimum: 3, ticks: 9 },
        admitted: None,
    }
}

/// Whoever has the digest believes no other description: each change shows in it.
#[test]
fn every_word_is_in_the_digest() {
    let own = description();
    let digest = own.room().unwrap().digest();
    let keys: Vec<_> = (9..12).map(|i| SigningKey::from_seed(&[i; 32]).verifying_key()).collect();
    let changes: Vec<Change> = vec![
        Box::new(|d| d.name = "Agore".into()),
        Box::new(|d| d.nonce.0[3] ^= 1),
        Box::new(|d| d.servers.swap(0, 1)),
        Box::new(|d| {
            let key = SigningKey::from_seed(&[0; 32]);
            d.servers[0] = Card::sign("s0", "https://evil.test", "s0.test:7", &key);
        }),
        Box::new(|d| d.shape.ticks += 1),
        Box::new(|d| d.shape.minimum = 1),
        Box::new({
            let keys = keys.clone();
            move |d| d.admitted = Some(keys.clone())
        }),
        Box::new(move |d| d.admitted = Some(keys[..2].to_vec())),
    ];
    let mut digests = BTreeSet::from([digest.0]);
    for (number, change) in changes.iter().enumerate() {
        let mut other = own.clone();
        change(&mut other);
        assert!(digests.insert(other.room().unwrap().digest().0), "change {number}");
    }
    let text = serde_json::to_string(&own).unwrap();
    let read: Description = serde_json::from_str(&text).unwrap();
    assert_eq!(read.room().unwrap().digest(), digest);
}

#[test]
fn unsound_descriptions_are_refused() {
    let refused = |change: &dyn Fn(&mut Description)| {
        let mut other = description();
        change(&mut other);
        other.room().unwrap_err()
    };
    assert_eq!(refused(&|d| d.name = "two\nlines".into()), Unsound::Name);
    assert_eq!(refused(&|d| d.servers[1] = d.servers[0].clone()), Unsound::Twice("key"));
    assert!(matches!(refused(&|d| d.servers[1].url = "https://x".into()), Unsound::Card { .. }));
    assert!(matches!(refused(&|d| d.servers[2].name = String::new()), Unsound::Card { .. }));
    assert!(matches!(refused(&|d| drop(d.servers.pop())), Unsound::Unfit(_)));
    let key = SigningKey::from_seed(&[9; 32]).verifying_key();
    assert_eq!(refused(&|d| d.admitted = Some(vec![key, key])), Unsound::List);
    let odd = Card::sign("a", "https://a.test/x", "a:1", &SigningKey::from_seed(&[1; 32]));
    assert!(odd.validate().is_err());
}

#[test]
fn rows_are_read_as_written_and_noise_is_none() {
    let room = Digest([1; 32]);
    for said in [Said::Cover, Said::Message(vec![]), Said::Message(vec![7; 20])] {
        let encoded = row::encode(&room, 3, &said, 20).unwrap();
        assert_eq!(encoded.len(), row::bytes(20));
        assert_eq!(row::decode(&room, 3, &encoded), Some(said));
        assert_eq!(row::decode(&room, 4, &encoded), None, "another epoch's");
        let mut other = encoded.clone();
        other[25] ^= 1;
        assert_eq!(row::decode(&room, 3, &other), None);
        assert_eq!(row::decode(&room, 3, &encoded[..17]), None);
    }
    assert_eq!(row::encode(&room, 3, &Said::Message(vec![7; 21]), 20), None);
    assert_eq!(row::decode(&room, 3, &[0; 38]), None);
}

fn room(servers: u8, corrupt: usize, shape: Shape) -> Result<Room, Unfit> {
    let keys = (0..servers).map(|i| SigningKey::from_seed(&[i; 32]).verifying_key()).collect();
    Room::new(Digest([1; 32]), corrupt, keys, shape)
}

const SHAPE: Shape = Shape { rows: 16, payload: 40, minimum: 3, ticks: 9 };

#[test]
fn rooms_that_cannot_be_are_refused() {
    assert!(room(4, 1, SHAPE).is_ok() && room(5, 1, SHAPE).is_ok());
    let refused = |servers, corrupt| room(servers, corrupt, SHAPE).unwrap_err();
    assert_eq!(refused(3, 1), Unfit::Servers { servers: 3, corrupt: 1 });
    assert_eq!(refused(8, 1), Unfit::Servers { servers: 8, corrupt: 1 });
    assert_eq!(refused(6, 2), Unfit::Servers { servers: 6, corrupt: 2 });
    let shaped = |shape| room(4, 1, shape).unwrap_err();
    assert_eq!(shaped(Shape { rows: 12, ..SHAPE }), Unfit::Rows(12));
    assert_eq!(shaped(Shape { payload: 0, ..SHAPE }), Unfit::Payload(0));
    assert_eq!(shaped(Shape { minimum: 0, ..SHAPE }), Unfit::Minimum(0));
    assert_eq!(shaped(Shape { minimum: 17, ..SHAPE }), Unfit::Minimum(17));
}

#[test]
fn radices_multiply_to_the_rows() {
    for bits in 1..=16 {
        let radices = radices(1 << bits);
        assert_eq!(radices.iter().product::<usize>(), 1 << bits);
        assert!(radices.iter().all(|radix| *radix <= WHOLE), "{radices:?}");
    }
    assert_eq!(radices(4096), [64, 64]);
}

#[test]
fn every_member_deals_in_turn() {
    let room = room(7, 2, SHAPE).unwrap();
    let deals = |member: usize| {
        (0..7).any(|i| {
            let shuffle = room.shuffle_of(i);
            shuffle.dealers().contains(&member)
        })
    };
    assert!((0..7).all(deals));
}
