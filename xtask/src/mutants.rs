//! Deliberate defects that tests must find: each is planted in a copy of the sources, and the
//! simulation is run on it, or the test that is there for it, of the simulation or of a crate.
//!
//! A rule that no run can break is no test of anything. Each defect here breaks a promise of
//! ARCHITECTURE.md or of the specifications in a way that somebody could break it by accident, and
//! names the number of seeds within which a run must fail. The copy has objects of its own: cargo
//! would take what is built of it for the sources' own. It begins with those of the sources, so
//! that only what a defect changes is compiled. Whether each defect still fits the sources is
//! checked by `tidy`; whether it is found is a step of the nightly run, and of every run of the
//! gate for some of them, which the commit draws (`docs/simulation.md`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::gate::package;
use crate::gate::record::Record;
use crate::shell;

mod clarion;
mod copy;
mod directed;
mod graphs;
mod ledger;
mod mixing;
mod rooms;
mod statistics;
mod tested;

use clarion::CLARION;
use copy::Copy;
use directed::DIRECTED;
use graphs::GRAPHS;
use ledger::LEDGER;
use mixing::MIXING;
use rooms::ROOMS;
use statistics::STATISTICS;
use tested::TESTED;

/// The package that the simulation is a test of.
const SIMULATED: &str = "ostrakon-node";

/// So many defects are planted in every run of the gate.
const DRAWN: usize = 2;

/// Packages whose defects the gate draws if they are in the package itself: hardly more than that
/// and one program of tests is compiled for them. A defect of the service costs ten times as much.
const QUICK: [&str; 5] = [
    "ostrakon-additive",
    "ostrakon-agreement",
    "ostrakon-asynchromix",
    "ostrakon-authbits",
    "ostrakon-robust",
];

/// So many defects are planted in a copy that begins with what is compiled of the sources. For more
/// of them it pays to compile everything once in a way in which a change costs less.
const FEW: usize = 3;

/// Seconds that tests of a defect may take.
const LONGEST: u32 = 600;
/// What `timeout` (GNU coreutils) then ends with.
const ENDED: i32 = 124;

/// A defect.
struct Mutant {
    name: &'static str,
    /// The simulation must find it within so many seeds, from 0 on.
    seeds: u32,
    edits: &'static [Edit],
}

