//! Each kind of message of each phase, of whatever is asked, in each way in which a corrupt server
//! can change it: setup, link, query, products and output.
//!
//! By day each pair of a kind and a way is tried once, at one of the servers, with what is asked
//! first of all that sends such messages. `OSTRAKON_NIGHTLY` tries each with everything, at every
//! server, with its first, a middle and its last message.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use ostrakon_graph::asked::{self, Noise, Program, ReaderKey, Shown, Terms, Values};
use ostrakon_graph::attempt::{self, Computation, Failed};
use ostrakon_graph::owner::Edge;
use ostrakon_graph::ruffle2::seeds::Phase;
use ostrakon_graph::ruffle2::steps::Kind;
use ostrakon_party::{Instance, PartyId, Step};
use ostrakon_testkit::{Mutation, Network, Saboteur, Target, World};

use crate::common::{Journals, edge, is_just, nightly};
use crate::service::{COMPUTATION, Ends, all, attempt, contribute, distances, spoilt, terms};

const READER: [u8; 32] = [9; 32];
const PARTIES: u8 = 3;

/// Small graphs of which everything can be asked, as far as messages differ; and to which server an
/// owner has not dealt.
fn asked() -> Vec<(Terms, Option<usize>)> {
    let of = |program, shown| terms(3, 3, program, shown);
    let to_reader =
        |terms: Terms| Terms { reader: Some(ReaderKey(asked::reader(&READER).public())), ..terms };
    let noisy = |program, bins| Terms {
        noise: Some(Noise { epsilon: 8000, bins }),
        ..of(program, Shown::Counts)
    };
    let scattered = Program::Distances { from: vec![0], hops: 1, processors: Some(2) };
    let all = vec![
        terms(12, 2, distances(0, 1), Shown::Counts),
        to_reader(of(Program::InDegrees, Shown::AtLeast(1))),
        of(Program::OutDegrees, Shown::Top(1)),
        noisy(Program::Edges, 0),
        noisy(Program::InDegrees, 1),
        Terms { undirected: true, ..of(Program::Components { hops: 1 }, Shown::Vertices) },
        of(Program::Katz { base: 2, hops: 2 }, Shown::Vertices),
        to_reader(of(scattered, Shown::Vertices)),
        of(Program::Pagerank { damping: 850, hops: 1 }, Shown::Vertices),
    ];
    // The owner has dealt to everybody; and once not to one of the servers, whom others help.
    let lacking = (of(Program::InDegrees, Shown::Vertices), Some(1));
    all.into_iter().map(|terms| (terms, None)).chain([lacking]).collect()
}

/// Where a message belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Setup,
    Link,
    Query,
}

fn parts(terms: &Terms, number: u64) -> BTreeMap<Instance, Part> {
    let name = attempt::spec(&COMPUTATION, terms, 1, number).name();
    let all = attempt::instances(&COMPUTATION, terms, 1, number).into_iter();
    let of = |instance: Instance| {
        let part = match instance {
            link if link == name.instance(Phase::Link) => Part::Link,
            query if query == name.instance(Phase::Query) => Part::Query,
            _ => Part::Setup,
        };
        (instance, part)
    };
    all.map(of).collect()
}

/// A kind of message, where it is sent.
type Sort = (Part, Step);

/// The numbers of a server's messages, by kind.
fn sorted(
    network: &Network,
    parts: &BTreeMap<Instance, Part>,
    of: PartyId,
) -> BTreeMap<Sort, Vec<usize>> {
    let mut sorted = BTreeMap::<Sort, Vec<usize>>::new();
    let sent = network.sent().into_iter().filter(|(_, m)| m.signed.header.from == of);
    for (number, (_, message)) in sent.enumerate() {
        let tag = message.signed.header.tag;
        sorted.entry((parts[&tag.instance], tag.step)).or_default().push(number);
    }
    sorted
}

/// What a result says, to whoever may read it, and who has lied to it.
fn read(terms: &Terms, values: Values) -> (Values, Vec<usize>) {
    values.opened(&COMPUTATION, terms, &asked::reader(&READER)).expect("it can be read")
}

/// What a corrupt server does to an attempt on one list.
struct Trial<'a> {
    terms: &'a Terms,
    number: u64,
    corrupt: PartyId,
    way: Mutation,
    /// What an honest server may have at the end.
    right: &'a Values,
}

