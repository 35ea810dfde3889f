//! A committee that is proposed from a file of operators.

use crate::common::{complaint, json};

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
