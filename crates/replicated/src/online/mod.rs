//! From the input on: one epoch of one batch, from the seal to the opened output.

pub(crate) mod dispute;
pub mod epoch;
pub(crate) mod outcome;
pub(crate) mod output;
pub mod seal;
pub(crate) mod shuffle;
pub(crate) mod trusted;
pub(crate) mod unmixed;
