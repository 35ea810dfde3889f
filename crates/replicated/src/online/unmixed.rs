//! How an epoch ends without an output.

use ostrakon_threeparty::Unheard;

use crate::accusation::fault::Fault;

/// Why an epoch ended without an output. Nothing has been revealed, but where something else is
/// said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unmixed {
    /// A server cheated.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
    /// Fewer submissions than the minimum, not counting the largest class.
    #[error("only {0} submissions can be vouched for")]
    TooFew(u32),
    /// The batch has been spent on another table.
    #[error("the batch is already spent on another table")]
    Spent,
    /// A mark could not be written or read: the epoch is to be tried again once that is possible.
    /// This server may have been ready, so the others may open;
    /// [`crate::epoch::may_have_opened`] tells.
    #[error("a durable mark could not be written: {0}")]
    Marks(String),
}

impl From<Fault> for Unmixed {
    fn from(fault: Fault) -> Self {
        Unmixed::Fault(Box::new(fault))
    }
}

impl From<Unheard<Fault>> for Unmixed {
    fn from(unheard: Unheard<Fault>) -> Self {
        match unheard {
            Unheard::Fault(fault) => Unmixed::Fault(fault),
            Unheard::Marks(why) => Unmixed::Marks(why),
        }
    }
}
