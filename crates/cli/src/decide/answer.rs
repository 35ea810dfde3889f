//! `ostrakon decide answer`.

use anyhow::{Context, Result, bail, ensure};
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
        let chain = chain(&visit)?;
        let how = how_to_answer(&chain.draft().ballots);
        eprintln!("Accepted. {}", output::harmless(how.as_bytes()));
        if chain.stage() == Stage::Accepting {
            let when = when_answers_are_taken(chain.needs_all());
            eprintln!("Not yet: {when}. With --wait it is waited for.");
        }
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

/// What can be answered, and an example.
fn how_to_answer(ballots: &[Ballot]) -> String {
    let choices = |ballot: &Ballot| {
        let options: Vec<_> = ballot
            .options
            .iter()
            .zip(1..)
            .map(|(option, number)| format!("{number} {option}"))
            .collect();
        let label = if ballot.label.is_empty() { "The options" } else { &ballot.label };
        format!("  {label}: {}\n", options.join(", "))
    };
    let choices: String = ballots.iter().map(choices).collect();
    let each = if ballots.len() > 1 { ", once for each ballot, in this order" } else { "" };
    format!(
        "To answer, give the same command with --answer and an option's words or number{each}:\n\
         {choices}for example: ostrakon decide answer LINK{}",
        " --answer 1".repeat(ballots.len())
    )
}

/// The answers that were given; `None` if none was.
fn answers(ballots: &[Ballot], given: &[String]) -> Result<Option<Vec<u8>>> {
    if given.is_empty() {
        return Ok(None);
    }
    ensure!(
        given.len() == ballots.len(),
        "--answer is needed once for each of {} ballots, not {} times. {}",
        ballots.len(),
        given.len(),
        how_to_answer(ballots)
    );
    let read = |(ballot, text): (&Ballot, &String)| {
        plan::option(&ballot.options, text).with_context(|| match ballot.label.as_str() {
            "" => "--answer".to_owned(),
            label => format!("--answer for “{label}”"),
        })
    };
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

#[cfg(test)]
mod tests {
    use ostrakon_decide::Function;

    use super::*;

    fn ballot(label: &str, options: [&str; 2]) -> Ballot {
        let (label, options) = (label.to_owned(), options.map(str::to_owned).to_vec());
        Ballot { label, options, function: Function::Majority, assumed: 0 }
    }

    #[test]
    fn whoever_does_not_say_what_or_how_is_told_the_choices_and_an_example() {
        let one = [ballot("", ["no", "yes"])];
        let told = how_to_answer(&one);
        assert!(told.contains("The options: 1 no, 2 yes\n"), "{told}");
        assert!(told.ends_with("ostrakon decide answer LINK --answer 1"), "{told}");
        let two = [ballot("place", ["by the river", "hill"]), ballot("Sunday", ["no", "yes"])];
        let told = answers(&two, &["hill".into()]).unwrap_err().to_string();
        assert!(told.contains("each of 2 ballots, not 1 times"), "{told}");
        assert!(told.contains("place: 1 by the river, 2 hill\n  Sunday: 1 no, 2 yes\n"), "{told}");
        assert!(told.ends_with("LINK --answer 1 --answer 1"), "{told}");
        let wrong = answers(&two, &["lake".into(), "yes".into()]).unwrap_err();
        let told = format!("{wrong:#}");
        assert!(told.contains("--answer for “place”: “lake” is none of the options"), "{told}");
        assert_eq!(answers(&two, &["2".into(), "yes".into()]).unwrap(), Some(vec![1, 1]));
    }
}
