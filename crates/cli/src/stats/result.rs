//! `ostrakon stats result` and `ostrakon stats verify`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use ostrakon_computation::{Archive, Conclusion, Link, Spent};
use ostrakon_crypto::VerifyingKey;
use ostrakon_stats::asked::{self, NotStatistics, StatisticsResult};
use ostrakon_stats::{Answer, Evidence, Form, Question};
use serde::Serialize;

use super::terms;
use crate::client::computation::words;
use crate::client::{Asked, http_client};
use crate::{failure, output, secret};

/// Options of `stats result`.
#[derive(clap::Args)]
pub struct Options {
    /// The link, or `-` or `@FILE`.
    #[arg(value_parser = secret::link::<Link>)]
    link: Link,
    /// Does not wait if there is no result yet.
    #[arg(long)]
    now: bool,
    /// Keeps the result with everything that proves it, for `stats verify`.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

/// Options of `stats verify`.
#[derive(clap::Args)]
pub struct VerifyOptions {
    /// What `stats result --out` wrote.
    archive: PathBuf,
    /// The link, or `-` or `@FILE`: whose result it must be. Without it, the committee and the
    /// question that the file names are believed.
    #[arg(long, value_parser = secret::link::<Link>)]
    link: Option<Link>,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Shown<'a> {
    question: &'a str,
    /// The computation's name, the draft's digest.
    id: String,
    /// The committee's digest.
    committee: String,
    members: Vec<&'a str>,
    /// The digests of the list of inputs and of the result, which all members have signed.
    seal: String,
    result: String,
    minimum: u32,
    reports: usize,
    contradicting: usize,
    unsound: usize,
    missing: u32,
    /// What the answers have cost whoever reported, of differential privacy: ε and δ.
    #[serde(skip_serializing_if = "Option::is_none")]
    epsilon: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delta: Option<f64>,
    /// What all answers together have told of any one of those who reported, this one included, by
    /// the members' signed accounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    spent: Option<f64>,
    /// Whether an exact answer was among them, so that there is no such measure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    spent_exactly: bool,
    /// How much they let it be, if one of them has a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<f64>,
    #[serde(flatten)]
    computed: Option<Computed<'a>>,
}

#[derive(Serialize)]
struct Computed<'a> {
    answers: &'a [Answer],
    accepted: usize,
    /// Whose reports were left out, on evidence that is in the archive and was checked.
    excluded: Vec<VerifyingKey>,
}

/// Runs `stats result`.
///
/// # Errors
/// If there is no result, or it proves nothing.
pub async fn run(options: Options) -> Result<()> {
    let asked = Asked::of(&http_client()?, &options.link).await?;
    let spinner = output::spinner("asking the servers");
    let computation = options.link.computation;
    let result =
        asked.result(&computation, !options.now, |view| spinner.set_message(words(view))).await;
    spinner.finish_and_clear();
    let (archive, _) = result?;
    if let Some(path) = &options.out {
        std::fs::write(path, serde_json::to_string(&archive)?)
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    show(&archive, options.json)
}

/// Runs `stats verify`.
///
/// # Errors
/// If the archive proves nothing.
pub fn verify(options: &VerifyOptions) -> Result<()> {
    let path = options.archive.display();
    let text = std::fs::read_to_string(&options.archive)
        .with_context(|| format!("{path} cannot be read"))?;
    let archive: Archive = serde_json::from_str(&text)
        .map_err(|error| failure::unproven(format!("{path} is no archive of a result: {error}")))?;
    let verified = match &options.link {
        Some(link) => archive.verify_as(&link.computation, &link.committee),
        None => archive.verify(),
    };
    verified.map_err(|error| failure::unproven(error.to_string()))?;
    show(&archive, options.json)?;
    if !options.json {
        let names: Vec<&str> =
            archive.committee.members.iter().map(|member| member.name.as_str()).collect();
        output::line(&format!("signed by all members: {}", names.join(", ")))?;
    }
    Ok(())
}

fn in_ones(thousandths: u64) -> f64 {
    thousandths as f64 / 1000.0
}

/// The question and the result of an archive whose signatures hold.
fn read(archive: &Archive) -> Result<(Question, Option<StatisticsResult>)> {
    let result = match asked::result(archive) {
        Err(why @ NotStatistics::Excluded) => return Err(failure::unproven(why.to_string())),
        result => result?,
    };
    Ok((asked::question(&archive.draft.draft)?, result))
}

fn shown<'a>(
    archive: &'a Archive,
    question: &Question,
    result: Option<&'a StatisticsResult>,
) -> Shown<'a> {
    let (draft, id) = (&archive.draft.draft, archive.computation());
    let missing = match archive.conclusion {
        Conclusion::TooFew { missing } => missing,
        Conclusion::Reached(_) => 0,
    };
    let spent = archive.spent();
    Shown {
        question: &draft.title,
        id: id.0.to_hex(),
        committee: archive.committee.digest().to_hex(),
        members: archive.committee.members.iter().map(|member| member.name.as_str()).collect(),
        seal: archive.seal.digest(&id).to_hex(),
        result: archive.conclusion.digest(&id).to_hex(),
        minimum: draft.minimum,
        reports: result.map_or(archive.seal.inputs.len(), |result| result.accepted),
        contradicting: archive.seal.conflicts.len(),
        unsound: archive.seal.unsound.len(),
        missing,
        epsilon: question.epsilon.map(|thousandths| in_ones(thousandths.into())),
        delta: question.delta_bits().map(|bits| 0.5f64.powi(bits.try_into().unwrap_or(i32::MAX))),
        spent: spent.and_then(|spent| spent.most).map(in_ones),
        spent_exactly: spent.is_some_and(|spent| spent.most.is_none()),
        budget: spent.and_then(|spent| spent.budget).map(in_ones),
        computed: result.map(|result| Computed {
            answers: &result.answers,
            accepted: result.accepted,
            excluded: result.excluded.iter().filter_map(Evidence::reporter).collect(),
        }),
    }
}

