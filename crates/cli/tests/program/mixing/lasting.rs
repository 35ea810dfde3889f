//! What is left of a room of which one server is dead for good: with a server to spare it goes on
//! without end, and takes no more than at first; without one it ends with what is prepared.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::servers::Servers;
use super::{BYTES, PLACES, SHAPE, speak, status, until};
use crate::common::{board, nightly, ostrakon, run, values};

/// Bytes of a board's entry at most, with its framing in the journal: numbers of five bytes at most
/// for slots and lengths, a signature of each server, and all messages.
const fn entry_bytes(servers: u64) -> u64 {
    let numbers = 5 + 5 + 10 + 32;
    numbers + PLACES * (5 + 5 + BYTES) + servers * 66 + 64
}

/// What a server writes to its log that was away for so long.
const BY_STATE: &str = "the room's state is taken over from another server";

/// Most of anything in some rounds.
fn most(rounds: &[Vec<[u64; 2]>], of: usize) -> u64 {
    rounds.iter().flatten().map(|server| server[of]).max().unwrap()
}

#[test]
fn five_servers_of_which_one_is_dead_go_on_and_take_no_more() {
    let rounds = if nightly() { 200 } else { 6 };
    let warm = (rounds / 4).max(1);
    let mut servers = Servers::found(5, &SHAPE);
    (0..5).for_each(|i| servers.start(i));
    let (link, device) = (servers.link.clone(), servers.file("device"));
    until(&link, "stock", |now| now["prepared"].as_u64() >= Some(1) && now["open"] == true);
    servers.kill(4);
    let (mut sizes, mut entries) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        speak(&link, &format!("round {round}"), &device);
        let now = servers.until(0, "stock without it", |now| now["ready"].as_u64() >= Some(1));
        // Each of the five sets has two batches at most.
        assert!(now["ready"].as_u64() <= Some(2 * 5) && now["ended"].is_null(), "{now}");
        entries.push(now["entries"].as_u64().unwrap());
        sizes.push(servers.sizes());
    }
    assert_eq!(status(&link).unwrap()["convicted"], json!([]), "to be dead is no lie");
    let (first, later) = sizes.split_at(warm);
    let [memory, disk] = [0, 1].map(|of| (most(first, of), most(later, of)));
    let grown = (entries[entries.len() - 1] - entries[warm - 1]) * entry_bytes(5);
    println!(
        "{rounds} rounds said, {} on the board; memory {memory:?}, disk {disk:?} bytes at most in \
         the first {warm} and later, entries since {grown}",
        entries[entries.len() - 1]
    );
    assert!(2 * memory.1 <= 3 * memory.0, "memory grows: {memory:?}");
    // The journal is written anew whenever shares or rows are forgotten, so it is twice at most
    // what it was with a full stock, besides the board's entries. A few rounds do not come to a
    // full stock, and until then it is bounded by what a journal may have of the past in any case.
    let past = if nightly() { 0 } else { 16 << 20 };
    assert!(disk.1 <= 2 * (disk.0 + grown) + past, "the disk fills: {disk:?}, {grown}");
    let said: Vec<String> = (0..rounds).map(|round| format!("round {round}")).collect();
    let board = board(&link);
    // The newest 256 entries are kept.
    let newest =
        said.iter().rev().take(if entries[entries.len() - 1] <= 256 { rounds } else { 20 });
    for line in newest {
        assert_eq!(board.iter().filter(|on| *on == line).count(), 1, "{line}");
    }
    returns(&mut servers, 4);
}

/// A server that was dead comes back and has everything; what the others have dropped meanwhile, by
/// their state.
fn returns(servers: &mut Servers, i: usize) {
    let entries = servers.operated(0)["entries"].as_u64();
    assert!(!servers.log(i).contains(BY_STATE));
    servers.start(i);
    servers.until(i, "return", |now| {
        let caught_up = now["entries"].as_u64() >= entries && now["servers"][i]["behind"] == 0;
        now["stands"] == "runs" && caught_up
    });
    assert!(servers.log(i).contains(BY_STATE), "{}", servers.log(i));
    servers.until(0, "return", |now| now["servers"][i]["state"] == "fine");
}

#[test]
fn four_servers_of_which_one_is_dead_give_the_rounds_that_they_promised() {
    let mut servers = Servers::found(4, &SHAPE);
    (0..4).for_each(|i| servers.start(i));
    let (link, device) = (servers.link.clone(), servers.file("device"));
    // Both batches that a set may have, besides the one of the round that is open.
    until(&link, "stock", |now| now["prepared"] == 2 && now["open"] == true);
    servers.kill(3);
    let before = servers.until(0, "silence", |now| now["ended"] == "away");
    let words = String::from_utf8(run(&["mixer", "status", &link]).stdout).unwrap();
    assert!(words.contains("2 further rounds are prepared; more need a server"), "{words}");
    assert!(before["ready"] == 2 && !before["collecting"].is_null(), "{before}");
    let promised = before["entries"].as_u64().unwrap() + 3;
    let over = |now: &Value| now["entries"] == promised && now["collecting"].is_null();
    let state = ["--state-dir", device.to_str().unwrap()];
    let mut said = Vec::new();
    let waiting = loop {
        let text = format!("message {}", said.len());
        let mut say = ostrakon(&[&["say", &link, &text, "--json"][..], &state].concat());
        let mut say = say.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let published = loop {
            if say.try_wait().unwrap().is_some() {
                break true;
            }
            if over(&servers.operated(0)) {
                // What came with the last round is told a moment later.
                std::thread::sleep(Duration::from_secs(3));
                break say.try_wait().unwrap().is_some();
            }
            std::thread::sleep(Duration::from_millis(200));
        };
        said.push(text);
        if !published {
            break say;
        }
        assert_eq!(values(&say.wait_with_output().unwrap()).len(), 1);
        assert!(said.len() <= 3, "more was said than there were rounds");
    };
    let now = status(&link).unwrap();
    assert!(now["entries"] == promised && now["open"] == false, "{now}");
    assert!(now["prepared"] == 0 && now["ended"] == "away", "{now}");
    let words = String::from_utf8(run(&["mixer", "status", &link]).stdout).unwrap();
    let plain = [
        "no further round is prepared",
        "until it is back the room waits",
        "nothing is lost",
        "server-4 does not answer",
        "starts it with its data",
        "found the next room with 5 servers",
    ];
    assert!(plain.iter().all(|one| words.contains(one)), "{words}");
    // It comes back, and what waits is said.
    servers.start(3);
    assert_eq!(values(&waiting.wait_with_output().unwrap()).len(), 1);
    assert_eq!(board(&link), said);
    until(&link, "stock", |now| now["prepared"].as_u64() >= Some(1));
}
