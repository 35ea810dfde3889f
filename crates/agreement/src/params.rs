//! What all servers of a ledger must have alike, and the limits that follow.

use ostrakon_crypto::{Digest, Transcript};
use ostrakon_party::{Delivery, PartyId, SessionId, Trust};

/// Bytes of an encoded block at most.
pub const MAX_BLOCK: usize = 64 << 10;
/// Bytes of one record at most; larger things stand in a record by their digest.
pub const MAX_RECORD: usize = 16 << 10;
/// Bytes of the records of one block at most; the rest of a block is for what names others.
pub const MAX_RECORDS: usize = 40 << 10;
/// Records of one block at most.
pub const MAX_RECORD_COUNT: usize = 1024;
/// Bytes of records that wait for a block of this server at most.
pub const MAX_QUEUE: usize = 1 << 20;
/// Beacon shares of one block at most.
pub const MAX_BEACONS: usize = 8;
/// Unfinished beacons of one author that are remembered.
pub const MAX_OPEN_BEACONS: usize = 32;
/// Readmission votes of one block at most.
pub const MAX_READMISSIONS: usize = 8;
/// How many rounds past the highest complete one blocks and certificates are kept.
pub const WINDOW: u64 = 8;
/// Blocks that answer one status at most.
pub const MAX_ITEMS: usize = 64;
/// References that one status asks for by name at most.
pub const MAX_MISSING: usize = 16;
/// Ticks after which an own block without a certificate gives way to one of a later round, the
/// first time; after each block that was given up the time is doubled.
pub const PATIENCE: u32 = 4;
/// Votes of a server that starts which another one tells it of, at most.
pub const MAX_WELCOME_VOTES: usize = 256;
/// Checkpoint signatures of one server that are remembered.
pub const MAX_SIGNATURES: usize = 4;

/// A round; blocks begin at round 1.
pub type Round = u64;

/// What all servers of a ledger must have alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    session: SessionId,
    trust: Trust,
    horizon: Round,
    interval: u64,
}

/// Parameters that no ledger can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The trust model promises no delivery.
    #[error("the asynchronous ledger needs a trust model that guarantees delivery")]
    Delivery,
    /// The horizon is shorter than two waves.
    #[error("the horizon must be from 8 to 1024 rounds")]
    Horizon,
    /// The checkpoint interval is zero or above [`Params::HORIZONS`]'s end.
    #[error("checkpoints must come every 1 to 1024 commits")]
    Interval,
}

impl Params {
    /// The horizons that are taken.
    pub const HORIZONS: std::ops::RangeInclusive<u64> = 8..=1024;

    /// A ledger with the usual horizon of 64 rounds and a checkpoint every 64 commits. `coin` is
    /// the digest of the coin's public keys, [`crate::coin::CoinKeys::digest`].
    ///
    /// # Errors
    /// [`Unfit::Delivery`].
    pub fn new(session: SessionId, coin: &Digest, trust: Trust) -> Result<Self, Unfit> {
        Self::with(session, coin, trust, 64, 64)
    }

    /// A ledger whose leaders order blocks of the last `horizon` rounds, with a checkpoint every
    /// `interval` commits.
    ///
    /// # Errors
    /// [`Unfit`].
    pub fn with(
        session: SessionId,
        coin: &Digest,
        trust: Trust,
        horizon: Round,
        interval: u64,
    ) -> Result<Self, Unfit> {
        if trust.delivery() != Delivery::Guaranteed {
            return Err(Unfit::Delivery);
        }
        if !Self::HORIZONS.contains(&horizon) {
            return Err(Unfit::Horizon);
        }
        if interval == 0 || interval > *Self::HORIZONS.end() {
            return Err(Unfit::Interval);
        }
        // Servers with other coins choose other leaders, those with another horizon order other
        // blocks: whatever must be alike is signed along, so that they are strangers to each other.
        let mut transcript = Transcript::new("ostrakon/v1/agreement/ledger");
        transcript.field(&session.0.0).field(&coin.0);
        transcript.number(trust.parties() as u64).number(trust.believed() as u64);
        transcript.number(horizon).number(interval);
        let session = SessionId(transcript.finish());
        Ok(Self { session, trust, horizon, interval })
    }

    /// The session in which everything is signed. It follows from all that the servers must have
    /// alike, the coin's key included.
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Who is believed and awaited.
    #[must_use]
    pub fn trust(&self) -> &Trust {
        &self.trust
    }

    /// n.
    #[must_use]
    pub fn parties(&self) -> usize {
        self.trust.parties()
    }

    /// q = n − t: so many votes certify a block.
    #[must_use]
    pub fn quorum(&self) -> usize {
        self.trust.awaited()
    }

    /// t + 1: of so many servers one is honest.
    #[must_use]
    pub fn believed(&self) -> usize {
        self.trust.believed()
    }

    /// G: a leader of round r orders blocks of rounds above r − G.
    #[must_use]
    pub fn horizon(&self) -> Round {
        self.horizon
    }

    /// How many commits lie between two checkpoints.
    #[must_use]
    pub fn interval(&self) -> u64 {
        self.interval
    }

    /// Whether the ledger has such a server.
    #[must_use]
    pub fn has(&self, party: PartyId) -> bool {
        party.index() < self.parties()
    }

    /// Bytes of a message at most. The longest one is a checkpoint, which names the ordered blocks
    /// above its horizon and the unfinished beacons.
    #[must_use]
    pub fn max_message(&self) -> usize {
        let rounds = usize::try_from(self.horizon).expect("a horizon is short") + 2;
        let certificate = self.parties() * 72 + 128;
        let beacons = self.parties() * (MAX_OPEN_BEACONS * 136 + self.parties() * 56);
        let checkpoint = self.parties() * (rounds * 48 + 128) + beacons + 1024;
        MAX_BLOCK + self.parties() * certificate + checkpoint
    }

    /// A transcript about this session.
    pub(crate) fn transcript(&self, context: &'static str) -> Transcript {
        let mut transcript = Transcript::new(context);
        transcript.field(&self.session.0.0);
        transcript
    }

    /// The coin's label for a leader of `round`.
    pub(crate) fn coin_label(&self, round: Round) -> Digest {
        self.transcript("ostrakon/v1/agreement/coin label").number(round).finish()
    }

    /// The coin's label for a beacon that is called `name`.
    pub(crate) fn beacon_label(&self, name: &Digest) -> Digest {
        self.transcript("ostrakon/v1/agreement/beacon label").field(&name.0).finish()
    }
}

/// Whether blocks of `round` can be leaders: the even rounds from 2.
pub(crate) fn leads(round: Round) -> bool {
    round >= 2 && round.is_multiple_of(2)
}

/// The leader round whose coin share a block of `round` carries, if any.
pub(crate) fn coin_of(round: Round) -> Option<Round> {
    round.checked_sub(2).filter(|round| leads(*round))
}
