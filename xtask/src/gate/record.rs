//! What a nightly run has passed already, so that one that was stopped goes on where it was.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::shell;

/// Names of the steps that have passed on the sources as they are.
pub struct Record {
    file: File,
    passed: Vec<String>,
}

impl Record {
    /// Opens the record of these sources, an empty one if there is none or if `fresh`.
    ///
    /// # Errors
    /// If git does not answer or the record cannot be written.
    pub fn open(fresh: bool) -> Result<Self> {
        let folder = shell::root().join("target/nightly");
        fs::create_dir_all(&folder)
            .with_context(|| format!("{} cannot be made", folder.display()))?;
        let path = folder.join(state_of_the_sources()?);
        if fresh && path.is_file() {
            fs::remove_file(&path)?;
        }
        let passed = fs::read_to_string(&path).unwrap_or_default();
        let passed = passed.lines().map(str::to_owned).collect();
        let file = File::options().create(true).append(true).open(&path);
        let file = file.with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(Self { file, passed })
    }

    /// Whether a step has passed before.
    pub fn has(&self, step: &str) -> bool {
        self.passed.iter().any(|name| name == step)
    }

    /// Notes that a step has passed.
    ///
    /// # Errors
    /// If it cannot be written down.
    pub fn add(&mut self, step: &str) -> Result<()> {
        Ok(writeln!(self.file, "{step}")?)
    }
}

/// A name for the sources: that of the tree that a commit of everything here would have.
fn state_of_the_sources() -> Result<PathBuf> {
    // An index of its own: what is staged stays as it is.
    let index = shell::root().join("target/nightly/index");
    let mut add = shell::program("git");
    shell::run(add.args(["add", "--all"]).env("GIT_INDEX_FILE", &index))?;
    let mut write = shell::program("git");
    let tree = shell::output(write.arg("write-tree").env("GIT_INDEX_FILE", &index))?;
    Ok(String::from_utf8(tree)?.trim().into())
}
