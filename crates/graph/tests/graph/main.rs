//! The graph job in worlds of three servers.

mod attacks;
mod cells;
mod common;
mod costs;
mod graphsc;
mod models;
mod networkx;
mod noise;
mod oracle;
mod programs;
mod ranking;
mod reader;
mod sabotage;
mod service;
