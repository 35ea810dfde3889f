//! Deliberate defects that tests must find: each is planted in a copy of the sources, and the
//! simulation is run on it, or the test that is there for it, of the simulation or of a crate.
//!
//! A rule that no run can break is no test of anything. Each defect here breaks a promise of
//! ARCHITECTURE.md or of the specifications in a way that somebody could break it by accident, and
//! names the number of seeds within which a run must fail. The copy has objects of its own: cargo
//! would take what is built of it for the sources' own. It begins with those of the sources, so
//! that only what a defect changes is compiled. Whether each defect still fits the sources is
//! checked by `tidy`; whether it is found is a step of the nightly run, and of every run of the
//! gate for one of them, which the commit draws (`docs/simulation.md`).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::shell;

mod clarion;
mod directed;
mod graphs;
mod ledger;
mod mixing;
mod rooms;
mod statistics;
mod tested;

use clarion::CLARION;
use directed::DIRECTED;
use graphs::GRAPHS;
use ledger::LEDGER;
use mixing::MIXING;
use rooms::ROOMS;
use statistics::STATISTICS;
use tested::TESTED;

/// The gate has time for so many seeds, and such a defect is found long before they are over.
const QUICK_SEEDS: u32 = 50;

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

/// Plants one defect after the other, of those whose names contain `name`, and sees to it that each
/// is found.
///
/// # Errors
/// If one is not found within its seeds, or cannot be planted or built.
pub fn run(name: &str) -> Result<()> {
    let chosen: Vec<_> = MUTANTS.iter().filter(|mutant| mutant.name.contains(name)).collect();
    let tested: Vec<_> = tests().filter(|tested| tested.name.contains(name)).collect();
    let directed: Vec<_> = DIRECTED.iter().filter(|defect| defect.name.contains(name)).collect();
    let count = chosen.len() + tested.len() + directed.len();
    ensure!(count > 0, "no defect's name contains `{name}`");
    begin()?;
    find_by_tests(&tested)?;
    find_directly(&directed)?;
    find(&chosen)
}

/// All defects that tests of single crates must find.
fn tests() -> impl Iterator<Item = &'static Tested> {
    let lists = [TESTED, LEDGER, MIXING, ROOMS, CLARION, GRAPHS, STATISTICS];
    lists.into_iter().flatten()
}

/// Plants defects that tests of single crates must find.
fn find_by_tests(tested: &[&Tested]) -> Result<()> {
    let copy = copy();
    let mut unfound = Vec::new();
    for defect in tested {
        plant(&copy, defect.name, defect.edits)?;
        let test = |arguments: &[&str]| {
            let mut command = shell::cargo(&["test", "--package", defect.package]);
            let target = copy.join("target");
            command.args(arguments).current_dir(&copy).env("CARGO_TARGET_DIR", target);
            command
        };
        shell::run(&mut test(&["--no-run"]))?;
        if fails(&mut test(&[defect.test]))? {
            shell::progress(&format!("{}: found by {}", defect.name, defect.test));
        } else {
            unfound.push(defect.name);
        }
    }
    ensure!(unfound.is_empty(), "the tests find nothing wrong with: {}", unfound.join("; "));
    Ok(())
}

/// Plants defects that single tests of the simulation must find.
fn find_directly(directed: &[&Directed]) -> Result<()> {
    let copy = copy();
    let mut unfound = Vec::new();
    for defect in directed {
        plant(&copy, defect.name, defect.edits)?;
        shell::run(simulation(&copy).arg("--no-run"))?;
        if fails(simulation(&copy).args(["--", defect.test]))? {
            shell::progress(&format!("{}: found by {}", defect.name, defect.test));
        } else {
            unfound.push(defect.name);
        }
    }
    ensure!(unfound.is_empty(), "the simulation finds nothing wrong with: {}", unfound.join("; "));
    Ok(())
}

/// Whether a test that is run so fails: that it cannot be run is no proof of anything.
fn fails(test: &mut Command) -> Result<bool> {
    let output = test.output().context("cargo cannot be started")?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(!output.status.success() && text.contains("test result: FAILED"))
}

/// Plants one defect, which the last commit draws from those that the simulation finds at once:
/// over some commits each of these has its turn. The others take many minutes, and have it at
/// night.
///
/// # Errors
/// As [`run`].
pub fn run_drawn() -> Result<()> {
    let commit = shell::output(shell::program("git").args(["rev-parse", "HEAD"]))?;
    let commit = String::from_utf8(commit)?;
    let digits = commit.get(..8).context("a commit has a name")?;
    let number = usize::from_str_radix(digits, 16).context("it is hexadecimal")?;
    let quick: Vec<_> = MUTANTS.iter().filter(|mutant| mutant.seeds <= QUICK_SEEDS).collect();
    let drawn = number % (DIRECTED.len() + quick.len());
    begin()?;
    match DIRECTED.get(drawn) {
        Some(defect) => find_directly(&[defect]),
        None => find(&[quick[drawn - DIRECTED.len()]]),
    }
}

