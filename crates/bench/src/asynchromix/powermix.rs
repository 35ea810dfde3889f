//! A PowerMix: its stock, and what all servers compute from the sealed table until each of them has
//! the messages.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use ostrakon_crypto::{Digest, Secret, SigningKey, VerifyingKey};
use ostrakon_field::Fp;
use ostrakon_party::PartyId;
use ostrakon_robust::client::{MaskReader, Masked};
use ostrakon_robust::machine::{Machine, Outcome, Step};
use ostrakon_robust::message::{ELEMENT, HEADER, Instance};
use ostrakon_robust::offline::recipes::{Powers, PowersStock};
use ostrakon_robust::offline::{Checked, Journal, Spent};
use ostrakon_robust::online::powermix::{Carrier, PowerMix, Sums, Transforms};
use ostrakon_robust::program::Program;
use ostrakon_robust::{Committee, Tape, cost};
use rayon::prelude::*;

use super::batch::prepare;
use super::decoding::WIDTH;
use super::part::Part;
use super::{Units, products};
use crate::limit::time;
use crate::processor;
use crate::random::secret;

/// A mix that is measured is spent once, in memory.
struct Unwritten;

impl Journal for Unwritten {
    fn spend(&mut self, _: Digest, _: Digest) -> bool {
        true
    }
}

/// Measures mixes of so many messages of 31 bytes.
pub(super) fn measure(
    committee: &Arc<Committee>,
    rows: usize,
    runs: u32,
    units: &Units,
) -> Result<[Part; 2]> {
    let shape = Powers { slots: rows, powers: rows, columns: WIDTH };
    let mut prepared = Vec::new();
    let mut mixed = Vec::new();
    for _ in 0..runs {
        let seed = Secret::new(secret()?);
        let mut stock = Err(anyhow::anyhow!("nothing was prepared"));
        let begun = processor::seconds_of_thread();
        let seconds = time(|| stock = prepare(committee, &shape, &seed, 0));
        prepared.push((seconds, processor::seconds_of_thread() - begun));
        mixed.push(Mix::of(committee, rows, stock?.stock, &seed)?.run()?);
    }
    // Two transforms of 2k points are the least for a message and for the sums; finding the roots
    // is not in the limit.
    let length = 2 * rows;
    let transform = length / 2 * length.ilog2() as usize;
    let local = rows * (transform + length * (1 + 2 * WIDTH)) + (1 + WIDTH) * transform;
    let online = (local * committee.size()) as f64 * units.product;
    let phases = ostrakon_robust::offline::Recipe::program(&shape, committee, 0).phases();
    let work = phases.iter().map(|phase| products(phase, committee)).sum::<usize>();
    let cores = rayon::current_num_threads() as f64;
    let offline = (work * committee.size()) as f64 * units.product * cores;
    let size = committee.size();
    Ok([
        Part::new("PowerMix, stock", size, rows, prepared, offline),
        Part::new("PowerMix", size, rows, mixed, online),
    ])
}

/// A sealed table at all members.
struct Mix {
    machines: Vec<Machine<PowerMix>>,
    members: Vec<PartyId>,
    tapes: Vec<Tape>,
    /// What comes out, by key.
    said: Vec<Carrier>,
    /// Elements that are sent, by formula.
    elements: usize,
}

