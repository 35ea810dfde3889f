//! One person's visit to a decision (`docs/spec/visitor.md`): what is asked of its servers and
//! when, what of that is believed, what is written down before it is sent, and what the person may
//! be told.

mod beginning;
mod handing;
mod keeping;
mod look;
mod looking;
mod machine;
mod making;
mod news;
mod noting;
mod posting;
mod reading;
mod request;
mod stock;

pub use crate::refusal::Refusal;
pub use beginning::{Beginning, BeginningAction, BeginningNews, NotBegun};
pub use machine::Visitor;
pub use news::{Action, Deed, Failure, News};
pub use reading::Doubt;
pub use request::{Answer, Call, Request};
pub use stock::{Filling, Stock};
