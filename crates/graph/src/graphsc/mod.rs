//! Distances by scatter and gather, as GraphSC and Ruffle compute them: minima along the rows of a
//! list, with P processors (`docs/spec/graph.md`, section 10).
//!
//! [`crate::program::Reach`] answers the same in fewer rounds and bytes. This is what vertices
//! would need whose values are no sums of what arrives.
//!
//! A number from 0 to 61 is a word: bit j says that it is at most j, so none of the bits means that
//! it is larger than all. A minimum is an *or*, bit by bit, and one more is a shift. Words are
//! elements of GF(2^64), whose addition is that of bits, so each server takes shares of words apart
//! by itself. The highest bit says which rows are vertices; where that is, nobody knows.

mod scan;

use std::sync::atomic::AtomicU32;

use ostrakon_crypto::Secret;
use ostrakon_field::{Gf64, elements};
use ostrakon_party::{Party, wire};
use ostrakon_replicated::pair::Pair;

use crate::batches::Batches;
use crate::blocks::Blocks;
use crate::output::Computed;
use crate::params::MAX_PRODUCT_ROUNDS;
use crate::program::{Begin, VertexProgram, numbers};
use crate::query::Linked;
use crate::ruffle2::fault::Stop;
use crate::ruffle2::journal::Journal;
use crate::ruffle2::product::{Products, Unchecked};
use crate::ruffle2::run::Run;
use crate::ruffle2::seeds::Phase;
use crate::ruffle2::sharing::Rss;
use crate::spec::{Direction, JobSpec};
use crate::watch::Stage;
use scan::Affine;

/// Says of a row that it is a vertex.
const VERTEX: u32 = 63;

/// Most hops: a word has a bit for each distance.
pub const MAX_DISTANCE: u32 = VERTEX - 2;

/// Distances from vertices within the job's hops, by minima of what arrives.
#[derive(Clone, Debug)]
pub struct Minima {
    /// Where ways begin, in ascending order.
    pub sources: Vec<u32>,
    /// How many processors share the rows out among them: more of them take fewer rounds.
    pub processors: u32,
}

impl VertexProgram for Minima {
    type F = Gf64;

    fn describe(&self) -> Vec<u8> {
        wire::encode(&("minima", &self.sources, self.processors))
    }

    fn start(&self, vertex: u32) -> Gf64 {
        let is_source = self.sources.binary_search(&vertex).is_ok();
        if is_source { Gf64(numbers(MAX_DISTANCE)) } else { Gf64::ZERO }
    }

    fn begins(&self, _hop: u32) -> Begin {
        Begin::EachUse
    }
}

/// Bits of words' shares, which are shares of the bits.
fn bits(share: &[Gf64], of: u64) -> Vec<Gf64> {
    share.iter().map(|word| Gf64(word.0 & of)).collect()
}

/// One more than each number.
fn one_more(share: &[Gf64], of: u64) -> Vec<Gf64> {
    share.iter().map(|word| Gf64(word.0 << 1 & of)).collect()
}

/// Bits 0 to `count` − 1, each as an element, a word's side by side.
fn apart(share: &[Gf64], count: u32) -> Vec<Gf64> {
    share.iter().flat_map(|word| (0..count).map(|bit| Gf64(word.0 >> bit & 1))).collect()
}

/// Words of elements that are bits. Shares of these are no bits.
fn together(share: &[Gf64], count: u32) -> Vec<Gf64> {
    let word = |bits: &[Gf64]| bits.iter().zip(0..).map(|(bit, at)| *bit * Gf64(1 << at)).sum();
    share.chunks_exact(count as usize).map(word).collect()
}

/// The bit that says that a row is a vertex, as an element.
fn is_vertex(share: &[Gf64]) -> Vec<Gf64> {
    share.iter().map(|word| Gf64(word.0 >> VERTEX)).collect()
}

/// A hop on all rows of all lists, one list after the other.
struct Pass {
    /// Distances up to this.
    most: u32,
    blocks: Blocks,
    /// Where lists begin.
    firsts: Vec<usize>,
}

impl Pass {
    fn new(rows: &[usize], processors: u32, most: u32) -> Self {
        let firsts = rows.iter().scan(0, |sum, rows| Some(std::mem::replace(sum, *sum + rows)));
        let blocks = Blocks::new(rows.iter().sum(), processors as usize);
        Self { most, blocks, firsts: firsts.collect() }
    }

