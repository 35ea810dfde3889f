//! A host of a room, and whoever takes an invitation to it (`docs/spec/hosting.md`, H1 to H5):
//! what is signed, which server is given it and when, what is written down before it is sent, and
//! when something counts as done.

mod book;
mod claiming;
mod look;
mod machine;
mod news;
mod opening;
mod request;

pub use crate::refusal::Refusal;
pub use book::Book;
pub use claiming::{ClaimAction, ClaimNews, Claiming};
pub use machine::Host;
pub use news::{Action, Failure, News, SCHEDULER};
pub use opening::places_for;
pub use request::{Answer, Call, Request};
