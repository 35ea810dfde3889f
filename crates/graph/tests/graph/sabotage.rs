//! The sabotage sweep: every message of a corrupt P0, P1, P2, from the preparation to the result,
//! is changed in every way.
//!
//! Whatever the corrupt server does: an honest one that has a result has the right one, nobody
//! honest is blamed alone, evidence holds before a third person, and delay and repetition change
//! nothing.
//! `OSTRAKON_NIGHTLY` takes all ways for every message, forward and backward, and more seeds;
//! otherwise each message is changed in some ways, so that neighbours together see all of them.

use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use ostrakon_graph::job::Job;
use ostrakon_graph::owner::{Maps, Upload, combine, orders};
use ostrakon_graph::program::Reach;
use ostrakon_graph::ruffle2::fault::{Accused, Stop};
use ostrakon_graph::ruffle2::seeds::Phase;
use ostrakon_graph::spec::{Direction, JobSpec};
use ostrakon_party::{Party, PartyId};
use ostrakon_testkit::{Mutation, Network, Saboteur, Target};

use crate::common::*;

fn program() -> Reach {
    Reach { sources: vec![0] }
}

fn spec(number: u64, direction: Direction) -> JobSpec {
    JobSpec { direction, ..spec_of(number, 2, &[1], 1, &program()) }
}

/// The whole job on one server, an owner's part included: its upload is a function of the job's
/// seeds, which an honest run has shown.
async fn server(
    party: Party,
    deployment: &Deployment,
    spec: &JobSpec,
    upload: &Upload,
    journal: &Memory,
) -> Result<Vec<bool>, Stop> {
    let randomness = |what| deployment.world.randomness(party.id, what);
    let job = Job::new(spec.clone(), program()).expect("valid");
    let keys = deployment.keys_of(party.id);
    let stock = job.prepare(&party, &keys, randomness("job"), journal).await?;
    let uploads = [Some(upload.clone())];
    let linked = stock.link(&party, &uploads, randomness("link"), journal).await?;
    assert_eq!(linked.accepted().count(), 1, "an honest owner's list is accepted");
    let mut computed = linked.compute(&party, randomness("compute"), journal).await?;
    computed.reached(journal).await
}

fn run(
    deployment: &Deployment,
    spec: &JobSpec,
    upload: &Upload,
    network: &Network,
) -> Results<Vec<bool>> {
    let journals = Journals::default();
    deployment.world.run(network, |party| {
        let journal = &journals[party.id.index()];
        server(party, deployment, spec, upload, journal).boxed_local()
    })
}

fn upload(deployment: &Deployment, spec: &JobSpec) -> Upload {
    let journals = Journals::default();
    let stock = all(deployment.prepare(&Network::default(), spec, program, &journals));
    let issue = |party: usize| {
        stock[party].issue(0, &key(0).verifying_key(), &journals[party]).unwrap().unwrap()
    };
    let issues = [issue(0), issue(1), issue(2)];
    let seeds = combine([Some(&issues[0]), Some(&issues[1]), Some(&issues[2])], 3).unwrap();
    // Either way vertex 1 is reached.
    let way = match spec.direction {
        Direction::Forward | Direction::BackwardOnce => edge(0, 1),
        Direction::Backward => edge(1, 0),
    };
    let orders = orders(spec, 0, &[way]).unwrap();
    let maps = Maps::of(&orders, &spec.permutations_of(0), &seeds);
    deployment.sign(spec, 0, maps.encode())
}

/// Which ways a message is changed in.
fn ways(number: usize) -> Vec<Mutation> {
    if nightly() {
        return Mutation::ALL.to_vec();
    }
    // Neighbours together see all.
    let all = Mutation::ALL;
    vec![all[number % all.len()]]
}

