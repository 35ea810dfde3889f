//! Every server is killed at every step of a decision, and started again.

use std::time::Duration;

use ostrakon_decide::Meaning;
use ostrakon_protocol::decisions::DecisionStage;

use super::moment::DecisionMoment;
use crate::common::deciders::Deciders;
use crate::common::nightly;
use crate::common::now;
use crate::common::servers::{PAUSE, Servers};

/// Seconds until the deadline of a decision that everybody answers.
const LATER: u64 = 3600;
/// Seconds until the deadline of one that somebody stays away from, at least; and how many times as
/// long as what the others took, so that everybody else has answered, on a slow machine too.
const SOON: u64 = 45;
const TIMES: u64 = 3;

/// Kills a server whenever one of the moments comes in a decision that so many answer, in their
/// order, and starts it again.
async fn kill(
    servers: &mut Servers,
    victim: usize,
    (numbers, answers): ([i64; DecisionMoment::ALL.len()], usize),
) {
    let data = servers.data(victim);
    for moment in DecisionMoment::ALL {
        moment.comes(&data, &numbers, answers).await;
        servers.kill(victim).await;
        println!("server {victim} killed at {moment:?}");
        tokio::time::sleep(PAUSE).await;
        servers.start(victim);
    }
}

/// Four people decide; the last one stays away if there is a deadline.
async fn decide(deciders: &mut Deciders, everybody: bool) {
    for person in 0..4 {
        deciders.accept(person).await;
    }
    for person in 0..if everybody { 4 } else { 3 } {
        deciders.answer(person, 0).await;
    }
    for server in 0..3 {
        while deciders.info(server).await.stage != DecisionStage::Done {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_killed_at_every_step_of_a_decision_lose_nothing_and_open_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut servers = Servers::new(directory.path());
    servers.start_all();
    servers.ready().await;
    let origins: Vec<String> = (0..3).map(|n| servers.origin(n)).collect();
    let mut decisions = Vec::new();
    let mut longest = 0;
    // The last one's decision waits for its deadline, which takes a minute.
    let victims: &[usize] = if nightly() { &[0, 2, 1] } else { &[0] };
    for &victim in victims {
        let numbers = DecisionMoment::numbers(&servers.data(victim)).await;
        let everybody = victim != 1;
        let (began, soon) = (now(), SOON.max(TIMES * longest));
        let deadline = began + if everybody { LATER } else { soon };
        let mut deciders = Deciders::create(&origins, deadline, victim as u8 + 1).await;
        let story = decide(&mut deciders, everybody);
        let seen = (numbers, if everybody { 4 } else { 3 });
        let both = futures::future::join(story, kill(&mut servers, victim, seen));
        // Both end: every moment comes, and the decision is done.
        let limit = 2 * crate::common::servers::LONG + Duration::from_secs(soon);
        tokio::time::timeout(limit, both).await.expect("a decision is done in time");
        longest = longest.max(now() - began);
        let meanings = [Meaning::Counts(if everybody { vec![4, 0] } else { vec![3, 1] })];
        let (records, page) = (deciders.records(0).await, deciders.page(0, 0).await);
        assert_eq!(
            records.len(),
            if everybody { 1 + 4 + 4 + 1 } else { 1 + 4 + 3 + 1 },
            "each record once"
        );
        assert_eq!(
            page.openings.iter().map(|opening| opening.party).collect::<Vec<_>>(),
            [0, 1, 2]
        );
        for server in 0..3 {
            assert_eq!(
                deciders.records(server).await,
                records,
                "server {server} has the same history"
            );
            assert_eq!(
                deciders.page(server, 0).await.openings,
                page.openings,
                "and the same openings"
            );
            assert_eq!(deciders.result(server).await, meanings);
        }
        decisions.push(deciders.id);
    }
    servers.stop_all().await;
    for n in 0..3 {
        super::records::check_decisions(&servers, n, &decisions).await;
    }
}
