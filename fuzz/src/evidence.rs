//! Evidence of every kind: what the engine finds, and what servers find in each other's
//! announcements.
//!
//! Only server 1 has signed anything here. So whatever the bytes are, nobody else is convicted by
//! them.

use ostrakon_crypto::Digest;
use ostrakon_node::announcement::{Announcement, Body};
use ostrakon_node::evidence::{FaultFile, Finding};
use ostrakon_party::wire::encode;
use ostrakon_party::{
    Header, Instance, InstanceKind, PartyId, Recipient, Roster, SignedHeader, Step, Tag,
};
use ostrakon_replicated::fault::{Evidence, Fault, Statement};
use ostrakon_replicated::messages::{BatchSpec, EpochSpec, Inputs, Kind, Shape, Subject};
use serde::Serialize;

use super::{key, servers};

const CULPRIT: PartyId = PartyId(1);

/// Server 1 says something.
fn said(tag: Tag, to: Recipient, body: &[u8]) -> SignedHeader {
    let (length, digest) = (body.len() as u64, Header::digest_of(body));
    Header { session: servers().session, tag, from: CULPRIT, to, length, digest }.sign(key(1))
}

fn fault(evidence: Evidence) -> Vec<u8> {
    Fault { culprit: CULPRIT, subject: Subject::Setup, evidence }.encode()
}

fn statement(kind: Kind, body: Vec<u8>) -> Box<Statement> {
    Box::new(Statement { signed: said(Subject::Setup.tag(kind), Recipient::All, &body), body })
}

/// Server 1 has said two things under one tag.
pub fn valid_equivocation() -> Vec<u8> {
    let say = |fill: u8| said(Subject::Setup.tag(Kind::SetupKey), Recipient::All, &[fill; 32]);
    fault(Evidence::Equivocation(Box::new([say(1), say(2)])))
}

/// Its key for the set-up is longer than any.
pub fn valid_malformed() -> Vec<u8> {
    fault(Evidence::Malformed(statement(Kind::SetupKey, vec![1; 33])))
}

/// It has opened another coin than it had committed to.
pub fn valid_wrong_opening() -> Vec<u8> {
    let (commitment, opening) =
        (statement(Kind::CoinCommitment, vec![1; 32]), statement(Kind::CoinOpening, vec![2; 64]));
    fault(Evidence::Opening { commitment, opening })
}

pub fn read_fault(bytes: &[u8]) -> bool {
    let Ok(fault) = Fault::decode(bytes) else { return false };
    assert_eq!(fault.encode(), bytes, "only one encoding is accepted");
    let ostrakon_party::Servers { session, keys } = servers();
    let proves = fault.verify(&Roster { session, keys });
    assert!(!proves || fault.culprit == CULPRIT, "only server 1 has signed anything");
    proves
}

/// The number of a kind of evidence that needs a whole run, in the form in which it is kept; the
/// three kinds above have 0 to 2.
type KindNumber = u32;
/// Seeds of the three servers; their statements, transcripts, coins and sums.
const OF_BATCH: KindNumber = 3;
/// The pads, the vote, the sealed slots, the statement about the seeds.
const OF_PADS: KindNumber = 4;
/// Which table, the header under which it was sent, the digest that another server sent; the table
/// before, what shows that, the seeds, the statement about them.
const OF_SHUFFLE: KindNumber = 5;
/// What was sent, and what its sender had stated.
const OF_LAST: KindNumber = 6;
/// The number of the table δ02 of the online phase.
const DELTA_02: u32 = 0;

const SHAPE: Shape = Shape { rows: 6, width: 24 };
const BATCH: BatchSpec = BatchSpec { number: 3, shape: SHAPE, inputs: Inputs::Slots };

fn epoch() -> Subject {
    Subject::Epoch(EpochSpec {
        context: Digest([4; 32]),
        number: 2,
        batch: BATCH,
        minimum: 3,
        robust: false,
    })
}

/// A server says something in a run.
fn says(server: u8, subject: Subject, kind: Kind, to: Recipient, bytes: usize) -> Statement {
    let body = vec![server + 1; bytes];
    let (length, digest) = (bytes as u64, Header::digest_of(&body));
    let (session, tag, from) = (servers().session, subject.tag(kind), PartyId(server));
    Statement { signed: Header { session, tag, from, to, length, digest }.sign(key(server)), body }
}

fn of_run(subject: Subject, kind: KindNumber, evidence: impl Serialize) -> Vec<u8> {
    encode(&(CULPRIT, subject, kind, evidence))
}

/// Bytes of the statement about a server's seeds.
const SEED_STATEMENT: usize = 2 * 5 * 32;

pub fn batch_evidence() -> Vec<u8> {
    let subject = Subject::Batch(BATCH);
    let all =
        |kind, bytes| [0, 1, 2].map(|server| says(server, subject, kind, Recipient::All, bytes));
    let said = [
        all(Kind::SeedStatement, SEED_STATEMENT),
        all(Kind::TranscriptStatement, 300),
        all(Kind::CoinOpening, 64),
        all(Kind::SumOpening, 88),
    ];
    of_run(subject, OF_BATCH, ([[7_u8; 32]; 3], said))
}

fn seeds_statement() -> Statement {
    says(1, Subject::Batch(BATCH), Kind::SeedStatement, Recipient::All, SEED_STATEMENT)
}

pub fn pads_evidence() -> Vec<u8> {
    let pads = says(1, epoch(), Kind::Pads, Recipient::One(PartyId(0)), 6 * 32);
    let vote = says(1, epoch(), Kind::SealVote, Recipient::All, 32);
    let sealed = vec![(0_u32, Digest([1; 32])), (4, Digest([2; 32]))];
    of_run(epoch(), OF_PADS, (pads, vote, sealed, seeds_statement()))
}

