//! What can be asked besides a number from everybody: by groups, choices, circuits, lists.

use std::path::Path;

use serde_json::{Value, json};

use super::{Members, Person};
use crate::common::{free_base_port, nightly};

/// A committee, and somebody who asks it.
struct Survey<'a> {
    person: &'a Person<'a>,
    server: &'a str,
    directory: &'a Path,
}

impl Survey<'_> {
    /// Asks, reports as each list of arguments says, closes, and returns the answers, which are
    /// those that are verified offline.
    fn answers(&self, asking: &[&str], reports: &[&[&str]]) -> Value {
        let create = ["stats", "create", "--server", self.server, "--minimum", "3", "--json"];
        let created = self.person.json(&[&create[..], asking].concat());
        let link = created["link"].as_str().unwrap();
        for (number, report) in reports.iter().enumerate() {
            let keep = self.directory.join(format!("kept-{number}"));
            let keep = ["--keep", keep.to_str().unwrap(), "--json"];
            let reported = self.person.json(&[&["stats", "report", link], *report, &keep].concat());
            assert_eq!(reported["servers"], 3);
            std::fs::remove_file(keep[1]).unwrap();
        }
        let closed = self.person.json(&["stats", "close", link, "--json"]);
        assert_eq!(closed["id"], created["id"]);
        let archive = self.directory.join("result.json");
        let archive = archive.to_str().unwrap();
        let result = self.person.json(&["stats", "result", link, "--out", archive, "--json"]);
        assert_eq!(result["reports"], reports.len());
        let verified = self.person.json(&["stats", "verify", archive, "--link", link, "--json"]);
        assert_eq!(verified, result);
        result["answers"].clone()
    }
}

#[test]
fn groups_choices_and_circuits_are_asked_for_and_answered() {
    let directory = tempfile::tempdir().unwrap();
    let members = Members::start(&directory.path().join("site"), free_base_port());
    let home = directory.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let (person, server, directory) = (&Person(&home), &members.origin[..], directory.path());
    let survey = Survey { person, server, directory };

    let grouped = ["--question", "Where?", "--largest", "15", "--groups", "north,south"];
    let reports: [&[&str]; 5] = [
        &["3", "--group", "0"],
        &["9", "--group", "0"],
        &["14", "--group", "0"],
        &["1", "--group", "1"],
        &["2", "--group", "south"],
    ];
    // Who forgets the group is told which ones there are.
    let create = ["stats", "create", "--server", server, "--minimum", "3", "--json"];
    let created = person.json(&[&create[..], &grouped].concat());
    let link = created["link"].as_str().unwrap();
    let told = person.complaint(&["stats", "report", link, "3"], 1);
    assert!(told.contains("--group") && told.contains("north, south"), "{told}");
    let north = json!({"size": 3, "answer": {"quantile": {"thousandths": 500, "value": 9}}});
    // Of a group of two nothing is told, its size included.
    let south = json!({"size": 0, "answer": null});
    assert_eq!(survey.answers(&grouped, &reports), json!([{"by-group": [north, south]}]));

    // Of devices that have a key each, all in a roster.
    let keys = [0, 1, 2, 3].map(|i| format!("{}/key-{i}", directory.display()));
    let public = keys.each_ref().map(|key| person.run(&["stats", "key", key]).stdout);
    let shown = person.json(&["stats", "key", &keys[0], "--json"]);
    assert_eq!(shown["key"], String::from_utf8_lossy(&public[0]).trim());
    let roster = format!("{}/roster", directory.display());
    std::fs::write(&roster, public.concat()).unwrap();
    let choices = ["--question", "Which?", "--largest", "3", "--statistic", "top:1"];
    let reports: Vec<_> =
        keys.iter().zip(["2", "1", "2", "2"]).map(|(key, number)| [number, "--key", key]).collect();
    let reports: Vec<&[&str]> = reports.iter().map(|report| &report[..]).collect();
    let chosen = survey.answers(&[&choices[..], &["--roster", &roster]].concat(), &reports);
    assert_eq!(chosen, json!([{"top": [{"candidate": 2, "count": 3}]}]));

    // Whether both low bits are set, added up; and the same of all reports at once, which no member
    // computes unless its operator allows it.
    let (each, all) = (directory.join("each.txt"), directory.join("all.txt"));
    std::fs::write(&each, "1 5\n1 4\n1 1\n\n2 1 0 1 4 AND\n").unwrap();
    std::fs::write(&all, "1 15\n4 4 4 4 2\n1 1\n\n2 1 0 1 14 AND\n").unwrap();
    let circuit = |path: &Path| format!("circuit:{}", path.display());
    let (each, all) = (circuit(&each), circuit(&all));
    let asked = |statistic| ["--question", "How?", "--largest", "15", "--statistic", statistic];
    let answer = survey.answers(&asked(&each), &[&["3"], &["7"], &["9"]]);
    assert_eq!(answer, json!([{"circuit": [2]}]));
    let create = ["stats", "create", "--server", server, "--minimum", "3"];
    let refused = person.complaint(&[&create[..], &asked(&all)].concat(), 1);
    assert!(refused.contains("circuit"), "{refused}");

    // The sketch of a list has 1,024 cells, whose circuit takes some seconds in a build for tests.
    if nightly() {
        let list = |name: &str, things: std::ops::Range<u32>| {
            let path = directory.join(name);
            let lines: String = things.map(|thing| format!("thing {thing}\n")).collect();
            std::fs::write(&path, lines).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let lists = [list("a", 0..40), list("b", 20..60), list("c", 50..100)];
        let reports = lists.each_ref().map(|path| ["--things", path]);
        let reports = reports.each_ref().map(|report| &report[..]);
        let answer = survey.answers(&["--question", "Seen?", "--things"], &reports);
        let estimate = answer[0]["distinct"]["estimate"].as_u64().unwrap();
        assert!((85..=115).contains(&estimate), "{estimate} of 100");
    }
}
