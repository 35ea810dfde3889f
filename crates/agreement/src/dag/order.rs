//! Which leaders are committed, and in which order (spec 3): Tusk's rule.

use ostrakon_party::PartyId;

use crate::block::Reference;
use crate::params::{Params, Round};

use super::graph::Graph;

/// The leaders to commit next, the earliest first; none if nothing can be committed yet.
///
/// A leader is committed by itself if t + 1 blocks of the next round have it among their parents.
/// Any block two rounds above it then has a path to it, because its q parents share one of the
/// t + 1. So whoever commits a later leader finds this one on its way back.
pub(super) fn next_leaders(
    graph: &Graph,
    last: Round,
    params: &Params,
    leader: impl Fn(Round) -> Option<PartyId>,
) -> Vec<Reference> {
    let rounds = || (last + 2..=graph.top()).step_by(2);
    let certified = |round| {
        let held = graph.get((round, leader(round)?))?;
        Some(held.block.reference())
    };
    for round in rounds() {
        // A later leader says whether this one is committed only to those who know this one.
        if leader(round).is_none() {
            break;
        }
        let Some(direct) = certified(round) else { continue };
        if votes(graph, &direct) < params.believed() {
            continue;
        }
        let mut chain = vec![direct];
        for earlier in
            rounds().take_while(|earlier| *earlier < round).collect::<Vec<_>>().iter().rev()
        {
            let from = *chain.last().expect("the chain begins with the later leader");
            chain.extend(certified(*earlier).filter(|leader| graph.reaches(&from, leader)));
        }
        chain.reverse();
        return chain;
    }
    Vec::new()
}

/// How many certified blocks of the next round have `leader` among their parents.
fn votes(graph: &Graph, leader: &Reference) -> usize {
    let named = (leader.author, leader.digest);
    graph.round(leader.round + 1).filter(|held| held.block.block().parents.contains(&named)).count()
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
