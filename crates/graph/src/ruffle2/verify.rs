//! Verification of products by recursive inner products (Boneh, Boyle, Corrigan-Gibbs, Gilboa,
//! Ishai, CRYPTO 2019, as in `docs/spec/ruffle2.md`, V1 to V6).
//!
//! A random combination makes one claim Σ a_i·x_i·y_i = z of all products. At each level the
//! vectors are cut into pieces, through which polynomials f_j and g_j are laid; the servers compute
//! shares of h = Σ f_j·g_j at enough points, and go on with f(t), g(t), h(t) at a coin t. At the
//! end a lane of random values masks f(t), g(t), h(t), which are opened.

use ostrakon_crypto::{Digest, Secret};
use ostrakon_field::{ELEMENT_BYTES, WordField};
use ostrakon_party::PartyId;

use super::coin;
use super::fault::Stop;
use super::opening;
use super::resharing::{local_terms, reshare};
use super::run::Run;
use super::seeds::JobSeeds;
use super::sharing::Rss;
use super::steps::{DIGEST, Kind, Rule};

/// Pieces into which vectors are cut at each level.
pub const PIECES: usize = 16;

/// The numbers of the random lane's two vectors in a batch; callers use lower ones.
const LANE: [u64; 2] = [u32::MAX as u64 - 1, u32::MAX as u64];

/// What is claimed: x_i·y_i = z_i.
pub struct Triples<F: WordField> {
    /// x.
    pub x: Rss<F>,
    /// y.
    pub y: Rss<F>,
    /// z.
    pub z: Rss<F>,
}

/// Where a verification takes place.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The phase.
    pub run: &'a Run,
    /// The job's seeds.
    pub seeds: &'a JobSeeds,
    /// The batch, below 2^16.
    pub batch: u32,
}

impl Place<'_> {
    fn sequence(&self, level: usize) -> u32 {
        self.batch << 16 | 1 << 15 | level as u32
    }
}

/// Levels before the last one, for vectors of a length.
pub fn levels(mut length: usize) -> usize {
    let mut levels = 0;
    while length > PIECES {
        length = length.div_ceil(PIECES);
        levels += 1;
    }
    levels
}

/// The coins of a verification: all are committed to beforehand, one is opened per level.
struct Coins<'a> {
    place: Place<'a>,
    randomness: Secret,
    commitments: [Vec<Digest>; 3],
}

impl<'a> Coins<'a> {
    fn own(randomness: &Secret, level: usize) -> Vec<u8> {
        let number = (level as u64).to_le_bytes();
        let part = |what: &'static [u8]| {
            *randomness.derive("ostrakon/v1/ruffle2/level coin", &[what, &number]).expose()
        };
        [part(b"nonce"), part(b"contribution")].concat()
    }

    async fn commit(place: Place<'a>, randomness: Secret, count: usize) -> Result<Self, Stop> {
        let me = place.run.me();
        let of = |level| {
            let at = (Kind::LevelOpening, place.sequence(level));
            coin::commitment(place.run, at, me, &Self::own(&randomness, level)).0
        };
        let own: Vec<u8> = (0..count).flat_map(of).collect();
        let rule = Rule::exactly(DIGEST * count as u64);
        let sequence = place.sequence(0);
        let stated = place.run.broadcast(Kind::LevelCommitment, sequence, own, rule).await?;
        let commitments = stated.map(|received| {
            received.body.as_chunks::<32>().0.iter().map(|digest| Digest(*digest)).collect()
        });
        Ok(Self { place, randomness, commitments })
    }

    /// Opens the coin of a level, after everything that it checks has been received.
    async fn open(&self, level: usize) -> Result<Digest, Stop> {
        let (run, sequence) = (self.place.run, self.place.sequence(level));
        let own = Self::own(&self.randomness, level);
        run.send_all(Kind::LevelOpening, sequence, own.clone());
        let rule = Rule::exactly(own.len() as u64);
        let theirs = run.receive_both(Kind::LevelOpening, sequence, rule).await?;
        let mut openings = [own.clone(), own.clone(), own];
        for (peer, opening) in run.peers().into_iter().zip(theirs) {
            let at = (Kind::LevelOpening, sequence);
            let stated = self.commitments[usize::from(peer)][level];
            if coin::commitment(run, at, peer, &opening.body) != stated {
                return Err(Stop::Broken(PartyId(peer), "its commitment"));
            }
            openings[usize::from(peer)] = opening.body.to_vec();
        }
        Ok(coin::joint(openings.iter().map(|opening| &opening[coin::NONCE..])))
    }
}

