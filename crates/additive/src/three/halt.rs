//! Why an epoch ends without an output.

use ostrakon_party::PartyId;
use ostrakon_threeparty::Unheard;
use ostrakon_threeparty::pair::Pair;

use super::fault::{Abort, Fault};
use super::registration::Unregistered;

/// Why an epoch ended without an output. Nothing of the rows has been revealed, but where something
/// else is said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unmixed {
    /// A server is proved to have cheated.
    #[error(transparent)]
    Fault(Box<Fault>),
    /// A server has stopped. Who is at fault cannot be proved.
    #[error("{by} has stopped the epoch; one of {pair:?} is at fault")]
    Aborted {
        /// Who stopped first, as far as is known here.
        by: PartyId,
        /// The two of whom one is at fault, as far as it can be told.
        pair: Option<Pair>,
    },
    /// Fewer submissions than the minimum, not counting the largest class.
    #[error("only {0} submissions can be vouched for")]
    TooFew(u32),
    /// The batch has been spent on other rows.
    #[error("the batch is already spent on other rows")]
    Spent,
    /// A mark could not be written or read: the epoch is to be tried again once that is possible.
    /// This server may have been ready, so the others may open and read all:
    /// [`super::epoch::may_have_opened`] tells.
    #[error("a durable mark could not be written: {0}")]
    Marks(String),
    /// What the caller gave does not fit together; nothing of the mix was sent.
    #[error("the epoch cannot begin: {0}")]
    Unfit(&'static str),
}

/// Why the computation ends before Ready.
pub enum Halt {
    /// Something to be told to the peers.
    Stop(Abort),
    /// An end that all find alike, or a failure of this server alone.
    End(Unmixed),
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Self {
        Halt::Stop(Abort::Fault(Box::new(fault)))
    }
}

impl From<Unheard<Fault>> for Halt {
    fn from(unheard: Unheard<Fault>) -> Self {
        match unheard {
            Unheard::Fault(fault) => Halt::Stop(Abort::Fault(fault)),
            Unheard::Marks(why) => Halt::End(Unmixed::Marks(why)),
        }
    }
}

impl From<Unregistered> for Halt {
    fn from(why: Unregistered) -> Self {
        match why {
            Unregistered::Fault(fault) => Halt::Stop(Abort::Fault(fault)),
            Unregistered::Disagreement(pair) => Halt::Stop(Abort::Seeds(pair)),
            Unregistered::Marks(why) => Halt::End(Unmixed::Marks(why)),
            Unregistered::Unfit(why) => Halt::End(Unmixed::Unfit(why)),
        }
    }
}
