//! The raised hands of the tests among two to seven servers that die and come back.

mod unwritten;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use ostrakon_job::Subject;
use ostrakon_party::PartyId;
use ostrakon_protocol::{Accepted, ServiceError};
use serde_json::json;

use crate::closing::inside;
use crate::deployment::Deployment;
use crate::engine::PlainProvider;
use crate::executor::Executor;
use crate::ledger::{Ledger, Watched};
use crate::random::Random;

const SUBJECT: Subject = [7; 16];
/// Things that happen in a run.
const STEPS: u64 = 12;
/// Runs, of each number of servers one.
const SEEDS: u64 = 6;

/// What a server shows.
fn view(deployment: &Deployment, party: PartyId) -> Option<serde_json::Value> {
    let shown = deployment.call(party, |server| {
        async move { server.job_view("hands", SUBJECT, 0, Duration::ZERO).await }.boxed()
    });
    Some(shown?.ok()?.view)
}

/// Asks a server to raise a hand; its answer, if there is one.
fn raise(
    deployment: &Deployment,
    party: PartyId,
    name: &str,
) -> Option<Result<Accepted, ServiceError>> {
    let name = name.as_bytes().to_vec();
    deployment
        .call(party, |server| async move { server.job_say("hands", SUBJECT, &name).await }.boxed())
}

/// So many servers that are connected with each other.
pub fn begin(parties: u8, seed: u64) -> Arc<Deployment> {
    let executor = Executor::new(seed);
    let ledger = Arc::new(Ledger::default());
    let inner = Arc::new(PlainProvider(Arc::default()));
    let provider = Arc::new(Watched { inner, ledger: Arc::clone(&ledger) });
    let deployment = Deployment::new(parties, executor.clone(), provider, ledger);
    deployment.parties().for_each(|party| deployment.start(party));
    let up = || deployment.parties().all(|party| deployment.pinned(party).is_some());
    assert!(executor.run_until(Duration::from_secs(60), Duration::from_millis(200), up));
    deployment
}

/// What all servers show once it is the same, and every server's own hand is up and was seen by
/// all; `None` if that does not come.
fn settled(deployment: &Arc<Deployment>) -> Option<serde_json::Value> {
    let mut shown = None;
    let parties = deployment.parties().count();
    let all_alike = || {
        let down = deployment.parties().filter(|party| deployment.is_down(*party));
        down.collect::<Vec<_>>().into_iter().for_each(|party| deployment.start(party));
        let views: Vec<_> = deployment.parties().map(|party| view(deployment, party)).collect();
        shown = views[0].clone().filter(|view| view["seen"] == json!(parties));
        shown.is_some() && views.iter().all(|view| *view == shown)
    };
    let beat = Duration::from_millis(200);
    let settled = deployment.executor.run_until(Duration::from_secs(300), beat, all_alike);
    shown.filter(|_| settled)
}

/// The names of the hands in a view.
fn hands(view: &serde_json::Value) -> BTreeSet<String> {
    serde_json::from_value(view["hands"].clone()).expect("names")
}

/// Hands are raised while servers die. Those that somebody was told of are shown by all servers in
/// the end, with every server's own, and all have seen them.
fn run(parties: u8, seed: u64) {
    let mut random = Random::new(seed ^ 0x6a6f_6273);
    let deployment = begin(parties, seed);
    let executor = deployment.executor.clone();

    let (mut said, mut asked): (BTreeSet<String>, BTreeSet<String>) = Default::default();
    for step in 0..STEPS {
        let party = PartyId(random.below(parties.into()) as u8);
        let name = format!("hand {step}");
        asked.insert(name.clone());
        let taken = raise(&deployment, party, &name);
        if taken.is_some_and(|taken| taken.is_ok()) {
            said.insert(name);
        }
        let victim = PartyId(random.below(parties.into()) as u8);
        match random.below(4) {
            0 => deployment.kill(victim),
            1 => deployment.kill_after(victim, random.within(1, 20)),
            2 => deployment.start(victim),
            _ => {}
        }
        executor.run_for(Duration::from_millis(random.within(0, 500)));
        let down = deployment.parties().filter(|party| deployment.is_down(*party));
        down.collect::<Vec<_>>().into_iter().for_each(|party| deployment.start(party));
    }

    deployment.parties().for_each(|party| deployment.kill_after(party, 0));
    let own: BTreeSet<_> =
        deployment.parties().map(|party| format!("server {}", party.0)).collect();
    let shown = settled(&deployment);
    let shown = shown.unwrap_or_else(|| panic!("seed {seed}: {parties} servers do not agree"));
    let hands = hands(&shown);
    assert!(said.is_subset(&hands) && own.is_subset(&hands), "seed {seed}: a hand is lost");
    assert!(hands.iter().all(|hand| own.contains(hand) || asked.contains(hand)));
    deployment.end();
}

#[test]
fn a_job_is_the_same_at_two_to_seven_servers_whatever_happens_to_them() {
    if let Some(seed) = crate::number("OSTRAKON_SEED") {
        return inside(|| run(parties_of(seed), seed));
    }
    let seeds = crate::number("OSTRAKON_SEEDS").unwrap_or(SEEDS);
    crate::run_many(seeds, |seed| inside(|| run(parties_of(seed), seed)));
}

/// How many servers a seed's run has: two to seven.
fn parties_of(seed: u64) -> u8 {
    2 + (seed % 6) as u8
}