fn check(
    deployment: &Deployment,
    spec: &JobSpec,
    corrupt: PartyId,
    mutation: Mutation,
    what: &str,
    results: &Results<Vec<bool>>,
) {
    let honest = (0..3).map(PartyId).filter(|id| *id != corrupt);
    let harmless = matches!(mutation, Mutation::Duplicate | Mutation::Delay);
    let name = spec.name();
    let phases = [Phase::Seeds, Phase::Slice(0), Phase::Slice(1), Phase::Link, Phase::Query];
    for id in honest {
        match &results[id.index()] {
            Some(Ok(bits)) => assert_eq!(bits, &[true, true], "{what}: a wrong result"),
            Some(Err(stop)) => {
                assert!(!harmless, "{what}: stopped by a delay or a repetition: {stop}");
                match stop {
                    Stop::Broken(party, _) => assert_eq!(*party, corrupt, "{what}: {stop}"),
                    Stop::Malformed(signed) => {
                        assert_eq!(signed.header.from, corrupt, "{what}: {stop}");
                        assert!(deployment.world.roster.vouches(signed), "{what}");
                    }
                    Stop::Evidence(evidence) => {
                        let roster = &deployment.world.roster;
                        let accused = phases
                            .iter()
                            .find_map(|phase| evidence.accused(roster, &name.instance(*phase)));
                        let accused = accused.expect("evidence that holds");
                        assert!(accused.includes(corrupt), "{what}: {accused:?}");
                        let alone = matches!(accused, Accused::One(_));
                        assert!(!alone || accused == Accused::One(corrupt), "{what}");
                    }
                    Stop::Check(_) | Stop::Disagreement => {}
                    Stop::Spent(_) | Stop::Journal(_) => panic!("{what}: {stop}"),
                }
            }
            None => assert!(!harmless, "{what}: waits after a delay or a repetition"),
        }
    }
}

fn sweep(seed: u64, direction: Direction) {
    let deployment = Deployment::new(seed);
    let spec_ = spec(1, direction);
    let upload_ = upload(&deployment, &spec_);
    let network = Network::default();
    assert!(
        all(run(&deployment, &spec_, &upload_, &network)).iter().all(|bits| bits == &[true; 2])
    );
    // Another job's messages, for replays.
    let other = spec(2, direction);
    let replay = Network::default();
    all(run(&deployment, &other, &upload(&deployment, &other), &replay));
    for corrupt in (0..3).map(PartyId) {
        let of = |network: &Network| -> Vec<Bytes> {
            let own = network.sent().into_iter().filter(|(_, m)| m.signed.header.from == corrupt);
            own.map(|(_, m)| m.body).collect()
        };
        let others = Arc::new(of(&replay));
        let mut results = 0;
        for number in 0..network.posted(corrupt) {
            for mutation in ways(number) {
                let sabotaged = Network::default();
                sabotaged.corrupt(Saboteur::new(
                    corrupt,
                    deployment.world.key(corrupt),
                    seed + number as u64,
                    Target::Nth(number),
                    mutation,
                    others.clone(),
                ));
                let ended = run(&deployment, &spec_, &upload_, &sabotaged);
                let what = format!("seed {seed}, {direction:?}, {corrupt}, {number}, {mutation:?}");
                check(&deployment, &spec_, corrupt, mutation, &what, &ended);
                results += usize::from(matches!(&ended[(corrupt.index() + 1) % 3], Some(Ok(_))));
            }
        }
        assert!(results > 0, "some changes are harmless, and then there is a result");
    }
}

#[test]
fn every_message_of_a_job() {
    if !nightly() {
        return sweep(40, Direction::Forward);
    }
    for seed in 40..43 {
        sweep(seed, Direction::Forward);
        sweep(seed + 100, Direction::Backward);
    }
}

#[test]
fn a_cut_link_makes_everybody_wait() {
    let deployment = Deployment::new(41);
    let spec = spec(3, Direction::Forward);
    let upload = upload(&deployment, &spec);
    for corrupt in (0..3).map(PartyId) {
        for peer in (0..3).map(PartyId).filter(|peer| *peer != corrupt) {
            let network = Network::default();
            network.corrupt(Saboteur::new(
                corrupt,
                deployment.world.key(corrupt),
                1,
                Target::To(peer),
                Mutation::Drop,
                Arc::default(),
            ));
            let ended = run(&deployment, &spec, &upload, &network);
            assert!(ended.iter().all(Option::is_none), "{corrupt} to {peer}");
        }
    }
}
