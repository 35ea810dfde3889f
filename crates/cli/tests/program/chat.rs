//! `ostrakon chat`: people who exchange messages over three servers, as processes.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::Value;

use crate::common::{Up, board, complaint, free_base_port, json, nightly, ostrakon, signal};

/// How long anything may take, on a busy machine.
const LONG: Duration = Duration::from_secs(240);

/// Somebody with a directory of its own, present or not.
struct Person {
    state: PathBuf,
    present: Option<Present>,
}

/// `ostrakon chat stay` in the background.
struct Present {
    child: Child,
    orders: ChildStdin,
    told: Receiver<Value>,
    /// What was told while something else was awaited.
    early: Vec<Value>,
}

impl Person {
    fn new(directory: &Path, name: &str) -> Self {
        Self { state: directory.join(name), present: None }
    }

    fn state(&self) -> &str {
        self.state.to_str().expect("temporary paths are text")
    }

    /// Runs a command to its end.
    fn chat(&self, arguments: &[&str]) -> Vec<Value> {
        json(&[&["chat"], arguments, &["--json", "--state-dir", self.state()]].concat())
    }

    /// Comes.
    fn come(&mut self, room: &str, more: &[&str]) {
        let stay = ["chat", "stay", room, "--json", "--state-dir", self.state()];
        let mut command = ostrakon(&[&stay, more].concat());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let (tell, told) = channel();
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _nobody_listens =
                    tell.send(serde_json::from_str(&line).expect("every line is JSON"));
            }
        });
        let orders = child.stdin.take().expect("piped");
        self.present = Some(Present { child, orders, told, early: Vec::new() });
    }

    /// Comes, but nobody reads what it tells: it ends with the first thing that it has to tell,
    /// after it has written that down.
    fn come_unread(&self, room: &str) -> Child {
        let stay = ["chat", "stay", room, "--json", "--state-dir", self.state()];
        let mut command = ostrakon(&stay);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        drop(child.stdout.take());
        child
    }

    /// Goes, without any farewell.
    fn go(&mut self) {
        let mut present = self.present.take().expect("present");
        present.child.kill().expect("a child");
        present.child.wait().expect("a child");
    }

    fn order(&mut self, line: &str) {
        let present = self.present.as_mut().expect("present");
        writeln!(present.orders, "{line}").expect("it listens");
    }

    /// Waits until something is told.
    fn told(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let present = self.present.as_mut().expect("present");
        if let Some(at) = present.early.iter().position(&is) {
            return present.early.remove(at);
        }
        loop {
            match present.told.recv_timeout(LONG) {
                Ok(value) if is(&value) => return value,
                Ok(value) => present.early.push(value),
                Err(RecvTimeoutError::Timeout) => panic!("{what}: only {:?}", present.early),
                Err(RecvTimeoutError::Disconnected) => panic!("{what}: the program ended"),
            }
        }
    }

    /// How what it has said to a contact stands.
    fn states_of(&mut self, name: &str) -> Vec<String> {
        self.order("list");
        let is_list = |told: &Value| told["messages"].is_array() && told["name"] == name;
        let listed = self.told("a list", is_list);
        let messages = listed["messages"].as_array().expect("a list");
        let own = messages.iter().filter(|message| message["own"] == true);
        own.map(|message| message["state"].as_str().expect("a state").to_owned()).collect()
    }

    /// Waits until something that it has said to a contact stands so.
    fn stands(&mut self, name: &str, state: &str) {
        let pause = Duration::from_millis(100);
        let looks = LONG.as_millis() / pause.as_millis();
        let stands = (0..looks).any(|_| {
            let stands = self.states_of(name).iter().any(|stands| stands == state);
            if !stands {
                std::thread::sleep(pause);
            }
            stands
        });
        assert!(stands, "nothing is {state}");
    }

    /// Adds a partner for practice by the link that `up` printed, comes, and says something to it.
    fn calls_for_practice(&mut self, partner: &str) {
        let added = self.chat(&["add", partner, "partner"]).remove(0);
        assert_eq!(added["practice"], true, "it is labelled as a program");
        let room = partner.replacen("/#/chat/", "/#/room/", 1);
        let room = room.trim_end_matches("/practice").rsplit_once('/').expect("a key").0;
        self.come(room, &[]);
        self.order("say partner Is anybody there?");
    }

    fn hears(&mut self, text: &str) {
        self.told(text, |event| event["event"] == "received" && event["text"] == text);
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        if self.present.is_some() {
            self.go();
        }
    }
}

