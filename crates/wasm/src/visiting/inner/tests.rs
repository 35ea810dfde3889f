use std::collections::BTreeMap;
use std::path::PathBuf;

use ostrakon_client::visitor::Doubt;
use ostrakon_client::{Body, Http};
use ostrakon_decide::{Memory, Refused};
use serde_json::{Value, json};

use super::super::told::Finding;
use super::*;
use crate::deciding::inner::verify_archive;

#[path = "../../../../client/tests/visitor/script.rs"]
mod script;

use self::script::{Exchange, NAMES, Played, Script};

fn script(name: &str) -> Script {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../client/tests/traces");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn visitor(script: &Script) -> Visitor {
    let operators = Operators::new(&servers(&script.servers.to_string()).unwrap()).unwrap();
    Visitor::new(operators, &script.decision, None, &script.key, &script.seed).unwrap()
}

/// A request as the page is told it.
fn sent(ask: &Value) -> Http {
    let body = ask["body"].as_str().map(|text| match ask["bytes"].as_bool().unwrap() {
        true => Body::Bytes(data_encoding::BASE64URL_NOPAD.decode(text.as_bytes()).unwrap()),
        false => Body::Json(text.into()),
    });
    Http { path: ask["path"].as_str().unwrap().into(), body }
}

/// What was asked in a visit as the scripts write it, what was told, and the machine at its end.
fn play(script: &Script) -> (Vec<Exchange>, Vec<Value>, Visitor) {
    let (mut visitor, mut memory) = (visitor(script), Memory::default());
    let (mut played, mut told) = (Played::new(&script.exchanges), Vec::new());
    let mut answers: BTreeMap<(Millis, u64), Exchange> = BTreeMap::new();
    let mut wishes = script.wishes.iter().peekable();
    let (mut now, end) = (script.start, script.start + script.lasts);
    while now < end {
        if let Some(wish) = wishes.next_if(|wish| script.start + wish.at <= now) {
            match &wish.answers {
                Some(answers) => visitor.machine.answer(now, answers),
                None => visitor.machine.accept(now),
            };
        } else if let Some(next) = answers.first_entry().filter(|next| next.key().0 <= now) {
            let ((_, id), Exchange { status, answer, .. }) = next.remove_entry();
            visitor.machine.replied(now, id, status, answer.as_bytes());
        } else {
            visitor.machine.wake(now);
        }
        loop {
            let actions: Vec<Value> = serde_json::from_str(&visitor.actions()).unwrap();
            if actions.is_empty() {
                break;
            }
            for action in actions {
                match action["do"].as_str().unwrap() {
                    "ask" => {
                        let party = u8::try_from(action["party"].as_u64().unwrap()).unwrap();
                        let patience = action["patience"].as_u64().unwrap();
                        let at = now - script.start;
                        let answer = played.answer(at, party, &sent(&action), patience);
                        answers
                            .insert((now + answer.delay, action["id"].as_u64().unwrap()), answer);
                    }
                    "keep" => {
                        visitor.machine.keep(&mut memory);
                        visitor.machine.kept(now, true);
                    }
                    _ => told.push(action),
                }
            }
        }
        let wish = wishes.peek().map_or(end, |wish| script.start + wish.at);
        let answer = answers.keys().next().map_or(end, |(at, _)| *at);
        now = visitor.machine.wake_at().min(wish).min(answer).max(now);
    }
    (played.asked, told, visitor)
}

#[test]
fn visits_are_told_as_json_as_they_go_on_and_can_be_saved_at_their_end() {
    for name in NAMES {
        let script = script(name);
        let (asked, told, visitor) = play(&script);
        assert_eq!(asked, script.exchanges, "{name}");
        for at in ["verifying", "read", "done", "signed"] {
            assert!(told.iter().any(|news| news["at"] == at), "{name}: {at} among {told:?}");
        }
        let done = |deed| json!({"do": "tell", "at": "done", "deed": deed});
        assert!(told.contains(&done("accept")) && told.contains(&done("answer")), "{told:?}");

        let here: Value = serde_json::from_str(&visitor.here()).unwrap();
        let outcome = &here["outcome"];
        assert_eq!(outcome["meanings"], json!([{"counts": [1, 1]}]));
        assert_eq!((&here["wanted"], &here["pending"]), (&json!([]), &Value::Null));
        assert_eq!(here["receipt"]["signatures"].as_array().unwrap().len(), 3);
        let view: Value = serde_json::from_str(&visitor.view().unwrap()).unwrap();
        assert_eq!((&view["stage"], &view["owners"][0]), (&json!("closed"), &here["account"]));
        assert!(visitor.residual(0).unwrap().contains("everything"));

        let list = script.servers.to_string();
        let text = visitor.archive(&list).unwrap();
        let digest = servers(&list).unwrap().digest().to_hex();
        let report: Value =
            serde_json::from_str(&verify_archive(&text, Some(&digest)).unwrap()).unwrap();
        assert_eq!(report["report"]["outcome"], *outcome);
        assert!(verify_archive(&text, Some(&"00".repeat(32))).is_err(), "other servers");
        assert!(visitor.archive("[]").is_err());
    }
}

