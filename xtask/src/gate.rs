//! `cargo xtask test`: every check and every test.
//!
//! Three lanes run side by side: one for Rust, one for the page, and one for what only computes and
//! gives way to both. Within a lane the quick steps come first. Every step has a budget, which is
//! printed beside what it took; on a quiet machine a step that takes more than twice its budget
//! fails the gate.

mod budget;
mod inner;
mod lanes;
mod night;
pub mod record;
mod step;

use anyhow::{Result, bail};
use clap::builder::PossibleValuesParser;

use self::budget::Budget;
use self::lanes::{Outcome, Report};
use self::record::Record;
use self::step::{Depth, Lane, Step, nightly, step};
use crate::postgres::{self, Postgres};
use crate::{fuzz, layers, mutants, picture, shell, tidy, tools, web};

pub use self::inner::package;
pub use self::step::Skipped;

/// What `cargo xtask test` is asked to run.
#[derive(clap::Args)]
pub struct Options {
    /// Checks and tests these crates only (`net`, or `ostrakon-net`): the inner loop of working on
    /// them.
    #[arg(value_name = "CRATE", conflicts_with_all = ["nightly", "only"])]
    crates: Vec<String>,
    /// Runs everything: more seeds, all planted defects, security advisories, and fuzzing of every
    /// decoder. A run that was stopped goes on where it was if nothing has changed since.
    #[arg(long)]
    nightly: bool,
    /// Begins a nightly run anew, even if an earlier one could be gone on with.
    #[arg(long, requires = "nightly")]
    fresh: bool,
    /// Runs these steps only, in their usual order.
    #[arg(long, value_name = "STEP", num_args = 1.., value_parser = PossibleValuesParser::new(STEPS.map(|step| step.name)))]
    only: Vec<String>,
}

/// The steps of all lanes. Budgets are seconds on two cores, with the other lanes beside.
const STEPS: [Step; 22] = [
    step(Lane::Rust, "fmt", Budget::of(10), |_| {
        shell::run(&mut shell::cargo(&["fmt", "--all", "--check"]))
    }),
    step(Lane::Rust, "layers", Budget::of(10), |_| {
        layers::check()?;
        picture::check()
    }),
    step(Lane::Rust, "tidy", Budget::of(10), |_| tidy::check()),
    step(Lane::Rust, "build", Budget::cold(90, 650), |_| build()),
    step(Lane::Rust, "test", Budget::cold(520, 640), test),
    step(Lane::Rust, "doctest", Budget::cold(30, 90), |_| doctest()),
    step(Lane::Web, "web-install", Budget::cold(10, 90), |_| web::install()),
    step(Lane::Web, "web-format", Budget::of(60), |_| {
        shell::run(&mut web::npm(&["run", "format:check"]))
    }),
    step(Lane::Web, "wasm", Budget::cold(60, 300), |_| web::build_wasm()),
    step(Lane::Web, "web-schema", Budget::of(40), |_| web::build_schema()).after(&["build"]),
    step(Lane::Web, "web-check", Budget::cold(60, 200), |_| {
        shell::run(&mut web::npm(&["run", "check"]))
    }),
    step(Lane::Web, "web-test", Budget::of(80), |_| shell::run(&mut web::npm(&["run", "test"]))),
    step(Lane::Web, "web-build", Budget::of(30), |_| web::build()),
    step(Lane::Web, "e2e", Budget::of(350), browser_test).after(&["build"]),
    // How long these take depends on what others leave them. First what has a target folder of its
    // own: cargo would have the tests wait for the others.
    step(Lane::Checks, "planted", Budget::cold(600, 900), |_| mutants::run_drawn())
        .after(&["build"]),
    step(Lane::Checks, "clippy", Budget::cold(240, 500), |_| {
        let arguments = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
        shell::run(&mut shell::cargo(&arguments))
    }),
    step(Lane::Checks, "doc", Budget::cold(240, 400), |_| {
        let mut doc = shell::cargo(&["doc", "--workspace", "--no-deps"]);
        shell::run(doc.env("RUSTDOCFLAGS", "--deny warnings"))
    }),
    step(Lane::Checks, "deny", Budget::cold(60, 300), |_| deny(&["bans", "licenses", "sources"])),
    nightly("web-same", Budget::of(240), |_| web::build_again()).after(&["e2e"]),
    nightly("advisories", Budget::of(30), |_| advisories()),
    nightly("fuzz", Budget::of(3000), |_| fuzz::run()),
    nightly("mutants", Budget::of(3000), |_| mutants::run("")),
];

