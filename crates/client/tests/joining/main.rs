//! What servers are asked about a join link, at servers that the test plays, in virtual time.

mod canvass;
#[path = "../traces/exchange.rs"]
mod exchange;
mod script;
#[path = "../participant/time.rs"]
mod time;
mod trace;
mod world;
