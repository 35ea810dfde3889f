//! Whole committees in one process: their course, members that lie, statistics.

mod lies;
mod service;
mod statistics;
mod world;
