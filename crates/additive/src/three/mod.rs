//! The engine for three servers. One file per part, in the order of `docs/spec/clarion.md`.

pub mod cost;
pub mod epoch;
pub mod fault;
pub mod keys;
pub mod messages;
pub mod purposes;
pub mod registration;

mod checks;
mod halt;
mod handed;
mod intake;
mod opening;
mod outcome;
mod sealing;
mod tables;

use ostrakon_threeparty::pair::Pair;

/// The paper's P1: shuffles with π12 and π1. Lacks K23.
pub const P1: u8 = 0;
/// The paper's P2: shuffles with π12 and π2. Lacks K13.
pub const P2: u8 = 1;
/// The paper's P3: makes the correlation. Lacks K12.
pub const P3: u8 = 2;

const K12: Pair = Pair::P01;
const K13: Pair = Pair::P02;
const K23: Pair = Pair::P12;
