//! Boards on this server's disk: reading, verifying, mending, erasing, and archives of them.

pub mod archive;
pub(crate) mod erasure;
pub(crate) mod mending;
pub(crate) mod reading;
