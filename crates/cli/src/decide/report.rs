//! What is known of a decision, for people and for programs.

use std::time::{Duration, UNIX_EPOCH};

use anyhow::Result;
use ostrakon_decide::opening::archive::{Part, ReportedPerson};
use ostrakon_decide::operators::SERVERS;
use ostrakon_decide::{Ballot, Chain, Meaning, Opening, Outcome, Report, Stage};
use ostrakon_party::PartyId;
use serde::Serialize;

use crate::output;

/// The last second of the year 9999.
const END_OF_9999: u64 = 253_402_300_799;

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

/// A time in seconds since 1970, in words.
fn time(seconds: u64) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds.min(END_OF_9999)))
}

/// The dates that count now, or when it ended, and how many must answer.
fn dates(report: &Report) -> Vec<String> {
    let Report { accept_by, deadline, ended_at, quorum, .. } = report;
    let needed = || format!("nothing is opened unless at least {quorum} answer");
    match report.stage {
        Stage::Accepting => {
            let by = format!("accept by {}; answer by {}", time(*accept_by), time(*deadline));
            vec![by, needed()]
        }
        Stage::Answering => vec![format!("answer by {}", time(*deadline)), needed()],
        Stage::Closed | Stage::Lapsed | Stage::Cancelled => {
            let absent = report.people.iter().any(|person| person.part == Part::Absent);
            let all = report.stage == Stage::Closed && !absent;
            let early = |at: u64| all && at < *deadline;
            let ended = ended_at.iter().map(|at| {
                if early(*at) {
                    format!("ended early, {}: all had answered", time(*at))
                } else {
                    format!("ended {}", time(*at))
                }
            });
            ended.collect()
        }
    }
}

/// That no more answers are taken, and why; `None` as long as it is not over.
pub fn over(chain: &Chain) -> Option<String> {
    match chain.stage() {
        Stage::Accepting | Stage::Answering => None,
        Stage::Lapsed => {
            let why = lapsed(&Report::new(chain, None, &[]));
            Some(format!("it ended without a result: {why}"))
        }
        Stage::Cancelled => Some("its creator has called it off".into()),
        Stage::Closed => Some("no more answers are taken: `decide status` tells the result".into()),
    }
}

/// Why it ended without a result.
fn lapsed(report: &Report) -> String {
    let late = names(report, |part| matches!(part, Part::Invited));
    let silent = names(report, |part| matches!(part, Part::Accepted));
    let answered = |person: &&ReportedPerson| matches!(person.part, Part::Answered(_));
    if !late.is_empty() {
        format!("these did not accept in time: {late}")
    } else if report.threshold == 0 {
        format!("these stayed away, and nobody stands in: {silent}")
    } else {
        let answered = report.people.iter().filter(answered).count();
        format!("{answered} answered, and {} had to", report.quorum)
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
        Stage::Lapsed => line(&format!("it ended without a result: {}", lapsed(report)))?,
        Stage::Cancelled => line("its creator has called it off")?,
        _ => {}
    }
    report.shortage.iter().try_for_each(|text| line(&format!("there is no result: {text}")))?;
    waiting.into_iter().chain(dates(report)).try_for_each(|text| line(&text))?;
    line(&format!("{} records, head {}", report.records, report.head.to_hex()))
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::Digest;
    use ostrakon_decide::DecisionId;

    use super::*;

    /// What a decision of three people comes to.
    fn report(stage: Stage, parts: [Part; 3]) -> Report {
        let person = |(name, part): (&str, Part)| ReportedPerson {
            name: name.into(),
            part,
            verified: false,
        };
        Report {
            decision: DecisionId([0; 16]),
            servers: Digest([0; 32]),
            question: "Shall we?".into(),
            ballots: Vec::new(),
            people: ["Ada", "Ben", "Clio"].into_iter().zip(parts).map(person).collect(),
            threshold: 2,
            accept_by: 951_827_696,
            all_needed: false,
            deadline: 1_795_325_999,
            quorum: 3,
            lapses: None,
            ended_at: None,
            warnings: Vec::new(),
            stage,
            outcome: None,
            shortage: None,
            records: 1,
            head: Digest([0; 32]),
        }
    }

    #[test]
    fn the_dates_that_count_are_told() {
        let (answered, accepted) = (Part::Answered(5), Part::Accepted);
        let told = |report: &Report| dates(report).join("\n");
        let accepting = told(&report(Stage::Accepting, [accepted, accepted, Part::Invited]));
        assert!(
            accepting
                .contains("accept by Tue, 29 Feb 2000 12:34:56 GMT; answer by Sun, 22 Nov 2026")
        );
        assert!(accepting.contains("at least 3 answer"), "{accepting}");
        let answering = told(&report(Stage::Answering, [answered, accepted, accepted]));
        assert!(answering.starts_with("answer by") && !answering.contains("accept"), "{answering}");
        let mut closed = report(Stage::Closed, [answered, answered, answered]);
        closed.ended_at = Some(closed.deadline - 60);
        assert!(
            told(&closed).contains("ended early") && told(&closed).contains("all had answered")
        );
        closed.people[1].part = Part::Absent;
        assert!(!told(&closed).contains("early"));
        let endless = Report { deadline: u64::MAX, ..report(Stage::Answering, [accepted; 3]) };
        assert!(told(&endless).contains("9999"), "{}", told(&endless));
    }

    #[test]
    fn why_there_is_no_result_is_told() {
        let (answered, accepted) = (Part::Answered(5), Part::Accepted);
        let late = report(Stage::Lapsed, [accepted, Part::Invited, Part::Invited]);
        assert_eq!(lapsed(&late), "these did not accept in time: Ben, Clio");
        let few = report(Stage::Lapsed, [answered, answered, accepted]);
        assert_eq!(lapsed(&few), "2 answered, and 3 had to");
        let alone = Report { threshold: 0, ..few };
        assert_eq!(lapsed(&alone), "these stayed away, and nobody stands in: Clio");
    }

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
