//! `ostrakon stats close`.

use anyhow::Result;
use ostrakon_computation::{Link, Order};
use serde::Serialize;

use crate::client::survey::Survey;
use crate::client::{Asked, http_client};
use crate::{output, secret};

/// Options of `stats close`.
#[derive(clap::Args)]
pub struct Options {
    /// The link that `create` printed, or `-` or `@FILE`.
    #[arg(value_parser = secret::link::<Link>)]
    link: Link,
    /// Closes also if fewer have reported than the minimum: then nothing is computed.
    #[arg(long)]
    even_if_few: bool,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Closed {
    id: String,
}

/// Runs the command.
///
/// # Errors
/// If the question was not asked here, or too few have reported.
pub async fn run(options: Options) -> Result<()> {
    let creator = Survey::creator_of(&options.link)?;
    let asked = Asked::of(&http_client()?, &options.link).await?;
    asked.close(&Order::sign(options.link.computation, &creator), options.even_if_few).await?;
    if options.json {
        return output::json(&Closed { id: options.link.computation.0.to_hex() });
    }
    output::line("closed: no more reports are taken, and the servers compute")
}
