//! What the protocols cost in bytes and rounds, as formulas. Tests and the benchmark compare the
//! meters with these.
//!
//! Bytes are those of message bodies, over all three servers, everybody honest and nobody silent.
//! Headers and signatures (fewer than [`SIGNED_HEADER`] bytes for a message) and TLS are not in
//! them. A table is `N` rows of `W` bytes; `ℓ = 8·W` bits.
//!
//! | protocol | grows with the table | rounds |
//! |---|---|---|
//! | preprocessing | `6·N·(W + 8)`: six Shuffle-Pair messages, rows with check weights | 15 |
//! | slot commitments | `32·3·N`: per pair, a leaf or its halves for every slot | 1 |
//! | sealing | `36·6·A` for `A` submissions that all servers hold | 3 |
//! | shuffle | `3·N·W` | 2 |
//! | opening | `N·W`: P0 misses a table, P1 and P2 a seed | 1 |
//!
//! Commitments to slots travel as one root per pair during preprocessing; what they cost arises
//! when pads are shown.

use ostrakon_threeparty::cost::{BROADCAST_ROUNDS, DIRECTED_LINKS, broadcast};

use crate::messages::{LIST_ENTRY, PairStatement, SUM_OPENING, Shape};
use crate::params::{SALT, WEIGHT_BYTES};

pub use ostrakon_threeparty::cost::{Cost, SIGNED_HEADER};

/// Preprocessing of a batch ([`crate::preprocessing::prepare`]): three Shuffle-Pairs with two
/// messages each and their salts, statements about seeds and messages, a coin, and three sums.
pub fn preprocessing(shape: Shape) -> Cost {
    let row = u64::from(shape.width) + WEIGHT_BYTES as u64;
    let statements = broadcast(2 * PairStatement::BYTES as u64) + broadcast(4 * SIGNED_HEADER + 32);
    let coin = broadcast(32) + broadcast(64);
    let sums = broadcast(32) + broadcast(SUM_OPENING as u64);
    let constant = 6 * SALT as u64 + statements + coin + sums;
    Cost { table: 6 * u64::from(shape.rows) * row, constant }
}

/// Rounds of [`preprocessing`]: statements about seeds, three stages, statements about messages,
/// coin and sums (each committed to and opened).
pub const PREPROCESSING_ROUNDS: u32 = 3 + 6 * BROADCAST_ROUNDS;

/// The three votes on the table that is to be shuffled.
pub fn table_vote() -> Cost {
    Cost { table: 0, constant: DIRECTED_LINKS * 32 }
}

/// The shuffle itself (Ruffle Fig. 4): three tables, three digests, one of them with a signed
/// header.
pub fn shuffle(shape: Shape) -> Cost {
    Cost { table: 3 * shape.bytes() as u64, constant: 3 * 32 + SIGNED_HEADER }
}

/// Rounds of [`shuffle`].
pub const SHUFFLE_ROUNDS: u32 = 2;

/// Votes on the output and their collections, after which it may be opened.
pub fn certification() -> Cost {
    Cost { table: 0, constant: DIRECTED_LINKS * (32 + 3 * SIGNED_HEADER) }
}

/// Online phase of a table that the servers share already: vote, shuffle, verification.
pub fn online(shape: Shape) -> Cost {
    table_vote() + shuffle(shape) + certification()
}

/// Rounds of [`online`]: the vote, the shuffle, votes on the output. (Collections of votes, one
/// message more, are waited for by nobody who has the votes.)
pub const ONLINE_ROUNDS: u32 = 1 + SHUFFLE_ROUNDS + 1;

/// Opening the output ([`crate::online::epoch::Mixed::open`]).
pub fn opening(shape: Shape) -> Cost {
    Cost { table: shape.bytes() as u64, constant: 2 * 32 }
}

/// Sealing `submissions` that all three servers hold: lists, votes on the agreed list.
pub fn sealing(submissions: u32) -> Cost {
    let lists = DIRECTED_LINKS * LIST_ENTRY as u64 * u64::from(submissions);
    Cost { table: lists, constant: broadcast(0) + DIRECTED_LINKS * 32 }
}

/// Showing the sealed slots' pads to the third server, with what the roots commit to. Exact.
pub fn slot_commitments(shape: Shape) -> Cost {
    Cost { table: 3 * 32 * u64::from(shape.rows), constant: 0 }
}

/// A whole epoch, from sealing to the opened table.
pub fn epoch(shape: Shape, submissions: u32) -> Cost {
    sealing(submissions) + slot_commitments(shape) + online(shape) + opening(shape)
}
