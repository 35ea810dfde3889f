//! Private computation on graphs: several owners' edges between the same vertices, on three servers
//! of which one may be malicious.
//!
//! * **Parties**: the servers of [`ostrakon_replicated`]; owners, who each bring a list of edges; a
//!   querier, who may bring a secret input.
//! * **Adversary**: one server, malicious, with any number of owners and control of the order of
//!   messages.
//! * **Guarantee**: correctness or abort; privacy in either case. Sizes are public, structure is
//!   not. After input nothing is opened to find a culprit: two servers' contradicting statements
//!   are shown, and the job stops.
//! * **Absent**: fairness; resuming after a crash (a new attempt begins); sorting for owners; noise
//!   that hides a whole owner.
//!
//! [`ruffle2`] is the engine (`docs/spec/ruffle2.md`): permutations that are used again, inverted
//! and composed, tables that stay shared, products. The rest is the job (`docs/spec/graph.md`):
//! from a descriptor ([`spec`]) over [`stock`], uploads ([`owner`]) and their check to a program's
//! ([`program`]) shared result and what is opened of it ([`output`]). A committee's computation is
//! [`asked`], contributed to, and attempted ([`attempt`]) as often as it takes. Without the feature
//! `server` only what owners and readers compute is built.
//!
//! After Ruffle (Shriram A, Koti, Kukkala, Patra, Gopal, Sangal, PoPETs 2023(3)) for the shuffles,
//! and Graphiti (Koti, Kukkala, Patra, Gopal, CCS 2024) for hops of three shuffles; Ruffle's own
//! way, scatter and gather with several processors, is [`graphsc`].

pub mod asked;
#[cfg(feature = "server")]
pub mod attempt;
#[cfg(feature = "server")]
mod batches;
mod blocks;
#[cfg(feature = "server")]
pub mod components;
#[cfg(feature = "server")]
pub mod cost;
pub mod edges;
#[cfg(feature = "server")]
pub mod graphsc;
#[cfg(feature = "server")]
pub mod hop;
#[cfg(feature = "server")]
pub mod intake;
#[cfg(feature = "server")]
pub mod job;
#[cfg(feature = "server")]
pub mod order_check;
#[cfg(feature = "server")]
pub mod output;
pub mod owner;
pub mod params;
pub mod program;
#[cfg(feature = "server")]
pub mod query;
#[cfg(feature = "server")]
pub mod ranking;
pub mod ruffle2;
pub mod spec;
#[cfg(feature = "server")]
pub mod stock;
#[cfg(feature = "server")]
pub mod watch;
