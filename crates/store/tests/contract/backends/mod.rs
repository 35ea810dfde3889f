//! What only one of the two databases can do wrong.

mod cluster;
pub mod postgres;
mod proxy;
mod sqlite;
