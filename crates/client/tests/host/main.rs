//! Hosts of rooms, those who open them, and those who take invitations, at servers that the test
//! plays, in virtual time.

mod acting;
mod claiming;
#[path = "../traces/exchange.rs"]
mod exchange;
mod opening;
mod script;
#[path = "../traces/servers.rs"]
mod servers;
#[path = "../participant/time.rs"]
mod time;
mod trace;
mod world;
