//! `ostrakon decide answer`.

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use ostrakon_decide::{Ballot, Link, Receipt, Stage};

use super::{State, plan, report};
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
    let key = account.key();
    // As it was before this visit: what has arrived meanwhile is forgotten when it is read.
    let fixed = account.memory().pending(&options.link.decision).map(<[u8]>::to_vec);
    let mut decision = super::read(options.link.clone(), &mut account).await?;
    let deployment = Arc::clone(&decision.deployment);
    let visit = visit(&options, &mut decision, &mut account, fixed);
    // The stock is filled meanwhile, once it is known that the decision can be answered.
    let (visited, filled) = tokio::join!(visit, deployment.fill_stock(key, u64::MAX));
    let receipt = visited?;
    if let Err(error) = filled {
        tracing::warn!(
            "no keys were left with which this account could be asked while it is away: {error:#}"
        );
    }
    match receipt {
        Some(receipt) => print(&receipt, options.json),
        None => {
            let chain = decision.chain()?;
            let how = how_to_answer(&chain.draft().ballots);
            eprintln!("Accepted. {}", output::harmless(how.as_bytes()));
            if chain.stage() == Stage::Accepting {
                let when = when_answers_are_taken(chain.needs_all());
                eprintln!("Not yet: {when}. With --wait it is waited for.");
            }
            Ok(())
        }
    }
}

/// Accepts, and answers if there is an answer: then the receipt. `fixed` are the answers that this
/// device has given before and does not know to have arrived.
async fn visit(
    options: &Options,
    decision: &mut Decision,
    account: &mut Account,
    fixed: Option<Vec<u8>>,
) -> Result<Option<Receipt>> {
    let id = options.link.decision;
    let answers = answers(&decision.chain()?.draft().ballots, &options.answer)?;
    if answers.is_some() && account.memory().has_answered(&id) && fixed != answers {
        bail!(
            "this device has answered, which cannot be changed any more; without --answer the receipt is shown again"
        );
    }
    takes_answers(decision)?;
    decision.accept(account).await?;
    if options.wait {
        decision.until_answers_are_taken(account).await?;
        takes_answers(decision)?;
    }
    if account.memory().has_answered(&id) && account.memory().pending(&id).is_none() {
        return decision.confirm(account).await.map(Some);
    }
    let Some(answers) = answers.or(fixed) else { return Ok(None) };
    if decision.chain()?.stage() == Stage::Accepting {
        bail!(
            "accepted; {}: come again with the same link, or give --wait",
            when_answers_are_taken(decision.chain()?.needs_all())
        );
    }
    decision.answer(account, &answers).await.map(Some)
}

/// Whether it is not over, or this account's answer is among those that were given.
fn takes_answers(decision: &Decision) -> Result<()> {
    let chain = decision.chain()?;
    let has_answered = |place: u16| chain.people()[usize::from(place)].answered().is_some();
    match report::over(chain) {
        Some(over) if !decision.visitor().person().is_some_and(has_answered) => bail!(over),
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

fn print(receipt: &Receipt, json: bool) -> Result<()> {
    if json {
        return output::json(receipt);
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
