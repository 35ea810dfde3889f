//! What is known of a decision, for people and for programs.

use anyhow::Result;
use ostrakon_decide::archive::Part;
use ostrakon_decide::operators::SERVERS;
use ostrakon_decide::{Ballot, Chain, Meaning, Opening, Outcome, Report, Stage};
use ostrakon_party::PartyId;
use serde::Serialize;

use crate::output;

/// The servers' openings, by party.
pub type Openings = Vec<(PartyId, Opening)>;

/// A report, as JSON has it.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// One sentence for each ballot, once there is a result.
    results: Vec<String>,
    /// The servers that have opened.
    opened: Vec<u8>,
    /// What is waited for, in words; nothing at the end.
    waiting: Option<String>,
}

/// What an output of a ballot says.
pub fn meaning(ballot: &Ballot, meaning: &Meaning) -> String {
    let result = match meaning {
        Meaning::Passed(passed) => if *passed { "passed" } else { "not passed" }.to_owned(),
        Meaning::Odd(odd) => if *odd { "odd" } else { "even" }.to_owned(),
        Meaning::Option(option) => {
            ballot.options.get(usize::from(*option)).cloned().unwrap_or_default()
        }
        Meaning::Tie => "a tie".to_owned(),
        Meaning::Counts(counts) => {
            let pairs = ballot
                .options
                .iter()
                .zip(counts)
                .map(|(option, count)| format!("{option} {count}"));
            pairs.collect::<Vec<_>>().join(", ")
        }
        Meaning::Value(value) => value.to_string(),
    };
    if ballot.label.is_empty() { result } else { format!("{}: {result}", ballot.label) }
}

/// One sentence for each ballot.
pub fn results(ballots: &[Ballot], outcome: &Outcome) -> Vec<String> {
    ballots.iter().zip(&outcome.meanings).map(|(ballot, said)| meaning(ballot, said)).collect()
}

fn names(report: &Report, part: impl Fn(&Part) -> bool) -> String {
    let names =
        report.people.iter().filter(|person| part(&person.part)).map(|person| person.name.as_str());
    names.collect::<Vec<_>>().join(", ")
}

/// What is waited for, in words; `None` at the end.
fn waiting(report: &Report, openings: &Openings) -> Option<String> {
    match report.stage {
        Stage::Accepting => {
            let late = match &report.lapses {
                None => "it goes on without them when the time to accept is over".to_owned(),
                Some(reason) => format!("without them it ends without a result: {reason}"),
            };
            let names = names(report, |part| matches!(part, Part::Invited));
            Some(format!("these have not accepted: {names}; {late}"))
        }
        Stage::Answering => Some(format!(
            "these have not answered: {}",
            names(report, |part| matches!(part, Part::Accepted))
        )),
        Stage::Closed if report.outcome.is_none() && report.shortage.is_none() => {
            let missing =
                (0..SERVERS).filter(|party| !openings.iter().any(|(by, _)| by.index() == *party));
            let missing: Vec<_> = missing.map(|party| party.to_string()).collect();
            Some(format!("these servers have not opened the result: {}", missing.join(", ")))
        }
        _ => None,
    }
}

/// Prints what is known.
///
/// # Errors
/// If it cannot be printed.
pub fn print(
    chain: &Chain,
    outcome: Option<Outcome>,
    openings: &Openings,
    json: bool,
) -> Result<()> {
    show(&Report::new(chain, outcome, openings), openings, json)
}

/// Prints a report.
///
/// # Errors
/// If it cannot be printed.
pub fn show(report: &Report, openings: &Openings, json: bool) -> Result<()> {
    let results = report
        .outcome
        .as_ref()
        .map(|outcome| results(&report.ballots, outcome))
        .unwrap_or_default();
    let opened = openings.iter().map(|(party, _)| party.0).collect();
    let waiting = waiting(report, openings);
    if json {
        return output::json(&Shown { report, results, opened, waiting });
    }
    // What others wrote is shown without the characters that command terminals.
    let line = |text: &str| output::message(text.as_bytes());
    line(&report.question)?;
    for person in &report.people {
        let part = match person.part {
            Part::Removed => "removed".to_owned(),
            Part::Late => "had not accepted in time".to_owned(),
            Part::Invited => "invited".to_owned(),
            Part::Accepted => "accepted".to_owned(),
            Part::Answered(number) => format!("answered (record {number})"),
            Part::Absent => "stayed away".to_owned(),
        };
        line(&format!(
            "  {}: {part}{}",
            person.name,
            if person.verified { ", has checked everything" } else { "" }
        ))?;
    }
    for result in &results {
        line(&format!("result: {result}"))?;
    }
    match report.stage {
        Stage::Lapsed => line("it ended without a result")?,
        Stage::Cancelled => line("its creator has called it off")?,
        _ => {}
    }
    report.shortage.iter().try_for_each(|text| line(&format!("there is no result: {text}")))?;
    waiting.iter().try_for_each(|text| line(text))?;
    line(&format!("{} records, head {}", report.records, report.head.to_hex()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_told_in_the_options_words() {
        let options = vec!["red".to_owned(), "blue".to_owned()];
        let function = ostrakon_decide::Function::Tally;
        let ballot = Ballot { label: "the door".into(), options, function, assumed: 0 };
        assert_eq!(meaning(&ballot, &Meaning::Counts(vec![3, 2])), "the door: red 3, blue 2");
        assert_eq!(
            meaning(&Ballot { label: String::new(), ..ballot }, &Meaning::Option(1)),
            "blue"
        );
    }
}
