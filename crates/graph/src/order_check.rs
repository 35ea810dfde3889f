//! Are a list's maps those of a graph? (`docs/spec/graph.md`, L3)
//!
//! Three public columns go once through all three shuffles: a random label for every row, which
//! must come back to its row; and twice a count of vertices, summed up once in source order and
//! once in destination order, which must be v + 1 at vertex v.

use std::collections::BTreeMap;

use bytes::Bytes;
use ostrakon_crypto::Digest;
use ostrakon_field::{ELEMENT_BYTES, Fp61, WordField, elements, to_table};
use ostrakon_kernels::zeroed_table;
use ostrakon_replicated::pair::Pair;

use crate::hop::prefix_sums;
use crate::owner::Maps;
use crate::params::CHECK_WORDS;
use crate::ruffle2::coin;
use crate::ruffle2::fault::Stop;
use crate::ruffle2::opening::{OwnShares, open};
use crate::ruffle2::preparation::Prepared;
use crate::ruffle2::run::Run;
use crate::ruffle2::seeds::{JobSeeds, Purpose};
use crate::ruffle2::shuffle::{Applied, Shuffler};
use crate::ruffle2::uses::{Use, UseId, permuted};
use crate::spec::JobSpec;

const WORDS: usize = CHECK_WORDS as usize;
const WIDTH: usize = WORDS * ELEMENT_BYTES;

/// Added to a list's number in the tag of its verdict's opening.
const VERDICT: u32 = 1 << 30;

/// What the check needs of one server.
pub struct Checker<'a> {
    /// The job.
    pub spec: &'a JobSpec,
    /// The phase.
    pub run: &'a Run,
    /// The seeds.
    pub seeds: &'a JobSeeds,
    /// Shares of U.
    pub prepared: &'a BTreeMap<UseId, Prepared>,
    /// Applies uses.
    pub shuffler: &'a Shuffler<'a>,
}

/// A list's coins and maps.
struct Checked {
    list: usize,
    maps: Maps,
    labels: Vec<Fp61>,
    weights: Vec<Fp61>,
}

impl Checked {
    fn new(spec: &JobSpec, list: usize, maps: Maps, coin: &Digest) -> Self {
        let (rows, at) = (spec.rows(list), [list as u64]);
        let labels = coin::elements(coin, b"labels", &at, rows);
        let weights = coin::elements(coin, b"weights", &at, rows * WORDS);
        Self { list, maps, labels, weights }
    }

    /// The public table that goes in.
    fn table(&self, vertices: usize) -> Vec<u8> {
        let mut table = zeroed_table(self.labels.len() * WIDTH);
        let rows = table.as_chunks_mut::<WIDTH>().0.iter_mut().zip(&self.labels).enumerate();
        for (row, (bytes, label)) in rows {
            let count = if row < vertices { Fp61::ONE } else { Fp61::ZERO };
            for (word, value) in bytes.chunks_exact_mut(ELEMENT_BYTES).zip([*label, count, count]) {
                word.copy_from_slice(&value.to_word().to_le_bytes());
            }
        }
        table
    }

    /// From what a shuffle made to what the next one is applied to, or to the base order.
    fn link(&self, step: usize, table: &[u8]) -> Vec<u8> {
        let mut table = permuted(table, WIDTH, &self.maps.0[step]);
        if step < 2 {
            prefix_sums::<Fp61>(&mut table, WORDS, 1 + step);
        }
        table
    }

    /// A weighted sum of what came out, at all rows for the labels and at vertices for the counts.
    fn weigh(&self, vertices: usize, table: &[u8]) -> Fp61 {
        let rows = self.labels.len();
        let relevant = |i: usize| i.is_multiple_of(WORDS) || i / WORDS < vertices;
        let values = elements::<Fp61>(table).zip(&self.weights).enumerate();
        debug_assert_eq!(table.len(), rows * WIDTH, "a list's table");
        values.filter(|(i, _)| relevant(*i)).map(|(_, (value, weight))| value * *weight).sum()
    }

    /// The sum that a list that is a graph gives.
    fn expected(&self, vertices: usize) -> Fp61 {
        let rows = self.labels.iter().zip(self.weights.as_chunks::<WORDS>().0).enumerate();
        let row = |(row, (label, [of_label, source, target])): (usize, (&Fp61, &[Fp61; WORDS]))| {
            let count = if row < vertices { Fp61::new(row as u64 + 1) } else { Fp61::ZERO };
            *label * *of_label + count * (*source + *target)
        };
        rows.map(row).sum()
    }
}

