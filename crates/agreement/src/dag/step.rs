//! What happens to a ledger, and what it leads to.

use ostrakon_crypto::Digest;
use ostrakon_party::PartyId;

use crate::fault::Fault;
use crate::params::{MAX_QUEUE, MAX_RECORD};

use super::agreed::{Commit, Incarnation};
use super::disk::Write;

/// What happens to a ledger.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A message has arrived from another server.
    Receive(PartyId, &'a [u8]),
    /// Some time has passed. Ticks pace what is said again; they decide nothing.
    Tick,
    /// The application's state after the commit that [`Output::CheckpointDue`] named.
    State {
        /// After how many commits.
        commits: u64,
        /// The digest of the application's state.
        digest: Digest,
    },
    /// The application has committed what the beacon of this name checks: its share may leave.
    Beacon(Digest),
    /// This server's data were lost, or a copy was restored: take part again only as one that
    /// remembers nothing. The nonce is fresh.
    Readmit([u8; 32]),
}

/// What a ledger tells its application.
#[derive(Clone, Debug)]
pub enum Output {
    /// The next commit. After a restart commits since the last checkpoint come again, with their
    /// numbers.
    Commit(Commit),
    /// The application's state after this commit is to be told ([`Event::State`]).
    CheckpointDue(u64),
    /// The ledger went on from a checkpoint: commits up to this number are not told. The
    /// application's state has this digest and comes from another server; own records that were
    /// under way may come in twice. After a restart it is told of the checkpoint on the disk,
    /// whether the application has its state or not.
    Adopted {
        /// Commits up to here are in the state.
        commits: u64,
        /// The digest of the application's state.
        state: Digest,
    },
    /// A beacon's value.
    Beacon(Digest, Digest),
    /// A server takes part again without its data: nothing that it held before is to be used.
    Readmitted(PartyId, Incarnation),
    /// This server's data are older than what others have heard of it. It is silent until
    /// [`Event::Readmit`].
    DataLost,
    /// This server takes part.
    Started,
}

/// A message to another server. Whoever carries it may lose it: ticks have it said again.
#[derive(Clone, Debug)]
pub struct Send {
    /// The receiver.
    pub to: PartyId,
    /// The encoded [`Message`](super::message::Message).
    pub bytes: std::sync::Arc<[u8]>,
}

/// What an event leads to. The writes are made durable, in order, before a send leaves or an
/// output is acted upon.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Step {
    /// What must be durable first.
    pub writes: Vec<Write>,
    /// What is then sent.
    pub sends: Vec<Send>,
    /// What the application is told.
    pub outputs: Vec<Output>,
    /// What others did wrong.
    pub faults: Vec<Fault>,
}

/// Whether a server takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It has started from its disk and hears first what others know of it.
    Starting,
    /// It takes part.
    Running,
    /// Its data are lost; it follows, and asks to be readmitted once it has a nonce.
    Lost,
}

/// A record that was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is longer than [`MAX_RECORD`].
    #[error("a record has at most {MAX_RECORD} bytes")]
    TooLong,
    /// [`MAX_QUEUE`] bytes wait already.
    #[error("{MAX_QUEUE} bytes of records wait already")]
    Full,
}
