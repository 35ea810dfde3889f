//! Scans with P processors: for every row what comes of going through all rows before it and it,
//! in about N/P + log P rounds of products (`docs/spec/graph.md`, section 10).
//!
//! Every row is an affine map of what comes from the row before it, for each of some lanes. Maps
//! are composed before it is known what they are applied to, so processors go through their blocks
//! of rows side by side.

use ostrakon_field::WordField;

use crate::blocks::Blocks;
use crate::ruffle2::fault::Stop;
use crate::ruffle2::product::{Products, Unchecked};

/// Maps x ↦ scale·x + shift, one for each row and lane; a row's lanes are side by side.
pub(crate) struct Affine<F: WordField> {
    pub scale: Unchecked<F>,
    pub shift: Unchecked<F>,
}

impl<F: WordField> Affine<F> {
    fn map(&self, linear: impl Fn(&[F]) -> Vec<F>) -> Self {
        Self { scale: self.scale.map(&linear), shift: self.shift.map(&linear) }
    }

    fn part(&self, range: std::ops::Range<usize>) -> Self {
        Self { scale: self.scale.part(range.clone()), shift: self.shift.part(range) }
    }

    /// The maps that apply others first. One round.
    async fn after(&self, first: &Self, products: &mut Products<'_, F>) -> Result<Self, Stop> {
        let count = self.scale.len();
        let x = products.concat(&[&self.scale, &self.scale]);
        let y = products.concat(&[&first.shift, &first.scale]);
        let both = products.multiply(&x, &y).await?;
        let shift = both.part(0..count).zip(&self.shift, |carried, own| carried + own);
        Ok(Self { scale: both.part(count..2 * count), shift })
    }

    /// What comes out of every row if zero goes into the first one.
    pub async fn scan(
        self,
        products: &mut Products<'_, F>,
        blocks: Blocks,
        lanes: usize,
    ) -> Result<Unchecked<F>, Stop> {
        let Blocks { rows, each, count } = blocks;
        // The rows at one place of all blocks. What is missing of the last one is behind all rows.
        let column = |place: usize| {
            self.map(|share| {
                let row = |block: usize| {
                    let at = (block * each + place) * lanes;
                    (at..at + lanes).map(|i| share.get(i).copied().unwrap_or(F::ZERO))
                };
                (0..count).flat_map(row).collect()
            })
        };
        let mut columns = vec![column(0)];
        for place in 1..each {
            let next = column(place).after(&columns[place - 1], products).await?;
            columns.push(next);
        }
        // Blocks as a whole: each learns what comes out of the ones before it.
        let mut whole = columns.pop().expect("a block has rows");
        for far in blocks.distances() {
            let (near, all) = (far * lanes, count * lanes);
            let later = whole.part(near..all).after(&whole.part(0..all - near), products).await?;
            let first = whole.part(0..near);
            whole = Self {
                scale: products.concat(&[&first.scale, &later.scale]),
                shift: products.concat(&[&first.shift, &later.shift]),
            };
        }
        let inner = match blocks.carries() {
            false => columns.into_iter().map(|column| column.shift).collect(),
            true => carried(products, &columns, &whole.shift, lanes).await?,
        };
        let all: Vec<&Unchecked<F>> = inner.iter().chain([&whole.shift]).collect();
        let all = products.concat(&all);
        Ok(all.map(|share| {
            let at = |row: usize| ((row % each) * count + row / each) * lanes;
            (0..rows).flat_map(|row| share[at(row)..at(row) + lanes].iter().copied()).collect()
        }))
    }
}

/// What comes out of the rows inside the blocks, now that it is known what comes out of the blocks
/// before them. One round.
async fn carried<F: WordField>(
    products: &mut Products<'_, F>,
    columns: &[Affine<F>],
    whole: &Unchecked<F>,
    lanes: usize,
) -> Result<Vec<Unchecked<F>>, Stop> {
    let (all, inner) = (whole.len(), whole.len() - lanes);
    let scales: Vec<_> = columns.iter().map(|column| column.scale.part(lanes..all)).collect();
    let before = whole.part(0..inner);
    let x = products.concat(&scales.iter().collect::<Vec<_>>());
    let y = products.concat(&vec![&before; columns.len()]);
    let carried = products.multiply(&x, &y).await?;
    let columns = columns.iter().enumerate().map(|(place, column)| {
        let carried = carried.part(place * inner..(place + 1) * inner);
        let later = column.shift.part(lanes..all).zip(&carried, |own, carried| own + carried);
        products.concat(&[&column.shift.part(0..lanes), &later])
    });
    Ok(columns.collect())
}
