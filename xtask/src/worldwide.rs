//! `cargo xtask worldwide`: AsynchroMix among servers around the world, in virtual time.

use anyhow::Result;

use crate::shell;

const PLOT: &str = "docs/worldwide.svg";

/// Runs the simulation with further arguments, and has it draw the plot of the documentation.
///
/// # Errors
/// If it does not compile, or fails.
pub fn run(rest: &[String]) -> Result<()> {
    let example = ["run", "--release", "--package", "ostrakon-robust", "--example", "worldwide"];
    shell::run(shell::cargo(&example).args(["--", "--plot", PLOT]).args(rest))
}
