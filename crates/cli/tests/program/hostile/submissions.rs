//! Submissions that no honest participant hands in.

use ostrakon_mixing::link::Link;
use serde_json::json;

use crate::common::now;
use crate::common::rogue::{Rogue, answer};
use crate::common::servers::Servers;
use crate::common::speakers::Speakers;

/// The status with which server `n` answers a request.
macro_rules! refused {
    ($request:expr, $status:literal, $what:expr) => {
        let (status, text) = answer($request).await;
        assert_eq!(status, $status, "{}: {text}", $what);
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_submissions_are_refused_each_for_its_reason_while_others_speak() {
    let directory = tempfile::tempdir().unwrap();
    let mut servers = Servers::new(directory.path());
    servers.start_all();
    servers.ready().await;
    let (links, others) = (servers.room(4), servers.room(4));
    let speakers = Speakers::start(3, &links);
    speakers.more(&servers, 1).await;
    let rogue = Rogue::new(&links, 66).await;
    presence_is_checked(&rogue).await;
    requests_are_checked(&rogue, &others[0]).await;
    let said = submissions_are_checked(&rogue).await;
    speakers.more(&servers, 1).await;
    let spoken = speakers.end().await;
    let boards = servers.boards(&links[0]).await;
    assert!(
        boards.iter().all(|board| board.head == boards[0].head),
        "all servers have the same board"
    );
    let of_rogue = spoken.check_with(&boards[0], &said);
    assert!(of_rogue <= 1, "what was handed in three times is published once");
    assert_eq!(boards[0].entries[0].entry.epoch.room, links[0].room);
    servers.stop_all().await;
}

async fn presence_is_checked(rogue: &Rogue) {
    let post = |value: &serde_json::Value| rogue.http.post(rogue.path(0, "presence")).json(value);
    let valid = serde_json::to_value(rogue.presence(0, now())).unwrap();
    let mut unsigned = valid.clone();
    unsigned["signature"] = json!("00".repeat(64));
    refused!(post(&unsigned), 403, "unsigned");
    let mut other_key = valid.clone();
    other_key["key"] = json!("11".repeat(32));
    refused!(post(&other_key), 403, "of another key");
    refused!(
        post(&serde_json::to_value(rogue.presence(1, now())).unwrap()),
        403,
        "for another server"
    );
    refused!(
        post(&serde_json::to_value(rogue.presence(0, now() - 1000)).unwrap()),
        403,
        "of long ago"
    );
    refused!(post(&json!({"key": 7})), 422, "of another form");
    let path = rogue.path(0, "presence");
    refused!(
        rogue.http.post(&path).header("content-type", "application/json").body("{"),
        400,
        "no JSON"
    );
    refused!(rogue.http.post(&path).body("{}"), 415, "no type");
    let endless = vec![b' '; 100_000];
    refused!(
        rogue.http.post(&path).header("content-type", "application/json").body(endless),
        413,
        "too long"
    );
    refused!(rogue.http.delete(&path), 405, "another method");
}

/// Requests about rooms and epochs that they are not for.
async fn requests_are_checked(rogue: &Rogue, other: &Link) {
    let (status, text) = loop {
        let answered = answer(rogue.issue_request(0, rogue.epoch().await)).await;
        // The epoch may be over by now.
        if answered.0 != 409 {
            break answered;
        }
    };
    assert_eq!(status, 404, "without a slot: {text}");
    refused!(rogue.issue_request(0, 1_000_000), 404, "of an epoch to come");
    let elsewhere =
        rogue.path(0, "presence").replace(&rogue.links[0].room.to_hex(), &other.room.to_hex());
    refused!(rogue.http.post(&elsewhere).json(&rogue.presence(0, now())), 403, "for another room");
    let nowhere = rogue.path(0, "presence").replace(&rogue.links[0].room.to_hex(), &"0".repeat(32));
    refused!(rogue.http.post(&nowhere).json(&rogue.presence(0, now())), 404, "for no room");
    let strange = rogue.path(0, "presence").replace(&rogue.links[0].room.to_hex(), "%00%ff..%2f");
    refused!(
        rogue.http.post(&strange).json(&rogue.presence(0, now())),
        404,
        "for what is no room's id"
    );
}

/// Hands in a message in every wrong way, and once in the right one. Returns what it said.
async fn submissions_are_checked(rogue: &Rogue) -> Vec<String> {
    let mut said = Vec::new();
    loop {
        rogue.present(0).await;
        let epoch = rogue.epoch().await;
        let Some(issues) = rogue.issues(epoch).await else { continue };
        let text = format!("a rogue's, in epoch {epoch}");
        let right = rogue.submission(&issues, &text);
        let closed =
            try_all(rogue, epoch, &right, &rogue.submission(&issues, "something else")).await;
        said.push(text);
        if !closed {
            late_and_replayed(rogue, epoch, &right).await;
            return said;
        }
    }
}

/// Whether the epoch closed meanwhile, which makes every answer 409.
async fn try_all(
    rogue: &Rogue,
    epoch: u64,
    right: &ostrakon_protocol::SubmissionRequest,
    other: &ostrakon_protocol::SubmissionRequest,
) -> bool {
    let value = serde_json::to_value(right).unwrap();
    let with = |name: &str, field: serde_json::Value| {
        let mut changed = value.clone();
        changed[name] = field;
        changed
    };
    let mut flipped = right.clone();
    *flipped.body.last_mut().unwrap() ^= 1;
    let mut short = right.clone();
    short.body.pop();
    let mut long = right.clone();
    long.body.resize(5000, 0);
    let wrong = [
        (rogue.submit(0, epoch, &flipped), 422, "a wrong signature"),
        (rogue.submit(0, epoch, &short), 422, "cut off"),
        (rogue.submit(0, epoch, &long), 413, "longer than the room's rows"),
        (
            rogue.submit_value(0, epoch, &with("slot", json!(right.slot + 3))),
            422,
            "for another's slot",
        ),
        (
            rogue.submit_value(0, epoch, &with("key", json!("22".repeat(32)))),
            422,
            "of another's key",
        ),
        (rogue.submit_value(0, epoch, &with("body", json!("AA"))), 422, "of nothing"),
        (rogue.submit_value(0, epoch, &with("body", json!("!"))), 422, "of no bytes"),
        (rogue.submit(0, epoch + 9, right), 404, "for an epoch to come"),
        (rogue.submit(0, epoch, right), 202, "the right one"),
        (rogue.submit(0, epoch, right), 202, "the same again"),
        (rogue.submit(0, epoch, other), 409, "another one for the same slot"),
        // To another server first another one: servers that hold different ones for a slot leave it
        // out.
        (rogue.submit(1, epoch, other), 202, "another one at another server"),
        (rogue.submit(1, epoch, right), 409, "and then the first"),
        (rogue.submit(2, epoch, right), 202, "at the third server"),
    ];
    for (request, expected, what) in wrong {
        let (status, text) = answer(request).await;
        if status == 409 && text.contains("is closed") {
            return true;
        }
        assert_eq!(status, expected, "{what}: {text}");
    }
    false
}

/// The epoch goes by; then nothing of it is accepted any more, nor in the next.
async fn late_and_replayed(
    rogue: &Rogue,
    epoch: u64,
    right: &ostrakon_protocol::SubmissionRequest,
) {
    for server in 0..3 {
        while rogue.epoch_at(server).await == epoch {
            tokio::time::sleep(crate::common::servers::PAUSE).await;
        }
        let (status, text) = answer(rogue.submit(server, epoch, right)).await;
        assert_eq!(status, 409, "late at {server}: {text}");
        let (status, text) = answer(rogue.issue_request(server, epoch)).await;
        assert_eq!(status, 409, "late at {server}: {text}");
    }
    let next = rogue.epoch().await;
    let (status, text) = answer(rogue.submit(0, next, right)).await;
    // The next one's batch may still be on its way from the disk.
    assert!(
        matches!(status.as_u16(), 404 | 409 | 422 | 503),
        "replayed in the next epoch: {status} {text}"
    );
}
