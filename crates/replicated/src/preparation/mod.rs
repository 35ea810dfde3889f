//! Before the input: the servers' common keys, and the making and keeping of batches.

pub mod preprocessing;
pub mod seeds;
pub(crate) mod set_equality;
pub mod setup;
pub(crate) mod shares;
pub(crate) mod shuffle_pair;
pub(crate) mod stock;
