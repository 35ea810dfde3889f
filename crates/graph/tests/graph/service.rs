//! Attempts on dealt contributions: the engine's part of a committee's computation
//! (`docs/spec/graph.md`, sections 11 to 14).

use std::collections::BTreeMap;

use futures::FutureExt;
use ostrakon_computation::{ComputationId, Input};
use ostrakon_crypto::sealed::ExchangeKey;
use ostrakon_crypto::{Digest, Secret, VerifyingKey};
use ostrakon_field::Fp61;
use ostrakon_graph::asked::{self, Contribution, Naming, Program, ReaderKey, Shown, Terms, Values};
use ostrakon_graph::attempt::{self, Computation, Failed, Task, dealing};
use ostrakon_graph::owner::Edge;
use ostrakon_graph::ruffle2::fault::Stop;
use ostrakon_graph::ruffle2::journal::Journal;
use ostrakon_graph::ruffle2::preparation::{self, Failing, Slice};
use ostrakon_graph::ruffle2::run::Run;
use ostrakon_graph::ruffle2::seeds::{PairSeed, Phase};
use ostrakon_graph::ruffle2::steps::Kind;
use ostrakon_graph::watch::Watch;
use ostrakon_party::{Header, Message, Party, PartyId};
use ostrakon_replicated::pair::Pair;
use ostrakon_testkit::{Network, Saboteur, World};

use crate::common::{Draw, Journals, Memory, edge, key, nightly};

pub const COMPUTATION: ComputationId = ComputationId(Digest([5; 32]));
/// Bytes of a contribution before what is sealed for the servers, and of what is for one.
const BEFORE: usize = 4 + 288;
const SEALED: usize = 240;

pub fn member(party: usize) -> ExchangeKey {
    ExchangeKey::new(&Secret::new([100 + u8::try_from(party).unwrap(); 32]))
}

pub fn terms(vertices: u32, edges: u32, program: Program, shown: Shown) -> Terms {
    let (naming, undirected, weighted) = (Naming::Numbers, false, false);
    let (noise, reader, keep) = (None, None, None);
    Terms { vertices, naming, edges, undirected, weighted, program, shown, noise, reader, keep }
}

pub fn distances(from: u32, hops: u32) -> Program {
    Program::Distances { from: vec![from], hops, processors: None }
}

pub fn contribute(terms: &Terms, owner: usize, edges: &[Edge]) -> Input {
    let members = [0, 1, 2].map(|party| member(party).public());
    let randomness = Secret::new([30 + u8::try_from(owner).unwrap(); 32]);
    asked::make(&COMPUTATION, terms, &members, edges, &key(owner), &randomness).unwrap()
}

pub type Ends = Vec<Option<Result<Computation, Failed>>>;

/// What each server gets of an attempt on these bodies.
pub fn attempt(
    network: &Network,
    terms: &Terms,
    (minimum, number): (u32, u64),
    bodies: &[Vec<u8>],
    journals: &Journals,
) -> Ends {
    watched(network, terms, (minimum, number), bodies, journals, |_| Watch::default())
}

/// The same, of whose stages at each server somebody is told.
pub fn watched(
    network: &Network,
    terms: &Terms,
    (minimum, number): (u32, u64),
    bodies: &[Vec<u8>],
    journals: &Journals,
    watch: impl Fn(PartyId) -> Watch,
) -> Ends {
    let ends = played(network, terms, (minimum, number), bodies, journals, watch);
    // Whatever is done to an attempt, no seed is opened in it, and those that an owner dealt are
    // passed on to the other member of their pair alone.
    for (to, message) in network.sent() {
        let Header { from, tag, .. } = message.signed.header;
        assert_ne!(tag.step, Kind::SeedOpening.step(), "{from} opens seeds");
        if tag.step == Kind::DealtSeeds.step() {
            let pair = Pair::ALL[tag.sequence as usize % 3];
            assert!(from != to && pair.contains(from.0) && pair.contains(to.0), "{from} to {to}");
        }
    }
    ends
}

