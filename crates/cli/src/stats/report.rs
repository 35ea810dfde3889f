//! `ostrakon stats report`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use data_encoding::BASE64URL_NOPAD;
use ostrakon_computation::{Draft, Input, Link};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_stats::{Question, Value};
use serde::{Deserialize, Serialize};

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

/// Reports below which a sum says what somebody has said.
const FEW: u32 = 3;

/// What is kept of a report. The number is not.
#[derive(Serialize, Deserialize)]
struct Kept {
    input: String,
    receipts: Vec<ostrakon_computation::Statement>,
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
        None => survey::directory("reported")?.join(file_name(&link)),
    };
    let input = match survey::kept(&path)? {
        Some(text) => {
            let kept: Kept =
                serde_json::from_str(&text).with_context(|| path.display().to_string())?;
            let whole = kept.receipts.len() == asked.committee.members.len();
            ensure!(
                !whole,
                "you have reported already ({}); a report cannot be changed",
                path.display()
            );
            eprintln!("handing in again what was kept; the number given now is not looked at");
            let bytes = BASE64URL_NOPAD.decode(kept.input.as_bytes()).ok();
            bytes
                .and_then(|bytes| Input::decode(&bytes))
                .with_context(|| format!("{} is damaged", path.display()))?
        }
        None => {
            let input = sign(&asked, &draft, &link, &number, yes)?;
            // Whatever happens from here on, the same bytes go to all members.
            let text = serde_json::to_string(&kept(&input, Vec::new()))?;
            secret::replace(&path, &text)?;
            input
        }
    };
    let receipts = asked.hand_in(&link.computation, &input).await.with_context(|| {
        format!("the report is kept in {}; the same command hands it in again", path.display())
    })?;
    secret::replace(&path, &serde_json::to_string(&kept(&input, receipts))?)?;
    let servers = asked.committee.members.len();
    if json {
        return output::json(&Reported { servers, kept: path.display().to_string() });
    }
    output::line(&format!("reported: all {servers} servers have signed that they hold it"))
}

fn kept(input: &Input, receipts: Vec<ostrakon_computation::Statement>) -> Kept {
    Kept { input: BASE64URL_NOPAD.encode(&input.encode()), receipts }
}

/// One file for each person of each question.
fn file_name(link: &Link) -> String {
    let person = link.invitation.as_ref().map(|invitation| invitation.key().verifying_key());
    let person = person.map_or_else(|| "anyone".to_owned(), |key| key.to_hex()[..16].to_owned());
    format!("{}-{person}.json", link.computation.0.to_hex())
}

/// Tells what the number is for before it leaves, and refuses where an answer would be somebody's
/// number.
fn consider(question: &Question, yes: bool) -> Result<()> {
    let Question { text, minimum, statistics, epsilon, .. } = question;
    let what: Vec<String> = statistics.iter().map(terms::words).collect();
    let noise = match epsilon {
        Some(epsilon) => format!("with noise, epsilon {}", f64::from(*epsilon) / 1000.0),
        None => "exactly".to_owned(),
    };
    eprintln!(
        "{}\nof at least {minimum} reports, {noise}: {}",
        output::harmless(text.as_bytes()),
        what.join(", ")
    );
    ensure!(
        *minimum >= FEW || yes,
        "with a minimum of {minimum} the result may be your number; --yes reports all the same"
    );
    Ok(())
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
