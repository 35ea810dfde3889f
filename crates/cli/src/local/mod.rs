//! All servers of a deployment on this machine: for a trial, and for demonstrations.

pub mod demo;
pub mod up;
