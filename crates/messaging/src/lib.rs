//! The job *messaging*: two people who know each other's contact link exchange messages in a room,
//! and neither the servers nor anybody else learns who talks to whom, or whether anybody does.
//!
//! **Parties.** The servers of a room for messages; clients, each of one person; the two of a
//! conversation. **Adversary.** Anybody who lacks the keys of the conversation: all the servers
//! together, the network, other clients, whoever has one of the contact links; partners, as far as
//! their own conversation does not tell. **Guarantee.** In every round every client that is present
//! sends one row, as long as every other and, to who lacks its keys, random; and everybody reads
//! the whole board. So what a client sends and fetches depends on when it is present and on nothing
//! else. With at most one corrupt server, not even a partner learns which of those present it talks
//! to. Messages arrive once and in order, if both sides are present for long enough.
//!
//! **What is absent.** Hiding when somebody is present; healing after a device was read by
//! somebody else (keys of the future follow from it; keys of the past do not); secrecy against
//! quantum computers without the link; fetching less than the whole board. The specification is
//! `docs/spec/messaging.md`; steps in comments are its.
//!
//! The crate computes: rows out, boards in. It knows no network, clock or disk.

mod chain;
mod client;
mod dial;
mod dialing;
mod event;
mod hidden;
mod link;
pub mod params;
mod parts;
mod round;
mod rounds;
pub mod state;
mod talk;

pub use client::{Client, ContactView, LinkView, Refused};
#[doc(hidden)]
pub use dial::hostile;
pub use event::{ContactState, Event, Message, MessageState};
pub use link::{Callee, ContactLink, InvalidContactLink};
pub use round::{Turn, cycle_of};
pub use state::Unreadable;

#[cfg(test)]
mod tests;
