//! The demonstrations: real processes, a file of lines, the board, and its archive.

mod asynchromix;
mod graph;
mod stats;

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::{complaint, file, json, nightly, run};
use ostrakon_broadcast::Archive;
use serde_json::Value;

fn demo(lines: &Path, engine: &str, archive: &Path) -> Value {
    let path = |path: &Path| path.to_str().expect("temporary paths are text").to_owned();
    let (lines, archive) = (path(lines), path(archive));
    let arguments = [
        "demo",
        "broadcast",
        "--messages",
        &lines,
        "--engine",
        engine,
        "--archive",
        &archive,
        "--timeout",
        "600",
        "--json",
    ];
    json(&arguments).remove(0)
}

fn messages(result: &Value) -> Vec<&str> {
    let messages = result["messages"].as_array().expect("a list");
    messages.iter().map(|message| message.as_str().expect("the lines are text")).collect()
}

#[test]
fn every_line_comes_out_once_in_an_order_of_its_own_and_the_archive_proves_it() {
    let directory = tempfile::tempdir().unwrap();
    let said: Vec<_> = (0..12)
        .map(|i| format!("line {i}, μ"))
        .chain(["said twice".into(), "said twice".into()])
        .collect();
    let lines = file(directory.path(), "lines", &format!("{}\n\n", said.join("\n")));
    let archives = ["ruffle", "clarion"].map(|engine| directory.path().join(engine));
    let results = archives.each_ref().map(|archive| {
        let engine = archive.file_name().and_then(|name| name.to_str()).unwrap();
        demo(&lines, engine, archive)
    });
    let mut expected: Vec<&str> = said.iter().map(String::as_str).collect();
    expected.sort_unstable();
    for result in &results {
        let mut sorted = messages(result);
        sorted.sort_unstable();
        assert_eq!(sorted, expected);
        assert_eq!(result["verified"], true);
    }
    let orders: BTreeSet<_> = results.iter().map(|result| messages(result).join("\n")).collect();
    assert_eq!(orders.len(), 2, "two runs with the same order");
    assert!(!orders.contains(&said.join("\n")), "the order in which the lines were said");
    check_archive(
        &archives[0],
        results[0]["link"].as_str().unwrap(),
        results[1]["link"].as_str().unwrap(),
    );
}

fn check_archive(archive: &Path, link: &str, foreign: &str) {
    let name = archive.to_str().unwrap();
    assert_eq!(json(&["verify", name, "--link", link, "--json"])[0]["messages"], 14);
    assert_eq!(json(&["verify", name, "--json"])[0]["pinned"], false);
    assert!(complaint(&["verify", name, "--link", foreign], 3).contains("other servers"));
    let text = std::fs::read(archive).unwrap();
    let changed = |at: usize, to: u8| {
        let mut changed = text.clone();
        changed[at] = to;
        changed
    };
    // Every position, as the library checks it, in one way by day; some, as people check them.
    for at in 0..text.len() {
        let to = if text[at] == b'1' { b'2' } else { b'1' };
        let ways = [to, text[at] ^ 1, b' '];
        let ways = if nightly() { &ways[..] } else { &ways[at % 3..][..1] };
        for to in ways.iter().copied() {
            let accepted = to != text[at]
                && std::str::from_utf8(&changed(at, to))
                    .is_ok_and(|text| Archive::verify(text, None).is_ok());
            assert!(!accepted, "byte {at} changed from {} to {to} is accepted", text[at]);
        }
    }
    let copy = archive.with_extension("changed");
    for at in (0..text.len()).step_by(text.len() / 25 + 1) {
        std::fs::write(&copy, changed(at, text[at] ^ 4)).unwrap();
        complaint(&["verify", copy.to_str().unwrap(), "--link", link], 3);
    }
    std::fs::write(&copy, &text[..text.len() - 1]).unwrap();
    complaint(&["verify", copy.to_str().unwrap()], 3);
}

#[test]
fn what_cannot_be_said_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let long = file(directory.path(), "long", &format!("short\n{}\n", "x".repeat(4095)));
    let complaint_about =
        |path: &Path| complaint(&["demo", "broadcast", "--messages", path.to_str().unwrap()], 1);
    assert!(complaint_about(&long).contains("line 2 has 4095 bytes"));
    assert!(complaint_about(&file(directory.path(), "empty", "\n\n")).contains("no lines"));
    assert!(complaint_about(&directory.path().join("missing")).contains("--messages"));
}

#[test]
fn wrong_usage_and_missing_files_are_named() {
    let link = format!("http://127.0.0.1:9/#/room/{}/{}", "0".repeat(32), "0".repeat(64));
    assert!(
        complaint(&["say", "http://127.0.0.1:9/", "hello"], 2).contains("not a link to a room")
    );
    assert!(complaint(&["say", &link, ""], 1).contains("TEXT is empty"));
    assert!(complaint(&["say", &link, "hello"], 4).contains("does not answer"));
    assert!(complaint(&["verify", "/nonexistent/board.json"], 1).contains("cannot be read"));
    assert!(complaint(&["serve", "--config", "/nonexistent/server.toml"], 1).contains("--config"));
    assert!(
        complaint(&["room", "list", "--server", "http://127.0.0.1:9"], 2).contains("--token-file")
    );
    assert!(String::from_utf8_lossy(&run(&["--help"]).stdout).contains("Exit codes"));
    assert!(String::from_utf8_lossy(&run(&["completions", "bash"]).stdout).contains("ostrakon"));
}
