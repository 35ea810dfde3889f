//! The job *anonymous broadcast*: what a room of [`ostrakon_mixing`] publishes, what its
//! participants want to say, and what its host decides.
//!
//! In each epoch every participant hands in one row, a message or a cover; the readable rows are
//! published on the room's **board** ([`board`]), which is hash-chained and signed by the servers
//! and checked by whoever reads it ([`reader`]). What is to be said waits in an **outbox**
//! ([`outbox`]). A room's **host** acts by signed deeds ([`hosting`]). None of it knows how rows
//! are masked, sealed and mixed.

pub mod board;
pub mod hosting;
pub mod outbox;
pub mod reader;

pub use board::{Archive, Entry, SignedEntry};
pub use reader::BoardReader;
