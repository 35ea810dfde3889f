//! What a step of the gate is.

use std::error::Error;
use std::fmt;
use std::process::Command;

use anyhow::Result;

use super::budget::Budget;

/// Which steps run one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// What cargo compiles and tests.
    Rust,
    /// The page, up to the browsers.
    Web,
    /// What only computes, and gives way to the others: tests that wait leave it the processors.
    Checks,
}

/// How much is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// What every change must pass.
    Usual,
    /// More seeds, and what takes hours.
    Nightly,
}

impl Depth {
    /// Tells tests that they may take their time, if they may.
    pub fn mark(self, command: &mut Command) -> &mut Command {
        match self {
            Depth::Usual => command,
            Depth::Nightly => command.env("OSTRAKON_NIGHTLY", "1"),
        }
    }
}

/// A step of the gate.
pub struct Step {
    /// By which it is asked for.
    pub name: &'static str,
    /// Beside which steps it may run.
    pub lane: Lane,
    /// Whether it runs with `--nightly` only.
    pub nightly: bool,
    /// How long it may take.
    pub budget: Budget,
    /// Steps of other lanes that it needs the results of.
    pub after: &'static [&'static str],
    /// Does it.
    pub run: fn(Depth) -> Result<()>,
}

/// A step of every run.
pub const fn step(
    lane: Lane,
    name: &'static str,
    budget: Budget,
    run: fn(Depth) -> Result<()>,
) -> Step {
    Step { name, lane, nightly: false, budget, after: &[], run }
}

/// A step of nightly runs, in the lane of Rust.
pub const fn nightly(name: &'static str, budget: Budget, run: fn(Depth) -> Result<()>) -> Step {
    Step { name, lane: Lane::Rust, nightly: true, budget, after: &[], run }
}

impl Step {
    /// The same step, which waits for these of other lanes.
    pub const fn after(self, after: &'static [&'static str]) -> Self {
        Self { after, ..self }
    }
}

/// Why a step could not be run, for a reason that lies outside the project: no failure, and no
/// success either.
#[derive(Clone, Copy, Debug)]
pub struct Skipped(pub &'static str);

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Skipped {}