/// What is written in place of what. It stands once in the file.
struct Edit {
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

/// A defect that a test of the simulation is there for, which lets happen what brings it to light.
struct Directed {
    name: &'static str,
    /// The test, or what the names of several have in common.
    test: &'static str,
    edits: &'static [Edit],
}

/// A defect that a test of one crate must find.
struct Tested {
    name: &'static str,
    /// The crate's package.
    package: &'static str,
    /// The program of the package's tests that has it; if none, it is among the library's own.
    suite: Option<&'static str>,
    /// The test, or what the names of several have in common.
    test: &'static str,
    edits: &'static [Edit],
}

const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "an announcement stands with one echo",
        seeds: 100,
        edits: &[Edit {
            file: "crates/node/src/ledger/agree.rs",
            from: "let receivers = core.party.peers().filter(|peer| *peer != author);",
            to: "let receivers = core.party.peers().filter(|peer| *peer != author).take(1);",
        }],
    },
    Mutant {
        name: "acknowledge before it is written down",
        seeds: 100,
        edits: &[Edit {
            file: "crates/node/src/intake.rs",
            from: "        match store.take_in(&intakes).await {
            Ok(taken) => {
                note(&intakes, &taken);
                for (reply, taken) in replies.into_iter().zip(taken) {
                    drop(reply.send(Ok(taken)));
                }
            }",
            to: "        let replies: Vec<oneshot::Sender<Result<Taken, ServiceError>>> = {
            replies.into_iter().for_each(|reply| drop(reply.send(Ok(Taken::Recorded))));
            Vec::new()
        };
        match store.take_in(&intakes).await {
            Ok(taken) => note(&intakes, &taken),",
        }],
    },
    Mutant {
        name: "the outbox forgets what it put under a mask",
        seeds: 100,
        edits: &[Edit {
            file: "crates/broadcast/src/outbox.rs",
            from: "            Some((latest, put)) if number == latest => return Some(self.as_put(number, put)),\n",
            to: "",
        }],
    },
    Mutant {
        name: "one batch serves two epochs",
        seeds: 20,
        edits: &[
            Edit {
                file: "crates/node/src/state/batches.rs",
                from: "        !self.used && self.dropped.is_empty()",
                to: "        self.dropped.is_empty()",
            },
            Edit {
                file: "crates/node/src/state/mod.rs",
                from: "        if info.used || !info.is_ready_by(after)",
                to: "        if !info.is_ready_by(after)",
            },
        ],
    },
    Mutant {
        name: "a batch is prepared again after a restart",
        seeds: 100,
        edits: &[Edit {
            file: "crates/node/src/recovery.rs",
            from: "    } else if let Some(body) = unfinished(row, core.me(), core.trusts.parties()) {",
            to: "    } else if row.state == BatchState::Planned {
        core.dispatch(vec![crate::state::Effect::Prepare(row.number)]);
    } else if let Some(body) = unfinished(row, core.me(), core.trusts.parties()) {",
        }],
    },
    Mutant {
        name: "an invitation is claimed twice",
        seeds: 200,
        edits: &[Edit {
            file: "crates/broadcast/src/hosting/members.rs",
            from: "        if known.claimed.is_some() {",
            to: "        if known.claimed.is_some() && false {",
        }],
    },
    Mutant {
        name: "anybody acts in a host's name",
        seeds: 200,
        edits: &[Edit {
            file: "crates/broadcast/src/hosting/log.rs",
            from: "        if !action.author.verifies(&digest, &signed.signature) {",
            to: "        if !action.author.verifies(&digest, &signed.signature) && false {",
        }],
    },
    Mutant {
        name: "a vote counts twice",
        seeds: 50,
        edits: &[Edit {
            file: "crates/broadcast/src/hosting/poll.rs",
            from: "tally.votes[usize::from(*index)] += 1",
            to: "tally.votes[usize::from(*index)] += 2",
        }],
    },
];

/// Any of them.
#[derive(Clone, Copy)]
enum Defect {
    /// Seeds of the simulation find it.
    Drawn(&'static Mutant),
    /// A test of the simulation finds it.
    Directed(&'static Directed),
    /// A test of a crate finds it.
    Tested(&'static Tested),
}

impl Defect {
    fn name(self) -> &'static str {
        match self {
            Self::Drawn(defect) => defect.name,
            Self::Directed(defect) => defect.name,
            Self::Tested(defect) => defect.name,
        }
    }

    /// The package whose tests find it.
    fn package(self) -> &'static str {
        match self {
            Self::Drawn(_) | Self::Directed(_) => SIMULATED,
            Self::Tested(defect) => defect.package,
        }
    }

    fn edits(self) -> &'static [Edit] {
        match self {
            Self::Drawn(defect) => defect.edits,
            Self::Directed(defect) => defect.edits,
            Self::Tested(defect) => defect.edits,
        }
    }

    /// Whether the gate has time for it.
    fn is_quick(self) -> bool {
        match self {
            Self::Drawn(_) | Self::Directed(_) => false,
            Self::Tested(Tested { suite, package, edits, .. }) => {
                let own = package.replace("ostrakon-", "crates/");
                let is_own = |edit: &Edit| Path::new(edit.file).starts_with(&own);
                suite.is_some() && QUICK.contains(package) && edits.iter().all(is_own)
            }
        }
    }

