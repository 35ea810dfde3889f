//! What operators do: a server's keys, cards and configuration, its running, and its upkeep.

mod acme;
pub mod administrator;
pub mod cards;
pub mod check;
mod home;
pub mod init;
pub mod log;
pub mod processes;
pub mod renewal;
pub mod serve;
pub mod site;
pub mod token;
pub mod upkeep;
pub mod web;
