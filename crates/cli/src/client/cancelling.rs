//! `graph cancel` and `stats cancel`: nothing is to come out of what was asked.

use anyhow::Result;
use ostrakon_computation::{Cancellation, Link};

use super::computation::{Asked, Cancelled};
use super::connection::http_client;
use super::survey::Survey;
use crate::{output, secret};

/// Options of both.
#[derive(clap::Args)]
pub struct Options {
    /// The link that `create` printed, or `-` or `@FILE`.
    #[arg(value_parser = secret::link::<Link>)]
    link: Link,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// If it was not asked here, it is too late, or no member answers.
pub async fn run(options: Options) -> Result<()> {
    let creator = Survey::creator_of(&options.link)?;
    let asked = Asked::of(&http_client()?, &options.link).await?;
    let order = Cancellation::sign(options.link.computation, &creator);
    let cancelled = asked.cancel(&order).await?;
    if options.json {
        return output::json(&cancelled);
    }
    let Cancelled { ended, silent, opened } = cancelled;
    let ended = ended.join(", ");
    output::line(&format!(
        "cancelled: nothing comes out; what was handed in is erased at {ended}"
    ))?;
    if !silent.is_empty() {
        let silent = silent.join(", ");
        output::line(&format!("{silent} will hear of it from the others, and compute nothing"))?;
    }
    if !opened.is_empty() {
        let opened = opened.join(", ");
        output::line(&format!("{opened} had begun to open what was asked for, and may know it"))?;
    }
    Ok(())
}
