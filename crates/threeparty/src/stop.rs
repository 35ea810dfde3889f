//! Why a run ended without its result.

use crate::pair::Pair;

/// Why a run ended without its result; `F` is the protocol's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop<F> {
    /// A cheater was found.
    #[error(transparent)]
    Fault(Box<F>),
    /// The two members of a pair state different things about a secret that they alone share: one
    /// of them is lying, and it cannot be seen which without opening a long-lived key. Nothing
    /// depended on it yet.
    #[error("the members of {0:?} disagree about their common key: one of the two is faulty")]
    Disagreement(Pair),
    /// A mark could not be written or read.
    #[error("a durable mark could not be written: {0}")]
    Marks(String),
}

impl<F> From<Unheard<F>> for Stop<F> {
    fn from(unheard: Unheard<F>) -> Self {
        match unheard {
            Unheard::Fault(fault) => Stop::Fault(fault),
            Unheard::Marks(why) => Stop::Marks(why),
        }
    }
}

impl<F> From<F> for Stop<F> {
    fn from(fault: F) -> Self {
        Stop::Fault(Box::new(fault))
    }
}

/// Why a broadcast whose words are put on record has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unheard<F> {
    /// A cheater was found.
    #[error(transparent)]
    Fault(Box<F>),
    /// A mark could not be written or read.
    #[error("a durable mark could not be written: {0}")]
    Marks(String),
}

impl<F> From<F> for Unheard<F> {
    fn from(fault: F) -> Self {
        Unheard::Fault(Box::new(fault))
    }
}
