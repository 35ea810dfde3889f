//! What servers of rooms without a clock, their devices, and the ledger under them say.

use std::sync::{Arc, LazyLock};

use ostrakon_agreement::Params;
use ostrakon_agreement::dkg::{Dkg, DkgMessage};
use ostrakon_agreement::message::{Message as LedgerMessage, Status};
use ostrakon_asynchromix::board::{Entry, Outcome, SignedEntry};
use ostrakon_asynchromix::evidence::{Burnt, EvidenceFile, Shown};
use ostrakon_asynchromix::message::{Message, Request, RunId, ToClient, ToServer};
use ostrakon_asynchromix::state::State;
use ostrakon_asynchromix::visit::{Answer, Ask, Standing};
use ostrakon_asynchromix::word::{Declaration, Word};
use ostrakon_asynchromix::{Card, Description, Room, Shape};
use ostrakon_crypto::{Digest, Secret, Signature, SigningKey};
use ostrakon_party::wire::{decode, encode};
use ostrakon_party::{ByParty, PartyId, SessionId, Trust};
use ostrakon_robust::client::Submission;
use ostrakon_robust::message::{Header, Part, Signed, StepId};
use ostrakon_robust::offline::{Complaint, Record, Reveal};
use serde::Serialize;

const SERVERS: usize = 4;
const LONGEST: usize = 1 << 20;

fn key(i: u8) -> SigningKey {
    SigningKey::from_seed(&[i + 1; 32])
}

fn described() -> Description {
    let card = |i: u8| {
        let url = format!("http://s{i}.example");
        Card::sign(&format!("s{i}"), &url, &format!("s{i}.example:1"), &key(i))
    };
    Description {
        name: "Agora".to_owned(),
        nonce: Digest([1; 32]),
        corrupt: 1,
        servers: (0..4).map(card).collect(),
        shape: Shape { rows: 2, payload: 4, minimum: 1, ticks: 9 },
        admitted: None,
    }
}

static ROOM: LazyLock<Room> = LazyLock::new(|| described().room().expect("it is sound"));

static PARAMS: LazyLock<Params> = LazyLock::new(|| {
    let session = SessionId(ROOM.digest());
    Params::with(session, &Digest([8; 32]), *ROOM.trust(), 64, 64).expect("there is a horizon")
});

/// What was read is written alike.
fn alike(written: &[u8], bytes: &[u8]) -> bool {
    assert_eq!(written, bytes, "what was read is written alike");
    true
}

pub fn valid_description() -> Vec<u8> {
    serde_json::to_vec(&described()).expect("plain data")
}

pub fn read_description(bytes: &[u8]) -> bool {
    let Ok(read) = serde_json::from_slice::<Description>(bytes) else { return false };
    let Ok(room) = read.room() else { return false };
    assert_eq!(room.servers(), read.servers.len());
    true
}

pub fn valid_run() -> Vec<u8> {
    Message::Run(RunId::Epoch(3), valid_signed().into()).encode()
}

pub fn valid_again() -> Vec<u8> {
    Message::Again(RunId::Batch(1), vec![[0, 0, 1], [0, 0, 3]]).encode()
}

pub fn valid_later() -> Vec<u8> {
    let state = State::new(&ROOM).encode();
    Message::Later(vec![1, 2, 3].into(), state.into()).encode()
}

fn signed_entry() -> SignedEntry {
    let outcome = Outcome::Messages(vec![b"one".to_vec(), Vec::new()]);
    let entry = Entry { epoch: 4, previous: Digest([3; 32]), sealed: vec![0, 1], outcome };
    SignedEntry { entry, signatures: vec![(PartyId(0), Signature([1; 64]))] }
}

pub fn valid_entry() -> Vec<u8> {
    Message::Entry(signed_entry()).encode()
}

/// A message between servers; what may be a state or an entry in it is read, too.
pub fn read_message(bytes: &[u8]) -> bool {
    let Ok(message) = Message::decode(bytes, LONGEST) else { return false };
    match &message {
        Message::Later(_, state) | Message::State(_, state) => {
            if let Ok(state) = decode::<State>(state) {
                // (Its encoding may be long: what is not canonical is refused.)
                drop(state.encode());
            }
        }
        Message::Entry(entry) => drop(entry.verifies(&ROOM)),
        _ => {}
    }
    alike(&message.encode(), bytes)
}

fn request() -> Request {
    Request::sign(&ROOM, 4, &key(9), [7; 32], PartyId(1))
}

pub fn valid_ask() -> Vec<u8> {
    let submit = ToServer::Submit {
        client: key(9).verifying_key(),
        epoch: 4,
        slot: 1,
        submission: vec![0; 64 + 8 * ROOM.width()],
    };
    Ask { entry: 9, messages: vec![ToServer::Request(request()), submit] }.encode()
}

pub fn read_ask(bytes: &[u8]) -> bool {
    let Ok(ask) = Ask::decode(bytes, &ROOM) else { return false };
    for message in &ask.messages {
        match message {
            ToServer::Request(request) => drop(request.verifies(&ROOM)),
            ToServer::Submit { submission, .. } => {
                let read = Submission::from_bytes(submission, ROOM.width());
                assert!(read.is_none_or(|read| read.to_bytes() == *submission));
            }
            ToServer::Hello(_) => {}
        }
    }
    alike(&ask.encode(), bytes)
}

pub fn valid_answer() -> Vec<u8> {
    let standing =
        Standing { runs: true, entries: 5, reached: vec![PartyId(1)], ..Standing::default() };
    let replies = vec![ToClient::Now(Some(4)), ToClient::Entry(signed_entry())];
    Answer { standing, entries: vec![signed_entry()], replies }.encode()
}

