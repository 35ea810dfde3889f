//! What hosts and participants of a room with a host send and type.

use std::sync::LazyLock;

use ostrakon_broadcast::client::Invitation;
use ostrakon_broadcast::hosting::{Action, Answer, Deed, HostLog, MessageId, Poll, PollForm, SignedAction};
use ostrakon_broadcast::room::{RoomDescriptor, RoomId};

use super::{key, room, servers};

/// The number of the poll that is answered.
const POLL: u64 = 7;

fn hosted() -> RoomDescriptor {
    RoomDescriptor { host: Some(key(5).verifying_key()), ..room() }
}

static VALID_ACTION: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let deed = Deed::Hide { target: MessageId { epoch: 3, index: 1 }, hidden: true };
    let signed = HostLog::new(&servers(), &hosted()).act(&key(5), 1_000, deed);
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
    let signed = log.act(&key(5), 1_000, deed);
    let before = log.clone();
    let accepted = log.apply(&signed).is_ok();
    assert!(accepted || log == before, "what is refused changes nothing");
    assert!(log.apply(&signed).is_err(), "an action is taken once");
    accepted
}

pub fn valid_deed() -> Vec<u8> {
    let deed = Deed::Poll { poll: poll() };
    let signed = HostLog::new(&servers(), &hosted()).act(&key(5), 1_000, deed);
    serde_json::to_vec(&signed.action).expect("plain data")
}

fn poll() -> Poll {
    let options = ["Yes", "No", "Perhaps"].map(str::to_owned).to_vec();
    Poll { question: "Shall we?".to_owned(), form: PollForm::Choice { options, several: true }, epoch: 4 }
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
            assert_eq!(answer.encode(POLL, &poll).as_deref(), Ok(bytes), "an answer is written in one way");
            assert!(Answer::decode(POLL + 1, &poll, bytes).is_none(), "and to one poll");
            counts = true;
        }
    }
    counts
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
