//! Results: what is opened of the shared values, and to whom (`docs/spec/graph.md`, section 8).
//!
//! Only four things are ever opened: a value, whether a value is zero, a count that is large
//! enough, and any of these to one recipient. Nothing that products went into is opened before they
//! are verified, which the types see to.

use ostrakon_crypto::Secret;
use ostrakon_field::{Fp61, WordField, elements, to_table};
use ostrakon_replicated::pair::Pair;
use serde::{Deserialize, Serialize};

use crate::params::MAX_THRESHOLD;
use crate::program::VertexProgram;
use crate::query::States;
use crate::ruffle2::fault::Stop;
use crate::ruffle2::journal::{Journal, begin};
use crate::ruffle2::opening::open;
use crate::ruffle2::product::{Products, Unchecked};
use crate::ruffle2::run::Run;
use crate::ruffle2::seeds::JobSeeds;
use crate::ruffle2::sharing::Rss;
use crate::spec::JobSpec;

/// A job's result, still shared: the vertices' values before the first hop and after each.
pub struct Computed<P: VertexProgram> {
    run: Run,
    seeds: JobSeeds,
    spec: JobSpec,
    states: Vec<Rss<P::F>>,
    randomness: Secret,
    batches: u32,
}

/// What one server gives to a recipient: its shares of a vector, by the order of
/// [`Pair::of_party`].
#[derive(Clone, Serialize, Deserialize)]
pub struct Handout {
    /// The shares, as tables.
    pub shares: [Vec<u8>; 2],
}

impl Handout {
    fn of<F: WordField>(values: &Rss<F>) -> Self {
        let share = |pair| to_table(values.share(pair).iter().copied());
        Self { shares: Pair::of_party(values.party()).map(share) }
    }
}

/// What a recipient computes from all three servers' handouts of `count` elements; `None` if two
/// servers do not give the same share. It is then not known which of them lies.
pub fn receive<F: WordField>(handouts: &[Handout; 3], count: usize) -> Option<Vec<F>> {
    let length = count * ostrakon_field::ELEMENT_BYTES;
    let mut sum = vec![0; length];
    for pair in Pair::ALL {
        let [a, b] = pair.members().map(|member| {
            let which = usize::from(Pair::of_party(member)[1] == pair);
            &handouts[usize::from(member)].shares[which]
        });
        if a != b || a.len() != length || !F::are_canonical(a) {
            return None;
        }
        F::add_into(&mut sum, a);
    }
    Some(elements(&sum).collect())
}

impl<P: VertexProgram> Computed<P> {
    pub(crate) fn new(
        run: Run,
        seeds: JobSeeds,
        spec: JobSpec,
        states: States<P::F>,
        randomness: Secret,
    ) -> Self {
        let me = run.me();
        let states = states.into_iter().map(|state| state.into_rss(me)).collect();
        Self { run, seeds, spec, states, randomness, batches: 0 }
    }

    /// The vertices' values after so many hops.
    ///
    /// # Panics
    /// If the job has fewer hops.
    pub fn state(&self, hops: u32) -> &Rss<P::F> {
        &self.states[hops as usize]
    }

    /// The vertices' values after the last hop.
    pub fn last(&self) -> &Rss<P::F> {
        self.state(self.spec.hops)
    }

    /// All states after a hop, one after the other.
    fn all_states(&self) -> Rss<P::F> {
        Rss::concat(&self.states[1..].iter().collect::<Vec<_>>())
    }

    /// Begins a batch of products, once: a batch that was broken off is not taken up again, since
    /// its masks would be used twice.
    fn begin_batch(&mut self, journal: &dyn Journal) -> Result<(u32, [u8; 32]), Stop> {
        let (job, batch) = (self.spec.number, self.batches);
        self.batches += 1;
        begin(journal, format!("job {job} products {batch}"))?;
        let number = batch.to_le_bytes();
        let fresh = self.randomness.derive("ostrakon/v1/graph/batch randomness", &[&number]);
        Ok((batch, *fresh.expose()))
    }

    async fn open_all<F: WordField>(&self, batch: u32, values: &Rss<F>) -> Result<Vec<F>, Stop> {
        let task = open::<F>(&self.run, vec![(batch << 16, values.tables())]);
        let opened = self.run.with_accusations(task).await?;
        Ok(elements(&opened[0]).collect())
    }

