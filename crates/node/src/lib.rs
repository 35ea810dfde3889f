//! One server of a deployment: rooms, epochs, stock, the clock and the disk.
//!
//! [`Service`] is its public interface; the HTTP layer is a thin cover over it.

pub mod interface;
mod server;
mod service;

pub use interface::ServiceError;
pub use service::{LONGEST_WAIT, Service};
