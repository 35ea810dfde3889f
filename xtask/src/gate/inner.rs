//! `cargo xtask test CRATE`: what is worth running after every small change of one crate.

use anyhow::{Result, bail};

use crate::postgres::{self, Postgres};
use crate::{shell, tools};

/// The crate whose tests need a PostgreSQL.
const STORE: &str = "ostrakon-store";

/// Formats, lints and tests the crates, without the tests that start real processes.
///
/// # Errors
/// If a crate is not there, or a check or a test fails.
pub fn run(crates: &[String]) -> Result<()> {
    let packages: Vec<_> = crates.iter().map(|name| package(name)).collect::<Result<_>>()?;
    let chosen: Vec<&str> = packages.iter().flat_map(|name| ["--package", name]).collect();
    shell::run(shell::cargo(&["fmt"]).args(&chosen).arg("--check"))?;
    let lint = ["--all-targets", "--", "-D", "warnings"];
    shell::run(shell::cargo(&["clippy"]).args(&chosen).args(lint))?;
    let postgres =
        if packages.iter().any(|name| name == STORE) { Some(Postgres::start()?) } else { None };
    let mut test = shell::program(tools::cargo_nextest()?);
    let run = ["nextest", "run", "--profile", "inner", "--tests", "--no-tests", "pass"];
    test.args(run).args(&chosen);
    if let Some(postgres) = &postgres {
        test.env(postgres::VARIABLE, postgres.url());
    }
    shell::run(&mut test)
}

/// The package of a crate's folder or of its full name.
///
/// # Errors
/// If there is no such crate.
pub fn package(name: &str) -> Result<String> {
    let short = name.strip_prefix("ostrakon-").unwrap_or(name);
    match short {
        // The program's package has the project's name.
        "cli" | "ostrakon" => Ok("ostrakon".to_owned()),
        "xtask" => Ok("xtask".to_owned()),
        _ if shell::root().join("crates").join(short).is_dir() => Ok(format!("ostrakon-{short}")),
        _ => bail!("there is no crate `{name}`; `ls crates` lists them"),
    }
}

#[cfg(test)]
mod tests {
    use super::package;

    #[test]
    fn a_crate_is_named_by_its_folder_or_its_package() {
        assert_eq!(package("net").unwrap(), "ostrakon-net");
        assert_eq!(package("ostrakon-net").unwrap(), "ostrakon-net");
        assert_eq!(package("cli").unwrap(), "ostrakon");
        assert!(package("nowhere").unwrap_err().to_string().contains("ls crates"));
    }
}
