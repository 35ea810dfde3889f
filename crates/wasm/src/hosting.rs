//! The host log for the page: what hosts did, polls and their results, and a host's own actions.

use std::cell::RefCell;
use std::rc::Rc;

use ostrakon_broadcast::hosting;
use ostrakon_broadcast::hosting::{Answer, Deed, Refused};
use ostrakon_broadcast::outbox;
use ostrakon_crypto::VerifyingKey;
use serde::Serialize;
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use crate::following::Follower;
use crate::following::inner::Following;
use crate::{DeviceKey, Outbox, inner, shown};

#[derive(Serialize)]
struct BallotView {
    epoch: u64,
    poll: u64,
    state: outbox::BallotState,
}

/// See [`Outbox::ballots`].
pub fn ballots(outbox: &outbox::Outbox) -> String {
    let view = |(epoch, ballot): (&u64, &outbox::Ballot)| BallotView {
        epoch: *epoch,
        poll: ballot.poll,
        state: ballot.state,
    };
    inner::json(&outbox.ballots().iter().map(view).collect::<Vec<_>>())
}

/// What the hosts of a room did, believed only as far as they signed it in an unbroken chain.
#[wasm_bindgen]
pub struct HostLog(pub(crate) Rc<RefCell<Following>>);

#[wasm_bindgen]
impl Follower {
    /// What the hosts did, as it grows.
    pub fn log(&self) -> HostLog {
        HostLog(Rc::clone(&self.0))
    }
}

#[wasm_bindgen]
impl HostLog {
    /// Before the first action. `servers` is the answer of `GET /api/v1/servers`.
    ///
    /// # Errors
    /// If one of the two is malformed.
    #[wasm_bindgen(constructor)]
    pub fn new(servers: &str, descriptor: &str) -> Result<HostLog, JsError> {
        // Nobody follows the room.
        let following = Following::new(servers, descriptor, &[0; 32]).map_err(shown)?;
        Ok(Self(Rc::new(RefCell::new(following))))
    }

    /// Actions read so far.
    pub fn length(&self) -> u64 {
        self.0.borrow().log().length()
    }

    /// Reads the next actions (JSON, a list of signed actions).
    ///
    /// # Errors
    /// If one of them may not follow; those before it were taken in.
    pub fn read(&mut self, actions: &str) -> Result<(), JsError> {
        self.0.borrow_mut().read_actions(actions).map_err(shown)
    }

    /// What has changed since this was asked before, as JSON: `{length, head, closed, erased,
    /// moderated, spotlight: {epoch, index} | null, hosts: [{key, name, active}], members: [{key,
    /// active}], invitations: [{key, number, claimed, active}], marks:
    /// [{epoch, index, hidden, approved, pinned, answered, erased, group}], polls: [{number,
    /// question, form, epoch, withdrawn, right}]}`. The first six are whole, the lists name what is
    /// new or other than before. The host without a name is the first one.
    pub fn changes(&mut self) -> String {
        self.0.borrow_mut().changes()
    }

    /// Whether the key (64 hexadecimal digits) may take part in the room.
    pub fn admits(&self, key: &str) -> bool {
        VerifyingKey::from_hex(key).is_some_and(|key| self.0.borrow().log().admits(&key))
    }

    /// The next action of the host with this key, signed, as JSON; to be sent to the servers.
    /// `deed` is JSON, for example `{"pin": {"target": {"epoch": 3, "index": 0}, "pinned": true}}`
    /// or `"close"`; `time` in seconds since 1970.
    ///
    /// # Errors
    /// If the key may not do this, or a limit is passed; the sentence says which.
    pub fn act(&self, key: &DeviceKey, time: u64, deed: &str) -> Result<String, JsError> {
        act(self.0.borrow().log(), key, time, deed).map_err(|refused| shown(refused.detail))
    }

    /// Puts the answer to poll `number` into the outbox; JSON like `{"choice": [0]}`, `{"rating":
    /// 4}`, `{"text": "words"}`.
    ///
    /// # Errors
    /// If there is no such poll, it does not admit the answer, or it is too late.
    pub fn answer(&self, outbox: &mut Outbox, number: u64, answer: &str) -> Result<(), JsError> {
        put_answer(self.0.borrow().log(), &mut outbox.0, number, answer).map_err(shown)
    }

    /// The answer to poll `number` that the outbox holds, as [`HostLog::answer`] takes it;
    /// `undefined` if there is none.
    #[wasm_bindgen(js_name = ownAnswer)]
    pub fn own_answer(&self, outbox: &Outbox, number: u64) -> Option<String> {
        own_answer(self.0.borrow().log(), &outbox.0, number)
    }

    /// The result of poll `number` as JSON `{answers, votes, texts, invalid, erased}`, once the
    /// poll's epoch is on the board; `undefined` before, and for good if the epoch ended without
    /// one. `erased` is how many bodies the epoch lacks: answers may be among them.
    pub fn tally(&self, number: u64) -> Option<String> {
        let following = self.0.borrow();
        tally(following.log(), following.board(), number)
    }
}