impl Trial<'_> {
    /// An honest server has the right result or none, and blames nobody honest.
    fn judge(&self, ends: Ends, what: &str) {
        let harmless = matches!(self.way, Mutation::Duplicate | Mutation::Delay);
        let roster = World::new(self.number, 3).roster;
        let instances = attempt::instances(&COMPUTATION, self.terms, 1, self.number);
        let honest = |(id, _): &(usize, _)| *id != self.corrupt.index();
        for (id, end) in ends.into_iter().enumerate().filter(honest) {
            match end {
                None => assert!(!harmless, "{what}: P{id} waits"),
                Some(Ok(computation)) => {
                    let got = (&computation.values, &computation.excluded[..]);
                    assert_eq!(got, (self.right, &[][..]), "{what}");
                }
                Some(Err(Failed::TooFew { .. })) => panic!("{what}: an honest list was left out"),
                Some(Err(Failed::Stop(stop))) => {
                    assert!(!harmless, "{what}: {stop}");
                    let just = is_just(&stop, self.corrupt, &roster, &instances);
                    assert!(just, "{what}: {stop:?}");
                }
            }
        }
    }
}

/// An honest server has the right result or none, and blames nobody honest. Who lies to the reader
/// is named to it, and the result is right nevertheless.
fn judged(trial: &Trial<'_>, ends: Ends, what: &str) {
    let opened = |end: Result<Computation, Failed>| {
        end.map(|computation| {
            let (values, liars) = read(trial.terms, computation.values);
            let named = liars.iter().all(|liar| *liar == trial.corrupt.index());
            assert!(named, "{what}: {liars:?} are called liars");
            Computation { values, ..computation }
        })
    };
    let honest = |(id, end): (usize, Option<Result<Computation, Failed>>)| {
        if id == trial.corrupt.index() { None } else { end.map(opened) }
    };
    trial.judge(ends.into_iter().enumerate().map(honest).collect(), what);
}

/// One question, in whose honest run every server's messages are known.
struct Question {
    terms: Terms,
    number: u64,
    bodies: [Vec<u8>; 1],
    /// Whether the owner has dealt to everybody: else its list may be left out.
    dealt: bool,
    right: Values,
    sent: [BTreeMap<Sort, Vec<usize>>; PARTIES as usize],
    /// Bodies of another attempt, for replays.
    others: [Arc<Vec<Bytes>>; PARTIES as usize],
}

impl Question {
    fn new(number: u64, terms: Terms, lacks: Option<usize>) -> Self {
        let edges: Vec<Edge> = vec![edge(0, 1), edge(1, 2)];
        let edges = &edges[..2.min(terms.edges as usize)];
        let body = contribute(&terms, 0, edges).body;
        let bodies = [lacks.map_or(body.clone(), |server| spoilt(body, server))];
        let (network, replay) = (Network::default(), Network::default());
        let run = |network, number| {
            all(attempt(network, &terms, (1, number), &bodies, &Journals::default())).1
        };
        let right = read(&terms, run(&network, number)).0;
        run(&replay, number + 100);
        let parts = parts(&terms, number);
        let sent = [0, 1, 2].map(|id| sorted(&network, &parts, PartyId(id)));
        let others = [0, 1, 2].map(|id| {
            let own = replay.sent().into_iter();
            let own = own.filter(|(_, m)| m.signed.header.from == PartyId(id));
            Arc::new(own.map(|(_, m)| m.body).collect())
        });
        Self { terms, number, bodies, dealt: lacks.is_none(), right, sent, others }
    }

    fn try_one(&self, corrupt: PartyId, target: usize, way: Mutation) {
        let network = Network::default();
        let key = World::new(self.number, PARTIES).key(corrupt);
        let others = self.others[corrupt.index()].clone();
        let seed = self.number + target as u64;
        network.corrupt(Saboteur::new(corrupt, key, seed, Target::Nth(target), way, others));
        let mut ends =
            attempt(&network, &self.terms, (1, self.number), &self.bodies, &Journals::default());
        if !self.dealt {
            // Then it ends without a result.
            for end in &mut ends {
                end.take_if(|end| matches!(end, Err(Failed::TooFew { .. })));
            }
        }
        let what = format!("{:?}, {corrupt}, message {target}, {way:?}", self.terms.program);
        let (terms, number, right) = (&self.terms, self.number, &self.right);
        judged(&Trial { terms, number, corrupt, way, right }, ends, &what);
    }

    /// Tries what has not been tried: at one server and message each.
    fn by_day(&self, tried: &mut BTreeMap<Sort, BTreeSet<Mutation>>) {
        let sorts: BTreeSet<Sort> =
            self.sent.iter().flat_map(|sent| sent.keys().copied()).collect();
        for (turn, sort) in sorts.into_iter().enumerate() {
            let who: Vec<usize> =
                (0..usize::from(PARTIES)).filter(|id| self.sent[*id].contains_key(&sort)).collect();
            for (number, way) in Mutation::ALL.into_iter().enumerate() {
                if !tried.entry(sort).or_default().insert(way) {
                    continue;
                }
                let corrupt = who[(turn + number) % who.len()];
                let messages = &self.sent[corrupt][&sort];
                let target = messages[(3 * turn + 7 * number) % messages.len()];
                self.try_one(PartyId(u8::try_from(corrupt).unwrap()), target, way);
            }
        }
    }

