//! `cargo xtask simulate`: many seeds of the simulation, in portions, so that a run that was
//! stopped goes on where it was.

use anyhow::Result;

use crate::gate::record::Record;
use crate::shell;

/// What is simulated: a name, and a part of its test's name.
const PARTS: [(&str, &str); 3] = [
    ("rooms", "whatever_happens_every_message"),
    ("decisions", "who_answers_is_counted_once"),
    ("jobs", "a_job_is_the_same_at_two_to_seven"),
];

/// How much is simulated.
#[derive(clap::Args)]
pub struct Options {
    /// How many seeds of each part.
    seeds: u64,
    /// The first one.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Seeds of a portion, which is repeated if it was stopped in the middle.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    portion: u64,
    /// These parts only; all unless given.
    #[arg(long, value_parser = PARTS.map(|(name, _)| name))]
    only: Vec<String>,
    /// Compiled for speed, without the checks of a debug build.
    #[arg(long)]
    release: bool,
}

/// Runs the seeds, but for portions that have passed before on the sources as they are.
///
/// # Errors
/// If a seed fails, which is named; or the simulation does not compile.
pub fn run(options: &Options) -> Result<()> {
    let mut record = Record::open(false)?;
    let wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|one| one == name);
    for (name, test) in PARTS.into_iter().filter(|(name, _)| wanted(name)) {
        let end = options.from.saturating_add(options.seeds);
        let mut from = options.from;
        while from < end {
            let count = options.portion.min(end - from);
            let portion = format!("simulate {name} {from} {count} {}", options.release);
            if !record.has(&portion) {
                shell::run(&mut simulation(options.release, test, (from, count)))?;
                record.add(&portion)?;
                shell::progress(&format!("{name}: {count} seeds from {from} on have passed"));
            }
            from += count;
        }
        shell::progress(&format!(
            "{name}: {} seeds from {}, 0 failures",
            options.seeds, options.from
        ));
    }
    Ok(())
}

fn simulation(release: bool, test: &str, (from, count): (u64, u64)) -> std::process::Command {
    let mut command = shell::cargo(&["test", "--quiet", "--workspace", "--test", "simulation"]);
    if release {
        command.arg("--release");
    }
    command.args([test, "--", "--nocapture"]);
    command.env("OSTRAKON_FROM", from.to_string()).env("OSTRAKON_SEEDS", count.to_string());
    command
}
