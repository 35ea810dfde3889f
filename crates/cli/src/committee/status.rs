//! `ostrakon committee status`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use ostrakon_committee::{Overview, Phase, Store, overview};

use super::home::{Home, KIND};
use crate::output;
use crate::serving::cards::Directory;

/// Options of `committee status`.
#[derive(clap::Args)]
pub struct Options {
    /// The member's directory. The member may run meanwhile.
    #[arg(long, value_name = "DIR")]
    home: PathBuf,
    /// Prints one JSON list.
    #[arg(long)]
    json: bool,
}

/// Shows a member's operator all computations that it remembers.
///
/// # Errors
/// If its directory is not in order.
pub async fn run(options: &Options) -> Result<()> {
    let home = Home::open(Directory::new(&options.home, &KIND)).context("--home")?;
    let (committee, number) = home.committee()?;
    let store = Store::open(&home.data()).await?;
    let all = overview(&store, committee.members.len(), number).await;
    store.close().await;
    let all = all?;
    if options.json {
        return output::json(&all);
    }
    output::line(&format!(
        "{}, number {} of {} in the committee \"{}\"",
        committee.members[number].name,
        number + 1,
        committee.members.len(),
        committee.name
    ))?;
    if all.is_empty() {
        return output::line("nothing is asked");
    }
    all.iter().try_for_each(|one| output::line(&words(one)))
}

fn words(one: &Overview) -> String {
    let Overview { id, title, job, phase, inputs, minimum, begun, exchanges } = one;
    let phase = match phase {
        Phase::Collecting => "open".to_owned(),
        Phase::Sealing => "closed; the members agree on the list".to_owned(),
        Phase::Computing => {
            format!("computing: begun {begun} times, {exchanges} rounds written down so far")
        }
        Phase::Done => "done".to_owned(),
        Phase::TooFew { missing } => format!("{missing} were missing"),
        Phase::Cancelled { .. } => "cancelled, and erased".to_owned(),
        Phase::Stopped { why } => format!("stopped: {why}"),
    };
    let id = &id.0.to_hex()[..12];
    format!("{id}  {job}, {inputs} handed in (at least {minimum}), {phase}: {title}")
}
