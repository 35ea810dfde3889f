//! The copy of the sources in which defects are planted, with objects of its own: cargo would take
//! what is built of it for the sources' own.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell;

/// A copy of the sources.
pub(super) struct Copy {
    folder: PathBuf,
    /// Whether cargo compiles crates by parts, of which it keeps those that have not changed.
    by_parts: bool,
}

impl Copy {
    /// A copy that begins with what is compiled of the sources' own libraries, with their times: by
    /// these cargo tells what it need not compile again. An earlier run's copy would be of other
    /// sources.
    pub(super) fn for_few() -> Result<Self> {
        let copy = Self { folder: shell::root().join("target/mutants"), by_parts: false };
        if copy.folder.is_dir() {
            fs::remove_dir_all(&copy.folder).context("an earlier copy cannot be removed")?;
        }
        refresh(&copy.folder)?;
        copy.link_foreign()?;
        copy_own(&shell::root().join("target/debug"), &copy.folder.join("target/debug"))?;
        Ok(copy)
    }

    /// A copy in which everything is compiled once, by parts, and kept for the next run: then a
    /// defect costs little more than the function that it is in.
    pub(super) fn for_many() -> Result<Self> {
        let copy = Self { folder: shell::root().join("target/planted"), by_parts: true };
        let begins = !copy.folder.is_dir();
        refresh(&copy.folder)?;
        if begins {
            copy.link_foreign()?;
        }
        Ok(copy)
    }

    /// Makes the copy what the sources are, but for these files, named as in the sources.
    pub(super) fn plant(&self, changed: &BTreeMap<PathBuf, String>) -> Result<()> {
        refresh(&self.folder)?;
        for (path, text) in changed {
            fs::write(self.folder.join(path), text)
                .with_context(|| format!("{} cannot be written", path.display()))?;
        }
        Ok(())
    }

    /// Cargo, to test these targets.
    pub(super) fn cargo_test(&self, targets: &[&str]) -> Command {
        let mut command = shell::cargo(&["test"]);
        command.args(targets).current_dir(&self.folder);
        command.env("CARGO_TARGET_DIR", self.folder.join("target"));
        if self.by_parts {
            command.env("CARGO_INCREMENTAL", "1").env_remove("CARGO_PROFILE_DEV_CODEGEN_UNITS");
        }
        command
    }

    fn link_foreign(&self) -> Result<()> {
        for part in ["deps", ".fingerprint", "build"] {
            let from = shell::root().join("target/debug").join(part);
            link_foreign(&from, &self.folder.join("target/debug").join(part))?;
        }
        Ok(())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
