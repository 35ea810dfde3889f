//! Who opens a room, acts as its host, or takes an invitation to it (`docs/spec/hosting.md`, H1 to
//! H6): what is signed, which server is given it and when, what is written down before it is sent,
//! and when something counts as done.

mod book;
mod claiming;
mod look;
mod machine;
mod news;
mod opening;
mod places;
mod request;

pub use crate::refusal::Refusal;
pub use book::Book;
pub use claiming::{ClaimAction, ClaimNews, Claiming};
pub use machine::Host;
pub use news::{Action, Failure, News, SCHEDULER};
pub use opening::{Opening, OpeningAction, OpeningFailure, OpeningNews};
pub use places::places_for;
pub use request::{Answer, Call, Request};
