//! Edges that a committee of processes computes on, as people contribute them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Members, Person};
use crate::common::{free_base_port, signal};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Homes of two people.
fn homes(directory: &Path) -> [PathBuf; 2] {
    let homes = ["home", "other"].map(|name| directory.join(name));
    homes.iter().for_each(|home| std::fs::create_dir(home).unwrap());
    homes
}

#[test]
fn a_committee_computes_on_edges_of_files_and_bad_lines_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let members = Members::start(&directory.path().join("site"), free_base_port());
    let [home, other] = homes(directory.path());
    let (person, second) = (Person(&home), Person(&other));
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let names = file("names.txt", "anna\nben\ncarl\ndora\nemil\n");
    let create = ["graph", "create", "--server", &members.origin, "--title", "Who knows whom?"];
    let wanted = ["--names", text(&names), "--from", "anna", "--hops", "3", "--show", "vertices"];
    let most = ["--edges", "3", "--minimum", "2", "--invitations", "3", "--for-me", "--json"];
    let created = person.json(&[&create[..], &wanted, &most].concat());
    let link = created["link"].as_str().unwrap();
    let invitation = |number: usize| created["invitations"][number].as_str().unwrap();
    let nobody = [&create[..], &["--vertices", "5", "--from", "9"]].concat();
    assert!(person.complaint(&nobody, 1).contains("no such vertex"));

    // A file with bad lines: each is named, and nothing is handed in.
    let few = person.complaint(&["graph", "contribute", invitation(0), "none.csv"], 1);
    assert!(few.contains("Who knows whom?") && few.contains("of at least 2 contributors"), "{few}");
    assert!(few.contains("3 invited people") && few.contains("--yes contributes"), "{few}");
    let bad = file("bad.csv", "src,dst\nanna,ben\nanna;ben\nben,frida\n");
    let told = person.complaint(&["graph", "contribute", invitation(0), text(&bad), "--yes"], 1);
    assert!(told.contains("line 3: expected two names"), "{told}");
    assert!(told.contains("line 4: the job has no vertex \"frida\""), "{told}");
    let long = file("long.csv", &"anna,ben\n".repeat(4));
    let told = person.complaint(&["graph", "contribute", invitation(0), text(&long), "--yes"], 1);
    assert!(told.contains("more than the 3 edges"), "{told}");
    let uninvited = person.complaint(&["graph", "contribute", link, text(&bad), "--yes"], 1);
    assert!(uninvited.contains("line 3") || uninvited.contains("invited"), "{uninvited}");

    let one = file("one.csv", "src,dst\nanna,ben\nben,carl\n");
    let done = person.json(&["graph", "contribute", invitation(0), text(&one), "--yes", "--json"]);
    assert_eq!((&done["edges"], &done["servers"]), (&2.into(), &3.into()));
    let early = person.complaint(&["graph", "run", link], 1);
    assert!(early.contains("1 more must"), "{early}");
    signal("KILL", members.processes()[1]);
    let two = file("two.tsv", "# who knows whom\ncarl\tdora\n");
    let done = second.json(&["graph", "contribute", invitation(1), text(&two), "--yes", "--json"]);
    assert_eq!(done["edges"], 1);
    let again = second.complaint(&["graph", "contribute", invitation(1), text(&two)], 1);
    assert!(again.contains("already"), "{again}");

    // The third owner never comes.
    let archive = directory.path().join("result.json");
    let result = person.json(&["graph", "run", link, "--json", "--out", text(&archive)]);
    assert_eq!(result["contributors"], 2);
    let values = &result["values"];
    let of = |name: &str| values[name].as_u64();
    assert_eq!(["anna", "ben", "carl", "dora"].map(of), [Some(0), Some(1), Some(2), Some(3)]);
    assert!(values["emil"].is_null());
    let verified = person.json(&["graph", "verify", text(&archive), "--link", link, "--json"]);
    assert_eq!(verified, result);
    let shown = String::from_utf8(person.run(&["graph", "result", link]).stdout).unwrap();
    assert!(shown.contains("not within 3") && shown.contains("2 contributors"), "{shown}");
    // What was asked for is every vertex's value, and so it is printed, the nearest first.
    let places = ["0 hops  anna", "1 hop  ben", "3 hops  dora"].map(|line| shown.find(line));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{shown}");
    // Whoever else has the link, or the archive, sees that it is proved, and nothing of it.
    let shown = String::from_utf8(second.run(&["graph", "result", link]).stdout).unwrap();
    assert!(shown.contains("for who asked alone") && !shown.contains("hops"), "{shown}");
    let others = second.json(&["graph", "verify", text(&archive), "--link", link, "--json"]);
    assert_eq!((&others["values"], &others["for_reader"]), (&Value::Null, &true.into()));
    let changed = std::fs::read_to_string(&archive).unwrap().replacen("knows", "owes", 1);
    std::fs::write(&archive, changed).unwrap();
    person.complaint(&["graph", "verify", text(&archive)], 3);
}

