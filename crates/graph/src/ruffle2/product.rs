//! Products of shared elements: one element per server each, believed only once verified.

use ostrakon_field::{WordField, elements};
use ostrakon_replicated::pair::Pair;

use crate::params::MAX_PRODUCT_ROUNDS;

use super::fault::Stop;
use super::opening;
use super::resharing::{local_terms, reshare};
use super::run::Run;
use super::seeds::{JobSeeds, Purpose};
use super::sharing::Rss;
use super::steps::Kind;
use super::verify;

/// Products that have not been verified. It can be multiplied further, and cannot be opened.
pub struct Unchecked<F: WordField> {
    batch: u32,
    product: Rss<F>,
}

/// The witness that a batch's products have been verified.
pub struct Verified {
    batch: u32,
}

impl<F: WordField> Unchecked<F> {
    /// The products, now that their batch has been verified.
    ///
    /// # Panics
    /// If the witness is another batch's.
    pub fn release(self, witness: &Verified) -> Rss<F> {
        assert_eq!(self.batch, witness.batch, "each batch has a witness of its own");
        self.product
    }

    /// What a linear function makes of it.
    pub fn map(&self, linear: impl Fn(&[F]) -> Vec<F>) -> Self {
        Self { batch: self.batch, product: self.product.map(linear) }
    }

    /// What a linear function makes of its elements and another vector's.
    ///
    /// # Panics
    /// If they have different lengths, or the other one is of another batch and not verified.
    pub fn zip(&self, other: &impl Factor<F>, linear: impl Fn(F, F) -> F) -> Self {
        assert!(other.batch().is_none_or(|batch| batch == self.batch), "of the same batch");
        Self { batch: self.batch, product: self.product.zip(other.shares(), linear) }
    }

    /// `scale`·x + `shift` for public numbers, element by element.
    pub fn affine(&self, scale: &[F], shift: &[F]) -> Self {
        Self { batch: self.batch, product: self.product.affine(scale, shift) }
    }

    /// How many there are.
    #[expect(clippy::len_without_is_empty, reason = "products are of vectors with elements")]
    pub fn len(&self) -> usize {
        self.product.len()
    }

    /// Some of its elements, one after the other.
    pub fn part(&self, range: std::ops::Range<usize>) -> Self {
        Self { batch: self.batch, product: self.product.part(range) }
    }
}

/// A factor of a product.
pub trait Factor<F: WordField> {
    /// The shares.
    fn shares(&self) -> &Rss<F>;

    /// The batch that has to be verified before it may be believed; none if it may.
    fn batch(&self) -> Option<u32>;
}

impl<F: WordField> Factor<F> for Rss<F> {
    fn shares(&self) -> &Rss<F> {
        self
    }

    fn batch(&self) -> Option<u32> {
        None
    }
}

impl<F: WordField> Factor<F> for Unchecked<F> {
    fn shares(&self) -> &Rss<F> {
        &self.product
    }

    fn batch(&self) -> Option<u32> {
        Some(self.batch)
    }
}

/// A batch of products with what verifying them takes.
pub struct Products<'a, F: WordField> {
    run: &'a Run,
    seeds: &'a JobSeeds,
    batch: u32,
    rounds: u32,
    openings: u32,
    x: Vec<Rss<F>>,
    y: Vec<Rss<F>>,
    z: Vec<Rss<F>>,
}

impl<'a, F: WordField> Products<'a, F> {
    /// An empty batch. Its number must not repeat in a job.
    pub fn new(run: &'a Run, seeds: &'a JobSeeds, batch: u32) -> Self {
        assert!(batch < 1 << 16, "batches have numbers below 2^16");
        let (x, y, z) = (Vec::new(), Vec::new(), Vec::new());
        Self { run, seeds, batch, rounds: 0, openings: 0, x, y, z }
    }

    /// A random vector that nobody knows; `number` must not repeat in a batch.
    pub fn random(&self, number: u32, count: usize) -> Rss<F> {
        let step = u64::from(self.batch) << 32 | u64::from(number);
        Rss::random(self.seeds, self.run.me(), step, count)
    }

    /// A vector that needs no verification, among those of this batch that do.
    pub fn with(&self, vector: Rss<F>) -> Unchecked<F> {
        Unchecked { batch: self.batch, product: vector }
    }

