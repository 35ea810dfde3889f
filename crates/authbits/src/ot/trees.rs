//! Step 2: GGM trees, of whose leaves the holder misses one, and their check; and each pair's seed
//! of masks that cancel.

use ostrakon_crypto::{Digest, Transcript};
use ostrakon_kernels::{Prg, short_prg};
use ostrakon_party::PartyId;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::{Zeroize, Zeroizing};

use super::base::{BaseKey, BaseKeys};
use super::{Delta, KEY_BITS, LEAVES, LEVELS, TREES};
use crate::abort::Abort;
use crate::run::{Kind, Run};

const NODE: usize = 16;
/// Bytes of t_y, and of the seed beside it.
const HALF_LEAF: usize = 32;
/// Two sums for each level, ⊕t_y, H(t_0 ‖ … ‖ t_15).
const TREE_MESSAGE: usize = 2 * NODE * LEVELS + 2 * HALF_LEAF;
/// Bytes of a party's part of a pair's seed.
const SEED: usize = 32;
/// Bytes of a message of this step.
pub(crate) const MESSAGE: usize = TREES * TREE_MESSAGE + SEED;

/// The streams of a tree's leaves: all of them at the owner; at the holder in the order of
/// `y ⊕ Δ[nibble]`, the first missing, so that no address depends on Δ.
pub(crate) struct Leaves(pub(crate) Vec<Prg>);

/// A pair of parties' trees at one of them.
pub(crate) struct PairTrees {
    pub(crate) owned: Vec<Leaves>,
    pub(crate) held: Vec<Leaves>,
    /// Whose digits the missing leaves are: Δ_i, the same with every honest owner.
    pub(crate) delta: Delta,
    /// A stream that both parties of the pair know, and nobody else if they are honest.
    pub(crate) common: Prg,
}

type Nodes = Zeroizing<Vec<[u8; NODE]>>;

fn expand(nodes: &Nodes) -> Nodes {
    let mut next = Zeroizing::new(Vec::with_capacity(2 * nodes.len()));
    for node in nodes.iter() {
        let mut children = Zeroizing::new([0; 2 * NODE]);
        short_prg(node, &mut *children);
        let (pair, _) = children.as_chunks::<NODE>();
        next.extend_from_slice(pair);
    }
    next
}

/// The sum of every second node.
fn sum(nodes: &Nodes, side: usize) -> [u8; NODE] {
    nodes.iter().skip(side).step_by(2).fold([0; NODE], |sum, node| xor(sum, *node))
}

fn xor<const N: usize>(mut a: [u8; N], b: [u8; N]) -> [u8; N] {
    a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b);
    a
}

/// t_y and the seed of a leaf.
fn leaf_halves(leaf: &[u8; NODE]) -> ([u8; HALF_LEAF], Zeroizing<[u8; HALF_LEAF]>) {
    let mut wide = Zeroizing::new([0; 2 * HALF_LEAF]);
    short_prg(leaf, &mut *wide);
    let (halves, _) = wide.as_chunks::<HALF_LEAF>();
    (halves[0], Zeroizing::new(halves[1]))
}

fn check_digest(tree: usize, checks: &[[u8; HALF_LEAF]]) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/authbits/leaves");
    transcript.number(tree as u64);
    checks.iter().for_each(|check| {
        transcript.field(check);
    });
    transcript.finish()
}

/// The base transfer of a tree's level. Bit 3 of a leaf's number is decided first.
fn transfer_of(tree: usize, level: usize) -> usize {
    LEVELS * tree + LEVELS - 1 - level
}

/// The owner's part of one tree: its leaves, and the message appended to `out`.
fn grow(run: &mut Run, tree: usize, keys: &[[BaseKey; 2]], out: &mut Vec<u8>) -> Leaves {
    let mut root = [0; NODE];
    run.draw(&mut root);
    let mut nodes: Nodes = Zeroizing::new(vec![root]);
    root.zeroize();
    for level in 0..LEVELS {
        nodes = expand(&nodes);
        for (side, key) in keys[transfer_of(tree, level)].iter().enumerate() {
            out.extend_from_slice(&xor(sum(&nodes, side), *key));
        }
    }
    let halves: Vec<_> = nodes.iter().map(leaf_halves).collect();
    let checks: Vec<_> = halves.iter().map(|(check, _)| *check).collect();
    out.extend_from_slice(&checks.iter().fold([0; HALF_LEAF], |sum, check| xor(sum, *check)));
    out.extend_from_slice(&check_digest(tree, &checks).0);
    Leaves(halves.iter().map(|(_, seed)| Prg::new(seed)).collect())
}

