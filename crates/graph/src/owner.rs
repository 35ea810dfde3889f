//! What an owner and a querier compute (`docs/spec/graph.md`, section 4).

use ostrakon_crypto::{Digest, Signature, SigningKey, Transcript, VerifyingKey};
use ostrakon_field::{WordField, to_table};
use ostrakon_kernels::{Prg, permutation};
use ostrakon_party::{SessionId, wire};
use ostrakon_replicated::pair::Pair;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::ruffle2::seeds::{JobName, seed_digest};
use crate::ruffle2::uses::{Permutation, compose};
use crate::spec::JobSpec;

/// What one server gives to an owner or to the querier: of both its pairs the seeds of what is
/// theirs alone, and what the servers have stated about all pairs' seeds.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct Issue {
    /// By [`Pair::index`]: the digests of the seeds.
    pub stated: [Vec<[u8; 32]>; 3],
    /// In the order of [`Pair::of_party`]: the seeds.
    pub seeds: [Vec<[u8; 32]>; 2],
}

/// Seeds of all three pairs, as two servers vouch for them; by [`Pair::index`].
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Seeds([Vec<[u8; 32]>; 3]);

impl Seeds {
    /// Seeds that an owner has drawn itself.
    pub(crate) fn dealt(seeds: [Vec<[u8; 32]>; 3]) -> Self {
        Self(seeds)
    }
}

/// Puts the servers' issues together: for each pair the digests that two servers state, and seeds
/// that they are of. `count` is how many seeds a pair must have. `None` if too few servers have
/// answered rightly.
pub fn combine(issues: [Option<&Issue>; 3], count: usize) -> Option<Seeds> {
    let mut seeds = [const { Vec::new() }; 3];
    for pair in Pair::ALL {
        let stated: Vec<_> = issues.iter().flatten().map(|i| &i.stated[pair.index()]).collect();
        let agreed = stated
            .iter()
            .find(|a| a.len() == count && stated.iter().filter(|b| *b == *a).count() >= 2)?;
        let opens = |shown: &Vec<[u8; 32]>| {
            shown.len() == count
                && shown.iter().zip(*agreed).all(|(seed, digest)| seed_digest(seed).0 == *digest)
        };
        let shown = pair.members().into_iter().filter_map(|member| {
            let issue = issues[usize::from(member)]?;
            Some(&issue.seeds[usize::from(Pair::of_party(member)[1] == pair)])
        });
        seeds[pair.index()] = shown.into_iter().find(|shown| opens(shown))?.clone();
    }
    Some(Seeds(seeds))
}

/// An edge as its owner knows it, by the numbers of its vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where it begins; nowhere if absent.
    pub source: Option<u32>,
    /// Where it ends; nowhere if absent.
    pub target: Option<u32>,
}

impl Edge {
    /// An edge that is so long, from 1 up, among so many vertices: it leads from the source as it
    /// was so many hops before.
    #[must_use]
    pub fn delayed(self, length: u32, vertices: u32) -> Self {
        let source = self.source.map(|source| (length - 1) * vertices + source);
        Self { source, ..self }
    }

    /// The same edge in the other direction, as long.
    #[must_use]
    pub fn back(self, vertices: u32) -> Self {
        let delay = self.source.map_or(0, |source| source / vertices);
        let target = self.source.map(|source| source % vertices);
        Self { source: self.target.map(|source| delay * vertices + source), target }
    }
}

/// Why a list of edges cannot be brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// More edges than the job allows this owner.
    #[error("{0} edges are more than the {1} that the job allows")]
    TooMany(usize, u32),
    /// A vertex that the job does not have.
    #[error("vertex {0} is not in the job")]
    NoSuchVertex(u32),
}

/// The two orders of a list's rows: the base row at each place of the source order, and of the
/// destination order.
pub type Orders = [Vec<u32>; 2];

/// The orders of a list: a vertex before its out-edges, its in-edges before the vertex. Rows that
/// are no edge come before the first vertex here and after the last one there, where they get
/// nothing and give nothing.
///
/// # Errors
/// [`ListError`].
pub fn orders(spec: &JobSpec, list: usize, edges: &[Edge]) -> Result<Orders, ListError> {
    orders_of(spec.vertices, spec.lists[list].edges, edges)
}

/// The orders of a list with so many vertices and edge rows.
///
/// # Errors
/// [`ListError`].
pub fn orders_of(vertices: u32, cap: u32, edges: &[Edge]) -> Result<Orders, ListError> {
    if edges.len() > cap as usize {
        return Err(ListError::TooMany(edges.len(), cap));
    }
    let ends = edges.iter().flat_map(|edge| [edge.source, edge.target]).flatten();
    if let Some(unknown) = ends.into_iter().find(|v| *v >= vertices) {
        return Err(ListError::NoSuchVertex(unknown));
    }
    let edge = |row: u32| edges.get((row - vertices) as usize);
    let mut by_source: Vec<u32> = (0..vertices + cap).collect();
    let mut by_target = by_source.clone();
    // (group, whether after the vertex), as numbers: no source is before all vertices, no target
    // after them.
    by_source.sort_by_key(|row| match row {
        vertex if *vertex < vertices => (u64::from(*vertex) + 1, 0),
        row => (edge(*row).and_then(|e| e.source).map_or(0, |v| u64::from(v) + 1), 1),
    });
    by_target.sort_by_key(|row| match row {
        vertex if *vertex < vertices => (u64::from(*vertex), 1),
        row => (edge(*row).and_then(|e| e.target).map_or(u64::MAX, u64::from), 0),
    });
    Ok([by_source, by_target])
}

