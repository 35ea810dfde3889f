//! Where devices' visits come in (spec W1): as many wait as are admitted, the others are turned
//! away at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_asynchromix::Room;
use ostrakon_asynchromix::evidence::Conviction;
use ostrakon_asynchromix::visit::{Answer, Ask};
use ostrakon_party::PartyId;
use tokio::sync::{mpsc, oneshot, watch};

/// Visits that wait to be answered at most.
const WAITING: usize = 256;

/// Why a visit is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Turned {
    /// It is no visit.
    #[error("this is no visit of this room: the page or the program may be of another version")]
    Malformed,
    /// Too many wait.
    #[error("too many devices ask at once; ask again in a moment")]
    Busy,
    /// The server stops.
    #[error("the server is stopping")]
    Stopping,
}

/// What a server does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stands {
    /// It makes the common key with all others.
    #[default]
    Founding,
    /// It asks the others how they stand, or to take it back.
    Asking,
    /// Its data are older than what others have heard of it; it waits for its operator.
    DataLost,
    /// It takes part.
    Runs,
}

/// How a server stands, for its operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// What it does.
    pub stands: Stands,
    /// The servers with which there is no link.
    pub missing: Vec<PartyId>,
    /// Rounds that are prepared.
    pub ready: usize,
    /// Batches that were spoilt one after another, and nobody was convicted of it.
    pub spoilt: u32,
    /// Of the newest of these: who has not shown what it has. That proves nothing against it.
    pub lacking: Vec<PartyId>,
    /// Who was convicted, and what shows it.
    pub convicted: BTreeMap<PartyId, Conviction>,
}

/// A visit that waits for its answer.
pub(crate) struct Visit {
    pub ask: Ask,
    pub answer: oneshot::Sender<Answer>,
}

/// The way to a server's state machine.
#[derive(Clone)]
pub struct Visits {
    room: Arc<Room>,
    visits: mpsc::Sender<Visit>,
    health: watch::Receiver<Health>,
}

/// The server's end of it.
pub(crate) struct Reception {
    pub visits: mpsc::Receiver<Visit>,
    pub health: watch::Sender<Health>,
}

impl Visits {
    pub(crate) fn new(room: &Arc<Room>) -> (Self, Reception) {
        let (sender, visits) = mpsc::channel(WAITING);
        let (health, shown) = watch::channel(Health::default());
        let own = Self { room: Arc::clone(room), visits: sender, health: shown };
        (own, Reception { visits, health })
    }

    /// The room.
    #[must_use]
    pub fn room(&self) -> &Arc<Room> {
        &self.room
    }

    /// How the server stands.
    #[must_use]
    pub fn health(&self) -> Health {
        self.health.borrow().clone()
    }

    /// Answers a visit, after what it leads to is durable.
    ///
    /// # Errors
    /// [`Turned`].
    pub async fn visit(&self, bytes: &[u8]) -> Result<Vec<u8>, Turned> {
        let ask = Ask::decode(bytes, &self.room).map_err(|_| Turned::Malformed)?;
        let (answer, answered) = oneshot::channel();
        self.visits.try_send(Visit { ask, answer }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Turned::Busy,
            mpsc::error::TrySendError::Closed(_) => Turned::Stopping,
        })?;
        Ok(answered.await.map_err(|_| Turned::Stopping)?.encode())
    }
}
