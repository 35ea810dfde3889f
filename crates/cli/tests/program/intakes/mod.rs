//! Servers of several processes each: an engine, and intake processes behind a proxy, which share a
//! PostgreSQL database.
//!
//! In the end every message that was said is on the board once, on the same board everywhere,
//! whichever process was killed.

mod decisions;
mod fleet;
mod members;

use crate::common::nightly;
use crate::common::speakers::Speakers;
use fleet::Fleet;

/// Participants, one for each server.
const SPEAKERS: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn intake_processes_and_engines_are_killed_and_nothing_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let mut fleet = Fleet::start(directory.path()).await;
    let links = fleet.room(2).await;
    let speakers = Speakers::start(SPEAKERS, &links);
    speakers.more(&fleet.servers, 1).await;

    let servers = if nightly() { 0..3 } else { 0..1 };
    for n in servers.clone() {
        // Every second connection leads to the process that dies; everybody has handed in, or is
        // about to.
        fleet.until_handed_in(n, &links[0]).await;
        fleet.kill_intake(n, 0).await;
        speakers.more(&fleet.servers, 1).await;
        fleet.start_intake(n, 0);
    }
    for n in servers {
        fleet.until_handed_in(n, &links[0]).await;
        fleet.servers.kill(n).await;
        fleet.start_engine(n);
        speakers.more(&fleet.servers, 1).await;
    }

    let spoken = speakers.end().await;
    let boards = fleet.servers.boards(&links[0]).await;
    for board in &boards {
        spoken.check(board);
        assert_eq!(board.head, boards[0].head);
    }
    println!("{} messages in {} entries", spoken.len(), boards[0].entries.len());
    members::take_part_at_the_intakes_and_nobody_else_does(&fleet).await;
    decisions::are_the_engines(&fleet).await;
    fleet.stop().await;
}
