//! Pair keys, hashed forward, and everything that grows from them (`docs/spec/clarion.md`, K1, K2).

use ostrakon_crypto::{Digest, Secret};
use ostrakon_kernels::{Prg, permutation};
use ostrakon_party::{Party, SessionId, wire};
use ostrakon_threeparty::pair::Pair;
use ostrakon_threeparty::setup::{self, SharedKeys};
use ostrakon_threeparty::{Marks, Run, Stop};
use serde::{Deserialize, Serialize};

use super::fault::Fault;
use super::messages::{EpochSpec, PairStatement, Subject};
use super::purposes::{Purpose, opened_of, seed_digest};
use crate::params::MAX_SKIP;

/// A server's two pair keys as a chain: each batch takes a key from it and moves it on. Not
/// `Clone`; what it was is not to be had from what it is.
pub struct Chain {
    party: u8,
    session: SessionId,
    next: u64,
    keys: [Secret; 2],
}

#[derive(Serialize, Deserialize)]
struct Stored {
    party: u8,
    session: SessionId,
    number: u64,
    keys: [[u8; 32]; 2],
}

impl Stored {
    fn read(bytes: &[u8]) -> Result<Self, wire::Malformed> {
        let stored: Stored = wire::decode(bytes)?;
        if stored.party > 2 { Err(wire::Malformed) } else { Ok(stored) }
    }
}

/// Makes pair keys with the other servers and begins their chain. `randomness` is 32 fresh random
/// bytes. They are kept, for the same call after a crash, until every server has its chain on disk
/// (a server that says other things in one set-up is convicted of it), and are erased before batch
/// 0 is used: who has them has the beginning of the chain. What was heard is marked as long.
/// `attempt` is a number of this set-up, another one if the servers try again after
/// [`Stop::Disagreement`]. The session that results is [`Chain::session`].
///
/// # Errors
/// As [`ostrakon_threeparty::setup::run`].
pub async fn set_up(
    party: &Party,
    attempt: u64,
    randomness: [u8; 32],
    marks: &dyn Marks,
) -> Result<Chain, Stop<Fault>> {
    let run = Run { party: party.clone(), subject: Subject::Setup(attempt) };
    Ok(Chain::new(setup::run(&run, randomness, marks).await?))
}

impl Chain {
    /// The session of the servers that made the keys.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Begins at batch 0. The set-up must be this engine's own, and its keys be kept nowhere: a
    /// chain whose beginning is known forgets nothing.
    fn new(keys: SharedKeys) -> Self {
        let session = keys.session();
        let pairs = keys.pairs();
        let party = (0..3)
            .find(|party| pairs.iter().all(|(pair, _)| pair.contains(*party)))
            .expect("a party is in both of its pairs");
        let begin = |(pair, key): (Pair, &Secret)| {
            key.derive("ostrakon/v1/clarion/chain", &[&session.0.0, &[pair.index() as u8]])
        };
        Self { party, session, next: 0, keys: pairs.map(begin) }
    }

    /// The first batch that can still be had.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The keys of a batch. All batches up to it are forgotten, its own keys but for what is
    /// returned. `None` if they are forgotten already, or more than [`MAX_SKIP`] batches away.
    pub fn batch(&mut self, number: u64) -> Option<BatchKeys> {
        let steps = number.checked_sub(self.next).filter(|steps| *steps <= MAX_SKIP)?;
        for _ in 0..steps {
            self.step();
        }
        let keys = self.keys.each_ref().map(|key| key.derive("ostrakon/v1/clarion/batch", &[]));
        self.step();
        Some(BatchKeys { party: self.party, session: self.session, number, keys })
    }

    fn step(&mut self) {
        for key in &mut self.keys {
            *key = key.derive("ostrakon/v1/clarion/next batch", &[]);
        }
        self.next += 1;
    }

    /// Bytes for a file that only this server may read, and that replaces the one before.
    pub fn to_bytes(&self) -> Vec<u8> {
        wire::encode(&Stored {
            party: self.party,
            session: self.session,
            number: self.next,
            keys: self.keys.each_ref().map(|key| *key.expose()),
        })
    }

    /// Reads what [`Chain::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`wire::Malformed`] for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, wire::Malformed> {
        let Stored { party, session, number, keys } = Stored::read(bytes)?;
        Ok(Self { party, session, next: number, keys: keys.map(Secret::new) })
    }
}

/// The keys of one batch. Kept until its epoch is settled, then erased. Not `Clone`.
pub struct BatchKeys {
    party: u8,
    session: SessionId,
    number: u64,
    keys: [Secret; 2],
}

