//! How far an epoch is.

use crate::Error;

/// How far an epoch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochState {
    /// It takes submissions.
    Collecting = 0,
    /// It is to be computed.
    Sealed = 1,
    /// Its outcome stands; other servers may still need this one's part in it.
    Settled = 2,
    /// Every server has settled it.
    Finished = 3,
}

impl EpochState {
    pub(crate) fn read(number: i64) -> Result<Self, Error> {
        let all = [Self::Collecting, Self::Sealed, Self::Settled, Self::Finished];
        all.into_iter().find(|state| *state as i64 == number).ok_or(Error::Corrupt("epochs.state"))
    }
}
