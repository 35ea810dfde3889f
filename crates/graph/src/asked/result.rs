//! What came out, as members sign it, and as it is read.

use std::collections::BTreeMap;

use ostrakon_computation::ComputationId;
use ostrakon_crypto::VerifyingKey;
use ostrakon_crypto::sealed::ExchangeKey;
use ostrakon_field::{Fp61, Gf64, WordField};
use serde::{Deserialize, Serialize};

use super::{Closed, Program, Shown, Terms, Unmasked, Unreadable};
use crate::program::{first_hops, number};
use crate::spec::Decoys;

/// The values that are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Values {
    /// Of each vertex, in their order; none where there is none to show.
    Vertices(Vec<Option<u64>>),
    /// How many vertices have which value, in the values' order; those without one first. With
    /// noise, the last one is of all values from it on.
    Counts(Vec<(Option<u64>, u64)>),
    /// One number of the whole graph.
    Total(u64),
    /// For one reader alone: one of the above, once opened.
    Closed(Box<Closed>),
}

/// The result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphResult {
    /// How many owners' lists it is of.
    pub accepted: u64,
    /// Whose lists were left out, since they were no graphs.
    pub excluded: Vec<VerifyingKey>,
    /// What is shown.
    pub values: Values,
}

impl Values {
    /// How many vertices have which value; nothing of what is for a reader.
    pub fn counts(&self) -> Vec<(Option<u64>, u64)> {
        match self {
            Values::Counts(counts) => counts.clone(),
            Values::Total(_) | Values::Closed(_) => Vec::new(),
            Values::Vertices(values) => {
                let mut counts = BTreeMap::<Option<u64>, u64>::new();
                values.iter().for_each(|value| *counts.entry(*value).or_default() += 1);
                counts.into_iter().collect()
            }
        }
    }

    /// Where they are components: the smallest vertex of each, and how many vertices it has, the
    /// largest first. What is no vertex calls none.
    pub fn components(&self) -> Vec<(usize, u64)> {
        let Values::Vertices(values) = self else { return Vec::new() };
        let vertex = |of: Option<u64>| usize::try_from(of?).ok().filter(|v| *v < values.len());
        let counts = self.counts().into_iter();
        let mut sizes: Vec<(usize, u64)> =
            counts.filter_map(|(smallest, size)| Some((vertex(smallest)?, size))).collect();
        sizes.sort_by_key(|(smallest, size)| (std::cmp::Reverse(*size), *smallest));
        sizes
    }

    /// What a picture is drawn of: how many vertices have which value, or how many components
    /// which size.
    pub fn pictured(&self, program: &Program) -> Vec<(Option<u64>, u64)> {
        if !matches!(program, Program::Components { .. }) {
            return self.counts();
        }
        let mut sizes = BTreeMap::<Option<u64>, u64>::new();
        self.components().iter().for_each(|(_, size)| *sizes.entry(Some(*size)).or_default() += 1);
        let lost = self.counts().into_iter().filter(|(smallest, _)| smallest.is_none());
        lost.chain(sizes).collect()
    }

    /// Of the vertices' values what is shown.
    pub fn of(terms: &Terms, values: Vec<Option<u64>>) -> Self {
        let values = Values::Vertices(values);
        match terms.shown {
            Shown::Counts => Values::Counts(values.counts()),
            Shown::Vertices | Shown::AtLeast(_) | Shown::Top(_) => values,
        }
    }

    /// Of counts of edges or walks.
    pub fn of_numbers(terms: &Terms, values: &[Fp61]) -> Self {
        Self::of(terms, values.iter().map(|value| Some(value.value())).collect())
    }

    /// Of the values of those with the highest.
    pub fn of_top(values: &[Option<Fp61>]) -> Self {
        Values::Vertices(values.iter().map(|value| value.map(|value| value.value())).collect())
    }

    /// Of components by their smallest vertices.
    pub fn of_components(smallest: &[Option<u32>]) -> Self {
        Values::Vertices(smallest.iter().map(|vertex| vertex.map(u64::from)).collect())
    }

    /// Of whether vertices were reached.
    pub fn of_reached(terms: &Terms, reached: &[bool]) -> Self {
        Self::of(terms, reached.iter().map(|reached| reached.then_some(1)).collect())
    }

