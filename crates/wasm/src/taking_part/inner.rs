//! What the binding does, in plain Rust.

use std::sync::Arc;

use ostrakon_broadcast::outbox::Outbox;
use ostrakon_client::{Action, Body, Filled, Millis, News, Scene, Sending};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_mixing::Content;
use ostrakon_party::PartyId;
use ostrakon_protocol::Status;
use serde::Serialize;

use crate::inner::{descriptor, json, servers};
use crate::messaging::inner::Messenger;

/// What is shown to the user.
type Sentence = String;

pub struct Participant {
    machine: ostrakon_client::Participant,
    /// Where it is present, as was told.
    home: Option<u8>,
    /// What was decided for an epoch, until it is written down.
    decided: Option<(u64, Filled)>,
}

#[derive(Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum ActionJson {
    Ask(AskJson),
    Fill { epoch: u64, minimum: u32 },
    Tell { at: &'static str, home: Option<u8>, epoch: Option<u64> },
}

/// A request that is to be sent.
#[derive(Serialize)]
pub struct AskJson {
    id: u64,
    party: u8,
    path: String,
    body: Option<String>,
    /// Whether the body is bytes, in base64url.
    bytes: bool,
    patience: Millis,
}

impl AskJson {
    pub fn of(request: Sending) -> Self {
        let Sending { id, party, http, patience } = request;
        let bytes = matches!(http.body, Some(Body::Bytes(_)));
        let body = http.body.map(|body| body.text());
        Self { id, party: party.0, path: http.path, body, bytes, patience }
    }
}

impl Participant {
    pub fn new(
        pinned: &str,
        room: &str,
        key: &[u8; 32],
        seed: &[u8],
        before: Option<u8>,
    ) -> Result<Self, Sentence> {
        let scene = Scene::new(servers(pinned)?, descriptor(room)?);
        let seed = seed.try_into().map_err(|_| "a seed has 32 bytes".to_owned())?;
        let key = SigningKey::from_seed(key);
        let before = before.map(PartyId);
        let machine =
            ostrakon_client::Participant::new(Arc::new(scene), key, Secret::new(seed), before);
        Ok(Self { machine, home: None, decided: None })
    }

    pub fn wake(&mut self, now: Millis) {
        self.machine.wake(now);
    }

    /// What is no status is as if the server did not answer.
    pub fn heard(&mut self, now: Millis, party: u8, status: Option<&str>, came: Millis) {
        let status: Option<Status> = status.and_then(|text| serde_json::from_str(text).ok());
        let status = status.as_ref().map(|status| (status, came));
        self.machine.heard(now, PartyId(party), status);
    }

    pub fn replied(&mut self, now: Millis, id: u32, status: u16, body: &str) {
        self.machine.replied(now, u64::from(id), status, body.as_bytes());
    }

    pub fn fill(&mut self, outbox: &mut Outbox, epoch: u64, minimum: u32) {
        let content = outbox.content_among(epoch, minimum);
        self.decided = Some((epoch, content.map_or(Filled::Nothing, Filled::Row)));
    }

    pub fn fill_row(&mut self, messenger: &mut Messenger, epoch: u64, minimum: u32) {
        let filled = match messenger.row(epoch, minimum) {
            Ok(Some(row)) => Filled::Row(Content::Message(row)),
            Ok(None) => Filled::Nothing,
            // The user has not agreed to hide among so few, or the browser has no randomness.
            Err(_) => Filled::Later,
        };
        self.decided = Some((epoch, filled));
    }

    pub fn filled(&mut self, now: Millis, kept: bool) {
        if let Some((epoch, filled)) = self.decided.take() {
            self.machine.filled(now, epoch, if kept { filled } else { Filled::Later });
        }
    }

    pub fn actions(&mut self) -> String {
        let mut actions = Vec::new();
        while let Some(action) = self.machine.next_action() {
            actions.extend(self.shown(action));
        }
        json(&actions)
    }

    fn shown(&mut self, action: Action) -> Option<ActionJson> {
        let (at, epoch) = match action {
            Action::Ask(request) => {
                return Some(ActionJson::Ask(AskJson::of(request.sending(self.machine.room()))));
            }
            Action::Fill(context) => {
                let (epoch, minimum) = (context.epoch.number, context.minimum);
                return Some(ActionJson::Fill { epoch, minimum });
            }
            Action::Tell(News::Looking) => ("looking", None),
            Action::Tell(News::Waiting { home }) => {
                self.home = Some(home.0);
                ("waiting", None)
            }
            Action::Tell(News::Placed { epoch }) => ("placed", Some(epoch)),
            Action::Tell(News::HandedIn { epoch, .. }) => ("handed-in", Some(epoch)),
            // Where it stands then is told next.
            Action::Tell(News::NoSlot { .. } | News::NotMade { .. }) => return None,
        };
        Some(ActionJson::Tell { at, home: self.home, epoch })
    }

    pub fn wake_at(&self) -> Millis {
        self.machine.wake_at()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pinned() -> String {
        let key = |party: u8| SigningKey::from_seed(&[party + 1; 32]).verifying_key().to_hex();
        let server = |party| json!({"party": party, "name": "n", "url": "", "key": key(party)});
        let list: Vec<_> = (0..3).map(server).collect();
        json!({"you": 0, "session": "07".repeat(32), "servers": list}).to_string()
    }

    fn room() -> String {
        let room = ostrakon_mixing::RoomDescriptor {
            capacity: 9,
            ..ostrakon_mixing::RoomDescriptor::new("r")
        };
        json!(room).to_string()
    }

    #[test]
    fn what_is_to_be_done_is_told_as_json_once() {
        let made = Participant::new(&pinned(), &room(), &[9; 32], &[4; 32], Some(1));
        let mut participant = made.unwrap();
        participant.wake(5_000);
        let actions: Value = serde_json::from_str(&participant.actions()).unwrap();
        let ask = &actions[0];
        assert_eq!((&ask["do"], &ask["party"]), (&json!("ask"), &json!(1)));
        assert!(ask["path"].as_str().unwrap().ends_with("/presence"));
        assert!(ask["body"].as_str().unwrap().contains(r#""time":5"#));
        assert_eq!(participant.actions(), "[]");
        participant.replied(5_100, 0, 200, r#"{"home":true}"#);
        let told: Value = serde_json::from_str(&participant.actions()).unwrap();
        assert_eq!(told, json!([{"do": "tell", "at": "waiting", "home": 1, "epoch": null}]));
        assert_eq!(participant.wake_at(), 15_100);
    }

    #[test]
    fn what_cannot_be_read_is_refused_or_counts_as_silence() {
        assert!(Participant::new("[]", &room(), &[9; 32], &[4; 32], None).is_err());
        assert!(Participant::new(&pinned(), "{}", &[9; 32], &[4; 32], None).is_err());
        assert!(Participant::new(&pinned(), &room(), &[9; 32], &[4; 31], None).is_err());
        let made = Participant::new(&pinned(), &room(), &[9; 32], &[4; 32], None);
        let mut participant = made.unwrap();
        participant.heard(5_000, 0, Some("<html>"), 5_000);
        participant.heard(5_000, 9, None, 5_000);
        participant.replied(5_000, 77, 200, "");
        participant.filled(5_000, true);
    }
}
