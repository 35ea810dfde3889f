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
//! | permutation of results (counts) | `9·8·V` a hop in link, as much in hops | 3 |
//! | zero tests of n values | `3·8·n` products, `3·8·n` opened | 8 + 2·log₁₆ n |
//! | counts from a threshold τ on | `3·8·n·τ` products, openings | τ + 8 + 2·log₁₆ n·τ |
//! | hops by scatter and gather with P processors | [`minima`] | 2·(N/P + log₂ P) a hop, and 40 |

use ostrakon_field::ELEMENT_BYTES;

use crate::asked::SealedSeeds;
use crate::batches::truncation::BITS;
use crate::blocks::Blocks;
use crate::output::top::{COUNTS, DECIDED};
use crate::params::CHECK_WORDS;
use crate::program::{POINT, number_bits};
use crate::ranking::ranking_steps;
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

/// Rounds of [`crate::stock::Stock::link`]: lists, their vote, the coin, differences of the check,
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

/// Fresh keys of the pairs and what is held of so many lists (`docs/spec/graph.md`, G1 and G2), if
/// owners have dealt to everybody.
pub fn dealing(lists: usize) -> Cost {
    let keys = broadcast(32) + DIRECTED_LINKS * 32;
    Cost { table: 0, constant: keys + broadcast(2 * lists as u64) }
}

/// Rounds of [`dealing`].
pub const DEALING_ROUNDS: u32 = BROADCAST_ROUNDS + 1 + BROADCAST_ROUNDS;

/// Sealing, coin, order check and differences, if every upload has reached all servers; and the
/// coins of decoys.
pub fn link(spec: &JobSpec) -> Cost {
    link_alone(spec) + differences(spec) + bits(decoys(spec))
}

/// Rounds of [`link`].
pub fn link_rounds(spec: &JobSpec) -> u32 {
    LINK_ROUNDS + bits_rounds(decoys(spec))
}

/// The same where owners have dealt, and their lists are voted for.
pub fn dealt_link_rounds(spec: &JobSpec) -> u32 {
    link_rounds(spec) - BROADCAST_ROUNDS
}

/// Rows of decoys.
fn decoys(spec: &JobSpec) -> usize {
    spec.decoys.map_or(0, |decoys| decoys.rows() as usize)
}

/// So many secret bits, verified.
fn bits(count: usize) -> Cost {
    if count == 0 { Cost::default() } else { batch(OF_A_BIT * count, &[]) }
}

/// Rounds of [`bits`]: three pairs' are added, one after the other.
fn bits_rounds(count: usize) -> u32 {
    batch_rounds(if count == 0 { 0 } else { 2 }, OF_A_BIT * count)
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
    (0..spec.lists.len()).map(list).sum::<Cost>() + outputs(spec)
}

/// The tables of the permutation of results, if there is one: a use for each hop.
fn outputs(spec: &JobSpec) -> Cost {
    let bytes = |of: crate::ruffle2::uses::Use| vouched(spec.hops.into(), of.bytes() as u64);
    spec.output_use(0).map_or(Cost::default(), bytes)
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
    // The last shuffle of a backward hop has exchanged roles, so the two overlap.
    let overlap = u32::from(spec.is_backward(spec.hops - 1));
    let outputs = if spec.shuffled { SHUFFLE_ROUNDS - overlap } else { 0 };
    1 + HOP_ROUNDS * spec.hops + outputs
}

/// Rounds of one shuffle by itself.
const SHUFFLE_ROUNDS: u32 = 3;

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

/// Rounds of a batch: products that follow each other, and their verification.
fn batch_rounds(multiplied: u32, products: usize) -> u32 {
    multiplied + verification_rounds(products)
}

/// As much opened to one reader: statements about seeds besides (`docs/spec/graph.md`, section 8).
pub fn closing(elements: usize) -> Cost {
    let seeds = Cost { table: 0, constant: broadcast(SealedSeeds::BYTES as u64) };
    seeds + opening(elements)
}

/// Rounds of [`closing`].
pub const CLOSING_ROUNDS: u32 = BROADCAST_ROUNDS + 1;

/// Counts from a threshold on, of so many vertices, of which so many are shown.
pub fn at_least(vertices: usize, threshold: usize, shown: usize) -> Cost {
    batch(threshold * vertices, &[]) + opening(vertices) + opening(shown)
}

/// Rounds of [`at_least`].
pub fn at_least_rounds(vertices: usize, threshold: usize) -> u32 {
    batch_rounds(threshold as u32, threshold * vertices) + 2
}

