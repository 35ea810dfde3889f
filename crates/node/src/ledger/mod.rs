//! The ledger: how the servers' announcements agree, who may speak, and what is kept of who lies.

pub(crate) mod agree;
pub mod evidence;
pub(crate) mod rollback;
pub(crate) mod steps;
