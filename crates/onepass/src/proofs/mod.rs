//! Proofs that a key is held, that logarithms are equal, and that a step is right.

pub(crate) mod combination;
pub mod disjunction;
pub mod dleq;
pub mod possession;
