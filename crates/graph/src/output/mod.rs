//! Results: what is opened of the shared values, and to whom (`docs/spec/graph.md`, section 8).
//!
//! Only six things are ever opened: a value, whether a value is zero, a count that is large
//! enough, the highest values (`top`), what is hidden by noise (`noisy`), and any of these to one
//! reader. Nothing that products went into is opened before they are verified, which the types see
//! to.

mod noisy;
pub mod top;

use ostrakon_computation::{ComputationId, Parameters};
use ostrakon_crypto::Secret;
use ostrakon_field::{Fp61, WordField, elements};
use ostrakon_party::Party;
use ostrakon_replicated::pair::Pair;

use crate::asked::{Closed, ReaderKey, SealedSeeds, mask};
use crate::job::Job;
use crate::params::MAX_THRESHOLD;
use crate::program::{Begin, VertexProgram, first_hops};
use crate::query::{Linked, States};
use crate::ruffle2::fault::Stop;
use crate::ruffle2::journal::{Journal, begin};
use crate::ruffle2::opening::open;
use crate::ruffle2::product::{Products, Unchecked};
use crate::ruffle2::run::Run;
use crate::ruffle2::seeds::{JobSeeds, Phase, Purpose};
use crate::ruffle2::sharing::Rss;
use crate::ruffle2::steps::{Kind, Rule};
use crate::spec::JobSpec;
use crate::watch::Stage;

/// A job's result, still shared: the vertices' values before the first hop and after each.
pub struct Computed<P: VertexProgram> {
    pub(crate) run: Run,
    pub(crate) seeds: JobSeeds,
    pub(crate) job: Job<P>,
    pub(crate) states: Vec<Rss<P::F>>,
    pub(crate) randomness: Secret,
    /// Batches of products that there were.
    pub(crate) batches: u32,
}

/// Who alone may read a result.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// Of which computation.
    pub computation: &'a ComputationId,
    /// The reader's key.
    pub key: &'a ReaderKey,
}

impl<P: VertexProgram> Linked<P> {
    /// Computes all hops. `randomness` is 32 fresh random bytes, used for this call alone.
    ///
    /// # Errors
    /// [`Stop`]; nothing has been opened.
    pub async fn compute(
        self,
        party: &Party,
        randomness: [u8; 32],
        journal: &dyn Journal,
    ) -> Result<Computed<P>, Stop> {
        let instance = self.spec().name().instance(Phase::Query);
        let run = Run { party: party.clone(), instance };
        let mut hops = 1..self.spec().hops;
        let alone = self.program().begins(0) == Begin::EachUse;
        if alone || hops.any(|hop| self.program().begins(hop) != Begin::GoesOn) {
            return Err(Stop::Check("a program whose hops begin anew"));
        }
        let task = self.walk(&run, journal);
        let (states, seeds, job) = run.with_accusations(task).await?;
        Ok(Computed::new(run.clone(), seeds, job, states, Secret::new(randomness)))
    }
}

impl<P: VertexProgram> Computed<P> {
    pub(crate) fn new(
        run: Run,
        seeds: JobSeeds,
        job: Job<P>,
        states: States<P::F>,
        randomness: Secret,
    ) -> Self {
        let me = run.me();
        let states = states.into_iter().map(|state| state.into_rss(me)).collect();
        Self { run, seeds, job, states, randomness, batches: 0 }
    }

    fn spec(&self) -> &JobSpec {
        self.job.spec()
    }

    pub(crate) fn run(&self) -> &Run {
        &self.run
    }

    pub(crate) fn products<'a>(&'a self, run: &'a Run, batch: u32) -> Products<'a, P::F> {
        Products::new(run, &self.seeds, batch)
    }

    /// Begins a batch of products of what is opened next.
    pub(crate) fn begin_verified(
        &mut self,
        journal: &dyn Journal,
    ) -> Result<(u32, [u8; 32]), Stop> {
        self.job.watch().tell(Stage::Verifying);
        self.begin_batch(journal)
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
        self.states.last().expect("there is at least one hop")
    }

    /// All states after a hop, one after the other.
    fn all_states(&self) -> Rss<P::F> {
        Rss::concat(&self.states[1..].iter().collect::<Vec<_>>())
    }

    /// Begins a batch of products, once: a batch that was broken off is not taken up again, since
    /// its masks would be used twice.
    fn begin_batch(&mut self, journal: &dyn Journal) -> Result<(u32, [u8; 32]), Stop> {
        let (job, batch) = (self.spec().number, self.batches);
        self.batches += 1;
        begin(journal, format!("job {job} products {batch}"))?;
        let number = batch.to_le_bytes();
        let fresh = self.randomness.derive("ostrakon/v1/graph/batch randomness", &[&number]);
        Ok((batch, *fresh.expose()))
    }

    pub(crate) async fn open_all<F: WordField>(
        &self,
        batch: u32,
        values: &Rss<F>,
    ) -> Result<Vec<F>, Stop> {
        self.job.watch().tell(Stage::Opening);
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
        let (batch, randomness) = self.begin_verified(journal)?;
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
        Ok(first_hops(&bits, self.spec().shown() as usize))
    }

