//! The engine in a deterministic world: honest runs with their costs, attacks by name, and the
//! sweep over every message of a corrupt server.

mod attacks;
mod coins;
mod digests;
mod guesses;
mod honest;
mod joint;
mod liar;
mod models;
mod redrawn;
mod registering;
mod registrations;
mod restarts;
mod sabotage;
mod world;
