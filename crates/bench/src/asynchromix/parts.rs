//! What an epoch is made of, part by part: preparing each ingredient of stock, and decoding what is
//! opened, among more servers than a room has.
//!
//! A committee's members are on one thread, their messages in memory; as many committees as there
//! are cores work at a time, each on a batch of its own. So a rate is that of all servers on all
//! cores. Links, the ledger and disks are left out: what they add is in the epoch's phases.

use std::collections::VecDeque;
use std::fmt::Write;
use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_field::Fp;
use ostrakon_party::PartyId;
use ostrakon_robust::machine::Step;
use ostrakon_robust::message::HEADER;
use ostrakon_robust::offline::recipes::{Bits, Powers, Randoms, Triples};
use ostrakon_robust::offline::{Batch, Event, Recipe, Record, Shuffle, Subject};
use ostrakon_robust::phase::Phase;
use ostrakon_robust::program::{Program, clos};
use ostrakon_robust::{Committee, Tape, cost};
use rayon::prelude::*;
use serde::Serialize;

use super::decoding;
use super::{Units, products};
use crate::limit::time;
use crate::measurement::median;
use crate::party::secret;
use crate::processor;

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
    /// How often; medians are reported.
    pub runs: u32,
}

impl Wanted {
    /// What the documentation shows.
    #[must_use]
    pub fn usual(runs: u32) -> Wanted {
        let decoding = vec![4, 7, 10, 31, 100, 301, 1000];
        Wanted { servers: vec![4, 7, 10], decoding, values: 1 << 15, scale: 128, runs }
    }
}

/// A part, measured.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// Which.
    pub part: &'static str,
    /// Servers.
    pub servers: usize,
    /// Pieces: values, triples, bits, powers or rows.
    pub count: usize,
    /// On the clock, with all cores; median over the runs.
    pub seconds: f64,
    /// Of all cores together, without the time in which other programs had them; the same run's.
    pub cpu_seconds: f64,
    /// Pieces in a second on the clock.
    pub per_second: f64,
    /// Pieces in a second of as many cores as this machine has, if it did nothing else; 0 where
    /// the system does not tell what threads compute.
    pub per_second_of_cores: f64,
    /// Unavoidable work on all cores.
    pub limit_seconds: f64,
    /// `seconds / limit_seconds`.
    pub ratio: f64,
}

impl Part {
    pub(super) fn new(
        part: &'static str,
        servers: usize,
        count: usize,
        mut timed: Vec<(f64, f64)>,
        limit_seconds: f64,
    ) -> Part {
        let seconds = median(timed.iter().map(|(seconds, _)| *seconds).collect());
        timed.retain(|(of, _)| *of == seconds);
        let cpu_seconds = timed.first().map_or(0.0, |(_, cpu)| *cpu);
        let cores = rayon::current_num_threads() as f64;
        let of_cores = if cpu_seconds > 0.0 { count as f64 * cores / cpu_seconds } else { 0.0 };
        Part {
            part,
            servers,
            count,
            seconds,
            cpu_seconds,
            per_second: count as f64 / seconds,
            per_second_of_cores: of_cores,
            limit_seconds,
            ratio: seconds / limit_seconds,
        }
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
    }
    for &servers in &wanted.decoding {
        tell(&format!("decoding among {servers} servers"));
        parts.extend(decoding::measure(servers, wanted, &units));
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
                    let sent = prepare(self.committee, recipe, &Secret::new(seed), core as u64)?;
                    Ok((sent, processor::seconds_of_thread() - begun))
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

/// Messages and records on their way, and how many members have the stock.
#[derive(Default)]
struct Queue {
    messages: VecDeque<(PartyId, PartyId, Vec<u8>)>,
    ledger: VecDeque<(PartyId, Record)>,
    ready: usize,
    elements: usize,
}

impl Queue {
    fn post<T>(&mut self, from: PartyId, step: Step<Event<T>>) -> Result<()> {
        for (to, bytes) in step.sends {
            self.elements += (bytes.len() - HEADER) / size_of::<Fp>();
            self.messages.push_back((from, to, bytes));
        }
        for event in step.outputs {
            match event {
                Event::Propose(record) => self.ledger.push_back((from, record)),
                Event::Ready(stock) => {
                    black_box(stock.stock());
                    self.ready += 1;
                }
                Event::Burned | Event::Judged(_) => {
                    anyhow::bail!("a batch of honest servers fails")
                }
            }
        }
        Ok(())
    }
}

/// Prepares one batch, all members in turn; how many elements they sent.
fn prepare<R: Recipe>(
    committee: &Arc<Committee>,
    recipe: &R,
    seed: &Secret,
    number: u64,
) -> Result<usize> {
    let members = committee.members();
    let key = |party: &PartyId| Arc::new(SigningKey::from_seed(&[party.0 + 1; 32]));
    let keys: Vec<_> = members.iter().map(key).collect();
    let subject = Subject {
        session: Digest([0; 32]),
        number,
        committee: Arc::clone(committee),
        keys: keys.iter().map(|key| key.verifying_key()).collect(),
    };
    let mut checks = Tape::new(&seed.derive("ostrakon/v1/bench/checks", &[&number.to_le_bytes()]));
    let mut queue = Queue::default();
    let mut parts = Vec::new();
    for (me, (&party, key)) in members.iter().zip(keys).enumerate() {
        let label = [&[party.0][..], &number.to_le_bytes()];
        let own = seed.derive("ostrakon/v1/bench/tape", &label);
        let (batch, record) = Batch::new(subject.clone(), recipe.clone(), me, key, own);
        parts.push(batch);
        queue.ledger.push_back((party, record));
    }
    loop {
        if let Some((author, record)) = queue.ledger.pop_front() {
            for (part, &party) in parts.iter_mut().zip(members) {
                queue.post(party, part.ordered(author, record.clone(), &mut checks))?;
            }
        } else if let Some((from, to, bytes)) = queue.messages.pop_front() {
            let step = parts[to.index()].handle(from, &bytes, &mut checks);
            queue.post(to, step)?;
        } else {
            break;
        }
    }
    ensure!(queue.ready == members.len(), "a batch of honest servers is not ready");
    Ok(queue.elements)
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
        let wanted =
            Wanted { servers: vec![4], decoding: vec![4, 40], values: 200, scale: 1, runs: 1 };
        let parts = run(&wanted, |_| ()).unwrap();
        let names: Vec<&str> = parts.iter().map(|part| part.part).collect();
        let prepared =
            ["random values", "triples", "random bits", "powers", "rows of matrices"].to_vec();
        let decoded = ["decoding", "decoding, t are wrong"].repeat(2);
        assert_eq!(names, [prepared, decoded].concat());
        for part in &parts {
            assert!(part.seconds > 0.0 && part.limit_seconds > 0.0, "{part:?}");
            assert!((part.per_second * part.seconds / part.count as f64 - 1.0).abs() < 1e-9);
        }
        assert_eq!(table(&parts).lines().count(), 1 + parts.len());
    }
}