fn played(
    network: &Network,
    terms: &Terms,
    (minimum, number): (u32, u64),
    bodies: &[Vec<u8>],
    journals: &Journals,
    watch: impl Fn(PartyId) -> Watch,
) -> Ends {
    let world = World::new(number, 3);
    let owners: Vec<VerifyingKey> = (0..bodies.len()).map(|o| key(o).verifying_key()).collect();
    world.run(network, |party| {
        let randomness = Secret::new(world.randomness(party.id, "attempt"));
        let journal = &journals[party.id.index()];
        let read = |body: &Vec<u8>| Contribution::read(body, terms).unwrap();
        let contributions = bodies.iter().map(read).collect();
        let (owners, watch, computation) = (&owners, watch(party.id), &COMPUTATION);
        async move {
            let key = member(party.id.index());
            let task = Task {
                computation,
                made_for: computation,
                terms,
                minimum,
                number,
                owners,
                contributions,
                watch,
            };
            attempt::compute(&party, &key, task, journal, randomness).await
        }
        .boxed_local()
    })
}

pub fn all(results: Ends) -> (Vec<usize>, Values) {
    let mut results = results.into_iter().map(|r| r.expect("waiting").expect("a result"));
    let first = results.next().unwrap();
    for other in results {
        assert_eq!((&other.excluded, &other.values), (&first.excluded, &first.values));
    }
    (first.excluded, first.values)
}

pub fn honest(terms: &Terms, graphs: &[Vec<Edge>], seed: u64) -> (Vec<usize>, Values) {
    let bodies: Vec<Vec<u8>> =
        (0..).zip(graphs).map(|(owner, edges)| contribute(terms, owner, edges).body).collect();
    all(attempt(&Network::default(), terms, (1, seed), &bodies, &Journals::default()))
}

/// What breadth-first search says, as the service shows it.
fn expected(
    graphs: &[Vec<Edge>],
    vertices: u32,
    from: u32,
    hops: u32,
    both: bool,
) -> Vec<Option<u64>> {
    let mut distance = vec![None; vertices as usize];
    distance[from as usize] = Some(0);
    for hop in 0..u64::from(hops) {
        let ends = graphs.iter().flatten().filter_map(|e| Some((e.source?, e.target?)));
        let ends = ends.flat_map(|(a, b)| [(a, b), if both { (b, a) } else { (a, b) }]);
        for (source, target) in ends {
            if distance[source as usize] == Some(hop) {
                distance[target as usize].get_or_insert(hop + 1);
            }
        }
    }
    distance
}

fn drawn(draw: &mut Draw, vertices: u32, most: u32) -> Vec<Edge> {
    let count = draw.below(most + 1);
    (0..count).map(|_| edge(draw.below(vertices), draw.below(vertices))).collect()
}

#[test]
fn distances_of_dealt_lists_are_those_of_breadth_first_search() {
    for seed in 0..if nightly() { 200 } else { 10 } {
        let mut draw = Draw::new(seed);
        let (vertices, hops) = (1 + draw.below(8), 1 + draw.below(4));
        let from = draw.below(vertices);
        let mut terms = terms(vertices, 7, distances(from, hops), Shown::Vertices);
        terms.undirected = draw.below(2) == 1;
        let graphs: Vec<_> =
            (0..1 + draw.below(3)).map(|_| drawn(&mut draw, vertices, 7)).collect();
        let want = expected(&graphs, vertices, from, hops, terms.undirected);
        let (excluded, values) = honest(&terms, &graphs, seed);
        assert_eq!((excluded, values), (vec![], Values::Vertices(want.clone())), "seed {seed}");
        terms.shown = Shown::Counts;
        let counts = Values::Vertices(want).counts();
        assert_eq!(honest(&terms, &graphs, seed).1, Values::Counts(counts), "seed {seed}");
    }
}

#[test]
fn degrees_are_shown_for_vertices_or_counted_or_from_a_threshold_on() {
    let graphs = [vec![edge(0, 1), edge(2, 1), edge(1, 1)], vec![edge(3, 1), edge(0, 2)]];
    let of = |program: Program, shown| honest(&terms(4, 3, program, shown), &graphs, 7).1;
    let values = |values: [u64; 4]| Values::Vertices(values.map(Some).to_vec());
    assert_eq!(of(Program::InDegrees, Shown::Vertices), values([0, 4, 1, 0]));
    assert_eq!(of(Program::OutDegrees, Shown::Vertices), values([2, 1, 1, 1]));
    let counts = Values::Counts(vec![(Some(0), 2), (Some(1), 1), (Some(4), 1)]);
    assert_eq!(of(Program::InDegrees, Shown::Counts), counts);
    let large = Values::Vertices(vec![None, Some(4), None, None]);
    assert_eq!(of(Program::InDegrees, Shown::AtLeast(2)), large);
    let katz = of(Program::Katz { base: 10, hops: 1 }, Shown::Vertices);
    assert_eq!(katz, values([10, 14, 11, 10]));
}

