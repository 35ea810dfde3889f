//! What creators ask of graphs, owners hand in, members sign and servers show of each other.

use std::sync::LazyLock;

use ostrakon_computation::{Archive, ComputationId, Conclusion, Draft, Input, Parameters};
use ostrakon_crypto::sealed::ExchangeKey;
use ostrakon_crypto::{Digest, Secret};
use ostrakon_graph::asked::{
    self, Closed, Contribution, GraphResult, MOST_WORDS, Naming, Noise, Program, ReaderKey,
    SealedSeeds, Shown, Terms, Values,
};
use ostrakon_graph::owner::Edge;
use ostrakon_graph::ruffle2::fault::{Accused, Evidence};
use ostrakon_graph::ruffle2::steps::Kind;
use ostrakon_party::wire::encode;
use ostrakon_party::{
    Header, Instance, InstanceKind, PartyId, Recipient, Roster, SignedHeader, Tag,
};

use super::{computations, key, servers};

const COMPUTATION: ComputationId = ComputationId(Digest([5; 32]));

fn terms(program: Program, shown: Shown) -> Terms {
    let naming = Naming::Names(["a", "b", "c"].map(String::from).to_vec());
    let (undirected, weighted, noise, reader, keep) = (false, false, None, None, None);
    let (vertices, edges) = (3, 2);
    Terms { vertices, naming, edges, undirected, weighted, program, shown, noise, reader, keep }
}

/// Distances, for one reader.
static TERMS: LazyLock<Terms> = LazyLock::new(|| {
    let program = Program::Distances { from: vec![0], hops: 2, processors: None };
    let reader = Some(ReaderKey(asked::reader(&[9; 32]).public()));
    Terms { reader, ..terms(program, Shown::Vertices) }
});

pub fn valid_distances() -> Vec<u8> {
    asked::parameters(&TERMS).0
}

pub fn valid_noisy() -> Vec<u8> {
    let noise = Some(Noise { epsilon: 8000, bins: 1 });
    let terms = Terms { noise, ..terms(Program::InDegrees, Shown::Counts) };
    asked::parameters(&terms).0
}

pub fn valid_ranks() -> Vec<u8> {
    let program = Program::Pagerank { damping: 850, hops: 3 };
    asked::parameters(&terms(program, Shown::Top(1))).0
}

pub fn valid_shortest() -> Vec<u8> {
    let program = Program::Shortest { from: vec![0], within: 4, longest: 3 };
    asked::parameters(&terms(program, Shown::Vertices)).0
}

/// Terms have one form; those that are taken fit into a server's memory, and whatever follows from
/// them can be worked out.
pub fn read_terms(bytes: &[u8]) -> bool {
    let draft = Draft {
        committee: Digest([1; 32]),
        job: asked::JOB.into(),
        parameters: Parameters(bytes.to_vec()),
        title: "How far?".into(),
        minimum: 1,
        contributors: ostrakon_computation::Contributors::Anyone,
        closes: None,
        creator: key(9).verifying_key(),
        nonce: [0; 16],
    };
    let Ok(terms) = asked::terms(&draft) else { return false };
    assert_eq!(asked::parameters(&terms).0, bytes, "terms have one form");
    assert!(terms.words(terms.most_owners()) <= MOST_WORDS, "they fit into memory");
    assert!(Contribution::bytes(&terms) < 1 << 30, "contributions are bounded");
    let _ = (terms.closed_words(), terms.value_bits(1), terms.coins(), terms.epsilon());
    let _ = (terms.validate_for_anyone(1), terms.validate_again(&TERMS, 1));
    true
}

fn member(member: u8) -> ExchangeKey {
    ExchangeKey::new(&Secret::new([100 + member; 32]))
}

static INPUT: LazyLock<Input> = LazyLock::new(|| {
    let edges = [Edge { source: Some(0), target: Some(1) }, Edge { source: None, target: Some(2) }];
    let members = [0, 1, 2].map(|id| member(id).public());
    let randomness = Secret::new([6; 32]);
    asked::make(&COMPUTATION, &TERMS, &members, &edges, key(5), &randomness).expect("two edges")
});

pub fn valid_contribution() -> Vec<u8> {
    INPUT.body.to_vec()
}

fn seeds_of(contribution: &Contribution) -> Vec<Option<[[u8; 32]; asked::SEEDS]>> {
    let owner = key(5).verifying_key();
    let open = |id| contribution.open((&COMPUTATION, &owner), id, &member(id));
    let exposed =
        |seeds: Option<[Secret; asked::SEEDS]>| seeds.map(|seeds| seeds.map(|seed| *seed.expose()));
    (0..3).flat_map(open).map(exposed).collect()
}

