//! `cargo xtask test`: every check and every test, in order.

use std::error::Error;
use std::fmt;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::builder::PossibleValuesParser;

use crate::postgres::{self, Postgres};
use crate::{fuzz, layers, mutants, shell, tidy, tools, web};

/// What `cargo xtask test` is asked to run.
#[derive(clap::Args)]
pub struct Options {
    /// Runs more seeds in the tests, asks for security advisories, and fuzzes every decoder.
    #[arg(long)]
    nightly: bool,
    /// Runs these steps only, in their usual order.
    #[arg(long, value_name = "STEP", num_args = 1.., value_parser = PossibleValuesParser::new(STEPS.map(|step| step.name)))]
    only: Vec<String>,
}

struct Step {
    name: &'static str,
    /// Whether it runs with `--nightly` only.
    nightly: bool,
    run: fn(&Options) -> Result<()>,
}

const fn step(name: &'static str, run: fn(&Options) -> Result<()>) -> Step {
    Step { name, nightly: false, run }
}

const fn nightly(name: &'static str, run: fn(&Options) -> Result<()>) -> Step {
    Step { name, nightly: true, run }
}

/// The steps: the quick ones first, and each after what it needs (the page needs the WASM).
const STEPS: [Step; 18] = [
    step("fmt", |_| shell::run(&mut shell::cargo(&["fmt", "--all", "--check"]))),
    step("layers", |_| layers::check()),
    step("tidy", |_| tidy::check()),
    step("deny", |_| deny(&["bans", "licenses", "sources"])),
    step("clippy", |_| {
        shell::run(&mut shell::cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]))
    }),
    step("test", test),
    step("doc", |_| {
        let mut doc = shell::cargo(&["doc", "--workspace", "--no-deps"]);
        shell::run(doc.env("RUSTDOCFLAGS", "--deny warnings"))
    }),
    step("wasm", |_| web::build_wasm()),
    step("web-install", |_| web::install()),
    step("web-schema", |_| web::build_schema()),
    step("web-check", |_| shell::run(&mut web::npm(&["run", "check"]))),
    step("web-build", |_| web::build()),
    step("web-test", |_| shell::run(&mut web::npm(&["run", "test", "--if-present"]))),
    step("e2e", browser_test),
    nightly("web-same", |_| web::build_again()),
    nightly("advisories", |_| advisories()),
    nightly("fuzz", |_| fuzz::run()),
    nightly("mutants", |_| mutants::run("")),
];

enum Outcome {
    Passed(Duration),
    Failed(Duration),
    Skipped(Skipped),
    NotRun,
}

/// Why a step could not be run, for a reason that lies outside the project: no failure, and no success either.
#[derive(Clone, Copy, Debug)]
pub struct Skipped(pub &'static str);

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Skipped {}

impl Options {
    fn wants(&self, step: &Step) -> bool {
        if self.only.is_empty() {
            self.nightly || !step.nightly
        } else {
            self.only.iter().any(|name| name == step.name)
        }
    }

    /// Tells tests that they may take their time.
    fn mark<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        if self.nightly { command.env("OSTRAKON_NIGHTLY", "1") } else { command }
    }
}

/// Runs the steps until one fails, and prints a table of what was run last.
///
/// # Errors
/// If a step fails; its output stands above the table.
pub fn run(options: &Options) -> Result<()> {
    let mut outcomes = Vec::new();
    let mut failure = None;
    for step in STEPS.iter().filter(|step| options.wants(step)) {
        if failure.is_some() {
            outcomes.push((step.name, Outcome::NotRun));
            continue;
        }
        let outcome = outcome_of(step, options);
        if let Outcome::Failed(_) = outcome {
            failure = Some(step.name);
        }
        outcomes.push((step.name, outcome));
    }
    print_table(&outcomes);
    match failure {
        None => Ok(()),
        Some(name) => bail!(
            "step {name} failed (its output is above); `cargo xtask test --only {name}` repeats it"
        ),
    }
}

fn outcome_of(step: &Step, options: &Options) -> Outcome {
    shell::progress(&format!("step {}", step.name));
    let start = now();
    let result = (step.run)(options);
    let taken = start.elapsed();
    let Err(error) = result else { return Outcome::Passed(taken) };
    if let Some(skipped) = error.downcast_ref::<Skipped>() {
        return Outcome::Skipped(*skipped);
    }
    shell::progress(&format!("step {} failed: {error:#}", step.name));
    Outcome::Failed(taken)
}

fn print_table(outcomes: &[(&str, Outcome)]) {
    println!();
    for (name, outcome) in outcomes {
        match outcome {
            Outcome::Passed(taken) => println!("{name:<12} passed {:>8.1} s", taken.as_secs_f64()),
            Outcome::Failed(taken) => println!("{name:<12} FAILED {:>8.1} s", taken.as_secs_f64()),
            Outcome::Skipped(reason) => println!("{name:<12} skipped: {reason}"),
            Outcome::NotRun => println!("{name:<12} not run"),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a step took is for the reader's eyes only")]
fn now() -> Instant {
    Instant::now()
}

fn deny(checks: &[&str]) -> Result<()> {
    shell::run(shell::program(tools::cargo_deny()?).args(["check"]).args(checks))
}

/// Advisories are asked for at night only: they change without any change of ours, and are fetched from elsewhere.
fn advisories() -> Result<()> {
    if shell::run(shell::program(tools::cargo_deny()?).args(["fetch", "db"])).is_err() {
        return Err(Skipped("the database of advisories cannot be reached").into());
    }
    deny(&["--disable-fetch", "advisories"])
}

/// Every test, with a PostgreSQL beside them for those of the store.
fn test(options: &Options) -> Result<()> {
    let postgres = Postgres::start()?;
    let mut test = shell::cargo(&["test", "--workspace"]);
    shell::run(options.mark(test.env(postgres::VARIABLE, postgres.url())))
}

/// Runs the page in real browsers against real servers.
fn browser_test(options: &Options) -> Result<()> {
    let chromium = tools::chromium()?;
    // With the tests, whose choice of features then holds: alone, the programs would be compiled once more.
    shell::run(&mut shell::cargo(&["build", "--workspace", "--bins", "--tests"]))?;
    let mut test = web::npm(&["run", "e2e"]);
    test.env("CHROMIUM", chromium).env("OSTRAKON", shell::root().join("target/debug/ostrakon"));
    shell::run(options.mark(&mut test))
}
