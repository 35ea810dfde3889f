//! What an operator changes while the server runs, how the server ends, and the files in `deploy/`.

use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::common::{free_base_port, ostrakon, run, signal};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use reqwest::{Certificate, Client, StatusCode};
use serde_json::Value;
use tokio::time::Instant;

/// From where the test asks: an address that must not be found in any log.
const CLIENT: [u8; 4] = [127, 0, 0, 9];
/// How long a server may take to notice what has changed.
const NOTICED: Duration = Duration::from_secs(30);
/// How long a server may take to stop: what docs/operating.md promises.
const STOPPED: Duration = Duration::from_secs(5);

/// One server of three, whose others do not run.
struct Server {
    home: PathBuf,
    origin: String,
    child: Child,
    client: Client,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already if the test went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Puts a certificate of this year's end into a directory.
fn put_certificate(home: &Path, year: i32) -> Certificate {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.not_after = date_time_ymd(year, 1, 1);
    let certificate = params.self_signed(&key).unwrap();
    std::fs::write(home.join("key.pem"), key.serialize_pem()).unwrap();
    std::fs::write(home.join("certificate.pem"), certificate.pem()).unwrap();
    Certificate::from_pem(certificate.pem().as_bytes()).unwrap()
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from}: {text}");
    std::fs::write(path, text.replace(from, to)).unwrap();
}

fn client(trusted: Certificate) -> Client {
    let client =
        Client::builder().no_proxy().local_address(IpAddr::from(CLIENT)).tls_certs_only([trusted]);
    client.build().unwrap()
}

impl Server {
    /// With `rooms` in the place of the local site's policy.
    fn start(directory: &Path, rooms: &str) -> Self {
        let site = directory.join("site");
        let base = free_base_port();
        assert!(
            run(&["init", "--local", site.to_str().unwrap(), "--base-port", &base.to_string()])
                .status
                .success()
        );
        let home = site.join("alpha");
        let trusted = put_certificate(&home, 2090);
        let section =
            "[https]\ncertificate_file = \"certificate.pem\"\nkey_file = \"key.pem\"\n\n[stock]";
        edit(&home.join("server.toml"), "[stock]", section);
        edit(&home.join("server.toml"), "create = \"anyone\"", rooms);
        let log = std::fs::File::create(home.join("log")).unwrap();
        let config = home.join("server.toml");
        let mut command = ostrakon(&["serve", "--config", config.to_str().unwrap()]);
        let child = command.stderr(Stdio::from(log)).spawn().unwrap();
        Self { origin: format!("https://127.0.0.1:{base}"), home, child, client: client(trusted) }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.home.join("log")).unwrap()
    }

    fn token(&self) -> String {
        let text = std::fs::read_to_string(self.home.join("admin.token")).unwrap();
        text.split_whitespace().next().unwrap().to_owned()
    }

    /// What an administrator's request gets: 401 with a wrong token, and 503 with the right one
    /// since the others are missing.
    async fn administer(&self, token: &str) -> Option<StatusCode> {
        let request = self.client.get(format!("{}/api/v1/rooms", self.origin)).bearer_auth(token);
        request.send().await.ok().map(|answer| answer.status())
    }

    /// What the request for a room gets: 401 with a wrong token, and 503 with one that counts.
    async fn create_room(&self, token: &str) -> Option<StatusCode> {
        let request = self.client.post(format!("{}/api/v1/rooms", self.origin)).bearer_auth(token);
        request
            .json(&serde_json::json!({ "name": "A room" }))
            .send()
            .await
            .ok()
            .map(|answer| answer.status())
    }

    async fn readiness(&self) -> Option<Value> {
        self.client.get(format!("{}/readyz", self.origin)).send().await.ok()?.json().await.ok()
    }
}

/// Waits until `done` says so.
async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + NOTICED;
    while !done().await {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn tokens_certificate_and_log_change_while_the_server_runs() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::start(directory.path(), "create = \"anyone\"");
    until("the server answers", async || server.readiness().await.is_some()).await;
    let config = server.home.join("server.toml");
    let first = server.token();
    assert_eq!(server.administer(&first).await, Some(StatusCode::SERVICE_UNAVAILABLE));
    assert_eq!(server.administer("some other token").await, Some(StatusCode::UNAUTHORIZED));

    let rotate = ["token", "rotate", "--config", config.to_str().unwrap()];
    assert!(run(&[&rotate[..], &["--keep-old"]].concat()).status.success());
    let second = server.token();
    let knows = async |token: &str, status| server.administer(token).await == Some(status);
    until("the new token counts", async || knows(&second, StatusCode::SERVICE_UNAVAILABLE).await)
        .await;
    assert!(knows(&first, StatusCode::SERVICE_UNAVAILABLE).await, "the old one still does");
    assert!(run(&rotate).status.success());
    until("the first token is forgotten", async || knows(&first, StatusCode::UNAUTHORIZED).await)
        .await;
    std::fs::write(server.home.join("admin.token"), "short").unwrap();
    until("an unusable token is reported", async || {
        server.log().contains("tokens cannot be read again")
    })
    .await;

    let readiness = server.readiness().await.unwrap();
    assert_eq!(readiness["certificate_expires"], 3_786_912_000_u64, "{readiness}");
    server.client = client(put_certificate(&server.home, 2091));
    until("the new certificate is shown", async || {
        server
            .readiness()
            .await
            .is_some_and(|readiness| readiness["certificate_expires"] == 3_818_448_000_u64)
    })
    .await;
    let metrics = server
        .client
        .get(format!("{}/metrics", server.origin))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(metrics.contains("ostrakon_certificate_expires 3818448000"), "{metrics}");

    edit(&config, "log = \"info\"", "log = \"trace\"");
    signal("HUP", server.child.id());
    until("the log is set again", async || {
        server.log().contains("the log is as the configuration says")
    })
    .await;
    server.readiness().await.unwrap();
    until("the other servers are looked for", async || server.log().contains("\"DEBUG\"")).await;
    for line in server.log().lines() {
        let line: Value = serde_json::from_str(line).expect("every line is JSON");
        assert!(line["target"].as_str().unwrap().starts_with("ostrakon"), "{line}");
        assert!(!line.to_string().contains("127.0.0.9"), "{line}");
    }
    stop(server).await;
}

