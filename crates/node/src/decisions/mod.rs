//! Private decisions at a running server (`docs/spec/decide.md`): how records get into their
//! chains, what is held for others, what the servers do by themselves, and what people ask.

pub(crate) mod course;
mod gathering;
pub(crate) mod holding;
mod mail;
pub(crate) mod records;
mod requests;
