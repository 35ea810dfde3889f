//! A disk that takes no more, and one that takes nothing.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command as Run;
use std::time::Duration;

use tokio::process::Command;

use super::records;
use crate::common::complaint;
use crate::common::servers::{PAUSE, Servers, text};
use crate::common::speakers::Speakers;

/// Runs a program that is told that no file may grow beyond a number of blocks of 512 bytes, and
/// lives on.
const LIMITED: &str = r#"trap '' XFSZ; ulimit -S -f "$0"; exec "$@""#;

/// In which dozens of writes fail.
const TRIED: Duration = Duration::from_secs(8);
/// The server whose disk is full.
const FULL: usize = 1;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_disk_takes_no_more_says_so_and_goes_on_when_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let mut servers = Servers::new(directory.path());
    servers.start_all();
    servers.ready().await;
    let links = servers.room(1);
    let speakers = Speakers::start(3, &links);
    speakers.more(&servers, 1).await;

    servers.stop(FULL).await;
    let size = fs::metadata(servers.data(FULL).join("ostrakon.db")).expect("a database").len();
    let mut command = Command::new("sh");
    command.args(["-c", LIMITED, &(size / 512 + 8).to_string(), env!("CARGO_BIN_EXE_ostrakon")]);
    servers.start_as(FULL, command);
    let complained = async {
        while !servers.logged(FULL).contains("check that it has room") {
            tokio::time::sleep(PAUSE).await;
        }
    };
    servers.in_time("the server complains about its disk", complained).await;
    // Much is tried meanwhile, again and again; that is told once a minute.
    let since = tokio::time::Instant::now();
    let complaints = || servers.logged(FULL).matches("check that it has room").count() as u64;
    let before = complaints();
    tokio::time::sleep(TRIED).await;
    let more = complaints() - before;
    assert!(more <= 2 + since.elapsed().as_secs() / 60, "{more} lines: {}", servers.logged(FULL));

    let process = servers.process(FULL).to_string();
    let lifted = Run::new("prlimit")
        .args(["--pid", &process, "--fsize=unlimited"])
        .status()
        .expect("prlimit is there");
    assert_eq!(lifted.into_raw(), 0, "the limit is lifted");
    speakers.more(&servers, 1).await;
    let spoken = speakers.end().await;
    let boards = servers.boards(&links[0]).await;
    boards.iter().for_each(|board| spoken.check(board));
    servers.stop_all().await;
    records::check(&servers, &boards).await;
}

#[test]
fn a_data_directory_that_cannot_be_written_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let servers = Servers::new(directory.path());
    // Whatever the user's rights are, nobody can write below a file.
    fs::write(servers.data(0), "").unwrap();
    let complaint = complaint(&["serve", "--config", text(&servers.config(0))], 1);
    assert!(
        complaint.contains(text(&servers.data(0))) && complaint.contains("may write"),
        "{complaint}"
    );
}
