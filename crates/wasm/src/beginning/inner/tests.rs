use std::collections::BTreeMap;
use std::path::PathBuf;

use ostrakon_client::{Body, Http, Millis};
use serde_json::{Value, json};

use super::*;
use crate::inner::servers;

#[path = "../../../../client/tests/visitor/beginnings.rs"]
mod script;

use self::script::{BEGINNINGS, BeginningScript, Exchange, Played};

fn script(name: &str) -> BeginningScript {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../client/tests/traces");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn beginning(script: &BeginningScript, draft: &Value) -> Result<Beginning, String> {
    let operators = Operators::new(&servers(&script.servers.to_string()).unwrap()).unwrap();
    Beginning::new(operators, &script.key, &draft.to_string(), &script.seed)
}

/// What was asked as the script writes it, and what else was to be done.
fn play(script: &BeginningScript) -> (Vec<Exchange>, Vec<Value>) {
    let mut beginning = beginning(script, &json!(script.draft)).unwrap();
    let (mut played, mut told) = (Played::new(&script.exchanges), Vec::new());
    let mut answers: BTreeMap<(Millis, u64), Exchange> = BTreeMap::new();
    let (mut now, end) = (script.start, script.start + script.lasts);
    while now < end {
        if let Some(next) = answers.first_entry().filter(|next| next.key().0 <= now) {
            let ((_, id), Exchange { status, answer, .. }) = next.remove_entry();
            beginning.machine.replied(now, id, status, answer.as_bytes());
        } else {
            beginning.machine.wake(now);
        }
        loop {
            let actions: Vec<Value> = serde_json::from_str(&beginning.actions()).unwrap();
            if actions.is_empty() {
                break;
            }
            for action in actions {
                if action["do"] != "ask" {
                    if action["do"] == "keep" {
                        beginning.machine.kept(now, true);
                    }
                    told.push(action);
                    continue;
                }
                // A script writes bytes as the page is given them: in base64url.
                let body = action["body"].as_str().map(|text| Body::Json(text.into()));
                assert_eq!(action["bytes"], body.is_some());
                let http = Http { path: action["path"].as_str().unwrap().into(), body };
                let party = u8::try_from(action["party"].as_u64().unwrap()).unwrap();
                let patience = action["patience"].as_u64().unwrap();
                let answer = played.answer(now - script.start, party, &http, patience);
                answers.insert((now + answer.delay, action["id"].as_u64().unwrap()), answer);
            }
        }
        let answer = answers.keys().next().map_or(end, |(at, _)| *at);
        now = beginning.machine.wake_at().min(answer).max(now);
    }
    (played.asked, told)
}

#[test]
fn the_beginning_of_a_decision_is_told_as_json_as_it_gets_on() {
    for name in BEGINNINGS {
        let script = script(name);
        let (asked, told) = play(&script);
        assert_eq!(asked, script.exchanges, "{name}");
        // The first one decides, too.
        let steps = ["stocked", "keep", "begun", "shown"].map(|step| json!({"do": step}));
        assert_eq!(told, steps[usize::from(name != BEGINNINGS[0])..]);
    }
}

#[test]
fn why_a_decision_was_not_begun_is_told_as_json() {
    // Of a creator who does not decide, so that nothing is asked before the layers.
    let script = script(BEGINNINGS[1]);
    let failed = |status: u16, body: &str| {
        let mut beginning = beginning(&script, &json!(script.draft)).unwrap();
        beginning.machine.wake(script.start);
        for id in 0..3 {
            beginning.machine.replied(script.start, id, status, body.as_bytes());
        }
        let told: Vec<Value> = serde_json::from_str(&beginning.actions()).unwrap();
        told.last().unwrap()["failure"].clone()
    };
    let refused = json!({"kind": "server", "party": 0, "status": 422, "detail": "no"});
    assert_eq!(failed(422, r#"{"detail":"no"}"#), refused);
    let other = json!({"party": 0, "layer": ""}).to_string();
    assert_eq!(failed(200, &other), json!({"kind": "layer", "party": 0}));
    let doubtful = BeginningNews::Doubtful(NotBegun::Away(ostrakon_party::PartyId(0)));
    let told: Value =
        serde_json::from_str(&json(&BeginningJson::of(BeginningAction::Tell(doubtful)))).unwrap();
    let away = json!({"kind": "away", "party": 0});
    assert_eq!(told, json!({"do": "doubtful", "failure": away}));
    let draft = json!(script.draft);
    assert!(beginning(&script, &json!({})).is_err());
    let mut lonely = draft.clone();
    lonely["quorum"] = 1.into();
    assert!(beginning(&script, &lonely).is_err());
}
