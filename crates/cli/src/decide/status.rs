//! `ostrakon decide status`.

use anyhow::Result;
use ostrakon_decide::Link;

use super::{State, report};
use crate::secret;

/// Options of `decide status`.
#[derive(clap::Args)]
pub struct Options {
    /// The decision's link; `-` takes it from standard input, `@FILE` from a file.
    #[arg(value_parser = secret::link::<Link>)]
    link: Link,
    #[command(flatten)]
    state: State,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// If something does not hold, or the servers do not answer.
pub async fn run(options: Options) -> Result<()> {
    let mut account = options.state.account()?;
    let decision = super::read(options.link, &mut account).await?;
    report::print(decision.chain()?, decision.outcome()?, &decision.openings(), options.json)
}
