//! A native client: what the page does in a browser, for programs.
//!
//! [`connection`] speaks HTTP with one server, [`room`] watches a room at all of its servers and believes only what is
//! signed or said by two of them, and [`participant`] takes part, epoch by epoch, until its message is on the board.
//! [`member`] keeps the key of this device in a room of members.

pub mod connection;
pub mod member;
pub mod participant;
pub mod room;

pub use connection::{CallError, Connection, Pauses, http_client};
pub use member::Member;
pub use participant::{Event, Participant};
pub use room::Room;
