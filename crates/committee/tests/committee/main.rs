//! Whole committees in one process: their course and its end, members that lie, statistics.

mod again;
mod cancelling;
mod deaths;
mod garbling;
mod graphs;
mod lies;
mod moments;
mod plain;
mod service;
mod statistics;
mod uploads;
mod world;
