//! `ostrakon stats`: many people report a number each, of which nobody learns one.

mod close;
mod create;
mod digest;
pub mod elect;
pub mod key;
mod report;
mod result;
pub mod terms;

use anyhow::Result;

use crate::client::cancelling;

pub use digest::digest;

/// What can be done with statistics.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Asks a committee for statistics, and prints the link for those who report.
    Create(Box<create::Options>),
    /// Prints the public half of a key with which a device reports again and again; makes the key
    /// on the first call.
    Key(key::Options),
    /// Reports a number.
    Report(report::Options),
    /// Takes no more reports, and has the statistics computed.
    Close(close::Options),
    /// Has nothing computed, and everything erased that was reported.
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
        Command::Key(options) => key::run(&options),
        Command::Report(options) => report::run(options).await,
        Command::Close(options) => close::run(options).await,
        Command::Cancel(options) => cancelling::run(options).await,
        Command::Result(options) => result::run(options).await,
        Command::Verify(options) => result::verify(&options),
    }
}