/// A room for messages, with rounds of a second.
fn room(site: &Path) -> (String, String) {
    let site = site.to_str().expect("temporary paths are text");
    let create = ["room", "create", "Letters", "--messages", "--seconds", "1", "--minimum", "1"];
    let more = [
        "--engine",
        "clarion",
        "--without-crowd",
        "--capacity",
        "12",
        "--data-dir",
        site,
        "--json",
    ];
    let room = json(&[&create[..], &more].concat()).remove(0);
    assert_eq!(room["descriptor"]["admission"], "messages");
    assert_eq!(room["descriptor"]["retention_days"], 1);
    let link = |at: usize| room["links"][at].as_str().expect("a link").to_owned();
    (link(0), link(1))
}

/// Whatever is asked for while somebody is there.
fn codes_and_lists_are_told(ann: &mut Person, bob: &mut Person) {
    ann.order("code Bob");
    bob.order("code Ann");
    let [one, other] =
        [ann, &mut *bob].map(|person| person.told("a code", |told| told.get("code").is_some()));
    assert_eq!(one, other);
    bob.order("list");
    let listed = bob.told("a list", |told| told["messages"].is_array());
    assert_eq!((&listed["name"], &listed["state"]), (&"Ann".into(), &"talking".into()));
}

/// Ann calls, Bob accepts, and each hears the other; the codes that they compare are equal.
fn they_get_acquainted(ann: &mut Person, bob: &mut Person) {
    ann.order("say Bob Hello, this is Ann.");
    assert_eq!(ann.states_of("Bob"), ["waiting"], "nobody has answered");
    let called = bob.told("a call", |event| event["event"] == "called");
    assert_eq!((&called["name"], &called["known"]), (&"Ann".into(), &false.into()));
    bob.order(&format!("accept {}", called["contact"]));
    bob.hears("Hello, this is Ann.");
    bob.order("say Ann And this is Bob.");
    ann.hears("And this is Bob.");
    ann.told("an acknowledgement", |event| {
        event["event"] == "moved" && event["state"] == "delivered"
    });
    codes_and_lists_are_told(ann, bob);
}

