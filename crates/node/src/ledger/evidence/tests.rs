//! Every kind of evidence: what convicts, and what does not.

use ostrakon_crypto::{SigningKey, VerifyingKey};
use ostrakon_party::{SessionId, Tag};
use ostrakon_store::FaultRow;

use super::*;
use crate::jobs::tests::Counting;

const P1: PartyId = PartyId(1);
const P2: PartyId = PartyId(2);

fn key(party: PartyId) -> SigningKey {
    SigningKey::from_seed(&[party.0 + 1; 32])
}

fn servers() -> Servers {
    let keys = (0..3).map(|n| key(PartyId(n)).verifying_key()).collect();
    Servers { session: SessionId(Digest([5; 32])), keys }
}

fn sign(from: PartyId, to: Recipient, tag: Tag, body: &[u8]) -> SignedHeader {
    let digest = Header::digest_of(body);
    let header =
        Header { session: servers().session, tag, from, to, length: body.len() as u64, digest };
    header.sign(&key(from))
}

/// P2's announcement with number 4.
fn announce(to: Recipient, body: &[u8]) -> SignedHeader {
    sign(P2, to, ControlStep::Announce.of(steps::instance(P2, 4)), body)
}

fn against(culprit: PartyId, evidence: &Evidence) -> Finding {
    judge(&servers(), &[], culprit, &wire::encode(evidence))
}

#[test]
fn contradictions_convict_their_author_and_nobody_else() {
    let (one, other) = (announce(Recipient::All, b"one"), announce(Recipient::All, b"other"));
    let pair = |a, b| Evidence::Contradiction(Box::new([a, b]));
    assert_eq!(against(P2, &pair(one, other)), Finding::Proved);
    assert_eq!(against(P1, &pair(one, other)), Finding::Unproven);
    assert_eq!(against(P2, &pair(one, one)), Finding::Unproven);
    let mut forged = other;
    forged.header.digest = Header::digest_of(b"third");
    assert_eq!(against(P2, &pair(one, forged)), Finding::Unproven, "nobody signed that");
    let later =
        sign(P2, Recipient::All, ControlStep::Announce.of(steps::instance(P2, 5)), b"other");
    assert_eq!(against(P2, &pair(one, later)), Finding::Unproven, "two numbers, two announcements");
}

#[test]
fn headers_alone_convict_by_length_and_recipient() {
    let long = vec![0; crate::state::announcement::LONGEST as usize + 1];
    assert_eq!(against(P2, &Evidence::TooLong(announce(Recipient::All, &long))), Finding::Proved);
    assert_eq!(
        against(P2, &Evidence::TooLong(announce(Recipient::All, &long[1..]))),
        Finding::Unproven
    );
    assert_eq!(
        against(P2, &Evidence::Private(announce(Recipient::One(P1), b"x"))),
        Finding::Proved
    );
    assert_eq!(against(P2, &Evidence::Private(announce(Recipient::All, b"x"))), Finding::Unproven);
}

#[test]
fn announcements_convict_if_no_history_makes_them_valid() {
    let judged = |body: &[u8]| {
        against(P2, &Evidence::Announcement(announce(Recipient::All, body), body.to_vec()))
    };
    let say =
        |after: [u64; 3], body| judged(&Announcement { after: after.to_vec(), body }.encode());
    let slots = |slots: &[u32]| {
        let slots = slots.iter().map(|slot| (*slot, VerifyingKey([*slot as u8; 32]))).collect();
        Body::Assigned { room: ostrakon_mixing::RoomId([1; 16]), epoch: 3, slots }
    };
    assert_eq!(judged(b"no announcement"), Finding::Proved);
    assert_eq!(say([0, 0, 5], Body::BatchReady { number: 9 }), Finding::Proved, "out of turn");
    let room = ostrakon_mixing::RoomId([1; 16]);
    assert_eq!(
        say([0, 0, 4], Body::EpochClosed { room, number: 1 }),
        Finding::Proved,
        "P2 is not the scheduler"
    );
    let fourth = Announcement { after: vec![0, 0, 4, 0], body: Body::BatchReady { number: 9 } };
    assert_eq!(judged(&fourth.encode()), Finding::Proved, "there are three logs");
    assert_eq!(say([0, 0, 4], slots(&[2, 3])), Finding::Proved, "slot 3 is P0's to give");
    assert_eq!(say([0, 0, 4], slots(&[2, 2])), Finding::Proved, "one slot twice");
    assert_eq!(
        say([0, 0, 4], slots(&[2, 5])),
        Finding::Signed,
        "whether these were given before, the log says"
    );
    let said = announce(Recipient::All, b"no announcement");
    assert_eq!(
        against(P2, &Evidence::Announcement(said, b"other words".to_vec())),
        Finding::Unproven
    );
}