/// The holder's part of one tree whose leaf number `missing` it shall not learn. `None` if the
/// check fails.
fn receive(tree: usize, missing: usize, keys: &[BaseKey], message: &[u8]) -> Option<Leaves> {
    let (sums, checks_sent) = message.split_at(2 * NODE * LEVELS);
    let mut nodes: Nodes = Zeroizing::new(vec![[0; NODE]]);
    for level in 0..LEVELS {
        // The missing node is expanded too, into nothing that means anything; both its children are
        // then overwritten, the one that the sum gives and the one that stays missing.
        let mut next = expand(&nodes);
        let path = missing >> (LEVELS - level);
        let given = 1 ^ (missing >> (LEVELS - 1 - level) & 1);
        let number = transfer_of(tree, level);
        let masked: [u8; NODE] =
            sums[2 * NODE * level..][NODE * given..][..NODE].try_into().ok()?;
        next[2 * path] = [0; NODE];
        next[2 * path + 1] = [0; NODE];
        let rest = sum(&next, given);
        next[2 * path + given] = xor(xor(masked, keys[number]), rest);
        nodes = next;
    }
    let halves: Vec<_> = nodes.iter().map(leaf_halves).collect();
    let mut checks: Vec<_> = halves.iter().map(|(check, _)| *check).collect();
    checks[missing] = [0; HALF_LEAF];
    let others = checks.iter().fold([0; HALF_LEAF], |sum, check| xor(sum, *check));
    let (total, digest) = checks_sent.split_at(HALF_LEAF);
    checks[missing] = xor(others, total.try_into().ok()?);
    if !bool::from(check_digest(tree, &checks).0.ct_eq(digest)) {
        return None;
    }
    // Place e of the result is leaf e ⊕ missing; place 0 is empty.
    let place = |e: usize| {
        let mut seed = Zeroizing::new([0; HALF_LEAF]);
        for (y, (_, candidate)) in halves.iter().enumerate() {
            let wanted = (y as u8).ct_eq(&((e ^ missing) as u8));
            for (byte, candidate) in seed.iter_mut().zip(candidate.iter()) {
                byte.conditional_assign(candidate, wanted);
            }
        }
        Prg::new(&seed)
    };
    Some(Leaves((1..LEAVES).map(place).collect()))
}

/// The stream that a pair has in common, from both parties' parts.
fn common(run: &Run, peer: PartyId, own: &[u8], theirs: &[u8]) -> Prg {
    let mut parts = [(run.party.id, own), (peer, theirs)];
    parts.sort_by_key(|(party, _)| *party);
    let mut transcript = run.transcript("ostrakon/v1/authbits/masks that cancel");
    for (party, part) in parts {
        transcript.number(u64::from(party.0)).field(part);
    }
    let key = Zeroizing::new(transcript.finish().0);
    Prg::new(&key)
}

/// Step 2 with all peers at once; `deltas` says, by peer, which leaves are to be missing. By party;
/// nothing at the own place.
///
/// # Errors
/// [`Abort::Trees`] names an owner whose check fails.
pub(crate) async fn plant(
    run: &mut Run,
    keys: &BaseKeys,
    deltas: &[Delta],
) -> Result<Vec<Option<PairTrees>>, Abort> {
    let mut owned: Vec<Vec<Leaves>> = Vec::new();
    let mut bodies = Vec::new();
    for peer in run.party.roster.clone().parties() {
        let mut body = Vec::new();
        let trees = if peer == run.party.id { 0 } else { TREES };
        let sent = &keys.sent[peer.index()];
        owned.push((0..trees).map(|tree| grow(run, tree, sent, &mut body)).collect());
        let mut seed = Zeroizing::new([0; SEED]);
        run.draw(&mut *seed);
        body.extend_from_slice(&*seed);
        bodies.push(body);
    }
    let seeds: Vec<Zeroizing<Vec<u8>>> =
        bodies.iter().map(|body| body[body.len() - SEED..].to_vec().into()).collect();
    let received = run.exchange(Kind::Trees, bodies, MESSAGE).await?;
    let mut pairs = Vec::new();
    for (peer, owned) in run.party.roster.parties().zip(owned) {
        if peer == run.party.id {
            pairs.push(None);
            continue;
        }
        let delta = deltas[peer.index()].clone();
        let (messages, seed) = received[peer.index()].split_at(TREES * TREE_MESSAGE);
        let held: Option<Vec<Leaves>> = messages
            .chunks_exact(TREE_MESSAGE)
            .enumerate()
            .map(|(tree, message)| {
                receive(tree, delta.nibble(tree), &keys.received[peer.index()], message)
            })
            .collect();
        let common = common(run, peer, &seeds[peer.index()], seed);
        pairs.push(Some(PairTrees { owned, held: held.ok_or(Abort::Trees(peer))?, delta, common }));
    }
    const { assert!(KEY_BITS == TREES * LEVELS) };
    Ok(pairs)
}
