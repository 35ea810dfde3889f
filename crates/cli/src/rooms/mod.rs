//! What administrators, hosts and participants of rooms do, and what anybody can check afterwards.

pub mod export;
pub mod fault;
pub mod host;
pub mod room;
pub mod say;
pub mod verify;
pub mod watch;
