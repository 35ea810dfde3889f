//! `ostrakon graph`: several owners' edges, on which a committee computes without anybody learning
//! one.

mod again;
mod contribute;
mod create;
mod names;
mod program;
mod result;

use anyhow::Result;

pub use self::program::ProgramArg;
pub use self::result::hops;
use crate::client::cancelling;

/// What can be done with graphs.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Asks a committee of three servers, and prints the link for those who contribute edges.
    Create(Box<create::Options>),
    /// Asks something else about the same contributions, if they are kept, and prints the link.
    Again(Box<again::Options>),
    /// Contributes the edges in a file.
    Contribute(contribute::Options),
    /// Takes no more contributions, has the result computed, waits for it and prints it.
    Run(result::RunOptions),
    /// Has nothing computed, and everything erased that was handed in.
    Cancel(cancelling::Options),
    /// Waits for the result, checks it and prints it.
    Result(result::Options),
    /// Checks a result that was kept, offline.
    Verify(result::VerifyOptions),
}

/// Runs one of the commands.
///
/// # Errors
/// As the commands say.
pub async fn run(command: Command) -> Result<()> {
    match command {
        Command::Create(options) => create::run(*options).await,
        Command::Again(options) => again::run(*options).await,
        Command::Contribute(options) => contribute::run(options).await,
        Command::Run(options) => result::run_now(options).await,
        Command::Cancel(options) => cancelling::run(options).await,
        Command::Result(options) => result::run(options).await,
        Command::Verify(options) => result::verify(&options),
    }
}