fn find(mutants: &[&Mutant]) -> Result<()> {
    let copy = copy();
    let mut unfound = Vec::new();
    for mutant in mutants {
        plant(&copy, mutant.name, mutant.edits)?;
        shell::run(simulation(&copy).arg("--no-run"))?;
        let mut run = simulation(&copy);
        run.args(["--", "whatever"])
            .env("OSTRAKON_SEEDS", mutant.seeds.to_string())
            .env("OSTRAKON_FAILURES", "1");
        let output = run.output().context("cargo cannot be started")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let found = text.lines().find(|line| line.contains("these seeds fail"));
        match found.filter(|_| !output.status.success()) {
            Some(line) => {
                shell::progress(&format!("{}: found; {}", mutant.name, line.trim()));
            }
            None => unfound.push(mutant.name),
        }
    }
    ensure!(unfound.is_empty(), "the simulation finds nothing wrong with: {}", unfound.join("; "));
    Ok(())
}

/// Cargo, to test the simulation of the copy.
fn simulation(copy: &Path) -> Command {
    let mut command = shell::cargo(&["test", "--workspace", "--test", "simulation"]);
    command.current_dir(copy).env("CARGO_TARGET_DIR", copy.join("target"));
    command
}

/// Where the copy is.
fn copy() -> PathBuf {
    shell::root().join("target/mutants")
}

/// Makes a copy of the sources and of what is compiled of their libraries, with their times: by
/// these cargo tells what it need not compile again. An earlier run's copy would be of other
/// sources.
fn begin() -> Result<()> {
    let copy = copy();
    if copy.is_dir() {
        fs::remove_dir_all(&copy).context("an earlier copy cannot be removed")?;
    }
    refresh(&copy)?;
    for part in ["deps", ".fingerprint", "build"] {
        let (from, to) = ("target/debug", copy.join("target/debug").join(part));
        link_foreign(&shell::root().join(from).join(part), &to)?;
    }
    copy_own(&shell::root().join("target/debug"), &copy.join("target/debug"))
}

/// Links what is compiled of other projects' crates, which are the same in the copy.
fn link_foreign(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("{} cannot be made", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("{} is missing", from.display()))? {
        let entry = entry?;
        let (name, target) = (entry.file_name(), to.join(entry.file_name()));
        let name = name.to_string_lossy();
        let own = ["ostrakon", "libostrakon", "xtask"];
        // Programs among libraries are tests.
        let program = from.ends_with("deps") && !name.starts_with("lib");
        if program || own.iter().any(|own| name.starts_with(own)) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            link_foreign(&entry.path(), &target)?;
        } else {
            let linked = fs::hard_link(entry.path(), &target);
            linked.with_context(|| format!("{} cannot be linked", target.display()))?;
        }
    }
    Ok(())
}

/// Copies what is compiled of the project's own libraries, with what cargo knows about it. It is
/// not linked: what is compiled for the copy may be written in its place.
fn copy_own(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from.join("deps"))? {
        let library = entry?.path();
        let Some((name, hash)) = own_library(&library) else { continue };
        let known = Path::new(".fingerprint").join(format!("{}-{hash}", name.replace('_', "-")));
        if !from.join(&known).is_dir() {
            continue;
        }
        for file in [library.clone(), library.with_extension("rmeta")] {
            if file.is_file() {
                copy_with_time(&file, &to.join("deps").join(file.file_name().unwrap_or_default()))?;
            }
        }
        fs::create_dir_all(to.join(&known))?;
        for entry in fs::read_dir(from.join(&known))? {
            let file = entry?;
            copy_with_time(&file.path(), &to.join(&known).join(file.file_name()))?;
        }
    }
    Ok(())
}

/// The crate's name and the hash by which cargo tells its forms apart, if the file is what is
/// compiled of a library of the project.
fn own_library(file: &Path) -> Option<(&str, &str)> {
    let stem = file.file_stem().and_then(OsStr::to_str)?;
    let (name, hash) = stem.strip_prefix("lib")?.rsplit_once('-')?;
    let own = file.extension() == Some(OsStr::new("rlib")) && name.starts_with("ostrakon");
    own.then_some((name, hash))
}

fn copy_with_time(from: &Path, to: &Path) -> Result<()> {
    let copied = || -> std::io::Result<()> {
        fs::copy(from, to)?;
        let time = fs::metadata(from)?.modified()?;
        File::options().append(true).open(to)?.set_modified(time)
    };
    copied().with_context(|| format!("{} cannot be copied", from.display()))
}