/// Why an action is not made: a word that the page has a sentence for in every language
/// ([`Refused::code`]), and a sentence.
#[derive(Debug, Serialize)]
pub struct NotDone {
    code: &'static str,
    detail: String,
}

impl From<Refused> for NotDone {
    fn from(refused: Refused) -> Self {
        Self { code: refused.code(), detail: refused.to_string() }
    }
}

/// Reads a deed.
pub fn read_deed(text: &str) -> Result<Deed, NotDone> {
    let unknown = |error| NotDone {
        code: "deed",
        detail: format!("this is nothing that a host does: {error}"),
    };
    serde_json::from_str(text).map_err(unknown)
}

fn act(log: &hosting::HostLog, key: &DeviceKey, time: u64, deed: &str) -> Result<String, NotDone> {
    let signed = log.act(&key.key, time, read_deed(deed)?);
    log.check(&signed)?;
    Ok(inner::json(&signed))
}

fn put_answer(
    log: &hosting::HostLog,
    outbox: &mut outbox::Outbox,
    number: u64,
    answer: &str,
) -> Result<(), String> {
    let state = log.polls().get(&number).filter(|state| !state.withdrawn);
    let poll = &state.ok_or("there is no such poll any more")?.poll;
    let answer: Answer =
        serde_json::from_str(answer).map_err(|_| hosting::InvalidAnswer.to_string())?;
    let body = answer.encode(number, poll).map_err(|error| error.to_string())?;
    outbox.answer(number, poll.epoch, body).map_err(|error| error.to_string())
}

fn own_answer(log: &hosting::HostLog, outbox: &outbox::Outbox, number: u64) -> Option<String> {
    let poll = &log.polls().get(&number)?.poll;
    let ballot = outbox.ballots().get(&poll.epoch).filter(|ballot| ballot.poll == number)?;
    Answer::decode(number, poll, &ballot.body).map(|answer| inner::json(&answer))
}

/// A result, and how much of its epoch cannot be counted any more.
#[derive(Serialize)]
struct Counted {
    #[serde(flatten)]
    tally: hosting::Tally,
    erased: usize,
}

fn tally(log: &hosting::HostLog, board: &inner::Board, number: u64) -> Option<String> {
    let poll = &log.polls().get(&number)?.poll;
    let erased = *board.erased.get(&poll.epoch)?;
    let counted = board.ballots.get(&poll.epoch).map(|entry| hosting::tally(number, poll, entry));
    Some(inner::json(&Counted {
        tally: counted.unwrap_or_else(|| hosting::Tally::none(poll)),
        erased,
    }))
}

#[cfg(test)]
mod tests {
    use ostrakon_broadcast::board::Published;
    use ostrakon_broadcast::hosting::SignedAction;
    use ostrakon_broadcast::{Entry, SignedEntry};
    use ostrakon_crypto::{Digest, SigningKey};
    use ostrakon_mixing::{EpochId, RoomDescriptor, Servers};
    use ostrakon_party::{PartyId, SessionId};
    use serde_json::{Value, json};

    use super::*;
    use crate::changes::{Touched, changes};

    fn host() -> DeviceKey {
        DeviceKey::from_seed(&[7; 32]).unwrap_or_else(|_| unreachable!("32 bytes"))
    }

    fn read(log: &mut hosting::HostLog, actions: &str) -> Result<(), Refused> {
        let actions: Vec<SignedAction> = serde_json::from_str(actions).unwrap();
        actions.iter().try_for_each(|action| log.apply(action))
    }

    /// All of a log.
    fn view(log: &hosting::HostLog) -> String {
        changes(log, &Touched::everything(log))
    }

    fn setting() -> (Servers, RoomDescriptor) {
        let servers = Servers { session: SessionId(Digest([9; 32])), keys: Vec::new() };
        let key = SigningKey::from_seed(&[7; 32]).verifying_key();
        (servers, RoomDescriptor { host: Some(key), ..RoomDescriptor::new("r") })
    }