/// The three public maps of a list. Row i of what they make is row `map[i]` of what they are
/// applied to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maps(pub [Vec<u32>; 3]);

impl Maps {
    /// The maps that lead from shuffled rows into the orders.
    pub fn of(orders: &Orders, permutations: &[Permutation; 3], seeds: &Seeds) -> Self {
        let whole = |k: usize| {
            let factors = Pair::ALL.map(|pair| {
                let prg = Prg::new(&seeds.0[pair.index()][k]);
                permutation::sample(&prg, permutations[k].rows as usize)
            });
            permutation::invert(&compose(&permutations[k], &factors))
        };
        let back = [0, 1, 2].map(whole);
        let [sources, targets] = orders;
        let [at_source, at_target] = [permutation::invert(sources), permutation::invert(targets)];
        let through = |index: &[u32], of: &[u32]| -> Vec<u32> {
            index.iter().map(|i| of[*i as usize]).collect()
        };
        Self([
            through(sources, &back[0]),
            through(&through(targets, &at_source), &back[1]),
            through(&at_target, &back[2]),
        ])
    }

    /// Twelve bytes a row.
    pub fn encode(&self) -> Vec<u8> {
        self.0.iter().flatten().flat_map(|i| i.to_le_bytes()).collect()
    }

    /// Reads three maps of `rows` rows each; `None` if they are not that, or one of them is no
    /// permutation.
    #[must_use]
    pub fn decode(bytes: &[u8], rows: usize) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() || words.len() != 3 * rows {
            return None;
        }
        let map = |k: usize| {
            let map: Vec<u32> =
                words[k * rows..(k + 1) * rows].iter().map(|i| u32::from_le_bytes(*i)).collect();
            let mut seen = vec![false; rows];
            let fits = |i: &u32| {
                seen.get_mut(*i as usize).is_some_and(|seen| !std::mem::replace(seen, true))
            };
            map.iter().all(fits).then_some(map)
        };
        Some(Self([map(0)?, map(1)?, map(2)?]))
    }
}

/// The least masked table that a querier may send: one element per vertex.
pub fn masked_input<F: WordField>(values: &[F], seeds: &Seeds) -> Vec<u8> {
    let mut table = to_table(values.iter().copied());
    let mut mask = vec![0; table.len()];
    for seeds in &seeds.0 {
        F::expand(&Prg::new(&seeds[0]), 0, &mut mask);
        F::sub_into(&mut table, &mask);
    }
    table
}

/// What an owner or the querier sends to all three servers, in the same words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    /// Maps, or a masked table.
    pub body: Vec<u8>,
    /// The signature of its maker on job, place and body.
    pub signature: Signature,
}

/// What an upload's signature is on.
pub fn upload_digest(session: &SessionId, job: &JobName, place: u32, body: &Digest) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/graph/upload");
    transcript
        .field(&session.0.0)
        .number(job.number)
        .field(&job.digest.0)
        .number(place.into())
        .field(&body.0);
    transcript.finish()
}

/// The digest of an upload's body.
pub fn body_digest(body: &[u8]) -> Digest {
    ostrakon_crypto::hash::digest("ostrakon/v1/graph/upload body", body)
}

impl Upload {
    /// Signs a body for a place of a job: a list's number, or the number of lists for the
    /// querier's input.
    pub fn sign(
        session: &SessionId,
        job: &JobName,
        place: u32,
        body: Vec<u8>,
        key: &SigningKey,
    ) -> Self {
        let signature = key.sign(&upload_digest(session, job, place, &body_digest(&body)));
        Self { body, signature }
    }

    /// Whether its maker signed it for this place.
    #[must_use]
    pub fn verifies(
        &self,
        session: &SessionId,
        job: &JobName,
        place: u32,
        key: &VerifyingKey,
    ) -> bool {
        let digest = upload_digest(session, job, place, &body_digest(&self.body));
        key.verifies(&digest, &self.signature)
    }

    /// Bytes for sending.
    pub fn encode(&self) -> Vec<u8> {
        wire::encode(self)
    }

    /// Reads what [`Upload::encode`] writes.
    ///
    /// # Errors
    /// [`wire::Malformed`].
    pub fn decode(bytes: &[u8]) -> Result<Self, wire::Malformed> {
        wire::decode(bytes)
    }
}