/// The same to one reader, who gets two vectors.
pub fn at_least_closed(vertices: usize, threshold: usize) -> Cost {
    batch((threshold + 1) * vertices, &[]) + closing(2 * vertices)
}

/// The number of edges among so many coins, opened.
pub fn total(coins: usize) -> Cost {
    bits(coins) + opening(1)
}

/// Rounds of [`total`].
pub fn total_rounds(coins: usize) -> u32 {
    bits_rounds(coins) + 1
}

/// Values among decoys, opened; and the rounds.
pub fn among_decoys(spec: &JobSpec) -> (Cost, u32) {
    let (rows, bins) = (spec.shown() as usize + decoys(spec), spec.decoys.map_or(0, |d| d.bins));
    let products = (bins as usize + 1) * rows;
    (batch(products, &[]) + opening(rows), batch_rounds(bins + 1, products) + 1)
}

/// Products of a bit that nobody knows: three pairs' bits, added modulo 2.
const OF_A_BIT: usize = 2;
/// Products of the bits of one mask.
const OF_A_MASK: usize = OF_A_BIT * BITS;
/// Products of comparing a number with its mask in two parts: all bits but one of each are joined
/// to others, with two products.
const OF_A_COMPARISON: usize = 2 * (BITS - 2);

/// A division of so many numbers, beside so many products in the same batch; the masks' bits are in
/// a batch before.
fn quotients(numbers: usize, products: usize) -> Cost {
    let division = numbers * (OF_A_COMPARISON + 2);
    batch(numbers * OF_A_MASK, &[]) + batch(products + division, &[numbers])
}

/// Rounds of a comparison with a mask, in two parts of which the longer one has so many bits.
fn comparison_rounds(longer: usize) -> u32 {
    longer.next_power_of_two().ilog2()
}

/// Rounds of a division by 2 to `shift` within a batch: an opening, comparisons, two products.
fn division_rounds(shift: usize) -> u32 {
    1 + comparison_rounds(shift.max(BITS - shift)) + 2
}

/// Rounds of [`quotients`] by 2^30 of products that follow each other.
fn quotient_rounds(numbers: usize, multiplied: u32, products: usize) -> u32 {
    let all = products + numbers * (OF_A_COMPARISON + 2);
    bits_rounds(numbers * BITS) + batch_rounds(multiplied + division_rounds(POINT), all)
}

/// Rounds of [`ranking`].
pub fn ranking_rounds(spec: &JobSpec) -> u32 {
    let vertices = spec.vertices as usize;
    let inverses = ranking_steps(spec) as u32 * quotient_rounds(vertices, 2, 2 * vertices);
    let step = quotient_rounds(vertices, 1, vertices) + 1 + HOP_ROUNDS + quotient_rounds(1, 0, 0);
    let scaled = quotient_rounds(vertices, 0, 0);
    1 + HOP_ROUNDS + inverses + scaled + (spec.hops - 1) * step
}

/// Rounds of [`components`].
pub fn components_rounds(spec: &JobSpec) -> u32 {
    let bits = number_bits(spec.vertices);
    HOP_ROUNDS * spec.hops + bits * (1 + zero_test_rounds(spec.vertices as usize))
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

/// Rounds of [`top`].
pub fn top_rounds(vertices: usize, bits: usize) -> u32 {
    let apart = 1 + comparison_rounds(BITS - BITS / 2) + 1 + bits as u32;
    let of_a_bit = 1 + division_rounds(COUNTS) + 1;
    let decided = |bits: usize| {
        let products = bits * (3 * vertices + OF_A_COMPARISON + 2);
        batch_rounds(of_a_bit * bits as u32, products)
    };
    let all: Vec<usize> = (0..bits).collect();
    bits_rounds(vertices * BITS)
        + batch_rounds(apart, vertices * (OF_A_COMPARISON + 1 + bits))
        + bits_rounds(bits * BITS)
        + all.chunks(DECIDED).map(|some| decided(some.len())).sum::<u32>()
        + batch_rounds(1, vertices)
        + 1
}

/// Rounds of [`zero_tests`]: the products, their verification, the opening of the results.
pub fn zero_test_rounds(values: usize) -> u32 {
    1 + verification_rounds(values) + 1
}

/// Rounds of verifying so many products: commitments to coins and the first coin; two a level; the
/// last level and its opening. Nothing where nothing is multiplied.
pub fn verification_rounds(products: usize) -> u32 {
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
