//! What a job costs in bytes and rounds, as formulas. Tests compare what is sent with these.
//!
//! Bytes are those of message bodies, over all three servers, everybody honest. Headers and
//! signatures (fewer than [`SIGNED_HEADER`] bytes for a message) and TLS are not in them. N is the
//! number of rows of a list: vertices and edges.
//!
//! | phase | grows with the table | rounds |
//! |---|---|---|
//! | preparation of a slice of h hops | `18·(N·(8·h + 8) + 32)` per list | 13, seeds 2 |
//! | of the order check | `18·(N·(24 + 8) + 32)` per list | 13 |
//! | link | `(9·24 + 9·24)·N` per list for the check, `9·8·N` a hop | 17 |
//! | hops | `9·8·N` per list and hop | 1 + 7 a hop |
//! | zero tests of n values | `3·8·n` products, `3·8·n` opened | 8 + 2·log₁₆ n |
//! | hops by scatter and gather with P processors | [`minima`] | 2·(N/P + log₂ P) a hop, and 40 |

use ostrakon_field::ELEMENT_BYTES;

use crate::graphsc::Blocks;
use crate::output::top::DECIDED;
use crate::params::CHECK_WORDS;
use crate::program::number_bits;
use crate::ranking::ranking_steps;
use crate::ranking::truncation::BITS;
use crate::ruffle2::steps::SALT;
use crate::ruffle2::uses::Bundle;
use crate::ruffle2::verify::{PIECES, levels};
use crate::spec::JobSpec;

/// No signed header takes more bytes than this in a message body.
pub const SIGNED_HEADER: u64 = 256;

/// Servers other than the sender, counted for each sender.
const DIRECTED_LINKS: u64 = 6;

/// Messages with a table for every opening and every use, and as many digests.
const TABLES: u64 = 3;

const DIGEST: u64 = 32;
const ELEMENT: u64 = ELEMENT_BYTES as u64;

/// Bytes sent by all three servers together: `table` in tables, exactly, and at most `constant` in
/// everything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The part that grows with the graph.
    pub table: u64,
    /// A bound on the part that does not.
    pub constant: u64,
}

impl std::ops::Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost { table: self.table + other.table, constant: self.constant + other.constant }
    }
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(costs: I) -> Cost {
        costs.fold(Cost::default(), std::ops::Add::add)
    }
}

const fn broadcast(body: u64) -> u64 {
    DIRECTED_LINKS * (body + 2 * SIGNED_HEADER)
}

/// Rounds of an authenticated broadcast.
const BROADCAST_ROUNDS: u32 = 2;

/// Rounds of the preparation of a slice: three stages; statements about messages, coin and sums.
pub const SLICE_ROUNDS: u32 = 3 + 5 * BROADCAST_ROUNDS;

/// Rounds of three shuffles, the middle one mirrored.
pub const HOP_ROUNDS: u32 = 7;

/// Rounds of [`crate::job::Stock::link`]: lists, their vote, the coin, differences of the check,
/// its shuffles, verdicts, differences of the hops.
pub const LINK_ROUNDS: u32 = BROADCAST_ROUNDS + 1 + 2 * BROADCAST_ROUNDS + 1 + HOP_ROUNDS + 1 + 1;

/// Tables of so many bytes, each sent to one server, and digests of them to it by another one.
fn vouched(tables: u64, bytes: u64) -> Cost {
    Cost { table: TABLES * tables * bytes, constant: TABLES * tables * DIGEST }
}

/// Statements about seeds.
pub fn seeds(spec: &JobSpec) -> Cost {
    let digests = 2 * (2 + 3 * spec.lists.len() as u64);
    Cost { table: 0, constant: broadcast(digests * DIGEST) }
}

/// Preparation of one slice.
pub fn slice(bundles: &[Bundle]) -> Cost {
    let tables: u64 = bundles.iter().map(|bundle| bundle.bytes() as u64).sum();
    let count = bundles.len() as u64;
    let transcripts = broadcast(16 + 4 * SIGNED_HEADER * count);
    let coin = broadcast(DIGEST) + broadcast(64);
    let sums = broadcast(DIGEST) + broadcast(64 + 3 * ELEMENT * count);
    let messages = 6 * (tables + SALT as u64 * count);
    Cost { table: messages, constant: transcripts + coin + sums }
}

/// The whole preparation.
pub fn preparation(spec: &JobSpec) -> Cost {
    let slices = [spec.check_bundles()].into_iter().chain(spec.hop_slices());
    seeds(spec) + slices.map(|bundles| slice(&bundles)).sum::<Cost>()
}

/// Sealing, coin, order check and differences, if every upload has reached all servers.
pub fn link(spec: &JobSpec) -> Cost {
    link_alone(spec) + differences(spec)
}

/// As [`link`], for a program whose uses begin alone: no differences are opened.
pub fn link_alone(spec: &JobSpec) -> Cost {
    let places = spec.lists.len() as u64 + u64::from(spec.querier.is_some());
    let sealing = broadcast(96 * places) + DIRECTED_LINKS * DIGEST;
    let coin = broadcast(DIGEST) + broadcast(64);
    let lists = (0..spec.lists.len()).map(|list| {
        let rows = spec.rows(list) as u64;
        let check = vouched(2 * 3, rows * u64::from(CHECK_WORDS) * ELEMENT);
        check + vouched(1, ELEMENT)
    });
    Cost { table: 0, constant: sealing + coin } + lists.sum()
}

/// Rounds of linking for such a program.
pub const LINK_ALONE_ROUNDS: u32 = LINK_ROUNDS - 1;

