//! What people, devices and servers of a decision send.

use std::sync::LazyLock;

use ostrakon_crypto::sealed::Sealed;
use ostrakon_crypto::{Secret, Signature, Stream};
use ostrakon_decide::keys::shares::new_key;
use ostrakon_decide::keys::{PublicBytes, certify, receipt_digest};
use ostrakon_decide::record::{RECORD_BYTES, create};
use ostrakon_decide::{
    Ballot, Chain, Content, DecisionId, Deposit, Draft, Examined, Function, HelperKey, Invitation,
    KeyStatement, Layer, Link, Memory, Opening, Operators, Person, Seat, Serial, SignedRecord, Tie,
    Visit,
};
use ostrakon_decisions::{PrivateDecisions, Word};
use ostrakon_job::Job;
use ostrakon_party::PartyId;
use ostrakon_party::wire::encode;

use super::onepass::seeded;
use super::{key, servers};

fn operators() -> Operators {
    Operators::new(&servers()).expect("there are three")
}

fn draft() -> Draft {
    let ballot = |label: &str, function, options: usize| Ballot {
        label: label.to_owned(),
        options: (0..options).map(|option| format!("option {option}")).collect(),
        function,
        assumed: 1,
    };
    let person = |server: u8| Person {
        name: format!("person {server}"),
        seat: if server == 0 {
            Seat::Account(key(server).verifying_key())
        } else {
            Seat::Invitation(key(server).verifying_key())
        },
    };
    Draft {
        question: "Shall we?".to_owned(),
        ballots: vec![
            ballot("A date", Function::AtLeast { k: 2 }, 2),
            ballot("A place", Function::Plurality { tie: Tie::None }, 3),
            ballot("A table", Function::Custom { outputs: vec![1, 2, 3, 4] }, 2),
        ],
        people: (0..3).map(person).collect(),
        accept_by: 900,
        all_needed: false,
        deadline: 1_000,
        quorum: 3,
        threshold: 2,
        creator: key(5).verifying_key(),
        gathering: None,
        nonce: [4; 16],
        servers: operators().digest,
    }
}

/// Signed by the creator, with layers that no server has made.
static VALID_RECORD: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let layer = |party: u8| Layer {
        party: PartyId(party),
        drawn: 0,
        commitments: vec![PublicBytes([party; 32]); 2],
        proof: vec![0; 64],
        signature: Signature([0; 64]),
    };
    create(draft(), [layer(0), layer(1), layer(2)], &operators(), key(5), 7).encode()
});

pub fn valid_record() -> Vec<u8> {
    VALID_RECORD.clone()
}

/// No decision begins without the servers.
pub fn read_record(bytes: &[u8]) -> bool {
    let Ok(signed) = SignedRecord::decode(bytes) else { return false };
    assert!(bytes.len() <= RECORD_BYTES);
    assert_eq!(signed.encode(), bytes, "only one encoding is accepted");
    assert!(Chain::begin(operators(), &signed).is_err(), "no server has made these layers");
    true
}

pub fn valid_draft() -> Vec<u8> {
    serde_json::to_vec(&draft()).expect("plain data")
}

/// Every valid draft has its tables, and they fit.
pub fn read_draft(bytes: &[u8]) -> bool {
    let Ok(draft) = serde_json::from_slice::<Draft>(bytes) else { return false };
    if draft.validate().is_err() {
        return false;
    }
    let tables = draft
        .ballots
        .iter()
        .map(|ballot| ballot.function.table(draft.people.len(), ballot.options.len()));
    let lengths: Vec<usize> = tables.map(|table| table.len()).collect();
    assert!(lengths.iter().all(|length| *length > 0));
    assert!(lengths.iter().sum::<usize>() <= 900);
    assert!(encode(&draft).len() < RECORD_BYTES);
    true
}

fn statement() -> KeyStatement {
    KeyStatement {
        owner: key(6).verifying_key(),
        serial: Serial([3; 16]),
        threshold: 2,
        expires: 2_000_000,
        commitments: vec![PublicBytes([0; 32]); 2],
        proof: vec![0; 64],
    }
}

pub fn valid_deposit() -> Vec<u8> {
    let sealed = Sealed { exchange: [9; 32], closed: vec![7; 48] };
    encode(&Deposit::of(key(6), &operators(), PartyId(1), statement(), sealed))
}