    /// Plants it in the copy and says by what it was found, or nothing if it was not.
    fn find(self, copy: &Copy) -> Result<Option<String>> {
        copy.plant(&planted(shell::root(), self.name(), self.edits())?)?;
        shell::progress(&format!("{}: building", self.name()));
        match self {
            Self::Drawn(defect) => find_by_seeds(copy, defect.seeds),
            Self::Directed(defect) => {
                find_by_test(copy, &["--workspace", "--test", "simulation"], defect.test)
            }
            Self::Tested(Tested { suite: Some(suite), test, .. }) => {
                // As one of all, so that what it needs has the features with which it is compiled.
                find_by_test(copy, &["--workspace", "--test", suite], test)
            }
            Self::Tested(Tested { package, test, .. }) => {
                find_by_test(copy, &["--package", package, "--lib"], test)
            }
        }
    }
}

/// All defects. Those of one crate's tests stand together: less is compiled from one to the next.
fn all() -> Vec<Defect> {
    let lists = [TESTED, LEDGER, MIXING, ROOMS, CLARION, GRAPHS, STATISTICS];
    let mut tested: Vec<&Tested> = lists.into_iter().flatten().collect();
    tested.sort_by_key(|defect| defect.package);
    let directed = DIRECTED.iter().map(Defect::Directed);
    let drawn = MUTANTS.iter().map(Defect::Drawn);
    tested.into_iter().map(Defect::Tested).chain(directed).chain(drawn).collect()
}

/// Plants one defect after the other, of those whose names contain `name` or that tests of the
/// crate `name` find, and sees to it that each is found. Of many, those that were found before in
/// the sources as they are have been noted, and are not planted again.
///
/// # Errors
/// If one is not found, or cannot be planted or built; the others are tried all the same.
pub fn run(name: &str) -> Result<()> {
    let package = package(name).ok();
    let wanted = |defect: &Defect| {
        defect.name().contains(name) || package.as_deref() == Some(defect.package())
    };
    let chosen: Vec<_> = all().into_iter().filter(wanted).collect();
    ensure!(
        !chosen.is_empty(),
        "no defect's name contains `{name}`, and no crate's tests find one"
    );
    if chosen.len() > FEW {
        find_each(&Copy::for_many()?, &chosen, Some(Record::open(false)?))
    } else {
        find_each(&Copy::for_few()?, &chosen, None)
    }
}

/// Plants some defects, which the last commit draws from those that are compiled quickly: over many
/// commits each of these has its turn. The others have it at night.
///
/// # Errors
/// As [`run`].
pub fn run_drawn() -> Result<()> {
    let commit = shell::output(shell::program("git").args(["rev-parse", "HEAD"]))?;
    let commit = String::from_utf8(commit)?;
    let digits = commit.get(..8).context("a commit has a name")?;
    let number = usize::from_str_radix(digits, 16).context("it is hexadecimal")?;
    let quick: Vec<_> = all().into_iter().filter(|defect| defect.is_quick()).collect();
    // Of one crate, as a rule, since those of one stand together: what the first one was planted in
    // is compiled anew for the second one.
    let place = |turn: usize| (number + turn) % quick.len();
    let drawn: Vec<_> = (0..DRAWN).map(|turn| quick[place(turn)]).collect();
    find_each(&Copy::for_few()?, &drawn, None)
}

fn find_each(copy: &Copy, defects: &[Defect], mut record: Option<Record>) -> Result<()> {
    let mut failed = Vec::new();
    for (number, defect) in defects.iter().enumerate() {
        let entry = format!("planted: {}", defect.name());
        if record.as_ref().is_some_and(|record| record.has(&entry)) {
            continue;
        }
        match defect.find(copy) {
            Ok(Some(by)) => {
                let place = format!("{}/{}", number + 1, defects.len());
                shell::progress(&format!("{place} {}: found {by}", defect.name()));
                if let Some(record) = &mut record {
                    record.add(&entry)?;
                }
            }
            Ok(None) => {
                shell::progress(&format!("{}: NOT FOUND", defect.name()));
                failed.push(format!("{} is not found", defect.name()));
            }
            Err(error) => failed.push(format!("{}: {error:#}", defect.name())),
        }
    }
    ensure!(failed.is_empty(), "of the planted defects:\n{}", failed.join("\n"));
    Ok(())
}