/// A server that was told to cancel, and has put that in the place of the mark, opens nothing:
/// without it nobody has a result, whatever is asked.
#[test]
fn what_was_cancelled_is_not_opened() {
    let undirected =
        Terms { undirected: true, ..terms(4, 3, Program::Components { hops: 2 }, Shown::Vertices) };
    let all = [
        terms(4, 3, distances(0, 2), Shown::Vertices),
        terms(4, 3, Program::InDegrees, Shown::AtLeast(1)),
        terms(4, 3, Program::Pagerank { damping: 850, hops: 1 }, Shown::Vertices),
        undirected,
    ];
    for terms in all {
        let body = contribute(&terms, 0, &[edge(0, 1), edge(1, 2)]).body;
        let journals = Journals::default();
        journals[1].record(attempt::OPENING, b"cancelled").unwrap();
        let ends = attempt(&Network::default(), &terms, (1, 5), &[body], &journals);
        let told = &terms.program;
        let stopped = matches!(&ends[1], Some(Err(Failed::Stop(Stop::Spent(_)))));
        assert!(stopped, "{told:?}");
        assert!(ends.iter().all(|end| !matches!(end, Some(Ok(_)))), "{told:?}");
    }
}

/// Attack that is not met: an owner that works together with a reader has edges of its own at a
/// vertex whose count is below the threshold, and takes them off what is shown. Thresholds protect
/// against readers alone (`SECURITY.md`).
#[test]
fn an_owner_that_lifts_a_count_over_the_threshold_reads_it() {
    let shown = |honest: u32, lifted: u32| {
        let graphs = [vec![edge(0, 1); honest as usize], vec![edge(2, 1); lifted as usize]];
        let terms = terms(3, 5, Program::InDegrees, Shown::AtLeast(5));
        let Values::Vertices(values) = self::honest(&terms, &graphs, 12).1 else {
            panic!("values")
        };
        values[1]
    };
    for honest in 1..4 {
        assert_eq!(shown(honest, 0), None, "a reader alone learns that it is below");
        assert_eq!(shown(honest, 5).map(|all| all - 5), Some(honest.into()), "together: all of it");
    }
}

#[test]
fn an_attempt_begun_anew_shows_the_same() {
    let terms = terms(5, 4, distances(0, 3), Shown::Counts);
    let graphs = [vec![edge(0, 1), edge(1, 2)], vec![edge(2, 3)]];
    let bodies: Vec<_> = (0..2).map(|o| contribute(&terms, o, &graphs[o]).body).collect();
    let journals = Journals::default();
    let of = |number| attempt(&Network::default(), &terms, (2, number), &bodies, &journals);
    let first = all(of(1));
    assert_eq!(all(of(2)), first, "with the marks of the first");
}

/// A member that was killed goes on with an attempt by beginning it again from the same random
/// bytes: what it says then must be what it said before, byte for byte.
#[test]
fn an_attempt_is_a_function_of_its_randomness_and_what_it_receives() {
    let mut terms = terms(5, 4, distances(0, 3), Shown::Counts);
    terms.reader = Some(ReaderKey(asked::reader(&[9; 32]).public()));
    let bodies = [contribute(&terms, 0, &[edge(0, 1)]).body];
    let journals = Journals::default();
    let said = || {
        let network = Network::default();
        let values = all(attempt(&network, &terms, (1, 6), &bodies, &journals)).1;
        let of = |(to, message): (PartyId, Message)| {
            let Header { from, tag, digest, .. } = message.signed.header;
            ((from, to, tag), digest)
        };
        (values, network.sent().into_iter().map(of).collect::<BTreeMap<_, _>>())
    };
    assert!(said() == said());
}

/// Spoils what an owner sealed for a server.
pub fn spoilt(mut body: Vec<u8>, server: usize) -> Vec<u8> {
    body[BEFORE + server * SEALED + 40] ^= 1;
    body
}