    /// One vector after the other.
    ///
    /// # Panics
    /// If one of them is of another batch.
    pub fn concat(&self, parts: &[&Unchecked<F>]) -> Unchecked<F> {
        assert!(parts.iter().all(|part| part.batch == self.batch), "of the same batch");
        let parts: Vec<&Rss<F>> = parts.iter().map(|part| &part.product).collect();
        self.with(Rss::concat(&parts))
    }

    /// Random bits that nobody knows: those that three pairs know, added modulo 2. Two rounds.
    /// `number` must not repeat in a batch.
    ///
    /// # Errors
    /// [`Stop::Malformed`].
    pub async fn bits(&mut self, number: u32, count: usize) -> Result<Unchecked<F>, Stop> {
        let step = u64::from(self.batch) << 32 | u64::from(number);
        let (me, seeds) = (self.run.me(), self.seeds);
        let [first, second, third] = Pair::ALL.map(|pair| {
            let draw = || {
                let mut bytes = vec![0; count.div_ceil(8)];
                seeds.of(pair).prg(Purpose::Bits(step)).fill_at(0, &mut bytes);
                let bit = |i: usize| F::nth(u64::from(bytes[i / 8] >> (i % 8) & 1));
                (0..count).map(bit).collect()
            };
            Rss::known(me, pair, count, draw)
        });
        let twice = F::ONE + F::ONE;
        let product = self.multiply(&first, &second).await?;
        let sum = product.zip(&first.zip(&second, |a, b| a + b), |ab, sum| sum - twice * ab);
        let product = self.multiply(&sum, &third).await?;
        Ok(product.zip(&sum, |ab, a| a - twice * ab).zip(&third, |a, b| a + b))
    }

    /// Opens x + `mask` to all servers before the batch is verified, so the mask must be uniform,
    /// believed, and serve for this alone: an error in x, which its maker knows, then moves what is
    /// opened by as much and tells nothing.
    ///
    /// # Errors
    /// [`Stop::Evidence`]; [`Stop::Malformed`].
    pub async fn open_masked(&mut self, x: &Unchecked<F>, mask: &Rss<F>) -> Result<Vec<F>, Stop> {
        let masked = x.product.zip(mask, |x, mask| x + mask);
        let sequence = self.batch << 16 | 1 << 14 | self.openings;
        self.openings += 1;
        let opened = opening::open::<F>(self.run, vec![(sequence, masked.tables())]).await?;
        Ok(elements(&opened[0]).collect())
    }

    /// Multiplies two vectors element by element: one round.
    ///
    /// # Errors
    /// [`Stop::Malformed`].
    ///
    /// # Panics
    /// If they have different lengths, one is of another batch, or this one has too many rounds.
    pub async fn multiply(
        &mut self,
        x: &impl Factor<F>,
        y: &impl Factor<F>,
    ) -> Result<Unchecked<F>, Stop> {
        let ours = |batch: Option<u32>| batch.is_none_or(|batch| batch == self.batch);
        assert!(ours(x.batch()) && ours(y.batch()), "of this batch, or verified");
        let (x, y) = (x.shares(), y.shares());
        assert_eq!(x.len(), y.len(), "vectors of one length");
        assert!(
            self.rounds < MAX_PRODUCT_ROUNDS,
            "a batch has at most {MAX_PRODUCT_ROUNDS} rounds"
        );
        let sequence = self.batch << 16 | self.rounds;
        let terms = local_terms(x, y);
        let product = reshare(self.run, self.seeds, Kind::Product, sequence, terms).await?;
        self.rounds += 1;
        let copy = |v: &Rss<F>| v.map(<[F]>::to_vec);
        self.x.push(copy(x));
        self.y.push(copy(y));
        self.z.push(copy(&product));
        Ok(Unchecked { batch: self.batch, product })
    }

    /// Verifies all products of the batch at once. `randomness` is 32 fresh random bytes, used for
    /// this batch alone.
    ///
    /// # Errors
    /// [`Stop::Check`] if a product or a message of the verification was wrong.
    pub async fn verify(self, randomness: [u8; 32]) -> Result<Verified, Stop> {
        let triples = verify::Triples { x: joined(self.x), y: joined(self.y), z: joined(self.z) };
        if !triples.x.is_empty() {
            let place = verify::Place { run: self.run, seeds: self.seeds, batch: self.batch };
            verify::verify(place, triples, randomness).await?;
        }
        Ok(Verified { batch: self.batch })
    }
}

/// One vector after the other; a single one is not copied.
fn joined<F: WordField>(mut parts: Vec<Rss<F>>) -> Rss<F> {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    Rss::concat(&parts.iter().collect::<Vec<_>>())
}