    fn lanes(&self) -> u32 {
        self.most + 1
    }

    /// 1 where something comes from the row before, 0 at these rows and where a list begins.
    fn goes_on(&self, at: &Rss<Gf64>) -> Rss<Gf64> {
        let not = at.plus(Gf64::ONE);
        not.map(|share| {
            let mut share = share.to_vec();
            self.firsts.iter().for_each(|first| share[*first] = Gf64::ZERO);
            share
        })
    }

    /// Scatter, in source order: every edge has one more than the vertex before it.
    async fn scatter(
        &self,
        products: &mut Products<'_, Gf64>,
        rows: &Rss<Gf64>,
    ) -> Result<Unchecked<Gf64>, Stop> {
        let of = numbers(self.most);
        let flags = rows.map(is_vertex);
        let scale = products.with(self.goes_on(&flags));
        let shift = products.with(rows.map(|share| bits(share, of)));
        let copied = Affine { scale, shift }.scan(products, self.blocks, 1).await?;
        // Edges had no number before, so this is the vertices' own one less one more than that.
        let own = rows.map(|share| {
            let all = share.iter().zip(one_more(share, of));
            all.map(|(word, more)| Gf64(word.0 & (of | 1 << VERTEX)) + more).collect()
        });
        Ok(copied.map(|share| one_more(share, of)).zip(&own, |more, own| more + own))
    }

    /// Gather, in destination order: every vertex has the least number of its edges, which stand
    /// before it, and its own.
    async fn gather(
        &self,
        products: &mut Products<'_, Gf64>,
        rows: &Rss<Gf64>,
    ) -> Result<Unchecked<Gf64>, Stop> {
        let (of, lanes) = (numbers(self.most), self.lanes());
        // A list's first row begins anew in any case.
        let after_vertex = rows.map(|share| {
            let flags = is_vertex(share);
            [Gf64::ZERO].into_iter().chain(flags[..flags.len() - 1].iter().copied()).collect()
        });
        let goes_on = self.goes_on(&after_vertex);
        let own = rows.map(|share| bits(share, of));
        // m or own = own + (1 + own)·m.
        let scale = products.multiply(&goes_on, &own.plus(Gf64(of))).await?;
        let scale = scale.map(|share| apart(share, lanes));
        let shift = products.with(own.map(|share| apart(share, lanes)));
        let least = Affine { scale, shift }.scan(products, self.blocks, lanes as usize).await?;
        Ok(least.map(|share| together(share, lanes)))
    }
}

impl Linked<Minima> {
    /// Computes all distances. `randomness` is 32 fresh random bytes, used for this call alone.
    ///
    /// # Errors
    /// [`Stop`]; nothing has been opened.
    pub async fn minima(
        self,
        party: &Party,
        randomness: [u8; 32],
        journal: &dyn Journal,
    ) -> Result<Computed<Minima>, Stop> {
        let instance = self.spec().name().instance(Phase::Query);
        let run = Run { party: party.clone(), instance };
        let (randomness, next) = (Secret::new(randomness), AtomicU32::new(0));
        let task = async {
            let job = self.spec().number;
            let seeds = self.seeds();
            let batches =
                Batches { run: &run, seeds, job, journal, randomness: &randomness, next: &next };
            self.message_passing(&batches).await
        };
        let state = run.with_accusations(task).await?;
        let (seeds, job) = self.into_parts();
        let (states, batches) = (vec![state], next.into_inner());
        Ok(Computed { run: run.clone(), seeds, job, states, randomness, batches })
    }

    async fn message_passing(&self, batches: &Batches<'_>) -> Result<Rss<Gf64>, Stop> {
        let spec = self.spec();
        let rows: Vec<usize> = self.accepted().map(|list| spec.rows(list)).collect();
        if !fits(spec, self.program()) || rows.is_empty() {
            return Err(Stop::Check("the descriptor of minima"));
        }
        let pass = Pass::new(&rows, self.program().processors, spec.hops);
        let start: Vec<Gf64> = elements(&self.start()).collect();
        let known = || bits(&start, numbers(pass.most));
        // What everybody knows is in the share of P0 and P1.
        let mut state = Rss::known(batches.run.me(), Pair::P01, start.len(), known);
        for hop in 0..spec.hops {
            self.watch().tell(Stage::Hop { done: hop, of: spec.hops });
            state = self.pass(batches, &pass, hop, &rows, &state).await?;
        }
        Ok(state)
    }