fn show(archive: &Archive, json: bool) -> Result<()> {
    let (draft, (question, result)) = (&archive.draft.draft, read(archive)?);
    let shown = shown(archive, &question, result.as_ref());
    if json {
        return output::json(&shown);
    }
    let (reports, missing) = (shown.reports, shown.missing);
    output::line(&draft.title)?;
    let Some(result) = &result else {
        return output::line(&format!(
            "{reports} reports; {missing} more would have been needed, so nothing was computed"
        ));
    };
    if let Some(noise) = terms::noise(&question) {
        let hidden = match question.form {
            Form::Items { .. } => "thing in a report",
            _ => "report",
        };
        output::line(&format!(
            "The numbers have noise ({noise} for all together), so that no single {hidden} shows \
             in them."
        ))?;
    }
    if let Some(Spent { most, budget }) = archive.spent() {
        let limit = match budget {
            Some(budget) => format!("; the servers let it be {}", in_ones(budget)),
            None => "; the servers set no limit".to_owned(),
        };
        output::line(&match most {
            Some(most) => format!(
                "All answers so far tell of any one of those who reported at most epsilon {}{limit}",
                in_ones(most)
            ),
            None => "There is no bound on what all answers so far tell of each of those who \
                     reported: an exact one, or one about their lists, is among them"
                .to_owned(),
        })?;
    }
    let names = terms::names(&draft.title);
    result.answers.iter().try_for_each(|answer| self::answer(answer, reports, &names))?;
    let out = archive.seal.conflicts.len() + archive.seal.unsound.len() + result.excluded.len();
    let besides = if out > 0 { format!(", and {out} that did not count") } else { String::new() };
    output::line(&format!("of {reports} reports{besides}"))
}

/// Prints one answer; `names` are those of the groups, if there are some.
///
/// # Errors
/// If standard output cannot be written.
pub fn answer(answer: &Answer, reports: usize, names: &[&str]) -> Result<()> {
    let count = i64::try_from(reports.max(1))?;
    match answer {
        Answer::Quantile { thousandths: 500, value } => output::line(&format!("median: {value}")),
        Answer::Quantile { thousandths, value } => {
            output::line(&format!("quantile {thousandths} ‰: {value}"))
        }
        Answer::Sum(sum) => {
            output::line(&format!("sum: {sum}, mean: {:.2}", *sum as f64 / count as f64))
        }
        Answer::Variance { sum, squares } => {
            let (n, sum, squares) = (count as f64, *sum as f64, *squares as f64);
            let variance = (squares - sum * sum / n) / n;
            output::line(&format!(
                "mean: {:.2}, variance: {variance:.2}, standard deviation: {:.2}",
                sum / n,
                variance.max(0.0).sqrt()
            ))
        }
        Answer::Histogram(bins) => terms::histogram(bins),
        Answer::Top(places) => places
            .iter()
            .try_for_each(|place| output::line(&format!("{}: {}", place.candidate, place.count))),
        Answer::Distinct { estimate } => output::line(&format!("about {estimate} different ones")),
        Answer::Circuit(values) => (1..).zip(values).try_for_each(|(number, value)| {
            output::line(&format!("value {number} of the circuit: {value}"))
        }),
        Answer::ByGroup(groups) => groups.iter().enumerate().try_for_each(|(number, group)| {
            let name = match names.get(number) {
                Some(name) => output::harmless(name.as_bytes()),
                None => format!("group {number}"),
            };
            match &group.answer {
                Some(own) => {
                    output::line(&format!("{name}, {} reports:", group.size))?;
                    self::answer(own, usize::try_from(group.size)?, &[])
                }
                None => output::line(&format!("{name}: too few reports")),
            }
        }),
    }
}