/// Verifies triples.
///
/// # Errors
/// [`Stop::Check`] if one of them, or a message of the verification, is wrong.
pub async fn verify<F: WordField>(
    place: Place<'_>,
    triples: Triples<F>,
    randomness: [u8; 32],
) -> Result<(), Stop> {
    let levels = levels(triples.x.len());
    let coins = Coins::commit(place, Secret::new(randomness), levels + 2).await?;
    // V1: one claim of all triples, by coefficients that nobody knew before.
    let coin = coins.open(0).await?;
    let mut claim = Claim::of(triples, &coin);
    for level in 1..=levels {
        claim = claim.fold(place, &coins, level).await?;
    }
    claim.finish(place, &coins, levels + 1).await
}

/// ⟨x, y⟩ = z.
struct Claim<F: WordField> {
    x: Rss<F>,
    y: Rss<F>,
    z: Rss<F>,
}

impl<F: WordField> Claim<F> {
    /// V1. The triples are as long as all products together: what is not needed goes.
    fn of(triples: Triples<F>, coin: &Digest) -> Self {
        let Triples { x, y, z } = triples;
        let a: Vec<F> = coin::elements(coin, b"coefficients", &[], x.len());
        let z = z.map(|z| vec![dot(z, &a)]);
        let x = x.map(|x| x.iter().zip(&a).map(|(x, a)| *x * *a).collect());
        Self { x, y, z }
    }

    /// V2 to V4: one level.
    async fn fold(self, place: Place<'_>, coins: &Coins<'_>, level: usize) -> Result<Self, Stop> {
        let length = self.x.len().div_ceil(PIECES);
        let points = 2 * PIECES - 1;
        let terms = (1..points)
            .map(|point| {
                let at = lagrange(PIECES, F::nth(point as u64));
                let (f, g) = (evaluate(&self.x, length, &at), evaluate(&self.y, length, &at));
                local_terms(&f, &g).into_iter().sum()
            })
            .collect();
        let h = self.values(place, level, terms, PIECES).await?;
        let t = outside(&coins.open(level).await?, PIECES);
        let at = lagrange(PIECES, t);
        let last = lagrange(points, t);
        Ok(Self {
            x: evaluate(&self.x, length, &at),
            y: evaluate(&self.y, length, &at),
            z: h.map(|h| vec![dot(h, &last)]),
        })
    }

    /// Shares of h at all points, from the servers' terms for all points but 0, and from z = Σ_{i <
    /// pieces} h(i).
    async fn values(
        &self,
        place: Place<'_>,
        level: usize,
        terms: Vec<F>,
        pieces: usize,
    ) -> Result<Rss<F>, Stop> {
        let sequence = place.sequence(level);
        let kind = Kind::LevelProduct;
        let rest = reshare(place.run, place.seeds, kind, sequence, terms).await?;
        let own = ostrakon_replicated::pair::Pair::of_party(place.run.me()).map(|pair| {
            let (rest, z) = (rest.share(pair), self.z.share(pair)[0]);
            let zeroth = z - rest[..pieces - 1].iter().copied().sum::<F>();
            [&[zeroth], rest].concat()
        });
        Ok(Rss::of_own(place.run.me(), own))
    }