impl Mix {
    fn of(
        committee: &Arc<Committee>,
        rows: usize,
        stock: Vec<Checked<PowersStock>>,
        seed: &Secret,
    ) -> Result<Mix> {
        let members = committee.members().to_vec();
        let mut tape = Tape::new(&seed.derive("ostrakon/v1/bench/said", &[]));
        let mut said = Vec::new();
        let mut submissions: Vec<Option<Masked>> = Vec::new();
        for slot in 0..rows {
            let mut reader = MaskReader::new((**committee).clone(), 1 + WIDTH);
            let mut shares = members.iter().zip(&stock);
            let masks = shares
                .find_map(|(from, of)| reader.receive(*from, &of.stock().masks(slot), &mut tape));
            let payload: Vec<Fp> = (0..WIDTH).map(|_| Fp::random(&mut tape)).collect();
            let key = Fp::random(&mut tape);
            let masked = masks.context("masks of honest servers")?.for_carrier(key, &payload);
            submissions.push(Some(masked));
            said.push(Carrier { key, count: 1, payload });
        }
        said.sort_unstable_by_key(|carrier| carrier.key);
        let keys: Vec<Arc<SigningKey>> =
            members.iter().map(|m| Arc::new(SigningKey::from_seed(&[m.0 + 1; 32]))).collect();
        let public: Vec<VerifyingKey> = keys.iter().map(|key| key.verifying_key()).collect();
        let (mut machines, mut elements) = (Vec::new(), 0);
        for (me, (checked, key)) in stock.into_iter().zip(keys).enumerate() {
            // Made before it is known what is said.
            let spent: Spent<Transforms> =
                checked.map(Transforms::from).spend(Digest([1; 32]), &mut Unwritten)?;
            let name = spent.name();
            let program = PowerMix::new(spent, submissions.clone());
            let phases = program.phases();
            elements += phases.iter().map(|p| cost::elements(p, committee, me)).sum::<usize>();
            let (committee, keys) = (Arc::clone(committee), public.clone());
            let instance = Arc::new(Instance { name, committee, keys, phases });
            let nothing = Tape::new(&Secret::new([0; 32]));
            machines.push(Machine::new(instance, me, key, program, nothing));
        }
        let label = |me: &PartyId| seed.derive("ostrakon/v1/bench/private", &[&[me.0]]);
        let tapes = members.iter().map(|me| Tape::new(&label(me))).collect();
        Ok(Mix { machines, members, tapes, said, elements })
    }

    /// Seconds on the clock, with all cores, and of all cores together.
    fn run(mut self) -> Result<(f64, f64)> {
        let (mut cpu, mut sent) = (0.0, 0);
        let mut out = Ok(Vec::new());
        let seconds = time(|| {
            let begun = self.begin(&mut cpu);
            let before = processor::seconds_of_thread();
            let sums = self.deliver(begun, &mut sent);
            cpu += processor::seconds_of_thread() - before;
            out = self.solve(&sums, &mut cpu);
        });
        for carriers in out? {
            ensure!(carriers == self.said, "a PowerMix brought something else out");
        }
        ensure!(sent == self.elements, "{sent} elements, and {} are the formula", self.elements);
        Ok((seconds, cpu))
    }

    /// Each member's shares of the sums.
    fn begin(&mut self, cpu: &mut f64) -> Vec<Step<Outcome<Arc<Sums>>>> {
        let parts = self.machines.par_iter_mut().zip(&mut self.tapes);
        let begun: Vec<_> = parts.map(|(machine, tape)| timed(|| machine.start(tape))).collect();
        *cpu += begun.iter().map(|(_, cpu)| cpu).sum::<f64>();
        begun.into_iter().map(|(step, _)| step).collect()
    }

    /// The openings' messages; each member's sums.
    fn deliver(
        &mut self,
        begun: Vec<Step<Outcome<Arc<Sums>>>>,
        sent: &mut usize,
    ) -> Vec<Arc<Sums>> {
        let mut queue = VecDeque::new();
        let mut sums = Vec::new();
        let mut post = |me: usize, step: Step<Outcome<Arc<Sums>>>, queue: &mut VecDeque<_>| {
            for outcome in step.outputs {
                if let Outcome::Done(done) = outcome {
                    sums.push(done);
                }
            }
            for (to, bytes) in step.sends {
                *sent += (bytes.len() - HEADER) / ELEMENT;
                queue.push_back((me, to, bytes));
            }
        };
        for (me, step) in begun.into_iter().enumerate() {
            post(me, step, &mut queue);
        }
        while let Some((from, to, bytes)) = queue.pop_front() {
            let me = to.index();
            let step = self.machines[me].handle(self.members[from], &bytes, &mut self.tapes[me]);
            post(me, step, &mut queue);
        }
        sums
    }

    /// The messages, at each member.
    fn solve(&mut self, sums: &[Arc<Sums>], cpu: &mut f64) -> Result<Vec<Vec<Carrier>>> {
        ensure!(sums.len() == self.members.len(), "a member has no sums");
        let parts = sums.par_iter().zip(&mut self.tapes);
        let solved: Vec<_> = parts.map(|(sums, tape)| timed(|| sums.solve(tape))).collect();
        *cpu += solved.iter().map(|(_, cpu)| cpu).sum::<f64>();
        solved.into_iter().map(|(carriers, _)| Ok(carriers?)).collect()
    }
}

/// What comes of some work, with the seconds for which this thread had a core.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let begun = processor::seconds_of_thread();
    let done = black_box(work());
    (done, processor::seconds_of_thread() - begun)
}
