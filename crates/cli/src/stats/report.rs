//! `ostrakon stats report`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use ostrakon_computation::{Draft, Link};
use ostrakon_crypto::{Secret, SigningKey};
use ostrakon_stats::{BadPart, BadValue, Form, Part, Places, Question, Value};
use serde::Serialize;

use super::{key, terms};
use crate::client::{Asked, http_client, survey};
use crate::{failure, output, secret, system};

/// Options of `stats report`.
#[derive(clap::Args)]
pub struct Options {
    /// The link that was sent to you, or `-` or `@FILE`.
    #[arg(value_parser = secret::link::<Link>)]
    link: Link,
    /// The number, or `-` or `@FILE`. It leaves this program encrypted, in parts that are worth
    /// something only together.
    #[arg(value_parser = secret::argument, required_unless_present = "things")]
    #[arg(allow_negative_numbers = true)]
    number: Option<String>,
    /// The group that you belong to, if the question names groups: its name or its number, or `-`
    /// or `@FILE`.
    #[arg(long, value_name = "NAME", value_parser = secret::argument)]
    group: Option<String>,
    /// Instead of a number: a file with one thing on each line, if the question asks for lists.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["number", "group"])]
    things: Option<PathBuf>,
    /// The file with the key that the question's roster lists, as `stats key` made it.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
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
    let Options { mut link, number, group, things, key, keep, yes, json } = options;
    if let Some(path) = key {
        // The link for everybody and a key of the roster are as good as an invitation.
        link.invitation = Some(key::read(&path)?);
    }
    let asked = Asked::of(&http_client()?, &link).await?;
    let draft = asked.draft(&link.computation).await?;
    let path = match keep {
        Some(path) => path,
        None => survey::directory("reported")?.join(survey::file_name(&link)),
    };
    let servers = asked.committee.members.len();
    let made = match survey::handed_in(&path, servers)? {
        Some(made) => {
            eprintln!("handing in again what was kept; the number given now is not looked at");
            made
        }
        None => {
            let value = match things {
                Some(path) => Value::Items(lines(&path)?, places(&asked, &draft).await?),
                None => value(&number.unwrap_or_default(), group_in(&draft, group.as_deref())?)?,
            };
            let made = sign(&asked, &draft, &link, &value, yes)?;
            // Whatever happens from here on, the same bytes go to all members.
            survey::keep_first(&path, made, servers)?
        }
    };
    let whole = (&made.input, &made.announced[..]);
    let receipts = asked
        .hand_in(&link.computation, whole, |_, _| ())
        .await
        .map_err(|error| survey::untaken(error, &path))?;
    survey::keep_input(&path, &made, receipts)?;
    if json {
        return output::json(&Reported { servers, kept: path.display().to_string() });
    }
    output::line(&format!("reported: all {servers} servers have signed that they hold it"))
}

fn consider(question: &Question, yes: bool) -> Result<()> {
    let Question { text, minimum, statistics, .. } = question;
    let what: Vec<String> = statistics.iter().map(terms::words).collect();
    let noise = match terms::noise(question) {
        Some(noise) => format!("with noise, {noise}"),
        None => "exactly".to_owned(),
    };
    let what = format!("of at least {minimum} reports, {noise}: {}", what.join(", "));
    let own = Some("your number");
    let proposal = survey::Proposal { title: text, what: &what, minimum: *minimum, own };
    survey::consider(&proposal, yes)
}

/// The number of the group that somebody belongs to, if the question has groups.
fn group_in(draft: &Draft, given: Option<&str>) -> Result<Option<u16>> {
    let form = ostrakon_stats::asked::question(draft)?.form;
    ensure!(
        given.is_some() || !matches!(form, Form::Grouped { .. }),
        "--group: say to which group you belong: {}",
        terms::names(&draft.title).join(", ")
    );
    given.map(|given| terms::group(&draft.title, given)).transpose()
}

