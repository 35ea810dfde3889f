//! What all servers and participants of a room must have alike (spec V0).

use std::collections::BTreeSet;
use std::sync::Arc;

use ostrakon_crypto::{Digest, Transcript, VerifyingKey};
use ostrakon_party::{ByParty, Delivery, PartyId, Trust};
use ostrakon_robust::Committee;
use ostrakon_robust::client::CARRIED;
use ostrakon_robust::message::Header;
use ostrakon_robust::offline::{Shuffle, Subject};
use ostrakon_robust::rotation;
use serde::{Deserialize, Serialize};

use crate::row;

/// Rows of an epoch at most.
pub const MAX_ROWS: usize = 1 << 16;
/// Bytes of a message at most.
pub const MAX_PAYLOAD: usize = 1 << 12;
/// The newest entries whose signatures are in the state, and that servers hold for others.
pub const KEPT: usize = 256;
/// Burnt batches of one set at most that wait to be judged: as many as it may have under way.
pub const BURNT: usize = 2;
/// The longest digit of a Clos network that is taken whole: a permutation of so many rows is one
/// stage.
pub const WHOLE: usize = 64;

/// What an epoch looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// k: places of an epoch, a power of two.
    pub rows: usize,
    /// Bytes of a message at most.
    pub payload: usize,
    /// With fewer sealed rows, those of the t homes with the most left out, nothing is opened. 1 is
    /// for trials: every row counts, and who is alone is alone ([`Room::is_trial`]).
    pub minimum: usize,
    /// After so many of its own ticks since something has been handed in a server votes to close an
    /// epoch.
    pub ticks: u32,
}

/// Why there is no such room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Too few servers, or so many sets of 3t + 1 of them that not all can be tried.
    #[error(
        "{servers} servers of which {corrupt} may be corrupt: there must be 3t + 1 of them or a \
         few more (4 and 5 for t = 1, 7 to 9 for t = 2)"
    )]
    Servers {
        /// n.
        servers: usize,
        /// t.
        corrupt: usize,
    },
    /// The number of places.
    #[error("an epoch has a power of two from 2 to {MAX_ROWS} places, not {0}")]
    Rows(usize),
    /// The length of a message.
    #[error("a message has from 1 to {MAX_PAYLOAD} bytes, not {0}")]
    Payload(usize),
    /// The minimum.
    #[error(
        "the minimum is at most as many rows as there are places, and at least 2, or 1 for a trial; \
         not {0}"
    )]
    Minimum(usize),
}

/// A room and its servers.
#[derive(Clone, Debug)]
pub struct Room {
    trust: Trust,
    shape: Shape,
    identities: ByParty<VerifyingKey>,
    committees: Vec<Arc<Committee>>,
    digest: Digest,
    admitted: Option<Arc<BTreeSet<[u8; 32]>>>,
}

impl Room {
    /// A room of these servers, of which `corrupt` may be. `name` tells it from all other rooms of
    /// the same servers, and from the same one founded anew.
    ///
    /// # Errors
    /// [`Unfit`].
    pub fn new(
        name: Digest,
        corrupt: usize,
        identities: Vec<VerifyingKey>,
        shape: Shape,
    ) -> Result<Self, Unfit> {
        let servers = identities.len();
        let unfit = Unfit::Servers { servers, corrupt };
        let trust = Trust::new(servers, corrupt, Delivery::Guaranteed).map_err(|_| unfit)?;
        let sets = rotation::sets(servers, corrupt).ok_or(unfit)?;
        let committees: Option<Vec<_>> =
            sets.iter().map(|set| Committee::new(set, corrupt).map(Arc::new)).collect();
        if !shape.rows.is_power_of_two() || !(2..=MAX_ROWS).contains(&shape.rows) {
            return Err(Unfit::Rows(shape.rows));
        }
        if !(1..=MAX_PAYLOAD).contains(&shape.payload) {
            return Err(Unfit::Payload(shape.payload));
        }
        if !(1..=shape.rows).contains(&shape.minimum) {
            return Err(Unfit::Minimum(shape.minimum));
        }
        let mut transcript = Transcript::new("ostrakon/v1/asynchromix/room");
        transcript.field(&name.0).number(servers as u64).number(corrupt as u64);
        identities.iter().for_each(|key| {
            transcript.field(&key.0);
        });
        transcript.number(shape.rows as u64).number(shape.payload as u64);
        transcript.number(shape.minimum as u64).number(shape.ticks.into());
        Ok(Self {
            trust,
            shape,
            identities: identities.into(),
            committees: committees.ok_or(unfit)?,
            digest: transcript.finish(),
            admitted: None,
        })
    }