    /// Scatter, gather, and the minima over all lists.
    async fn pass(
        &self,
        batches: &Batches<'_>,
        pass: &Pass,
        hop: u32,
        rows: &[usize],
        state: &Rss<Gf64>,
    ) -> Result<Rss<Gf64>, Stop> {
        let marked = state.plus(Gf64(1 << VERTEX));
        let base = rows.iter().map(|rows| {
            let edges = rows - state.len();
            marked.map(|share| [share, &vec![Gf64::ZERO; edges]].concat())
        });
        let sorted = self.step(batches, (hop, 0), base.collect()).await?;
        let (mut products, fresh) = batches.begin()?;
        let scattered = pass.scatter(&mut products, &joined(&sorted)).await?;
        let scattered = scattered.release(&products.verify(fresh).await?);
        let sorted = self.step(batches, (hop, 1), split(&scattered, rows)).await?;
        let (mut products, fresh) = batches.begin()?;
        let gathered = pass.gather(&mut products, &joined(&sorted)).await?;
        let gathered = gathered.release(&products.verify(fresh).await?);
        let sorted = self.step(batches, (hop, 2), split(&gathered, rows)).await?;
        let of_list: Vec<_> = sorted.iter().map(|rows| rows.part(0..state.len())).collect();
        let [one] = &of_list[..] else { return pass.least(batches, &of_list).await };
        Ok(one.part(0..state.len()))
    }

    /// A step of a hop: a list's rows in another order.
    async fn step(
        &self,
        batches: &Batches<'_>,
        (hop, step): (u32, usize),
        values: Vec<Rss<Gf64>>,
    ) -> Result<Vec<Rss<Gf64>>, Stop> {
        self.shuffle_alone(batches.run, batches.journal, (hop, step), &values).await
    }
}

impl Pass {
    /// The least numbers of several lists.
    async fn least(&self, batches: &Batches<'_>, lists: &[Rss<Gf64>]) -> Result<Rss<Gf64>, Stop> {
        let lanes = self.lanes();
        let (mut products, fresh) = batches.begin()?;
        let mut least = products.with(lists[0].map(|share| apart(share, lanes)));
        for list in &lists[1..] {
            let list = list.map(|share| apart(share, lanes));
            let both = products.multiply(&least, &list).await?;
            least = both.zip(&least, |both, one| both + one).zip(&list, |sum, other| sum + other);
        }
        let least = least.map(|share| together(share, lanes));
        Ok(least.release(&products.verify(fresh).await?))
    }
}

fn joined(lists: &[Rss<Gf64>]) -> Rss<Gf64> {
    Rss::concat(&lists.iter().collect::<Vec<_>>())
}

fn split(all: &Rss<Gf64>, rows: &[usize]) -> Vec<Rss<Gf64>> {
    let ends = rows.iter().scan(0, |end, rows| {
        *end += rows;
        Some(*end - rows..*end)
    });
    ends.map(|range| all.part(range)).collect()
}

/// Whether minima can be computed as the descriptor says.
fn fits(spec: &JobSpec, program: &Minima) -> bool {
    let rows: usize = (0..spec.lists.len()).map(|list| spec.rows(list)).sum();
    program.processors > 0
        && spec.hops <= MAX_DISTANCE
        && spec.delays == 1
        && spec.direction == Direction::Forward
        && !spec.shuffled
        && spec.querier.is_none()
        && Blocks::new(rows, program.processors as usize).rounds() < MAX_PRODUCT_ROUNDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::number;

    #[test]
    fn words_are_numbers() {
        let of = numbers(5);
        let mut word = vec![Gf64(of)];
        for expected in 0..=5 {
            assert_eq!(number(word[0], 5), Some(expected));
            assert_eq!(together(&apart(&word, 6), 6), word);
            word = one_more(&word, of);
        }
        assert_eq!(number(word[0], 5), None);
    }
}
