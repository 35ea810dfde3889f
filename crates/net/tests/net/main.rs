//! Meshes of servers on loopback: what they exchange, and what strangers and hostile peers can do.

mod common;
mod exchange;
mod hostile;
mod tls;
