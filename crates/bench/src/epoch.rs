//! The benchmark of an epoch of a room, from its sealing to the signed board: the engine alone,
//! without HTTP and storage.

use anyhow::{Result, ensure};
use ostrakon_mixing::EngineKind;
use ostrakon_mixing::room::REDUNDANCY;
use ostrakon_replicated::cost;

use crate::control::{Command, Epoch, Parties, Program};
use crate::limit::{Limits, Work};
use crate::measurement::Measurement;
use crate::phase::Phase;
use crate::shuffle::checked;

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Participants, all of whom take part.
    pub clients: u32,
    /// Bytes of payload of a row.
    pub payload: u32,
    /// How often.
    pub runs: u32,
}

/// Runs the benchmark with three processes of `program`. `report` is told what is being done.
///
/// # Errors
/// If the shape is not allowed, a process fails, a message is lost, or other amounts are sent than
/// the formulas say.
pub fn run(
    options: Options,
    program: &Program,
    mut report: impl FnMut(&str),
) -> Result<Vec<Measurement>> {
    let Options { clients, payload, runs } = options;
    let engine = EngineKind::Ruffle;
    ensure!(clients >= 3, "an epoch needs at least 3 participants, one for each server's slots");
    let shape = checked(clients, payload.saturating_add(REDUNDANCY as u32))?;
    report("setting up three servers");
    let mut parties = Parties::start(program)?;
    let mut limits = Limits::new(shape);
    let mut epoch = Phase::new("epoch", cost::epoch(shape, clients), Work::epoch);
    for number in 0..u64::from(runs) {
        report(&format!("run {} of {runs}: making {clients} submissions", number + 1));
        let seeds = parties.prepare_epoch(Epoch { number, clients, payload, engine })?;
        parties.hand_in(seeds)?;
        report(&format!("run {} of {runs}", number + 1));
        let mixed = parties.all(&Command::Mix)?;
        let published = &mixed.reports[0].result;
        ensure!(published.starts_with(&format!("{clients} messages")), "only {published} came out");
        epoch.note(&mixed, None)?;
        parties.all(&Command::RetireEpoch)?;
        limits.sample()?;
        limits.sample_slots();
    }
    Ok(vec![epoch.measurement(shape, &limits)])
}
