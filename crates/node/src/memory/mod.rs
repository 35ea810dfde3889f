//! What a running server keeps in memory beside the state that the servers agree on, part by part.
//! All of it is rebuilt, or may be forgotten, at a restart.

pub(crate) mod batches;
pub mod history;
pub(crate) mod introduction;
pub(crate) mod logs;
pub(crate) mod presence;
pub mod quotas;
pub(crate) mod under_way;
pub(crate) mod verified;
pub(crate) mod watchers;
