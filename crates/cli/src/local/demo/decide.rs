//! `ostrakon demo decide`: a whole decision at real servers, with an account for each person.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use indicatif::ProgressBar;
use ostrakon_crypto::SigningKey;
use ostrakon_decide::draft::least_quorum;
use ostrakon_decide::{Link, Outcome, Stage};
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::client::decision::Onlooker;
use crate::client::{Account, Decision, Deployment, http_client};
use crate::decide::create::{Created, begin};
use crate::decide::plan::{self, Asked, Plan, PlannedBallot};
use crate::decide::report::results;
use crate::decide::verify::check;
use crate::rooms::export;
use crate::serving::processes::Processes;
use crate::serving::serve::interrupted;
use crate::serving::site::{Ports, Site};
use crate::{failure, output, system};

/// People who accept at a time.
const AT_A_TIME: usize = 8;

/// Options of `demo decide`.
#[derive(clap::Args)]
pub struct Options {
    /// How many people are asked.
    #[arg(long, value_parser = clap::value_parser!(u16).range(2..=200))]
    people: u16,
    /// What is computed of the answers.
    #[arg(long, default_value = "majority", long_help = plan::FUNCTIONS)]
    function: String,
    /// An option; once for each [default: no, yes]
    #[arg(long, value_name = "TEXT")]
    option: Vec<String>,
    /// The answers, one on each line, in words or by numbers from 1: one for each person.
    #[arg(long, value_name = "FILE")]
    answers: PathBuf,
    /// So many, those of the last lines, accept and stay away: the first option is assumed for
    /// them.
    #[arg(long, default_value_t = 0)]
    absent: u16,
    /// Seconds until the deadline, for which the servers wait if somebody stays away [default: by
    /// the number of people]
    #[arg(long)]
    seconds: Option<u64>,
    /// Keeps the whole decision in this file.
    #[arg(long, value_name = "FILE")]
    archive: Option<PathBuf>,
    /// Gives up after so many seconds.
    #[arg(long, default_value_t = 600)]
    timeout: u64,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

/// What came of it.
#[derive(Serialize)]
struct Summary {
    results: Vec<String>,
    outputs: Vec<u32>,
    people: u16,
    answered: usize,
    absent: u16,
    link: String,
    /// Milliseconds of each visit, in the order of arrival: reading, checking, answering, until a
    /// second server has the answer.
    visits_ms: Vec<f64>,
    /// From the last answer, or the deadline, to the result.
    opening_ms: f64,
    verified: bool,
}

/// Runs the demonstration.
///
/// # Errors
/// If the servers do not come to work, or the result is not the one that the answers have.
pub async fn run(options: Options) -> Result<()> {
    let plan = options.plan()?;
    let answers = answers(&options.answers, &plan.ballots[0].options, usize::from(options.people))?;
    ensure!(options.absent < options.people, "--absent: somebody must come");
    let directory = tempfile::Builder::new().prefix("ostrakon-demo-").tempdir()?;
    let site = Site::create(directory.path(), Ports::free()?)?;
    let mut processes = Processes::start(&site, None)?;
    let limit = Duration::from_secs(options.timeout);
    let decided = decide(&site, &mut processes, &options, &plan, &answers, directory.path());
    let result = tokio::select! {
        result = tokio::time::timeout(limit, decided) => {
            result.unwrap_or_else(|_| Err(anyhow::anyhow!("not done after {limit:?}; --timeout gives it more time")))
        }
        () = interrupted() => Err(anyhow::anyhow!("interrupted")),
    };
    processes.stop().await;
    result
}

impl Options {
    fn plan(&self) -> Result<Plan> {
        let ballot = PlannedBallot::only(&self.option, &self.function, None);
        let people =
            (1..=self.people).map(|number| Asked::Name(format!("Person {number}"))).collect();
        let (people_in_all, absent) = (usize::from(self.people), usize::from(self.absent));
        let quorum = least_quorum(people_in_all);
        ensure!(
            absent == 0 || people_in_all.saturating_sub(absent) >= quorum,
            "--absent: {quorum} people must answer for a result, so of {people_in_all} at most {} stay away",
            people_in_all.saturating_sub(quorum)
        );
        let by_size = if self.absent == 0 { 3600 } else { 20 + 2 * u64::from(self.people) };
        let seconds = self.seconds.unwrap_or(by_size);
        Ok(Plan {
            question: "Demonstration".to_owned(),
            ballots: vec![ballot],
            people,
            seconds,
            accept_seconds: Some(seconds * 3 / 4),
            all_needed: false,
            quorum: Some(u16::try_from(quorum)?),
            threshold: 2,
            gathering: None,
        })
    }
}

/// The file's lines as options.
fn answers(path: &Path, options: &[String], people: usize) -> Result<Vec<u8>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("--answers: {} cannot be read", path.display()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let answers = lines
        .map(|line| plan::option(options, line))
        .collect::<Result<Vec<_>>>()
        .context("--answers")?;
    ensure!(
        answers.len() == people,
        "--answers: {} has {} lines for {people} people",
        path.display(),
        answers.len()
    );
    Ok(answers)
}

async fn decide(
    site: &Site,
    processes: &mut Processes,
    options: &Options,
    plan: &Plan,
    answers: &[u8],
    directory: &Path,
) -> Result<()> {
    let http = http_client()?;
    let spinner = output::spinner("three servers set up");
    processes.ready(&http, |reason| spinner.set_message(reason)).await?;
    let deployment = Deployment::open(&http, &site.servers()[0].url, None).await?;
    let mut creator = Account::open(&directory.join("creator"))?;
    let created = begin(&deployment, &mut creator, plan, None).await?;
    spinner.finish_and_clear();
    let bar = output::bar(2 * answers.len() - usize::from(options.absent), "people's visits");
    let came = tokio::select! {
        result = come(
            &http,
            &created,
            answers,
            usize::from(options.absent),
            directory,
            &bar,
        ) => result?,
        result = processes.keep(|text| bar.suspend(|| eprintln!("{text}"))) => return result,
    };
    bar.finish_and_clear();
    let spinner = output::spinner("the servers open the result");
    let since = Instant::now();
    let (outcome, text) = tokio::select! {
        result = result(&http, &created.link) => result?,
        result = processes.keep(|text| spinner.suspend(|| eprintln!("{text}"))) => return result,
    };
    let opening_ms = since.elapsed().as_secs_f64() * 1e3;
    spinner.finish_and_clear();
    compare(options, plan, answers, &outcome)?;
    if let Some(file) = &options.archive {
        export::write(file, &text)?;
    }
    let report = check(text.as_bytes(), Some(&created.link))?;
    let summary = Summary {
        results: results(&report.ballots, &outcome),
        outputs: outcome.outputs.clone(),
        people: options.people,
        answered: came.len(),
        absent: options.absent,
        link: created.link.to_string(),
        visits_ms: came,
        opening_ms,
        verified: report.outcome == Some(outcome),
    };
    print(&summary, options.json)
}

/// Everybody accepts; then those who answer come one after the other, in a random order.
/// Milliseconds of each visit.
async fn come(
    http: &reqwest::Client,
    created: &Created,
    answers: &[u8],
    absent: usize,
    directory: &Path,
    bar: &ProgressBar,
) -> Result<Vec<f64>> {
    let turns = Arc::new(tokio::sync::Semaphore::new(AT_A_TIME));
    let mut accepting = JoinSet::new();
    for (person, (_, link)) in created.links.iter().enumerate() {
        let (http, link, home) =
            (http.clone(), link.clone(), directory.join(format!("person-{person}")));
        let (turns, bar) = (turns.clone(), bar.clone());
        accepting.spawn(async move {
            let _turn = turns.acquire().await.expect("the semaphore is never closed");
            let mut account = Account::open(&home)?;
            let mut decision = Decision::open(&http, link, account.key()).await?;
            decision.read(&mut account, |_, _| {}).await?;
            decision.accept(&mut account).await?;
            bar.inc(1);
            anyhow::Ok(())
        });
    }
    while let Some(accepted) = accepting.join_next().await {
        accepted??;
    }
    let mut order: Vec<usize> = (0..answers.len() - absent).collect();
    // Sorting by random numbers: the order of arrival.
    order.sort_by_cached_key(|_| system::random::<16>());
    let mut visits = Vec::with_capacity(order.len());
    for person in order {
        let begun = Instant::now();
        let link = created.links[person].1.clone();
        let mut account = Account::open(&directory.join(format!("person-{person}")))?;
        let mut decision = Decision::open(http, link, account.key()).await?;
        decision.read(&mut account, |_, _| {}).await?;
        decision.until_answers_are_taken(&mut account).await?;
        decision.answer(&mut account, &[answers[person]]).await?;
        visits.push(begun.elapsed().as_secs_f64() * 1e3);
        bar.inc(1);
    }
    Ok(visits)
}

/// Waits until all servers have opened; the result, and the archive's text.
async fn result(http: &reqwest::Client, link: &Link) -> Result<(Outcome, String)> {
    let device = SigningKey::from_seed(&system::random());
    let mut decision = Decision::open(http, link.clone(), device).await?;
    let mut onlooker = Onlooker::default();
    decision.read(&mut onlooker, |_, _| {}).await?;
    loop {
        if let Some(outcome) = decision.outcome()? {
            return Ok((outcome, decision.archive().to_text()));
        }
        ensure!(
            !matches!(decision.chain()?.stage(), Stage::Lapsed | Stage::Cancelled),
            "the decision ended without a result"
        );
        decision.news(&mut onlooker).await?;
    }
}

/// Checks that the result is the function's value on the answers, with the first option for those
/// who stayed away.
fn compare(options: &Options, plan: &Plan, answers: &[u8], outcome: &Outcome) -> Result<()> {
    let planned = &plan.ballots[0];
    let mut counts = vec![0u16; planned.options.len()];
    for (person, answer) in answers.iter().enumerate() {
        let came = person + usize::from(options.absent) < answers.len();
        counts[usize::from(if came { *answer } else { 0 })] += 1;
    }
    let table = plan::function(&planned.function)?.table(answers.len(), planned.options.len());
    let expected = table.get(ostrakon_onepass::composition::rank(&counts)).copied();
    if expected != outcome.outputs.first().copied() || outcome.outputs.len() != 1 {
        return Err(failure::unproven(format!(
            "the result is {:?}, not {expected:?}",
            outcome.outputs
        )));
    }
    Ok(())
}

fn print(summary: &Summary, json: bool) -> Result<()> {
    if json {
        return output::json(summary);
    }
    for result in &summary.results {
        output::line(&format!("result: {result}"))?;
    }
    let slowest = summary.visits_ms.iter().copied().fold(0.0, f64::max);
    let average = summary.visits_ms.iter().sum::<f64>() / summary.visits_ms.len() as f64;
    eprintln!(
        "{} of {} people answered; a visit took {average:.0} ms on average and {slowest:.0} ms at most, the opening {:.0} ms; \
         the archive is authentic",
        summary.answered, summary.people, summary.opening_ms
    );
    Ok(())
}