/// Whatever a process computes with gives way to servers of rooms on the same machine.
fn gives_way(process: u32) {
    let asked = ["-L", "-o", "ni=", "-p", &process.to_string()];
    let output = std::process::Command::new("ps").args(asked).output().expect("ps is there");
    let text = String::from_utf8(output.stdout).expect("numbers");
    let nice: Vec<i32> = text.split_whitespace().map(|ni| ni.parse().expect("nice")).collect();
    assert!(nice.len() > 1 && nice.iter().all(|nice| *nice >= 10), "{nice:?}");
}

/// Waits until the member shows that it is between two hops, and kills this process then.
fn kill_between_hops(origin: &str, id: &str, process: u32) {
    let url = format!("{origin}/api/v1/computations/{id}");
    let watching = async {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        loop {
            let view: Value = match client.get(&url).send().await {
                Ok(answer) => answer.json().await.unwrap(),
                Err(_) => continue,
            };
            let (phase, progress) = (view["phase"]["is"].as_str(), &view["progress"]);
            assert!(!matches!(phase, Some("done" | "stopped")), "it was not seen between hops");
            if progress["stage"] == "hop" && progress["done"].as_u64() > Some(0) {
                assert!(progress["sent"].as_u64() > Some(1_000_000), "{progress}");
                gives_way(process);
                return signal("KILL", process);
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::runtime::Runtime::new().unwrap().block_on(watching);
}

/// Contributions of more than a mebibyte go in pieces, and a member that is killed when it has
/// computed some hops goes on with them. What is cancelled before is erased.
#[test]
fn a_long_contribution_goes_in_pieces_and_members_killed_between_hops_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let members = Members::start(&directory.path().join("site"), free_base_port());
    let person = Person(directory.path());
    let edges = directory.path().join("edges.csv");
    // A chain of vertices, and one edge many times.
    let chain: String = (0..6).map(|v| format!("{v},{}\n", v + 1)).collect();
    std::fs::write(&edges, chain + &"50,51\n".repeat(1000)).unwrap();
    let create = ["graph", "create", "--server", &members.origin, "--title", "Who knows whom?"];
    let wanted = ["--vertices", "100", "--from", "0", "--hops", "3", "--show", "vertices"];
    let created = |edges: &str| {
        let most = ["--edges", edges, "--minimum", "1", "--json"];
        person.json(&[&create[..], &wanted, &most].concat())
    };

    let other = created("2000");
    let link = other["link"].as_str().unwrap();
    person.json(&["graph", "contribute", link, text(&edges), "--yes", "--json"]);
    let cancelled = person.json(&["graph", "cancel", link, "--json"]);
    assert_eq!(cancelled["ended"].as_array().unwrap().len(), 3, "{cancelled}");
    assert_eq!((&cancelled["silent"], &cancelled["opened"]), (&json!([]), &json!([])));
    let told = person.complaint(&["graph", "result", link], 1);
    assert!(told.contains("who asked has cancelled it"), "{told}");
    let run = person.complaint(&["graph", "run", link, "--even-if-few"], 1);
    assert!(run.contains("cancelled by who asked"), "{run}");

    let created = created("90000");
    let (link, id) = (created["link"].as_str().unwrap(), created["id"].as_str().unwrap());
    signal("KILL", members.processes()[1]);
    let done = person.json(&["graph", "contribute", link, text(&edges), "--yes", "--json"]);
    assert_eq!((&done["edges"], &done["servers"]), (&1006.into(), &3.into()));
    assert!(done["bytes"].as_u64() > Some(1 << 20), "{done}");
    let (origin, killed) = (members.origin.clone(), members.processes()[2]);
    let result = std::thread::scope(|scope| {
        let killing = scope.spawn(|| kill_between_hops(&origin, id, killed));
        let result = person.json(&["graph", "run", link, "--json"]);
        killing.join().unwrap();
        result
    });
    let of = |vertex: usize| result["values"][vertex.to_string()].as_u64();
    assert_eq!([0, 1, 2, 3, 4].map(of), [Some(0), Some(1), Some(2), Some(3), None]);
    assert!(!members.processes().contains(&killed), "it was killed, and started again");
    let late = person.complaint(&["graph", "cancel", link], 1);
    assert!(late.contains("too late"), "{late}");
}

#[test]
fn another_question_is_asked_about_what_is_kept_and_whoever_contributed_was_told() {
    let directory = tempfile::tempdir().unwrap();
    let members = Members::start(&directory.path().join("site"), free_base_port());
    let [home, other] = homes(directory.path());
    let (person, second) = (Person(&home), Person(&other));
    let names = directory.path().join("names.txt");
    std::fs::write(&names, "anna\nben\ncarl\ndora\n").unwrap();
    let create = ["graph", "create", "--server", &members.origin, "--title", "Who knows whom?"];
    let wanted = ["--names", text(&names), "--from", "anna", "--hops", "2", "--show", "vertices"];
    let most = ["--edges", "3", "--invitations", "2", "--keep", "1", "--keep-days", "2", "--json"];
    let created = person.json(&[&create[..], &wanted, &most].concat());
    let link = created["link"].as_str().unwrap();
    for (number, lines) in ["anna,ben\nben,carl\n", "carl,dora\n"].iter().enumerate() {
        let file = directory.path().join(format!("{number}.csv"));
        std::fs::write(&file, lines).unwrap();
        let invitation = created["invitations"][number].as_str().unwrap();
        let told = second.complaint(&["graph", "contribute", invitation, text(&file)], 1);
        assert!(told.contains("up to 1 more questions about it within 2 days"), "{told}");
        second.json(&["graph", "contribute", invitation, text(&file), "--yes", "--json"]);
    }
    let again = ["graph", "again", link, "--from", "ben", "--show", "vertices", "--json"];
    let more = ["--hops", "2", "--processors", "2", "--title", "Whom does Ben know?"];
    let again = [&again[..], &more].concat();
    let far = |result: &Value| {
        ["anna", "ben", "carl", "dora"].map(|name| result["values"][name].as_u64())
    };
    let first = person.json(&["graph", "run", link, "--json"]);
    assert_eq!(far(&first), [Some(0), Some(1), Some(2), None]);
    let foreign = second.complaint(&again, 1);
    assert!(foreign.contains("only who asked the first question"), "{foreign}");
    let asked = person.json(&again);
    let result = person.json(&["graph", "result", asked["link"].as_str().unwrap(), "--json"]);
    assert_eq!(
        (far(&result), &result["title"]),
        ([None, Some(0), Some(1), Some(2)], &json!(more[5]))
    );
    let third = person.complaint(&again, 1);
    assert!(third.contains("as was said to those who contributed"), "{third}");
}
