//! `ostrakon config check` finds everything that is wrong, at once.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::common::{complaint, file, free_base_port, now, ostrakon, run};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use serde_json::Value;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// What is found, as (level, message).
fn findings(files: &[&str], code: i32) -> Vec<(String, String)> {
    let mut arguments = vec!["config", "check", "--json"];
    arguments.extend(files);
    let output = ostrakon(&arguments).env_remove("OSTRAKON_STORE_URL").output().unwrap();
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
        assert!(
            found.iter().any(|(level, message)| level == "error" && message.contains(part)),
            "{part}: {found:#?}"
        );
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
    std::fs::write(
        path,
        before.replace("party = 1", "party = \"one\"").replace("http = ", "htp = "),
    )
    .unwrap();
    let found = findings(&[good[1]], 1);
    assert!(found.iter().any(|(_, message)| message.contains("do you mean `http`")), "{found:?}");
    assert!(
        found.iter().any(|(_, message)| message.contains("line") && message.contains("one")),
        "{found:?}"
    );
    assert!(
        complaint(&["config", "check", "nowhere.toml"], 1).contains("1 error has to be mended")
    );
}

/// The configuration of one of three servers on this machine.
fn good(directory: &Path) -> PathBuf {
    let site = directory.join("site");
    let base = free_base_port().to_string();
    assert!(run(&["init", "--local", text(&site), "--base-port", &base]).status.success());
    site.join("alpha/server.toml")
}

fn make_private(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// What is found offline in a configuration of which a part was put in another's place.
fn altered(config: &Path, from: &str, to: &str, code: i32) -> Vec<(String, String)> {
    let before = std::fs::read_to_string(config).unwrap();
    assert!(before.contains(from), "{before}");
    std::fs::write(config, before.replacen(from, to, 1)).unwrap();
    let found = findings(&[text(config), "--offline"], code);
    std::fs::write(config, before).unwrap();
    found
}

#[test]
fn what_a_server_reads_at_its_start_has_to_be_there_and_private() {
    let directory = tempfile::tempdir().unwrap();
    let config = good(directory.path());
    let home = config.parent().unwrap();
    let complains = |from: &str, to: &str, part: &str| {
        let found = altered(&config, from, to, 1);
        let said = |(level, message): &(String, String)| level == "error" && message.contains(part);
        assert!(found.iter().any(said), "{part}: {found:#?}");
    };
    let create = "create = \"anyone\"";
    complains(create, "create = \"token\"", "needs `rooms.creation_token_file`");
    let tokens = "create = \"token\"\ncreation_token_file = \"creation.token\"";
    complains(create, tokens, "creation.token cannot be read");
    make_private(&file(home, "creation.token", "a-token-of-some-length"), 0o644);
    complains(create, tokens, "creation.token");

    let data = home.join("data");
    std::fs::create_dir_all(&data).unwrap();
    make_private(&file(&data, "ostrakon.db", &"this is no database\n".repeat(400)), 0o600);
    complains(create, create, "ostrakon.db");
    std::fs::remove_dir_all(&data).unwrap();

    let store = |settings: &str| format!("[store]\n{settings}\n\n[stock]");
    complains("[stock]", &store("url_file = \"url\""), "url cannot be read");
    complains("[stock]", &store("url = \"mysql://localhost\""), "must be `sqlite` or begin with");
    let url = file(home, "url", "postgres://nobody@127.0.0.1:1/nothing");
    make_private(&url, 0o640);
    complains("[stock]", &store("url_file = \"url\""), "chmod 600");

    let mail = "[mail]\nsmtp = \"smtp://localhost:25\"\nfrom = \"a@b.example\"\nuser = \"a\"\n";
    let mail = |settings: &str| format!("{mail}{settings}\n\n[stock]");
    complains("[stock]", &mail(""), "needs `mail.password_file`");
    complains("[stock]", &mail("password_file = \"password\""), "password cannot be read");
    make_private(&file(home, "password", "secret"), 0o604);
    complains("[stock]", &mail("password_file = \"password\""), "chmod 600");

    let acme = "[https.acme]\ndomains = [\"a.example\"]\n\n[stock]";
    assert_eq!(
        altered(&config, "[stock]", acme, 0).iter().filter(|(level, _)| level == "error").count(),
        0
    );
    std::fs::create_dir(home.join("acme")).unwrap();
    make_private(&home.join("acme"), 0o755);
    complains("[stock]", acme, "chmod 700");

    make_private(&url, 0o600);
    let before = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, before.replace("[stock]", &store("url_file = \"url\""))).unwrap();
    findings(&[text(&config), "--offline"], 0);
    let found = findings(&[text(&config)], 1);
    assert!(
        found.iter().any(|(_, message)| message.contains("the store's URL leads to it")),
        "{found:#?}"
    );
}

#[test]
fn a_certificate_that_ends_soon_or_has_ended_keeps_no_server_down() {
    let directory = tempfile::tempdir().unwrap();
    let config = good(directory.path());
    let home = config.parent().unwrap();
    let https =
        "[https]\ncertificate_file = \"certificate.pem\"\nkey_file = \"key.pem\"\n\n[stock]";
    let hour = 3600;
    for (end, said) in [
        (now() - hour, Some("has expired")),
        (now() + 12 * hour + hour / 2, Some("expires in 12 hours")),
        (now() + 60 * hour, Some("expires in 2 days")),
        (now() + 15 * 24 * hour, None),
    ] {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        params.not_after = date_time_ymd(1970, 1, 1) + std::time::Duration::from_secs(end);
        file(home, "certificate.pem", &params.self_signed(&key).unwrap().pem());
        make_private(&file(home, "key.pem", &key.serialize_pem()), 0o600);
        let found = altered(&config, "[stock]", https, 0);
        let told: Vec<_> =
            found.iter().filter(|(_, message)| message.contains("certificate")).collect();
        assert_eq!(told.len(), usize::from(said.is_some()), "{found:#?}");
        assert!(
            told.iter()
                .all(|(level, message)| level == "warning" && message.contains(said.unwrap())),
            "{found:#?}"
        );
    }
}

#[test]
fn an_intake_process_needs_a_shared_database_and_no_secrets() {
    let directory = tempfile::tempdir().unwrap();
    let config = good(directory.path());
    let home = config.parent().unwrap();
    for secret in ["identity.key", "admin.token"] {
        std::fs::remove_file(home.join(secret)).unwrap();
    }
    let role = |store: &str| format!("[process]\nrole = \"intake\"\n\n{store}[stock]");
    let found = altered(&config, "[stock]", &role(""), 1);
    assert!(found.len() == 1 && found[0].1.contains("needs the PostgreSQL database"), "{found:#?}");
    let store = "[store]\nurl = \"postgres://nobody@127.0.0.1:1/nothing\"\n\n";
    assert_eq!(altered(&config, "[stock]", &role(store), 0), []);
    assert_eq!(
        altered(&config, "party = 0", "party = 0\n# unchanged", 1).len(),
        2,
        "an engine needs its secrets"
    );
}
