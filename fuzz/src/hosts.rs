//! What hosts and participants of a room with a host send and type.

use std::sync::LazyLock;

use ostrakon_broadcast::hosting::{
    Action, Answer, Claim, Deed, HostLog, MessageId, Poll, PollForm, SignedAction,
};
use ostrakon_mixing::link::Invitation;
use ostrakon_mixing::room::{Admission, RoomDescriptor, RoomId};

use super::{key, room, servers};

/// The number of the poll that is answered.
const POLL: u64 = 7;

fn hosted() -> RoomDescriptor {
    RoomDescriptor { host: Some(key(5).verifying_key()), ..room() }
}

static VALID_ACTION: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let deed = Deed::Hide { target: MessageId { epoch: 3, index: 1 }, hidden: true };
    let signed = HostLog::new(&servers(), &hosted()).act(key(5), 1_000, deed);
    serde_json::to_vec(&signed).expect("plain data")
});

pub fn valid_action() -> Vec<u8> {
    VALID_ACTION.clone()
}

/// Nothing that the host has not signed changes a room's log.
pub fn read_action(bytes: &[u8]) -> bool {
    let Ok(signed) = serde_json::from_slice::<SignedAction>(bytes) else { return false };
    let mut log = HostLog::new(&servers(), &hosted());
    let before = log.clone();
    let checked = log.check(&signed);
    assert_eq!(log.apply(&signed), checked, "what is checked is what is applied");
    let known: SignedAction = serde_json::from_slice(&VALID_ACTION).expect("it is valid");
    assert!(checked.is_err() || signed == known, "the host has signed one action only");
    assert!(checked.is_ok() || log == before, "what is refused changes nothing");
    checked.is_ok()
}

/// Whatever a host signs, it is taken once or not at all.
pub fn read_deed(bytes: &[u8]) -> bool {
    let Ok(Action { deed, .. }) = serde_json::from_slice(bytes) else { return false };
    if deed.validate().is_err() {
        return false;
    }
    let mut log = HostLog::new(&servers(), &hosted());
    let signed = log.act(key(5), 1_000, deed);
    let before = log.clone();
    let accepted = log.apply(&signed).is_ok();
    assert!(accepted || log == before, "what is refused changes nothing");
    assert!(log.apply(&signed).is_err(), "an action is taken once");
    accepted
}

pub fn valid_deed() -> Vec<u8> {
    let deed = Deed::Poll { poll: poll() };
    let signed = HostLog::new(&servers(), &hosted()).act(key(5), 1_000, deed);
    serde_json::to_vec(&signed.action).expect("plain data")
}

fn poll() -> Poll {
    let options = ["Yes", "No", "Perhaps"].map(str::to_owned).to_vec();
    Poll {
        question: "Shall we?".to_owned(),
        form: PollForm::Choice { options, several: true },
        epoch: 4,
    }
}

/// Polls of every form.
fn polls() -> [Poll; 3] {
    let with = |form| Poll { form, ..poll() };
    [poll(), with(PollForm::Rating { highest: 5 }), with(PollForm::Text)]
}

pub fn valid_ballot() -> Vec<u8> {
    Answer::Choice([0, 2].into_iter().collect()).encode(POLL, &poll()).expect("the poll admits it")
}

/// A ballot counts in one way, if at all.
pub fn read_ballot(bytes: &[u8]) -> bool {
    let mut counts = false;
    for poll in polls() {
        if let Some(answer) = Answer::decode(POLL, &poll, bytes) {
            assert_eq!(
                answer.encode(POLL, &poll).as_deref(),
                Ok(bytes),
                "an answer is written in one way"
            );
            assert!(Answer::decode(POLL + 1, &poll, bytes).is_none(), "and to one poll");
            counts = true;
        }
    }
    counts
}

/// A room for members in which one person is invited, by key 6.
fn invited() -> HostLog {
    let room = RoomDescriptor { admission: Admission::Members, ..hosted() };
    let mut log = HostLog::new(&servers(), &room);
    let deed = Deed::Invite { keys: vec![key(6).verifying_key()] };
    log.apply(&log.act(key(5), 1_000, deed)).expect("the host invites");
    log
}

static VALID_CLAIM: LazyLock<Claim> = LazyLock::new(|| {
    let room = RoomDescriptor { admission: Admission::Members, ..hosted() };
    Claim::sign(&servers().digest(), &room.id(), key(6), key(7))
});

pub fn valid_claim() -> Vec<u8> {
    serde_json::to_vec(&*VALID_CLAIM).expect("plain data")
}

/// Only who has the invitation takes part by it, with one key.
pub fn read_claim(bytes: &[u8]) -> bool {
    let Ok(claim) = serde_json::from_slice::<Claim>(bytes) else { return false };
    let mut log = invited();
    let before = log.clone();
    let placed = log.place(&claim);
    assert_eq!(Claim::of(&placed).as_ref(), Some(&claim), "what is placed is what was claimed");
    let checked = log.check_claim(&claim);
    assert_eq!(log.apply(&placed).is_ok(), checked.is_ok(), "what is checked is what is applied");
    assert!(checked.is_err() || claim == *VALID_CLAIM, "the invitation has signed one claim only");
    assert!(checked.is_ok() || log == before, "what is refused changes nothing");
    checked.is_ok()
}

pub fn valid_code() -> Vec<u8> {
    RoomId([4; 16]).code().to_lowercase().into_bytes()
}

/// Whatever people type, a code is either none or the tidy form of one.
pub fn read_code(bytes: &[u8]) -> bool {
    let Ok(typed) = std::str::from_utf8(bytes) else { return false };
    let Some(code) = RoomId::tidy_code(typed) else { return false };
    assert_eq!(RoomId::tidy_code(&code).as_deref(), Some(code.as_str()), "tidying once is enough");
    assert!(code.len() == 9 && code.is_ascii());
    true
}

pub fn valid_invitation() -> Vec<u8> {
    Invitation([9; 32]).to_text().into_bytes()
}

pub fn read_invitation(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Some(invitation) = Invitation::from_text(text) else { return false };
    assert_eq!(invitation.to_text(), text, "only one spelling is accepted");
    true
}
