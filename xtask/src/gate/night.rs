//! Every test in its night form, one crate after the other: what a crate's tests took hours for is
//! not lost when the run is stopped in those of the next.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::inner::package;
use super::record::Record;
use super::step::Depth;
use crate::postgres::{self, Postgres};
use crate::{shell, tools};

/// Runs the tests of the crates that have not passed yet in the sources as they are.
///
/// # Errors
/// If tests of any crate fail; those of the others are run all the same.
pub fn test(postgres: &Postgres) -> Result<()> {
    let mut record = Record::open(false)?;
    let mut failed = Vec::new();
    for package in packages()? {
        let entry = format!("tests of {package}");
        if record.has(&entry) {
            shell::progress(&format!("{entry}: passed before"));
            continue;
        }
        let mut test = shell::program(tools::cargo_nextest()?);
        // Of the workspace, by a filter: with features as they are compiled already.
        test.args(["nextest", "run", "--workspace", "--tests", "--no-tests", "pass"]);
        test.arg("-E").arg(format!("package(={package})"));
        test.env(postgres::VARIABLE, postgres.url());
        match shell::run(Depth::Nightly.mark(&mut test)) {
            Ok(()) => record.add(&entry)?,
            Err(_) => failed.push(package),
        }
    }
    ensure!(failed.is_empty(), "tests fail of {}", failed.join(", "));
    Ok(())
}

/// The packages of all crates.
fn packages() -> Result<Vec<String>> {
    let folders = fs::read_dir(shell::root().join("crates")).context("there are no crates")?;
    let mut names = vec!["xtask".to_owned()];
    for folder in folders {
        names.push(folder?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    names.iter().map(|name| package(name)).collect()
}
