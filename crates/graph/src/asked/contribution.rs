//! An owner's contribution: seeds sealed to the members, digests of them, and the maps of its list
//! (`docs/spec/graph.md`, section 13).

use ostrakon_computation::{ComputationId, Input};
use ostrakon_crypto::sealed::{ExchangeKey, Sealed, seal};
use ostrakon_crypto::{Digest, Secret, SigningKey, Transcript, VerifyingKey};
use ostrakon_replicated::pair::Pair;

use super::{SERVERS, Terms};
use crate::owner::{self, Edge, ListError, Maps, Seeds};
use crate::ruffle2::seeds::seed_digest;
use crate::ruffle2::uses::Permutation;

/// Seeds that an owner deals to a pair: one for each of its list's permutations.
pub const SEEDS: usize = 3;
/// The first bytes.
const MAGIC: &[u8; 4] = b"OGC1";
const PURPOSE: &str = "ostrakon/v1/graph/dealt seeds for a member";
/// Bytes of the seeds of a member's two pairs, sealed.
const CLOSED: usize = 2 * SEEDS * 32 + 16;
/// Bytes before the maps.
const HEAD: usize = MAGIC.len() + 3 * SEEDS * 32 + SERVERS * (32 + CLOSED);

/// Seeds of one pair.
type OfPair = [[u8; 32]; SEEDS];

/// A contribution, as everybody can check it.
#[derive(Clone)]
pub struct Contribution {
    /// By [`Pair::index`]: the digests of the seeds.
    pub digests: [[Digest; SEEDS]; 3],
    sealed: [Sealed; SERVERS],
    /// The maps of the list.
    pub maps: Maps,
}

/// Why an input is no contribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadContribution {
    /// Another length.
    #[error("this is no contribution to this computation: it has another length")]
    Length,
    /// Its first bytes.
    #[error("this is no contribution of this version of the program")]
    Version,
    /// Maps that are no permutations.
    #[error("the contribution's list is damaged")]
    Maps,
}

/// Why a list of edges cannot be contributed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct BadList(#[from] pub ListError);

/// What a member's seeds are sealed about.
fn about(computation: &ComputationId, owner: &VerifyingKey, member: usize) -> Transcript {
    let mut transcript = Transcript::new("ostrakon/v1/graph/dealt seeds");
    transcript.field(&computation.0.0).field(&owner.0).number(member as u64);
    transcript
}

/// The permutations of a list, as far as their seeds' expansion depends on them.
fn permutations(rows: u32) -> [Permutation; 3] {
    [0, 1, 2].map(|id| Permutation { id, rows, mirrored: id == 1 })
}

/// Makes a contribution of these edges, signed as an input. It must be kept and the same bytes be
/// sent to every member. `randomness` is 32 fresh random bytes, used for this call alone.
///
/// # Errors
/// [`BadList`].
pub fn make(
    computation: &ComputationId,
    terms: &Terms,
    members: &[[u8; 32]; SERVERS],
    edges: &[Edge],
    owner: &SigningKey,
    randomness: &Secret,
) -> Result<Input, BadList> {
    if edges.len() > terms.edges as usize {
        return Err(BadList(ListError::TooMany(edges.len(), terms.edges)));
    }
    let mut rows = edges.to_vec();
    if terms.undirected {
        rows.extend(edges.iter().map(|edge| edge.back(terms.vertices)));
    }
    let orders = owner::orders_of(terms.nodes(), terms.cap(), &rows)?;
    // What is drawn depends on the list as well: under randomness that served twice by mistake,
    // two lists do not share a permutation.
    let mut list = Transcript::new("ostrakon/v1/graph/list");
    orders.iter().flatten().for_each(|row| {
        list.number(u64::from(*row));
    });
    let list = list.finish();
    let draw = |what: &[u8], at: usize| {
        let fields: [&[u8]; 4] = [&computation.0.0, &list.0, what, &at.to_le_bytes()];
        *randomness.derive("ostrakon/v1/graph/dealt randomness", &fields).expose()
    };
    let seeds: [OfPair; 3] =
        Pair::ALL.map(|pair| [0, 1, 2].map(|k| draw(b"seed", SEEDS * pair.index() + k)));
    let key = owner.verifying_key();
    let mut body = MAGIC.to_vec();
    body.extend(seeds.iter().flatten().flat_map(|seed| seed_digest(seed).0));
    for (member, to) in members.iter().enumerate() {
        let of = Pair::of_party(u8::try_from(member).expect("three servers"));
        let plain: zeroize::Zeroizing<Vec<u8>> =
            of.iter().flat_map(|pair| seeds[pair.index()]).flatten().collect::<Vec<_>>().into();
        let about = &mut about(computation, &key, member);
        let sealed = seal(PURPOSE, about, to, &plain, draw(b"sealing", member));
        body.extend_from_slice(&sealed.exchange);
        body.extend_from_slice(&sealed.closed);
    }
    let dealt = Seeds::dealt(seeds.map(|of_pair| of_pair.to_vec()));
    body.extend(Maps::of(&orders, &permutations(terms.rows()), &dealt).encode());
    Ok(Input::sign(computation, body, owner))
}

