//! The program under test, run as people run it.

pub mod deciders;
pub mod rogue;
pub mod servers;
pub mod speakers;

pub use ostrakon_testkit::nightly;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use serde_json::Value;

/// The program with these arguments.
pub fn ostrakon(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ostrakon"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs the program to its end.
pub fn run(arguments: &[&str]) -> Output {
    ostrakon(arguments).output().expect("the program starts")
}

/// Runs the program, which must succeed, and reads what it prints: one JSON value a line.
pub fn json(arguments: &[&str]) -> Vec<Value> {
    values(&run(arguments))
}

/// The JSON values that a program that succeeded printed.
pub fn values(output: &Output) -> Vec<Value> {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    let text = String::from_utf8(output.stdout.clone()).expect("JSON is text");
    text.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
}

/// What a program that failed with this code complained about.
pub fn complaint(arguments: &[&str], code: i32) -> String {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{errors}");
    errors
}

/// The marked blocks of the operators' guide.
pub fn guide() -> BTreeMap<&'static str, &'static str> {
    const GUIDE: &str = include_str!("../../../../../docs/operating.md");
    let (_, marked) = GUIDE.split_once("```sh ").expect("the guide has marked blocks");
    let block = |rest: &'static str| {
        let (mark, rest) = rest.split_once('\n').expect("a block has lines");
        (mark, rest.split("```").next().expect("a block ends"))
    };
    marked.split("```sh ").map(block).collect()
}

/// Seconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "what participants state, and deadlines, are times that real servers compare with their clocks"
)]
pub fn now() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("after 1970")
        .as_secs()
}

/// `ostrakon up` in a directory.
pub struct Up {
    child: Child,
    /// What it prints, as far as it was not looked at.
    lines: Lines<BufReader<ChildStdout>>,
    /// The room's links, one by each server.
    pub links: Vec<String>,
}

impl Up {
    /// Starts the three servers and waits for the links.
    pub fn start(directory: &Path, base_port: u16, more: &[&str]) -> Self {
        Self::start_of(3, "/#/room/", directory, base_port, more)
    }

