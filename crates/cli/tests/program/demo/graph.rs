//! Graphs of several owners, by three server processes.

use std::collections::BTreeMap;

use crate::common::{complaint, file, json};
use serde_json::Value;

const HERE: &str = "src,dst\nada,bea\nbea,cyd\nbea,cyd\ncyd,cyd\n";
const THERE: &str = "# the other owner\ncyd\tdan\neve\tada\nada\tdan\n";

#[test]
fn values_on_the_union_of_two_lists_are_right_and_bad_files_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let here = file(directory.path(), "here", HERE);
    let there = file(directory.path(), "there", THERE);
    let both = ["--edges", here.to_str().unwrap(), "--edges", there.to_str().unwrap()];
    let values = |more: &[&str]| -> BTreeMap<String, Value> {
        let given = [&["demo", "graph", "--json"], &both[..], more].concat();
        let result = json(&given).remove(0);
        assert_eq!((&result["owners"], &result["edges"]), (&2.into(), &7.into()));
        serde_json::from_value(result["values"].clone()).unwrap()
    };
    let of = |numbers: [Value; 5]| -> BTreeMap<String, Value> {
        ["ada", "bea", "cyd", "dan", "eve"].map(str::to_owned).into_iter().zip(numbers).collect()
    };
    let far = values(&["--from", "ada", "--hops", "3"]);
    assert_eq!(far, of([0.into(), 1.into(), 2.into(), 1.into(), Value::Null]));
    let incoming = values(&["--program", "in-degrees"]);
    assert_eq!(incoming, of([1, 1, 3, 2, 0].map(Value::from)));
    let outgoing = values(&["--program", "out-degrees"]);
    assert_eq!(outgoing, of([2, 2, 2, 0, 1].map(Value::from)));

    let shown = values(&["--program", "in-degrees", "--show", "top:2"]);
    assert_eq!(shown, of([Value::Null, Value::Null, 3.into(), 2.into(), Value::Null]));

    // One file, of which several owners have a part each.
    let all =
        file(directory.path(), "all", &format!("{HERE}{}", &THERE["# the other owner\n".len()..]));
    let all = ["--edges", all.to_str().unwrap(), "--owners", "3"];
    let dealt =
        |more: &[&str]| json(&[&["demo", "graph", "--json"], &all[..], more].concat()).remove(0);
    let same = dealt(&["--program", "bfs", "--from", "ada", "--hops", "3"]);
    assert_eq!((&same["owners"], &same["edges"]), (&3.into(), &7.into()));
    assert_eq!(same["values"], serde_json::to_value(far).unwrap());
    let total = dealt(&["--program", "edges"]);
    assert_eq!((&total["total"], &total["values"]), (&7.into(), &serde_json::json!({})));

    let bad = file(directory.path(), "bad", "ada,bea\nada\n");
    let refused = |more: &[&str]| complaint(&[&["demo", "graph", "--edges"], more].concat(), 1);
    assert!(refused(&[bad.to_str().unwrap(), "--from", "ada"]).contains("line 2"));
    assert!(refused(&[here.to_str().unwrap(), "--from", "zoe"]).contains("no edge has this name"));
    assert!(refused(&[here.to_str().unwrap()]).contains("--from NAME"));
    let ada = ["--from", "ada"];
    let twice = [&both[1..], &["--owners", "2"], &ada].concat();
    assert!(refused(&twice).contains("one file"));
    let many = [&[here.to_str().unwrap(), "--owners", "9"][..], &ada].concat();
    assert!(refused(&many).contains("fewer edges"));
}
