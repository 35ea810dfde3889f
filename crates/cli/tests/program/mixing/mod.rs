//! Rooms without a clock, as people and operators use them: real processes, of which as many as may
//! fail are stopped with their sockets open, or killed.

mod caught;
mod lasting;
mod liar;
#[path = "../../../../asynchromix/tests/asynchromix/lies.rs"]
mod lies;
mod servers;
#[path = "../../../../mixer/tests/mixer/turncoat.rs"]
mod turncoat;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{
    Up, board, complaint, file, free_base_port, json, nightly, run, said, signal, values,
};
use liar::Liar;
use servers::{Servers, name, readiness};
use turncoat::Will;

/// Places of a small room, and bytes of a message in it.
const PLACES: u64 = 16;
const BYTES: u64 = 24;
/// A trial with rounds of a second, as `mixer found` takes it.
const SHAPE: [&str; 8] = ["--minimum", "1", "--places", "16", "--bytes", "24", "--seconds", "1"];

/// n and t: as few as can be, with one to spare, and more; by day so many servers only.
fn sizes(by_day: usize) -> impl Iterator<Item = (usize, usize)> {
    let all = [(4, 1), (5, 1), (7, 2), (10, 3)];
    all.into_iter().filter(move |(n, _)| nightly() || *n == by_day)
}

/// How a room stands; `None` while too few servers answer.
fn status(link: &str) -> Option<Value> {
    let output = run(&["mixer", "status", link, "--json"]);
    if output.status.success() { values(&output).pop() } else { None }
}

