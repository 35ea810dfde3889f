//! Three server processes of one test.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ostrakon_broadcast::Archive;
use ostrakon_mixing::link::Link;
use ostrakon_node::config::Config;
use ostrakon_protocol::{Readiness, Status};
use reqwest::Client;
use tokio::process::{Child, Command};

use crate::common::{free_base_port, json};

/// Longer than anything takes, on a machine with much else to do.
pub const LONG: Duration = Duration::from_secs(600);
/// Between two looks at the same thing.
pub const PAUSE: Duration = Duration::from_millis(100);

const NAMES: [&str; 3] = ["alpha", "beta", "gamma"];

/// Three servers, each running or not. They end with the test.
pub struct Servers {
    site: PathBuf,
    children: [Option<Child>; 3],
    http: Client,
    base: u16,
}

impl Servers {
    /// Makes keys and configuration; starts nothing.
    pub fn new(directory: &Path) -> Self {
        let site = directory.join("site");
        let base = free_base_port();
        succeed(&["init", "--local", text(&site), "--base-port", &base.to_string()]);
        let http = Client::builder()
            .no_proxy()
            .timeout(Duration::from_secs(20))
            .build()
            .expect("an HTTP client");
        Self { site, children: [None, None, None], http, base }
    }

    pub fn home(&self, n: usize) -> PathBuf {
        self.site.join(NAMES[n])
    }

    pub fn config(&self, n: usize) -> PathBuf {
        self.home(n).join("server.toml")
    }

    /// Changes the configuration of server `n`, which knows of it at its next start.
    pub fn reconfigure(&self, n: usize, change: impl FnOnce(&mut Config)) {
        let mut config = Config::read(&self.config(n)).expect("a configuration");
        change(&mut config);
        std::fs::write(self.config(n), config.to_text()).expect("it can be written");
    }

    pub fn data(&self, n: usize) -> PathBuf {
        self.home(n).join("data")
    }

    /// The port at which server `n` listens for the others.
    pub fn mesh_port(&self, n: usize) -> u16 {
        self.base + 100 + n as u16
    }

    /// The port that participants of server `n` know.
    pub fn public_port(&self, n: usize) -> u16 {
        self.base + n as u16
    }

    pub fn origin(&self, n: usize) -> String {
        format!("http://127.0.0.1:{}", self.public_port(n))
    }

    /// Starts a server that is not running.
    pub fn start(&mut self, n: usize) {
        self.start_as(n, Command::new(env!("CARGO_BIN_EXE_ostrakon")));
    }

    /// Starts a server by a command that is to be continued with the program's arguments.
    pub fn start_as(&mut self, n: usize, mut command: Command) {
        assert!(self.children[n].is_none(), "{} is running", NAMES[n]);
        let log = OpenOptions::new().create(true).append(true).open(self.log(n)).expect("a log");
        command.args(["serve", "--until-stdin-ends", "--config", text(&self.config(n))]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log).kill_on_drop(true);
        self.children[n] = Some(command.spawn().expect("the program starts"));
    }

    pub fn start_all(&mut self) {
        (0..3).for_each(|n| self.start(n));
    }

    /// SIGKILL: the process ends where it stands.
    pub async fn kill(&mut self, n: usize) {
        let mut child = self.children[n].take().expect("it runs");
        let early = child.try_wait().expect("a child");
        assert!(
            early.is_none(),
            "{} ended by itself ({early:?}): {}",
            NAMES[n],
            self.last_words(n)
        );
        child.kill().await.expect("it can be killed");
    }

    /// The process of a server that runs.
    pub fn process(&self, n: usize) -> u32 {
        self.children[n].as_ref().and_then(Child::id).expect("it runs")
    }

    /// Stops a server in an orderly way.
    pub async fn stop(&mut self, n: usize) {
        let mut child = self.children[n].take().expect("it runs");
        drop(child.stdin.take());
        let status = tokio::time::timeout(LONG, child.wait())
            .await
            .expect("it stops in time")
            .expect("a child");
        assert!(status.success(), "{}: {status}: {}", NAMES[n], self.last_words(n));
    }

    pub async fn stop_all(&mut self) {
        for n in 0..3 {
            self.stop(n).await;
        }
    }

