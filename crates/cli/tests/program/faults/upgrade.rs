//! Servers get another program one after the other, while participants speak.
//!
//! `OSTRAKON_OLD` names the program that they begin with, of an earlier release. Without it that is
//! the program under test, and what is tried is that each is stopped in order and started again, as
//! `docs/operating.md` says.

use tokio::process::Command;

use crate::common::nightly;
use crate::common::servers::{LONG, PAUSE, Servers};
use crate::common::speakers::Speakers;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_room_goes_on_while_one_server_after_the_other_is_upgraded() {
    let directory = tempfile::tempdir().unwrap();
    let old =
        std::env::var_os("OSTRAKON_OLD").unwrap_or_else(|| env!("CARGO_BIN_EXE_ostrakon").into());
    let mut servers = Servers::new(directory.path());
    (0..3).for_each(|n| servers.start_as(n, Command::new(&old)));
    servers.ready().await;
    let links = servers.room(1);
    let speakers = Speakers::start(3, &links);
    speakers.more(&servers, 1).await;
    // The scheduler after another, so that it has heard old and new servers both before and after.
    let turns: &[usize] = if nightly() { &[1, 0, 2] } else { &[1, 0] };
    for &n in turns {
        servers.stop(n).await;
        servers.start(n);
        servers.ready().await;
        speakers.more(&servers, 1).await;
        let of_mixed_servers = servers.room(1);
        for (server, link) in of_mixed_servers.iter().enumerate() {
            let known = async {
                while servers.status(server, link).await.is_none() {
                    tokio::time::sleep(PAUSE).await;
                }
            };
            assert!(
                tokio::time::timeout(LONG, known).await.is_ok(),
                "server {server} knows the new room"
            );
        }
    }
    let spoken = speakers.end().await;
    let boards = servers.boards(&links[0]).await;
    for board in &boards {
        spoken.check(board);
    }
    for n in 0..3 {
        let log = servers.logged(n);
        assert!(!log.contains("breaks the rules"), "{log}");
    }
    println!("{} messages in {} entries", spoken.len(), boards[0].entries.len());
    servers.stop_all().await;
}