    /// Of the vertices' values among decoys: how many have which value, with noise. What is less
    /// than nothing is shown as nothing.
    pub fn of_decoys(decoys: Decoys, values: &[Fp61]) -> Self {
        let last = u64::from(decoys.bins);
        let mut counts = vec![0u64; decoys.bins as usize + 1];
        let shown = values.iter().filter(|value| **value != -Fp61::ONE);
        shown.for_each(|value| counts[value.value().min(last) as usize] += 1);
        let mean = u64::from(decoys.each / 2);
        let of = |(value, count): (u64, u64)| (Some(value), count.saturating_sub(mean));
        Values::Counts((0..).zip(counts).map(of).collect())
    }

    /// Of a sum with so many coins.
    pub fn of_total(terms: &Terms, sum: Fp61) -> Self {
        let rows = sum.value().saturating_sub(u64::from(terms.coins() / 2));
        // An edge that leads in both directions takes two rows.
        Values::Total(if terms.undirected { rows / 2 } else { rows })
    }

    /// Of the hops after which vertices were reached for the first time. Sources, which are public,
    /// have the distance 0.
    pub fn of_distances(terms: &Terms, from: &[u32], first: &[Option<u32>]) -> Self {
        let mut values: Vec<Option<u64>> = first.iter().map(|hop| hop.map(u64::from)).collect();
        if terms.shown != Shown::Counts {
            from.iter().for_each(|source| values[*source as usize] = Some(0));
            return Values::Vertices(values);
        }
        // Which of the shuffled values are the sources' nobody knows; that they are after one hop
        // follows from the sources alone.
        let (mut counts, sources) = (Values::Vertices(values).counts(), from.len() as u64);
        if let Some((_, count)) = counts.iter_mut().find(|(value, _)| *value == Some(1)) {
            *count = count.saturating_sub(sources);
        }
        counts.push((Some(0), sources));
        counts.retain(|(_, count)| *count > 0);
        counts.sort_unstable();
        Values::Counts(counts)
    }

    /// Of words of distances.
    pub fn of_minima(terms: &Terms, words: &[Gf64]) -> Self {
        Values::Vertices(words.iter().map(|word| number(*word, terms.hops())).collect())
    }

    /// What the reader reads: the values, and which members have lied to it.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub fn opened(
        self,
        computation: &ComputationId,
        terms: &Terms,
        key: &ExchangeKey,
    ) -> Result<(Self, Vec<usize>), Unreadable> {
        let Values::Closed(closed) = self else { return Ok((self, Vec::new())) };
        let vertices = terms.vertices as usize;
        let words = terms.closed_words();
        if terms.program.processors().is_some() {
            let Unmasked { elements, liars } = closed.open::<Gf64>(computation, key, words)?;
            return Ok((Self::of_minima(terms, &elements), liars));
        }
        if let Program::Distances { from, .. } | Program::Shortest { from, .. } = &terms.program {
            let Unmasked { elements, liars } = closed.open::<Gf64>(computation, key, words)?;
            let reached: Vec<bool> = elements.iter().map(|value| *value != Gf64::ZERO).collect();
            return Ok((Self::of_distances(terms, from, &first_hops(&reached, vertices)), liars));
        }
        if let Program::Reach { .. } = &terms.program {
            let Unmasked { elements, liars } = closed.open::<Gf64>(computation, key, words)?;
            let reached: Vec<bool> = elements.iter().map(|value| *value != Gf64::ZERO).collect();
            return Ok((Self::of_reached(terms, &reached), liars));
        }
        let Unmasked { elements, liars } = closed.open::<Fp61>(computation, key, words)?;
        if terms.program == Program::Edges {
            return Ok((Self::of_total(terms, elements[0]), liars));
        }
        if let Some(decoys) = terms.decoys() {
            return Ok((Self::of_decoys(decoys, &elements), liars));
        }
        if let Shown::Top(_) = terms.shown {
            return Ok((Self::of_top(&top_of(&elements)), liars));
        }
        let Shown::AtLeast(_) = terms.shown else {
            return Ok((Self::of_numbers(terms, &elements), liars));
        };
        // w·f and w·f·x, where f is zero if and only if x is below the threshold.
        let (blinded, products) = elements.split_at(vertices);
        let count = |(blinded, product): (&Fp61, &Fp61)| {
            Some((WordField::inverse(*blinded)? * *product).value())
        };
        Ok((Self::of(terms, blinded.iter().zip(products).map(count).collect()), liars))
    }
}

/// Of whether each vertex is among the first, and then their values, the values of those that are.
pub(crate) fn top_of(elements: &[Fp61]) -> Vec<Option<Fp61>> {
    let (chosen, values) = elements.split_at(elements.len() / 2);
    let of = |(chosen, value): (&Fp61, &Fp61)| (*chosen != Fp61::ZERO).then_some(*value);
    chosen.iter().zip(values).map(of).collect()
}