#[test]
fn a_server_that_does_not_know_the_decision_is_told_from_silence() {
    let said = |answers: [(u16, &str); 3]| {
        let (script, mut told) = (script(NAMES[0]), Value::Null);
        let mut visitor = visitor(&script);
        visitor.machine.wake(1_000);
        visitor.actions();
        for (id, (status, body)) in (0..).zip(answers) {
            visitor.machine.replied(1_100, id, status, body.as_bytes());
            let actions: Vec<Value> = serde_json::from_str(&visitor.actions()).unwrap();
            told = actions.into_iter().find(|one| one["at"] == "away").unwrap_or(told);
        }
        told["said"].clone()
    };
    let unknown = (404, r#"{"detail":"no such decision"}"#);
    let expected = json!({"status": 404, "detail": "no such decision"});
    assert_eq!(said([(0, ""), unknown, (503, "")]), expected);
    assert_eq!(said([(503, ""), (0, ""), (0, "")]), json!({"status": 503, "detail": ""}));
    assert_eq!(said([(0, ""), (503, ""), (503, "")]), Value::Null);
}

#[test]
fn doubts_have_a_kind_for_the_page_and_a_sentence() {
    let kind = |doubt: &Doubt| {
        let DoubtJson { finding, detail } = DoubtJson::from(doubt);
        assert!(!detail.is_empty());
        finding
    };
    let refused = |refused: Refused| kind(&Doubt::Refused(refused));
    assert_eq!(refused(Refused::Signature { number: 4 }), Finding::Signature { number: 4 });
    assert_eq!(
        refused(Refused::Shorter { shown: 1, seen: 2 }),
        Finding::Shorter { shown: 1, seen: 2 }
    );
    assert_eq!(refused(Refused::NoResult("too few".into())), Finding::NoResult);
    assert_eq!(refused(Refused::Form), Finding::Other);
    assert_eq!(kind(&Doubt::Different), Finding::Different);
    let alone = Doubt::Alone { number: 2, record: vec![1] };
    assert_eq!(kind(&alone), Finding::Different);
    let shown = json(&DoubtJson::from(&Doubt::Refused(Refused::Forked { number: 3 })));
    assert!(shown.starts_with(r#"{"finding":{"kind":"forked","number":3},"detail":"#), "{shown}");
}

#[test]
fn a_stock_is_asked_for_as_json_and_its_end_is_told() {
    let script = script(NAMES[0]);
    let operators = Operators::new(&servers(&script.servers.to_string()).unwrap()).unwrap();
    assert!(Stock::new(operators, &script.key, None, &[4; 31]).is_err());
    let end = |answer: (u16, &str)| -> Value {
        let mut stock = Stock::new(operators, &script.key, Some(1), &[4; 32]).unwrap();
        stock.machine.wake(5_000);
        let asked: Value = serde_json::from_str(&stock.actions()).unwrap();
        assert!(asked[0]["path"].as_str().unwrap().contains("time=5&signature="), "{asked}");
        stock.machine.replied(5_100, 0, answer.0, answer.1.as_bytes());
        serde_json::from_str(&stock.actions()).unwrap()
    };
    assert_eq!(end((200, r#"{"stock":3,"wanted":8}"#)), json!([{"do": "full", "added": 0}]));
    let failure = json!({"kind": "server", "status": 422, "detail": "no"});
    assert_eq!(end((422, r#"{"detail":"no"}"#)), json!([{"do": "failed", "failure": failure}]));
}
