//! The sabotage sweep: every message of a corrupt P0, P1, P2, from the preparation to the result,
//! is changed in every way.
//!
//! Whatever the corrupt server does: an honest one that has a result has the right one, nobody
//! honest is blamed alone, evidence holds before a third person, and delay and repetition change
//! nothing.
//! `OSTRAKON_NIGHTLY` takes all ways for every message, forward and backward, and more seeds;
//! otherwise every second message is changed in one way, so that neighbours together see all of
//! them, and those that no attempt has ([`crate::cells`]) in all.

use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use ostrakon_graph::components::Components;
use ostrakon_graph::graphsc::Minima;
use ostrakon_graph::job::Job;
use ostrakon_graph::output::Computed;
use ostrakon_graph::owner::{Edge, Upload};
use ostrakon_graph::program::number;
use ostrakon_graph::program::{Degree, Reach, VertexProgram};
use ostrakon_graph::query::Linked;
use ostrakon_graph::ruffle2::fault::Stop;
use ostrakon_graph::ruffle2::seeds::Phase;
use ostrakon_graph::ruffle2::steps::Kind;
use ostrakon_graph::spec::{Direction, JobSpec};
use ostrakon_party::{Message, Party, PartyId};
use ostrakon_testkit::{Mutation, Network, Saboteur, Target};

use crate::common::*;

/// What is computed: the smallest graph on which every step of it is made.
#[derive(Clone, Copy, Debug)]
enum Case {
    Reach(Direction),
    Lengths,
    Components,
    Top,
    Minima,
}

fn reach() -> Reach {
    Reach { sources: vec![0] }
}

const COMPONENTS: Components = Components { vertices: 2, within: 1 };

fn minima() -> Minima {
    Minima { sources: vec![0], processors: 2 }
}

impl Case {
    fn spec(self, number: u64) -> JobSpec {
        match self {
            Case::Reach(direction) => {
                JobSpec { direction, ..spec_of(number, 2, &[1], 1, &reach()) }
            }
            Case::Lengths => JobSpec { delays: 2, ..spec_of(number, 4, &[1], 2, &reach()) },
            Case::Components => spec_of(number, 2, &[2], 1, &COMPONENTS),
            Case::Top => spec_of(number, 2, &[1], 1, &Degree),
            Case::Minima => spec_of(number, 2, &[1], 1, &minima()),
        }
    }

    fn edges(self) -> Vec<Edge> {
        match self {
            // Either way vertex 1 is reached.
            Case::Reach(Direction::Backward) => vec![edge(1, 0)],
            Case::Reach(_) | Case::Top | Case::Minima => vec![edge(0, 1)],
            Case::Lengths => vec![edge(0, 1).delayed(2, 2)],
            Case::Components => vec![edge(0, 1), edge(1, 0)],
        }
    }

    fn expected(self) -> Vec<Option<u64>> {
        match self {
            // Both have a value after the last hop.
            Case::Reach(_) => vec![Some(1), Some(1)],
            Case::Lengths => vec![Some(1), Some(2)],
            Case::Components => vec![Some(0), Some(0)],
            Case::Top => vec![None, Some(1)],
            Case::Minima => vec![Some(0), Some(1)],
        }
    }
}

/// A server with what it needs for a job.
struct Server<'a> {
    party: Party,
    deployment: &'a Deployment,
    spec: &'a JobSpec,
    upload: &'a Upload,
    journal: &'a Memory,
}