#[test]
fn an_owner_that_deals_to_one_member_of_each_pair_takes_part_and_to_neither_does_not() {
    let terms = terms(4, 3, distances(0, 3), Shown::Vertices);
    let graphs = [vec![edge(0, 1)], vec![edge(1, 2)]];
    let bodies: Vec<_> = (0..2).map(|o| contribute(&terms, o, &graphs[o]).body).collect();
    let network = Network::default();
    for server in 0..3 {
        let spoilt = [spoilt(bodies[0].clone(), server), bodies[1].clone()];
        let result = all(attempt(&network, &terms, (2, 1), &spoilt, &Journals::default()));
        let want = expected(&graphs, 4, 0, 3, false);
        assert_eq!(result, (vec![], Values::Vertices(want)), "server {server} was told");
    }
    let neither = [spoilt(spoilt(bodies[0].clone(), 0), 2), bodies[1].clone()];
    let result = all(attempt(&network, &terms, (1, 1), &neither, &Journals::default()));
    let want = expected(&graphs[1..], 4, 0, 3, false);
    assert_eq!(result, (vec![0], Values::Vertices(want)));
    let few = attempt(&network, &terms, (2, 1), &neither, &Journals::default());
    assert!(few.into_iter().all(|r| r.unwrap().err() == Some(Failed::TooFew { missing: 1 })));
}

#[test]
fn what_was_sealed_for_one_owner_opens_for_no_other() {
    let terms = terms(4, 3, distances(0, 3), Shown::Vertices);
    let body = contribute(&terms, 0, &[edge(0, 1)]).body;
    let of = Contribution::read(&body, &terms).unwrap();
    let opened = |computation: &ComputationId, owner: usize, server: u8| {
        let owner = key(owner).verifying_key();
        let seeds = of.open((computation, &owner), server, &member(usize::from(server)));
        seeds.iter().filter(|seeds| seeds.is_some()).count()
    };
    assert_eq!(opened(&COMPUTATION, 0, 1), 2);
    assert_eq!(opened(&COMPUTATION, 1, 1), 0, "copied by another owner");
    assert_eq!(opened(&ComputationId(Digest([6; 32])), 0, 1), 0, "in another computation");
    let owner = key(0).verifying_key();
    let other = of.open((&COMPUTATION, &owner), 1, &member(0));
    assert!(other.iter().all(Option::is_none), "for another server");
}

#[test]
fn a_list_that_is_no_graph_is_left_out_and_the_others_are_computed_on() {
    let terms = terms(3, 2, distances(0, 2), Shown::Vertices);
    let mut bodies: Vec<_> =
        (0..2).map(|o| contribute(&terms, o, &[edge(0, 1 + o as u32)]).body).collect();
    // Two places of the last map exchanged: still permutations, but no graph's.
    let end = bodies[1].len();
    let (a, b) = (end - 20, end - 4);
    for i in 0..4 {
        bodies[1].swap(a + i, b + i);
    }
    let result = all(attempt(&Network::default(), &terms, (1, 3), &bodies, &Journals::default()));
    assert_eq!(result, (vec![1], Values::Vertices(vec![Some(0), Some(1), None])));
}

#[test]
fn the_same_randomness_for_two_lists_shares_no_permutation() {
    let terms = terms(3, 2, distances(0, 2), Shown::Vertices);
    let read = |edges: &[Edge]| {
        Contribution::read(&contribute(&terms, 0, edges).body, &terms).unwrap().digests
    };
    let (one, other) = (read(&[edge(0, 1)]), read(&[edge(1, 0)]));
    assert!(one.iter().flatten().zip(other.iter().flatten()).all(|(a, b)| a != b));
    assert!(read(&[edge(0, 1)]) == one);
}

#[test]
fn bytes_that_are_no_contribution_are_refused() {
    let terms = terms(5, 4, distances(0, 2), Shown::Counts);
    let good = contribute(&terms, 0, &[edge(0, 1)]).body;
    assert_eq!(good.len(), Contribution::bytes(&terms));
    let mut draw = Draw::new(11);
    for _ in 0..2000 {
        let length = draw.below(2 * u32::try_from(good.len()).unwrap()) as usize;
        let random: Vec<u8> = (0..length).map(|_| draw.below(256) as u8).collect();
        assert!(Contribution::read(&random, &terms).is_err());
    }
    // Whatever is changed in a map makes it none; what is sealed only its receivers can judge.
    let maps = BEFORE + 3 * SEALED;
    for at in (0..4).chain(maps..good.len()) {
        let mut changed = good.clone();
        changed[at] ^= 1;
        assert!(Contribution::read(&changed, &terms).is_err(), "byte {at}");
    }
    for length in [0, 3, BEFORE, good.len() - 1] {
        assert!(Contribution::read(&good[..length], &terms).is_err(), "{length} bytes");
    }
}

