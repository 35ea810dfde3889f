//! Epochs at a running server, from the stock to the board: batches are prepared and loaded, slots
//! given out, sealed epochs computed, and their outcomes agreed on.

pub(crate) mod loading;
pub(crate) mod runner;
pub(crate) mod scheduling_loop;
pub(crate) mod stock;
