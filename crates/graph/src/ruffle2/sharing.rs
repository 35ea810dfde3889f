//! Tables that stay shared.

use ostrakon_crypto::Digest;
use ostrakon_field::{ELEMENT_BYTES, WordField, elements, to_table};
use ostrakon_replicated::pair::Pair;
use zeroize::Zeroize;

use super::seeds::{JobSeeds, Purpose};

/// A vector in replicated shares, as one server has it: of each of its two pairs the share. Its
/// value is the sum of three. What is in it has been checked: a vector that comes of products
/// becomes one only by [`super::product::Products::verify`].
pub struct Rss<F: WordField> {
    party: u8,
    own: [Vec<F>; 2],
}

impl<F: WordField> Drop for Rss<F> {
    fn drop(&mut self) {
        self.own.iter_mut().for_each(Zeroize::zeroize);
    }
}

impl<F: WordField> Rss<F> {
    /// A server's shares, in the order of [`Pair::of_party`].
    ///
    /// # Panics
    /// If the two have different lengths.
    pub fn of_own(party: u8, own: [Vec<F>; 2]) -> Self {
        assert_eq!(own[0].len(), own[1].len(), "both shares are of one vector");
        Self { party, own }
    }

    /// A random vector that nobody knows. `step` must not repeat in a job.
    pub fn random(seeds: &JobSeeds, party: u8, step: u64, count: usize) -> Self {
        let own = Pair::of_party(party).map(|pair| {
            let mut bytes = vec![0; count * ELEMENT_BYTES];
            F::expand(&seeds.of(pair).prg(Purpose::Random(step)), 0, &mut bytes);
            elements(&bytes).collect()
        });
        Self { party, own }
    }

    /// The server.
    pub fn party(&self) -> u8 {
        self.party
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.own[0].len()
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.own[0].is_empty()
    }

    /// The share of a pair that the server is in.
    pub fn share(&self, pair: Pair) -> &[F] {
        &self.own[usize::from(Pair::of_party(self.party)[1] == pair)]
    }

    /// What a linear function makes of each share.
    pub fn map(&self, linear: impl Fn(&[F]) -> Vec<F>) -> Self {
        Self::of_own(self.party, self.own.each_ref().map(|share| linear(share)))
    }

    /// Adds the same public element to every element. P0 and P1 put it into their pair's share.
    pub fn plus(&self, public: F) -> Self {
        let mut sum = self.map(<[F]>::to_vec);
        for (share, pair) in sum.own.iter_mut().zip(Pair::of_party(self.party)) {
            if pair == Pair::P01 {
                share.iter_mut().for_each(|element| *element += public);
            }
        }
        sum
    }

    /// A vector that the two members of a pair know, and nobody else: `values` makes it for them.
    pub fn known(party: u8, pair: Pair, count: usize, values: impl Fn() -> Vec<F>) -> Self {
        let share = |own| if own == pair { values() } else { vec![F::ZERO; count] };
        Self::of_own(party, Pair::of_party(party).map(share))
    }

    /// What a linear function makes of two vectors' elements.
    ///
    /// # Panics
    /// If they have different lengths.
    pub fn zip(&self, other: &Self, linear: impl Fn(F, F) -> F) -> Self {
        assert_eq!(self.len(), other.len(), "vectors of one length");
        let both = |i: usize| self.own[i].iter().zip(&other.own[i]);
        Self::of_own(self.party, [0, 1].map(|i| both(i).map(|(a, b)| linear(*a, *b)).collect()))
    }

    /// `scale`·x + `shift` for public numbers, element by element.
    pub fn affine(&self, scale: &[F], shift: &[F]) -> Self {
        let mut scaled = self.map(|share| share.iter().zip(scale).map(|(x, s)| *x * *s).collect());
        for (share, pair) in scaled.own.iter_mut().zip(Pair::of_party(self.party)) {
            if pair == Pair::P01 {
                share.iter_mut().zip(shift).for_each(|(element, public)| *element += *public);
            }
        }
        scaled
    }

    /// Some of its elements, one after the other.
    pub fn part(&self, range: std::ops::Range<usize>) -> Self {
        self.map(|share| share[range.clone()].to_vec())
    }

    /// One vector after the other.
    pub fn concat(parts: &[&Self]) -> Self {
        let party = parts.first().map_or(0, |part| part.party);
        let own = [0, 1].map(|i| parts.iter().flat_map(|p| p.own[i].iter().copied()).collect());
        Self { party, own }
    }

    /// The shares as tables, by [`Pair::index`].
    pub fn tables(&self) -> super::opening::OwnShares {
        Pair::ALL.map(|pair| {
            let own = pair.contains(self.party);
            own.then(|| to_table(self.share(pair).iter().copied()).into())
        })
    }
}

/// A vector under masks: value = `beta` + the sum of three masks, each known to a pair. `beta` is
/// known to all three servers.
pub struct Masked<F: WordField> {
    /// The value less its masks.
    pub beta: Vec<F>,
    /// The server's masks, in the order of [`Pair::of_party`].
    pub masks: [Vec<F>; 2],
}

impl<F: WordField> Masked<F> {
    /// In replicated shares: β goes into the share of P0 and P1.
    pub fn into_rss(self, party: u8) -> Rss<F> {
        let mut own = self.masks;
        for (share, pair) in own.iter_mut().zip(Pair::of_party(party)) {
            if pair == Pair::P01 {
                share.iter_mut().zip(&self.beta).for_each(|(share, beta)| *share += *beta);
            }
        }
        Rss::of_own(party, own)
    }
}

/// The digest of a public table, for votes.
pub fn table_digest(table: &[u8]) -> Digest {
    ostrakon_crypto::hash::digest("ostrakon/v1/ruffle2/public table", table)
}
