//! The benchmark of one shuffle: preprocessing, online phase, opening.

use anyhow::{Result, ensure};
use ostrakon_replicated::cost::{self, Cost};
use ostrakon_replicated::messages::{BatchSpec, Inputs, Shape};
use ostrakon_replicated::params::{MAX_ROWS, MAX_WIDTH};

use crate::control::{Command, Parties, Program};
use crate::limit::{Limits, Work};
use crate::measurement::Measurement;
use crate::phase::Phase;

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Rows of the table.
    pub rows: u32,
    /// Bytes of a row.
    pub width: u32,
    /// How often.
    pub runs: u32,
}

/// A table's shape within the engine's limits.
pub(crate) fn checked(rows: u32, width: u32) -> Result<Shape> {
    let shape = Shape { rows, width };
    ensure!(
        shape.is_valid(),
        "a table has 1 to {MAX_ROWS} rows of 8 to {MAX_WIDTH} bytes, a multiple of 8; not {rows} rows of {width} bytes"
    );
    Ok(shape)
}

/// Runs the benchmark with three processes of `program`. `report` is told what is being done.
///
/// # Errors
/// If the shape is not allowed, or a process fails, or sends other amounts than the formulas say.
pub fn run(
    options: Options,
    program: &Program,
    mut report: impl FnMut(&str),
) -> Result<Vec<Measurement>> {
    let shape = checked(options.rows, options.width)?;
    report("setting up three servers");
    let mut parties = Parties::start(program)?;
    let mut limits = Limits::new(shape);
    let mut preprocessing =
        Phase::new("preprocessing", cost::preprocessing(shape), Work::preprocessing);
    let mut online = Phase::new("online", cost::online(shape), Work::online);
    let mut opening = Phase::new("opening", cost::opening(shape), Work::opening);
    let mut slots = Phase::new("slot-commitments", Cost::default(), Work::slot_commitments);
    for number in 0..u64::from(options.runs) {
        report(&format!("run {} of {}", number + 1, options.runs));
        let spec = BatchSpec { number, shape, inputs: Inputs::Stream };
        preprocessing.note(&parties.all(&Command::Prepare(spec))?, None)?;
        parties.all(&Command::Hold)?;
        let shuffled = parties.all(&Command::Shuffle)?;
        online.note(&shuffled, None)?;
        opening.note(&parties.all(&Command::Open(spec))?, Some(&shuffled))?;
        parties.all(&Command::Retire(spec))?;
        slots.note(&parties.all(&Command::CommitSlots(spec))?, None)?;
        limits.sample()?;
        limits.sample_slots();
    }
    Ok([preprocessing, online, opening, slots]
        .map(|phase| phase.measurement(shape, &limits))
        .into())
}