#[tokio::test]
async fn tokens_for_creating_rooms_change_while_the_server_runs() {
    let directory = tempfile::tempdir().unwrap();
    let first = "the-first-creation-token";
    std::fs::create_dir(directory.path().join("tokens")).unwrap();
    let file = crate::common::file(&directory.path().join("tokens"), "creation.token", first);
    let rooms =
        format!("create = \"token\"\ncreation_token_file = {:?}", file.display().to_string());
    let server = Server::start(directory.path(), &rooms);
    let may = async |token: &str| {
        server.create_room(token).await == Some(StatusCode::SERVICE_UNAVAILABLE)
    };
    let may_not =
        async |token: &str| server.create_room(token).await == Some(StatusCode::UNAUTHORIZED);
    until("the token counts", async || may(first).await).await;
    // Who has tried too many wrong ones is told to wait, whatever it tries next.
    until("another does not", async || may_not("some-other-creation-token").await).await;

    assert!(run(&["token", "rotate", "--file", file.to_str().unwrap()]).status.success());
    let text = std::fs::read_to_string(&file).unwrap();
    let second = text.trim();
    until("the new token counts", async || may(second).await).await;
    until("the old one is forgotten", async || may_not(first).await).await;
    until("the administrator's counts on", async || may(&server.token()).await).await;

    // At once on the signal, and what cannot be used changes nothing.
    std::fs::write(&file, "short").unwrap();
    signal("HUP", server.child.id());
    until("an unusable token is reported", async || {
        server.log().contains("tokens cannot be read again")
    })
    .await;
    until("the last one counts on", async || may(second).await).await;
    stop(server).await;
}

/// SIGTERM: nobody is taken any more, and the process is gone in time although somebody holds a
/// connection.
async fn stop(mut server: Server) {
    let held = server.client.get(format!("{}/healthz", server.origin)).send().await.unwrap();
    signal("TERM", server.child.id());
    let since = Instant::now();
    let status = loop {
        if let Some(status) = server.child.try_wait().unwrap() {
            break status;
        }
        assert!(since.elapsed() < STOPPED, "the server does not stop");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(status.success(), "{status}");
    assert!(server.readiness().await.is_none());
    drop(held);
}

#[test]
fn a_server_that_cannot_start_says_why_in_the_form_of_its_log() {
    let directory = tempfile::tempdir().unwrap();
    let config = crate::common::file(directory.path(), "server.toml", "party = 7");
    let serve = ["serve", "--config", config.to_str().unwrap()];
    let said = crate::common::complaint(&serve, 1);
    let line: Value = serde_json::from_str(said.trim()).expect("one line of JSON");
    assert_eq!(line["level"], "ERROR");
    assert!(line["fields"]["error"].as_str().unwrap().contains("missing field"), "{said}");
    // Nobody logs anything, and the reason is still told.
    let output = ostrakon(&serve).env("OSTRAKON_LOG", "off").output().unwrap();
    assert!(
        String::from_utf8_lossy(&output.stderr).starts_with("ostrakon: --config"),
        "{output:?}"
    );
}

#[test]
fn a_lost_token_is_made_anew_but_not_where_none_in_a_file_counts() {
    let directory = tempfile::tempdir().unwrap();
    let site = directory.path().join("site");
    assert!(run(&["init", "--local", site.to_str().unwrap()]).status.success());
    let (config, token) = (site.join("alpha/server.toml"), site.join("alpha/admin.token"));
    std::fs::remove_file(&token).unwrap();
    let rotate = ["token", "rotate", "--config", config.to_str().unwrap()];
    let output = ostrakon(&rotate)
        .env("OSTRAKON_ADMIN_TOKEN", "some-token-of-the-environment")
        .output()
        .unwrap();
    assert!(!output.status.success() && !token.exists());
    assert!(String::from_utf8_lossy(&output.stderr).contains("change the variable"), "{output:?}");
    assert!(run(&rotate).status.success());
    assert_eq!(std::fs::metadata(&token).unwrap().permissions().mode() & 0o777, 0o600);
    let mistyped = site.join("alpha/admin.tokn");
    assert!(!run(&["token", "rotate", "--file", mistyped.to_str().unwrap()]).status.success());
    assert!(!mistyped.exists());
}

#[test]
fn systemd_takes_the_unit() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/ostrakon.service");
    let text = std::fs::read_to_string(unit).unwrap();
    let directory = tempfile::tempdir().unwrap();
    // The program is not installed where this test runs.
    let text = text.replace("/usr/local/bin/ostrakon", env!("CARGO_BIN_EXE_ostrakon"));
    let path = crate::common::file(directory.path(), "ostrakon.service", &text);
    let verify = std::process::Command::new("systemd-analyze").arg("verify").arg(&path).output();
    let Ok(output) = verify else {
        println!("skipped: there is no systemd-analyze here");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("ostrakon.service"), "{said}");
}
