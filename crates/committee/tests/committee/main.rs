//! Whole committees in one process: their course, members that lie, statistics.

mod garbling;
mod graphs;
mod lies;
mod service;
mod statistics;
mod uploads;
mod world;
