//! The Ruffle engine (crate `ostrakon-replicated`) behind the interface of [`crate::engine`].

pub mod client;
#[cfg(feature = "server")]
pub mod server;
