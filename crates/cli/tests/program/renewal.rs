//! One of three servers loses its data; the operators do what docs/operating.md says.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::common::{Up, board, complaint, free_base_port, guide, json, said, say};

const SERVERS: [&str; 3] = ["alpha", "beta", "gamma"];

/// How many messages a board has that was exported and checked, without those for company only.
fn exported(directory: &Path, link: &str) -> usize {
    let file = directory.join("board.json");
    let file = file.to_str().unwrap();
    json(&["export", link, "--output", file, "--json"]);
    assert_eq!(json(&["verify", file, "--link", link, "--json"])[0]["messages"], board(link).len());
    said(link).len()
}

/// Carries out a block of the guide, in a directory that has a server in `server`.
fn follow(directory: &Path, block: &str) {
    let program = Path::new(env!("CARGO_BIN_EXE_ostrakon")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    // The usual one, by which others may read what a careless command writes.
    let script = format!("umask 022\n{}", guide()[block]);
    let output = Command::new("sh")
        .args(["-ec", &script])
        .current_dir(directory)
        .env("PATH", path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{block}: {said}");
}

/// The machine is gone; on the next one there is only what the guide says to back up.
fn lose_all_but_the_backup(directory: &Path, home: &Path) {
    let hosts = ["old", "new"].map(|host| directory.join(host));
    hosts.iter().for_each(|host| std::fs::create_dir(host).unwrap());
    let [old, new] = hosts;
    std::fs::rename(home, old.join("server")).unwrap();
    // A set for one machine is made without cards.
    crate::common::file(&old.join("server"), "card.toml", "");
    follow(&old, "host backup");
    let archive = "ostrakon-backup.tar";
    assert_eq!(
        std::fs::metadata(old.join(archive)).unwrap().permissions().mode() & 0o077,
        0,
        "it holds keys"
    );
    std::fs::rename(old.join(archive), new.join(archive)).unwrap();
    std::fs::remove_dir_all(&old).unwrap();
    follow(&new, "host restore");
    std::fs::rename(new.join("server"), home).unwrap();
}

#[test]
fn three_servers_go_on_under_the_same_links_after_one_has_lost_its_data() {
    let directory = tempfile::tempdir().unwrap();
    let site = directory.path().join("site");
    let base = free_base_port();
    let up = Up::start(&site, base, &[]);
    say(&up, &["one", "two", "three"]);
    let links = up.links.clone();
    up.stop();

    let path = |name: &str, file: &str| site.join(name).join(file).to_str().unwrap().to_owned();
    lose_all_but_the_backup(directory.path(), &site.join("gamma"));
    let write = |name: &str| {
        let state = path(name, "state");
        let written = crate::common::run(&[
            "renewal",
            "state",
            "--config",
            &path(name, "server.toml"),
            "--output",
            &state,
        ]);
        assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
        state
    };
    let states = [write("alpha"), write("beta")];
    let begin = ["renewal", "begin", "--config"];
    let lost = path("gamma", "server.toml");
    let refused =
        complaint(&["renewal", "state", "--config", &lost, "--output", &path("gamma", "state")], 1);
    assert!(refused.contains("no data"), "{refused}");
    let refused = complaint(&[&begin[..], &[&lost, &states[0], &lost]].concat(), 1);
    assert!(refused.contains("renewal state"), "{refused}");
    let begun = SERVERS.map(|name| {
        let config = path(name, "server.toml");
        json(&[&begin[..], &[&config, &states[0], &states[1], "--json"]].concat()).remove(0)
    });
    assert!(
        begun.iter().all(|each| *each == begun[0] && each["generation"] == 1 && each["rooms"] == 1)
    );

    let up = Up::start(&site, base, &[]);
    assert_eq!(up.links, links, "the same room under the same links");
    assert_eq!(exported(directory.path(), &links[2]), 3, "what was published remains");
    say(&up, &["four", "five", "six"]);
    assert_eq!(exported(directory.path(), &links[2]), 6);
    up.stop();
}