/// Makes the copy what the sources are, without touching what is the same already. What is new in
/// it has the time of its source; what a defect was planted in has changed now.
fn refresh(copy: &Path) -> Result<()> {
    let listed = shell::output(shell::program("git").args(["ls-files", "-z"]))?;
    let listed = String::from_utf8(listed).context("file names are text")?;
    forget_moved(copy, Path::new(""), &listed.split_terminator('\0').map(Path::new).collect())?;
    for name in listed.split_terminator('\0') {
        let (from, to) = (shell::root().join(name), copy.join(name));
        let Ok(bytes) = fs::read(&from) else { continue };
        if fs::read(&to).is_ok_and(|before| before == bytes) {
            continue;
        }
        if to.is_file() {
            fs::write(&to, bytes).with_context(|| format!("{} cannot be written", to.display()))?;
            continue;
        }
        let folder = to.parent().context("a file is in a folder")?;
        fs::create_dir_all(folder)
            .with_context(|| format!("{} cannot be made", folder.display()))?;
        copy_with_time(&from, &to)?;
    }
    Ok(())
}

/// Deletes from a folder of the copy what is not among the sources any more: a module may not be in
/// two places.
fn forget_moved(copy: &Path, folder: &Path, listed: &BTreeSet<&Path>) -> Result<()> {
    let entries = match fs::read_dir(copy.join(folder)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.context("the copy cannot be read")?,
    };
    for entry in entries {
        let entry = entry?;
        let name = folder.join(entry.file_name());
        if name == Path::new("target") {
            continue;
        }
        if entry.file_type()?.is_dir() {
            forget_moved(copy, &name, listed)?;
        } else if !listed.contains(name.as_path()) {
            fs::remove_file(entry.path())
                .with_context(|| format!("{} cannot be deleted", name.display()))?;
        }
    }
    Ok(())
}

/// Makes the copy what the sources are, but for one defect.
fn plant(copy: &Path, name: &str, edits: &[Edit]) -> Result<()> {
    refresh(copy)?;
    for (path, text) in planted(copy, name, edits)? {
        fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    shell::progress(&format!("{name}: building"));
    Ok(())
}

/// What keeps defects from being planted in the sources as they are: nothing, or somebody changed
/// a line that a defect replaces.
pub fn unfitting() -> Vec<String> {
    let mutants = MUTANTS.iter().map(|mutant| (mutant.name, mutant.edits));
    let directed = DIRECTED.iter().map(|directed| (directed.name, directed.edits));
    let tested = tests().map(|tested| (tested.name, tested.edits));
    let fit = |(name, edits)| planted(shell::root(), name, edits).err();
    let errors = mutants.chain(directed).chain(tested).filter_map(fit);
    errors.map(|error| format!("{error:#}")).collect()
}

/// The files that a defect changes, with what they then hold.
fn planted(root: &Path, name: &str, edits: &[Edit]) -> Result<BTreeMap<PathBuf, String>> {
    let mut changed = BTreeMap::new();
    for edit in edits {
        let path = root.join(edit.file);
        let text = match changed.remove(&path) {
            Some(text) => text,
            None => fs::read_to_string(&path)
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
    fn what_has_moved_is_forgotten_and_what_is_compiled_is_kept() {
        let copy = std::env::temp_dir().join(format!("ostrakon-mutants-{}", std::process::id()));
        for file in ["a/mod.rs", "a.rs", "target/a.rs"] {
            fs::create_dir_all(copy.join(file).parent().unwrap()).unwrap();
            fs::write(copy.join(file), "").unwrap();
        }
        forget_moved(&copy, Path::new(""), &BTreeSet::from([Path::new("a/mod.rs")])).unwrap();
        let there = ["a/mod.rs", "a.rs", "target/a.rs"].map(|file| copy.join(file).exists());
        fs::remove_dir_all(&copy).unwrap();
        assert_eq!(there, [true, false, true]);
    }

    #[test]
    fn own_libraries_are_copied_with_their_times_and_test_programs_are_not() {
        let folder = std::env::temp_dir().join(format!("ostrakon-own-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        let library = ["deps/libostrakon_a-0f.rlib", ".fingerprint/ostrakon-a-0f/lib-ostrakon_a"];
        let others =
            ["deps/ostrakon_a-1f", ".fingerprint/ostrakon-a-1f/test-lib", "deps/libb-0.rlib"];
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        for file in library.iter().chain(&others) {
            fs::create_dir_all(from.join(file).parent().unwrap()).unwrap();
            File::create(from.join(file)).unwrap().set_modified(time).unwrap();
        }
        fs::create_dir_all(to.join("deps")).unwrap();
        copy_own(&from, &to).unwrap();
        let times = library.map(|file| fs::metadata(to.join(file)).unwrap().modified().unwrap());
        let copied = others.map(|file| to.join(file).exists());
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((times, copied), ([time; 2], [false; 3]));
    }

    #[test]
    fn a_defect_that_does_not_fit_the_sources_is_told() {
        let edit = Edit { file: "xtask/src/main.rs", from: "no such line", to: "" };
        let error = planted(shell::root(), "a name", &[edit]).unwrap_err();
        assert!(error.to_string().starts_with("a name: xtask/src/main.rs does not hold once"));
    }
}
