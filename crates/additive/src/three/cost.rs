//! What an epoch, and what comes before it, costs in bytes and rounds, as formulas. Tests compare
//! the meters with these.
//!
//! Bytes are those of message bodies, over all three servers, everybody honest and nobody silent.
//! Headers and signatures and TLS are not in them. There are `N` sealed rows of `W` bytes.
//!
//! | part | grows with the table | rounds |
//! |---|---|---|
//! | keys of a batch, and of registrations | nothing | 11 |
//! | registering | `36·6·A` for `A` registrations that all hold; lacking seeds | 6, or 7 |
//! | sealing | `36·6·A` for `A` submissions that all servers hold | 3 |
//! | registering with an epoch | lacking seeds | 2, or 3 |
//! | tables, each with a salt | `4·N·(W + 8)` | 3 |
//! | statement, coin | nothing | 4 |
//! | check words | `80·N` | 2 |
//! | ready | nothing | 1 |
//! | opening | `N·(W + 8)`: z1 to P3; P1 and P2 get a seed | 1 |

use ostrakon_threeparty::cost::{BROADCAST_ROUNDS, Cost, DIRECTED_LINKS, SIGNED_HEADER, broadcast};
use ostrakon_threeparty::seal::LIST_ENTRY;

use super::messages::{ABOUT, LACKING_ENTRY, PairStatement, SEEDS_ENTRY, TABLES, WORDS};
use crate::params::{SALT, WORD};

/// Making a batch's keys ([`super::keys::BatchKeys::agree`]) and telling the keys of registrations:
/// ephemeral keys, contributions, digests, a coin, the registration keys. What is stated is exact,
/// the echoes are bounded.
pub fn batch_keys() -> Cost {
    let stated = 32 + 2 * 32 + (32 + 64) + 32;
    let table = DIRECTED_LINKS * (stated + 32);
    Cost { table, constant: 5 * broadcast(0) }
}

/// Rounds of [`batch_keys`]: five broadcasts, two of them the coin's, and the contributions.
pub const BATCH_KEYS_ROUNDS: u32 = 5 * BROADCAST_ROUNDS + 1;

/// Registering participants whom all three servers hold alike: lists, what is lacking, and two
/// votes. `lacking` is how often a server lacks a seed of a registration, each registration once
/// for a server; `given` is how many seeds come from another holder.
pub fn registering(registrations: u32, lacking: u32, given: u32) -> Cost {
    let lists = DIRECTED_LINKS * LIST_ENTRY as u64 * u64::from(registrations);
    let lacks = 2 * LACKING_ENTRY as u64 * u64::from(lacking);
    let seeds = SEEDS_ENTRY as u64 * u64::from(given);
    let votes = 2 * DIRECTED_LINKS * 32;
    Cost { table: lists + lacks + seeds, constant: broadcast(0) + broadcast(ABOUT as u64) + votes }
}

/// Rounds of [`registering`] while nobody lacks a seed: lists and their vote, what is lacking, the
/// vote on what results. Seeds that are given take one more.
pub const REGISTERING_ROUNDS: u32 = BROADCAST_ROUNDS + 1 + BROADCAST_ROUNDS + 1;

/// What registering with an epoch adds to it, where no registrations come before: what is lacking,
/// and given, as in [`registering`].
pub fn registering_with_epoch(lacking: u32, given: u32) -> Cost {
    let whole = registering(0, lacking, given);
    Cost { table: whole.table, constant: broadcast(ABOUT as u64) }
}

/// Rounds of [`registering_with_epoch`] while nobody lacks a seed.
pub const REGISTERING_WITH_EPOCH_ROUNDS: u32 = BROADCAST_ROUNDS;

/// Sealing submissions that all three servers hold, with the statements about seeds and the
/// commitments to the coin.
pub fn sealing(submissions: u32) -> Cost {
    let lists = DIRECTED_LINKS * LIST_ENTRY as u64 * u64::from(submissions);
    let statements = broadcast(2 * PairStatement::BYTES as u64) + broadcast(32);
    Cost { table: lists, constant: broadcast(0) + DIRECTED_LINKS * 32 + statements }
}

/// The tables, what is stated of them, the coin and the check words.
pub fn mixing(rows: u32, width: u32) -> Cost {
    let message = u64::from(width) + WORD as u64;
    let words: usize = WORDS.iter().map(|route| route.columns * WORD).sum();
    let row = TABLES.len() as u64 * message + words as u64;
    let statements = broadcast(4 * SIGNED_HEADER + 1) + broadcast(64);
    let salts = (TABLES.len() * SALT) as u64;
    let constant = statements + salts + WORDS.len() as u64 * 32;
    Cost { table: u64::from(rows) * row, constant }
}

/// Votes on the end and their collections.
pub fn readiness() -> Cost {
    Cost { table: 0, constant: DIRECTED_LINKS * (32 + 3 * SIGNED_HEADER) }
}

/// Opening the rows.
pub fn opening(rows: u32, width: u32) -> Cost {
    let message = u64::from(width) + WORD as u64;
    Cost { table: u64::from(rows) * message, constant: SALT as u64 + 2 * 32 }
}

/// A whole epoch.
pub fn epoch(rows: u32, width: u32) -> Cost {
    sealing(rows) + mixing(rows, width) + readiness() + opening(rows, width)
}

/// Rounds of an epoch, from lists to the opened table: lists and their vote, three tables one after
/// the other, statement and coin, words and answers, readiness, opening.
pub const EPOCH_ROUNDS: u32 = BROADCAST_ROUNDS + 1 + 3 + 2 * BROADCAST_ROUNDS + 2 + 1 + 1;
