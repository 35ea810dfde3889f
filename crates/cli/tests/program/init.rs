//! Keys, cards and configurations.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::{complaint, run};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_local_set_has_private_secrets_and_is_never_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let site = directory.path().join("site");
    let arguments = ["init", "--local", text(&site), "--base-port", "7400"];
    assert!(run(&arguments).status.success());
    for server in ["alpha", "beta", "gamma"] {
        for file in ["identity.key", "admin.token"] {
            let path = site.join(server).join(file);
            assert_eq!(
                std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                0o600,
                "{}",
                path.display()
            );
            assert_eq!(std::fs::read_to_string(&path).unwrap().trim().len(), 64);
        }
        let config = std::fs::read_to_string(site.join(server).join("server.toml")).unwrap();
        assert!(config.contains("http://127.0.0.1:7402"), "{config}");
    }
    let key = std::fs::read(site.join("beta/identity.key")).unwrap();
    assert!(complaint(&arguments, 1).contains("never overwritten"));
    assert_eq!(std::fs::read(site.join("beta/identity.key")).unwrap(), key);
    assert!(
        complaint(&["init", "--local", text(&site), "--base-port", "65500"], 1)
            .contains("--base-port")
    );
}

/// Each is told the order, alike, and its own place in it.
fn are_told_the_order(configs: &[toml::Table], told: &[String]) {
    for (config, told) in configs.iter().zip(told) {
        for (number, server) in config["servers"].as_array().unwrap().iter().enumerate() {
            let (name, url) = (server["name"].as_str().unwrap(), server["url"].as_str().unwrap());
            let line = told
                .lines()
                .find(|line| line.starts_with(&format!("  {number}: {name} at {url} ")));
            let own = config["party"].as_integer() == i64::try_from(number).ok();
            assert_eq!(line.map(|line| line.ends_with("this one")), Some(own), "{told}");
        }
    }
}

#[test]
fn three_operators_exchange_cards_and_agree_on_the_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let homes = ["x", "y", "z"].map(|name| directory.path().join(name));
    for (i, home) in homes.iter().enumerate() {
        let (url, address) = (format!("https://host{i}.example"), format!("host{i}.example:7100"));
        let name = format!("host{i}");
        let output = run(&[
            "init",
            "--dir",
            text(home),
            "--name",
            &name,
            "--url",
            &url,
            "--address",
            &address,
        ]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(!std::fs::read_to_string(home.join("card.toml")).unwrap().contains("token"));
    }
    let cards = homes.each_ref().map(|home| home.join("card.toml"));
    let mut told = Vec::new();
    for (i, home) in homes.iter().enumerate() {
        let card = |offset: usize| text(&cards[(i + offset) % 3]);
        let output = run(&[
            "init",
            "--dir",
            text(home),
            "--card",
            card(0),
            "--card",
            card(1),
            "--card",
            card(2),
        ]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{errors}");
        told.push(errors);
    }
    let configs = homes.each_ref().map(|home| {
        let text = std::fs::read_to_string(home.join("server.toml")).unwrap();
        text.parse::<toml::Table>().unwrap()
    });
    are_told_the_order(&configs, &told);
    assert_eq!(configs[0]["servers"], configs[1]["servers"]);
    assert_eq!(configs[0]["servers"], configs[2]["servers"]);
    let mut parties = configs.each_ref().map(|config| config["party"].as_integer().unwrap());
    parties.sort_unstable();
    assert_eq!(parties, [0, 1, 2]);
    let foreign = directory.path().join("w");
    run(&[
        "init",
        "--dir",
        text(&foreign),
        "--name",
        "w",
        "--url",
        "https://w.example",
        "--address",
        "w.example:7100",
    ]);
    let cards = cards.each_ref().map(|card| text(card));
    let arguments = [
        "init",
        "--dir",
        text(&foreign),
        "--card",
        cards[0],
        "--card",
        cards[1],
        "--card",
        cards[2],
    ];
    assert!(complaint(&arguments, 1).contains("there are 4"));
}
