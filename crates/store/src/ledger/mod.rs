//! What the servers' logs of announcements leave on disk, what they change, and what is on record.

pub(crate) mod agreement;
pub(crate) mod audit;
pub(crate) mod change;
pub(crate) mod faults;
pub(crate) mod generation;
