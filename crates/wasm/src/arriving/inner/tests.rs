use std::collections::BTreeMap;
use std::path::PathBuf;

use ostrakon_client::{Http, Millis};
use serde_json::{Value, json};

use super::*;

#[path = "../../../../client/tests/arriving/script.rs"]
mod script;

use self::script::{ARRIVALS, Exchange, Played, Script};

fn script(name: &str) -> Script {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../client/tests/traces");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn arriving(script: &Script, kept: Option<&str>) -> Arriving {
    let Script { origin, servers, room, seed, .. } = script;
    Arriving::new(origin, servers.as_deref(), room.as_deref(), kept, seed).unwrap()
}

/// What was asked as the script writes it, and what was told.
fn play(script: &Script) -> (Vec<Exchange>, Vec<Value>) {
    let mut arriving = arriving(script, None);
    let (mut played, mut told) = (Played::new(&script.exchanges), Vec::new());
    let mut answers: BTreeMap<(Millis, u64), Exchange> = BTreeMap::new();
    let (mut now, end) = (script.start, script.start + script.lasts);
    while now < end {
        if let Some(next) = answers.first_entry().filter(|next| next.key().0 <= now) {
            let ((_, id), Exchange { status, answer, .. }) = next.remove_entry();
            arriving.machine.replied(now, id, status, answer.as_bytes());
        } else {
            arriving.machine.wake(now);
        }
        for action in serde_json::from_str::<Vec<Value>>(&arriving.actions()).unwrap() {
            if action["do"] != "ask" {
                told.push(action);
                continue;
            }
            assert_eq!(action["body"], Value::Null);
            let http = Http { path: action["path"].as_str().unwrap().into(), body: None };
            let party = u8::try_from(action["party"].as_u64().unwrap()).unwrap();
            let patience = action["patience"].as_u64().unwrap();
            let answer = played.answer(now - script.start, party, &http, patience);
            answers.insert((now + answer.delay, action["id"].as_u64().unwrap()), answer);
        }
        let answer = answers.keys().next().map_or(end, |(at, _)| *at);
        now = arriving.machine.wake_at().min(answer).max(now);
    }
    (played.asked, told)
}

#[test]
fn what_was_found_is_told_as_json() {
    for name in ARRIVALS {
        let script = script(name);
        let (asked, told) = play(&script);
        assert_eq!(asked, script.exchanges, "{name}");
        let [found, arrived] = &told[..] else { panic!("{told:?}") };
        let addresses = json!(["http://p0.example", "http://p1.example", "http://p2.example"]);
        assert_eq!(found, &json!({"do": "found", "addresses": addresses}));
        assert_eq!((&arrived["do"], &arrived["addresses"]), (&json!("arrived"), &addresses));
        assert_eq!(arrived["entrance"], script.origin.trim_end_matches('/'));
        assert_eq!(arrived["servers"]["servers"][2]["party"], 2);
        assert_eq!(arrived["contradicting"], json!([]));
        match script.destination().room {
            Some(_) => assert_eq!(arrived["room"]["closed"], false),
            None => assert_eq!(arrived["room"], Value::Null),
        }
    }
}

/// What is told once the first server has answered so.
fn told(script: &Script, kept: Option<&str>, status: u16, body: &str) -> Vec<Value> {
    let mut arriving = arriving(script, kept);
    arriving.machine.wake(5_000);
    arriving.machine.wake(20_000);
    arriving.machine.replied(20_000, 0, status, body.as_bytes());
    let told: Vec<Value> = serde_json::from_str(&arriving.actions()).unwrap();
    told.into_iter().filter(|one| one["do"] != "ask").collect()
}

#[test]
fn why_nothing_was_found_is_told_as_json() {
    let script = script(ARRIVALS[0]);
    let failed = |mut failure: Value| {
        failure["at"] = "http://p0.example".into();
        vec![json!({"do": "failed", "failure": failure})]
    };
    assert_eq!(told(&script, None, 0, ""), failed(json!({"kind": "away"})));
    let refused = json!({"kind": "server", "status": 429, "detail": "no"});
    assert_eq!(told(&script, None, 429, r#"{"detail":"no"}"#), failed(refused));
    assert_eq!(told(&script, None, 200, "<html>")[0]["failure"]["kind"], "malformed");
    let servers = &script.exchanges[0].answer;
    let others = servers.replacen("session\":\"09", "session\":\"08", 1);
    assert_ne!(&others, servers);
    assert_eq!(told(&script, None, 200, &others), failed(json!({"kind": "other-servers"})));
}

#[test]
fn what_was_kept_is_read_and_what_is_something_else_is_nothing() {
    let script = script(ARRIVALS[0]);
    let answer = |path: &str| {
        let found = script.exchanges.iter().find(|one| one.path.starts_with(path));
        found.unwrap().answer.clone()
    };
    let room: Value = serde_json::from_str(&answer("rooms/")).unwrap();
    let kept = json!({"servers": answer("servers"), "descriptor": room["descriptor"]});
    assert_eq!(told(&script, Some(&kept.to_string()), 0, "")[0]["do"], "found");
    for other in ["", "{}", r#"{"servers":"{}","descriptor":{}}"#] {
        assert_eq!(told(&script, Some(other), 0, "")[0]["do"], "failed");
    }
    let new = |servers, room, seed: &[u8]| {
        Arriving::new("http://p0.example", servers, room, None, seed).is_err()
    };
    assert!(new(Some("00"), None, &[0; 32]) && new(None, Some("zz"), &[0; 32]));
    assert!(new(None, None, &[0; 31]));
}