    /// w·x for random w: zero where x is, uniform elsewhere.
    async fn blinded(
        &mut self,
        values: &Rss<P::F>,
        journal: &dyn Journal,
    ) -> Result<(u32, Rss<P::F>), Stop> {
        let (batch, randomness) = self.begin_batch(journal)?;
        let run = self.run.clone();
        let task = async {
            let mut products = Products::new(&run, &self.seeds, batch);
            let random = products.random(0, values.len());
            let product = products.multiply(values, &random).await?;
            let verified = products.verify(randomness).await?;
            Ok(product.release(&verified))
        };
        Ok((batch, run.with_accusations(task).await?))
    }

    /// Opens to all servers which of the values are not zero, and nothing else of them.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn nonzero(
        &mut self,
        values: &Rss<P::F>,
        journal: &dyn Journal,
    ) -> Result<Vec<bool>, Stop> {
        let (batch, blinded) = self.blinded(values, journal).await?;
        let opened = self.open_all(batch, &blinded).await?;
        Ok(opened.into_iter().map(|value| value != P::F::ZERO).collect())
    }

    /// Which vertices have a value after the last hop.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn reached(&mut self, journal: &dyn Journal) -> Result<Vec<bool>, Stop> {
        let last = self.last().map(<[P::F]>::to_vec);
        self.nonzero(&last, journal).await
    }

    /// After how many hops each vertex has a value for the first time, from 1; `None` for those
    /// that never have one. Who has one before the first hop is not asked for.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn first_reached(&mut self, journal: &dyn Journal) -> Result<Vec<Option<u32>>, Stop> {
        let all = self.all_states();
        let bits = self.nonzero(&all, journal).await?;
        let (vertices, hops) = (self.spec.vertices as usize, self.spec.hops as usize);
        let first = |v| (0..hops).find(|hop| bits[hop * vertices + v]).map(|hop| hop as u32 + 1);
        Ok((0..vertices).map(first).collect())
    }

    /// For one recipient: a vector that is zero where the values are, and random elsewhere.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn nonzero_to(
        &mut self,
        values: &Rss<P::F>,
        journal: &dyn Journal,
    ) -> Result<Handout, Stop> {
        let (_, blinded) = self.blinded(values, journal).await?;
        Ok(Handout::of(&blinded))
    }

    /// For one recipient: the values after the last hop.
    pub fn values_to(&self) -> Handout {
        Handout::of(self.last())
    }

    /// Opens to all servers the values after the last hop.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn values(&mut self) -> Result<Vec<P::F>, Stop> {
        let batch = self.batches;
        self.batches += 1;
        self.open_all(batch, self.last()).await
    }
}

impl<P: VertexProgram<F = Fp61>> Computed<P> {
    /// Opens to all servers the counts after the last hop that are at least `threshold`; of the
    /// others only that they are below it.
    ///
    /// # Errors
    /// [`Stop`].
    ///
    /// # Panics
    /// If the threshold is 0 or above [`MAX_THRESHOLD`].
    pub async fn at_least(
        &mut self,
        threshold: u32,
        journal: &dyn Journal,
    ) -> Result<Vec<Option<Fp61>>, Stop> {
        assert!((1..=MAX_THRESHOLD).contains(&threshold), "thresholds are 1 to {MAX_THRESHOLD}");
        let (batch, randomness) = self.begin_batch(journal)?;
        let run = self.run.clone();
        let task = async {
            let counts = self.last();
            let mut products = Products::new(&run, &self.seeds, batch);
            let blinded = below(&mut products, counts, threshold).await?;
            let verified = products.verify(randomness).await?;
            Ok(blinded.release(&verified))
        };
        let blinded = run.with_accusations(task).await?;
        let opened = self.open_all(batch, &blinded).await?;
        let large: Vec<usize> = (0..opened.len()).filter(|i| opened[*i] != Fp61::ZERO).collect();
        let of_large = self.last().map(|counts| large.iter().map(|i| counts[*i]).collect());
        let second = self.batches;
        self.batches += 1;
        let values = self.open_all(second, &of_large).await?;
        let mut counts = vec![None; opened.len()];
        large.into_iter().zip(values).for_each(|(i, value)| counts[i] = Some(value));
        Ok(counts)
    }
}

/// w·x·(x − 1)···(x − threshold + 1): zero if and only if x is below the threshold, since a field
/// has no divisors of zero; otherwise uniform but for zero.
async fn below(
    products: &mut Products<'_, Fp61>,
    counts: &Rss<Fp61>,
    threshold: u32,
) -> Result<Unchecked<Fp61>, Stop> {
    let factor = |i: u32| counts.plus(-Fp61::new(i.into()));
    let random = products.random(0, counts.len());
    let mut product = products.multiply(&random, counts).await?;
    for i in 1..threshold {
        product = products.multiply(&product, &factor(i)).await?;
    }
    Ok(product)
}