impl Contribution {
    /// Bytes of a contribution.
    pub fn bytes(terms: &Terms) -> usize {
        HEAD + 12 * terms.rows() as usize
    }

    /// Reads a body; what it returns has the right length, and its maps are permutations.
    ///
    /// # Errors
    /// [`BadContribution`].
    pub fn read(body: &[u8], terms: &Terms) -> Result<Self, BadContribution> {
        if body.len() != Self::bytes(terms) {
            return Err(BadContribution::Length);
        }
        let (head, maps) = body.split_at(HEAD);
        let (magic, head) = head.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(BadContribution::Version);
        }
        let (digests, sealed) = head.split_at(3 * SEEDS * 32);
        let digest = |pair: usize, k: usize| {
            let at = 32 * (SEEDS * pair + k);
            Digest(digests[at..at + 32].try_into().expect("32 bytes"))
        };
        let digests = [0, 1, 2].map(|pair| [0, 1, 2].map(|k| digest(pair, k)));
        let sealed = [0, 1, 2].map(|member: usize| {
            let bytes = &sealed[member * (32 + CLOSED)..][..32 + CLOSED];
            let (exchange, closed) = bytes.split_at(32);
            Sealed { exchange: exchange.try_into().expect("32 bytes"), closed: closed.to_vec() }
        });
        let maps = Maps::decode(maps, terms.rows() as usize).ok_or(BadContribution::Maps)?;
        Ok(Self { digests, sealed, maps })
    }

    /// The seeds that were dealt to a member, by its pairs in the order of [`Pair::of_party`]; none
    /// where they are not those of the digests.
    pub fn open(
        &self,
        (computation, owner): (&ComputationId, &VerifyingKey),
        member: u8,
        key: &ExchangeKey,
    ) -> [Option<[Secret; SEEDS]>; 2] {
        let place = usize::from(member);
        let about = &mut about(computation, owner, place);
        let Some(plain) = key.open(PURPOSE, about, &self.sealed[place]) else {
            return [None, None];
        };
        let of = Pair::of_party(member);
        [0, 1].map(|i: usize| self.seeds(of[i], plain.get(i * SEEDS * 32..(i + 1) * SEEDS * 32)?))
    }

    /// A pair's seeds from their bytes, if they are those of the digests.
    pub fn seeds(&self, pair: Pair, bytes: &[u8]) -> Option<[Secret; SEEDS]> {
        let (seeds, rest) = bytes.as_chunks::<32>();
        let seeds: &[[u8; 32]; SEEDS] = seeds.try_into().ok().filter(|_| rest.is_empty())?;
        let stated = &self.digests[pair.index()];
        let fit = seeds.iter().zip(stated).all(|(seed, digest)| seed_digest(seed) == *digest);
        fit.then(|| seeds.map(Secret::new))
    }
}
