//! What an epoch is made of, part by part: preparing each ingredient of stock, and decoding what is
//! opened, among more servers than a room has.
//!
//! A committee's members are on one thread, their messages in memory; as many committees as there
//! are cores work at a time, each on a batch of its own. So a rate is that of all servers on all
//! cores. Links, the ledger and disks are left out: what they add is in the epoch's phases.

use std::fmt::Write;
use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use ostrakon_crypto::Secret;
use ostrakon_party::PartyId;
use ostrakon_robust::offline::clos;
use ostrakon_robust::offline::recipes::{Bits, Powers, Randoms, Triples};
use ostrakon_robust::offline::{Recipe, Shuffle};
use ostrakon_robust::phase::Phase;
use ostrakon_robust::program::Program;
use ostrakon_robust::{Committee, cost};
use rayon::prelude::*;

use super::batch::prepare;
pub use super::part::Part;
use super::{Units, decoding, powermix, products};
use crate::limit::time;
use crate::processor;
use crate::random::secret;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Sizes of committees that prepare, 3t + 1 each.
    pub servers: Vec<usize>,
    /// Sizes of committees that decode.
    pub decoding: Vec<usize>,
    /// Values that are opened.
    pub values: usize,
    /// How much larger batches are than the least that is worth measuring.
    pub scale: usize,
    /// Messages of a PowerMix among the smallest of the committees that prepare.
    pub mixes: Vec<usize>,
    /// How often; medians are reported.
    pub runs: u32,
}

impl Wanted {
    /// What the documentation shows.
    #[must_use]
    pub fn usual(runs: u32) -> Wanted {
        let decoding = vec![4, 7, 10, 31, 100, 301, 1000];
        let (servers, mixes) = (vec![4, 7, 10], vec![256, 512]);
        Wanted { servers, decoding, values: 1 << 15, scale: 128, mixes, runs }
    }
}

/// Measures all parts.
///
/// # Errors
/// If there are no committees of such sizes, a batch fails, or a server sends more or less than the
/// formulas say.
pub fn run(wanted: &Wanted, tell: impl Fn(&str)) -> Result<Vec<Part>> {
    let units = Units::measure()?;
    let mut parts = Vec::new();
    for &servers in &wanted.servers {
        let members: Vec<PartyId> = (0..u8::try_from(servers)?).map(PartyId).collect();
        let committee = Committee::new(&members, (servers - 1) / 3).filter(Committee::prepares);
        let committee = Arc::new(committee.context("3t + 1 servers prepare together")?);
        let bench = Bench { committee: &committee, units: &units, runs: wanted.runs };
        tell(&format!("{servers} servers"));
        let count = 64 * wanted.scale;
        parts.push(bench.measure("random values", count, &Randoms { count })?);
        parts.push(bench.measure("triples", count, &Triples { count })?);
        parts.push(bench.measure("random bits", count, &Bits { count })?);
        let powers = Powers { slots: wanted.scale, powers: 64, columns: 0 };
        parts.push(bench.measure("powers", count, &powers)?);
        let (rows, dealers) = (4 * wanted.scale, (0..=committee.corrupt()).collect());
        let shuffle = Shuffle::new(&committee, rows, decoding::WIDTH, clos::radices(rows), dealers);
        let shuffle = shuffle.context("a shuffle of a power of two")?;
        parts.push(bench.measure("rows of matrices", rows, &shuffle)?);
        if wanted.servers.first() == Some(&servers) {
            for &rows in &wanted.mixes {
                tell(&format!("PowerMix of {rows} messages"));
                parts.extend(powermix::measure(&committee, rows, wanted.runs, &units)?);
            }
        }
    }
    for &servers in &wanted.decoding {
        tell(&format!("decoding among {servers} servers"));
        parts.extend(decoding::measure(servers, wanted.values, wanted.runs, &units));
    }
    Ok(parts)
}

struct Bench<'a> {
    committee: &'a Arc<Committee>,
    units: &'a Units,
    runs: u32,
}

