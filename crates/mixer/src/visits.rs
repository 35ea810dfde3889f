//! Where devices' visits come in (spec W1): as many wait as are admitted, the others are turned
//! away at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_asynchromix::Room;
use ostrakon_asynchromix::evidence::Conviction;
use ostrakon_asynchromix::visit::{Answer, Ask, Collecting};
use ostrakon_asynchromix::visitor::End;
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
    /// Leaders of the ledger that it has committed.
    pub commits: u64,
    /// The same of the others, by their own word; of none that has not said it since the start.
    pub commits_of: BTreeMap<PartyId, u64>,
    /// Entries on the board.
    pub entries: u64,
    /// The epoch that collects.
    pub collecting: Option<Collecting>,
    /// Epochs that are closed and not on the board.
    pub mixing: u32,
    /// Rounds that are prepared.
    pub ready: u32,
    /// Batches that were spoilt one after another, and nobody was convicted of it.
    pub spoilt: u32,
    /// Of the newest of these: who has not shown what it has. That proves nothing against it.
    pub lacking: Vec<PartyId>,
    /// Who was convicted, and what shows it.
    pub convicted: BTreeMap<PartyId, Conviction>,
    /// Bytes of the journal.
    pub journal: u64,
    /// Bytes of messages that are kept for others.
    pub messages: usize,
}

impl Health {
    /// What keeps more rounds from being prepared, as far as this server sees.
    #[must_use]
    pub fn ended(&self, room: &Room) -> Option<End> {
        let convicted = |party: &PartyId| self.convicted.contains_key(party);
        End::of(room, convicted, |party| self.missing.contains(party), self.spoilt)
    }

    /// Commits that t + 1 servers have, of those with which there is a link, this one among them:
    /// one of them is honest.
    #[must_use]
    pub fn farthest(&self, room: &Room) -> u64 {
        let linked = self.commits_of.iter().filter(|(party, _)| !self.missing.contains(party));
        let mut said: Vec<u64> = linked.map(|(_, commits)| *commits).collect();
        said.push(self.commits);
        said.sort_unstable_by(|a, b| b.cmp(a));
        said.get(room.trust().corrupt()).copied().unwrap_or(self.commits).max(self.commits)
    }
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
    me: PartyId,
    visits: mpsc::Sender<Visit>,
    health: watch::Receiver<Health>,
}

/// The server's end of it.
pub(crate) struct Reception {
    pub visits: mpsc::Receiver<Visit>,
    pub health: watch::Sender<Health>,
}

impl Visits {
    pub(crate) fn new(room: &Arc<Room>, me: PartyId) -> (Self, Reception) {
        let (sender, visits) = mpsc::channel(WAITING);
        let (health, shown) = watch::channel(Health::default());
        let own = Self { room: Arc::clone(room), me, visits: sender, health: shown };
        (own, Reception { visits, health })
    }

    /// The room.
    #[must_use]
    pub fn room(&self) -> &Arc<Room> {
        &self.room
    }

    /// The server's number.
    #[must_use]
    pub fn me(&self) -> PartyId {
        self.me
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

#[cfg(test)]
mod tests {
    use ostrakon_asynchromix::Shape;
    use ostrakon_crypto::{Digest, SigningKey};

    use super::*;

    fn room(n: u8) -> Room {
        let key = |i| SigningKey::from_seed(&[i; 32]).verifying_key();
        let shape = Shape { rows: 16, payload: 8, minimum: 1, ticks: 1 };
        Room::new(Digest([0; 32]), 1, (0..n).map(key).collect(), shape).unwrap()
    }

    #[test]
    fn what_ends_a_room_depends_on_servers_to_spare() {
        let away = Health { missing: vec![PartyId(3)], ..Health::default() };
        assert_eq!(away.ended(&room(4)), Some(End::Away));
        assert_eq!(away.ended(&room(5)), None);
        let two = Health { missing: vec![PartyId(3), PartyId(4)], ..Health::default() };
        assert_eq!(two.ended(&room(5)), Some(End::Away));
        let spoilt = Health { spoilt: 3, ..Health::default() };
        assert_eq!(spoilt.ended(&room(4)), Some(End::Spoilt));
        assert_eq!(Health::default().ended(&room(4)), None);
    }

    /// One server alone makes nobody look slow, and who is away does not count.
    #[test]
    fn how_far_the_room_is_takes_two_servers_of_four() {
        let of = |said: &[(u8, u64)], missing: &[u8]| Health {
            commits: 7,
            commits_of: said.iter().map(|(party, commits)| (PartyId(*party), *commits)).collect(),
            missing: missing.iter().copied().map(PartyId).collect(),
            ..Health::default()
        };
        assert_eq!(of(&[(1, u64::MAX), (2, 6), (3, 5)], &[]).farthest(&room(4)), 7);
        assert_eq!(of(&[(1, 90), (2, 80), (3, 5)], &[]).farthest(&room(4)), 80);
        assert_eq!(of(&[(1, 90), (2, 80), (3, 5)], &[1, 2]).farthest(&room(4)), 7);
        assert_eq!(of(&[], &[]).farthest(&room(4)), 7);
    }
}