impl Checker<'_> {
    /// Which of the lists are graphs. Those that are not are left out, and nothing else happens.
    ///
    /// # Errors
    /// Of the shuffles and openings.
    pub async fn check(&self, maps: &[Option<Maps>], coin: &Digest) -> Result<Vec<bool>, Stop> {
        let lists: Vec<Checked> = maps
            .iter()
            .enumerate()
            .filter_map(|(list, maps)| Some(Checked::new(self.spec, list, maps.clone()?, coin)))
            .collect();
        let (differences, masks) = self.open_differences(&lists).await?;
        let outputs = self.shuffle(&lists, &differences).await?;
        let vertices = self.spec.vertices as usize;
        let verdicts = lists.iter().zip(masks).map(|(list, masks)| {
            let shares = masks.map(|mask| {
                mask.map(|table| Bytes::from(to_table([list.weigh(vertices, &table)])))
            });
            (VERDICT + list.list as u32, shares)
        });
        let opened = open::<Fp61>(self.run, verdicts.collect()).await?;
        let mut good = vec![false; maps.len()];
        for ((list, output), mask) in lists.iter().zip(outputs).zip(opened) {
            let mask: Fp61 = elements(&mask).sum();
            let sum = list.weigh(vertices, &output) + mask;
            good[list.list] = sum == list.expected(vertices);
        }
        Ok(good)
    }

    fn use_of(&self, list: &Checked, step: usize) -> Use {
        self.spec.check_use(list.list, step)
    }

    /// Opens L(U) − α_in of every use, one round. Returns them by list and step, and shares of each
    /// list's output masks.
    async fn open_differences(
        &self,
        lists: &[Checked],
    ) -> Result<(Vec<Vec<u8>>, Vec<[Option<Vec<u8>>; 3]>), Stop> {
        let (mut tables, mut masks) = (Vec::new(), Vec::new());
        for list in lists {
            let mut shares: [Option<Vec<u8>>; 3] = Pair::ALL.map(|pair| {
                let own = self.seeds.get(pair).is_some();
                own.then(|| zeroed_table(self.spec.rows(list.list) * WIDTH))
            });
            for step in 0..3 {
                let u = self.use_of(list, step);
                let difference: OwnShares = Pair::ALL.map(|pair| {
                    let share = shares[pair.index()].take()?;
                    Some(Bytes::from(less_input::<Fp61>(self.seeds, &u, pair, share)))
                });
                tables.push((u.id.permutation, difference));
                for pair in Pair::of_party(self.run.me()) {
                    let u_share = self.prepared[&u.id].share::<Fp61>(self.seeds, pair);
                    shares[pair.index()] = Some(list.link(step, &u_share));
                }
            }
            masks.push(shares);
        }
        Ok((open::<Fp61>(self.run, tables).await?, masks))
    }

    async fn shuffle(
        &self,
        lists: &[Checked],
        differences: &[Vec<u8>],
    ) -> Result<Vec<Vec<u8>>, Stop> {
        let vertices = self.spec.vertices as usize;
        let mut tables: Vec<Vec<u8>> = lists.iter().map(|list| list.table(vertices)).collect();
        for step in 0..3 {
            let uses = lists.iter().enumerate().zip(&tables).map(|((i, list), table)| {
                let of = self.use_of(list, step);
                let mut beta = table.clone();
                Fp61::add_into(&mut beta, &differences[3 * i + step]);
                Applied { of, sequence: of.id.permutation, beta }
            });
            let shuffled = self.shuffler.apply::<Fp61>(uses.collect()).await?;
            let linked = lists.iter().zip(shuffled).map(|(list, table)| list.link(step, &table));
            tables = linked.collect();
        }
        Ok(tables)
    }
}

/// A share of L(U) − α_in, from the share of L(U).
pub fn less_input<F: WordField>(
    seeds: &JobSeeds,
    u: &Use,
    pair: Pair,
    mut share: Vec<u8>,
) -> Vec<u8> {
    F::sub_stream(&mut share, &seeds.of(pair).prg(Purpose::Input(u.id)));
    share
}