impl Bench<'_> {
    /// A batch for every core at a time, each of `count` pieces.
    fn measure<R: Recipe + Sync>(
        &self,
        part: &'static str,
        count: usize,
        recipe: &R,
    ) -> Result<Part> {
        let cores = rayon::current_num_threads();
        let mut timed = Vec::new();
        for _ in 0..self.runs {
            let seed = secret()?;
            let mut all = Vec::new();
            let seconds = time(|| {
                let batch = |core: usize| {
                    let begun = processor::seconds_of_thread();
                    let seed = Secret::new(seed);
                    let prepared = prepare(self.committee, recipe, &seed, core as u64)?;
                    black_box(&prepared.stock);
                    Ok((prepared.elements, processor::seconds_of_thread() - begun))
                };
                all = (0..cores).into_par_iter().map(batch).collect::<Vec<Result<_>>>();
            });
            let all = all.into_iter().collect::<Result<Vec<(usize, f64)>>>()?;
            let formula = self.elements(recipe);
            for (sent, _) in &all {
                ensure!(*sent == formula, "{part}: {sent} elements, and {formula} are the formula");
            }
            timed.push((seconds, all.iter().map(|(_, cpu)| cpu).sum()));
        }
        let servers = self.committee.size();
        let limit = cores as f64 * self.limit(recipe);
        Ok(Part::new(part, servers, cores * count, timed, limit))
    }

    fn phases<R: Recipe>(&self, recipe: &R) -> Vec<Phase> {
        recipe.program(self.committee, 0).phases()
    }

    /// What all members send in a batch.
    fn elements<R: Recipe>(&self, recipe: &R) -> usize {
        let phases = self.phases(recipe);
        let of = |me: usize| phases.iter().map(move |p| cost::elements(p, self.committee, me));
        (0..self.committee.size()).flat_map(of).sum()
    }

    /// Seconds of all cores for the products with matrices of coefficients, and for hashing what is
    /// signed and verified.
    fn limit<R: Recipe>(&self, recipe: &R) -> f64 {
        let local = self.phases(recipe).iter().map(|p| products(p, self.committee)).sum::<usize>();
        let hashed = 2 * 8 * self.elements(recipe);
        (local * self.committee.size()) as f64 * self.units.product
            + hashed as f64 * self.units.hash
    }
}

/// The parts as a table for people.
#[must_use]
pub fn table(parts: &[Part]) -> String {
    let mut text = format!(
        "{:<24} {:>7} {:>9} {:>9} {:>9} {:>11} {:>11} {:>9} {:>6}\n",
        "part", "servers", "pieces", "seconds", "CPU", "pieces/s", "by CPU", "limit", "ratio"
    );
    for p in parts {
        let row = format!(
            "{:<24} {:>7} {:>9} {:>9.4} {:>9.4} {:>11.0} {:>11.0} {:>9.4} {:>6.1}",
            p.part,
            p.servers,
            p.count,
            p.seconds,
            p.cpu_seconds,
            p.per_second,
            p.per_second_of_cores,
            p.limit_seconds,
            p.ratio
        );
        writeln!(text, "{row}").expect("text can be written to");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_measured() {
        let (servers, decoding, mixes) = (vec![4], vec![4, 40], vec![8]);
        let wanted = Wanted { servers, decoding, values: 200, scale: 1, mixes, runs: 1 };
        let parts = run(&wanted, |_| ()).unwrap();
        let names: Vec<&str> = parts.iter().map(|part| part.part).collect();
        let prepared =
            ["random values", "triples", "random bits", "powers", "rows of matrices"].to_vec();
        let mixed = ["PowerMix, stock", "PowerMix"].to_vec();
        let decoded = ["decoding", "decoding, t are wrong"].repeat(2);
        assert_eq!(names, [prepared, mixed, decoded].concat());
        for part in &parts {
            assert!(part.seconds > 0.0 && part.limit_seconds > 0.0, "{part:?}");
            assert!((part.per_second * part.seconds / part.count as f64 - 1.0).abs() < 1e-9);
        }
        assert_eq!(table(&parts).lines().count(), 1 + parts.len());
    }
}