#[test]
fn two_people_talk_beside_a_third_and_one_who_was_away_hears_all() {
    let directory = tempfile::tempdir().unwrap();
    let site = directory.path().join("site");
    let (up, partner) = Up::start_with_messages(&site, free_base_port());
    let (first, second) = room(&site);
    let mut people = ["ann", "bob", "third"].map(|name| Person::new(directory.path(), name));
    let [ann, bob, third] = &mut people;
    let mut newcomer = Person::new(directory.path(), "newcomer");
    newcomer.calls_for_practice(&partner);

    let link = bob.chat(&["link", &second, "--name", "Bob", "--label", "for Ann"]).remove(0);
    let link = link["link"].as_str().unwrap().to_owned();
    ann.chat(&["add", &link, "Bob", "--name", "Ann"]);
    ann.come(&first, &[]);
    bob.come(&second, &[]);
    third.come(&second, &[]);

    they_get_acquainted(ann, bob);
    newcomer.hears("Is anybody there?");
    newcomer.go();

    let mut of_ann = vec!["Hello, this is Ann."];
    let mut of_bob = vec!["And this is Bob."];
    if nightly() {
        although_a_server_is_killed(&up, ann, bob);
        of_ann.push("Are the servers well?");
        of_bob.push("One was killed.");
    }

    bob.go();
    let late = bob.chat(&["link", &second, "--label", "for nobody"]).remove(0);
    let late = late["link"].as_str().unwrap();
    assert!(bob.chat(&["link", &second, "--revoke", "1"]).is_empty());
    third.order(&format!("add {late} Bob"));
    third.order("call Bob");
    let long = "You were away. ".repeat(40);
    ann.order("say Bob Still there?");
    ann.order(&format!("say Bob {}", long.trim()));
    // A turn of the channel in which Bob hears nothing.
    ann.stands("Bob", "sent");
    bob.come(&second, &[]);
    bob.hears("Still there?");
    bob.hears(long.trim());
    of_ann.extend(["Still there?", long.trim()]);
    if nightly() {
        although_it_was_not_shown(ann, bob, &second);
        of_ann.push("Did you see this?");
    }

    ann.go();
    let said = ann.chat(&["with", "Bob", "Is it settled?"]);
    let delivered = |event: &Value| event["event"] == "moved" && event["state"] == "delivered";
    assert!(said.iter().any(delivered), "it ends when it is delivered: {said:?}");
    bob.hears("Is it settled?");
    of_ann.push("Is it settled?");

    assert!(third.present.as_mut().unwrap().told.try_recv().is_err(), "nobody talks to the third");
    let present = bob.present.as_mut().unwrap();
    let told = present.early.drain(..).chain(present.told.try_iter());
    let called = told.filter(|event| event["event"] == "called").count();
    assert_eq!(called, 0, "nobody is heard who calls by a link that was taken back");
    let entries = json(&["watch", &first, "--once", "--json"]);
    assert!(entries.iter().any(|entry| entry["accepted"] == 3), "all three were there");
    assert!(board(&first).is_empty(), "nothing on the board is words for everybody");
    refusals(&up, &site, &first, &link);
    [bob, third].into_iter().for_each(Person::go);
    let listed = people[1].chat(&["list"]);
    let said = |by_bob: bool| {
        let of_one = move |message: &&Value| message["own"] == by_bob;
        let all = listed[0]["messages"].as_array().unwrap().iter().filter(of_one);
        all.map(|message| message["text"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(said(false), of_ann, "once, in order");
    assert_eq!(said(true), of_bob);
    up.stop();
}

/// A server dies and is started again: the rounds go on by themselves.
fn although_a_server_is_killed(up: &Up, ann: &mut Person, bob: &mut Person) {
    signal("KILL", up.servers()[1]);
    ann.order("say Bob Are the servers well?");
    bob.order("say Ann One was killed.");
    bob.hears("Are the servers well?");
    ann.hears("One was killed.");
    for _ in 0..2 {
        bob.told("an acknowledgement", |event| event["state"] == "delivered");
    }
}

/// Whose program ends between writing a message down and showing it is shown it later.
fn although_it_was_not_shown(ann: &mut Person, bob: &mut Person, room: &str) {
    bob.go();
    let mut unread = bob.come_unread(room);
    ann.order("say Bob Did you see this?");
    unread.wait().expect("it ends by itself");
    bob.come(room, &[]);
    bob.hears("Did you see this?");
}

/// What cannot be done says why.
fn refusals(up: &Up, site: &Path, room: &str, link: &str) {
    let state = tempfile::tempdir().unwrap();
    let state = ["--state-dir", state.path().to_str().unwrap()];
    let refused = |arguments: &[&str], word: &str| {
        let text = complaint(&[arguments, &state[..]].concat(), 1);
        assert!(text.contains(word), "{text}");
    };
    refused(&["chat", "link", &up.links[0]], "not for messages");
    refused(&["chat", "with", "Nobody"], "there is no contact Nobody");
    refused(&["chat", "stay"], "name the room");
    assert!(complaint(&["say", room, "words"], 1).contains("ostrakon chat"));
    let mut narrow =
        ["room", "create", "R", "--messages", "--payload", "64", "--data-dir"].to_vec();
    narrow.push(site.to_str().unwrap());
    assert!(complaint(&narrow, 1).contains("at least 256"));
    assert!(complaint(&["chat", "add", &link[..link.len() - 1], "B"], 2).contains("contact link"));
}
