//! Batches of products of a job's phase, each begun once.

pub mod truncation;

use std::sync::atomic::{AtomicU32, Ordering};

use ostrakon_crypto::Secret;
use ostrakon_field::{Fp61, WordField};

use crate::ruffle2::fault::Stop;
use crate::ruffle2::journal::{Journal, begin};
use crate::ruffle2::product::Products;
use crate::ruffle2::run::Run;
use crate::ruffle2::seeds::JobSeeds;
use crate::ruffle2::sharing::Rss;
use truncation::{BITS, Mask, truncate};

/// What batches need, and how many there were.
pub(crate) struct Batches<'a> {
    pub run: &'a Run,
    pub seeds: &'a JobSeeds,
    pub job: u64,
    pub journal: &'a dyn Journal,
    pub randomness: &'a Secret,
    /// The number of the next batch.
    pub next: &'a AtomicU32,
}

impl<'a> Batches<'a> {
    /// The next batch, and the randomness to verify it with. A batch that was broken off is not
    /// taken up again, since its masks would be used twice.
    pub fn begin<F: WordField>(&self) -> Result<(Products<'a, F>, [u8; 32]), Stop> {
        let batch = self.next.fetch_add(1, Ordering::Relaxed);
        begin(self.journal, format!("job {} products {batch}", self.job))?;
        let number = batch.to_le_bytes();
        let fresh = self.randomness.derive("ostrakon/v1/graph/batch randomness", &[&number]);
        Ok((Products::new(self.run, self.seeds, batch), *fresh.expose()))
    }

    /// Random bits that nobody knows, verified.
    pub async fn bits<F: WordField>(&self, count: usize) -> Result<Rss<F>, Stop> {
        let (mut products, fresh) = self.begin()?;
        let bits = products.bits(0, count).await?;
        Ok(bits.release(&products.verify(fresh).await?))
    }

    /// Masks for as many truncations. Their bits are verified before anything is opened under them:
    /// a bit that is none would not hide what it should.
    pub async fn masks(&self, count: usize) -> Result<Mask, Stop> {
        Ok(Mask::of_bits(self.bits(BITS * count).await?, count))
    }

    /// ⌊x·y/2^shift⌋, element by element, for products from 0 to p − 1.
    pub async fn scaled_product(
        &self,
        x: &Rss<Fp61>,
        y: &Rss<Fp61>,
        shift: usize,
    ) -> Result<Rss<Fp61>, Stop> {
        let masks = self.masks(x.len()).await?;
        let (mut products, fresh) = self.begin()?;
        let product = products.multiply(x, y).await?;
        let quotient = truncate(&mut products, &product, masks, shift).await?;
        Ok(quotient.release(&products.verify(fresh).await?))
    }

    /// ⌊x·factor/2^shift⌋ for a public factor.
    pub async fn scaled(
        &self,
        x: &Rss<Fp61>,
        factor: Fp61,
        shift: usize,
    ) -> Result<Rss<Fp61>, Stop> {
        let masks = self.masks(x.len()).await?;
        let (mut products, fresh) = self.begin()?;
        let product = products.with(x.map(|share| share.iter().map(|x| *x * factor).collect()));
        let quotient = truncate(&mut products, &product, masks, shift).await?;
        Ok(quotient.release(&products.verify(fresh).await?))
    }
}