pub fn read_answer(bytes: &[u8]) -> bool {
    let Ok(answer) = Answer::decode(bytes, &ROOM) else { return false };
    alike(&answer.encode(), bytes)
}

fn records() -> [Record; 2] {
    let step = StepId { phase: 0, part: Part::Deal };
    let header = Header {
        step,
        from: PartyId(1),
        to: PartyId(0),
        body: Digest([5; 32]),
        signature: Signature([6; 64]),
    };
    let reveal = Reveal { seed: Secret::new([4; 32]), deals: vec![header] };
    [Record::Complaint(Complaint { step, messages: vec![header] }), Record::Reveal(reveal)]
}

pub fn valid_complaint() -> Vec<u8> {
    records()[0].to_bytes()
}

pub fn valid_reveal() -> Vec<u8> {
    records()[1].to_bytes()
}

/// A record about a batch.
pub fn read_record(bytes: &[u8]) -> bool {
    Record::from_bytes(bytes).is_some_and(|record| alike(&record.to_bytes(), bytes))
}

pub fn valid_show() -> Vec<u8> {
    Word::Show(0, Shown::sign(&Digest([2; 32]), &records()[0], &key(0))).encode()
}

pub fn valid_assign() -> Vec<u8> {
    Word::Assign(4, vec![request().assignment()]).encode()
}

pub fn valid_declare() -> Vec<u8> {
    let (row, signature) = (Digest([3; 32]), Signature([4; 64]));
    Word::Declare(4, vec![Declaration { slot: 1, row, signature }]).encode()
}

/// A word of the ledger, and what it does to a state.
pub fn read_word(bytes: &[u8]) -> bool {
    let Some(word) = Word::decode(bytes) else { return false };
    let mut state = State::new(&ROOM);
    for author in ROOM.parties() {
        drop(state.apply(&ROOM, author, &word));
    }
    alike(&word.encode(), bytes)
}

/// Evidence, field by field as it is written.
#[derive(Serialize)]
struct Case {
    batch: u64,
    commitments: Vec<Digest>,
    complainer: usize,
    complaint: Shown,
    reveals: Vec<(usize, Shown)>,
}

fn case() -> Vec<u8> {
    let commitments = vec![Digest([1; 32]); SERVERS];
    let name = ROOM.subject_of(0).name(&ROOM.shuffle_of(0), &commitments);
    let [complaint, reveal] = records();
    let shown = |record, i| Shown::sign(&name, record, &key(i));
    encode(&Case {
        batch: 0,
        commitments,
        complainer: 0,
        complaint: shown(&complaint, 0),
        reveals: vec![(1, shown(&reveal, 1))],
    })
}

pub fn valid_evidence() -> Vec<u8> {
    case()
}

/// Evidence convicts nobody of what it was not convicted of before it was changed: here, of a seed
/// that was not committed to.
pub fn read_evidence(bytes: &[u8]) -> bool {
    let Ok(burnt) = decode::<Burnt>(bytes) else { return false };
    let convicted = burnt.convicts(&ROOM).map(|(party, _)| party);
    assert!(convicted.is_none_or(|party| party == PartyId(1)), "{convicted:?} is honest");
    alike(&encode(&burnt), bytes)
}

pub fn valid_file() -> Vec<u8> {
    let burnt: Burnt = decode(&case()).expect("it is written as it is read");
    let file = EvidenceFile::new(described(), [&burnt]);
    serde_json::to_vec(&file).expect("plain data")
}

pub fn read_file(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(file) = EvidenceFile::read(text) else { return false };
    file.judge(&ROOM.digest()).is_ok()
}

pub fn valid_status() -> Vec<u8> {
    let held = vec![(7, 3); SERVERS];
    LedgerMessage::Status(Status { commits: 2, last: 4, held, missing: vec![(6, PartyId(1))] })
        .encode()
}

pub fn valid_hello() -> Vec<u8> {
    LedgerMessage::Hello([3; 32]).encode()
}

pub fn read_ledger(bytes: &[u8]) -> bool {
    let Ok(message) = LedgerMessage::decode(bytes, &PARAMS) else { return false };
    alike(&message.encode(), bytes)
}

fn dkg(i: u8) -> (Dkg, Vec<Vec<u8>>) {
    let identities = ByParty::new(SERVERS, |party| key(party.0).verifying_key());
    let trust = Trust::under_a_third(SERVERS).expect("four servers");
    let signing = Arc::new(key(i));
    let (machine, step) = Dkg::new(ROOM.digest(), 0, trust, PartyId(i), signing, identities);
    (machine, step.sends)
}

pub fn valid_commitment() -> Vec<u8> {
    dkg(1).1.remove(0)
}

/// A message of the making of the coin's key, given to a server that makes it.
pub fn read_key_message(bytes: &[u8]) -> bool {
    let Ok(message) = DkgMessage::decode(bytes) else { return false };
    drop(dkg(0).0.handle(PartyId(1), bytes));
    alike(&encode(&message), bytes)
}

pub fn valid_signed() -> Vec<u8> {
    let signed = Signed {
        step: StepId { phase: 2, part: Part::Encode },
        from: PartyId(0),
        to: PartyId(1),
        body: vec![0; 16],
        signature: Signature([9; 64]),
    };
    signed.to_bytes()
}

/// A message of a run among the members of a set.
pub fn read_signed(bytes: &[u8]) -> bool {
    let Some(signed) = Signed::from_bytes(bytes) else { return false };
    let header = signed.header().to_bytes();
    let read = header[..].try_into().ok().and_then(Header::from_bytes);
    assert_eq!(read, Some(signed.header()));
    drop(signed.elements(signed.body.len() / 8));
    alike(&signed.to_bytes(), bytes)
}
