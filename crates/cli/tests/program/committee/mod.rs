//! A committee of processes, asked as people ask it, while members are killed.

mod asked;
mod deaths;
mod election;
mod graph;
#[path = "../../../../committee/tests/committee/moments.rs"]
mod moments;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::{children, free_base_port, ostrakon, signal, signal_if_there, values};

/// `ostrakon committee up`, until it is dropped.
struct Members {
    child: Child,
    origin: String,
}

impl Members {
    fn start(directory: &Path, base_port: u16) -> Self {
        Self::start_of(3, directory, base_port)
    }

    /// A committee of so many members.
    fn start_of(members: usize, directory: &Path, base_port: u16) -> Self {
        let (directory, port) = (directory.to_str().unwrap(), base_port.to_string());
        let members = members.to_string();
        let fewest = ["--fewest-reports", "3", "--members", &members];
        let arguments = ["committee", "up", "--data-dir", directory, "--base-port", &port];
        let arguments = [&arguments[..], &fewest].concat();
        let mut child =
            ostrakon(&arguments).stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let origin = line.split_whitespace().last().expect("it names a member").to_owned();
        Self { child, origin }
    }

    /// The members' processes.
    fn processes(&self) -> Vec<u32> {
        children(self.child.id())
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        // Members end with their parent. It is gone already if the test went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Somebody with a home of their own.
struct Person<'a>(&'a Path);

impl Person<'_> {
    fn run(&self, arguments: &[&str]) -> Output {
        ostrakon(arguments).env("XDG_STATE_HOME", self.0).output().expect("the program starts")
    }

    fn json(&self, arguments: &[&str]) -> Value {
        values(&self.run(arguments)).remove(0)
    }

    fn complaint(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{errors}");
        errors
    }
}

/// What the program answers, although the member that it asks may just be being started again.
fn answered(person: &Person<'_>, asking: &[&str]) -> Output {
    let mut answered = person.run(asking);
    for _ in 0..200 {
        if answered.status.success() {
            break;
        }
        std::thread::sleep(Duration::from_millis(500));
        answered = person.run(asking);
    }
    answered
}

