//! Servers without a clock: one is killed in the middle of the epoch, and the board is complete.

use crate::common::{complaint, file, json};

#[test]
fn board_is_complete_although_a_server_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let said = ["one", "two", "two", "μ", "five", "six", "seven"];
    let lines = file(directory.path(), "lines", &said.join("\n"));
    let lines = lines.to_str().unwrap();
    let mut arguments = vec!["demo", "broadcast", "--engine", "asynchromix", "--messages", lines];
    arguments.extend(["--servers", "4", "--kill", "2", "--seconds", "1", "--json"]);
    let result = json(&arguments).remove(0);
    let messages = result["messages"].as_array().unwrap();
    let mut messages: Vec<&str> = messages.iter().map(|m| m.as_str().unwrap()).collect();
    messages.sort_unstable();
    let mut expected = said.to_vec();
    expected.sort_unstable();
    assert_eq!(messages, expected);
    assert_eq!(result["killed"]["servers"], serde_json::json!([2]));
    assert!(result["returned"].as_f64().unwrap() > 0.0, "it came back from its disk");
    let epochs = result["epochs"].as_array().unwrap();
    let first = &epochs[0];
    let killed = result["killed"]["seconds"].as_f64().unwrap();
    assert!(killed < first["published"].as_f64().unwrap(), "it was killed within the epoch");
}

#[test]
fn servers_that_cannot_be_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let lines = file(directory.path(), "lines", "one\n");
    let lines = lines.to_str().unwrap();
    let demo = |more: &[&str]| {
        let begin = ["demo", "broadcast", "--messages", lines];
        complaint(&[&begin, more].concat(), 1)
    };
    assert!(demo(&["--engine", "asynchromix", "--servers", "3"]).contains("from 4 to 11"));
    let killed = demo(&["--engine", "asynchromix", "--servers", "4", "--kill", "4"]);
    assert!(killed.contains("they are 0 to 3"));
    for two in ["1,2", "1,1"] {
        let killed = demo(&["--engine", "asynchromix", "--servers", "4", "--kill", two]);
        assert!(killed.contains("bear 1 that are dead"), "{killed}");
    }
    assert!(demo(&["--kill", "1"]).contains("--engine asynchromix"));
}
