//! `ostrakon stats report`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use ostrakon_computation::{Draft, Input, Link};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_stats::{Question, Value};
use serde::Serialize;

use super::{survey, terms};
use crate::client::{Asked, http_client};
use crate::{edge, output, secret};

/// Options of `stats report`.
#[derive(clap::Args)]
pub struct Options {
    /// The link that was sent to you, or `-` or `@FILE`.
    #[arg(value_parser = secret::link::<Link>)]
    link: Link,
    /// The number, or `-` or `@FILE`. It leaves this program encrypted, in parts that are worth
    /// something only together.
    #[arg(value_parser = secret::argument)]
    number: String,
    /// Where the report is kept until all members have it, and afterwards as a proof [default: a
    /// file for each link in the state directory of `ostrakon`]
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    /// Reports although fewer than three reports could be told apart from one.
    #[arg(long)]
    yes: bool,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Reported {
    servers: usize,
    kept: String,
}

/// Runs the command.
///
/// # Errors
/// If the number is none, or a member refuses it or does not answer.
pub async fn run(options: Options) -> Result<()> {
    let Options { link, number, keep, yes, json } = options;
    let asked = Asked::of(&http_client()?, &link).await?;
    let draft = asked.draft(&link.computation).await?;
    let path = match keep {
        Some(path) => path,
        None => survey::directory("reported")?.join(survey::file_name(&link)),
    };
    let servers = asked.committee.members.len();
    let input = match survey::handed_in(&path, servers)? {
        Some(input) => {
            eprintln!("handing in again what was kept; the number given now is not looked at");
            input
        }
        None => {
            let input = sign(&asked, &draft, &link, &number, yes)?;
            // Whatever happens from here on, the same bytes go to all members.
            survey::keep_first(&path, input, servers)?
        }
    };
    let receipts = asked.hand_in(&link.computation, &input).await.with_context(|| {
        format!("the report is kept in {}; the same command hands it in again", path.display())
    })?;
    survey::keep_input(&path, &input, receipts)?;
    if json {
        return output::json(&Reported { servers, kept: path.display().to_string() });
    }
    output::line(&format!("reported: all {servers} servers have signed that they hold it"))
}

fn consider(question: &Question, yes: bool) -> Result<()> {
    let Question { text, minimum, statistics, epsilon, .. } = question;
    let what: Vec<String> = statistics.iter().map(terms::words).collect();
    let noise = match epsilon {
        Some(epsilon) => format!("with noise, epsilon {}", f64::from(*epsilon) / 1000.0),
        None => "exactly".to_owned(),
    };
    let what = format!("of at least {minimum} reports, {noise}: {}", what.join(", "));
    let own = Some("your number");
    let proposal = survey::Proposal { title: text, what: &what, minimum: *minimum, own };
    survey::consider(&proposal, yes)
}

fn sign(asked: &Asked, draft: &Draft, link: &Link, number: &str, yes: bool) -> Result<Input> {
    let question = ostrakon_stats::asked::Asked::of(draft, &asked.committee)?;
    consider(&question.question, yes)?;
    let number: u64 = match number.trim().parse() {
        Ok(number) => number,
        Err(_) => bail!("{number:?} is no whole number of 0 or more"),
    };
    let key = match &link.invitation {
        Some(invitation) => invitation.key(),
        None => SigningKey::from_seed(&edge::random()),
    };
    ensure!(
        draft.admits(&key.verifying_key()),
        "this question is for invited people only; use the link that was sent to you"
    );
    let randomness = Secret::new(edge::random());
    Ok(question.report(&Value::Number(number), &key, &randomness)?)
}
