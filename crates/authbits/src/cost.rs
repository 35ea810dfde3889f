//! What the protocols cost in bytes and rounds, as formulas. Tests compare the meters with these.
//!
//! Bytes are those of message bodies that one party sends to all its peers, everybody honest.
//! Headers and signatures and TLS are not in them. c parties, ℓ triples, buckets of B, N = Bℓ.
//!
//! | protocol | bytes that grow, for each peer | rounds |
//! |---|---|---|
//! | [`preparation`] | 16⅛·N + (B − 1)·ℓ/8: corrections 6 and 2, strings 8⅛ | 19 |
//! | [`random`] | 2 for each bit | 5 |
//! | [`adjust`] | ⅛ for each bit | 3 |
//! | [`elements`] | 8 for each element | 5 |
//! | [`circuit`] | ¼ for each AND gate | the AND depth |
//! | [`reveal`] | ⅛ for each bit | 10 |
//! | [`import`] | 4⅛ for each bit | 14 |

use crate::circuit::Circuit;
use crate::ot::{HASHES, KEY_BITS, LEVELS, Width, trees, words_of_lot};
use crate::spec::SegmentSpec;
use crate::triples::leaky;

/// Bytes that one party sends, and rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Bytes of message bodies, to all peers together.
    pub bytes: u64,
    /// Messages in a row, each of which waits for the one before.
    pub rounds: u32,
}

impl std::ops::Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost { bytes: self.bytes + other.bytes, rounds: self.rounds + other.rounds }
    }
}

/// One exchange of messages of `bytes`.
fn exchange(parties: usize, bytes: usize) -> Cost {
    Cost { bytes: (parties - 1) as u64 * bytes as u64, rounds: 1 }
}

/// C1 and C2 with values of `bytes`.
fn commit_open(parties: usize, bytes: usize) -> Cost {
    exchange(parties, 32 + 32) + exchange(parties, 32 + bytes + 32)
}

fn coin(parties: usize) -> Cost {
    commit_open(parties, 32)
}

/// A coin and a sum.
fn mac_check(parties: usize) -> Cost {
    coin(parties) + commit_open(parties, 8)
}

/// Steps 3 to 5 for lots of so many bits under so many trees.
fn extension(parties: usize, lots: &[(usize, usize)]) -> Cost {
    let corrections = lots.iter().map(|(bits, trees)| trees * 8 * words_of_lot(*bits)).sum();
    let hashes = lots.iter().map(|(_, trees)| LEVELS * trees * 8 * HASHES).sum();
    exchange(parties, corrections)
        + coin(parties)
        + exchange(parties, lots.len() * 8 * HASHES)
        + exchange(parties, hashes)
}

/// Step 1.
pub fn base_transfers(parties: usize) -> Cost {
    exchange(parties, 32 * (1 + 2 * KEY_BITS))
}

/// Steps 2 to 10.
pub fn preparation(parties: usize, spec: &SegmentSpec) -> Cost {
    let n = spec.leaky();
    exchange(parties, trees::MESSAGE)
        + extension(parties, &[(n, Width::Wide.trees()), (n + 64, Width::Narrow.trees())])
        + exchange(parties, leaky::message_bytes(n))
        + coin(parties)
        + exchange(parties, 8)
        + commit_open(parties, 8)
        + coin(parties)
        + exchange(parties, ((spec.bucket - 1) * spec.triples).div_ceil(8))
        + mac_check(parties)
}

/// Random authenticated bits ([`crate::Segment::random`]).
pub fn random(parties: usize, bits: usize) -> Cost {
    extension(parties, &[(bits, Width::Narrow.trees())])
}

/// [`crate::Segment::authenticate`].
pub fn authenticate(parties: usize, bits: usize) -> Cost {
    random(parties, bits) + exchange(parties, bits.div_ceil(8))
}

/// [`crate::Segment::adjust`] and [`crate::Segment::compare`], without the masks ([`random`]).
pub fn adjust(parties: usize, bits: usize) -> Cost {
    exchange(parties, bits.div_ceil(8)) + coin(parties)
}

/// [`crate::Segment::state`].
pub fn state(parties: usize, bytes: usize) -> Cost {
    exchange(parties, bytes)
}

/// [`crate::Segment::open_elements`].
pub fn elements(parties: usize, elements: usize) -> Cost {
    exchange(parties, 8 * elements) + mac_check(parties)
}

/// [`crate::Segment::evaluate`].
pub fn circuit(parties: usize, circuit: &Circuit) -> Cost {
    circuit
        .and_layers()
        .into_iter()
        .map(|ands| exchange(parties, (2 * ands).div_ceil(8)))
        .fold(Cost::default(), |sum, layer| sum + layer)
}

/// [`crate::Segment::reveal`].
pub fn reveal(parties: usize, bits: usize) -> Cost {
    mac_check(parties) + commit_open(parties, bits.div_ceil(8)) + mac_check(parties)
}

/// [`crate::Segment::import`].
pub fn import(parties: usize, bits: usize) -> Cost {
    mac_check(parties)
        + extension(parties, &[(bits, 2 * Width::Narrow.trees())])
        + exchange(parties, bits.div_ceil(8))
        + mac_check(parties)
}
