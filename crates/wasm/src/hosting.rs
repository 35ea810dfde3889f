//! The host log for the page: what hosts did, polls and their results, and a host's own actions.

use ostrakon_broadcast::hosting::{self, Answer, Deed, MessageId, PollForm, SignedAction};
use ostrakon_broadcast::outbox;
use ostrakon_crypto::VerifyingKey;
use serde::Serialize;
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use crate::{Board, DeviceKey, Outbox, inner, shown};

#[derive(Serialize)]
struct BallotView {
    epoch: u64,
    poll: u64,
    state: outbox::BallotState,
}

/// See [`Outbox::ballots`].
pub fn ballots(outbox: &outbox::Outbox) -> String {
    let view =
        |(epoch, ballot): (&u64, &outbox::Ballot)| BallotView { epoch: *epoch, poll: ballot.poll, state: ballot.state };
    inner::json(&outbox.ballots().iter().map(view).collect::<Vec<_>>())
}

#[derive(Serialize)]
struct HostView<'a> {
    key: String,
    name: &'a str,
    active: bool,
}

#[derive(Serialize)]
struct MarksView<'a> {
    #[serde(flatten)]
    message: MessageId,
    #[serde(flatten)]
    marks: &'a hosting::Marks,
}

#[derive(Serialize)]
struct PollView<'a> {
    number: u64,
    question: &'a str,
    form: &'a PollForm,
    epoch: u64,
    withdrawn: bool,
}

#[derive(Serialize)]
struct InvitationView {
    key: String,
    number: u32,
    claimed: Option<String>,
}

#[derive(Serialize)]
struct LogView<'a> {
    length: u64,
    head: String,
    closed: bool,
    erased: bool,
    moderated: bool,
    hosts: Vec<HostView<'a>>,
    members: Vec<String>,
    invitations: Vec<InvitationView>,
    marks: Vec<MarksView<'a>>,
    polls: Vec<PollView<'a>>,
}

/// Signs with both keys that `key` takes the invitation: JSON, to be sent to the first server. `servers` is the answer of
/// `GET /api/v1/servers`.
///
/// # Errors
/// If `servers` is malformed, or `room` is no room's name.
#[wasm_bindgen]
pub fn claim(servers: &str, room: &str, invitation: &DeviceKey, key: &DeviceKey) -> Result<String, JsError> {
    let servers = inner::servers(servers).map_err(shown)?;
    let room = inner::room_id(room).map_err(shown)?;
    Ok(inner::json(&hosting::Claim::sign(&servers.digest(), &room, &invitation.key, &key.key)))
}

/// What the hosts of a room did, believed only as far as they signed it in an unbroken chain.
#[wasm_bindgen]
pub struct HostLog(hosting::HostLog);

#[wasm_bindgen]
impl HostLog {
    /// Before the first action. `servers` is the answer of `GET /api/v1/servers`.
    ///
    /// # Errors
    /// If one of the two is malformed.
    #[wasm_bindgen(constructor)]
    pub fn new(servers: &str, descriptor: &str) -> Result<HostLog, JsError> {
        let servers = inner::servers(servers).map_err(shown)?;
        let descriptor = inner::descriptor(descriptor).map_err(shown)?;
        Ok(Self(hosting::HostLog::new(&servers, &descriptor)))
    }

    /// Actions read so far.
    pub fn length(&self) -> u64 {
        self.0.length()
    }

    /// Reads the next actions (JSON, a list of signed actions).
    ///
    /// # Errors
    /// If one of them may not follow; those before it were taken in.
    pub fn read(&mut self, actions: &str) -> Result<(), JsError> {
        read(&mut self.0, actions).map_err(shown)
    }

    /// What was done, as JSON: `{length, head, closed, erased, moderated, hosts: [{key, name, active}], members: [key],
    /// marks: [{epoch, index, hidden, approved, pinned, answered, erased, group}], polls: [{number, question, form, epoch,
    /// withdrawn}]}`. The host without a name is the first one.
    pub fn view(&self) -> String {
        view(&self.0)
    }

    /// Whether the key (64 hexadecimal digits) may take part in the room.
    pub fn admits(&self, key: &str) -> bool {
        VerifyingKey::from_hex(key).is_some_and(|key| self.0.admits(&key))
    }

