//! Decisions, made as people make them: through the program, at real servers.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Up, complaint, file, free_base_port, json, ostrakon};
use serde_json::Value;

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are text")
}

#[test]
fn people_decide_in_any_order_and_the_archive_proves_it() {
    let directory = tempfile::tempdir().unwrap();
    let answers = file(directory.path(), "answers", "yes\nno\n2\nyes\n1\n");
    let archive = directory.path().join("decision.json");
    let arguments =
        ["demo", "decide", "--people", "5", "--function", "tally", "--answers", text(&answers)];
    let more = ["--archive", text(&archive), "--timeout", "240", "--json"];
    let result = json(&[&arguments[..], &more].concat()).remove(0);
    assert_eq!(result["results"], serde_json::json!(["no 2, yes 3"]));
    assert_eq!((result["answered"].as_u64(), result["verified"].as_bool()), (Some(5), Some(true)));
    assert_eq!(result["visits_ms"].as_array().unwrap().len(), 5);
    check_archive(&archive, result["link"].as_str().unwrap());
}

fn check_archive(archive: &Path, link: &str) {
    let report = json(&["decide", "verify", text(archive), "--link", link, "--json"]).remove(0);
    assert_eq!(report["results"], serde_json::json!(["no 2, yes 3"]));
    let foreign = format!("{}{}", &link[..link.len() - 64], "5".repeat(64));
    assert!(
        complaint(&["decide", "verify", text(archive), "--link", &foreign], 3)
            .contains("other servers")
    );
    let whole = std::fs::read(archive).unwrap();
    let copy = archive.with_extension("changed");
    let refused = |changed: &[u8], what: &str| {
        std::fs::write(&copy, changed).unwrap();
        let output = ostrakon(&["decide", "verify", text(&copy)]).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{what} is accepted");
    };
    for at in (0..whole.len()).step_by(whole.len() / 40 + 1) {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        refused(&changed, &format!("byte {at} changed"));
    }
    refused(&whole[..whole.len() - 1], "a shorter file");
    let later = String::from_utf8(whole).unwrap().replace("-decision-1\"", "-decision-7\"");
    std::fs::write(&copy, later).unwrap();
    let said = complaint(&["decide", "verify", text(&copy)], 3);
    assert!(said.contains("of another version") && !said.contains("not authentic"), "{said}");
    refused(b"{}", "an empty object");
}

#[test]
fn who_stays_away_counts_as_assumed() {
    let directory = tempfile::tempdir().unwrap();
    let answers = file(directory.path(), "answers", "yes\nyes\nyes\nyes\n");
    let arguments =
        ["demo", "decide", "--people", "4", "--function", "unanimous", "--answers", text(&answers)];
    let more = ["--absent", "1", "--seconds", "45", "--timeout", "240", "--json"];
    let result = json(&[&arguments[..], &more].concat()).remove(0);
    assert_eq!(
        result["results"],
        serde_json::json!(["not passed"]),
        "the absent one counts as a no"
    );
    assert_eq!((result["answered"].as_u64(), result["absent"].as_u64()), (Some(3), Some(1)));
}

/// So many looks, with a pause after each.
fn looks(count: u32, pause: Duration) -> impl Iterator<Item = ()> {
    (0..count).map(move |look| {
        if look > 0 {
            std::thread::sleep(pause)
        }
    })
}

/// A person with a device.
struct Device<'a> {
    home: std::path::PathBuf,
    link: &'a str,
}

