//! A native client: what the page does in a browser, for programs.
//!
//! [`connection`] speaks HTTP with one server, [`room`] watches a room at all of its servers and
//! believes only what is signed or said by two of them, [`connection::driver`] drives the state
//! machines that say which requests leave, and when, [`arriving`] leads from a link to the
//! servers, [`board`] reads a whole board page by page, and [`participant`] takes part, epoch by
//! epoch, until its message is on the board. [`decision`] visits a decision at its servers,
//! [`beginning`] begins one, and [`account`] keeps what a device must not forget of it. [`member`]
//! keeps the key of this device in a room of members. [`asking`] asks a committee to compute,
//! [`cancelling`] takes that back, [`computation`] speaks with its members, and [`survey`] keeps
//! what belongs to a question.

pub mod account;
pub mod arriving;
pub mod asking;
pub mod beginning;
pub mod board;
pub mod cancelling;
pub mod computation;
pub mod connection;
pub mod decision;
pub mod joining;
pub mod member;
pub mod participant;
pub mod room;
pub mod survey;

pub use account::Account;
pub use board::BoardPages;
pub use computation::Asked;
pub use connection::{Connection, http_client, origin};
pub use decision::{Decision, Deployment};
pub use member::Member;
pub use participant::{Event, Participant, Rows};
pub use room::Room;
