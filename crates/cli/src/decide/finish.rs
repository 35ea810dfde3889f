//! `ostrakon decide finish`.

use anyhow::{Context, Result, bail, ensure};
use ostrakon_decide::{Content, Link, Visit};

use super::{State, report};
use crate::client::answering::chain;
use crate::client::decision::Handed;
use crate::client::{Account, Decision};
use crate::{secret, system};

/// How often somebody else may be faster.
const ATTEMPTS: u32 = 100;

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
    let account = options.state.account()?;
    let (decision, mut visit, openings) = super::read(options.link).await?;
    let content = match &options.remove {
        Some(name) => {
            let people = &chain(&visit)?.draft().people;
            let place = people.iter().position(|person| person.name == *name);
            Some(Content::Remove {
                person: u16::try_from(place.context("nobody of that name is asked")?)?,
            })
        }
        None => options.cancel.then_some(Content::Cancel),
    };
    if let Some(content) = content {
        append(&decision, &account, &mut visit, &content).await?;
    }
    report::print(chain(&visit)?, decision.outcome(&visit, &openings)?, &openings, options.json)
}

/// Appends a record of the creator's.
async fn append(
    decision: &Decision,
    account: &Account,
    visit: &mut Visit,
    content: &Content,
) -> Result<()> {
    let key = account.key();
    ensure!(
        chain(visit)?.draft().creator == key.verifying_key(),
        "only who created the decision can do that, on the device on which it was created"
    );
    for _ in 0..ATTEMPTS {
        let record = chain(visit)?.next(&key, system::unix_time(), content.clone());
        chain(visit)?
            .check(&record)
            .map_err(|error| anyhow::anyhow!("that is not possible: {error}"))?;
        let handed = decision.hand_in(&record, visit).await?;
        if matches!(handed, Handed::Taken) {
            return Ok(());
        }
    }
    bail!("others are always faster; try again")
}