impl Server<'_> {
    fn randomness(&self, what: &str) -> [u8; 32] {
        self.deployment.world.randomness(self.party.id, what)
    }

    /// The whole job up to its hops, an owner's part included: its upload is a function of the
    /// job's seeds, which an honest run has shown.
    async fn linked<P: VertexProgram>(&self, program: P) -> Result<Linked<P>, Stop> {
        let job = Job::new(self.spec.clone(), program).expect("valid");
        let keys = self.deployment.keys_of(self.party.id);
        let fresh = self.randomness("job");
        let stock = job.prepare(&self.party, &keys, fresh, self.journal).await?;
        let uploads = [Some(self.upload.clone())];
        let fresh = self.randomness("link");
        let linked = stock.link(&self.party, &uploads, fresh, self.journal).await?;
        assert_eq!(linked.accepted().count(), 1, "an honest owner's list is accepted");
        Ok(linked)
    }

    async fn computed<P: VertexProgram>(&self, program: P) -> Result<Computed<P>, Stop> {
        let linked = self.linked(program).await?;
        linked.compute(&self.party, self.randomness("compute"), self.journal).await
    }

    async fn result(&self, case: Case) -> Result<Vec<Option<u64>>, Stop> {
        let (fresh, journal) = (self.randomness("compute"), self.journal);
        match case {
            Case::Reach(_) => {
                let reached = self.computed(reach()).await?.reached(journal).await?;
                Ok(reached.into_iter().map(|reached| reached.then_some(1)).collect())
            }
            Case::Lengths => {
                let first = self.computed(reach()).await?.first_reached(journal).await?;
                Ok(first.into_iter().map(|hops| hops.map(u64::from)).collect())
            }
            Case::Components => {
                let linked = self.linked(COMPONENTS).await?;
                let smallest = linked.components(&self.party, fresh, journal).await?;
                Ok(smallest.into_iter().map(|vertex| vertex.map(u64::from)).collect())
            }
            Case::Top => {
                let top = self.computed(Degree).await?.top((1, 1), journal).await?;
                Ok(top.into_iter().map(|value| value.map(|value| value.value())).collect())
            }
            Case::Minima => {
                let linked = self.linked(minima()).await?;
                let mut computed = linked.minima(&self.party, fresh, journal).await?;
                let words = computed.values().await?;
                Ok(words.into_iter().map(|word| number(word, self.spec.hops)).collect())
            }
        }
    }
}

fn run(
    deployment: &Deployment,
    (case, spec): (Case, &JobSpec),
    upload: &Upload,
    network: &Network,
) -> Results<Vec<Option<u64>>> {
    let journals = Journals::default();
    let results = deployment.world.run(network, |party| {
        let journal = &journals[party.id.index()];
        let server = Server { party, deployment, spec, upload, journal };
        async move { server.result(case).await }.boxed_local()
    });
    // Seeds are opened before the link, if at all: of all messages none does so behind it.
    let link = spec.name().instance(Phase::Link);
    let mut linked = false;
    for (_, message) in network.sent() {
        let tag = message.signed.header.tag;
        linked |= tag.instance == link;
        assert!(!linked || tag.step != Kind::SeedOpening.step(), "{case:?}: seeds are opened");
    }
    results
}

fn upload(deployment: &Deployment, case: Case, spec: &JobSpec) -> Upload {
    match case {
        Case::Reach(_) | Case::Lengths => upload_for(deployment, case, spec, reach),
        Case::Components => upload_for(deployment, case, spec, || COMPONENTS),
        Case::Top => upload_for(deployment, case, spec, || Degree),
        Case::Minima => upload_for(deployment, case, spec, minima),
    }
}

fn upload_for<P: VertexProgram>(
    deployment: &Deployment,
    case: Case,
    spec: &JobSpec,
    program: impl Fn() -> P,
) -> Upload {
    let journals = Journals::default();
    let stock = deployment.stock(spec, &program, &journals);
    deployment.upload(&stock, &program, 0, &case.edges(), &journals)
}

/// Whether a message is one about lists that owners have uploaded, which attempts do not have.
fn is_of_lists(message: &Message) -> bool {
    let step = message.signed.header.tag.step;
    [Kind::Lists.step(), Kind::Lists.echo(), Kind::Forward.step()].contains(&step)
}

/// Which ways a message is changed in.
fn ways(number: usize, message: &Message) -> Vec<Mutation> {
    if nightly() || is_of_lists(message) {
        return Mutation::ALL.to_vec();
    }
    // Neighbours together see all.
    let all = Mutation::ALL;
    vec![all[number % all.len()]]
}