/// Whether a test of these targets fails. That it cannot be run is no proof of anything.
fn find_by_test(copy: &Copy, targets: &[&str], test: &str) -> Result<Option<String>> {
    let cargo = || copy.cargo_test(targets);
    shell::run(cargo().arg("--no-run"))?;
    let output = ending(cargo().args(["--", test])).output().context("cargo cannot be started")?;
    ensure!(output.status.code() != Some(ENDED), "{test} had not ended after {LONGEST} s");
    let text = String::from_utf8_lossy(&output.stdout);
    let failed = !output.status.success() && text.contains("test result: FAILED");
    Ok(failed.then(|| format!("by {test}")))
}

/// Whether one of so many seeds of the simulation fails.
fn find_by_seeds(copy: &Copy, seeds: u32) -> Result<Option<String>> {
    let cargo = || copy.cargo_test(&["--workspace", "--test", "simulation"]);
    shell::run(cargo().arg("--no-run"))?;
    let mut run = cargo();
    run.args(["--", "whatever"])
        .env("OSTRAKON_SEEDS", seeds.to_string())
        .env("OSTRAKON_FAILURES", "1");
    let output = ending(&run).output().context("cargo cannot be started")?;
    ensure!(output.status.code() != Some(ENDED), "the seeds had not ended after {LONGEST} s");
    let text = String::from_utf8_lossy(&output.stdout);
    let found = text.lines().find(|line| line.contains("these seeds fail"));
    Ok(found.filter(|_| !output.status.success()).map(|line| format!("by {}", line.trim())))
}

/// The same, ended with all that it has started if it takes too long: a defect may have a test wait
/// for ever.
fn ending(command: &Command) -> Command {
    let mut timeout = shell::program("timeout");
    timeout.arg(LONGEST.to_string()).arg(command.get_program()).args(command.get_args());
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => timeout.env(key, value),
            None => timeout.env_remove(key),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        timeout.current_dir(folder);
    }
    timeout
}

/// What keeps defects from being planted in the sources as they are: nothing, or somebody changed
/// a line that a defect replaces.
pub fn unfitting() -> Vec<String> {
    let fit = |defect: Defect| planted(shell::root(), defect.name(), defect.edits()).err();
    all().into_iter().filter_map(fit).map(|error| format!("{error:#}")).collect()
}

/// The files that a defect changes, by their names in the sources, with what they then hold.
fn planted(root: &Path, name: &str, edits: &[Edit]) -> Result<BTreeMap<PathBuf, String>> {
    let mut changed = BTreeMap::new();
    for edit in edits {
        let path = PathBuf::from(edit.file);
        let text = match changed.remove(&path) {
            Some(text) => text,
            None => fs::read_to_string(root.join(&path))
                .with_context(|| format!("{} cannot be read", path.display()))?,
        };
        if text.matches(edit.from).count() != 1 {
            bail!(
                "{}: {} does not hold once what is to be replaced:\n{}",
                name,
                edit.file,
                edit.from
            );
        }
        changed.insert(path, text.replacen(edit.from, edit.to, 1));
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_defect_may_change_several_lines_of_a_file() {
        let root = std::env::temp_dir().join(format!("ostrakon-planted-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join("a.rs"), "one two three").unwrap();
        let edit = |from, to| Edit { file: "a.rs", from, to };
        let changed = planted(&root, "", &[edit("one", "1"), edit("three", "3")]);
        let twice = planted(&root, "", &[edit("one", "1"), edit("one", "2")]);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(changed.unwrap().into_values().collect::<Vec<_>>(), ["1 two 3"]);
        assert!(twice.is_err());
    }

    #[test]
    fn a_defect_that_does_not_fit_the_sources_is_told() {
        let edit = Edit { file: "xtask/src/main.rs", from: "no such line", to: "" };
        let error = planted(shell::root(), "a name", &[edit]).unwrap_err();
        assert!(error.to_string().starts_with("a name: xtask/src/main.rs does not hold once"));
    }
}
