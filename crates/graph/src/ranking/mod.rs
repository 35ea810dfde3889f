//! PageRank: exact fixed-point numbers of 30 bits (`docs/spec/graph.md`, section 9).
//!
//! Owners hand in edges and nothing else. How many edges lead from a vertex is counted over all of
//! their lists, and what it is divided by is computed of that count, so no owner has a say in it.

use std::sync::atomic::AtomicU32;

use ostrakon_crypto::Secret;
use ostrakon_field::Fp61;
use ostrakon_party::Party;

use crate::batches::Batches;
use crate::batches::truncation::truncate;
use crate::output::Computed;
use crate::params::MAX_RANKED_EDGES;
use crate::program::{Begin, POINT, VertexProgram};
use crate::query::Linked;
use crate::ruffle2::fault::Stop;
use crate::ruffle2::journal::Journal;
use crate::ruffle2::opening::open;
use crate::ruffle2::run::Run;
use crate::ruffle2::seeds::{JobSeeds, Phase};
use crate::ruffle2::sharing::{Rss, table_digest};
use crate::spec::{Direction, JobSpec};
use crate::watch::Stage;

const ONE: u64 = 1 << POINT;

/// Added to a hop's number in the tag of the opening with which it begins.
const RESTART: u32 = 1 << 30;

/// PageRank with this damping, in thousandths, after the job's hops less one: the first hop, which
/// goes backward ([`Direction::BackwardOnce`]), counts out-degrees. A vertex without out-edges
/// gives what it has to all alike, as in networkx. Values are scaled by 2^30.
#[derive(Clone, Copy, Debug)]
pub struct PageRank {
    /// The part of a rank that follows edges, in thousandths.
    pub damping: u32,
}

impl VertexProgram for PageRank {
    type F = Fp61;

    fn describe(&self) -> Vec<u8> {
        ostrakon_party::wire::encode(&("pagerank", self.damping))
    }

    fn start(&self, _vertex: u32) -> Fp61 {
        Fp61::ONE
    }

    fn begins(&self, hop: u32) -> Begin {
        if hop == 0 { Begin::Public } else { Begin::Masked }
    }
}

impl PageRank {
    /// The damping as it is multiplied with.
    fn factor(&self) -> u64 {
        u64::from(self.damping) * ONE / 1000
    }
}

/// The most edges that can lead from a vertex: all rows of all lists.
fn most_edges(spec: &JobSpec) -> u64 {
    spec.lists.iter().map(|list| u64::from(list.edges)).sum()
}

/// Bits of out-degrees up to so many.
fn digits(edges: u64) -> usize {
    (u64::BITS - edges.leading_zeros()) as usize
}

/// Steps of Newton's method after which 2^30/d is found, but for 2, for every d of so many bits.
/// Where it begins, at 2^30/2^digits, an error of 1 − d/2^digits is left, which is squared each
/// time.
fn steps(digits: usize) -> usize {
    digits + 6
}

/// Steps of Newton's method in a ranking.
pub(crate) fn ranking_steps(spec: &JobSpec) -> usize {
    steps(digits(most_edges(spec)))
}

fn number(value: u64) -> Fp61 {
    Fp61::new(value)
}

/// A shared vector of one public number.
fn all(like: &Rss<Fp61>, public: u64) -> Rss<Fp61> {
    like.map(|share| vec![Fp61::ZERO; share.len()]).plus(number(public))
}

impl Batches<'_> {
    /// ⌊damping·y⌋ for y = 2^30/d, but for 2: y ← y·(2 − d·y), which stays below. Where d is 0 what
    /// comes out is no number in particular, and passes along no edge.
    async fn inverses(
        &self,
        degrees: &Rss<Fp61>,
        digits: usize,
        program: PageRank,
    ) -> Result<Rss<Fp61>, Stop> {
        let mut inverses = all(degrees, ONE >> digits);
        for _ in 0..steps(digits) {
            let masks = self.masks(inverses.len()).await?;
            let (mut products, fresh) = self.begin()?;
            let used = products.multiply(degrees, &inverses).await?;
            let left = products.with(all(degrees, 2 * ONE)).zip(&used, |two, used| two - used);
            let next = products.multiply(&left, &inverses).await?;
            let next = truncate(&mut products, &next, masks, POINT).await?;
            inverses = next.release(&products.verify(fresh).await?);
        }
        self.scaled(&inverses, number(program.factor()), POINT).await
    }

    /// What has arrived, and to all alike what has not: 1 less the sum, by the number of vertices.
    async fn with_rest(&self, arrived: &Rss<Fp61>, share: u64) -> Result<Rss<Fp61>, Stop> {
        let sum = arrived.map(|share| vec![share.iter().copied().sum()]);
        let rest = all(&sum, ONE).zip(&sum, |one, sum| one - sum);
        let rest = self.scaled(&rest, number(share), POINT).await?;
        let repeated = rest.map(|share| vec![share[0]; arrived.len()]);
        Ok(arrived.zip(&repeated, |arrived, rest| arrived + rest))
    }
}