fn check(
    deployment: &Deployment,
    (case, spec): (Case, &JobSpec),
    (corrupt, mutation): (PartyId, Mutation),
    what: &str,
    results: &Results<Vec<Option<u64>>>,
) {
    let honest = (0..3).map(PartyId).filter(|id| *id != corrupt);
    let harmless = matches!(mutation, Mutation::Duplicate | Mutation::Delay);
    let (roster, instances) = (&deployment.world.roster, instances_of(spec));
    for id in honest {
        match &results[id.index()] {
            Some(Ok(values)) => assert_eq!(values, &case.expected(), "{what}: a wrong result"),
            Some(Err(stop)) => {
                assert!(!harmless, "{what}: stopped by a delay or a repetition: {stop}");
                assert!(is_just(stop, corrupt, roster, &instances), "{what}: {stop:?}");
            }
            None => assert!(!harmless, "{what}: waits after a delay or a repetition"),
        }
    }
}

/// Which of a server's messages are changed: all, or every so many from one on.
type Picked = (usize, usize);

fn sweep(seed: u64, case: Case, picked: Picked) {
    let deployment = Deployment::new(seed);
    let spec = case.spec(1);
    let uploaded = upload(&deployment, case, &spec);
    let network = Network::default();
    let honest = all(run(&deployment, (case, &spec), &uploaded, &network));
    assert!(honest.iter().all(|values| *values == case.expected()), "{case:?}: {honest:?}");
    // Another job's messages, for replays.
    let other = case.spec(2);
    let replay = Network::default();
    let of_other = upload(&deployment, case, &other);
    all(run(&deployment, (case, &other), &of_other, &replay));
    for corrupt in (0..3).map(PartyId) {
        let of = |network: &Network| -> Vec<Bytes> {
            let own = network.sent().into_iter().filter(|(_, m)| m.signed.header.from == corrupt);
            own.map(|(_, m)| m.body).collect()
        };
        let own = network.sent().into_iter().filter(|(_, m)| m.signed.header.from == corrupt);
        let own: Vec<Message> = own.map(|(_, message)| message).collect();
        let others = Arc::new(of(&replay));
        let mut results = 0;
        let (first, step) = picked;
        for number in (first + corrupt.index()..network.posted(corrupt)).step_by(step) {
            for mutation in ways(number / step, &own[number]) {
                let sabotaged = Network::default();
                sabotaged.corrupt(Saboteur::new(
                    corrupt,
                    deployment.world.key(corrupt),
                    seed + number as u64,
                    Target::Nth(number),
                    mutation,
                    others.clone(),
                ));
                let ended = run(&deployment, (case, &spec), &uploaded, &sabotaged);
                let what = format!("seed {seed}, {case:?}, {corrupt}, {number}, {mutation:?}");
                check(&deployment, (case, &spec), (corrupt, mutation), &what, &ended);
                results += usize::from(matches!(&ended[(corrupt.index() + 1) % 3], Some(Ok(_))));
            }
        }
        assert!(results > 0, "some changes are harmless, and then there is a result");
    }
}

#[test]
fn every_message_of_a_job() {
    if !nightly() {
        // One in two of each server's, and each in one of the ways that follow each other.
        return sweep(40, Case::Reach(Direction::Forward), (0, 2));
    }
    for seed in 40..43 {
        sweep(seed, Case::Reach(Direction::Forward), (0, 1));
        sweep(seed + 100, Case::Reach(Direction::Backward), (0, 1));
    }
}

/// All at night, one in 17 by day.
fn some() -> Picked {
    if nightly() { (0, 1) } else { (1, 17) }
}

#[test]
fn messages_of_shortest_ways_and_components() {
    sweep(44, Case::Lengths, some());
    sweep(45, Case::Components, some());
}

#[test]
fn messages_of_the_highest_values_and_of_minima() {
    sweep(46, Case::Top, some());
    sweep(47, Case::Minima, some());
}

#[test]
fn a_cut_link_makes_everybody_wait() {
    let deployment = Deployment::new(41);
    let case = Case::Reach(Direction::Forward);
    let spec = case.spec(3);
    let upload = upload(&deployment, case, &spec);
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
            let ended = run(&deployment, (case, &spec), &upload, &network);
            assert!(ended.iter().all(Option::is_none), "{corrupt} to {peer}");
        }
    }
}
