//! The highest values and whose they are, and nothing of any other (`docs/spec/graph.md`, section
//! 8).
//!
//! Values become keys, all different. Their bits are taken apart under masks, and from the highest
//! bit on it is decided, in shares, among which vertices the last of the highest is. Everything is
//! done alike for all vertices, so nothing but the end is seen.

use std::sync::atomic::AtomicU32;

use ostrakon_field::Fp61;

use super::{Computed, Reader};
use crate::asked::{Closed, top_of};
use crate::batches::Batches;
use crate::batches::truncation::{BITS, Mask, compared, truncate};
use crate::program::VertexProgram;
use crate::ruffle2::fault::Stop;
use crate::ruffle2::journal::Journal;
use crate::ruffle2::product::Products;
use crate::ruffle2::sharing::Rss;

/// Numbers of vertices are below 2 to this.
pub(crate) const COUNTS: usize = 26;
/// Bits that are decided in one batch of products.
pub(crate) const DECIDED: usize = 8;

/// Where values have so many bits, those of the keys of so many vertices; none if there is no room
/// for them in the field.
pub fn key_bits(value_bits: usize, vertices: usize) -> Option<usize> {
    let bits = value_bits + place_bits(vertices);
    (bits < BITS && vertices < 1 << (COUNTS - 1)).then_some(bits)
}

/// Bits of vertices' numbers.
fn place_bits(vertices: usize) -> usize {
    (usize::BITS - vertices.saturating_sub(1).leading_zeros()) as usize
}

/// Keys: a value, then the vertex's place from the end, so that of equal values the first comes
/// first.
fn keys(values: &Rss<Fp61>) -> Rss<Fp61> {
    let places = 1u64 << place_bits(values.len());
    let place = |vertex: u64| Fp61::new(places - 1 - vertex);
    let shift: Vec<Fp61> = (0..values.len() as u64).map(place).collect();
    values.affine(&vec![Fp61::new(places); values.len()], &shift)
}

/// The lowest `count` bits of x, the lowest one first: x = c − r, or 2^61 − 1 more, which is as
/// good as 1 less in all bits, if c is less than r. So c − r − w is worked out bit by bit.
async fn take_apart(
    batches: &Batches<'_>,
    x: &Rss<Fp61>,
    count: usize,
) -> Result<Vec<Rss<Fp61>>, Stop> {
    let mask = batches.masks(x.len()).await?;
    let (mut products, fresh) = batches.begin::<Fp61>()?;
    let opened = {
        let x = products.with(x.map(<[Fp61]>::to_vec));
        products.open_masked(&x, &mask.above(0)).await?
    };
    let [low, high] = compared(&mut products, &opened, &mask, BITS / 2).await?;
    let beyond = products.multiply(&high.equal, &low.less).await?;
    let mut borrow = beyond.zip(&high.less, |a, b| a + b);
    let mut bits = Vec::with_capacity(count);
    for i in 0..count {
        let of_mask = mask.bit(i);
        let both = products.multiply(&borrow, &of_mask).await?;
        let sum = borrow.zip(&of_mask, |borrow, bit| borrow + bit);
        let other = sum.zip(&both, |sum, both| sum - both - both);
        // Where c has a 0, it borrows if either is 1; where it has a 1, if both are.
        let public = |one: u64, zero: u64| -> Vec<Fp61> {
            let bit = |c: &Fp61| Fp61::new(if c.value() >> i & 1 == 1 { one } else { zero });
            opened.iter().map(bit).collect()
        };
        let nothing = vec![Fp61::ZERO; opened.len()];
        let minus =
            opened.iter().map(|c| if c.value() >> i & 1 == 1 { -Fp61::ONE } else { Fp61::ONE });
        bits.push(other.affine(&minus.collect::<Vec<_>>(), &public(1, 0)));
        let either = sum.zip(&both, |sum, both| sum - both).affine(&public(0, 1), &nothing);
        borrow = either.zip(&both.affine(&public(1, 0), &nothing), |a, b| a + b);
    }
    let verified = products.verify(fresh).await?;
    Ok(bits.into_iter().map(|bits| bits.release(&verified)).collect())
}

/// How far it is decided who is among the first.
struct Choice {
    /// 1 where it is open.
    open: Rss<Fp61>,
    /// 1 where a vertex is chosen.
    chosen: Rss<Fp61>,
    /// How many of the open ones will be chosen; at least one.
    left: Rss<Fp61>,
}

