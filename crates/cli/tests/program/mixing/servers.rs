//! The servers of a room, set up as operators do, each with a directory of its own. Nobody starts
//! again what was killed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use ostrakon_testkit::free_ports;
use serde_json::Value;

use crate::common::{ostrakon, run};

/// Servers of one room, some of which run.
pub struct Servers {
    directory: tempfile::TempDir,
    processes: Vec<Option<Child>>,
    origins: Vec<String>,
    /// The room's link at the first server.
    pub link: String,
}

impl Servers {
    /// Makes so many servers' keys and founds their room; `more` says what it is like.
    pub fn found(servers: usize, more: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let ports = free_ports(2 * servers);
        let (http, mesh) = ports.split_at(servers);
        let mut cards = Vec::new();
        for (i, (http, mesh)) in http.iter().zip(mesh).enumerate() {
            let home = home_in(directory.path(), i);
            let (http, mesh) = (format!("127.0.0.1:{http}"), format!("127.0.0.1:{mesh}"));
            let (name, url) = (name(i), format!("http://{http}"));
            let init = ["mixer", "init", "--home", text(&home), "--name", &name, "--url", &url];
            let card =
                run(&[&init[..], &["--address", &mesh, "--http", &http, "--mesh", &mesh]].concat());
            assert!(card.status.success(), "{}", String::from_utf8_lossy(&card.stderr));
            let path = directory.path().join(format!("{name}.card"));
            std::fs::write(&path, card.stdout).unwrap();
            cards.push(path);
        }
        let cards: Vec<&str> = cards.iter().map(|path| text(path)).collect();
        let found = [&["mixer", "found", "--name", "Agora"], more, &cards[..]].concat();
        let found = run(&found);
        let told = String::from_utf8(found.stderr).unwrap();
        assert!(found.status.success(), "{told}");
        for i in 0..servers {
            let room = home_in(directory.path(), i).join("room.json");
            std::fs::write(room, &found.stdout).unwrap();
        }
        let link = told.trim_end().rsplit(' ').next().unwrap().to_owned();
        let origins = http.iter().map(|port| format!("http://127.0.0.1:{port}")).collect();
        let processes = (0..servers).map(|_| None).collect();
        Self { directory, processes, origins, link }
    }

    /// Where a server keeps its files.
    pub fn home(&self, i: usize) -> PathBuf {
        home_in(self.directory.path(), i)
    }

    /// A file for the test itself.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Starts a server with what is on its disk.
    pub fn start(&mut self, i: usize) {
        let home = self.home(i);
        let log = File::options().create(true).append(true).open(home.join("log")).unwrap();
        let mut serve = ostrakon(&["mixer", "serve", "--until-stdin-ends", "--home", text(&home)]);
        // Its input ends with this process, if not before.
        serve.stdin(Stdio::piped()).stderr(log);
        self.processes[i] = Some(serve.spawn().expect("the program starts"));
    }

    /// Kills a server at once.
    pub fn kill(&mut self, i: usize) {
        let mut child = self.processes[i].take().expect("it runs");
        child.kill().expect("a child");
        child.wait().expect("a child");
    }

    /// Stops all that run.
    pub fn stop(&mut self) {
        for process in &mut self.processes {
            if let Some(mut child) = process.take() {
                let _gone = child.kill();
                let _gone = child.wait();
            }
        }
    }

    /// Bytes of memory that each server that runs has, and of its files.
    pub fn sizes(&self) -> Vec<[u64; 2]> {
        let running = self.processes.iter().enumerate();
        let running = running.filter_map(|(i, process)| Some((i, process.as_ref()?.id())));
        running
            .map(|(i, process)| [resident(process), bytes_in(&self.home(i).join("data"))])
            .collect()
    }

    /// What a server's operator is shown.
    pub fn operated(&self, i: usize) -> Value {
        let token = std::fs::read_to_string(self.home(i).join("operator.token")).unwrap();
        let (status, shown) = self.operated_with(i, token.trim());
        assert_eq!(status, 200, "{shown}");
        shown
    }

    /// Asks a server, as its operator, until it shows what it is to.
    pub fn until(&self, i: usize, what: &str, shows: impl Fn(&Value) -> bool) -> Value {
        let token = std::fs::read_to_string(self.home(i).join("operator.token")).unwrap();
        let url = format!("{}/api/v1/operator/mix", self.origins[i]);
        let mut last = None;
        for _ in 0..600 {
            // Who was just started does not answer yet.
            last = asked(&url, token.trim());
            if let Some((200, shown)) = &last
                && shows(shown)
            {
                return shown.clone();
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        panic!("{what}: {last:?}");
    }

    /// What a server has written to its log since it was founded.
    pub fn log(&self, i: usize) -> String {
        std::fs::read_to_string(self.home(i).join("log")).unwrap()
    }

    /// What a server says of itself to whoever watches it.
    pub fn readiness(&self, i: usize) -> (u16, Value) {
        readiness(&self.origins[i])
    }

    /// What somebody with this token is shown.
    pub fn operated_with(&self, i: usize, token: &str) -> (u16, Value) {
        asked(&format!("{}/api/v1/operator/mix", self.origins[i]), token).expect("it runs")
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What a server answers to whoever has this token; `None` if it does not.
fn asked(url: &str, token: &str) -> Option<(u16, Value)> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    runtime.block_on(async {
        let answer = client.get(url).bearer_auth(token).send().await.ok()?;
        Some((answer.status().as_u16(), answer.json().await.unwrap()))
    })
}

/// What the server at an origin says of itself to whoever watches it.
pub fn readiness(origin: &str) -> (u16, Value) {
    asked(&format!("{origin}/readyz"), "").expect("it runs")
}

/// The name of a server.
pub fn name(i: usize) -> String {
    format!("server-{}", i + 1)
}

fn home_in(directory: &Path, i: usize) -> PathBuf {
    directory.join(name(i))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are text")
}

fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it lives");
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().expect("a number");
    kibibytes * 1024
}

fn bytes_in(directory: &Path) -> u64 {
    let files = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap());
    // A journal that was just replaced may be gone.
    files.map(|file| file.metadata().map_or(0, |of| of.len())).sum()
}