    #[test]
    fn a_poll_is_asked_answered_and_shown() {
        let (servers, room) = setting();
        let mut log = hosting::HostLog::new(&servers, &room);
        let form = json!({"choice": {"options": ["yes", "no"], "several": false}});
        let deed = json!({"poll": {"poll": {"question": "Now?", "form": form, "epoch": 4}}});
        let signed = act(&log, &host(), 5, &deed.to_string()).unwrap();
        read(&mut log, &format!("[{signed}]")).unwrap();
        assert!(read(&mut log, &format!("[{signed}]")).is_err(), "a replay");
        let shown: Value = serde_json::from_str(&view(&log)).unwrap();
        assert_eq!(
            shown["polls"],
            json!([{"number": 0, "question": "Now?", "form": form, "epoch": 4, "withdrawn": false, "right": null}])
        );
        assert_eq!(shown["hosts"][0]["name"], "");
        let mut outbox = outbox::Outbox::default();
        assert!(put_answer(&log, &mut outbox, 0, r#"{"choice":[2]}"#).is_err());
        put_answer(&log, &mut outbox, 0, r#"{"choice":[1]}"#).unwrap();
        assert_eq!(ballots(&outbox), r#"[{"epoch":4,"poll":0,"state":"waiting"}]"#);
        assert_eq!(own_answer(&log, &outbox, 0).as_deref(), Some(r#"{"choice":[1]}"#));
        let mut board = inner::Board::default();
        assert_eq!(tally(&log, &board, 0), None, "the board has not come so far");
        board.erased.insert(5, 0);
        assert_eq!(
            tally(&log, &board, 0),
            None,
            "the epoch was lost: nobody knows that nobody answered"
        );
        board.erased.insert(4, 3);
        let counted: Value = serde_json::from_str(&tally(&log, &board, 0).unwrap()).unwrap();
        assert_eq!(
            counted,
            json!({"answers": 0, "votes": [0, 0], "texts": [], "invalid": 0, "erased": 3})
        );
    }

    /// One server shows the signed entry without the answers that it does not like.
    #[test]
    fn a_result_says_that_bodies_of_its_epoch_are_erased() {
        let keys: Vec<_> = (1..=3).map(|seed| SigningKey::from_seed(&[seed; 32])).collect();
        let (mut servers, room) = setting();
        servers.keys = keys.iter().map(SigningKey::verifying_key).collect();
        let mut log = hosting::HostLog::new(&servers, &room);
        let form = json!({"choice": {"options": ["yes", "no"], "several": false}});
        let deed = json!({"poll": {"poll": {"question": "Now?", "form": form, "epoch": 4}}});
        let signed = act(&log, &host(), 5, &deed.to_string()).unwrap();
        read(&mut log, &format!("[{signed}]")).unwrap();
        let answer =
            |option| Answer::Choice([option].into()).encode(0, &log.polls()[&0].poll).unwrap();
        let keep = |body| Published::Kept { salt: [1; 16], body };
        let messages =
            vec![keep(answer(0)), keep(answer(1)), keep(b"words".to_vec()), keep(answer(1))];
        let epoch = EpochId { room: room.id(), number: 4 };
        let mut entry = Entry { epoch, previous: Digest([0; 32]), accepted: 5, messages };
        let signatures = (0..)
            .zip(&keys)
            .map(|(party, key)| (PartyId(party), entry.sign(&servers, key)))
            .collect();
        for place in [1, 3] {
            entry.messages[place] = entry.messages[place].erased();
        }
        let mut board = inner::Board::default();
        let entries = [SignedEntry { entry, signatures }];
        inner::read_entries(&mut board, &entries, &mut outbox::Outbox::default());
        let counted: Value = serde_json::from_str(&tally(&log, &board, 0).unwrap()).unwrap();
        assert_eq!(
            counted,
            json!({"answers": 1, "votes": [1, 0], "texts": [], "invalid": 0, "erased": 2})
        );
    }

    #[test]
    fn an_invitation_is_shown_with_the_key_that_claimed_it() {
        let (servers, room) = setting();
        let (link, device) = (SigningKey::from_seed(&[8; 32]), SigningKey::from_seed(&[9; 32]));
        let mut log = hosting::HostLog::new(&servers, &room);
        let other = SigningKey::from_seed(&[10; 32]).verifying_key().to_hex();
        let keys = json!({"invite": {"keys": [other, link.verifying_key().to_hex()]}}).to_string();
        let signed = act(&log, &host(), 5, &keys).unwrap();
        read(&mut log, &format!("[{signed}]")).unwrap();
        let placed =
            log.place(&hosting::Claim::sign(&servers.digest(), &room.id(), &link, &device));
        read(&mut log, &inner::json(&[placed])).unwrap();
        let shown: Value = serde_json::from_str(&view(&log)).unwrap();
        let device = device.verifying_key().to_hex();
        assert_eq!(shown["members"], json!([{"key": device, "active": true}]));
        assert_eq!(
            shown["invitations"][0],
            json!({"key": other, "number": 1, "claimed": null, "active": true})
        );
        assert_eq!(shown["invitations"][1]["claimed"], json!(device));
    }

    #[test]
    fn marks_name_their_message_and_others_cannot_act() {
        let (servers, room) = setting();
        let mut log = hosting::HostLog::new(&servers, &room);
        let pin = json!({"pin": {"target": {"epoch": 3, "index": 1}, "pinned": true}}).to_string();
        let stranger = DeviceKey::from_seed(&[8; 32]).unwrap_or_else(|_| unreachable!("32 bytes"));
        let refused = act(&log, &stranger, 5, &pin).unwrap_err();
        assert!(refused.detail.contains("not a host") && refused.code == "not-host");
        assert_eq!(act(&log, &host(), 5, r#""dance""#).unwrap_err().code, "deed");
        let signed = act(&log, &host(), 5, &pin).unwrap();
        read(&mut log, &format!("[{signed}]")).unwrap();
        let shown: Value = serde_json::from_str(&view(&log)).unwrap();
        let marks = &shown["marks"][0];
        assert_eq!(
            (&marks["epoch"], &marks["index"], &marks["pinned"]),
            (&json!(3), &json!(1), &json!(true))
        );
    }
}
