//! One named test for each attack; none of them profits.

mod accusations;
mod owners;
mod uses;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use ostrakon_field::Gf64;
use ostrakon_graph::owner::Edge;
use ostrakon_graph::program::Reach;
use ostrakon_graph::ruffle2::fault::Stop;
use ostrakon_graph::ruffle2::preparation::{self, Failing, Slice};
use ostrakon_graph::ruffle2::run::Run;
use ostrakon_graph::ruffle2::seeds::{FreshSeeds, Phase};
use ostrakon_graph::ruffle2::steps::Kind;
use ostrakon_graph::spec::{Direction, JobSpec};
use ostrakon_graph::stock::Stock;
use ostrakon_party::{Message, PartyId};
use ostrakon_replicated::pair::Pair;
use ostrakon_testkit::{Network, Saboteur};

use crate::common::*;

fn program() -> Reach {
    Reach { sources: vec![0] }
}

/// Three vertices in a row, of one owner.
fn line() -> (JobSpec, Vec<Edge>) {
    (spec_of(4, 3, &[3], 2, &program()), vec![edge(0, 1), edge(1, 2)])
}

/// A job up to a phase with honest servers, and on with a corrupt one.
struct Scene {
    deployment: Deployment,
    spec: JobSpec,
    edges: Vec<Edge>,
    journals: Journals,
}

/// How far an attacked job came at a server.
#[derive(Debug)]
enum End {
    Stopped(Stop),
    Waits,
    Reached(Vec<bool>),
}

impl Scene {
    fn new(seed: u64, direction: Direction) -> Self {
        let (mut spec, edges) = line();
        spec.direction = direction;
        Self { deployment: Deployment::new(seed), spec, edges, journals: Journals::default() }
    }