pub fn shuffle_evidence() -> Vec<u8> {
    let table = says(0, epoch(), Kind::Delta02, Recipient::One(PartyId(1)), 6 * 24).signed;
    let digest = says(2, epoch(), Kind::Delta02Digest, Recipient::One(PartyId(1)), 32);
    let votes =
        [0, 1, 2].map(|server| says(server, epoch(), Kind::TableVote, Recipient::All, 32)).to_vec();
    let (before, seeds) = (vec![5_u8; 6 * 24], vec![6_u8; 64]);
    of_run(
        epoch(),
        OF_SHUFFLE,
        ((DELTA_02, table, digest), before, votes, seeds, seeds_statement()),
    )
}

pub fn last_evidence() -> Vec<u8> {
    let sent = says(1, epoch(), Kind::LastSeed, Recipient::One(PartyId(0)), 32);
    of_run(epoch(), OF_LAST, (sent, seeds_statement()))
}

/// Evidence with what every server signed in a run: whatever it is made into, it is judged, and
/// judged alike when it was sent on.
pub fn read_of_run(bytes: &[u8]) -> bool {
    let Ok(fault) = Fault::decode(bytes) else { return false };
    assert_eq!(fault.encode(), bytes, "only one encoding is accepted");
    let ostrakon_party::Servers { session, keys } = servers();
    let roster = Roster { session, keys };
    let nobody = Roster { session, keys: vec![key(9).verifying_key(); 3] };
    assert!(!fault.verify(&nobody), "who has not signed is not convicted");
    let again = Fault::decode(bytes).is_ok_and(|sent_on| sent_on.verify(&roster));
    assert_eq!(fault.verify(&roster), again, "everybody judges alike");
    true
}

/// What servers keep of each other's announcements, in the form in which they keep it.
#[derive(Serialize)]
enum Kept {
    Engine(Vec<u8>),
    Contradiction(Box<[SignedHeader; 2]>),
    TooLong(SignedHeader),
    Private(SignedHeader),
    Announcement(SignedHeader, Vec<u8>),
    Echo(SignedHeader, Vec<u8>),
}

/// The tag of an announcement with number 4, or of its echo.
fn announcement(author: u8, step: u16) -> Tag {
    let mut scope = *b"announcements  \0";
    scope[15] = author;
    let instance = Instance { kind: InstanceKind::Control, scope, number: 4 };
    Tag { instance, step: Step(step), sequence: 0 }
}

fn announced(to: Recipient, body: &[u8]) -> SignedHeader {
    said(announcement(CULPRIT.0, 1), to, body)
}

pub fn valid_kept_fault() -> Vec<u8> {
    encode(&Kept::Engine(valid_malformed()))
}

pub fn valid_contradiction() -> Vec<u8> {
    let announce = |body: &[u8]| announced(Recipient::All, body);
    encode(&Kept::Contradiction(Box::new([announce(b"one"), announce(b"other")])))
}

pub fn valid_too_long() -> Vec<u8> {
    let mut header = announced(Recipient::All, b"").header;
    header.length = 1 << 30;
    encode(&Kept::TooLong(header.sign(key(1))))
}

pub fn valid_private() -> Vec<u8> {
    encode(&Kept::Private(announced(Recipient::One(PartyId(2)), b"a whisper")))
}

/// It opens an epoch, which is the first server's to do.
pub fn valid_announcement() -> Vec<u8> {
    let body = Body::EpochClosed { room: super::room().id(), number: 1 };
    let bytes = Announcement { after: vec![0, 4, 0], body }.encode();
    encode(&Kept::Announcement(announced(Recipient::All, &bytes), bytes))
}

pub fn valid_echo() -> Vec<u8> {
    let body = b"of nothing".to_vec();
    encode(&Kept::Echo(said(announcement(2, 2), Recipient::All, &body), body))
}

/// A file that accuses a server.
fn file(culprit: u8, what: &str, finding: Finding, evidence: Vec<u8>) -> FaultFile {
    let format = "ostrakon-fault-1".into();
    FaultFile {
        format,
        servers: servers(),
        seen_at: 1,
        culprit,
        what: what.into(),
        finding,
        evidence,
    }
}

/// The evidence of a file that accuses server 1, and of files that accuse the others.
pub fn read_kept(bytes: &[u8]) -> bool {
    let findings = [0, 1, 2].map(|culprit| {
        let file = file(culprit, "it misbehaved", Finding::Unproven, bytes.to_vec());
        let text = serde_json::to_string(&file).expect("plain data");
        let (read, finding) = FaultFile::verify(&text, None, &[]).expect("it is a file");
        assert_eq!(read, file, "what is read is what is written");
        finding
    });
    assert_eq!(
        [findings[0], findings[2]],
        [Finding::Unproven; 2],
        "only server 1 has signed anything"
    );
    findings[1] == Finding::Proved
}

/// Such a file, as somebody sends it.
pub fn valid_file() -> Vec<u8> {
    serde_json::to_vec(&file(CULPRIT.0, "it whispered", Finding::Proved, valid_private()))
        .expect("plain data")
}

/// A file is read or refused; what it proves, it proves of the servers that it lists.
pub fn read_file(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let pinned: Digest = servers().digest();
    let Ok((file, finding)) = FaultFile::verify(text, Some(&pinned), &[]) else { return false };
    assert_eq!(file.servers, servers(), "it is of the pinned servers");
    let proves = finding == Finding::Proved;
    assert!(!proves || file.culprit == CULPRIT.0, "only server 1 has signed anything");
    proves
}