/// What is taken has three permutations, and seeds that the owner has sealed or none.
pub fn read_contribution(bytes: &[u8]) -> bool {
    static OWN: LazyLock<Vec<Option<[[u8; 32]; asked::SEEDS]>>> =
        LazyLock::new(|| seeds_of(&Contribution::read(&INPUT.body, &TERMS).expect("the owner's")));
    let Ok(contribution) = Contribution::read(bytes, &TERMS) else { return false };
    for map in &contribution.maps.0 {
        let mut rows = map.clone();
        rows.sort_unstable();
        assert!(rows.into_iter().eq(0..TERMS.rows()), "a permutation");
    }
    assert!(bytes.ends_with(&contribution.maps.encode()), "maps have one form");
    for (seeds, own) in seeds_of(&contribution).into_iter().zip(&*OWN) {
        assert!(seeds.is_none() || seeds == *own, "nobody else has sealed seeds");
    }
    true
}

fn result(values: Values) -> Vec<u8> {
    encode(&GraphResult { accepted: 1, excluded: vec![key(6).verifying_key()], values })
}

pub fn valid_vertices() -> Vec<u8> {
    result(Values::Vertices(vec![Some(0), Some(1), None]))
}

pub fn valid_counts() -> Vec<u8> {
    result(Values::Counts(vec![(None, 1), (Some(0), 1), (Some(1), 1)]))
}

pub fn valid_closed() -> Vec<u8> {
    let to = TERMS.reader.expect("for a reader");
    let seeds = [0, 1, 2].map(|pair| Secret::new([20 + pair; 32]));
    let of = |id: u8, [a, b]: [usize; 2]| {
        SealedSeeds::new(&COMPUTATION, id, [&seeds[a], &seeds[b]], &to, [30 + id; 32])
    };
    // By pairs 01, 02 and 12.
    let seeds = [of(0, [0, 1]), of(1, [0, 2]), of(2, [1, 2])];
    let masked = Parameters(vec![7; 8 * TERMS.closed_words()]);
    result(Values::Closed(Box::new(Closed { seeds, masked })))
}

/// Members sign a result unread by others: however they have made it, whoever reads it can show
/// it, or is told that it cannot be read.
pub fn read_result(bytes: &[u8]) -> bool {
    let conclusion = Conclusion::Reached(Parameters(bytes.to_vec()));
    let archive = Archive { conclusion, ..computations::ARCHIVE.clone() };
    let Ok(Some(result)) = asked::result(&archive) else { return false };
    assert_eq!(encode(&result), bytes, "a result has one form");
    let (program, reader) = (&TERMS.program, asked::reader(&[9; 32]));
    let Ok((values, liars)) = result.values.opened(&COMPUTATION, &TERMS, &reader) else {
        return false;
    };
    assert!(liars.len() < 3, "somebody's seeds were opened");
    let _ = (values.counts(), values.components(), values.pictured(program));
    true
}

const JOB: Instance = Instance { kind: InstanceKind::Graph, scope: [3; 16], number: 7 };

/// What server 0 or 1 says of the job; server 2 says nothing.
fn said(from: u8, kind: Kind, to: Recipient, body: &[u8]) -> SignedHeader {
    let tag = Tag { instance: JOB, step: kind.step(), sequence: 4 };
    let (length, digest) = (body.len() as u64, Header::digest_of(body));
    let (session, from) = (servers().session, PartyId(from));
    Header { session, tag, from, to, length, digest }.sign(key(from.0))
}

/// Server 0 has said two things.
pub fn valid_equivocation() -> Vec<u8> {
    let say = |fill: u8| said(0, Kind::Vote, Recipient::All, &[fill; 32]);
    Evidence::Equivocation(Box::new([say(1), say(2)])).encode()
}

/// Server 1 vouches for another table than server 0 has sent.
pub fn valid_conflict() -> Vec<u8> {
    let (to, stated) = (Recipient::One(PartyId(2)), Digest([8; 32]));
    let table = Box::new(said(0, Kind::Opening, to, &[5; 64]));
    let digest = Box::new(said(1, Kind::OpeningDigest, to, &stated.0));
    Evidence::Conflict { table, digest, stated }.encode()
}

/// Whatever is shown convicts those alone who have signed it.
pub fn read_evidence(bytes: &[u8]) -> bool {
    let Ok(evidence) = Evidence::decode(bytes) else { return false };
    assert_eq!(evidence.encode(), bytes, "evidence has one form");
    let ostrakon_party::Servers { session, keys } = servers();
    let accused = evidence.accused(&Roster { session, keys }, &JOB);
    let (both, one) = (Accused::OneOf(PartyId(0), PartyId(1)), Accused::One(PartyId(0)));
    assert!(accused.is_none_or(|accused| accused == both || accused == one), "{accused:?}");
    accused.is_some()
}
