//! Every server is killed at every step of an epoch, and started again.

use std::time::Duration;

use super::moment::Moment;
use super::{Choices, records};
use crate::common::nightly;
use crate::common::servers::Servers;
use crate::common::speakers::Speakers;

/// Participants, one for each server.
const SPEAKERS: usize = 3;
/// Milliseconds at most that a server is down.
const LONGEST_ABSENCE: u64 = 400;
/// Milliseconds at most between a moment and the kill, in every second case; otherwise it comes at
/// once.
const LATER: u64 = 60;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_killed_at_every_step_of_an_epoch_lose_and_repeat_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut servers = Servers::new(directory.path());
    servers.start_all();
    servers.ready().await;
    let links = servers.room(1);
    let speakers = Speakers::start(SPEAKERS, &links);
    speakers.more(&servers, 1).await;

    let mut choices = Choices::new();
    let rounds = if nightly() { 10 } else { 1 };
    for _ in 0..rounds {
        for (moment, victim) in kills(&mut choices) {
            kill(&mut servers, &mut choices, moment, victim).await;
        }
    }
    // Whoever waits for a message now has said it while servers were being killed.
    speakers.more(&servers, 1).await;
    let spoken = speakers.end().await;
    let boards = servers.boards(&links[0]).await;
    for board in &boards {
        spoken.check(board);
    }
    println!("{} messages in {} entries", spoken.len(), boards[0].entries.len());
    servers.stop_all().await;
    records::check(&servers, &boards).await;
}

/// Whom to kill when, in any order: at night every server at every moment, otherwise one of them at
/// each.
fn kills(choices: &mut Choices) -> Vec<(Moment, usize)> {
    let mut kills = Vec::new();
    for moment in Moment::ALL {
        let drawn = choices.below(3) as usize;
        kills.extend((0..3).filter(|n| nightly() || *n == drawn).map(|n| (moment, n)));
    }
    choices.shuffle(&mut kills);
    kills
}

/// Kills a server at a moment of its own, and starts it again a little later.
async fn kill(servers: &mut Servers, choices: &mut Choices, moment: Moment, victim: usize) {
    let data = servers.data(victim);
    servers.in_time(&format!("{moment:?} comes at server {victim}"), moment.comes(&data)).await;
    let after = choices.below(2) * choices.below(LATER);
    tokio::time::sleep(Duration::from_millis(after)).await;
    servers.kill(victim).await;
    let absence = choices.below(LONGEST_ABSENCE);
    println!("server {victim} killed {after} ms after {moment:?}, away for {absence} ms");
    tokio::time::sleep(Duration::from_millis(absence)).await;
    servers.start(victim);
}
