//! A member of a committee: takes inputs, agrees on the list that counts, has it computed on, and
//! signs what came out (`docs/spec/committee.md`).
//!
//! [`Service`] is what HTTP handlers call. Each computation has a task that brings it
//! from its draft to its end; what is computed is a [`Job`]. Other members are reached in two ways:
//! their statements and inputs are read where everybody reads them ([`Peers`]), and engines talk
//! over a [`ostrakon_party::Channel`].

mod course;
mod graph;
mod job;
mod marks;
mod member;
mod metrics;
mod overview;
mod peers;
mod service;
mod statistics;
mod store;
mod turn;
mod view;

pub use course::{PIECE_BYTES, Uploaded};
pub use graph::Graphs;
pub use job::{About, AttemptId, Ended, Job, Jobs, Keeping, Price, Run, Tell};
pub use marks::Marks;
pub use member::{Config, Open, Refused};
pub use overview::{Overview, overview};
pub use peers::{Peers, Unreached};
pub use service::Service;
pub use statistics::Statistics;
pub use store::{Store, StoreError};
pub use view::{MemberView, Phase, Progress, View};
