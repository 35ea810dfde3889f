//! What the binding does, in plain Rust.

use ostrakon_client::joining::{self, CanvassAction, CanvassNews, JoiningAnswer};
use ostrakon_client::visitor::Refusal;
use ostrakon_crypto::Secret;
use ostrakon_protocol::decisions::{GatheringInfo, RequestsInfo};
use serde::Serialize;

use crate::inner::json;
use crate::taking_part::inner::AskJson;

/// What is shown to the user.
type Sentence = String;

pub struct Canvass {
    pub machine: joining::Canvass,
}

#[derive(Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum CanvassJson {
    Ask(AskJson),
    Done { answers: Vec<AnswerJson> },
    Failed { party: u8, status: u16, detail: String },
}

#[derive(Serialize)]
#[serde(untagged)]
enum AnswerJson {
    Shown(GatheringInfo),
    Requests(RequestsInfo),
}

impl CanvassJson {
    fn of(action: CanvassAction) -> Self {
        match action {
            CanvassAction::Ask(sending) => Self::Ask(AskJson::of(sending)),
            CanvassAction::Tell(CanvassNews::Done(answers)) => {
                let answers = answers.into_iter().filter_map(|answer| match answer {
                    JoiningAnswer::Shown(info) => Some(AnswerJson::Shown(info)),
                    JoiningAnswer::Requests(info) => Some(AnswerJson::Requests(info)),
                    JoiningAnswer::Taken => None,
                });
                Self::Done { answers: answers.collect() }
            }
            CanvassAction::Tell(CanvassNews::Failed { party, refusal }) => {
                let silence = Refusal { status: 0, detail: String::new() };
                let Refusal { status, detail } = refusal.unwrap_or(silence);
                Self::Failed { party: party.0, status, detail }
            }
        }
    }
}

impl Canvass {
    pub fn new(call: &str, seed: &[u8]) -> Result<Self, Sentence> {
        let call = serde_json::from_str(call)
            .map_err(|error| format!("what is asked is malformed: {error}"))?;
        let seed = Secret::new(seed.try_into().map_err(|_| "a seed has 32 bytes")?);
        Ok(Self { machine: joining::Canvass::new(call, seed) })
    }

    pub fn actions(&mut self) -> String {
        let mut actions = Vec::new();
        while let Some(action) = self.machine.next_action() {
            actions.push(CanvassJson::of(action));
        }
        json(&actions)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ID: &str = "0707070707070707070707070707abcd";

    fn told(canvass: &mut Canvass) -> Value {
        serde_json::from_str(&canvass.actions()).unwrap()
    }

    #[test]
    fn what_is_asked_is_read_from_json_and_what_servers_show_is_told_as_json() {
        let call = json!({"requests": {"link": ID, "time": 5, "signature": "ab".repeat(64)}});
        let mut canvass = Canvass::new(&call.to_string(), &[4; 32]).unwrap();
        canvass.machine.wake(1_000);
        let path = format!("gatherings/{ID}/requests?time=5&signature={}", "ab".repeat(64));
        let asked = told(&mut canvass);
        for party in 0..3 {
            assert_eq!(
                (&asked[party]["party"], &asked[party]["path"]),
                (&party.into(), &json!(path))
            );
        }
        canvass.machine.replied(1_040, 0, 200, br#"{"requests":["AAE"]}"#);
        canvass.machine.replied(1_041, 1, 403, b"");
        canvass.machine.replied(1_042, 2, 200, br#"{"requests":[]}"#);
        let expected =
            json!([{"do": "done", "answers": [{"requests": ["AAE"]}, {"requests": []}]}]);
        assert_eq!(told(&mut canvass), expected);
    }

    #[test]
    fn what_is_posted_is_bytes_and_what_says_most_is_told_where_nobody_takes_it() {
        for call in [
            json!({"keep": "AAE"}),
            json!({"say": {"link": ID, "word": "AAE"}}),
            json!({"take": {"link": ID, "request": "AAE"}}),
        ] {
            let mut canvass = Canvass::new(&call.to_string(), &[4; 32]).unwrap();
            canvass.machine.wake(1_000);
            let asked = told(&mut canvass);
            assert_eq!((&asked[0]["body"], &asked[0]["bytes"]), (&json!("AAE"), &json!(true)));
            for id in 0..3 {
                canvass.machine.replied(1_040, id, 422, br#"{"detail":"no"}"#);
            }
            let expected = json!([{"do": "failed", "party": 0, "status": 422, "detail": "no"}]);
            assert_eq!(told(&mut canvass), expected);
        }
        assert!(Canvass::new(r#"{"keep":"!"}"#, &[4; 32]).is_err());
        assert!(Canvass::new(&json!({"show": ID}).to_string(), &[4; 31]).is_err());
    }
}