/// The differences of all hops, or the tables of all their shuffles.
fn differences(spec: &JobSpec) -> Cost {
    let list = |list| vouched(3 * u64::from(spec.hops), spec.rows(list) as u64 * ELEMENT);
    (0..spec.lists.len()).map(list).sum()
}

/// All hops.
pub fn hops(spec: &JobSpec) -> Cost {
    votes() + differences(spec)
}

/// A vote on a table.
fn votes() -> Cost {
    Cost { table: 0, constant: DIRECTED_LINKS * DIGEST }
}

/// Rounds of [`hops`].
pub fn hop_rounds(spec: &JobSpec) -> u32 {
    1 + HOP_ROUNDS * spec.hops
}

/// Zero tests of so many values: products, their verification, opening.
pub fn zero_tests(values: usize) -> Cost {
    batch(values, &[]) + opening(values)
}

/// An opening of so many elements.
pub fn opening(elements: usize) -> Cost {
    vouched(1, elements as u64 * ELEMENT)
}

/// A batch of so many products, in which vectors of these lengths are opened under masks.
pub fn batch(products: usize, masked: &[usize]) -> Cost {
    let values = products;
    let (folds, mut length) = (levels(values), values);
    (0..folds).for_each(|_| length = length.div_ceil(PIECES));
    let points = folds * (2 * PIECES - 2) + 2 * length;
    let coins = folds as u64 + 2;
    let products = TABLES * ELEMENT * (values + points) as u64;
    let commitments = broadcast(DIGEST * coins) + DIRECTED_LINKS * 64 * coins;
    let both = Cost { table: products, constant: commitments };
    both + opening(3) + masked.iter().map(|length| opening(*length)).sum()
}

/// Products of the bits of one mask: three pairs' bits, added modulo 2.
const OF_A_MASK: usize = 2 * BITS;
/// Products of comparing a number with its mask in two parts: all bits but one of each are joined
/// to others, with two products.
const OF_A_COMPARISON: usize = 2 * (BITS - 2);

/// A division of so many numbers, beside so many products in the same batch; the masks' bits are in
/// a batch before.
fn quotients(numbers: usize, products: usize) -> Cost {
    let division = numbers * (OF_A_COMPARISON + 2);
    batch(numbers * OF_A_MASK, &[]) + batch(products + division, &[numbers])
}

/// Ranking, its hops included.
pub fn ranking(spec: &JobSpec) -> Cost {
    let vertices = spec.vertices as usize;
    let inverses =
        (0..ranking_steps(spec)).map(|_| quotients(vertices, 2 * vertices)).sum::<Cost>();
    let step = || quotients(vertices, vertices) + opening(vertices) + quotients(1, 0);
    let steps = (1..spec.hops).map(|_| step()).sum::<Cost>();
    hops(spec) + inverses + quotients(vertices, 0) + steps
}

/// Components, their hops included.
pub fn components(spec: &JobSpec) -> Cost {
    let bits = 0..number_bits(spec.vertices);
    hops(spec) + bits.map(|_| zero_tests(spec.vertices as usize) + votes()).sum()
}

/// The highest values of so many vertices, by keys of so many bits, opened.
pub fn top(vertices: usize, bits: usize) -> Cost {
    let apart = vertices * (OF_A_COMPARISON + 1 + bits);
    let decided = |bits: usize| batch(bits * (3 * vertices + OF_A_COMPARISON + 2), &vec![1; bits]);
    let all: Vec<usize> = (0..bits).collect();
    batch(vertices * OF_A_MASK, &[])
        + batch(apart, &[vertices])
        + batch(bits * OF_A_MASK, &[])
        + all.chunks(DECIDED).map(|some| decided(some.len())).sum()
        + batch(vertices, &[])
        + opening(2 * vertices)
}

/// Rounds of [`zero_tests`]: the products, their verification, the opening of the results.
pub fn zero_test_rounds(values: usize) -> u32 {
    1 + verification_rounds(values) + 1
}

/// Rounds of verifying so many products: commitments to coins and the first coin; two a level; the
/// last level and its opening. Nothing where nothing is multiplied.
fn verification_rounds(products: usize) -> u32 {
    if products == 0 { 0 } else { BROADCAST_ROUNDS + 1 + 2 * levels(products) as u32 + 3 }
}

/// Scatter and gather with so many processors, the opening of the distances included: bytes, and
/// rounds. Each of a hop's three uses takes an opening and three rounds more.
pub fn minima(spec: &JobSpec, processors: u32) -> (Cost, u32) {
    let (lists, vertices) = (spec.lists.len(), spec.vertices as usize);
    let rows: usize = (0..lists).map(|list| spec.rows(list)).sum();
    let (blocks, lanes) = (Blocks::new(rows, processors as usize), spec.hops as usize + 1);
    let verified = |products: usize, rounds: u32| {
        let cost = if products == 0 { Cost::default() } else { batch(products, &[]) };
        (cost, rounds + verification_rounds(products))
    };
    let scatter = verified(blocks.products(), blocks.rounds());
    let gather = verified(rows + lanes * blocks.products(), 1 + blocks.rounds());
    let least = verified((lists - 1) * vertices * lanes, lists as u32 - 1);
    let tables = (0..lists).map(|list| vouched(2 * 3, spec.rows(list) as u64 * ELEMENT));
    let hop = tables.sum::<Cost>() + scatter.0 + gather.0 + least.0;
    let rounds = 3 * (1 + 3) + scatter.1 + gather.1 + least.1;
    let all = (0..spec.hops).map(|_| hop).sum::<Cost>();
    (all + opening(vertices), spec.hops * rounds + 1)
}
