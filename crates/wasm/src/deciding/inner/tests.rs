use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_decide::record::create;
use ostrakon_decide::{Invitation, Layer, Operators};
use ostrakon_party::PartyId;
use serde_json::{Value, json};

use super::*;

fn identity(party: u8) -> SigningKey {
    SigningKey::from_seed(&[party + 1; 32])
}

fn account(person: u8) -> SigningKey {
    SigningKey::from_seed(&[person + 20; 32])
}

fn servers() -> String {
    let key = |party| identity(party).verifying_key().to_hex();
    let server = |party| json!({"party": party, "name": "n", "url": "", "key": key(party)});
    let list = [0, 1, 2].map(server);
    json!({"you": 0, "session": "09".repeat(32), "servers": list}).to_string()
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

#[test]
fn a_decision_of_a_draft_as_text_is_shown() {
    let draft = draft(&draft_text()).unwrap();
    let layer = |party: u8| {
        let layer = Layer::of(
            (&Secret::new([party + 90; 32]), 5),
            &identity(party),
            PartyId(party),
            &operators(),
            &draft,
            &mut generator().unwrap(),
        );
        layer.unwrap()
    };
    let layers = [layer(0), layer(1), layer(2)];
    let first = create(draft.clone(), layers, &operators(), &account(0), 5);
    let chain = Chain::begin(operators(), &first).unwrap();
    let shown: Value = serde_json::from_str(&view(&chain)).unwrap();
    assert_eq!(
        (&shown["stage"], &shown["people"][1]["part"], &shown["missing"]),
        (&json!("accepting"), &json!("invited"), &json!([0, 1]))
    );
}

#[test]
fn records_of_another_version_are_none_that_were_changed() {
    let list = crate::inner::servers(&servers()).unwrap();
    let text = Archive::new(list, Vec::<Vec<u8>>::new(), &[]).to_text();
    let later = verify_archive(&text.replace("-decision-1", "-decision-7"), None).unwrap();
    assert_eq!(later, r#"{"version":"ostrakon-decision-7"}"#);
    assert!(verify_archive(&text, None).is_err(), "of this version, and without a record");
}

#[test]
fn malformed_texts_are_refused_with_a_sentence() {
    assert!(draft("{}").unwrap_err().contains("the draft is malformed"));
    assert!(table_rows(200, 8).is_err());
    assert_eq!(table_rows(2, 2).unwrap(), "[[2,0],[1,1],[0,2]]");
    assert!(decision_id("00").is_err());
}

const NOW: u64 = 1_700_000_000;

fn wish(quorum: &Value) -> String {
    let ballot =
        json!({"label": "", "options": ["no", "yes"], "function": "majority", "assumed": 0});
    json!({
        "question": " Shall we? ",
        "ballots": [ballot],
        "accept_by": NOW + 500, "all_needed": false, "quorum": quorum,
        "deadline": NOW + 1_000,
        "threshold": 2,
    })
    .to_string()
}

#[test]
fn a_draft_is_made_of_json_with_the_secrets_of_its_invitations() {
    let (operators, creator) = (operators(), account(0));
    let ben = account(1).verifying_key().to_hex();
    let guests = json!([{"name": "Ada", "account": null, "address": "a@b.c"}, {"name": "Ben", "account": ben}]);
    let (guests, wish) = (guests.to_string(), wish(&Value::Null));
    let around = around(&operators, &creator, Some(&"ab".repeat(16))).unwrap();
    let made = made_draft(&wish, &guests, around, NOW).unwrap();
    let made: Value = serde_json::from_str(&made).unwrap();
    let draft = draft(made["draft"].as_str().unwrap()).unwrap();
    assert_eq!(made["id"], draft.id().to_hex());
    let invitation = Invitation::from_text(made["invitations"][0].as_str().unwrap()).unwrap();
    assert_eq!(draft.people[0].seat, decide::Seat::Invitation(invitation.key().verifying_key()));
    assert_eq!(made["invitations"][1], Value::Null);
    assert_eq!((draft.quorum, draft.gathering.unwrap().to_hex()), (2, "ab".repeat(16)));
    assert!(made_draft(&wish, &guests, around, NOW + 500).unwrap_err().contains("accept"));
    assert!(self::around(&operators, &creator, Some("ab")).is_err());
}

#[test]
fn a_flaw_is_told_by_a_word_and_limits_and_names_as_json() {
    let guests = r#"[{"name": "Ada", "account": null}]"#;
    let flaw = |quorum: Value, more| flaw(&wish(&quorum), guests, more, NOW).unwrap();
    assert_eq!(flaw(Value::Null, 2), None);
    assert_eq!(flaw(json!(2), 2).as_deref(), Some("quorum"));
    let late = super::flaw(&wish(&Value::Null), guests, 2, NOW + 500).unwrap();
    assert_eq!(late.as_deref(), Some("accept-by"));
    assert!(super::flaw("{}", guests, 2, NOW).is_err());
    let limits: Value = serde_json::from_str(&draft_limits()).unwrap();
    let expected =
        json!({"people": [2, 200], "options": 8, "ballots": 20, "question": 500, "label": 100});
    assert_eq!(limits, expected);
    let told =
        told_apart(r#"[{"name": "Ada", "code": ""}, {"name": "ada", "code": "0123456789"}]"#);
    let told: Value = serde_json::from_str(&told.unwrap()).unwrap();
    let expected =
        json!([{"code": "", "called": "Ada"}, {"code": "0123 4567", "called": "ada (0123 4567)"}]);
    assert_eq!(told, expected);
}
