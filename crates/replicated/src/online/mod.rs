//! From the input on: one epoch of one batch, from the seal to the opened output.

pub mod epoch;
pub(crate) mod outcome;
pub(crate) mod output;
pub(crate) mod pads;
pub mod seal;
pub(crate) mod shuffle;
pub(crate) mod trusted;
