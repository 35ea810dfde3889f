//! Visits to a decision, at servers that the test plays, in virtual time.

mod handing;
mod reading;
mod script;
mod stock;
#[path = "../participant/time.rs"]
mod time;
mod trace;
mod world;
