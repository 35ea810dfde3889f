use ostrakon_party::Recipient;
use ostrakon_testkit::World;

use super::*;
use crate::batch::set_equality::tests::{SPEC, run, seeds};
use crate::messages::{PairStatement, SUM_OPENING, stages_of};

const SUBJECT: Subject = Subject::Batch(SPEC);

fn say(world: &World, from: u8, to: Recipient, kind: Kind, body: Vec<u8>) -> Statement {
    let (session, tag, length) = (world.roster.session, SUBJECT.tag(kind), body.len() as u64);
    let header =
        Header { session, tag, from: PartyId(from), to, length, digest: Header::digest_of(&body) };
    Statement { signed: header.sign(&world.key(PartyId(from))), body }
}

/// The signed headers of every stage's two messages.
fn headers(world: &World, messages: &[[Vec<u8>; 2]; 3]) -> [[SignedHeader; 2]; 3] {
    [0, 1, 2].map(|stage| {
        let [lower, higher] = STAGES[stage].members();
        let sent = |from: u8, to: u8, body: &[u8]| {
            say(world, from, Recipient::One(PartyId(to)), Kind::shuffle_pair(stage), body.to_vec())
                .signed
        };
        [sent(lower, higher, &messages[stage][0]), sent(higher, lower, &messages[stage][1])]
    })
}

fn transcript(world: &World, party: u8, headers: &[[SignedHeader; 2]; 3]) -> Statement {
    let last_table = Digest([if party == 0 { 0 } else { 9 }; 32]);
    let statement =
        TranscriptStatement { stages: stages_of(party).map(|stage| headers[stage]), last_table };
    say(world, party, Recipient::All, Kind::TranscriptStatement, wire::encode(&statement))
}

fn evidence(world: &World, headers: &[[SignedHeader; 2]; 3]) -> BatchEvidence {
    let seeds = seeds();
    let statement = |party: u8| {
        let of = |pair| pair_statement(&SPEC, &world.roster.session.0, pair, seeds.of(pair));
        let body = PairStatement::encode(&Pair::of_party(party).map(of));
        say(world, party, Recipient::All, Kind::SeedStatement, body)
    };
    let all = |kind, length| {
        [0, 1, 2].map(|party| say(world, party, Recipient::All, kind, vec![0; length]))
    };
    BatchEvidence {
        seeds: Pair::ALL.map(|pair| *seeds.of(pair).expose()),
        statements: [0, 1, 2].map(statement),
        transcripts: [0, 1, 2].map(|party| transcript(world, party, headers)),
        coins: all(Kind::CoinOpening, 64),
        sums: all(Kind::SumOpening, SUM_OPENING),
    }
}

/// P0 has sent P1 a false message in stage 1, and afterwards signs another B5, in which it is the
/// true one. What P1 computed from the false one, its message of stage 2, does not look false by
/// that.
#[test]
fn messages_stated_afterwards_convict_nobody() {
    let world = World::new(50, 3);
    let (arrived, _) = run(|stage, message| message[0] ^= u8::from(stage == 1));
    let (prescribed, _) = run(|_, _| ());
    assert_ne!(arrived[2], prescribed[2]);
    let headers_arrived = headers(&world, &arrived);
    let genuine = evidence(&world, &headers_arrived);
    assert_eq!(genuine.proven(&world.roster, &SUBJECT), Some(PartyId(0)));

    let mut forged = genuine;
    let mut stated = headers_arrived;
    stated[1][0] = headers(&world, &prescribed)[1][0];
    forged.transcripts[0] = transcript(&world, 0, &stated);
    assert_eq!(forged.proven(&world.roster, &SUBJECT), None);
}