    /// Waits until all servers are connected and at work.
    pub async fn ready(&self) {
        for n in 0..3 {
            let url = format!("{}/readyz", self.origin(n));
            let ready = async {
                while !self.get::<Readiness>(&url).await.is_some_and(|readiness| readiness.ready) {
                    tokio::time::sleep(PAUSE).await;
                }
            };
            self.in_time("a server becomes ready", ready).await;
        }
    }

    /// Waits for something; if it takes too long, says where the servers stand.
    pub async fn in_time<T>(&self, what: &str, awaited: impl Future<Output = T>) -> T {
        match tokio::time::timeout(LONG, awaited).await {
            Ok(result) => result,
            Err(_) => {
                panic!(
                    "{what}: not in time\n{}\n{}\n{}",
                    self.last_words(0),
                    self.last_words(1),
                    self.last_words(2)
                )
            }
        }
    }

    async fn get<T: serde::de::DeserializeOwned>(&self, url: &str) -> Option<T> {
        self.http.get(url).send().await.ok()?.json().await.ok()
    }

    /// How a room stands at a server, if it answers.
    pub async fn status(&self, n: usize, room: &Link) -> Option<Status> {
        self.get(&format!("{}/api/v1/rooms/{}/status", self.origin(n), room.room.to_hex())).await
    }

    async fn archive(&self, n: usize, room: &Link) -> Option<Archive> {
        let url = format!("{}/api/v1/rooms/{}/archive", self.origin(n), room.room.to_hex());
        let answer = self.http.get(url).send().await.ok()?;
        let text = answer.status().is_success().then(|| answer.text())?.await.ok()?;
        Some(Archive::verify(&text, Some(&room.servers)).expect("a server's own archive verifies"))
    }

    /// The boards of all servers, once nothing is being computed any more and all have as many
    /// entries.
    pub async fn boards(&self, room: &Link) -> [Archive; 3] {
        let quiet = async {
            loop {
                let statuses =
                    futures::future::join_all((0..3).map(|n| self.status(n, room))).await;
                let quiet = |status: &Option<Status>| {
                    status.as_ref().is_some_and(|status| status.mixing.is_empty())
                };
                let archives =
                    futures::future::join_all((0..3).map(|n| self.archive(n, room))).await;
                let archives: Option<Vec<Archive>> = archives.into_iter().collect();
                if statuses.iter().all(quiet)
                    && let Some(archives) = archives
                    && archives
                        .iter()
                        .all(|archive| archive.entries.len() == archives[0].entries.len())
                {
                    return archives.try_into().expect("three");
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        self.in_time("the boards become the same", quiet).await
    }

    /// A room with this many seconds to an epoch, and its link at each server.
    pub fn room(&self, seconds: u32) -> Vec<Link> {
        // Everybody who speaks is a new participant, and counts as present for half a minute.
        self.room_of(seconds, 300)
    }

    /// Such a room with this many slots.
    pub fn room_of(&self, seconds: u32, capacity: u32) -> Vec<Link> {
        let (seconds, capacity) = (seconds.to_string(), capacity.to_string());
        let create = [
            "room",
            "create",
            "Faults",
            "--payload",
            "64",
            "--minimum",
            "1",
            "--without-crowd",
            "--capacity",
            &capacity,
            "--seconds",
            &seconds,
        ];
        let room =
            json(&[&create[..], &["--data-dir", text(&self.site), "--json"]].concat()).remove(0);
        let links = room["links"].as_array().expect("a list");
        links.iter().map(|link| link.as_str().expect("text").parse().expect("a link")).collect()
    }

    fn log(&self, n: usize) -> PathBuf {
        self.home(n).join("log")
    }

    /// All that a server logged.
    pub fn logged(&self, n: usize) -> String {
        std::fs::read_to_string(self.log(n)).unwrap_or_default()
    }

    /// The end of a server's log.
    pub fn last_words(&self, n: usize) -> String {
        let log = self.logged(n);
        let lines: Vec<_> = log.lines().collect();
        format!("{}:\n{}", NAMES[n], lines[lines.len().saturating_sub(12)..].join("\n"))
    }
}

fn succeed(arguments: &[&str]) {
    let output = crate::common::run(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are text")
}
