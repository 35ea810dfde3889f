//! `ostrakon graph again`: another question about contributions that are kept.

use std::path::PathBuf;

use anyhow::{Context, Result};
use ostrakon_computation::Link;
use ostrakon_graph::asked::{self, JOB, ReaderKey, Terms, parameters};

use super::create::Wanted;
use super::names;
use crate::client::asking::{Asking, Who};
use crate::client::survey::Survey;
use crate::client::{Asked, http_client};
use crate::{output, secret};

/// Options of `graph again`.
#[derive(clap::Args)]
pub struct Options {
    /// The link that `create` printed, or `-` or `@FILE`.
    #[arg(value_parser = secret::link::<Link>)]
    link: Link,
    /// What it is about; the first question's title if it is left out.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The vertices' names, if they stand in a file.
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    #[command(flatten)]
    wanted: Wanted,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// If the first question was not asked here, this cannot be asked, or a member refuses it.
pub async fn run(options: Options) -> Result<()> {
    let Options { link, title, wanted, .. } = &options;
    let creator = Survey::secret_of(&link.computation)?.context(
        "only who asked the first question may ask again, on the device and in the account where \
         it was asked",
    )?;
    let asked = Asked::of(&http_client()?, link).await?;
    let draft = asked.draft(&link.computation).await?;
    let first = asked::terms(&draft)?;
    let names = names::for_result(&first, options.names.as_deref())?;
    let terms = Terms {
        program: wanted.program(&names)?,
        shown: wanted.shown(),
        noise: wanted.noise(),
        reader: wanted.for_me().then(|| ReaderKey(asked::reader(&creator.0).public())),
        keep: None,
        ..first
    };
    let asking = Asking {
        server: &link.origin,
        job: JOB,
        parameters: parameters(&terms),
        title: title.clone().unwrap_or(draft.title),
        minimum: draft.minimum,
        who: Who::Earlier(link.computation),
        seconds: None,
    };
    let created = asking.ask(&asked, &creator).await?;
    if options.json {
        return output::json(&created);
    }
    created.print()?;
    eprintln!("It is being computed. The result: ostrakon graph result '{}'", created.link);
    Ok(())
}
