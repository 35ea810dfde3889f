//! Servers over real links on loopback: how they work together, with the plain engine and the real
//! one, and what a malicious one can do to the others.

mod common;
mod decisions;
mod deployment;
mod engines;
mod erasure;
mod hosting;
mod jobs;
mod malice;
mod operator;
mod restore;
mod roles;
mod setup;
mod storm;
#[path = "jobs/toy.rs"]
mod toy;
