//! `cargo xtask up`: from a fresh clone to three running servers.

use std::os::unix::process::CommandExt;

use anyhow::{Context, Result};

use crate::{shell, web};

/// Builds the page and the program, then becomes `ostrakon up` with the further arguments `rest`.
///
/// # Errors
/// If something is missing that cannot be installed from here, or does not compile.
pub fn up(rest: &[String]) -> Result<()> {
    web::install()?;
    web::build_wasm()?;
    web::build()?;
    shell::progress("building the servers");
    shell::run(&mut shell::cargo(&["build", "--release", "--package", "ostrakon"]))?;
    shell::progress(
        "starting; Ctrl-C stops everything, and the next start continues with the same data",
    );
    // Taking over this process lets Ctrl-C reach the servers' supervisor and nobody else.
    let failure = shell::program(shell::root().join("target/release/ostrakon"))
        .args(["up", "--web", "web/dist"])
        .args(rest)
        .exec();
    Err(failure).context("target/release/ostrakon cannot be started")
}
