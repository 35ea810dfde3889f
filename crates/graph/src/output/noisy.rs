//! Results with noise, for programs whose sensitivity is known (`docs/spec/graph.md`, section 8).
//!
//! Noise is a number of secret coins, tossed by the servers together: nobody knows how one fell.

use ostrakon_field::Fp61;

use crate::asked::Closed;
use crate::output::{Computed, Reader};
use crate::params::MAX_THRESHOLD;
use crate::program::VertexProgram;
use crate::ruffle2::fault::Stop;
use crate::ruffle2::journal::Journal;
use crate::ruffle2::sharing::Rss;
use crate::spec::Decoys;

impl<P: VertexProgram<F = Fp61>> Computed<P> {
    /// x + w·f(x) for f(x) = (x + 1)·x·(x − 1)···(x − bins + 1) and random w: each x below `bins`
    /// and each decoy that is not there as it is, and of all others a uniform number.
    async fn clipped(
        &mut self,
        decoys: Decoys,
        journal: &dyn Journal,
    ) -> Result<(u32, Rss<Fp61>), Stop> {
        assert!((1..=MAX_THRESHOLD).contains(&decoys.bins), "bins are 1 to {MAX_THRESHOLD}");
        let values = self.last().map(<[Fp61]>::to_vec);
        let (batch, randomness) = self.begin_verified(journal)?;
        let run = self.run().clone();
        let task = async {
            let mut products = self.products(&run, batch);
            let random = products.random(0, values.len());
            let mut hidden = products.with(random);
            for root in 0..=decoys.bins {
                let factor = values.plus(Fp61::ONE - Fp61::new(root.into()));
                hidden = products.multiply(&hidden, &factor).await?;
            }
            let clipped = hidden.zip(&values, |hidden, x| hidden + x);
            Ok(clipped.release(&products.verify(randomness).await?))
        };
        Ok((batch, run.with_accusations(task).await?))
    }

    /// Opens to all servers the values after the last hop and the decoys among them, in an order
    /// that nobody knows; of values that are not below `decoys.bins` only that.
    ///
    /// # Errors
    /// [`Stop`].
    ///
    /// # Panics
    /// If there are no bins, or more than [`MAX_THRESHOLD`].
    pub async fn among_decoys(
        &mut self,
        decoys: Decoys,
        journal: &dyn Journal,
    ) -> Result<Vec<Fp61>, Stop> {
        let (batch, clipped) = self.clipped(decoys, journal).await?;
        self.open_all(batch, &clipped).await
    }

    /// As [`Computed::among_decoys`], to a reader.
    ///
    /// # Errors
    /// [`Stop`].
    ///
    /// # Panics
    /// If there are no bins, or more than [`MAX_THRESHOLD`].
    pub async fn among_decoys_to(
        &mut self,
        decoys: Decoys,
        reader: Reader<'_>,
        journal: &dyn Journal,
    ) -> Result<Closed, Stop> {
        let (batch, clipped) = self.clipped(decoys, journal).await?;
        self.close(batch, &clipped, reader).await
    }

    /// The sum of all values after the last hop and of so many coins.
    async fn sum(&mut self, coins: u32, journal: &dyn Journal) -> Result<(u32, Rss<Fp61>), Stop> {
        let (batch, randomness) = self.begin_verified(journal)?;
        let run = self.run().clone();
        let task = async {
            let mut products = self.products(&run, batch);
            let added = |share: &[Fp61]| vec![share.iter().copied().sum()];
            let values = self.last().map(added);
            if coins == 0 {
                return Ok(values);
            }
            let noise = products.bits(0, coins as usize).await?.map(added);
            let sum = noise.zip(&values, |noise, values| noise + values);
            Ok(sum.release(&products.verify(randomness).await?))
        };
        Ok((batch, run.with_accusations(task).await?))
    }

    /// Opens to all servers the sum of all values after the last hop and of so many coins, each 0
    /// or 1.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn total(&mut self, coins: u32, journal: &dyn Journal) -> Result<Fp61, Stop> {
        let (batch, sum) = self.sum(coins, journal).await?;
        Ok(self.open_all(batch, &sum).await?[0])
    }

    /// As [`Computed::total`], to a reader.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn total_to(
        &mut self,
        coins: u32,
        reader: Reader<'_>,
        journal: &dyn Journal,
    ) -> Result<Closed, Stop> {
        let (batch, sum) = self.sum(coins, journal).await?;
        self.close(batch, &sum, reader).await
    }
}
