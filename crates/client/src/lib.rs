//! A participant of a room, for every front end: which requests leave its device, and when
//! (`docs/spec/participant.md`).
//!
//! A state machine without sockets, clock, storage or randomness of its own. A front end tells a
//! [`Participant`] what happened (time passed, what a server said, what came of a request, what is
//! to go into an epoch), does what it asks for ([`Action`]), and wakes it when it says. So the
//! command line, the page and the tests send the same, and a server cannot tell which of them
//! somebody uses.
//!
//! [`Outbox`](ostrakon_broadcast::outbox::Outbox) keeps what is to be said, and decides what goes
//! into an epoch; how a row is hidden is the engine's
//! ([`Author`](ostrakon_broadcast::submission::Author)).

mod epoch;
mod home;
mod machine;
mod participant;
mod pauses;
mod presence;
mod reports;
mod request;
mod taking_part;
mod time;

pub use machine::{Action, Filled, News, Participant, Scene};
pub use reports::Reports;
pub use request::{Answer, Call, Http, Request};
pub use time::Millis;