/// Asks until the room stands as it is to.
fn until(link: &str, what: &str, stands: impl Fn(&Value) -> bool) {
    for _ in 0..240 {
        if status(link).is_some_and(|now| stands(&now)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    panic!("{what}: {:?}", status(link));
}

fn speak(link: &str, text: &str, state: &Path) {
    let state = state.to_str().unwrap();
    let said = json(&["say", link, text, "--state-dir", state, "--json"]).remove(0);
    assert!(said["messages"].as_u64() >= Some(1), "{said}");
}

#[test]
fn rooms_go_on_while_servers_are_stopped_or_killed() {
    for (n, t) in sizes(5) {
        let directory = tempfile::tempdir().unwrap();
        let site = directory.path().join("site");
        let count = n.to_string();
        let more = ["--engine", "asynchromix", "--servers", &count];
        let up = Up::start_of(n, "/#/mix/", &site, free_base_port(), &more);
        let link = &up.links[0];
        until(link, "stock", |now| now["prepared"].as_u64() >= Some(1) && now["open"] == true);
        let now = status(link).unwrap();
        assert_eq!((&now["ended"], &now["convicted"]), (&Value::Null, &json!([])), "{now}");
        let stopped: Vec<u32> = up.servers().split_off(n - t);
        stopped.iter().for_each(|process| signal("STOP", *process));
        speak(link, "while they are stopped", &directory.path().join("first"));
        takes_part(readiness(up.origin(0)));
        // With a server to spare more is prepared.
        let ended = if n > 3 * t + 1 { Value::Null } else { json!("away") };
        until(link, "silence", |now| {
            now["silent"].as_array().is_some_and(|of| of.len() == t) && now["ended"] == ended
        });
        stopped.iter().for_each(|process| signal("CONT", *process));
        until(link, "return", |now| now["silent"] == json!([]) && now["prepared"] != json!(0));
        // Whoever started them starts them again, after a second.
        up.servers().split_off(n - t).iter().for_each(|process| signal("KILL", *process));
        speak(link, "while they are killed", &directory.path().join("second"));
        let mut board = said(link);
        board.sort();
        assert_eq!(board, ["while they are killed", "while they are stopped"]);
        // They were away, which is no evidence.
        assert_eq!(json(&["mixer", "evidence", link, "--json"]), [json!([])]);
        up.stop();
    }
}

/// A server is ready, though t others are away; what it says.
fn takes_part((status, told): (u16, Value)) -> Value {
    assert!(status == 200 && told["ready"] == true, "{status}: {told}");
    told
}

/// Servers that nobody starts again while others speak; then they come back.
#[test]
fn rooms_go_on_while_servers_are_dead() {
    for (n, t) in sizes(4) {
        let mut servers = Servers::found(n, &SHAPE);
        (0..n).for_each(|i| servers.start(i));
        let link = servers.link.clone();
        until(&link, "stock", |now| now["prepared"].as_u64() >= Some(1) && now["open"] == true);
        (n - t..n).for_each(|i| servers.kill(i));
        // What is collected, and one more that was prepared.
        let device = servers.file("device");
        ["one", "two"].iter().for_each(|text| speak(&link, text, &device));
        let silent = |now: &Value| now["silent"].as_array().is_some_and(|of| of.len() == t);
        until(&link, "silence", silent);
        let told = takes_part(servers.readiness(0));
        assert_eq!(told["missing"].as_array().unwrap().len(), t, "{told}");
        assert!(told["detail"].as_str().unwrap().contains("no connection with"), "{told}");
        assert_eq!(board(&link), ["one", "two"]);
        assert_eq!(json(&["mixer", "evidence", &link, "--json"]), [json!([])]);
        let entries = servers.operated(0)["entries"].clone();
        (n - t..n).for_each(|i| servers.start(i));
        for i in n - t..n {
            servers.until(i, "return", |now| {
                now["stands"] == "runs" && now["entries"].as_u64() >= entries.as_u64()
            });
        }
        until(&link, "return", |now| now["silent"] == json!([]) && now["ended"].is_null());
    }
}

/// t servers that were honest until there was stock are corrupt from then on.
fn go_on_beside(will: Will) {
    for (n, t) in sizes(4) {
        let mut servers = Servers::found(n, &SHAPE);
        (0..n).for_each(|i| servers.start(i));
        let link = servers.link.clone();
        until(&link, "stock", |now| now["prepared"].as_u64() >= Some(1) && now["open"] == true);
        let corrupt: Vec<Liar> = (1..=t)
            .map(|i| {
                servers.kill(i);
                Liar::start(&servers.home(i), will)
            })
            .collect();
        let device = servers.file("device");
        ["one", "two"].iter().for_each(|text| speak(&link, text, &device));
        assert_eq!(board(&link), ["one", "two"]);
        if will == Will::Equivocates && n == 4 {
            assert!(corrupt[0].contradictions() > 0, "it said nothing twice");
        }
        // Who is named is corrupt.
        let honest: Vec<String> = (t + 1..n).chain([0]).map(name).collect();
        let evidence = json(&["mixer", "evidence", &link, "--json"]).remove(0);
        let named = evidence.as_array().unwrap().iter().map(|case| case["name"].as_str().unwrap());
        named.for_each(|named| assert!(!honest.iter().any(|of| of == named), "{evidence}"));
    }
}

#[test]
fn rooms_go_on_beside_servers_that_speak_garbage() {
    go_on_beside(Will::Garbage);
}

#[test]
fn rooms_go_on_beside_servers_that_say_two_things() {
    go_on_beside(Will::Equivocates);
}

#[test]
fn rooms_go_on_beside_servers_that_are_always_late() {
    go_on_beside(Will::Delays);
}

#[test]
fn files_that_are_no_evidence_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let link = format!("http://a.test/#/mix/{}", "ab".repeat(32));
    let judge = |text: &str, code| {
        let file = file(directory.path(), "evidence.json", text);
        complaint(&["mixer", "judge", file.to_str().unwrap(), "--link", &link], code)
    };
    assert!(judge("{}", 1).contains("no file of evidence"));
    let nowhere = ["mixer", "judge", "/nowhere/case.json", "--link", &link];
    assert!(complaint(&nowhere, 1).contains("cannot be read"));
}