/// A server that says of every list that it holds nothing keeps nobody out.
#[test]
fn a_server_that_denies_what_it_holds_keeps_nobody_out() {
    let terms = terms(4, 3, distances(0, 3), Shown::Vertices);
    let graphs = [vec![edge(0, 1)], vec![edge(1, 2)]];
    let bodies: Vec<_> = (0..2).map(|o| contribute(&terms, o, &graphs[o]).body).collect();
    let want = expected(&graphs, 4, 0, 3, false);
    for corrupt in 0..3u8 {
        let network = corrupted(9, corrupt, |_, message| {
            let denied = message.signed.header.tag.step == Kind::Holding.step();
            denied.then(|| vec![0; message.body.len()])
        });
        let ends = attempt(&network, &terms, (2, 9), &bodies, &Journals::default());
        let honest = ends.into_iter().enumerate().filter(|(id, _)| *id != usize::from(corrupt));
        for (_, end) in honest {
            let end = end.expect("waiting").expect("a result");
            assert_eq!((end.excluded, end.values), (vec![], Values::Vertices(want.clone())));
        }
    }
}

/// No message has the bytes of a seed that an owner dealt in it, but those in which one member of
/// the seed's pair gives it to the other one, who was not dealt it.
#[test]
fn dealt_seeds_are_in_no_message_but_to_the_other_member_of_their_pair() {
    let terms = terms(4, 3, distances(0, 3), Shown::Vertices);
    let body = contribute(&terms, 0, &[edge(0, 1)]).body;
    let (whole, owner) = (Contribution::read(&body, &terms).unwrap(), key(0).verifying_key());
    let mut dealt: Vec<(Pair, [u8; 32])> = Vec::new();
    for server in 0..3u8 {
        let held = whole.open((&COMPUTATION, &owner), server, &member(server.into()));
        let of = |seeds: Option<[Secret; 3]>| seeds.unwrap().map(|seed| *seed.expose());
        let pairs = Pair::of_party(server).into_iter().zip(held.map(of));
        dealt.extend(pairs.flat_map(|(pair, seeds)| seeds.map(|seed| (pair, seed))));
    }
    for lacking in 0..3u8 {
        let network = Network::default();
        let bodies = [spoilt(body.clone(), lacking.into())];
        all(attempt(&network, &terms, (1, 13), &bodies, &Journals::default()));
        let mut passed = 0;
        for (to, Message { signed, body, .. }) in network.sent() {
            let has = |seed: &[u8; 32]| body.windows(32).any(|bytes| bytes == seed);
            for (pair, _) in dealt.iter().filter(|(_, seed)| has(seed)) {
                let from = signed.header.from.0;
                assert_eq!(signed.header.tag.step, Kind::DealtSeeds.step());
                assert_eq!((to.0, from), (lacking, pair.other(lacking)), "{pair:?}");
                passed += 1;
            }
        }
        // Of two pairs three seeds each, which both members were dealt.
        assert_eq!(passed, 12, "P{lacking}");
    }
}

/// Seeds that are passed on are those of the owner's digests, or their sender is named.
#[test]
fn a_server_that_passes_on_other_seeds_is_named() {
    let terms = terms(4, 3, distances(0, 3), Shown::Vertices);
    let body = spoilt(contribute(&terms, 0, &[edge(0, 1)]).body, 1);
    let network = corrupted(3, 0, |_, message| {
        let passed = message.signed.header.tag.step == Kind::DealtSeeds.step();
        passed.then(|| vec![7; message.body.len()])
    });
    let ends = attempt(&network, &terms, (1, 3), &[body], &Journals::default());
    let named = ends[1].as_ref().unwrap().as_ref().err().unwrap();
    assert!(matches!(named, Failed::Stop(Stop::Broken(PartyId(0), _))), "{named}");
}

pub fn corrupted(
    number: u64,
    corrupt: u8,
    rewrite: impl Fn(PartyId, &Message) -> Option<Vec<u8>> + Send + Sync + 'static,
) -> Network {
    let network = Network::default();
    let key = World::new(number, 3).key(PartyId(corrupt));
    network.corrupt(Saboteur::rewriting(PartyId(corrupt), key, rewrite));
    network
}

