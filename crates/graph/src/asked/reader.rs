//! A result that one reader alone can read: values under masks whose seeds the members seal to the
//! reader's key (`docs/spec/graph.md`, section 8).

use ostrakon_computation::{ComputationId, Parameters};
use ostrakon_crypto::sealed::{ExchangeKey, Sealed, seal};
use ostrakon_crypto::{Digest, Secret, Transcript};
use ostrakon_field::{ELEMENT_BYTES, WordField, elements};
use ostrakon_kernels::Prg;
use ostrakon_replicated::pair::Pair;
use serde::{Deserialize, Serialize};

use super::SERVERS;
use crate::ruffle2::seeds::seed_digest;

const PURPOSE: &str = "ostrakon/v1/graph/seeds of masks for the reader";
/// Bytes of two seeds, sealed.
const CLOSED: usize = 2 * 32 + 16;

/// The public half of the key of whoever may read a result: X25519.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReaderKey(pub [u8; 32]);

/// The reader's own half, which whoever asks derives from the secret of the creator's key.
pub fn reader(creator: &[u8; 32]) -> ExchangeKey {
    ExchangeKey::new(&Secret::new(*creator).derive("ostrakon/v1/graph/reader", &[]))
}

/// The seeds of the masks of a member's two pairs, in the order of [`Pair::of_party`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedSeeds {
    /// The seeds' digests.
    pub digests: [Digest; 2],
    sealed: Sealed,
}

/// Values under masks. Whoever lacks the seed of one pair, as each server does, sees uniform
/// elements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    /// The seeds, by member.
    pub seeds: [SealedSeeds; SERVERS],
    /// The masked elements, as a table.
    pub masked: Parameters,
}

/// Values that a reader has opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmasked<F> {
    /// The elements.
    pub elements: Vec<F>,
    /// Members that have sealed other seeds than those that they have signed for: they lie.
    pub liars: Vec<usize>,
}

/// Why values cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Another key's.
    #[error("this result is for whoever asked, on the device where it was asked")]
    OtherKey,
    /// The masked table.
    #[error("the sealed values are damaged, although all servers have signed them")]
    Damaged,
}

fn about(computation: &ComputationId, member: usize) -> Transcript {
    let mut transcript = Transcript::new("ostrakon/v1/graph/seeds of masks");
    transcript.field(&computation.0.0).number(member as u64);
    transcript
}

/// Adds (or, to open, takes away) what a seed expands to.
pub fn mask<F: WordField>(table: &mut [u8], seed: &Secret, apply: fn(&mut [u8], &[u8])) {
    let mut stream = vec![0; table.len()];
    F::expand(&Prg::new(seed.expose()), 0, &mut stream);
    apply(table, &stream);
}

impl SealedSeeds {
    /// Bytes of [`SealedSeeds::encode`].
    pub const BYTES: usize = 2 * 32 + 32 + CLOSED;

    /// What a member hands out. `randomness` is 32 fresh random bytes, used for this call alone.
    pub fn new(
        computation: &ComputationId,
        member: u8,
        seeds: [&Secret; 2],
        to: &ReaderKey,
        randomness: [u8; 32],
    ) -> Self {
        let plain = zeroize::Zeroizing::new(seeds.map(|seed| *seed.expose()).concat());
        let about = &mut about(computation, usize::from(member));
        let sealed = seal(PURPOSE, about, &to.0, &plain, randomness);
        Self { digests: seeds.map(|seed| seed_digest(seed.expose())), sealed }
    }

    /// As it travels between members.
    pub fn encode(&self) -> Vec<u8> {
        let [a, b] = &self.digests;
        [&a.0[..], &b.0, &self.sealed.exchange, &self.sealed.closed].concat()
    }

    /// Reads what [`SealedSeeds::encode`] wrote; `None` for another length.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (heads, closed) = bytes.split_at_checked(Self::BYTES - CLOSED)?;
        let ([a, b, exchange], []) = heads.as_chunks::<32>() else { return None };
        let sealed = Sealed { exchange: *exchange, closed: closed.to_vec() };
        (closed.len() == CLOSED).then_some(Self { digests: [Digest(*a), Digest(*b)], sealed })
    }

    fn open(
        &self,
        computation: &ComputationId,
        member: usize,
        key: &ExchangeKey,
    ) -> Option<[Secret; 2]> {
        let plain = key.open(PURPOSE, &mut about(computation, member), &self.sealed)?;
        let (seeds, []) = plain.as_chunks::<32>() else { return None };
        let seeds: &[[u8; 32]; 2] = seeds.try_into().ok()?;
        let fit = seeds.iter().zip(&self.digests).all(|(seed, of)| seed_digest(seed) == *of);
        fit.then(|| seeds.map(Secret::new))
    }
}

impl Closed {
    /// Whether both members of each pair name the same seed.
    #[must_use]
    pub fn agrees(&self) -> bool {
        Pair::ALL.iter().all(|pair| {
            let [a, b] = pair.members().map(|member| self.digest_by(member, *pair));
            a == b
        })
    }

    fn digest_by(&self, member: u8, pair: Pair) -> Digest {
        self.seeds[usize::from(member)].digests[place(member, pair)]
    }

    /// The elements, of which there are `count`. One honest member in each pair suffices.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub fn open<F: WordField>(
        &self,
        computation: &ComputationId,
        key: &ExchangeKey,
        count: usize,
    ) -> Result<Unmasked<F>, Unreadable> {
        let mut table = self.masked.0.clone();
        if table.len() != count * ELEMENT_BYTES || !F::are_canonical(&table) || !self.agrees() {
            return Err(Unreadable::Damaged);
        }
        let members = self.seeds.iter().enumerate();
        let opened: Vec<Option<[Secret; 2]>> =
            members.map(|(member, seeds)| seeds.open(computation, member, key)).collect();
        for pair in Pair::ALL {
            let by = |member: u8| {
                opened[usize::from(member)].as_ref().map(|seeds| &seeds[place(member, pair)])
            };
            let seed = pair.members().into_iter().find_map(by).ok_or(Unreadable::OtherKey)?;
            mask::<F>(&mut table, seed, F::sub_into);
        }
        let liars = (0..SERVERS).filter(|member| opened[*member].is_none()).collect();
        Ok(Unmasked { elements: elements(&table).collect(), liars })
    }
}

/// Which of a member's two pairs it is.
fn place(member: u8, pair: Pair) -> usize {
    usize::from(Pair::of_party(member)[1] == pair)
}
