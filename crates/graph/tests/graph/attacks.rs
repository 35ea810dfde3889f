//! One named test for each attack; none of them profits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use ostrakon_field::Gf64;
use ostrakon_graph::job::{Job, Stock};
use ostrakon_graph::owner::{self, Edge, ListError, Maps, Upload};
use ostrakon_graph::program::Reach;
use ostrakon_graph::ruffle2::fault::{Accused, Evidence, Stop};
use ostrakon_graph::ruffle2::preparation::{self, Failing, Slice};
use ostrakon_graph::ruffle2::run::Run;
use ostrakon_graph::ruffle2::seeds::{JobSeeds, PairSeed, Phase};
use ostrakon_graph::ruffle2::shuffle::{Applied, Shuffler};
use ostrakon_graph::ruffle2::steps::Kind;
use ostrakon_graph::ruffle2::uses::Factors;
use ostrakon_graph::spec::{Direction, JobSpec};
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

/// Whether an honest server is among those that somebody stops for alone.
fn blames(stop: &Stop, corrupt: u8) -> bool {
    match stop {
        Stop::Broken(party, _) => party.0 != corrupt,
        Stop::Malformed(signed) => signed.header.from.0 != corrupt,
        _ => false,
    }
}

#[test]
fn an_error_in_any_message_of_a_use_is_caught() {
    let kinds = [
        Kind::ShufflePair1,
        Kind::ShufflePair2,
        Kind::ShufflePair3,
        Kind::Opening,
        Kind::OpeningDigest,
        Kind::Delta1,
        Kind::Delta1Digest,
        Kind::Delta2,
        Kind::Delta2Digest,
        Kind::Delta3,
        Kind::Delta3Digest,
    ];
    let mut caught = 0;
    for direction in [Direction::Forward, Direction::Backward] {
        for corrupt in 0..3 {
            for kind in kinds {
                let scene = Scene::new(20, direction);
                let hits = Arc::new(AtomicUsize::new(0));
                let counter = hits.clone();
                // The last message of the kind that would be sent is not known; the first is.
                let network = scene.corrupt(corrupt, move |_, message| {
                    let is = message.signed.header.tag.step == kind.step();
                    (is && counter.fetch_add(1, Ordering::SeqCst) == 0)
                        .then(|| spoil(&message.body))
                });
                let ends = scene.play(&network);
                if hits.load(Ordering::SeqCst) == 0 {
                    continue;
                }
                caught += 1;
                for i in honest(corrupt) {
                    let what = format!("{kind:?} of P{corrupt}, {direction:?}: {:?}", ends[i]);
                    assert!(!matches!(ends[i], End::Reached(_)), "{what}");
                    if let End::Stopped(stop) = &ends[i] {
                        assert!(!blames(stop, corrupt), "{what}");
                    }
                }
                let stopped = |i: usize| matches!(ends[i], End::Stopped(_));
                assert!(honest(corrupt).into_iter().any(stopped), "{kind:?} of P{corrupt}");
            }
        }
    }
    // P2 is in no middle pair, sends δ1 and never its digest, and so on: 24 of 33 in each
    // direction.
    assert_eq!(caught, 48, "every kind that a server sends was spoilt");
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
            let mut seeds = JobSeeds::of_party(&keys, &job);
            let statements =
                preparation::state_seeds(&run, &job, &seeds, &permutations, journal).await?;
            if party.id.0 == corrupt {
                seeds.0[pair.index()] = Some(PairSeed::known([1; 32]));
            }
            let run = preparation::slice_run(&party, &job, 1);
            let slice = Slice { job: &job, number: 1, bundles, failing: Failing::Opens };
            let task = preparation::prepare::<Gf64>(
                &run,
                &seeds,
                &slice,
                &statements,
                randomness,
                journal,
            );
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
                let seeds = JobSeeds::of_party(&keys, &scene.spec.name());
                let [a, b] = Pair::of_party(corrupt).map(|pair| *seeds.of(pair).expose());
                let network = scene.corrupt(corrupt, move |_, message| {
                    let is = message.signed.header.tag.step == Kind::SeedOpening.step();
                    (is && truthful).then(|| [a, b].concat())
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
fn nobody_sends_what_depends_on_a_table_that_nobody_vouches_for() {
    // P0 gets δ3 from P1. If P2 told the digest of a δ3 that it computed from another δ2, P0 could
    // try where a row went. P2 compares δ2 with P1's digest first, and then says nothing.
    let scene = Scene::new(22, Direction::Forward);
    let network = scene.corrupt(0, |_, message| {
        let header = message.signed.header;
        (header.tag.step == Kind::Delta2.step()).then(|| spoil(&message.body))
    });
    let ends = scene.play(&network);
    let End::Stopped(Stop::Evidence(evidence)) = &ends[2] else { panic!("{:?}", ends[2]) };
    let said = network.sent();
    let of_p2 = |kind: Kind| {
        said.iter().any(|(_, m)| {
            m.signed.header.from == PartyId(2) && m.signed.header.tag.step == kind.step()
        })
    };
    assert!(of_p2(Kind::Delta1) && !of_p2(Kind::Delta3Digest), "P2 is no oracle");
    // The evidence names the pair of P0 and P1 to everybody, and nobody alone.
    let roster = &scene.deployment.world.roster;
    let link = scene.spec.name().instance(Phase::Link);
    assert_eq!(evidence.accused(roster, &link), Some(Accused::OneOf(PartyId(0), PartyId(1))));
    assert_eq!(evidence.accused(roster, &scene.spec.name().instance(Phase::Query)), None);
    let copy = Evidence::decode(&evidence.encode()).unwrap();
    assert!(copy.accused(roster, &link).unwrap().includes(PartyId(0)));
    assert!(!copy.accused(roster, &link).unwrap().includes(PartyId(2)));
    // P1 hears of it and stops, too.
    assert!(matches!(&ends[1], End::Stopped(Stop::Evidence(e)) if e == evidence), "{:?}", ends[1]);
    // No seed was opened for it.
    assert!(said.iter().all(|(_, m)| m.signed.header.tag.step != Kind::SeedOpening.step()));
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
fn a_use_is_not_spent_on_a_second_table_after_a_restart() {
    let scene = Scene::new(24, Direction::Forward);
    let of = scene.spec.hop_use(0, 0, 0);
    let tables = [vec![1; of.bytes()], vec![2; of.bytes()]];
    let apply = |table: &Vec<u8>| {
        let network = Network::default();
        let results = scene.deployment.world.run(&network, |party| {
            let seeds = JobSeeds::of_party(&scene.deployment.keys_of(party.id), &scene.spec.name());
            let factors = Factors::expand(&seeds, [of].iter());
            let journal = &scene.journals[party.id.index()];
            let instance = scene.spec.name().instance(Phase::Query);
            let beta = table.clone();
            async move {
                let run = Run { party, instance };
                let shuffler = Shuffler {
                    run: &run,
                    job: scene.spec.number,
                    seeds: &seeds,
                    factors: &factors,
                    journal,
                };
                shuffler.apply::<Gf64>(vec![Applied { of, sequence: 0, beta }]).await
            }
            .boxed_local()
        });
        (results, network.sent().len())
    };
    let (first, _) = apply(&tables[0]);
    let first = all(first);
    assert!(first[0] == first[1] && first[1] == first[2]);
    let (again, _) = apply(&tables[0]);
    assert!(all(again) == first, "the same words again");
    let (other, sent) = apply(&tables[1]);
    assert!(other.iter().all(|r| matches!(r, Some(Err(Stop::Spent(_))))), "{other:?}");
    assert_eq!(sent, 0, "refused before the first message");
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

/// Links with one list per owner; returns the accepted lists.
fn accepted(
    deployment: &Deployment,
    stock: &[Vec<u8>],
    uploads: &[Option<Upload>],
    journals: &Journals,
) -> Vec<usize> {
    let linked = all(deployment.link(&Network::default(), stock, program, uploads, journals));
    let lists: Vec<Vec<usize>> = linked.iter().map(|l| l.accepted().collect()).collect();
    assert!(lists[0] == lists[1] && lists[1] == lists[2]);
    lists[0].clone()
}

#[test]
fn a_bad_list_excludes_its_owner_only() {
    let deployment = Deployment::new(27);
    let spec = spec_of(6, 3, &[2, 2], 1, &program());
    let good = [edge(0, 1), edge(1, 2)];
    let at = |order: &[u32], row: u32| order.iter().position(|r| *r == row).unwrap();
    let orders = owner::orders(&spec, 1, &good).unwrap();
    let left_out = |make: &dyn Fn(&[Vec<u8>], &Journals) -> Maps| {
        let journals = Journals::default();
        let stock = deployment.stock(&spec, program, &journals);
        let uploads = [
            Some(deployment.upload(&stock, program, 0, &good, &journals)),
            Some(deployment.sign(&spec, 1, make(&stock, &journals).encode())),
        ];
        assert_eq!(accepted(&deployment, &stock, &uploads, &journals), [0]);
    };
    // Vertices out of order at the source, and at the target.
    for (which, one, other) in [(0, 0, 1), (1, 1, 2)] {
        let mut orders = orders.clone();
        let (one, other) = (at(&orders[which], one), at(&orders[which], other));
        orders[which].swap(one, other);
        left_out(&|stock, journals| deployment.maps_of(stock, &program, 1, &orders, journals));
    }
    // Both orders are a graph's, but the middle map leads a vertex's row to the place of an edge's.
    // If the edge is the vertex's loop no count tells, but the labels do.
    let loops = [edge(0, 0), edge(1, 2)];
    let place = |row| at(&owner::orders(&spec, 1, &loops).unwrap()[1], row);
    for (edges, one, other) in [(&good, 0, 1), (&loops, place(0), place(3))] {
        left_out(&|stock, journals| {
            let mut maps = deployment.maps(stock, &program, 1, edges, journals);
            maps.0[1].swap(one, other);
            maps
        });
    }
}

#[test]
fn maps_that_are_no_permutations_or_too_long_are_not_uploads() {
    let deployment = Deployment::new(28);
    let spec = spec_of(7, 3, &[2, 2], 1, &program());
    let journals = Journals::default();
    let stock = deployment.stock(&spec, program, &journals);
    let good = [edge(0, 1)];
    let mut twice = deployment.maps(&stock, &program, 1, &good, &journals);
    twice.0[2][0] = twice.0[2][1];
    let mut beyond = deployment.maps(&stock, &program, 1, &good, &journals);
    beyond.0[0][0] = 5;
    let whole = deployment.maps(&stock, &program, 1, &good, &journals).encode();
    for body in [twice.encode(), beyond.encode(), whole[..59].to_vec(), [&whole[..], &[0]].concat()]
    {
        assert!(Maps::decode(&body, 5).is_none());
        let journals = Journals::default();
        let uploads = [
            Some(deployment.upload(&stock, program, 0, &good, &journals)),
            Some(deployment.sign(&spec, 1, body)),
        ];
        assert_eq!(accepted(&deployment, &stock, &uploads, &journals), [0]);
    }
    // An owner that keeps to the rules cannot even make such a list.
    let six = vec![edge(0, 1); 3];
    assert_eq!(owner::orders(&spec, 1, &six), Err(ListError::TooMany(3, 2)));
    assert_eq!(owner::orders(&spec, 1, &[edge(0, 3)]), Err(ListError::NoSuchVertex(3)));
    let same = JobSpec { lists: vec![spec.lists[0]; 2], ..spec };
    assert!(Job::new(same, program()).is_none(), "an owner has one list");
}

#[test]
fn an_upload_counts_if_two_servers_hold_it_and_no_other_is_signed() {
    let deployment = Deployment::new(29);
    let spec = spec_of(8, 3, &[2, 2], 1, &program());
    let good = [edge(0, 1)];
    let journals = Journals::default();
    let stock = deployment.stock(&spec, program, &journals);
    let upload = |list, edges: &[Edge]| {
        Some(deployment.upload(&stock, program, list, edges, &Journals::default()))
    };
    let (one, other) = (upload(1, &good), upload(1, &[edge(1, 2)]));
    let run = |at: [Option<Upload>; 3]| {
        let journals = Journals::default();
        let network = Network::default();
        let each = |party: PartyId| vec![upload(0, &good), at[party.index()].clone()];
        let linked = all(deployment.link_each(&network, &stock, program, each, &journals));
        linked[0].accepted().collect::<Vec<_>>()
    };
    // Who lacks it gets it from the holders, of whom one may be corrupt.
    assert_eq!(run([one.clone(), None, one.clone()]), [0, 1]);
    assert_eq!(run([one.clone(), None, None]), [0]);
    // Signed twice: no rule could choose without giving the corrupt server a say.
    assert_eq!(run([one.clone(), one.clone(), other.clone()]), [0]);
    // Another's signature is none.
    let forged = Some(Upload { signature: other.unwrap().signature, ..one.clone().unwrap() });
    assert_eq!(run([one.clone(), one.clone(), forged]), [0, 1]);
}

#[test]
fn a_corrupt_server_cannot_give_an_owner_other_seeds() {
    let scene = Scene::new(30, Direction::Forward);
    let stock = scene.deployment.stock(&scene.spec, program, &scene.journals);
    for corrupt in 0..3 {
        let issue = |party: usize| {
            let stock = Stock::from_bytes(&stock[party], program()).unwrap();
            let mut issue =
                stock.issue(0, &key(0).verifying_key(), &scene.journals[party]).unwrap().unwrap();
            if party == corrupt {
                issue.seeds.iter_mut().flatten().for_each(|seed| seed[0] ^= 1);
                issue.stated.iter_mut().flatten().for_each(|digest| digest[0] ^= 1);
            }
            issue
        };
        let issues = [issue(0), issue(1), issue(2)];
        let seeds = owner::combine([Some(&issues[0]), Some(&issues[1]), Some(&issues[2])], 3);
        let orders = owner::orders(&scene.spec, 0, &scene.edges).unwrap();
        let maps = Maps::of(&orders, &scene.spec.permutations_of(0), &seeds.unwrap());
        let journals = &scene.journals;
        let want = scene.deployment.maps(&stock, &program, 0, &scene.edges, journals);
        assert_eq!(maps, want, "P{corrupt}");
        let absent = |p: usize| (p != corrupt).then(|| &issues[p]);
        assert!(owner::combine([absent(0), absent(1), absent(2)], 3).is_some(), "two suffice");
    }
    assert!(owner::combine([None, None, None], 3).is_none());
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
                for i in honest(corrupt) {
                    assert!(!matches!(ends[i], End::Reached(_)), "{kind:?} {which} P{corrupt}");
                }
                // What products went into is not opened before they are verified.
                let opened = network.sent().iter().any(|(_, m)| {
                    let header = m.signed.header;
                    header.tag.instance == query
                        && header.tag.step == Kind::Opening.step()
                        && header.tag.sequence & (1 << 15) == 0
                        && header.from.0 != corrupt
                });
                assert!(!opened, "{kind:?} {which} P{corrupt}: opened before it was verified");
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
                End::Stopped(stop) => assert!(!blames(stop, corrupt), "P{corrupt}: {stop}"),
                End::Waits => {}
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
