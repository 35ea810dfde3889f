//! What a host does when answers are lost: everything is done once.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::common::{Up, free_base_port, json, ostrakon, run, values};
use ostrakon_node::config::Config;
use serde_json::Value;

/// Everything is carried.
const WHOLE: u8 = 0;
/// The next host's action arrives, and its answer does not.
const SWALLOWS_ANSWER: u8 = 1;
/// The next host's action does not arrive.
const SWALLOWS_ACTION: u8 = 2;

/// A wire to a server's public port, on which a host's action or the answer to it can get lost.
struct Wire {
    port: u16,
    mode: Arc<AtomicU8>,
}

impl Wire {
    fn to(port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let own = listener.local_addr().unwrap().port();
        let mode = Arc::new(AtomicU8::new(WHOLE));
        let state = Arc::clone(&mode);
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                // Until the server listens, who connects is told so by the end of the connection.
                let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { continue };
                carry(near, far, Arc::clone(&state));
            }
        });
        Self { port: own, mode }
    }

    fn set(&self, mode: u8) {
        self.mode.store(mode, Ordering::SeqCst);
    }

    /// Whether what was to get lost got lost.
    fn is_whole(&self) -> bool {
        self.mode.load(Ordering::SeqCst) == WHOLE
    }
}

fn carry(near: TcpStream, far: TcpStream, mode: Arc<AtomicU8>) {
    let deaf = Arc::new(AtomicBool::new(false));
    let (back_from, back_to, lost) =
        (far.try_clone().unwrap(), near.try_clone().unwrap(), Arc::clone(&deaf));
    std::thread::spawn(move || {
        pass(near, far, |bytes| {
            if !is_action(bytes) {
                return true;
            }
            let mode = mode.swap(WHOLE, Ordering::SeqCst);
            deaf.store(mode == SWALLOWS_ANSWER, Ordering::SeqCst);
            mode != SWALLOWS_ACTION
        })
    });
    std::thread::spawn(move || pass(back_from, back_to, |_| !lost.load(Ordering::SeqCst)));
}

/// Passes bytes on, one way, as long as `goes_on`; then the connection breaks.
fn pass(mut from: TcpStream, mut to: TcpStream, goes_on: impl Fn(&[u8]) -> bool) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let n = from.read(&mut buffer).unwrap_or(0);
        if n == 0 || !goes_on(&buffer[..n]) || to.write_all(&buffer[..n]).is_err() {
            // One of them has ended already.
            let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
            return;
        }
    }
}

fn is_action(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
    line.starts_with(b"POST ") && line.ends_with(b"/actions HTTP/1.1")
}

/// Three servers, the first of which is reached through the wire.
fn up(site: &Path) -> (Up, Wire) {
    let base = free_base_port();
    let init = run(&["init", "--local", site.to_str().unwrap(), "--base-port", &base.to_string()]);
    assert!(init.status.success(), "{}", String::from_utf8_lossy(&init.stderr));
    let wire = Wire::to(base);
    for name in ["alpha", "beta", "gamma"] {
        let path = site.join(name).join("server.toml");
        let mut config = Config::read(&path).unwrap();
        config.servers[0].url = format!("http://127.0.0.1:{}", wire.port);
        std::fs::write(&path, config.to_text()).unwrap();
    }
    (Up::start(site, base, &[]), wire)
}

/// A host at a desk: the key lies in the directory in which the program runs.
struct Desk<'a> {
    directory: &'a Path,
    link: &'a str,
    wire: &'a Wire,
}

