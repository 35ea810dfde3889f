//! A member of a committee: what it is made from, what it is, and why it refuses a request.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_computation::{BadDraft, Committee};
use ostrakon_crypto::{Digest, SigningKey, VerifyingKey};
use ostrakon_party::Party;
use tokio::runtime::Handle;

use crate::job::Jobs;
use crate::peers::Peers;
use crate::store::{Store, StoreError};
use crate::turn::Turns;

/// What a member is made from.
pub struct Config {
    /// Whose member it is.
    pub committee: Committee,
    /// Its identity.
    pub signing: SigningKey,
    /// This member among the others, in the committee's session.
    pub party: Party,
    /// What it can compute.
    pub jobs: Jobs,
    /// Who may ask; none for everybody.
    pub creators: Option<Vec<VerifyingKey>>,
    /// Its memory.
    pub store: Store,
    /// The others, as everybody sees them.
    pub peers: Arc<dyn Peers>,
    /// Seconds since 1970.
    pub clock: fn() -> u64,
    /// Fills bytes from a cryptographic generator.
    pub entropy: fn(&mut [u8]),
    /// How often the others are looked at while something is under way.
    pub pause: Duration,
    /// How many computations may be under way at a time, those that wait for inputs included.
    pub open: Open,
    /// How many computations are computed at a time; those that wait for other members do not
    /// count.
    pub at_a_time: usize,
    /// How much answers may tell of any one contributor in all, in thousandths of ε; without, any
    /// question is taken.
    pub budget: Option<u64>,
    /// How long what is over is kept, inputs and all; then its archive alone is. For ever if none.
    pub keep: Option<Duration>,
}

/// How many computations a member has at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// That have not come to an end, of one creator.
    pub of_one: usize,
    /// That have not come to an end, in all.
    pub in_all: usize,
    /// Whatever their state. What has ended without a result makes room for others.
    pub kept: usize,
}

/// Why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// There is no such thing.
    #[error("{0}")]
    NotFound(&'static str),
    /// It contradicts what is known, or comes too late or too early.
    #[error("{0}")]
    Conflict(String),
    /// It is not sound.
    #[error("{0}")]
    Unsound(String),
    /// Who asks may not.
    #[error("{0}")]
    Forbidden(String),
    /// The member has no room, or cannot write.
    #[error("{0}")]
    Unavailable(String),
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "nothing can be written");
        Self::Unavailable("this server cannot write at the moment; try again later".into())
    }
}

impl From<BadDraft> for Refused {
    fn from(error: BadDraft) -> Self {
        Self::Unsound(error.to_string())
    }
}

/// A member, without the computations that it takes part in.
pub(crate) struct Member {
    pub config: Config,
    pub number: usize,
    pub digest: Digest,
    pub runtime: Handle,
    pub turns: Turns,
}

impl Member {
    pub fn new(config: Config, runtime: Handle) -> Self {
        let number = config.party.id.index();
        let (digest, turns) = (config.committee.digest(), Turns::new(config.at_a_time, number));
        Self { config, number, digest, runtime, turns }
    }

    pub fn random(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        (self.config.entropy)(&mut bytes);
        bytes
    }
}
