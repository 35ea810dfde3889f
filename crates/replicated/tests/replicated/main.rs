//! The three-server shuffle in one process: honest runs, models of its arguments, and attacks on
//! it.

mod attacks;
mod common;
mod compound;
mod honest;
mod models;
mod sabotage;
mod setup;
