//! A committee that is proposed from a file of operators.

use crate::common::{complaint, json, run};

/// The network's own, cropped to five relays.
const CONSENSUS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../computation/tests/election/consensus");

#[test]
fn operators_of_a_consensus_are_proposed_and_too_few_are_refused() {
    let beacon = "ab".repeat(32);
    let proposed = |more: &[&str]| {
        let create = ["stats", "create", "--committee", CONSENSUS, "--json"];
        json(&[&create[..], more].concat()).remove(0)
    };
    let table = proposed(&["--members", "3", "--corrupt", "0.00005"]);
    assert_eq!((&table["operators"], &table["members"]), (&5.into(), &serde_json::json!([])));
    let drawn = ["--members", "3", "--corrupt", "0.00005", "--beacon", &beacon];
    let first = proposed(&drawn);
    assert_eq!(first, proposed(&drawn), "everybody draws the same");
    assert_eq!(first["table"], table["table"]);
    let members = first["members"].as_array().unwrap();
    assert_eq!(members.len(), 3);
    assert!(first["bound_log2"].as_f64().unwrap() <= -40.0);

    let refused = |more: &[&str]| {
        let create = ["stats", "create", "--committee", CONSENSUS, "--beacon", &beacon];
        complaint(&[&create[..], more].concat(), 1)
    };
    let weak = refused(&["--members", "5"]);
    assert!(weak.contains("no member is honest") && weak.contains("take 21 members"), "{weak}");
    let few = refused(&[]);
    assert!(few.contains("26 members") && few.contains("there are 5"), "{few}");
}

/// Somebody with a directory, in which what the program prints is kept.
struct Papers(tempfile::TempDir);

impl Papers {
    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn keep(&self, name: &str, arguments: &[&str]) -> String {
        let printed = run(&[&["committee", "election"], arguments].concat());
        let errors = String::from_utf8_lossy(&printed.stderr);
        assert!(printed.status.success(), "{arguments:?}: {errors}");
        std::fs::write(self.path(name), printed.stdout).unwrap();
        self.path(name)
    }

    fn refused(&self, arguments: &[&str]) -> String {
        complaint(&[&["committee", "election"], arguments].concat(), 1)
    }
}

#[test]
fn electors_sign_a_table_and_make_the_beacon_that_draws_of_it() {
    let papers = Papers(tempfile::tempdir().unwrap());
    let (table, other) = (papers.path("table"), papers.path("other"));
    std::fs::write(&table, "anna 5\nben 3 north\ncarl 1 north\ndora 9\nemil 4\n").unwrap();
    std::fs::write(&other, "anna 5\nben 3 north\ncarl 1 north\ndora 9\nemil 5\n").unwrap();
    let keys = ["one", "two", "three"].map(|name| papers.path(name));
    let public = keys.each_ref().map(|key| json(&["stats", "key", key, "--json"]).remove(0));
    let list: String =
        public.iter().map(|key| format!("{} elector\n", key["key"].as_str().unwrap())).collect();
    let roster = papers.path("electors");
    std::fs::write(&roster, list).unwrap();
    let of = ["--title", "Wages", "--table", &table, "--electors", &roster];
    let size = ["--members", "3", "--corrupt", "0.00005"];
    let weak = papers.refused(&[&["plan"], &of[..], &["--members", "4"]].concat());
    assert!(weak.contains("no member is honest"), "{weak}");
    let many = ["--members", "5", "--corrupt", "0.00005"];
    let few = papers.refused(&[&["plan"], &of[..], &many].concat());
    assert!(few.contains("has 4 families"), "{few}");

    let plan = papers.keep("plan", &[&["plan"], &of[..], &size].concat());
    let vouch = |name: &str, key, table| {
        papers.keep(name, &["vouch", &plan, "--table", table, "--key", key])
    };
    let wrong = papers.refused(&["vouch", &plan, "--table", &other, "--key", &keys[0]]);
    assert!(wrong.contains("the electors have agreed on the table"), "{wrong}");
    let vouches = [0, 1, 2].map(|i| vouch(&format!("vouch-{i}"), &keys[i], &table));
    // Another plan in its place is not signed, the next election is.
    let changed = [&["plan"], &of[..], &size, &["--withheld", "1"]].concat();
    let changed = papers.keep("changed", &changed);
    let twice = papers.refused(&["vouch", &changed, "--table", &table, "--key", &keys[0]]);
    assert!(twice.contains("has signed another one"), "{twice}");
    let next = papers.keep("next", &[&["plan"], &of[..], &size, &["--number", "1"]].concat());
    papers.keep("next-vouch", &["vouch", &next, "--table", &table, "--key", &keys[0]]);

    let missing = papers.refused(&["agree", &plan, &vouches[0], &vouches[1]]);
    assert!(missing.contains("has not signed this plan"), "{missing}");
    let agree = ["agree", &plan, &vouches[2], &vouches[0], &vouches[1]];
    let agreement = papers.keep("agreement", &agree);
    let reveals = [0, 1, 2]
        .map(|i| papers.keep(&format!("reveal-{i}"), &["reveal", &agreement, "--key", &keys[i]]));
    let withheld = papers.refused(&["finish", &agreement, &reveals[1], &reveals[2]]);
    assert!(withheld.contains("has not signed this agreement"), "{withheld}");
    let finish = ["finish", &agreement, &reveals[1], &reveals[2], &reveals[0]];
    let record = papers.keep("record", &finish);

    let draw = |table| ["stats", "create", "--committee", table, "--election", &record, "--json"];
    let drawn = json(&draw(&table)).remove(0);
    assert_eq!(drawn["members"].as_array().unwrap().len(), 3, "{drawn}");
    assert_eq!(drawn["electors"].as_array().unwrap().len(), 3, "{drawn}");
    assert!(drawn["bound_log2"].as_f64().unwrap() <= -40.0, "{drawn}");
    let wrong = complaint(&draw(&other), 1);
    assert!(wrong.contains("the electors have agreed on the table"), "{wrong}");
    let bent = std::fs::read_to_string(&record).unwrap().replacen("Wages", "Rents", 1);
    std::fs::write(&record, bent).unwrap();
    let bent = complaint(&draw(&table), 1);
    assert!(bent.contains("has not signed this plan"), "{bent}");
}
