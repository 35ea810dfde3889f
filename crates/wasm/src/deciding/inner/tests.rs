use ostrakon_decide::{Content, Invitation};
use serde_json::{Value, json};

use super::*;

fn identity(party: u8) -> SigningKey {
    SigningKey::from_seed(&[party + 1; 32])
}

fn account(person: u8) -> SigningKey {
    SigningKey::from_seed(&[person + 20; 32])
}

fn servers() -> String {
    let server =
        |party: u8| json!({"party": party, "key": identity(party).verifying_key().to_hex()});
    json!({"session": "09".repeat(32), "servers": [server(0), server(1), server(2)]}).to_string()
}

fn operators() -> Operators {
    Operators::new(&crate::inner::servers(&servers()).unwrap()).unwrap()
}

fn draft_text() -> String {
    let person = |name: &str, seed: u8| {
        let key = Invitation([seed; 32]).key().verifying_key().to_hex();
        json!({"name": name, "seat": {"invitation": key}})
    };
    let ballot =
        json!({"label": "", "options": ["no", "yes"], "function": "majority", "assumed": 0});
    json!({
        "question": "Shall we?",
        "ballots": [ballot],
        "people": [person("Ada", 40), person("Ben", 41)],
        "accept_by": 900, "all_needed": false, "quorum": 2,
        "deadline": 1000,
        "threshold": 0,
        "creator": account(0).verifying_key().to_hex(),
        "nonce": vec![7; 16],
        "servers": operators().digest.to_hex(),
    })
    .to_string()
}

fn visit(records: &[String]) -> Visit {
    let mut visit = Visit::new(operators(), draft(&draft_text()).unwrap().id());
    for record in records {
        read(&mut visit, record).unwrap();
    }
    verify(&mut visit).unwrap();
    visit
}

fn accepted(records: &[String], person: u8) -> Vec<u8> {
    let new = new_key(&operators(), &account(person), (0, 0), "[]").unwrap();
    let key = wire::decode(&certify(&operators(), &account(person), &new, "[]").unwrap()).unwrap();
    let invitation = Invitation([40 + person; 32]);
    visit(records).accept(&account(person), key, Some(&invitation), 5).unwrap().encode()
}

/// What a server drew for its layer.
fn drawn(party: u8) -> ostrakon_crypto::Secret {
    ostrakon_crypto::Secret::new([party + 90; 32])
}

#[test]
fn a_decision_is_created_answered_and_opened_from_texts() {
    let layer = |party: u8| {
        let draft = draft(&draft_text()).unwrap();
        let layer = Layer::of(
            (&drawn(party), 5),
            &identity(party),
            PartyId(party),
            &operators(),
            &draft,
            &mut generator().unwrap(),
        );
        BASE64URL_NOPAD.encode(&wire::encode(&layer.unwrap()))
    };
    let layers = json!([layer(0), layer(1), layer(2)]).to_string();
    let first = create(&operators(), &account(0), &draft_text(), &layers, 5).unwrap();
    assert!(
        create(&operators(), &account(1), &draft_text(), &layers, 5).is_err(),
        "not the creator"
    );
    let mut records = vec![BASE64URL_NOPAD.encode(&first)];
    for person in [0, 1] {
        records.push(BASE64URL_NOPAD.encode(&accepted(&records, person)));
    }
    for person in [1, 0] {
        let mut memory = Memory::default();
        let bytes = answer(&visit(&records), &account(person), &[1], &mut memory, 6).unwrap();
        assert!(
            answer(&visit(&records), &account(person), &[0], &mut memory, 6).is_err(),
            "the answer is fixed"
        );
        records.push(BASE64URL_NOPAD.encode(&bytes));
        let receipt =
            visit(&records).confirmed(&account(person).verifying_key(), &mut memory).unwrap();
        assert_eq!(receipt.number, records.len() as u32 - 1);
    }
    let mut changed = BASE64URL_NOPAD.decode(records[4].as_bytes()).unwrap();
    *changed.last_mut().unwrap() ^= 1;
    let doubt = read(&mut visit(&records[..4]), &BASE64URL_NOPAD.encode(&changed)).unwrap_err();
    assert_eq!(doubt.finding, Finding::Signature { number: 4 }, "{}", doubt.sentence);
    let close = visit(&records).chain().unwrap().next(
        &identity(0),
        7,
        Content::Close { absent: Vec::new() },
    );
    records.push(BASE64URL_NOPAD.encode(&close.encode()));
    let closed = visit(&records);
    let shown: Value = serde_json::from_str(&view(closed.chain().unwrap())).unwrap();
    assert_eq!(
        (&shown["stage"], &shown["people"][1]["part"]),
        (&json!("closed"), &json!({"answered": 3}))
    );
    let examined = Examined::of(&closed).unwrap();
    let opening = |party: u8| {
        let opening =
            examined.open(&drawn(party), PartyId(party), &[], &mut generator().unwrap()).unwrap();
        json!({"party": party, "opening": BASE64URL_NOPAD.encode(&opening.encode())})
    };
    let found = |openings: Value| result(&closed, &openings.to_string()).unwrap_err().finding;
    assert_eq!(
        found(json!([opening(0), opening(1)])),
        Finding::NoResult,
        "too few, but none of them is wrong"
    );
    let mut taken = opening(0);
    taken["party"] = json!(1);
    assert_eq!(found(json!([opening(0), taken, opening(2)])), Finding::Opening { party: 1 });
    let openings = json!([opening(0), opening(1), opening(2)]).to_string();
    let outcome = json!({"outputs": [1], "meanings": [{"passed": true}]});
    assert_eq!(
        serde_json::from_str::<Value>(&result(&closed, &openings).unwrap()).unwrap(),
        outcome
    );
    let text = archive(&servers(), &json!(records).to_string(), &openings).unwrap();
    let report = verify_archive(&text, Some(&operators().digest.to_hex())).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&report).unwrap()["report"]["outcome"], outcome);
    assert!(verify_archive(&text, Some(&"00".repeat(32))).is_err(), "other servers");
}

#[test]
fn records_of_another_version_are_none_that_were_changed() {
    let text = archive(&servers(), "[]", "[]").unwrap();
    let later = verify_archive(&text.replace("-decision-1", "-decision-7"), None).unwrap();
    assert_eq!(later, r#"{"version":"ostrakon-decision-7"}"#);
    assert!(verify_archive(&text, None).is_err(), "of this version, and without a record");
}

#[test]
fn malformed_texts_are_refused_with_a_sentence() {
    assert!(draft("{}").unwrap_err().contains("the draft is malformed"));
    assert!(table_rows(200, 8).is_err());
    assert_eq!(table_rows(2, 2).unwrap(), "[[2,0],[1,1],[0,2]]");
    assert!(stock(r#"["!"]"#).is_err());
    assert!(decision_id("00").is_err());
    let mut visit = Visit::new(operators(), draft(&draft_text()).unwrap().id());
    assert!(read(&mut visit, "AAAA").unwrap_err().sentence.contains("no record"));
    assert!(
        new_key(&operators(), &account(0), (2, 0), "[]").is_err(),
        "the servers' keys are needed"
    );
}