impl BatchKeys {
    /// Makes keys of one batch with the other servers (K0), in a session that they have already.
    /// `randomness` is 32 fresh random bytes, kept nowhere; the number is used once, so a server
    /// that crashes before it has the keys lets the batch be, and does not begin it again.
    ///
    /// # Errors
    /// As [`ostrakon_threeparty::setup::run_once`]; then there is no such batch.
    pub async fn agree(
        party: &Party,
        number: u64,
        randomness: [u8; 32],
    ) -> Result<Self, Stop<Fault>> {
        let run = Run { party: party.clone(), subject: Subject::Keys(number) };
        let keys = setup::run_once(&run, randomness).await?;
        let begin = |(pair, key): (Pair, &Secret)| {
            key.derive("ostrakon/v1/clarion/agreed batch", &[&[pair.index() as u8]])
        };
        let session = party.roster.session;
        Ok(Self { party: party.id.0, session, number, keys: keys.pairs().map(begin) })
    }

    /// The batch's number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Bytes for a file that only this server may read.
    pub fn to_bytes(&self) -> Vec<u8> {
        wire::encode(&Stored {
            party: self.party,
            session: self.session,
            number: self.number,
            keys: self.keys.each_ref().map(|key| *key.expose()),
        })
    }

    /// Reads what [`BatchKeys::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`wire::Malformed`] for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, wire::Malformed> {
        let Stored { party, session, number, keys } = Stored::read(bytes)?;
        Ok(Self { party, session, number, keys: keys.map(Secret::new) })
    }

    /// The keys of the epoch in which the batch is used (K1).
    pub fn epoch(self, spec: &EpochSpec) -> EpochKeys {
        let fields: [&[u8]; 3] = [&self.session.0.0, &spec.context.0, &spec.instance().scope];
        let keys = self.keys.each_ref().map(|key| key.derive("ostrakon/v1/clarion/epoch", &fields));
        EpochKeys { party: self.party, keys }
    }
}

/// A server's pair keys of one epoch.
pub struct EpochKeys {
    party: u8,
    keys: [Secret; 2],
}

impl EpochKeys {
    fn key(&self, pair: Pair) -> &Secret {
        let [first, second] = Pair::of_party(self.party);
        assert!(pair == first || pair == second, "a server asks for its own pairs' seeds only");
        &self.keys[usize::from(pair == second)]
    }

    /// The seed for one purpose. One-way.
    pub fn seed(&self, purpose: Purpose) -> Secret {
        let (pair, name) = purpose.named();
        self.key(pair).derive("ostrakon/v1/clarion/purpose", &[name])
    }

    /// The stream for one purpose.
    pub fn prg(&self, purpose: Purpose) -> Prg {
        Prg::new(self.seed(purpose).expose())
    }

    /// A permutation: output row i is input row `index[i]`.
    pub fn permutation(&self, purpose: Purpose, rows: usize) -> Vec<u32> {
        permutation::sample(&self.prg(purpose), rows)
    }

    /// What this server states of its pairs' keys before the seal (K2).
    pub fn statement(&self) -> [PairStatement; 2] {
        Pair::of_party(self.party).map(|pair| PairStatement {
            key: seed_digest(self.key(pair).expose()),
            opened: opened_of(pair)
                .map_or(Digest([0; 32]), |purpose| seed_digest(self.seed(purpose).expose())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostrakon_party::SessionId;

    fn chain() -> Chain {
        let keys = [Secret::new([1; 32]), Secret::new([2; 32])];
        Chain { party: 0, session: SessionId(Digest([3; 32])), next: 0, keys }
    }

    #[test]
    fn a_batch_is_had_once_and_skipped_ones_are_gone() {
        let mut one = chain();
        let mut other = Chain::from_bytes(&chain().to_bytes()).unwrap();
        let third = one.batch(3).unwrap();
        for number in 0..3 {
            assert!(one.batch(number).is_none(), "forgotten");
            assert_ne!(other.batch(number).unwrap().to_bytes(), third.to_bytes());
        }
        assert_eq!(other.batch(3).unwrap().to_bytes(), third.to_bytes());
        assert!(one.batch(3).is_none(), "had already");
        assert_eq!(one.next(), 4);
        assert!(one.batch(5 + MAX_SKIP).is_none(), "too far away");
        let read = BatchKeys::from_bytes(&third.to_bytes()).unwrap();
        assert_eq!(read.number(), 3);
        assert!(BatchKeys::from_bytes(&third.to_bytes()[1..]).is_err());
    }
}