impl Device<'_> {
    fn command(&self, command: &str, more: &[&str]) -> Command {
        let home = text(&self.home);
        ostrakon(&[&["decide", command, self.link, "--state-dir", home, "--json"], more].concat())
    }

    fn value(&self, command: &str, more: &[&str]) -> Value {
        crate::common::values(&self.command(command, more).output().unwrap()).remove(0)
    }

    fn refusal(&self, command: &str, more: &[&str], code: i32) -> String {
        let output = self.command(command, more).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{errors}");
        errors
    }

    /// Answers, and is killed as soon as it is written down that it did.
    fn answer_and_die(&self, answer: &[&str]) {
        let mut child = self
            .command("answer", answer)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let state = self.home.join("account.json");
        let written =
            || std::fs::read_to_string(&state).is_ok_and(|text| text.contains(r#""answered":{"#));
        assert!(
            looks(60_000, Duration::from_millis(1)).any(|()| written()),
            "the answer is never written down"
        );
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn a_decision_lives_through_invitations_answers_kills_and_its_verification() {
    let directory = tempfile::tempdir().unwrap();
    let up = Up::start(&directory.path().join("site"), free_base_port(), &[]);
    let plan = file(
        directory.path(),
        "plan.toml",
        "question = \"Where and when?\"\npeople = [\"Anna\", \"Ben\", \"Clio\"]\nseconds = 3600\n\
         [[ballots]]\nlabel = \"place\"\noptions = [\"river\", \"hill\"]\nfunction = \"plurality\"\n\
         [[ballots]]\nlabel = \"Sunday\"\noptions = [\"no\", \"yes\"]\nfunction = \"unanimous\"\n",
    );
    let host = directory.path().join("host");
    let create = ["decide", "create", "--server", up.origin(1), "--file", text(&plan)];
    let created = json(&[&create[..], &["--state-dir", text(&host), "--json"]].concat()).remove(0);
    let people = created["people"].as_array().unwrap();
    let links: Vec<&str> = people.iter().map(|person| person["link"].as_str().unwrap()).collect();
    let device = |name: &str, link| Device { home: directory.path().join(name), link };
    let host = Device { home: host, link: created["link"].as_str().unwrap() };
    assert_eq!(host.value("invite", &[]).as_array().unwrap(), people);

    let anna = device("anna", links[0]);
    assert!(
        anna.refusal("answer", &["--answer", "river"], 1).contains("once for each of 2 ballots")
    );
    assert!(
        anna.refusal("answer", &["--answer", "lake", "--answer", "yes"], 1)
            .contains("none of the options")
    );
    assert!(
        anna.refusal("answer", &["--answer", "river", "--answer", "yes"], 1)
            .contains("everybody has accepted")
    );
    let thief = device("thief", links[0]);
    assert!(
        !thief.command("answer", &[]).output().unwrap().status.success(),
        "the first claim counts"
    );
    assert!(anna.refusal("finish", &["--cancel"], 1).contains("only who created"));
    assert_eq!(host.value("status", &[])["stage"], "accepting");
    assert_eq!(host.value("finish", &["--remove", "Clio"])["stage"], "accepting");
    let ben = device("ben", links[1]);
    assert!(ben.command("answer", &[]).output().unwrap().status.success());
    assert_eq!(host.value("status", &[])["stage"], "answering");
    assert!(
        !device("clio", links[2]).command("answer", &[]).output().unwrap().status.success(),
        "she was removed"
    );

    // Whether it has left or not: there is one answer, and no other.
    let (mine, other) =
        (["--answer", "hill", "--answer", "yes"], ["--answer", "river", "--answer", "yes"]);
    anna.answer_and_die(&mine);
    let receipt = anna.value("answer", &[]);
    anna.refusal("answer", &other, 1);
    let again = anna.value("answer", &[]);
    let record = |receipt: &Value| (receipt["number"].clone(), receipt["digest"].clone());
    assert_eq!(record(&again), record(&receipt), "one record, whatever is tried");
    assert!(receipt["signatures"].as_array().unwrap().len() >= 2, "signed: {receipt}");
    ben.value("answer", &["--answer", "2", "--answer", "2"]);

    let opened = || !host.value("status", &[])["outcome"].is_null();
    assert!(
        looks(300, Duration::from_millis(200)).any(|()| opened()),
        "the servers do not open the result"
    );
    let archive = directory.path().join("archive.json");
    let report = ben.value("verify", &["--tell", "--output", text(&archive)]);
    assert_eq!(report["results"], serde_json::json!(["place: hill", "Sunday: passed"]));
    let checked =
        json(&["decide", "verify", text(&archive), "--link", host.link, "--json"]).remove(0);
    assert_eq!(checked["outcome"], report["outcome"]);
    assert_eq!(host.value("status", &[])["people"][1]["verified"], true);
    up.stop();
}

#[test]
fn wrong_usage_is_named() {
    let link = format!("http://127.0.0.1:9/#/decision/{}/{}", "0".repeat(32), "0".repeat(64));
    let home = tempfile::tempdir().unwrap();
    let home = text(home.path());
    assert!(
        complaint(&["decide", "answer", "http://127.0.0.1:9/"], 2)
            .contains("not a link to a decision")
    );
    assert!(
        complaint(&["decide", "status", &link, "--state-dir", home], 4).contains("does not answer")
    );
    assert!(complaint(&["decide", "verify", "/nonexistent.json"], 1).contains("cannot be read"));
    assert!(
        complaint(&["decide", "create", "--server", "http://127.0.0.1:9"], 2)
            .contains("--question")
    );
    assert!(
        complaint(&["decide", "invite", &link, "--state-dir", home], 1).contains("has not created")
    );
}

#[test]
fn two_people_come_in_by_one_link_and_whoever_is_not_approved_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let up = Up::start(&directory.path().join("site"), free_base_port(), &[]);
    let home = |name: &str| directory.path().join(name);
    let host = home("host");
    let gather = ["decide", "gather", "--server", up.origin(1), "--question", "Shall we?"];
    let made = ostrakon(&[&gather[..], &["--state-dir", text(&host)]].concat()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let link = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let join = |name: &str, device: &Path| {
        let arguments = ["decide", "join", &link, "--name", name, "--state-dir", text(device)];
        ostrakon(&arguments).output().unwrap()
    };
    let (ben, other, eve) = (home("ben"), home("other"), home("eve"));
    // Names that look alike are one name to whoever reads them.
    for (name, device) in [("Ben", &ben), ("BEN", &other), ("Eve", &eve)] {
        let asked = join(name, device);
        let errors = String::from_utf8_lossy(&asked.stderr).into_owned();
        assert!(asked.status.success() && errors.contains("Compare these digits"), "{errors}");
    }
    let requests = |device: &Path, more: &[&str]| {
        let arguments = ["decide", "requests", &link, "--state-dir", text(device), "--json"];
        ostrakon(&[&arguments[..], more].concat()).output().unwrap()
    };
    let errors = String::from_utf8_lossy(&requests(&ben, &[]).stderr).into_owned();
    assert!(errors.contains("only its creator"), "{errors}");
    let errors =
        String::from_utf8_lossy(&requests(&host, &["--approve", "Ben"]).stderr).into_owned();
    assert!(errors.contains("several have asked"), "{errors}");
    let approved = requests(&host, &["--approve-all", "--refuse", "Eve"]);
    let rows = crate::common::values(&approved).remove(0);
    let states: Vec<_> =
        rows.as_array().unwrap().iter().map(|row| (&row["name"], &row["state"])).collect();
    assert!(states.contains(&(&"Eve".into(), &"refused".into())), "{states:?}");
    let errors = String::from_utf8_lossy(&join("Eve", &eve).stderr).into_owned();
    assert!(errors.contains("refused"), "{errors}");

    let create = ["decide", "create", "--server", up.origin(0), "--join", &link, "--json"];
    let created = json(&[&create[..], &["--state-dir", text(&host)]].concat()).remove(0);
    let names = created["people"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|person| person["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let beginnings: BTreeSet<_> = names.iter().map(|name| &name[..5]).collect();
    assert_eq!(beginnings, ["BEN (", "Ben ("].into(), "{names:?}");
    for device in [&ben, &other] {
        let begun = join("Ben", device);
        let decision = String::from_utf8(begun.stdout).unwrap().trim().to_owned();
        let device = Device { home: device.clone(), link: &decision };
        device.value("answer", &["--answer", "yes", "--wait"]);
    }
    let host = Device { home: host, link: created["link"].as_str().unwrap() };
    let passed = || !host.value("status", &[])["outcome"].is_null();
    assert!(looks(300, Duration::from_millis(200)).any(|()| passed()), "no result");

    // Of two both are needed, and one never comes.
    let create = ["decide", "create", "--server", up.origin(0), "--question", "And we?", "--json"];
    let people =
        ["--person", "Ann", "--person", "Cleo", "--accept-seconds", "5", "--seconds", "60"];
    let create = [&create[..], &people, &["--state-dir", text(&host.home)]].concat();
    let created = ostrakon(&create).output().unwrap();
    let warned = String::from_utf8_lossy(&created.stderr).into_owned();
    assert!(warned.contains("All must take part and answer"), "{warned}");
    let created = crate::common::values(&created).remove(0);
    let begun = format!("The decision has begun: {}\n", created["link"].as_str().unwrap());
    assert!(warned.contains(&begun), "{warned}");
    let link = created["people"][0]["link"].as_str().unwrap();
    let told =
        Device { home: home("ann"), link }.refusal("answer", &["--answer", "yes", "--wait"], 1);
    assert!(told.contains("did not accept in time") && told.contains("Cleo"), "{told}");
}
