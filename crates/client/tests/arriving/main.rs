//! From a link to servers and room, at servers that the test plays, in virtual time.

mod entering;
#[path = "../traces/exchange.rs"]
mod exchange;
mod rooms;
mod script;
#[path = "../traces/servers.rs"]
mod servers;
#[path = "../participant/time.rs"]
mod time;
mod trace;
mod world;
