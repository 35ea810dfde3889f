//! When something is wrong: who did it, and what shows that to others.

pub(crate) mod blame;
pub mod fault;
pub(crate) mod material;
