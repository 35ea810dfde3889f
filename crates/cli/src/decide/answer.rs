//! `ostrakon decide answer`.

use anyhow::{Result, bail, ensure};
use ostrakon_crypto::VerifyingKey;
use ostrakon_decide::{Ballot, Link, Receipt, Stage, Visit};

use super::{State, plan, report};
use crate::client::answering::{self, chain};
use crate::client::{Account, Decision};
use crate::{output, secret};

/// Options of `decide answer`.
#[derive(clap::Args)]
pub struct Options {
    /// The link that you were given; `-` takes it from standard input, `@FILE` from a file.
    #[arg(value_parser = secret::link::<Link>)]
    link: Link,
    /// The answer, an option's words or its number from 1; once for each ballot, in their order.
    /// Without it, what this device has answered before and does not know to have arrived is sent
    /// again; or the invitation is accepted and nothing else.
    /// `-` takes it from a line of standard input, `@FILE` from a file.
    #[arg(long, value_name = "OPTION", value_parser = secret::argument)]
    answer: Vec<String>,
    /// Waits until everybody has accepted, if need be.
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    state: State,
    /// Prints the receipt as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// If something does not hold, the answer fits no ballot, answers are not taken now, or a server
/// does not answer.
pub async fn run(options: Options) -> Result<()> {
    let mut account = options.state.account()?;
    let (decision, mut visit, _) = super::read(options.link).await?;
    let key = account.key_in(chain(&visit)?).verifying_key();
    account
        .remember(|memory| visit.remember(&key, memory))?
        .map_err(crate::client::decision::refused)?;
    let answers = answers(&chain(&visit)?.draft().ballots, &options.answer)?;
    let (memory, id) = (account.memory(), &decision.link.decision);
    if answers.is_some() && memory.has_answered(id) && memory.pending(id) != answers.as_deref() {
        bail!(
            "this device has answered, which cannot be changed any more; without --answer the receipt is shown again"
        );
    }
    takes_answers(&visit, &key)?;
    answering::accept(&decision, &account, &mut visit).await?;
    if let Err(error) = answering::refill(&decision.deployment, &account).await {
        tracing::warn!(
            "no keys were left with which this account could be asked while it is away: {error:#}"
        );
    }
    if options.wait {
        answering::until_answers_are_taken(&decision, &mut visit).await?;
        takes_answers(&visit, &key)?;
    }
    let pending = account.memory().pending(&decision.link.decision).map(<[u8]>::to_vec);
    let Some(answers) = answers.or(pending) else {
        if account.memory().has_answered(&decision.link.decision) {
            return finish(&decision, &mut account, &mut visit, options.json).await;
        }
        eprintln!("Accepted. Answer with --answer.");
        return Ok(());
    };
    if chain(&visit)?.stage() == Stage::Accepting {
        bail!(
            "accepted; {}: come again with the same link, or give --wait",
            when_answers_are_taken(chain(&visit)?.needs_all())
        );
    }
    answering::answer(&decision, &mut account, &mut visit, &answers).await?;
    finish(&decision, &mut account, &mut visit, options.json).await
}

/// Whether it is not over, or this account's answer is among those that were given.
fn takes_answers(visit: &Visit, owner: &VerifyingKey) -> Result<()> {
    let chain = chain(visit)?;
    let has_answered = |place: u16| chain.people()[usize::from(place)].answered().is_some();
    match report::over(chain) {
        Some(over) if !chain.person(owner).is_some_and(has_answered) => bail!(over),
        _ => Ok(()),
    }
}

/// When answers are taken of a decision for which not everybody has accepted.
fn when_answers_are_taken(needs_all: bool) -> &'static str {
    if needs_all {
        "answers are taken once everybody has accepted (if somebody has not in time, it ends without a result)"
    } else {
        "answers are taken once everybody has accepted, or the time to accept is over"
    }
}

/// The answers that were given; `None` if none was.
fn answers(ballots: &[Ballot], given: &[String]) -> Result<Option<Vec<u8>>> {
    if given.is_empty() {
        return Ok(None);
    }
    ensure!(
        given.len() == ballots.len(),
        "--answer is needed once for each of {} ballots, not {} times",
        ballots.len(),
        given.len()
    );
    let read = |(ballot, text): (&Ballot, &String)| plan::option(&ballot.options, text);
    ballots.iter().zip(given).map(read).collect::<Result<_>>().map(Some)
}

/// Makes sure that the answer has arrived, and prints the receipt.
async fn finish(
    decision: &Decision,
    account: &mut Account,
    visit: &mut Visit,
    json: bool,
) -> Result<()> {
    let receipt: Receipt = answering::confirm(decision, account, visit).await?;
    if json {
        return output::json(&receipt);
    }
    output::line(&format!(
        "answered, signed by {} servers: record {}, digest {}",
        receipt.signatures.len(),
        receipt.number,
        receipt.digest.to_hex()
    ))
}