impl Choice {
    /// Decides by the next bits, the highest first. `masks` has one for each.
    async fn decide(
        self,
        batches: &Batches<'_>,
        bits: &[Rss<Fp61>],
        mut masks: Mask,
    ) -> Result<Self, Stop> {
        let (mut products, fresh) = batches.begin::<Fp61>()?;
        let Choice { open, chosen, left } = self;
        let (mut open, mut chosen, mut left) =
            (products.with(open), products.with(chosen), products.with(left));
        for bit in bits {
            let ones = products.multiply(&open, bit).await?;
            let sum = |share: &[Fp61]| vec![share.iter().copied().sum()];
            let count = ones.map(sum);
            // Whether there are enough of them: count − left + 2^COUNTS has this bit.
            let more = count.zip(&left, |count, left| count - left);
            let more = more.affine(&[Fp61::ONE], &[Fp61::new(1 << COUNTS)]);
            let (mask, others) = masks.split(1);
            masks = others;
            let enough = truncate(&mut products, &more, mask, COUNTS).await?;
            let repeated = enough.map(|share| vec![share[0]; bit.len()]);
            let both = products.concat(&[&ones, &open]);
            let kept = products.multiply(&products.concat(&[&repeated, &repeated]), &both).await?;
            let (kept_ones, kept_open) =
                (kept.part(0..bit.len()), kept.part(bit.len()..kept.len()));
            // Enough: the ones stay open. Else they are chosen, and the others stay open.
            let dropped = open.zip(&ones, |open, one| open - one);
            let twice = kept_ones.zip(&kept_open, |one, open| one + one - open);
            open = dropped.zip(&twice, |dropped, twice| dropped + twice);
            let taken = ones.zip(&kept_ones, |one, kept| one - kept);
            left = left.zip(&taken.map(sum), |left, taken| left - taken);
            chosen = chosen.zip(&taken, |chosen, taken| chosen + taken);
        }
        let verified = products.verify(fresh).await?;
        Ok(Self {
            open: open.release(&verified),
            chosen: chosen.release(&verified),
            left: left.release(&verified),
        })
    }
}

impl<P: VertexProgram<F = Fp61>> Computed<P> {
    /// For each vertex whether it is among the `count` with the highest values after the last hop,
    /// and then its value if it is, else 0. Values are below 2 to `value_bits`.
    async fn first(
        &mut self,
        (count, value_bits): (u32, usize),
        journal: &dyn Journal,
    ) -> Result<(u32, Rss<Fp61>), Stop> {
        self.job.watch().tell(crate::watch::Stage::Verifying);
        let vertices = self.last().len();
        let bits =
            key_bits(value_bits, vertices).filter(|_| (1..=vertices).contains(&(count as usize)));
        let bits = bits.ok_or(Stop::Check("how many of the highest values are asked for"))?;
        let next = AtomicU32::new(self.batches);
        let (run, job) = (self.run.clone(), self.spec().number);
        let task = async {
            let (seeds, randomness) = (&self.seeds, &self.randomness);
            let batches = Batches { run: &run, seeds, job, journal, randomness, next: &next };
            let values = self.last();
            let mut bits = take_apart(&batches, &keys(values), bits).await?;
            bits.reverse();
            let mut masks = batches.masks(bits.len()).await?;
            let nothing = values.map(|share| vec![Fp61::ZERO; share.len()]);
            let left = Rss::of_own(run.me(), [vec![Fp61::ZERO], vec![Fp61::ZERO]]);
            let left = left.plus(Fp61::new(count.into()));
            let mut choice = Choice { open: nothing.plus(Fp61::ONE), chosen: nothing, left };
            for some in bits.chunks(DECIDED) {
                let (own, others) = masks.split(some.len());
                masks = others;
                choice = choice.decide(&batches, some, own).await?;
            }
            // Keys are different: one is open still, and it is the last of the highest.
            let chosen = choice.chosen.zip(&choice.open, |chosen, open| chosen + open);
            let (mut products, fresh): (Products<'_, Fp61>, _) = batches.begin()?;
            let theirs = products.multiply(&chosen, values).await?;
            let theirs = theirs.release(&products.verify(fresh).await?);
            Ok(Rss::concat(&[&chosen, &theirs]))
        };
        let first = run.with_accusations(task).await?;
        let batch = next.into_inner();
        self.batches = batch + 1;
        Ok((batch, first))
    }

    /// Opens to all servers which vertices have the `count` highest values after the last hop, of
    /// equal ones the first vertices, and these values, which are below 2 to `value_bits`.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn top(
        &mut self,
        (count, value_bits): (u32, usize),
        journal: &dyn Journal,
    ) -> Result<Vec<Option<Fp61>>, Stop> {
        let (batch, first) = self.first((count, value_bits), journal).await?;
        Ok(top_of(&self.open_all(batch, &first).await?))
    }

    /// As [`Computed::top`], to a reader.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn top_to(
        &mut self,
        (count, value_bits): (u32, usize),
        reader: Reader<'_>,
        journal: &dyn Journal,
    ) -> Result<Closed, Stop> {
        let (batch, first) = self.first((count, value_bits), journal).await?;
        self.close(batch, &first, reader).await
    }
}