/// What batches need besides the seeds.
struct At<'a> {
    run: &'a Run,
    job: u64,
    journal: &'a dyn Journal,
    randomness: &'a Secret,
    next: &'a AtomicU32,
}

impl<'a> At<'a> {
    fn batches<'b>(&self, seeds: &'b JobSeeds) -> Batches<'b>
    where
        'a: 'b,
    {
        let Self { run, job, journal, randomness, next } = *self;
        Batches { run, seeds, job, journal, randomness, next }
    }
}

impl Linked<PageRank> {
    /// Ranks all vertices. `randomness` is 32 fresh random bytes, used for this call alone.
    ///
    /// # Errors
    /// [`Stop`]; nothing has been opened.
    pub async fn rank(
        self,
        party: &Party,
        randomness: [u8; 32],
        journal: &dyn Journal,
    ) -> Result<Computed<PageRank>, Stop> {
        let instance = self.spec().name().instance(Phase::Query);
        let run = Run { party: party.clone(), instance };
        let (randomness, next) = (Secret::new(randomness), AtomicU32::new(0));
        let task = self.rank_checked(&run, journal, &randomness, &next);
        let (linked, ranks) = run.with_accusations(task).await?;
        let (seeds, job) = linked.into_parts();
        let (run, states, batches) = (run.clone(), vec![ranks], next.into_inner());
        Ok(Computed { run, seeds, job, states, randomness, batches })
    }

    async fn rank_checked(
        mut self,
        run: &Run,
        journal: &dyn Journal,
        randomness: &Secret,
        next: &AtomicU32,
    ) -> Result<(Self, Rss<Fp61>), Stop> {
        let (program, hops) = (*self.program(), self.spec().hops);
        let (edges, job) = (most_edges(self.spec()), self.spec().number);
        let vertices = u64::from(self.spec().vertices);
        let counts = self.spec().direction == Direction::BackwardOnce;
        if !counts || edges > MAX_RANKED_EDGES || vertices > ONE || program.damping > 1000 {
            return Err(Stop::Check("the descriptor of a ranking"));
        }
        let at = At { run, job, journal, randomness, next };
        let ones = self.start();
        run.vote(0, "the initial table", &table_digest(&ones)).await?;
        self.watch().tell(Stage::Hop { done: 0, of: hops });
        let counted = self.hop(run, journal, 0, &ones).await?;
        let degrees = self.shared(0, &counted, run.me());
        let batches = at.batches(self.seeds());
        let inverses = batches.inverses(&degrees, digits(edges), program).await?;
        let mut ranks = all(&degrees, ONE / vertices);
        for hop in 1..hops {
            self.watch().tell(Stage::Hop { done: hop, of: hops });
            let batches = at.batches(self.seeds());
            let passed = batches.scaled_product(&ranks, &inverses, POINT).await?;
            let masked = passed.zip(&self.restart(hop, run.me()), |passed, mask| passed - mask);
            let table = open::<Fp61>(run, vec![(RESTART | hop, masked.tables())]).await?.remove(0);
            let arrived = self.hop(run, journal, hop, &table).await?;
            let arrived = self.shared(hop, &arrived, run.me());
            ranks = at.batches(self.seeds()).with_rest(&arrived, ONE / vertices).await?;
        }
        Ok((self, ranks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every degree that can occur, at several sizes: what is found is at most 2 below, and nothing
    /// on the way is beyond the field.
    #[test]
    fn inverses_are_found_for_every_degree() {
        for edges in [1, 2, 3, 4, 7, 8, 100, 1 << 12, 100_000, MAX_RANKED_EDGES] {
            let digits = digits(edges);
            let all = (1..=edges.min(5000)).chain([edges / 2, edges / 3, edges - 1, edges]);
            for d in all.filter(|d| *d > 0) {
                let inverse = (0..steps(digits)).fold(ONE >> digits, |y, _| {
                    let product = u128::from(y) * u128::from(2 * ONE - d * y);
                    assert!(product < (1 << 61) - 1, "{d}");
                    u64::try_from(product >> POINT).unwrap()
                });
                assert!(inverse <= ONE / d && inverse + 2 >= ONE / d, "{d}: {inverse}");
            }
        }
    }
}