/// No server takes a key that nobody has proved to know.
pub fn read_deposit(bytes: &[u8]) -> bool {
    let Ok(deposit) = Deposit::decode(bytes) else { return false };
    assert_eq!(encode(&deposit), bytes, "only one encoding is accepted");
    assert!(deposit.open(key(1), PartyId(1), &operators(), 7).is_err(), "nobody knows this key");
    true
}

/// A decision of four people that is closed while one of them is absent, and what server 1 has
/// opened.
static CLOSED: LazyLock<(Examined, Opening)> = LazyLock::new(closed);

fn closed() -> (Examined, Opening) {
    let (operators, mut rng) = (operators(), seeded(3));
    let person = |person: u8| Person {
        name: format!("person {person}"),
        seat: Seat::Account(key(person).verifying_key()),
    };
    let mut draft = Draft { people: (0..4).map(person).collect(), ..draft() };
    draft.ballots.truncate(2);
    let drawn = |party: u8| Secret::new([party; 32]);
    let layer = |party: u8, rng: &mut Stream| {
        Layer::of((&drawn(party), 0), key(party), PartyId(party), &operators, &draft, rng)
    };
    let layers = [0, 1, 2].map(|party| layer(party, &mut rng).expect("a threshold"));
    let first = create(draft, layers, &operators, key(5), 7);
    let mut visit = Visit::new(operators, first.record.decision);
    visit.read(&first.encode(), &mut rng).expect("the first record");
    let helpers = [0, 1, 2].map(|party| HelperKey::of(key(party), PartyId(party), &operators));
    let mut shares = Vec::new();
    for person in 0..4 {
        let (serial, terms) = (Serial([person; 16]), (2, 2_000_000));
        let new =
            new_key(key(person), serial, terms, &operators, &helpers, &mut rng).expect("a key");
        let receipt = |party: u8| {
            key(party).sign(&receipt_digest(&operators, PartyId(party), &new.statement))
        };
        let receipts = (0..3).map(receipt).collect();
        shares.push(new.deposits[1].open(key(1), PartyId(1), &operators, 8).expect("its share"));
        let certified =
            certify(key(person), new.statement, receipts, &operators).expect("it is certified");
        let accept = visit.accept(key(person), certified, None, 8).expect("there is a place");
        visit.read(&accept.encode(), &mut rng).expect("it follows");
    }
    for person in [0, 2, 3] {
        let memory = &mut Memory::default();
        let step = visit.answer(key(person), &[1, 2], memory, 9, &mut rng).expect("it answers");
        visit.read(&step.encode(), &mut rng).expect("it follows");
        visit.verify(&mut rng).expect("it holds");
    }
    let close =
        visit.chain().expect("a chain").next(key(0), 1_000, Content::Close { absent: vec![1] });
    visit.read(&close.encode(), &mut rng).expect("it follows");
    let examined = Examined::of(&visit).expect("it holds");
    let opening = examined.open(&drawn(1), PartyId(1), &shares, &mut rng).expect("it is closed");
    (examined, opening)
}

pub fn valid_opening() -> Vec<u8> {
    CLOSED.1.encode()
}

/// A server opens one layer in one way, and stands in in one way or not at all.
pub fn read_opening(bytes: &[u8]) -> bool {
    let Ok(opening) = Opening::decode(bytes) else { return false };
    assert_eq!(opening.encode(), bytes, "only one encoding is accepted");
    let (examined, own) = &*CLOSED;
    let holds = examined.check_opening(PartyId(1), &opening).is_ok();
    let part_of_own =
        opening.layer == own.layer && opening.absent.iter().all(|part| own.absent.contains(part));
    assert!(!holds || part_of_own, "the server has opened it once");
    assert!(examined.check_opening(PartyId(2), &opening).is_err(), "and no other server has");
    holds
}

pub fn valid_word() -> Vec<u8> {
    Word::Opened(CLOSED.1.encode()).encode()
}

/// What a server says of a decision, as far as it can be judged without anything else.
pub fn read_word(bytes: &[u8]) -> bool {
    !PrivateDecisions.is_never_valid(PartyId(1), &[4; 16], bytes)
}

pub fn valid_link() -> Vec<u8> {
    let link = Link {
        origin: "https://one.example:8443".to_owned(),
        decision: DecisionId([4; 16]),
        servers: operators().digest,
        invitation: Some(Invitation([3; 32])),
    };
    link.to_string().into_bytes()
}

pub fn read_link(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(link) = text.parse::<Link>() else { return false };
    assert_eq!(link.to_string(), text.trim(), "only one spelling of a link is accepted");
    true
}
