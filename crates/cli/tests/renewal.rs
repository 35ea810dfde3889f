//! One of three servers loses its data; the operators do what docs/operating.md says.

mod common;

use std::path::Path;
use std::process::Stdio;

use common::{Up, complaint, free_base_port, json, ostrakon, values};

const SERVERS: [&str; 3] = ["alpha", "beta", "gamma"];

/// Says several things at once, as they must be said.
fn say(up: &Up, texts: [&str; 3]) {
    let speakers = texts.iter().zip(&up.links).map(|(text, link)| {
        let mut say = ostrakon(&["say", link, text, "--json"]);
        say.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    });
    let speakers: Vec<_> = speakers.collect();
    for speaker in speakers {
        values(&speaker.wait_with_output().expect("a child"));
    }
}

/// How many messages a board has that was exported and checked.
fn exported(directory: &Path, link: &str) -> u64 {
    let file = directory.join("board.json");
    let file = file.to_str().unwrap();
    json(&["export", link, "--output", file, "--json"]);
    json(&["verify", file, "--link", link, "--json"])[0]["messages"].as_u64().unwrap()
}

#[test]
fn three_servers_go_on_under_the_same_links_after_one_has_lost_its_data() {
    let directory = tempfile::tempdir().unwrap();
    let site = directory.path().join("site");
    let base = free_base_port();
    let up = Up::start(&site, base, &[]);
    say(&up, ["one", "two", "three"]);
    let links = up.links.clone();
    up.stop();

    let path = |name: &str, file: &str| site.join(name).join(file).to_str().unwrap().to_owned();
    let data = site.join("gamma").join("data");
    for entry in std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_file() {
            std::fs::remove_file(entry).unwrap();
        } else if !entry.ends_with("secrets") {
            std::fs::remove_dir_all(entry).unwrap();
        }
    }
    let write = |name: &str| {
        let state = path(name, "state");
        let written = common::run(&["renewal", "state", "--config", &path(name, "server.toml"), "--output", &state]);
        assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
        state
    };
    let states = [write("alpha"), write("beta")];
    let begin = ["renewal", "begin", "--config"];
    let lost = path("gamma", "server.toml");
    let refused = complaint(&["renewal", "state", "--config", &lost, "--output", &path("gamma", "state")], 1);
    assert!(refused.contains("no data"), "{refused}");
    let refused = complaint(&[&begin[..], &[&lost, &states[0], &lost]].concat(), 1);
    assert!(refused.contains("renewal state"), "{refused}");
    let begun = SERVERS.map(|name| {
        let config = path(name, "server.toml");
        json(&[&begin[..], &[&config, &states[0], &states[1], "--json"]].concat()).remove(0)
    });
    assert!(begun.iter().all(|each| *each == begun[0] && each["generation"] == 1 && each["rooms"] == 1));

    let up = Up::start(&site, base, &[]);
    assert_eq!(up.links, links, "the same room under the same links");
    assert_eq!(exported(directory.path(), &links[2]), 3, "what was published remains");
    say(&up, ["four", "five", "six"]);
    assert_eq!(exported(directory.path(), &links[2]), 6);
    up.stop();
}