    /// Starts so many servers and waits for a link of each, which `mark` is in.
    pub fn start_of(
        servers: usize,
        mark: &str,
        directory: &Path,
        base_port: u16,
        more: &[&str],
    ) -> Self {
        let port = base_port.to_string();
        let directory = directory.to_str().expect("temporary paths are text");
        let mut command = ostrakon(&["up", "--data-dir", directory, "--base-port", &port]);
        let mut child =
            command.args(more).stdout(Stdio::piped()).spawn().expect("the program starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut up = Self { child, lines, links: Vec::new() };
        up.links = (0..servers).map(|_| up.prints(mark, directory)).collect();
        up
    }

    /// Waits until it prints a line with this in it.
    fn prints(&mut self, mark: &str, directory: &str) -> String {
        let mut lines = self.lines.by_ref().map(|line| line.expect("text"));
        let line = lines.find(|line| line.contains(mark));
        line.unwrap_or_else(|| panic!("`up` ended without {mark}; its logs are in {directory}"))
            .trim()
            .to_owned()
    }

    /// The same with a room for messages; the contact link of the partner for practice in it.
    pub fn start_with_messages(directory: &Path, base_port: u16) -> (Self, String) {
        let mut up = Self::start(directory, base_port, &["--messages"]);
        let partner = up.prints("/practice", directory.to_str().expect("as before"));
        (up, partner)
    }

    /// Presses Ctrl-C and waits for the end.
    pub fn stop(mut self) {
        signal("INT", self.child.id());
        for _ in 0..400 {
            if let Some(status) = self.child.try_wait().expect("a child") {
                assert!(status.success(), "{status}");
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("`up` does not stop");
    }

    /// The origin of a server.
    pub fn origin(&self, server: usize) -> &str {
        self.links[server].split("/#/").next().expect("links have an origin")
    }

    /// The room's id.
    pub fn room(&self) -> &str {
        self.links[0].split('/').nth(5).expect("links have a room")
    }

    /// The process ids of the servers.
    pub fn servers(&self) -> Vec<u32> {
        children(self.child.id())
    }
}

/// The process ids of a process's children, the first started first. Numbers begin anew at the
/// system's largest, so they alone do not tell the order.
pub fn children(parent: u32) -> Vec<u32> {
    let output = Command::new("ps")
        .args(["-o", "pid=", "--sort", "start_time,pid", "--ppid", &parent.to_string()])
        .output()
        .expect("ps is there");
    let text = String::from_utf8(output.stdout).expect("numbers");
    text.split_whitespace().map(|pid| pid.parse().expect("a number")).collect()
}

impl Drop for Up {
    fn drop(&mut self) {
        // Servers end with their parent. It is gone already if the test went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The exit code of `say` if it cannot even look at the room: nothing has been said then.
pub const NOT_THERE: i32 = 4;

/// The words of those who only give company.
const COMPANY: &str = "(company)";

/// Says several things at once, as they must be said: a lone speaker is not anonymous, and waits.
/// On a busy machine one can miss the others' epoch; then it is given company, whose words [`said`]
/// leaves out.
pub fn say(up: &Up, texts: &[&str]) -> Vec<Value> {
    let speak = |i: usize, text: &str| {
        let mut say = ostrakon(&["say", &up.links[i % 3], text, "--json"]);
        say.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    };
    let mut speakers: Vec<_> = texts.iter().enumerate().map(|(i, text)| speak(i, text)).collect();
    let mut company: Vec<Child> = Vec::new();
    for moment in 1.. {
        let mut speaking = false;
        for (i, speaker) in speakers.iter_mut().enumerate() {
            match speaker.try_wait().expect("a child") {
                // One that found no server comes again.
                Some(status) if status.code() == Some(NOT_THERE) => *speaker = speak(i, texts[i]),
                Some(_) => continue,
                None => {}
            }
            speaking = true;
        }
        if !speaking {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
        if moment % 400 == 0 {
            assert!(company.len() < 10, "what was said is not published");
            company.push(speak(company.len(), COMPANY));
        }
    }
    for mut friend in company {
        // It has ended with the others, or waits alone.
        let _ = friend.kill();
        friend.wait().expect("a child");
    }
    speakers
        .into_iter()
        .flat_map(|speaker| values(&speaker.wait_with_output().expect("a child")))
        .collect()
}

/// What is on a board.
pub fn board(link: &str) -> Vec<String> {
    let entries = json(&["watch", link, "--once", "--json"]);
    let messages = entries.iter().flat_map(|entry| entry["messages"].as_array().expect("a list"));
    messages.map(|message| message.as_str().expect("text").to_owned()).collect()
}

/// What is on a board, without what was said for company only.
pub fn said(link: &str) -> Vec<String> {
    board(link).into_iter().filter(|message| message != COMPANY).collect()
}

/// Sends a signal to a process.
pub fn signal(name: &str, process: u32) {
    assert!(signal_if_there(name, process), "process {process} is gone");
}

/// Sends a signal to a process that may have ended meanwhile; whether it was there.
pub fn signal_if_there(name: &str, process: u32) -> bool {
    let mut kill = Command::new("kill");
    kill.args([format!("-{name}"), process.to_string()]).stderr(Stdio::null());
    kill.status().expect("kill is there").success()
}

/// A port with two more after it, and three more a hundred further, that nobody uses; a new one at
/// every call.
pub fn free_base_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Tests that run side by side, each in a process of its own, have different slots.
    let slot = std::env::var("NEXTEST_TEST_GLOBAL_SLOT").ok().and_then(|slot| slot.parse().ok());
    let slot = slot.unwrap_or(u64::from(std::process::id())) % 97;
    for _ in 0..1000 {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        // Below the ports that the system gives to outgoing connections.
        let base = 10_000 + u16::try_from(slot).expect("small") * 200 + step % 30 * 3;
        let ports = [0, 1, 2, 100, 101, 102].map(|offset| base + offset);
        if ports.iter().all(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()) {
            return base;
        }
    }
    panic!("no ports are free");
}

/// A file with this text in a directory.
pub fn file(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, text).expect("temporary directories can be written");
    path
}
