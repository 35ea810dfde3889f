//! A batch as its pairs' seeds prescribe it. Nothing here is sent: whoever is given seeds, as in a
//! dispute, computes from them what their holders had to say.

pub(crate) mod leaves;
pub(crate) mod pads;
pub mod seeds;
pub(crate) mod set_equality;
pub(crate) mod shares;
pub(crate) mod shuffle_pair;
pub(crate) mod stages;
pub(crate) mod statements;
