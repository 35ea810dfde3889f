//! `ostrakon decide finish`.

use anyhow::{Context, Result, ensure};
use ostrakon_client::visitor::Deed;
use ostrakon_decide::Link;

use super::{State, report};
use crate::secret;

/// Options of `decide finish`.
#[derive(clap::Args)]
pub struct Options {
    /// The decision's link; `-` takes it from standard input, `@FILE` from a file.
    #[arg(value_parser = secret::link::<Link>)]
    link: Link,
    /// Takes somebody off the list who has not accepted, so that the others can answer.
    #[arg(long, value_name = "NAME")]
    remove: Option<String>,
    /// Calls the decision off.
    #[arg(long, conflicts_with = "remove")]
    cancel: bool,
    #[command(flatten)]
    state: State,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// If this device has not created the decision, or what is wanted is against the rules.
pub async fn run(options: Options) -> Result<()> {
    let mut account = options.state.account()?;
    let mut decision = super::read(options.link, &mut account).await?;
    let deed = match &options.remove {
        Some(name) => {
            let people = &decision.chain()?.draft().people;
            let place = people.iter().position(|person| person.name == *name);
            Some(Deed::Remove(u16::try_from(place.context("nobody of that name is asked")?)?))
        }
        None => options.cancel.then_some(Deed::Cancel),
    };
    if let Some(deed) = deed {
        ensure!(
            decision.chain()?.draft().creator == account.key().verifying_key(),
            "only who created the decision can do that, on the device on which it was created"
        );
        decision.carry_out(&mut account, deed).await?;
    }
    report::print(decision.chain()?, decision.outcome()?, &decision.openings(), options.json)
}
