//! `ostrakon completions`.

use std::io::Write;

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

/// Options of `completions`.
#[derive(clap::Args)]
pub struct Options {
    /// The shell.
    shell: Shell,
}

/// Prints the script.
///
/// # Errors
/// If standard output cannot be written.
pub fn run(options: &Options) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut crate::Cli::command(), "ostrakon", &mut script);
    Ok(std::io::stdout().write_all(&script)?)
}