/// A number, of somebody in a group if there are some.
fn value(number: &str, group: Option<u16>) -> Result<Value> {
    let Ok(number) = number.trim().parse() else {
        bail!("{number:?} is no whole number of 0 or more")
    };
    Ok(group.map_or(Value::Number(number), |group| Value::Grouped { group, number }))
}

/// Where things fall, by what all members show.
async fn places(asked: &Asked, draft: &Draft) -> Result<Places> {
    let question = ostrakon_stats::asked::Asked::of(draft, &asked.committee)?;
    if !matches!(question.question.form, Form::Items { .. }) {
        bail!(BadValue::Kind(question.question.form.asks_for()));
    }
    let parts = asked.parts(&draft.id()).await?;
    let parts = parts
        .into_iter()
        .enumerate()
        .map(|(member, part)| serde_json::from_value::<Part>(part).map_err(|_| BadPart(member)));
    let places = parts.collect::<Result<Vec<_>, _>>().and_then(|parts| question.places(&parts));
    places.map_err(|BadPart(member)| {
        let name = &asked.committee.members[member].name;
        failure::unproven(format!(
            "{name} does not show its part of what lists are hashed under: nothing was reported"
        ))
    })
}

/// The things in a file, each once.
fn lines(path: &Path) -> Result<Vec<Vec<u8>>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{} cannot be read", path.display()))?;
    let things: BTreeSet<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Ok(things.into_iter().map(|thing| thing.as_bytes().to_vec()).collect())
}

fn sign(
    asked: &Asked,
    draft: &Draft,
    link: &Link,
    value: &Value,
    yes: bool,
) -> Result<survey::Made> {
    let question = ostrakon_stats::asked::Asked::of(draft, &asked.committee)?;
    consider(&question.question, yes)?;
    ensure!(
        yes || !question.question.reads_all_at_once(),
        "a circuit of the asker's own may tell your number; --yes reports all the same"
    );
    let key = match &link.invitation {
        Some(invitation) => invitation.key(),
        None => SigningKey::from_seed(&system::random()),
    };
    ensure!(
        draft.admits(&key.verifying_key()),
        "this question is for invited people only; use the link that was sent to you, or --key if \
         a key of yours is in its roster"
    );
    let randomness = Secret::new(system::random());
    let input = question.report(value, &key, &randomness)?;
    let announced = asked.announce(&link.computation, &input, &key);
    Ok(survey::Made { input, announced })
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use ostrakon_computation::ComputationId;
    use ostrakon_crypto::Digest;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn what_is_reported_is_taken_from_files() {
        let directory = tempfile::tempdir().unwrap();
        let committee = Digest([1; 32]);
        let computation = ComputationId(Digest([2; 32]));
        let origin = "http://127.0.0.1:7200".to_owned();
        let link = Link { origin, committee, computation, invitation: None };
        let file = |name: &str, text: String| {
            std::fs::write(directory.path().join(name), text).unwrap();
            format!("@{}", directory.path().join(name).display())
        };
        let [link, number, group] = [
            file("link", link.to_string()),
            file("number", "31\n".into()),
            file("group", "north\n".into()),
        ];
        let line = ["report", &link, &number, "--group", &group];
        let Options { link, number, group, .. } = Line::try_parse_from(line).unwrap().options;
        assert_eq!(link.computation, computation);
        assert_eq!((number.as_deref(), group.as_deref()), (Some("31"), Some("north")));
    }

    #[test]
    fn numbers_groups_and_lists_are_read_as_they_are_given() {
        assert_eq!(value(" 12 ", None).unwrap(), Value::Number(12));
        assert_eq!(value("12", Some(3)).unwrap(), Value::Grouped { group: 3, number: 12 });
        assert!(value("-1", None).is_err() && value("1.5", Some(0)).is_err());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("things");
        std::fs::write(&path, "b\n a\n\nb\n").unwrap();
        assert_eq!(lines(&path).unwrap(), [b"a".to_vec(), b"b".to_vec()]);
        let missing = lines(&directory.path().join("none")).unwrap_err().to_string();
        assert!(missing.contains("cannot be read"), "{missing}");
    }
}
