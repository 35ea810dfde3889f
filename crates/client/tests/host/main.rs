//! Hosts of rooms, and those who take invitations, at servers that the test plays, in virtual time.

mod acting;
mod claiming;
#[path = "../traces/exchange.rs"]
mod exchange;
mod script;
#[path = "../participant/time.rs"]
mod time;
mod trace;
mod world;