    /// V5 and V6: the last level, with a random lane, and the opening.
    async fn finish(self, place: Place<'_>, coins: &Coins<'_>, level: usize) -> Result<(), Stop> {
        let pieces = self.x.len();
        let lane = LANE.map(|number| {
            let step = u64::from(place.batch) << 32 | number;
            Rss::<F>::random(place.seeds, place.run.me(), step, 1)
        });
        let x = Rss::concat(&[&self.x, &lane[0]]);
        let y = Rss::concat(&[&self.y, &lane[1]]);
        let points = 2 * pieces + 1;
        let at = |point: usize| lagrange(pieces + 1, F::nth(point as u64));
        let terms = (1..points)
            .map(|point| {
                let at = at(point);
                local_terms(&evaluate(&x, 1, &at), &evaluate(&y, 1, &at))[0]
            })
            .collect();
        let h = self.values(place, level, terms, pieces).await?;
        let t = outside(&coins.open(level).await?, pieces + 1);
        let at = lagrange(pieces + 1, t);
        let last = lagrange(points, t);
        let end = [evaluate(&x, 1, &at), evaluate(&y, 1, &at), h.map(|h| vec![dot(h, &last)])];
        let end = Rss::concat(&end.each_ref());
        let opened = opening::open::<F>(place.run, vec![(place.sequence(level), end.tables())]);
        let opened: Vec<F> = ostrakon_field::elements(&opened.await?[0]).collect();
        if opened[0] * opened[1] == opened[2] { Ok(()) } else { Err(Stop::Check("products")) }
    }
}

fn dot<F: WordField>(a: &[F], b: &[F]) -> F {
    a.iter().zip(b).map(|(a, b)| *a * *b).sum()
}

/// Σ_i at\[i\]·piece_i of a vector cut into pieces of a length, the last ones filled up with zeros.
fn evaluate<F: WordField>(vector: &Rss<F>, length: usize, at: &[F]) -> Rss<F> {
    vector.map(|share| {
        let mut sum = vec![F::ZERO; length];
        for (piece, coefficient) in share.chunks(length).zip(at) {
            if *coefficient != F::ZERO {
                sum.iter_mut().zip(piece).for_each(|(sum, v)| *sum += *v * *coefficient);
            }
        }
        sum
    })
}

/// The coefficients with which the values at the points 0..n give the value at `t` of the
/// polynomial of degree below n through them.
pub fn lagrange<F: WordField>(n: usize, t: F) -> Vec<F> {
    let point = |i: usize| F::nth(i as u64);
    (0..n)
        .map(|i| {
            let others = (0..n).filter(|j| *j != i);
            let (over, under) = others.fold((F::ONE, F::ONE), |(over, under), j| {
                (over * (t - point(j)), under * (point(i) - point(j)))
            });
            over * under.inverse().expect("the points are different")
        })
        .collect()
}

/// A coin's element that is none of the points 0..n: at such a point the opened values would not be
/// masked by the random lane.
fn outside<F: WordField>(coin: &Digest, n: usize) -> F {
    let stream = coin::stream(coin, b"point", &[]);
    let mut bytes = [0; ELEMENT_BYTES];
    (0..)
        .map(|i| {
            F::expand(&stream, i, &mut bytes);
            ostrakon_field::element::<F>(u64::from_le_bytes(bytes))
        })
        .find(|t| (0..n).all(|i| *t != F::nth(i as u64)))
        .expect("fields have more elements than points")
}

#[cfg(test)]
mod tests {
    use ostrakon_field::{Fp61, Gf64};

    use super::*;

    fn polynomials_are_interpolated<F: WordField>() {
        let value = |t: F| t * t * t + F::nth(7) * t + F::nth(9);
        for t in [F::nth(2), F::nth(1 << 40), F::nth(4)] {
            let at = lagrange(4, t);
            let through: F = (0..4).map(|i| at[i] * value(F::nth(i as u64))).sum();
            assert!(through == value(t));
        }
    }

    #[test]
    fn polynomials_are_interpolated_over_both_fields() {
        polynomials_are_interpolated::<Gf64>();
        polynomials_are_interpolated::<Fp61>();
        assert_eq!([1, 16, 17, 256, 257, 1 << 20].map(levels), [0, 0, 1, 1, 2, 4]);
    }
}
