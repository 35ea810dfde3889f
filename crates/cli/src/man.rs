//! `ostrakon man`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::CommandFactory;

/// Options of `man`.
#[derive(clap::Args)]
pub struct Options {
    /// Where to write the pages, one for each command: a directory of the section, such as `man1`.
    directory: PathBuf,
}

/// Writes one page for each command.
///
/// # Errors
/// If the directory cannot be written.
pub fn run(options: &Options) -> Result<()> {
    let cannot = || format!("{} cannot be written", options.directory.display());
    fs::create_dir_all(&options.directory).with_context(cannot)?;
    clap_mangen::generate_to(crate::Cli::command(), &options.directory).with_context(cannot)
}
