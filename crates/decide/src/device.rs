//! What a person's device does and keeps: how it was invited, its visits, what it remembers and
//! what it was given to show that its answer was taken.

pub mod link;
pub mod memory;
pub mod receipt;
pub mod visit;
