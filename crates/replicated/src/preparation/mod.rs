//! Before the input: the servers' common keys, and the making and keeping of batches.

mod failed;
pub mod preprocessing;
pub mod setup;
pub(crate) mod stock;
