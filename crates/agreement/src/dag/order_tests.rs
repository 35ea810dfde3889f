//! The commit rule on every graph of two waves among four servers.
//!
//! Leaders stand in rounds 2 and 4. What the rule looks at is: which blocks of round 2 each block
//! of round 3 names (5 choices each: all, or all but one), which blocks of round 3 the second
//! leader
//! names (5), and how many blocks of round 5 that are seen name it. A server sees at least three
//! blocks of round 3, and what the leader names if it sees the leader. By symmetry the first
//! leader is server 0, and the second one server 0 or 1.

use ostrakon_crypto::Digest;
use ostrakon_party::{Delivery, SessionId, Trust};

use crate::block::{Block, Certificate, CheckedBlock, Slot};

use super::super::graph::Held;
use super::*;

const N: u8 = 4;

fn digest((round, author): Slot) -> Digest {
    let mut bytes = [author.0; 32];
    bytes[..8].copy_from_slice(&round.to_le_bytes());
    Digest(bytes)
}

/// A certified block that names the authors of the bits.
fn held(round: Round, author: u8, names: u8) -> Held {
    let slot = (round, PartyId(author));
    let parents = (0..N).filter(|i| names & (1 << i) != 0).map(PartyId);
    let block = Block {
        incarnation: 0,
        author: slot.1,
        round,
        parents: parents.map(|parent| (parent, digest((round - 1, parent)))).collect(),
        older: Vec::new(),
        records: Vec::new(),
        coin: None,
        beacons: Vec::new(),
        checkpoint: None,
        readmissions: Vec::new(),
    };
    let block = CheckedBlock::assumed(block, digest(slot));
    let certificate = Certificate { block: block.reference(), votes: Vec::new() };
    Held { block: block.into(), certificate }
}

/// All authors, or all but one.
const QUORUMS: [u8; 5] = [0b1111, 0b1110, 0b1101, 0b1011, 0b0111];

/// The rounds of the leaders that a server commits.
fn committed(graph: &Graph, second: PartyId, params: &Params) -> Vec<Round> {
    let leader = |round| Some(if round == 2 { PartyId(0) } else { second });
    let mut rounds: Vec<Round> = Vec::new();
    loop {
        let next = next_leaders(graph, rounds.last().copied().unwrap_or(0), params, leader);
        if next.is_empty() {
            return rounds;
        }
        rounds.extend(next.iter().map(|leader| leader.round));
    }
}

/// What servers commit that see different parts of one graph.
fn views(third: [u8; 4], second: u8, names: u8, params: &Params) -> Vec<Vec<Round>> {
    let mut found = Vec::new();
    let mut below = Graph::new(usize::from(N));
    (0..N).for_each(|author| below.insert(held(2, author, 0)));
    for seen in QUORUMS {
        let mut graph = below.clone();
        for author in 0..N {
            if seen & (1 << author) != 0 {
                graph.insert(held(3, author, third[usize::from(author)]));
            }
        }
        found.push(committed(&graph, PartyId(second), params));
        if names & !seen != 0 {
            continue;
        }
        graph.insert(held(4, second, names));
        for votes in 0..3 {
            if votes > 0 {
                graph.insert(held(5, votes, 1 << second));
            }
            found.push(committed(&graph, PartyId(second), params));
        }
    }
    found
}

/// The first graph that makes two servers commit different orders, if there is one.
fn fork(params: &Params) -> Option<([u8; 4], u8, u8)> {
    for code in 0..5usize.pow(4) {
        let third = [0, 1, 2, 3].map(|i| QUORUMS[code / 5usize.pow(i) % 5]);
        for second in 0..2 {
            for names in QUORUMS {
                let found = views(third, second, names, params);
                let longest = found.iter().max_by_key(|order| order.len()).unwrap();
                if !found.iter().all(|order| longest.starts_with(order)) {
                    return Some((third, second, names));
                }
            }
        }
    }
    None
}

fn params(corrupt: usize) -> Params {
    let trust = Trust::new(4, corrupt, Delivery::Guaranteed).unwrap();
    Params::with(SessionId(Digest([1; 32])), &Digest([2; 32]), trust, 8, 1).unwrap()
}

#[test]
fn no_graph_of_two_waves_makes_servers_commit_different_orders() {
    assert_eq!(fork(&params(1)), None);
}

#[test]
fn with_one_vote_for_two_some_graphs_fork() {
    // The same search finds forks where t votes commit a leader in place of t + 1.
    assert!(fork(&params(0)).is_some());
}