    /// The same room for those alone who have one of these keys (spec W2).
    #[must_use]
    pub fn admitting(self, keys: BTreeSet<[u8; 32]>) -> Self {
        let mut transcript = Transcript::new("ostrakon/v1/asynchromix/room of listed keys");
        transcript.field(&self.digest.0).number(keys.len() as u64);
        keys.iter().for_each(|key| {
            transcript.field(key);
        });
        Self { digest: transcript.finish(), admitted: Some(Arc::new(keys)), ..self }
    }

    /// Whether a key may take part.
    #[must_use]
    pub fn admits(&self, client: &VerifyingKey) -> bool {
        self.admitted.as_ref().is_none_or(|keys| keys.contains(&client.0))
    }

    /// Whether everybody may take part.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.admitted.is_none()
    }

    /// Whether one row alone is opened: it hides nobody (spec W5).
    #[must_use]
    pub fn is_trial(&self) -> bool {
        self.shape.minimum == 1
    }

    /// Names the room; whatever must be alike is in it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Who is believed and awaited.
    #[must_use]
    pub fn trust(&self) -> &Trust {
        &self.trust
    }

    /// What an epoch looks like.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The servers' identity keys.
    #[must_use]
    pub fn identities(&self) -> &ByParty<VerifyingKey> {
        &self.identities
    }

    /// n.
    #[must_use]
    pub fn servers(&self) -> usize {
        self.trust.parties()
    }

    /// All servers.
    pub fn parties(&self) -> impl Iterator<Item = PartyId> + use<> {
        ostrakon_party::PartySet::all(self.servers()).iter()
    }

    /// The sets U of 3t + 1 servers.
    #[must_use]
    pub fn committees(&self) -> &[Arc<Committee>] {
        &self.committees
    }

    /// The set of a batch, which its number names.
    #[must_use]
    pub fn committee_of(&self, batch: u64) -> &Arc<Committee> {
        let sets = self.committees.len() as u64;
        let set = usize::try_from(batch % sets).expect("there are few sets");
        &self.committees[set]
    }

    /// Identity keys of a set's members, by position.
    #[must_use]
    pub fn keys_of(&self, committee: &Committee) -> Vec<VerifyingKey> {
        committee.members().iter().map(|member| self.identities[*member]).collect()
    }

    /// E: elements of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        row::bytes(self.shape.payload).div_ceil(CARRIED)
    }

    /// Places of an epoch that one home may give out: so many that n − t homes fill it, whatever
    /// the others do.
    #[must_use]
    pub fn quota(&self) -> usize {
        self.shape.rows.div_ceil(self.trust.awaited())
    }

    /// The shuffle that a batch is made for. t + 1 members deal, other ones from batch to batch:
    /// one of any t + 1 is honest, so it is of no use to anybody to choose them.
    #[must_use]
    pub fn shuffle_of(&self, batch: u64) -> Shuffle {
        let committee = self.committee_of(batch);
        let size = committee.size();
        let sets = self.committees.len() as u64;
        let first = usize::try_from(batch / sets % size as u64).expect("a set is small");
        let mut dealers: Vec<usize> =
            (0..=committee.corrupt()).map(|i| (first + i) % size).collect();
        dealers.sort_unstable();
        let rows = self.shape.rows;
        Shuffle::new(committee, rows, self.width(), radices(rows), dealers)
            .expect("rows are a power of two, and dealers t + 1 members")
    }

    /// What a batch's records and messages are bound to.
    #[must_use]
    pub fn subject_of(&self, batch: u64) -> Subject {
        let committee = Arc::clone(self.committee_of(batch));
        let keys = self.keys_of(&committee);
        Subject { session: self.digest, number: batch, keys, committee }
    }

    /// Bytes of a message between servers at most, without what the ledger sends: a dealing of a
    /// batch, a table of an opening, a board, or the agreed state.
    #[must_use]
    pub fn longest(&self) -> usize {
        let elements = self.shape.rows * self.width();
        let shuffle = self.shuffle_of(0);
        let stages = shuffle.stage_count().max(1);
        let table = 8 * elements * 3 * stages + 16 * shuffle.entries();
        let proofs = KEPT * (48 + 68 * self.servers());
        let state = self.shape.rows * (48 + 112 * self.servers()) * 4 + proofs;
        // As many burnt batches as a set may have, and one for each who was convicted.
        let shown = 64 + Header::BYTES * 3 * self.servers();
        let burnt = self.servers() * (shown + 64) + shown;
        let state = state + (BURNT * self.committees.len() + self.servers()) * burnt;
        let board = self.shape.rows * (self.shape.payload + 16);
        table.max(state).max(board) + (1 << 20)
    }
}

/// The Clos network's radices for so many rows: one digit while that is short, then two or more
/// whose product they are.
#[must_use]
pub fn radices(rows: usize) -> Vec<usize> {
    let bits = rows.trailing_zeros();
    if rows <= WHOLE {
        return vec![rows];
    }
    let digits = bits.div_ceil(6);
    (0..digits).map(|i| 1 << ((bits + i) / digits)).collect()
}
