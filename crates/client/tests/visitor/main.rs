//! Visits to a decision, at servers that the test plays, in virtual time.

mod beginning;
mod beginnings;
#[path = "../traces/exchange.rs"]
mod exchange;
mod handing;
mod reading;
mod script;
#[path = "../traces/servers.rs"]
mod servers;
mod stock;
#[path = "../participant/time.rs"]
mod time;
mod trace;
mod world;