/// A corrupt server with a corrupt owner lets the owner's list take part in one attempt, and not in
/// the next one: the second shows nothing.
#[test]
fn nobody_sees_the_result_with_and_without_a_list() {
    let terms = terms(4, 3, distances(0, 3), Shown::Vertices);
    let bodies: Vec<_> =
        (0..2).map(|o| contribute(&terms, o, &[edge(o as u32, 1 + o as u32)]).body).collect();
    let journals = Journals::default();
    let network = Network::default();
    all(attempt(&network, &terms, (1, 1), &bodies, &journals));
    let without = [spoilt(spoilt(bodies[0].clone(), 0), 2), bodies[1].clone()];
    for end in attempt(&network, &terms, (1, 2), &without, &journals) {
        assert!(matches!(end.unwrap().err(), Some(Failed::Stop(Stop::Spent(_)))));
    }
}

/// Once lists are known a failed check of the preparation is followed by no seed. The corrupt
/// server
/// states the right seeds, prepares with another one for a pair, and signs what follows from it.
#[test]
fn a_failed_preparation_opens_nothing_once_lists_are_known() {
    let terms = terms(3, 2, distances(0, 2), Shown::Counts);
    let body = contribute(&terms, 0, &[edge(0, 1)]).body;
    for corrupt in 0..3u8 {
        for pair in Pair::of_party(corrupt) {
            let (world, network) = (World::new(4, 3), Network::default());
            let owners = [key(0).verifying_key()];
            let ends = world.run(&network, |party| {
                let randomness = Secret::new(world.randomness(party.id, "attempt"));
                let contributions = vec![Contribution::read(&body, &terms).unwrap()];
                let (terms, owners, computation) = (&terms, &owners, &COMPUTATION);
                async move {
                    let (id, watch) = (party.id.0, Watch::default());
                    let (key, journal) = (member(id.into()), Journals::default());
                    let (minimum, number) = (1, 4);
                    let task = Task {
                        computation,
                        made_for: computation,
                        terms,
                        minimum,
                        number,
                        owners,
                        contributions,
                        watch,
                    };
                    if id == corrupt {
                        return deviate(&party, &key, task, pair, randomness).await;
                    }
                    let journal = &journal[usize::from(id)];
                    attempt::compute(&party, &key, task, journal, randomness).await.map(drop)
                }
                .boxed_local()
            });
            let what = format!("P{corrupt}, {pair:?}");
            let honest = ends.into_iter().enumerate().filter(|(id, _)| *id != usize::from(corrupt));
            for (_, end) in honest {
                let end = end.expect("no waiting");
                let want = Failed::Stop(Stop::Check("the preparation"));
                assert_eq!(end, Err(want), "{what}");
            }
            let opened = |(_, message): &(PartyId, Message)| {
                message.signed.header.tag.step == Kind::SeedOpening.step()
            };
            assert!(!network.sent().iter().any(opened), "{what}");
        }
    }
}

/// What the corrupt server does there.
async fn deviate(
    party: &Party,
    key: &ExchangeKey,
    task: Task<'_>,
    pair: Pair,
    randomness: Secret,
) -> Result<(), Failed> {
    let spec = attempt::spec(task.computation, task.terms, task.contributions.len(), task.number);
    let (name, journal) = (spec.name(), Memory::default());
    let run = |phase| Run { party: party.clone(), instance: name.instance(phase) };
    let dealing = run(Phase::Dealing);
    let keys = dealing::pair_keys(&dealing, &randomness).await?;
    let open = |(of, owner): (&Contribution, &VerifyingKey)| {
        of.open((task.computation, owner), party.id.0, key)
    };
    let held = task.contributions.iter().zip(task.owners).map(open).collect();
    let dealt = dealing::complete(&dealing, &task.contributions, held).await?;
    let mut seeds = dealing::seeds(&dealing, &keys, &name, &dealt);
    let permutations = spec.permutations();
    let stating = run(Phase::Seeds);
    let stated = preparation::state_seeds(&stating, &name, &seeds, &permutations, &journal).await?;
    seeds.0[pair.index()] = Some(PairSeed::known([1; 32]));
    let bundles = &spec.check_bundles();
    let slice = Slice { job: &name, number: 0, bundles, failing: Failing::Stops(&seeds) };
    let run = preparation::slice_run(party, &name, 0);
    preparation::prepare::<Fp61>(&run, &slice, &stated, [1; 32], &journal).await?;
    Ok(())
}