    /// The next action of the host with this key, signed, as JSON; to be sent to the servers. `deed` is JSON, for example
    /// `{"pin": {"target": {"epoch": 3, "index": 0}, "pinned": true}}` or `"close"`; `time` in seconds since 1970.
    ///
    /// # Errors
    /// If the key may not do this, or a limit is passed; the sentence says which.
    pub fn act(&self, key: &DeviceKey, time: u64, deed: &str) -> Result<String, JsError> {
        act(&self.0, key, time, deed).map_err(shown)
    }

    /// Puts the answer to poll `number` into the outbox; JSON like `{"choice": [0]}`, `{"rating": 4}`, `{"text": "words"}`.
    ///
    /// # Errors
    /// If there is no such poll, it does not admit the answer, or it is too late.
    pub fn answer(&self, outbox: &mut Outbox, number: u64, answer: &str) -> Result<(), JsError> {
        put_answer(&self.0, &mut outbox.0, number, answer).map_err(shown)
    }

    /// The answer to poll `number` that the outbox holds, as [`HostLog::answer`] takes it; `undefined` if there is none.
    #[wasm_bindgen(js_name = ownAnswer)]
    pub fn own_answer(&self, outbox: &Outbox, number: u64) -> Option<String> {
        let poll = &self.0.polls().get(&number)?.poll;
        let ballot = outbox.0.ballots().get(&poll.epoch).filter(|ballot| ballot.poll == number)?;
        Answer::decode(number, poll, &ballot.body).map(|answer| inner::json(&answer))
    }

    /// The result of poll `number` as JSON `{answers, votes, texts, invalid}`, once the board has reached the poll's epoch;
    /// `undefined` before. An epoch that ended without a board has no answers.
    pub fn tally(&self, board: &Board, number: u64) -> Option<String> {
        tally(&self.0, &board.0, number)
    }
}

fn read(log: &mut hosting::HostLog, actions: &str) -> Result<(), String> {
    let actions: Vec<SignedAction> =
        serde_json::from_str(actions).map_err(|_| "the server's list of the host's actions is malformed".to_owned())?;
    actions.iter().try_for_each(|signed| log.apply(signed)).map_err(|error| error.to_string())
}

fn host_view<'a>((key, host): (&VerifyingKey, &'a hosting::Host)) -> HostView<'a> {
    HostView { key: key.to_hex(), name: &host.name, active: host.active }
}

fn poll_view<'a>((number, state): (&u64, &'a hosting::PollState)) -> PollView<'a> {
    let hosting::PollState { poll, withdrawn } = state;
    PollView { number: *number, question: &poll.question, form: &poll.form, epoch: poll.epoch, withdrawn: *withdrawn }
}

/// Invitations that stand, in the order in which they were made.
fn invitations(log: &hosting::HostLog) -> Vec<InvitationView> {
    let standing = log.invitations().iter().filter(|(_, invitation)| invitation.active);
    let shown = |(key, invitation): (&VerifyingKey, &hosting::Invitation)| InvitationView {
        key: key.to_hex(),
        number: invitation.number,
        claimed: invitation.claimed.map(|key| key.to_hex()),
    };
    let mut shown: Vec<_> = standing.map(shown).collect();
    shown.sort_unstable_by_key(|invitation| invitation.number);
    shown
}

fn view(log: &hosting::HostLog) -> String {
    inner::json(&LogView {
        length: log.length(),
        head: log.head().to_hex(),
        closed: log.closed(),
        erased: log.all_erased(),
        moderated: log.moderated(),
        hosts: log.hosts().iter().map(host_view).collect(),
        members: log.members().iter().map(|key| key.to_hex()).collect(),
        invitations: invitations(log),
        marks: log.marks().iter().map(|(message, marks)| MarksView { message: *message, marks }).collect(),
        polls: log.polls().iter().map(poll_view).collect(),
    })
}