    /// Opens a batch's values to one reader: all servers open them under masks, which only who has
    /// the seeds of all three pairs can take away.
    pub(crate) async fn close(
        &self,
        batch: u32,
        values: &Rss<P::F>,
        reader: Reader<'_>,
    ) -> Result<Closed, Stop> {
        self.job.watch().tell(Stage::Opening);
        let (run, pairs) = (&self.run, Pair::of_party(self.run.me()));
        let own = pairs.map(|pair| self.seeds.of(pair).purpose(Purpose::Reader(batch)));
        let number = batch.to_le_bytes();
        let fresh = self.randomness.derive("ostrakon/v1/graph/sealing for a reader", &[&number]);
        let Reader { computation, key } = reader;
        let sealed = SealedSeeds::new(computation, run.me(), own.each_ref(), key, *fresh.expose());
        let task = async {
            let rule = Rule::exactly(SealedSeeds::BYTES as u64);
            let stated = run.broadcast(Kind::ReaderSeeds, batch, sealed.encode(), rule).await?;
            let read = |body: &[u8]| SealedSeeds::decode(body).expect("its length is checked");
            let seeds = stated.map(|stated| read(&stated.body));
            let mut closed = Closed { seeds, masked: Parameters(Vec::new()) };
            if !closed.agrees() {
                return Err(Stop::Check("the seeds of a reader's masks"));
            }
            let mut tables = values.tables();
            for (pair, seed) in pairs.into_iter().zip(&own) {
                let share = tables[pair.index()].take().expect("an own pair's share");
                let mut share = Vec::from(share);
                mask::<P::F>(&mut share, seed, P::F::add_into);
                tables[pair.index()] = Some(share.into());
            }
            let mut opened = open::<P::F>(run, vec![(batch << 16, tables)]).await?;
            closed.masked = Parameters(opened.remove(0));
            Ok(closed)
        };
        run.with_accusations(task).await
    }

    /// Opens to a reader which of the values are not zero, and nothing else of them.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn nonzero_to(
        &mut self,
        values: &Rss<P::F>,
        reader: Reader<'_>,
        journal: &dyn Journal,
    ) -> Result<Closed, Stop> {
        let (batch, blinded) = self.blinded(values, journal).await?;
        self.close(batch, &blinded, reader).await
    }

    /// Opens to a reader which vertices have a value after each hop, hop after hop.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn first_reached_to(
        &mut self,
        reader: Reader<'_>,
        journal: &dyn Journal,
    ) -> Result<Closed, Stop> {
        let all = self.all_states();
        self.nonzero_to(&all, reader, journal).await
    }

    /// Opens to a reader the values after the last hop.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn values_to(&mut self, reader: Reader<'_>) -> Result<Closed, Stop> {
        let batch = self.batches;
        self.batches += 1;
        self.close(batch, self.last(), reader).await
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
        let (batch, mut parts) = self.blinded_counts(threshold, false, journal).await?;
        let opened = self.open_all(batch, &parts.remove(0)).await?;
        let large: Vec<usize> = (0..opened.len()).filter(|i| opened[*i] != Fp61::ZERO).collect();
        let of_large = self.last().map(|counts| large.iter().map(|i| counts[*i]).collect());
        let second = self.batches;
        self.batches += 1;
        let values = self.open_all(second, &of_large).await?;
        let mut counts = vec![None; opened.len()];
        large.into_iter().zip(values).for_each(|(i, value)| counts[i] = Some(value));
        Ok(counts)
    }

    /// As [`Computed::at_least`], to a reader: of each count x that is large enough w·f and w·f·x
    /// for f = f(x) and random w, and of the others two zeros.
    ///
    /// # Errors
    /// [`Stop`].
    ///
    /// # Panics
    /// If the threshold is 0 or above [`MAX_THRESHOLD`].
    pub async fn at_least_to(
        &mut self,
        threshold: u32,
        reader: Reader<'_>,
        journal: &dyn Journal,
    ) -> Result<Closed, Stop> {
        let (batch, parts) = self.blinded_counts(threshold, true, journal).await?;
        let both = Rss::concat(&parts.iter().collect::<Vec<_>>());
        self.close(batch, &both, reader).await
    }

    /// w·f(x) of each count, and `with_counts` w·f(x)·x besides; verified.
    async fn blinded_counts(
        &mut self,
        threshold: u32,
        with_counts: bool,
        journal: &dyn Journal,
    ) -> Result<(u32, Vec<Rss<Fp61>>), Stop> {
        assert!((1..=MAX_THRESHOLD).contains(&threshold), "thresholds are 1 to {MAX_THRESHOLD}");
        let (batch, randomness) = self.begin_verified(journal)?;
        let run = self.run.clone();
        let task = async {
            let counts = self.last();
            let mut products = Products::new(&run, &self.seeds, batch);
            let mut parts = vec![below(&mut products, counts, threshold).await?];
            if with_counts {
                parts.push(products.multiply(&parts[0], counts).await?);
            }
            let verified = products.verify(randomness).await?;
            Ok(parts.into_iter().map(|part| part.release(&verified)).collect())
        };
        Ok((batch, run.with_accusations(task).await?))
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