    fn corrupt(
        &self,
        party: u8,
        rewrite: impl Fn(PartyId, &Message) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Network {
        let network = Network::default();
        let key = self.deployment.world.key(PartyId(party));
        network.corrupt(Saboteur::rewriting(PartyId(party), key, rewrite));
        network
    }

    /// If a server stopped, it had reason to, and accuses nobody honest.
    fn assert_just(&self, end: &End, corrupt: u8, what: &str) {
        let End::Stopped(stop) = end else { return };
        let (roster, instances) = (&self.deployment.world.roster, instances_of(&self.spec));
        assert!(is_just(stop, PartyId(corrupt), roster, &instances), "{what}: {stop:?}");
    }

    /// The whole job, in which all messages go over one network.
    fn play(&self, network: &Network) -> Vec<End> {
        let prepared = self.deployment.prepare(network, &self.spec, program, &self.journals);
        let honest = |party: usize| prepared[party].as_ref().and_then(|p| p.as_ref().ok());
        let stock: Vec<Option<Vec<u8>>> = (0..3).map(|p| honest(p).map(|s| s.to_bytes())).collect();
        if stock.iter().any(Option::is_none) {
            return prepared.into_iter().map(end_of).collect();
        }
        let stock: Vec<Vec<u8>> = stock.into_iter().flatten().collect();
        let upload = self.deployment.upload(&stock, program, 0, &self.edges, &self.journals);
        self.deployment
            .world
            .run(network, |party| {
                let stock = Stock::from_bytes(&stock[party.id.index()], program()).unwrap();
                let upload = [Some(upload.clone())];
                let journal = &self.journals[party.id.index()];
                let randomness = |what| self.deployment.world.randomness(party.id, what);
                let (link, compute) = (randomness("link"), randomness("compute"));
                async move {
                    let linked = stock.link(&party, &upload, link, journal).await?;
                    let mut computed = linked.compute(&party, compute, journal).await?;
                    computed.reached(journal).await
                }
                .boxed_local()
            })
            .into_iter()
            .map(|result| match result {
                None => End::Waits,
                Some(Err(stop)) => End::Stopped(stop),
                Some(Ok(bits)) => End::Reached(bits),
            })
            .collect()
    }
}

fn end_of<T>(result: Option<Result<T, Stop>>) -> End {
    match result {
        Some(Err(stop)) => End::Stopped(stop),
        _ => End::Waits,
    }
}

fn honest(corrupt: u8) -> [usize; 2] {
    [[1, 2], [0, 2], [0, 1]][usize::from(corrupt)]
}

/// Adds an error to one message in the middle of a table.
fn spoil(body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    let middle = (body.len() / 2) & !7;
    body[middle] ^= 1;
    body
}

/// Prepares a slice in which the corrupt server takes another seed for one of its pairs, and signs
/// whatever follows from it.
fn spoilt_slice(scene: &Scene, corrupt: u8, pair: Pair, network: &Network) -> Vec<End> {
    let (job, bundles) = (scene.spec.name(), scene.spec.hop_slices().remove(0));
    let (permutations, bundles) = (scene.spec.permutations(), &bundles);
    let results = scene.deployment.world.run(network, |party| {
        let keys = scene.deployment.keys_of(party.id);
        let journal = &scene.journals[party.id.index()];
        let randomness = scene.deployment.world.randomness(party.id, "spoilt");
        let permutations = permutations.clone();
        async move {
            let run = Run { party: party.clone(), instance: job.instance(Phase::Seeds) };
            let mut fresh = FreshSeeds::of_party(&keys, &job);
            let seeds = fresh.seeds();
            let statements =
                preparation::state_seeds(&run, &job, seeds, &permutations, journal).await?;
            if party.id.0 == corrupt {
                let keys = scene.deployment.keys_with_another(party.id, pair);
                fresh = FreshSeeds::of_party(&keys, &job);
            }
            let run = preparation::slice_run(&party, &job, 1);
            let slice = Slice { job: &job, number: 1, bundles, failing: Failing::Opens(&fresh) };
            let task = preparation::prepare::<Gf64>(&run, &slice, &statements, randomness, journal);
            run.with_accusations(task).await.map(|prepared| prepared.len())
        }
        .boxed_local()
    });
    results.into_iter().map(end_of).collect()
}

#[test]
fn a_server_that_spoils_the_preparation_is_found_by_opening_it() {
    for corrupt in 0..3 {
        for pair in Pair::of_party(corrupt) {
            // It opens the true seeds, or the ones that it used.
            for truthful in [true, false] {
                let scene = Scene::new(21, Direction::Forward);
                let keys = scene.deployment.keys_of(PartyId(corrupt));
                let fresh = FreshSeeds::of_party(&keys, &scene.spec.name());
                let seeds = Pair::of_party(corrupt).map(|pair| *fresh.seeds().of(pair).expose());
                let network = scene.corrupt(corrupt, move |_, message| {
                    let is = message.signed.header.tag.step == Kind::SeedOpening.step();
                    (is && truthful).then(|| seeds.concat())
                });
                let ends = spoilt_slice(&scene, corrupt, pair, &network);
                for i in honest(corrupt) {
                    let End::Stopped(Stop::Broken(party, _)) = &ends[i] else {
                        panic!("P{corrupt}, {pair:?}, {truthful}: {:?}", ends[i])
                    };
                    assert_eq!(party.0, corrupt, "{pair:?}, {truthful}");
                }
            }
        }
    }
}

#[test]
fn no_seed_leaves_a_server_once_the_uploads_are_sealed() {
    let scene = Scene::new(23, Direction::Forward);
    let stock = scene.deployment.stock(&scene.spec, program, &scene.journals);
    let load = |party: usize| Stock::from_bytes(&stock[party], program()).unwrap();
    let (owner, stranger) = (key(0).verifying_key(), key(1).verifying_key());
    let issue = |party: usize, key: &_| load(party).issue(0, key, &scene.journals[party]).unwrap();
    assert!(issue(0, &owner).is_some(), "the owner gets its seeds before");
    assert!(issue(0, &stranger).is_none(), "nobody else does");
    assert!(load(0).issue(1, &owner, &scene.journals[0]).unwrap().is_none(), "no such list");
    let upload = scene.deployment.upload(&stock, program, 0, &scene.edges, &scene.journals);
    let network = Network::default();
    all(scene.deployment.link(&network, &stock, program, &[Some(upload)], &scene.journals));
    for party in 0..3 {
        // The stock's file is still there after a restart; the mark is, too.
        assert!(issue(party, &owner).is_none(), "P{party} gives seeds away after the sealing");
    }
    let opened = network
        .sent()
        .into_iter()
        .any(|(_, message)| message.signed.header.tag.step == Kind::SeedOpening.step());
    assert!(!opened);
}

#[test]
fn a_preparation_that_was_broken_off_is_not_taken_up_again() {
    let scene = Scene::new(25, Direction::Forward);
    let network = Network::default();
    all(scene.deployment.prepare(&network, &scene.spec, program, &scene.journals));
    let again = scene.deployment.prepare(&network, &scene.spec, program, &scene.journals);
    assert!(again.into_iter().all(|r| matches!(r, Some(Err(Stop::Spent(_))))));
}

#[test]
fn two_jobs_do_not_share_a_permutation() {
    let scene = Scene::new(26, Direction::Forward);
    let maps = |spec: &JobSpec, journals: &Journals| {
        let stock = scene.deployment.stock(spec, program, journals);
        scene.deployment.maps(&stock, &program, 0, &scene.edges, journals)
    };
    let first = maps(&scene.spec, &scene.journals);
    let next = JobSpec { number: 5, ..scene.spec.clone() };
    assert_ne!(first, maps(&next, &scene.journals), "permutation 0 of another job is another one");
    // One number for two jobs: whoever has begun the first does not begin the second.
    let other = JobSpec { hops: 1, slice: 1, ..scene.spec.clone() };
    let network = Network::default();
    let refused = scene.deployment.prepare(&network, &other, program, &scene.journals);
    assert!(refused.into_iter().all(|r| matches!(r, Some(Err(Stop::Spent(_))))));
    assert!(network.sent().is_empty());
    // And if it did, nothing would be the same.
    assert_ne!(first, maps(&other, &Journals::default()));
}

#[test]
fn coins_are_tossed_after_the_uploads_are_sealed() {
    let scene = Scene::new(31, Direction::Forward);
    let network = Network::default();
    let ends = scene.play(&network);
    assert!(matches!(&ends[0], End::Reached(bits) if bits == &[true; 3]), "{:?}", ends[0]);
    let link = scene.spec.name().instance(Phase::Link);
    let depth = |kind: Kind| {
        let of = |m: &Message| {
            let tag = m.signed.header.tag;
            tag.instance == link && tag.step == kind.step()
        };
        let depths: Vec<u32> =
            network.sent().iter().filter(|(_, m)| of(m)).map(|(_, m)| m.depth).collect();
        (depths.iter().copied().min().unwrap(), depths.iter().copied().max().unwrap())
    };
    // Nobody commits to a contribution before everybody has voted for the sealed uploads, and
    // nothing that depends on the coin is sent before it is open.
    assert!(depth(Kind::Vote).1 < depth(Kind::CoinCommitment).0);
    assert!(depth(Kind::CoinOpening).1 < depth(Kind::Opening).0);
}

#[test]
fn an_error_in_any_product_or_verification_message_is_caught() {
    let kinds = [Kind::Product, Kind::LevelProduct, Kind::LevelOpening, Kind::LevelCommitment];
    let mut caught = 0;
    for corrupt in 0..3 {
        for kind in kinds {
            for which in 0..3 {
                let scene = Scene::new(32, Direction::Forward);
                let query = scene.spec.name().instance(Phase::Query);
                let seen = Arc::new(AtomicUsize::new(0));
                let counter = seen.clone();
                let network = scene.corrupt(corrupt, move |_, message| {
                    let tag = message.signed.header.tag;
                    let is = tag.instance == query && tag.step == kind.step();
                    (is && counter.fetch_add(1, Ordering::SeqCst) == which)
                        .then(|| spoil(&message.body))
                });
                let ends = scene.play(&network);
                if seen.load(Ordering::SeqCst) <= which {
                    continue;
                }
                caught += 1;
                let what = format!("{kind:?} {which} P{corrupt}");
                for i in honest(corrupt) {
                    assert!(!matches!(ends[i], End::Reached(_)), "{what}");
                    scene.assert_just(&ends[i], corrupt, &what);
                }
                // What products went into is not opened before they are verified.
                let opened = network.sent().iter().any(|(_, m)| {
                    let header = m.signed.header;
                    header.tag.instance == query
                        && header.tag.step == Kind::Opening.step()
                        && header.tag.sequence & (1 << 15) == 0
                        && header.from.0 != corrupt
                });
                assert!(!opened, "{what}: opened before it was verified");
            }
        }
    }
    assert!(caught >= 15, "every kind was spoilt: {caught}");
}

#[test]
fn an_error_in_an_opened_result_is_caught() {
    for corrupt in 0..3 {
        let scene = Scene::new(33, Direction::Forward);
        let query = scene.spec.name().instance(Phase::Query);
        let network = scene.corrupt(corrupt, move |_, message| {
            let tag = message.signed.header.tag;
            let result = tag.step == Kind::Opening.step() && tag.sequence & (1 << 15) == 0;
            (tag.instance == query && result).then(|| spoil(&message.body))
        });
        let ends = scene.play(&network);
        for i in honest(corrupt) {
            match &ends[i] {
                End::Reached(bits) => assert_eq!(bits, &[true; 3], "P{corrupt}"),
                end => scene.assert_just(end, corrupt, "an opened result"),
            }
        }
        let stopped = |i: usize| matches!(ends[i], End::Stopped(_));
        assert!(honest(corrupt).into_iter().any(stopped), "P{corrupt}");
    }
}

#[test]
fn damaged_stock_is_refused() {
    let scene = Scene::new(34, Direction::Forward);
    let stock = scene.deployment.stock(&scene.spec, program, &scene.journals);
    let load = |bytes: &[u8]| Stock::from_bytes(bytes, program());
    assert!(load(&stock[0]).is_ok());
    assert!(load(&stock[0][..stock[0].len() - 1]).is_err());
    assert!(load(&[&stock[0][..], &[0]].concat()).is_err());
    assert!(Stock::from_bytes(&stock[0], Reach { sources: vec![1] }).is_err(), "another program");
    for place in (0..stock[0].len()).step_by(97) {
        let mut damaged = stock[0].clone();
        damaged[place] ^= 0x80;
        let _ = load(&damaged);
    }
}
