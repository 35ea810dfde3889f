//! Reads what the servers of a room show (`docs/spec/follower.md`).

mod look;
mod place;
mod reading;
mod words;

pub use reading::{Follower, Sight};