impl Desk<'_> {
    fn output(&self, key: &str, arguments: &[&str]) -> Output {
        let (command, rest) = arguments.split_first().unwrap();
        let arguments = [&["host", *command, self.link], rest, &["--key", key, "--json"]].concat();
        ostrakon(&arguments).current_dir(self.directory).output().unwrap()
    }

    /// Acts, while the wire loses something.
    fn loses(&self, mode: u8, arguments: &[&str]) {
        self.wire.set(mode);
        let output = self.output("host.key", arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), self.wire.is_whole()), (Some(4), true), "{errors}");
        assert!(errors.contains("not known") && output.stdout.is_empty(), "{errors}");
        let mode = std::fs::metadata(self.directory.join("host.key.pending"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    /// Acts; the result, and what is said besides, after which nothing is pending.
    fn acts(&self, arguments: &[&str]) -> (Value, String) {
        let output = self.output("host.key", arguments);
        let result = values(&output);
        assert_eq!(result.len(), 1, "one result for one command");
        assert!(!self.directory.join("host.key.pending").exists(), "all is settled");
        (result.into_iter().next().unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    fn shown(&self) -> Value {
        values(&self.output("host.key", &["show"])).remove(0)
    }

    fn questions(&self) -> Vec<String> {
        let shown = self.shown();
        let polls = shown["polls"].as_array().unwrap().iter();
        polls.map(|poll| poll[1]["poll"]["question"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn a_host_whose_answers_are_lost_does_everything_once() {
    let directory = tempfile::tempdir().unwrap();
    let site = directory.path().join("site");
    let (up, wire) = up(&site);
    let key = directory.path().join("host.key");
    let create = ["room", "create", "Hosted", "--host-key", key.to_str().unwrap(), "--members"];
    let room =
        json(&[&create[..], &["--data-dir", site.to_str().unwrap(), "--json"]].concat()).remove(0);
    let desk =
        Desk { directory: directory.path(), link: room["links"][1].as_str().unwrap(), wire: &wire };
    asks_once(&desk);
    invites_once(&desk);
    goes_on_with_something_else(&desk);
    sends_again_what_did_not_arrive(&desk);
    gives_up_what_was_overtaken(&desk);
    up.stop();
}

fn asks_once(desk: &Desk) {
    let tea = ["poll", "Tea?", "--option", "yes", "--option", "no"];
    desk.loses(SWALLOWS_ANSWER, &tea);
    let (done, said) = desk.acts(&tea);
    assert_eq!(
        (&done["action"], said.contains("An earlier command has done this")),
        (&Value::from(0), true),
        "{said}"
    );
    assert_eq!(
        (desk.questions(), &desk.shown()["actions"]),
        (vec!["Tea?".to_owned()], &Value::from(1))
    );
    // What was answered is not what was lost.
    assert_eq!(desk.acts(&tea).0["action"], 1);
}

fn invites_once(desk: &Desk) {
    desk.loses(SWALLOWS_ANSWER, &["invite", "2"]);
    let pending = std::fs::read_to_string(desk.directory.join("host.key.pending")).unwrap();
    let pending: Value = serde_json::from_str(&pending).unwrap();
    let seeds = pending[0]["seeds"].as_array().unwrap().iter();
    let links: Vec<_> =
        seeds.map(|seed| format!("{}/{}", desk.link, seed.as_str().unwrap())).collect();
    let (done, _) = desk.acts(&["invite", "2"]);
    assert_eq!((&done["action"], &done["links"]), (&Value::from(2), &Value::from(links)));
    assert_eq!(desk.shown()["invitations"], 2);
}

fn goes_on_with_something_else(desk: &Desk) {
    desk.loses(SWALLOWS_ANSWER, &["invite", "1"]);
    let (done, said) = desk.acts(&["hide", "3", "0"]);
    assert_eq!((&done["action"], done.get("links")), (&Value::from(4), None));
    assert!(
        said.contains("invitations, 1 in number; action 3 of")
            && said.contains(&format!("  {}/", desk.link)),
        "{said}"
    );
}

fn sends_again_what_did_not_arrive(desk: &Desk) {
    let when = ["poll", "When?", "--text"];
    desk.loses(SWALLOWS_ACTION, &when);
    assert_eq!(desk.shown()["actions"], 5, "to look does not act");
    assert_eq!(desk.acts(&when).0["action"], 5);
    assert_eq!(desk.questions(), ["Tea?", "Tea?", "When?"]);
}

fn gives_up_what_was_overtaken(desk: &Desk) {
    desk.loses(SWALLOWS_ACTION, &["poll", "Lost?", "--text"]);
    std::fs::copy(desk.directory.join("host.key"), desk.directory.join("other.key")).unwrap();
    assert_eq!(values(&desk.output("other.key", &["hide", "4", "0"]))[0]["action"], 6);
    let (done, said) = desk.acts(&["approve", "4", "0"]);
    assert_eq!(done["action"], 7);
    assert!(said.contains("was not done") && said.contains("Lost?"), "{said}");
    assert_eq!(desk.questions(), ["Tea?", "Tea?", "When?"]);
}
