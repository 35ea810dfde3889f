//! Servers without a clock: as many as may fail are killed in the middle of the epoch, and the
//! board is complete.

use crate::common::{complaint, file, json, nightly};

#[test]
fn board_is_complete_although_servers_are_killed() {
    let day: [(usize, &[usize]); 1] = [(4, &[2])];
    let night: [(usize, &[usize]); 3] = [(5, &[1]), (7, &[1, 4]), (10, &[0, 3, 6])];
    for (servers, kill) in day.into_iter().chain(night.into_iter().filter(|_| nightly())) {
        is_complete(servers, kill);
    }
}

/// Lines come out of so many servers, some of which are killed in the middle and come back.
fn is_complete(servers: usize, kill: &[usize]) {
    let directory = tempfile::tempdir().unwrap();
    let said = ["one", "two", "two", "μ", "five", "six", "seven"];
    let lines = file(directory.path(), "lines", &said.join("\n"));
    let lines = lines.to_str().unwrap();
    let (servers, killed) = (servers.to_string(), kill.iter().map(usize::to_string));
    let killed = killed.collect::<Vec<_>>().join(",");
    let mut arguments = vec!["demo", "broadcast", "--engine", "asynchromix", "--messages", lines];
    arguments.extend(["--servers", &servers, "--kill", &killed, "--seconds", "1", "--json"]);
    let result = json(&arguments).remove(0);
    let messages = result["messages"].as_array().unwrap();
    let mut messages: Vec<&str> = messages.iter().map(|m| m.as_str().unwrap()).collect();
    messages.sort_unstable();
    let mut expected = said.to_vec();
    expected.sort_unstable();
    assert_eq!(messages, expected);
    assert_eq!(result["killed"]["servers"], serde_json::json!(kill));
    assert!(result["returned"].as_f64().unwrap() > 0.0, "they came back from their disks");
    let epochs = result["epochs"].as_array().unwrap();
    let first = &epochs[0];
    let killed = result["killed"]["seconds"].as_f64().unwrap();
    assert!(killed < first["published"].as_f64().unwrap(), "killed within the epoch");
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
