//! A device that follows a room and takes part, against servers that the test plays, in virtual
//! time.

mod boards;
mod epochs;
mod following;
mod homes;
mod script;
#[path = "../traces/servers.rs"]
mod servers;
mod time;
mod trace;
mod world;
