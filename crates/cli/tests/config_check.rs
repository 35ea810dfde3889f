//! `ostrakon config check` finds everything that is wrong, at once.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use common::{complaint, free_base_port, run};
use serde_json::Value;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// What is found, as (level, message).
fn findings(files: &[&str], code: i32) -> Vec<(String, String)> {
    let mut arguments = vec!["config", "check", "--json"];
    arguments.extend(files);
    let output = run(&arguments);
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stdout));
    let part = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    let lines = String::from_utf8(output.stdout).unwrap();
    let values = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    values.map(|finding| (part(&finding, "level"), part(&finding, "message"))).collect()
}

#[test]
fn everything_wrong_is_said_at_once_with_the_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let site = directory.path().join("site");
    let base = free_base_port().to_string();
    assert!(run(&["init", "--local", text(&site), "--base-port", &base]).status.success());
    let files = ["alpha", "beta", "gamma"].map(|name| site.join(name).join("server.toml"));
    let good = files.each_ref().map(|path| text(path));
    let found = findings(&good, 0);
    assert!(found.iter().all(|(level, _)| level == "warning"), "{found:?}");
    assert!(found.iter().any(|(_, message)| message.contains("cannot be reached")), "{found:?}");

    let path = &files[1];
    let before = std::fs::read_to_string(path).unwrap();
    let key = site.join("beta/identity.key");
    std::fs::copy(site.join("gamma/identity.key"), &key).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let wrong = before
        .replace("mesh = ", "mesch = \"x\"\nmesh = ")
        .replace("[stock]\n", "[stok]\nx = 1\n[stock]\nredy = 2\n")
        .replace("ready = 3", "ready = 0")
        .replace("http = \"127.0.0.1:", "http = \"0.0.0.0:")
        .replace("party = 1", "party = 0")
        .replace("data = \"data\"", "data = \"../alpha/data\"")
        .replace("log = \"info\"", "log = \"ostrakon=loud\"");
    std::fs::write(path, wrong).unwrap();
    let found = findings(&[good[0], good[1], "--offline"], 1);
    let says = |part: &str| {
        assert!(found.iter().any(|(level, message)| level == "error" && message.contains(part)), "{part}: {found:#?}");
    };
    for part in [
        "no setting `mesch`; do you mean `mesh`?",
        "no setting `stok`; do you mean `stock`?",
        "no setting `redy`; do you mean `ready`?",
        "`stock.ready` must be at least 1",
        "would speak unencrypted",
        "not that of server 0",
        "chmod 600",
        "`party` is 0 here and in",
        "`data` is",
        "loud",
    ] {
        says(part);
    }
    std::fs::write(path, before.replace("party = 1", "party = \"one\"").replace("http = ", "htp = ")).unwrap();
    let found = findings(&[good[1]], 1);
    assert!(found.iter().any(|(_, message)| message.contains("do you mean `http`")), "{found:?}");
    assert!(found.iter().any(|(_, message)| message.contains("line") && message.contains("one")), "{found:?}");
    assert!(complaint(&["config", "check", "nowhere.toml"], 1).contains("1 error has to be mended"));
}