fn act(log: &hosting::HostLog, key: &DeviceKey, time: u64, deed: &str) -> Result<String, String> {
    let deed: Deed =
        serde_json::from_str(deed).map_err(|error| format!("this is nothing that a host does: {error}"))?;
    let signed = log.act(&key.key, time, deed);
    log.check(&signed).map_err(|error| error.to_string())?;
    Ok(inner::json(&signed))
}

fn put_answer(log: &hosting::HostLog, outbox: &mut outbox::Outbox, number: u64, answer: &str) -> Result<(), String> {
    let state = log.polls().get(&number).filter(|state| !state.withdrawn);
    let poll = &state.ok_or("there is no such poll any more")?.poll;
    let answer: Answer = serde_json::from_str(answer).map_err(|_| hosting::InvalidAnswer.to_string())?;
    let body = answer.encode(number, poll).map_err(|error| error.to_string())?;
    outbox.answer(number, poll.epoch, body).map_err(|error| error.to_string())
}

fn tally(log: &hosting::HostLog, board: &inner::Board, number: u64) -> Option<String> {
    let poll = &log.polls().get(&number)?.poll;
    let reached = board.reader.last_epoch().is_some_and(|last| last >= poll.epoch);
    let counted = board.ballots.get(&poll.epoch).map(|entry| hosting::tally(number, poll, entry));
    reached.then(|| inner::json(&counted.unwrap_or_else(|| hosting::Tally::none(poll))))
}

#[cfg(test)]
mod tests {
    use ostrakon_broadcast::client::BoardReader;
    use ostrakon_broadcast::{RoomDescriptor, Servers};
    use ostrakon_crypto::{Digest, SigningKey};
    use ostrakon_party::SessionId;
    use serde_json::{Value, json};

    use super::*;

    fn host() -> DeviceKey {
        DeviceKey::from_seed(&[7; 32]).unwrap_or_else(|_| unreachable!("32 bytes"))
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
            json!([{"number": 0, "question": "Now?", "form": form, "epoch": 4, "withdrawn": false}])
        );
        assert_eq!(shown["hosts"][0]["name"], "");
        let mut outbox = outbox::Outbox::default();
        assert!(put_answer(&log, &mut outbox, 0, r#"{"choice":[2]}"#).is_err());
        put_answer(&log, &mut outbox, 0, r#"{"choice":[1]}"#).unwrap();
        assert_eq!(ballots(&outbox), r#"[{"epoch":4,"poll":0,"state":"waiting"}]"#);
        let own = HostLog(log.clone()).own_answer(&Outbox(outbox), 0);
        assert_eq!(own.as_deref(), Some(r#"{"choice":[1]}"#));
        let board = inner::Board { reader: BoardReader::new(servers, room), ballots: Default::default() };
        assert_eq!(tally(&log, &board, 0), None, "the board has not come so far");
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
        let placed = log.place(&hosting::Claim::sign(&servers.digest(), &room.id(), &link, &device));
        read(&mut log, &inner::json(&[placed])).unwrap();
        let shown: Value = serde_json::from_str(&view(&log)).unwrap();
        let device = device.verifying_key().to_hex();
        assert_eq!(shown["members"], json!([device]));
        assert_eq!(shown["invitations"][0], json!({"key": other, "number": 1, "claimed": null}));
        assert_eq!(shown["invitations"][1]["claimed"], json!(device));
    }

    #[test]
    fn marks_name_their_message_and_others_cannot_act() {
        let (servers, room) = setting();
        let mut log = hosting::HostLog::new(&servers, &room);
        let pin = json!({"pin": {"target": {"epoch": 3, "index": 1}, "pinned": true}}).to_string();
        let stranger = DeviceKey::from_seed(&[8; 32]).unwrap_or_else(|_| unreachable!("32 bytes"));
        assert!(act(&log, &stranger, 5, &pin).unwrap_err().contains("not a host"));
        assert!(act(&log, &host(), 5, r#""dance""#).is_err());
        let signed = act(&log, &host(), 5, &pin).unwrap();
        read(&mut log, &format!("[{signed}]")).unwrap();
        let shown: Value = serde_json::from_str(&view(&log)).unwrap();
        let marks = &shown["marks"][0];
        assert_eq!((&marks["epoch"], &marks["index"], &marks["pinned"]), (&json!(3), &json!(1), &json!(true)));
    }
}