#[test]
fn a_committee_answers_although_its_members_are_killed_and_nobody_reports_twice() {
    let directory = tempfile::tempdir().unwrap();
    let members = Members::start(&directory.path().join("site"), free_base_port());
    let home = directory.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let person = Person(&home);
    let created = person.json(&[
        "stats",
        "create",
        "--server",
        &members.origin,
        "--question",
        "How long, in minutes?",
        "--statistic",
        "median",
        "--statistic",
        "sum",
        "--largest",
        "100",
        "--minimum",
        "3",
        "--invitations",
        "4",
        "--json",
    ]);
    let link = created["link"].as_str().unwrap();
    let invitations: Vec<&str> = created["invitations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| link.as_str().unwrap())
        .collect();
    wrong_input_is_named_and_loses_nothing(&person, link, &invitations);
    a_question_about_too_few_is_refused(&person, &members.origin);

    for (invitation, number) in invitations.iter().zip(["10", "90", "30"]) {
        // A member is killed between the reports; `up` starts it again. Once one was, it may be
        // the one that is asked: then the same command succeeds a little later.
        signal("KILL", members.processes()[1]);
        let reported = answered(&person, &["stats", "report", invitation, number, "--json"]);
        assert_eq!(values(&reported)[0]["servers"], 3);
    }
    let again = person.complaint(&["stats", "report", invitations[0], "11"], 1);
    assert!(again.contains("you have handed in already"), "{again}");
    // The same invitation on another device makes another report of the same key.
    let other = directory.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let twice = Person(&other).complaint(&["stats", "report", invitations[3], "101000"], 1);
    assert!(twice.contains("number"), "{twice}");

    assert!(answered(&person, &["stats", "close", link]).status.success());
    let archive = directory.path().join("result.json");
    let archive = archive.to_str().unwrap();
    // And each of them about twice while they compute: they go on with the same run. One that was
    // killed just before may be among them still, and gone when its turn comes.
    for round in 0..6 {
        std::thread::sleep(Duration::from_millis(150));
        if let Some(process) = members.processes().get(round % 3) {
            signal_if_there("KILL", *process);
        }
    }
    let asking = ["stats", "result", link, "--out", archive, "--json"];
    let result = values(&answered(&person, &asking)).remove(0);
    assert_eq!(result["reports"], 3);
    assert_eq!(result["answers"][0]["quantile"]["value"], 30);
    assert_eq!(result["answers"][1]["sum"], 130);
    let verified = person.json(&["stats", "verify", archive, "--link", link, "--json"]);
    assert_eq!(verified, result);
    let member = directory.path().join("site/member-2");
    comes_to_an_end(&person, member.to_str().unwrap());
    its_operator_sees_it(&members.origin, &directory.path().join("site/member-1"));
    let late = person.complaint(&["stats", "report", invitations[3], "50"], 1);
    // Another try would not help, and is not proposed.
    assert!(late.contains("closed") && !late.contains("same command"), "{late}");
    let text = std::fs::read_to_string(archive).unwrap();
    std::fs::write(archive, text.replacen("\"minimum\":3", "\"minimum\":2", 1)).unwrap();
    person.complaint(&["stats", "verify", archive], 3);
}

/// The member that was asked has all signatures; another one may be behind it.
fn comes_to_an_end(person: &Person<'_>, member: &str) {
    loop {
        let status = person.json(&["committee", "status", "--home", member, "--json"]);
        assert_eq!(status[0]["inputs"], 3);
        if status[0]["phase"]["is"] == "done" {
            return;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// What the operator's page shows, to whoever has the token of this member.
fn seen_by_operator(origin: &str, home: &Path) -> Value {
    let token = std::fs::read_to_string(home.join("operator.token")).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{origin}/api/v1/operator/computations");
    let seen = |token: &str| {
        let asked = client.get(&url).bearer_auth(token).send();
        runtime.block_on(async {
            let answer = asked.await.unwrap();
            (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
        })
    };
    assert_eq!(seen(&"0".repeat(64)).0, 401);
    let (status, shown) = seen(token.trim());
    assert_eq!(status, 200);
    shown
}

fn its_operator_sees_it(origin: &str, home: &Path) {
    let shown = seen_by_operator(origin, home);
    assert_eq!((&shown["number"], &shown["members"]), (&0.into(), &3.into()));
    let one = &shown["computations"][0];
    assert_eq!(
        (&one["job"], &one["inputs"], &one["minimum"]),
        (&"stats".into(), &3.into(), &3.into())
    );
    assert_eq!(one["title"], "How long, in minutes?");
    // What was written down of its exchanges is erased once it is over.
    assert!(one["begun"].as_u64().unwrap() >= 1 && one["exchanges"] == 0, "{one}");
}

fn a_question_about_too_few_is_refused(person: &Person<'_>, origin: &str) {
    let few = ["--question", "You?", "--minimum", "2"];
    let few = [&["stats", "create", "--server", origin][..], &few].concat();
    let refused = person.complaint(&few, 1);
    assert!(refused.contains("nothing of fewer than 3 reports"), "{refused}");
    let invited = ["--question", "You?", "--minimum", "3", "--invitations", "2"];
    let invited = [&["stats", "create", "--server", origin][..], &invited].concat();
    let refused = person.complaint(&invited, 1);
    assert!(refused.contains("only 2 may hand in") && refused.contains("--minimum"), "{refused}");
}

fn wrong_input_is_named_and_loses_nothing(person: &Person<'_>, link: &str, invitations: &[&str]) {
    for (number, why) in [("twelve", "no whole number"), ("-1", "no whole number"), ("128", "127")]
    {
        let complaint = person.complaint(&["stats", "report", invitations[0], number], 1);
        assert!(complaint.contains(why), "{number}: {complaint}");
    }
    let uninvited = person.complaint(&["stats", "report", link, "1"], 1);
    assert!(uninvited.contains("invited people only"), "{uninvited}");
    let early = person.complaint(&["stats", "close", link], 1);
    assert!(early.contains("3 more must hand in first"), "{early}");
    let (start, committee) = link.rsplit_once('/').unwrap();
    let foreign = format!("{start}/{}", "5".repeat(committee.len()));
    let foreign = person.complaint(&["stats", "report", &foreign, "1"], 3);
    assert!(foreign.contains("another committee"), "{foreign}");
    let now = person.complaint(&["stats", "result", link, "--now"], 1);
    assert!(now.contains("0 handed in so far; 3 more needed"), "{now}");
}

#[test]
fn a_committee_of_several_operators_is_founded_from_their_cards() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let base = free_base_port();
    let mut cards = Vec::new();
    for member in 0..2u16 {
        let (http, mesh) = (base + member, base + 100 + member);
        let (url, address) = (format!("http://127.0.0.1:{http}"), format!("127.0.0.1:{mesh}"));
        let card = ostrakon(&["committee", "init", "--home", &path(&format!("home-{member}"))])
            .args(["--name", &format!("operator {member}"), "--url", &url, "--address", &address])
            .args(["--http", &format!("127.0.0.1:{http}"), "--mesh", &address])
            .output()
            .unwrap();
        assert!(card.status.success(), "{card:?}");
        std::fs::write(path(&format!("card-{member}")), card.stdout).unwrap();
        cards.push(path(&format!("card-{member}")));
    }
    let found = |cards: &[String]| {
        ostrakon(&["committee", "found", "--name", "Two"]).args(cards).output().unwrap()
    };
    let founded = found(&cards);
    assert!(founded.status.success(), "{founded:?}");
    let twice = found(&[cards[0].clone(), cards[0].clone()]);
    assert!(String::from_utf8_lossy(&twice.stderr).contains("two cards have the same name"));
    let changed = String::from_utf8(std::fs::read(&cards[1]).unwrap()).unwrap();
    std::fs::write(path("changed"), changed.replace("operator 1", "operator 9")).unwrap();
    let changed = found(&[cards[0].clone(), path("changed")]);
    assert!(String::from_utf8_lossy(&changed.stderr).contains("changed after it was signed"));

    let mut members = Vec::new();
    for member in 0..2 {
        let home = path(&format!("home-{member}"));
        let missing = ostrakon(&["committee", "serve", "--home", &home]).output().unwrap();
        assert!(String::from_utf8_lossy(&missing.stderr).contains("committee.json"));
        std::fs::write(format!("{home}/committee.json"), &founded.stdout).unwrap();
        let serve = ["committee", "serve", "--home", &home, "--until-stdin-ends"];
        let child = ostrakon(&serve).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        members.push(child);
    }
    let home = directory.path().join("person");
    std::fs::create_dir(&home).unwrap();
    let origin = format!("http://127.0.0.1:{base}");
    let ask = ["stats", "create", "--server", &origin, "--question", "Why?", "--json"];
    // The members need a moment to start.
    let asked = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        Person(&home).run(&ask).status.success()
    });
    assert!(asked, "the founded committee takes no question");
    members.iter_mut().for_each(|child| drop(child.stdin.take()));
    members.iter_mut().for_each(|child| drop(child.wait()));
}