impl Options {
    fn wants(&self, step: &Step) -> bool {
        if self.only.is_empty() {
            self.nightly || !step.nightly
        } else {
            self.only.iter().any(|name| name == step.name)
        }
    }

    fn depth(&self) -> Depth {
        if self.nightly { Depth::Nightly } else { Depth::Usual }
    }
}

/// Runs the steps until one fails, and prints a table of what was run last.
///
/// # Errors
/// If a step fails, or takes more than twice its budget on a quiet machine.
pub fn run(options: &Options) -> Result<()> {
    if !options.crates.is_empty() {
        return inner::run(&options.crates);
    }
    let steps: Vec<_> = STEPS.iter().filter(|step| options.wants(step)).collect();
    let machine = budget::Machine::look();
    let record = if options.nightly { Some(Record::open(options.fresh)?) } else { None };
    let report = lanes::run(&steps, options.depth(), record)?;
    let quiet = machine.was_quiet();
    print(&report, machine.cold, quiet);
    if let Some(name) = report.failed() {
        bail!("step {name} failed; `cargo xtask test --only {name}` repeats it");
    }
    let late = report.past_twice_their_budget(machine.cold);
    if quiet && !late.is_empty() {
        bail!("past twice their budget on a quiet machine: {}", late.join(", "));
    }
    Ok(())
}

fn print(report: &Report, cold: bool, quiet: bool) {
    println!();
    println!("{:<12} {:<8} {:>8} {:>8}", "step", "", "seconds", "budget");
    for (step, outcome) in &report.outcomes {
        let budget = step.budget.seconds(cold);
        let taken = |word: &str, taken: f64| {
            println!("{:<12} {word:<8} {taken:>8.1} {budget:>8}", step.name);
        };
        match outcome {
            Outcome::Passed(time) => taken("passed", time.as_secs_f64()),
            Outcome::Failed(time) => taken("FAILED", time.as_secs_f64()),
            Outcome::Before => {
                println!("{:<12} passed in the run that this one goes on", step.name)
            }
            Outcome::Skipped(reason) => println!("{:<12} skipped: {reason}", step.name),
            Outcome::NotRun => println!("{:<12} not run", step.name),
        }
    }
    let start = if cold { "from nothing compiled" } else { "from a warm tree" };
    let company = if quiet { "alone on the machine" } else { "with others on the machine" };
    println!("{:.0} s in all, {start}, {company}", report.taken.as_secs_f64());
    for line in &report.summaries {
        println!("{line}");
    }
}

fn deny(checks: &[&str]) -> Result<()> {
    shell::run(shell::program(tools::cargo_deny()?).args(["check"]).args(checks))
}

/// Advisories are asked for at night only: they change without any change of ours, and are fetched
/// from elsewhere.
fn advisories() -> Result<()> {
    if shell::run(shell::program(tools::cargo_deny()?).args(["fetch", "db"])).is_err() {
        return Err(Skipped("the database of advisories cannot be reached").into());
    }
    deny(&["--disable-fetch", "advisories"])
}

/// Compiles everything that later steps run, with one choice of features for all of it. Examples
/// that nothing runs are compiled by clippy only.
fn build() -> Result<()> {
    let run = ["--bins", "--tests", "--example", "openapi"];
    shell::run(shell::cargo(&["build", "--workspace"]).args(run))
}

/// Every test, with a PostgreSQL beside them for those of the store.
fn test(depth: Depth) -> Result<()> {
    let postgres = Postgres::start()?;
    if depth == Depth::Nightly {
        return night::test(&postgres);
    }
    let mut test = shell::program(tools::cargo_nextest()?);
    test.args(["nextest", "run", "--workspace", "--tests"]);
    shell::run(test.env(postgres::VARIABLE, postgres.url()))
}

/// Runs the examples in the libraries' documentation, if there are any: to find none, the compiler
/// would read every crate once more.
fn doctest() -> Result<()> {
    let mut grep = shell::program("git");
    grep.args(["grep", "--quiet", "--untracked", "-E", "^ *//[/!] *(```|~~~)"]);
    let found = grep.args(["--", "crates/*/src/*.rs"]).status()?;
    match found.code() {
        Some(0) => shell::run(&mut shell::cargo(&["test", "--workspace", "--doc", "--quiet"])),
        Some(1) => Ok(()),
        _ => bail!("git cannot look for examples ({found})"),
    }
}

/// Runs the page in real browsers against real servers.
fn browser_test(depth: Depth) -> Result<()> {
    let chromium = tools::chromium()?;
    let mut test = web::npm(&["run", "e2e"]);
    test.env("CHROMIUM", chromium).env("OSTRAKON", shell::root().join("target/debug/ostrakon"));
    shell::run(depth.mark(&mut test))
}