    fn by_night(&self, tried: &mut BTreeMap<Sort, BTreeSet<Mutation>>) {
        for corrupt in (0..PARTIES).map(PartyId) {
            for (sort, messages) in &self.sent[corrupt.index()] {
                let last = messages.len() - 1;
                for place in BTreeSet::from([0, last / 2, last]) {
                    for way in Mutation::ALL {
                        tried.entry(*sort).or_default().insert(way);
                        self.try_one(corrupt, messages[place], way);
                    }
                }
            }
        }
    }
}

/// The kinds that an attempt has while nobody is to blame. (Lists that owners upload to servers
/// that wait for them are swept with their jobs.)
const SENT: [Kind; 27] = [
    Kind::SeedStatement,
    Kind::PairKey,
    Kind::PairContribution,
    Kind::Holding,
    Kind::DealtSeeds,
    Kind::ShufflePair1,
    Kind::ShufflePair2,
    Kind::ShufflePair3,
    Kind::TranscriptStatement,
    Kind::CoinCommitment,
    Kind::CoinOpening,
    Kind::SumCommitment,
    Kind::SumOpening,
    Kind::Vote,
    Kind::Opening,
    Kind::OpeningDigest,
    Kind::ReaderSeeds,
    Kind::Delta1,
    Kind::Delta1Digest,
    Kind::Delta2,
    Kind::Delta2Digest,
    Kind::Delta3,
    Kind::Delta3Digest,
    Kind::Product,
    Kind::LevelCommitment,
    Kind::LevelOpening,
    Kind::LevelProduct,
];

/// Whether it is a statement that is passed on.
fn is_echo(step: Step) -> bool {
    SENT.iter().any(|kind| kind.echo() == step)
}

#[test]
fn every_kind_of_message_of_whatever_is_asked_in_every_way() {
    let mut tried = BTreeMap::new();
    for (number, (terms, lacks)) in (70..).zip(asked()) {
        let question = Question::new(number, terms, lacks);
        if nightly() { question.by_night(&mut tried) } else { question.by_day(&mut tried) }
    }
    let seen: BTreeSet<Step> = tried.keys().map(|(_, step)| *step).collect();
    let expected: BTreeSet<Step> = SENT.iter().map(|kind| kind.step()).collect();
    let first: BTreeSet<Step> = seen.iter().copied().filter(|step| !is_echo(*step)).collect();
    assert_eq!(first, expected);
    assert!(tried.values().all(|ways| ways.len() == Mutation::ALL.len()));
}

/// Every message of an attempt, changed in every way: an honest server has the right result or
/// none, and blames nobody honest alone.
#[test]
fn every_message_of_an_attempt() {
    let terms = terms(2, 1, distances(0, 1), Shown::Counts);
    let body = contribute(&terms, 0, &[edge(0, 1)]).body;
    let bodies = [body];
    let right = Values::Counts(vec![(Some(0), 1), (Some(1), 1)]);
    let seeds = if nightly() { 0..4 } else { 0..1 };
    for seed in seeds.map(|seed| 50 + seed) {
        let network = Network::default();
        let run =
            |network: &Network| attempt(network, &terms, (1, seed), &bodies, &Journals::default());
        assert_eq!(all(run(&network)).1, right);
        for corrupt in (0..3).map(PartyId) {
            // By day a message of three in one way each, so that neighbours together see all.
            let step = if nightly() { 1 } else { 3 };
            for number in (0..network.posted(corrupt)).step_by(step) {
                let (ways, one) = (Mutation::ALL.len(), number / step % Mutation::ALL.len());
                let ways = if nightly() { 0..ways } else { one..one + 1 };
                for mutation in ways.map(|way| Mutation::ALL[way]) {
                    let sabotaged = Network::default();
                    let key = World::new(seed, 3).key(corrupt);
                    let target = Target::Nth(number);
                    let drawn = seed + number as u64;
                    let others = Arc::new(vec![bytes::Bytes::from(vec![3; 32]); number + 1]);
                    sabotaged.corrupt(Saboteur::new(corrupt, key, drawn, target, mutation, others));
                    let what = format!("seed {seed}, {corrupt}, message {number}, {mutation:?}");
                    let (terms, right, way) = (&terms, &right, mutation);
                    let trial = Trial { terms, number: seed, corrupt, way, right };
                    trial.judge(run(&sabotaged), &what);
                }
            }
        }
    }
}