#[test]
fn a_word_that_its_job_never_allows_convicts_before_whoever_knows_the_job() {
    let (known, unknown): ([Arc<dyn Job>; 1], _) = ([Arc::new(Counting)], []);
    let judged = |jobs: &[Arc<dyn Job>], job, word: Vec<u8>| {
        let body = Body::Job { job, subject: [6; 16], word };
        let body = Announcement { after: vec![0, 0, 4], body }.encode();
        let evidence = Evidence::Announcement(announce(Recipient::All, &body), body);
        judge(&servers(), jobs, P2, &wire::encode(&evidence))
    };
    assert_eq!(judged(&known, 3, vec![1]), Finding::Proved, "only the first server says it");
    assert_eq!(judged(&known, 3, vec![2]), Finding::Signed);
    assert_eq!(judged(&unknown, 3, vec![1]), Finding::Signed, "nobody can tell");
    let long = vec![2; ostrakon_job::LONGEST_WORD + 1];
    assert_eq!(judged(&unknown, 3, long), Finding::Proved);
}

#[test]
fn an_echo_of_what_its_author_announced_to_all_is_no_fault() {
    let tag = ControlStep::Echo.of(steps::instance(P2, 4));
    let judged = |body: &[u8]| {
        against(P1, &Evidence::Echo(sign(P1, Recipient::All, tag, body), body.to_vec()))
    };
    assert_eq!(judged(b"nothing"), Finding::Proved);
    assert_eq!(judged(&wire::encode(&announce(Recipient::All, b"x"))), Finding::Unproven);
    assert_eq!(judged(&wire::encode(&announce(Recipient::One(P1), b"x"))), Finding::Proved);
    let of_another =
        sign(P2, Recipient::All, ControlStep::Announce.of(steps::instance(P2, 5)), b"x");
    assert_eq!(judged(&wire::encode(&of_another)), Finding::Proved);
}

#[test]
fn a_file_is_judged_by_what_is_signed_and_not_by_what_it_says() {
    let evidence = wire::encode(&Evidence::Private(announce(Recipient::One(P1), b"x")));
    let row = FaultRow { seen_at: 7_999, culprit: P2, what: "it whispered".into(), evidence };
    let text = serde_json::to_string(&FaultFile::new(&servers(), &[], row)).unwrap();
    let (file, finding) = FaultFile::verify(&text, Some(&servers().digest()), &[]).unwrap();
    assert_eq!((finding, file.finding, file.seen_at), (Finding::Proved, Finding::Proved, 7));
    assert!(
        FaultFile::verify(&text, Some(&Digest([0; 32])), &[])
            .unwrap_err()
            .contains("other servers")
    );
    let accused = text.replace("\"culprit\":2", "\"culprit\":1");
    assert_eq!(FaultFile::verify(&accused, None, &[]).unwrap().1, Finding::Unproven);
    assert!(FaultFile::verify(&text.replace("\"culprit\":2", "\"culprit\":9"), None, &[]).is_err());
    assert!(FaultFile::verify("{}", None, &[]).is_err());
}
