//! What people, devices and servers of a decision send.

use std::sync::LazyLock;

use ostrakon_crypto::sealed::Sealed;
use ostrakon_crypto::{Digest, Signature, SigningKey};
use ostrakon_decide::keys::PublicBytes;
use ostrakon_decide::record::{RECORD_BYTES, create};
use ostrakon_decide::{
    Ballot, Chain, DecisionId, Deposit, Draft, Function, Invitation, KeyStatement, Layer, Link, Opening, Operators,
    Person, Seat, Serial, SignedRecord, Tie,
};
use ostrakon_party::PartyId;
use ostrakon_party::wire::encode;

use super::{key, servers};

fn operators() -> Operators {
    Operators::new(&servers()).expect("there are three")
}

fn draft() -> Draft {
    let ballot = |function, options: usize| Ballot {
        label: "A date".to_owned(),
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
            ballot(Function::AtLeast { k: 2 }, 2),
            ballot(Function::Plurality { tie: Tie::None }, 3),
            ballot(Function::Custom { outputs: vec![1, 2, 3, 4] }, 2),
        ],
        people: (0..3).map(person).collect(),
        deadline: 1_000,
        threshold: 2,
        creator: key(5).verifying_key(),
        nonce: [4; 16],
        servers: operators().digest,
    }
}

/// Signed by the creator, with layers that no server has made.
static VALID_RECORD: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let layer = |party: u8| Layer {
        party: PartyId(party),
        commitments: vec![PublicBytes([party; 32]); 2],
        proof: vec![0; 64],
        signature: Signature([0; 64]),
    };
    create(draft(), [layer(0), layer(1), layer(2)], &operators(), &key(5), 7).encode()
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
    let tables = draft.ballots.iter().map(|ballot| ballot.function.table(draft.people.len(), ballot.options.len()));
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
        commitments: vec![PublicBytes([0; 32]); 2],
        proof: vec![0; 64],
    }
}

pub fn valid_deposit() -> Vec<u8> {
    let sealed = Sealed { exchange: [9; 32], closed: vec![7; 48] };
    encode(&Deposit { helper: PartyId(1), statement: statement(), sealed })
}

/// No server takes a key that nobody has proved to know.
pub fn read_deposit(bytes: &[u8]) -> bool {
    let Ok(deposit) = Deposit::decode(bytes) else { return false };
    assert_eq!(encode(&deposit), bytes, "only one encoding is accepted");
    let identity: SigningKey = key(1);
    assert!(deposit.open(&identity, PartyId(1), &operators()).is_err(), "nobody knows this key");
    true
}

pub fn valid_opening() -> Vec<u8> {
    Opening { close: Digest([5; 32]), layer: vec![1; 96], absent: Vec::new() }.encode()
}

pub fn read_opening(bytes: &[u8]) -> bool {
    let Ok(opening) = Opening::decode(bytes) else { return false };
    assert_eq!(opening.encode(), bytes, "only one encoding is accepted");
    true
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
