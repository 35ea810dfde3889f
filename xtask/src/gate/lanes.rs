//! Steps that run side by side: one after the other within a lane, all lanes at once.
//!
//! What a step prints goes into a file of its own, `target/gate/STEP.log`, and is shown when the
//! step fails: several lanes on one terminal would be unreadable.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::setpriority_process;

use super::record::Record;
use super::step::{Depth, Lane, Skipped, Step};
use crate::shell;

/// The "nice" value of what gives way, also to members of committees, whose own is 10.
const LOW_PRIORITY: i32 = 15;

/// What came of a step.
pub enum Outcome {
    Passed(Duration),
    Failed(Duration),
    /// It had passed before, on the same sources.
    Before,
    Skipped(Skipped),
    NotRun,
}

/// What came of all steps.
pub struct Report<'a> {
    /// In the order in which the steps are listed.
    pub outcomes: Vec<(&'a Step, Outcome)>,
    /// Lines in which the runners of tests counted them.
    pub summaries: Vec<String>,
    /// From the first step's beginning to the last one's end.
    pub taken: Duration,
}

impl Report<'_> {
    /// The first step that failed.
    pub fn failed(&self) -> Option<&'static str> {
        let failed = |outcome: &Outcome| matches!(outcome, Outcome::Failed(_));
        self.outcomes.iter().find(|(_, outcome)| failed(outcome)).map(|(step, _)| step.name)
    }

    /// Steps that took more than twice what they may.
    pub fn past_twice_their_budget(&self, cold: bool) -> Vec<&'static str> {
        let late = |step: &Step, outcome: &Outcome| match outcome {
            Outcome::Passed(taken) => step.budget.is_far_exceeded(*taken, cold),
            _ => false,
        };
        let late = self.outcomes.iter().filter(|(step, outcome)| late(step, outcome));
        late.map(|(step, _)| step.name).collect()
    }
}

/// What the lanes know of each other.
struct Board<'a> {
    state: Mutex<State<'a>>,
    changed: Condvar,
}

struct State<'a> {
    outcomes: Vec<(&'a Step, Option<Outcome>)>,
    record: Option<Record>,
    failed: bool,
}

impl<'a> Board<'a> {
    fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, step: &Step, outcome: Outcome) -> Result<()> {
        let mut state = self.state();
        match &outcome {
            Outcome::Failed(_) => state.failed = true,
            Outcome::Passed(_) => {
                if let Some(record) = &mut state.record {
                    record.add(step.name)?;
                }
            }
            _ => {}
        }
        let mut entries = state.outcomes.iter_mut();
        if let Some((_, entry)) = entries.find(|(other, _)| other.name == step.name) {
            *entry = Some(outcome);
        }
        self.changed.notify_all();
        Ok(())
    }

    /// Waits for the steps that this one needs, those of them that are run at all; whether it can
    /// be run then.
    fn may_run(&self, step: &Step) -> bool {
        let waits = |state: &mut State<'_>| {
            let mut needed = state.outcomes.iter().filter(|(s, _)| step.after.contains(&s.name));
            !state.failed && needed.any(|(_, outcome)| outcome.is_none())
        };
        let state = self.changed.wait_while(self.state(), waits);
        !state.unwrap_or_else(PoisonError::into_inner).failed
    }
}

/// Runs the steps, until one fails.
///
/// # Errors
/// If their logs or the record of a nightly run cannot be written; what steps come to is in the
/// report.
pub fn run<'a>(steps: &[&'a Step], depth: Depth, record: Option<Record>) -> Result<Report<'a>> {
    let logs = shell::root().join("target/gate");
    fs::create_dir_all(&logs).with_context(|| format!("{} cannot be made", logs.display()))?;
    let outcomes = steps.iter().map(|step| (*step, None)).collect();
    let board = Board {
        state: Mutex::new(State { outcomes, record, failed: false }),
        changed: Condvar::new(),
    };
    let start = now();
    std::thread::scope(|scope| {
        let lanes = [Lane::Rust, Lane::Web, Lane::Checks].map(|lane| {
            let (board, logs) = (&board, logs.as_path());
            scope.spawn(move || run_lane(lane, steps, board, logs, depth))
        });
        lanes.into_iter().try_for_each(|lane| lane.join().expect("a lane does not panic"))
    })?;
    let state = board.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    let outcomes: Vec<_> = state
        .outcomes
        .into_iter()
        .map(|(step, outcome)| (step, outcome.unwrap_or(Outcome::NotRun)))
        .collect();
    let summaries = outcomes.iter().flat_map(|(step, _)| summaries(&log_of(&logs, step))).collect();
    Ok(Report { outcomes, summaries, taken: start.elapsed() })
}

fn run_lane(
    lane: Lane,
    steps: &[&Step],
    board: &Board<'_>,
    logs: &Path,
    depth: Depth,
) -> Result<()> {
    if lane == Lane::Checks {
        // Of this thread, and so of what it starts.
        setpriority_process(None, LOW_PRIORITY).context("no lower priority is to be had")?;
    }
    for step in steps.iter().filter(|step| step.lane == lane) {
        let log = log_of(logs, step);
        // What an earlier run has left is not this one's.
        drop(fs::remove_file(&log));
        if board.state().record.as_ref().is_some_and(|record| record.has(step.name)) {
            board.settle(step, Outcome::Before)?;
        } else if board.may_run(step) {
            board.settle(step, outcome_of(step, &log, depth)?)?;
        } else {
            board.settle(step, Outcome::NotRun)?;
        }
    }
    Ok(())
}

fn outcome_of(step: &Step, log: &Path, depth: Depth) -> Result<Outcome> {
    shell::progress(&format!("{} …", step.name));
    let start = now();
    let result = shell::logging_to(log, || (step.run)(depth))?;
    let taken = start.elapsed();
    let Err(error) = result else {
        shell::progress(&format!("{} passed ({:.1} s)", step.name, taken.as_secs_f64()));
        return Ok(Outcome::Passed(taken));
    };
    if let Some(skipped) = error.downcast_ref::<Skipped>() {
        return Ok(Outcome::Skipped(*skipped));
    }
    let text = fs::read_to_string(log).unwrap_or_default();
    shell::progress(&format!("{} failed: {error:#}\n{text}", step.name));
    shell::progress(&format!("{} failed; its output is above and in {}", step.name, log.display()));
    Ok(Outcome::Failed(taken))
}

fn log_of(logs: &Path, step: &Step) -> PathBuf {
    logs.join(format!("{}.log", step.name))
}

/// The lines in which the runners of tests say how many they ran.
fn summaries(log: &Path) -> Vec<String> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let counts = |line: &&str| {
        line.contains(" tests run: ") || (line.contains("Tests ") && line.contains(" passed"))
    };
    text.lines().filter(counts).map(|line| line.trim().to_owned()).collect()
}

#[expect(clippy::disallowed_methods, reason = "how long a step took is for the reader's eyes only")]
fn now() -> Instant {
    Instant::now()
}
