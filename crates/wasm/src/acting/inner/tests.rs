use std::collections::BTreeMap;
use std::path::PathBuf;

use ostrakon_client::{Body, Http};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

#[path = "../../../../client/tests/host/script.rs"]
mod script;

use self::script::{CLAIM, Exchange, HOSTS, OPENINGS, OpeningScript, Played, Script, Wish};

fn script<S: DeserializeOwned>(name: &str) -> S {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../client/tests/traces");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// What the machines have in common.
trait Bound {
    fn wake(&mut self, now: Millis);
    fn replied(&mut self, now: Millis, id: u32, status: u16, body: &str);
    fn actions(&mut self) -> String;
    fn wake_at(&self) -> Millis;
    /// Does what is no request.
    fn other(&mut self, now: Millis, action: &Value, wishes: &[Wish]);
}

impl Bound for Host {
    fn wake(&mut self, now: Millis) {
        self.wake(now);
    }

    fn replied(&mut self, now: Millis, id: u32, status: u16, body: &str) {
        self.replied(now, id, status, body);
    }

    fn actions(&mut self) -> String {
        self.actions()
    }

    fn wake_at(&self) -> Millis {
        self.wake_at()
    }

    fn other(&mut self, now: Millis, action: &Value, wishes: &[Wish]) {
        match action["do"].as_str().unwrap() {
            "decide" => {
                let deed = usize::try_from(action["deed"].as_u64().unwrap()).unwrap();
                self.decided(now, Some(&json!(wishes[deed].deed).to_string()));
            }
            "keep" => self.kept(now),
            _ => {}
        }
    }
}

impl Bound for Claiming {
    fn wake(&mut self, now: Millis) {
        self.machine.wake(now);
    }

    fn replied(&mut self, now: Millis, id: u32, status: u16, body: &str) {
        self.machine.replied(now, u64::from(id), status, body.as_bytes());
    }

    fn actions(&mut self) -> String {
        self.actions()
    }

    fn wake_at(&self) -> Millis {
        self.machine.wake_at()
    }

    fn other(&mut self, _: Millis, _: &Value, _: &[Wish]) {}
}

impl Bound for Opening {
    fn wake(&mut self, now: Millis) {
        self.machine.wake(now);
    }

    fn replied(&mut self, now: Millis, id: u32, status: u16, body: &str) {
        self.machine.replied(now, u64::from(id), status, body.as_bytes());
    }

    fn actions(&mut self) -> String {
        self.actions()
    }

    fn wake_at(&self) -> Millis {
        self.machine.wake_at()
    }

    fn other(&mut self, _: Millis, _: &Value, _: &[Wish]) {}
}

/// What was asked as the script writes it, and what was told.
fn play<M: Bound>(
    (start, lasts): (Millis, Millis),
    (exchanges, wishes): (&[Exchange], &[Wish]),
    machine: &mut M,
    act: impl Fn(&mut M, Millis),
) -> (Vec<Exchange>, Vec<Value>) {
    let (mut played, mut told) = (Played::new(exchanges), Vec::new());
    let mut answers: BTreeMap<(Millis, u64), Exchange> = BTreeMap::new();
    let mut coming = wishes.iter().peekable();
    let (mut now, end) = (start, start + lasts);
    while now < end {
        if coming.next_if(|wish| start + wish.at <= now).is_some() {
            act(machine, now);
        } else if let Some(next) = answers.first_entry().filter(|next| next.key().0 <= now) {
            let ((_, id), Exchange { status, answer, .. }) = next.remove_entry();
            machine.replied(now, u32::try_from(id).unwrap(), status, &answer);
        } else {
            machine.wake(now);
        }
        loop {
            let actions: Vec<Value> = serde_json::from_str(&machine.actions()).unwrap();
            if actions.is_empty() {
                break;
            }
            for action in actions {
                if action["do"] != "ask" {
                    machine.other(now, &action, wishes);
                    told.push(action);
                    continue;
                }
                let body = action["body"].as_str().map(|text| Body::Json(text.into()));
                let http = Http { path: action["path"].as_str().unwrap().into(), body };
                let party = u8::try_from(action["party"].as_u64().unwrap()).unwrap();
                let patience = action["patience"].as_u64().unwrap();
                let answer = played.answer(now - start, party, &http, patience);
                answers.insert((now + answer.delay, action["id"].as_u64().unwrap()), answer);
            }
        }
        let wish = coming.peek().map_or(end, |wish| start + wish.at);
        let answer = answers.keys().next().map_or(end, |(at, _)| *at);
        now = machine.wake_at().min(wish).min(answer).max(now);
    }
    (played.asked, told)
}

fn play_script<M: Bound>(
    script: &Script,
    machine: &mut M,
    act: impl Fn(&mut M, Millis),
) -> (Vec<Exchange>, Vec<Value>) {
    let (time, lists) = ((script.start, script.lasts), (&*script.exchanges, &*script.wishes));
    play(time, lists, machine, act)
}

fn following(script: &Script) -> Rc<RefCell<Following>> {
    let (servers, room) = (script.servers.to_string(), json!(script.descriptor).to_string());
    Rc::new(RefCell::new(Following::new(&servers, &room, &[0; 32]).unwrap()))
}

#[test]
fn a_hosts_deeds_are_told_as_json_as_they_get_on_and_are_in_the_shared_log() {
    for name in HOSTS {
        let script: Script = script(name);
        let shared = following(&script);
        let made = Host::new(Rc::clone(&shared), &script.key, false, &script.seed);
        let mut host = made.unwrap();
        let (asked, told) = play_script(&script, &mut host, |host, now| {
            host.act(now);
        });
        assert_eq!(asked, script.exchanges, "{name}");
        let of = |what: &str| told.iter().filter(|one| one["do"] == what).collect::<Vec<_>>();
        let done: Vec<_> = of("done").into_iter().map(|one| one["deed"].clone()).collect();
        assert_eq!(done, [0, 1, 2]);
        let failed = of("failed");
        assert_eq!((failed.len(), &failed[0]["deed"]), (1, &json!(3)));
        assert_eq!(failed[0]["failure"]["kind"], "declined");
        assert_eq!(failed[0]["failure"]["code"], "deed");
        assert_eq!(shared.borrow().log().invitations().len(), 2);
    }
}

#[test]
fn a_claim_is_told_as_json_as_it_gets_on() {
    let script: Script = script(CLAIM);
    let keys = [script.invitation.unwrap(), script.key].map(|seed| SigningKey::from_seed(&seed));
    let (servers, room) = (script.servers.to_string(), json!(script.descriptor).to_string());
    let mut claiming = Claiming::new(&servers, &room, &keys[0], &keys[1], &script.seed).unwrap();
    let (asked, told) = play_script(&script, &mut claiming, |_, _| {});
    assert_eq!(asked, script.exchanges);
    let busy = json!({"kind": "server", "status": 429, "detail": "no"});
    assert_eq!(told[0], json!({"do": "failed", "failure": busy}));
    assert!(told.contains(&json!({"do": "taken"})));
    assert!(Claiming::new(&servers, "{}", &keys[0], &keys[1], &script.seed).is_err());
}

#[test]
fn the_opening_of_a_room_is_told_as_json_as_it_gets_on() {
    for name in OPENINGS {
        let script: OpeningScript = script(name);
        let (servers, wish) = (script.servers.to_string(), json!(script.wish).to_string());
        let opening = |order: &[u8], wish: &str| Opening::new(&servers, order, wish, &script.seed);
        let mut made = opening(&script.order, &wish).unwrap();
        let (time, lists) = ((script.start, script.lasts), (&*script.exchanges, &[][..]));
        let (asked, told) = play(time, lists, &mut made, |_, _| {});
        assert_eq!(asked, script.exchanges, "{name}");
        let [opened, shown, over] = &told[..] else { panic!("{told:?}") };
        assert_eq!(
            (&opened["do"], &opened["descriptor"]["name"]),
            (&json!("opened"), &json!("Agora"))
        );
        assert_eq!(opened["room"].as_str().unwrap().len(), 32);
        assert_eq!([shown, over], [&json!({"do": "shown"}), &json!({"do": "over"})]);
        assert!(opening(&[3], &wish).is_err() && opening(&[0], "{}").is_err());
    }
}

#[test]
fn why_a_room_was_not_opened_is_told_as_json() {
    let script: OpeningScript = script(OPENINGS[0]);
    let failed = |status: u16, body: &str| {
        let (servers, wish) = (script.servers.to_string(), json!(script.wish).to_string());
        let mut opening = Opening::new(&servers, &[0], &wish, &script.seed).unwrap();
        opening.machine.wake(5_000);
        opening.machine.replied(5_000, 0, status, body.as_bytes());
        let told: Vec<Value> = serde_json::from_str(&opening.actions()).unwrap();
        told.last().unwrap()["failure"].clone()
    };
    let refused = json!({"kind": "server", "status": 429, "detail": "no"});
    assert_eq!(failed(429, r#"{"detail":"no"}"#), refused);
    assert_eq!(failed(0, ""), json!({"kind": "away"}));
    let other = RoomDescriptor::new("another");
    let other = json!({"id": other.id().to_hex(), "descriptor": other, "state": "open"});
    assert_eq!(failed(201, &other.to_string()), json!({"kind": "altered"}));
}

#[test]
fn what_is_no_deed_is_declined_and_what_is_given_up_holds_nothing_up() {
    let script: Script = script(HOSTS[0]);
    let made = Host::new(following(&script), &script.key, true, &script.seed);
    let mut host = made.unwrap();
    let mut failed = |deed: Option<&str>| {
        host.act(5_000);
        host.decided(5_000, deed);
        let told: Vec<Value> = serde_json::from_str(&host.actions()).unwrap();
        told.last().unwrap()["failure"].clone()
    };
    let declined = failed(Some(r#""dance""#));
    assert_eq!((&declined["kind"], &declined["code"]), (&json!("declined"), &json!("deed")));
    assert_eq!(failed(None), json!({"kind": "given-up"}));
    let reveal = json!({"reveal": {"poll": 7, "right": [0]}}).to_string();
    assert_eq!(failed(Some(&reveal))["code"], "deed");
    let stranger = Host::new(following(&script), &[9; 32], true, &script.seed);
    let mut stranger = stranger.unwrap();
    stranger.act(5_000);
    stranger.decided(5_000, Some(r#"{"moderate":{"on":true}}"#));
    assert!(stranger.actions().contains(r#""code":"not-host""#));
    assert!(Host::new(following(&script), &[9; 32], true, &[1; 31]).is_err());
}
