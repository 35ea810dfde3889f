//! `ostrakon decide create`.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use ostrakon_client::asking::{Bearer, Drafted, called, told_apart};
use ostrakon_crypto::Digest;
use ostrakon_decide::draft::gathering::Request;
use ostrakon_decide::{Chain, Draft, Invitation, JoinLink, Link, Warning, warnings};
use serde::Serialize;

use super::State;
use super::plan::{self, Asked, NamedAccount, Plan, PlannedBallot};
use crate::client::decision::refused;
use crate::client::joining::Joining;
use crate::client::{Account, Deployment, beginning, http_client, origin};
use crate::{output, secret};

/// Options of `decide create`.
#[derive(clap::Args)]
pub struct Options {
    /// Any one of the servers: scheme, host and port.
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    server: String,
    /// The digest of the servers, if you know it from elsewhere; otherwise what the server says of
    /// itself and the others is believed.
    #[arg(long, value_name = "DIGEST", value_parser = digest)]
    servers: Option<Digest>,
    /// A file with a token, where the server asks for one.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Everything in one file, TOML or JSON: `question`, `people`, `seconds`,
    /// `accept_seconds`, `all_needed`, `quorum`, `threshold`, and a
    /// list `ballots` of `label`, `options`, `function`, `assumed`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["question", "option", "function", "person", "people", "assumed", "seconds", "threshold", "accept_seconds", "all_needed", "quorum"])]
    file: Option<PathBuf>,
    /// Begins with those whom you have approved of all who asked by this join link, beside those
    /// who are named otherwise.
    #[arg(long, value_name = "LINK", value_parser = secret::link::<JoinLink>)]
    join: Option<JoinLink>,
    /// What is asked.
    #[arg(long, required_unless_present_any = ["file", "join"])]
    question: Option<String>,
    /// An option; once for each [default: no, yes]
    #[arg(long, value_name = "TEXT")]
    option: Vec<String>,
    /// What is computed of the answers.
    #[arg(long, default_value = "majority", long_help = plan::FUNCTIONS)]
    function: String,
    /// The option that counts for whoever stays away [default: the first]
    #[arg(long, value_name = "OPTION")]
    assumed: Option<String>,
    /// Somebody who is asked; once for each. With an account: `NAME,KEY`.
    #[arg(long, value_name = "NAME")]
    person: Vec<String>,
    /// A list of people, one on each line: `NAME` or `NAME,KEY`.
    #[arg(long, value_name = "FILE")]
    people: Option<PathBuf>,
    /// Seconds until the deadline: a week unless given.
    #[arg(long, default_value_t = 7 * 24 * 3600)]
    seconds: u64,
    /// Seconds until when to accept [default: half of the time]
    #[arg(long, value_name = "SECONDS")]
    accept_seconds: Option<u64>,
    /// Ends it without a result if somebody has not accepted by then, instead of going on without
    /// them.
    #[arg(long)]
    all_needed: bool,
    /// How many must answer for a result; with fewer nothing is opened [default: half of the
    /// people, and at least three]
    #[arg(long, value_name = "NUMBER")]
    quorum: Option<u16>,
    /// How many of the three servers together can stand in for whoever stays away: 2 or 3; with 0
    /// there is no result if somebody does. Where all must answer, as of two or three people, none
    /// stands in.
    #[arg(long, default_value_t = 2)]
    threshold: u8,
    #[command(flatten)]
    state: State,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

fn digest(text: &str) -> Result<Digest, String> {
    Digest::from_hex(text).ok_or_else(|| "a digest has 64 lower-case hexadecimal digits".to_owned())
}

/// A decision that has begun.
pub struct Created {
    /// The link without an invitation.
    pub link: Link,
    /// The links by person.
    pub links: Vec<(String, Link)>,
    /// What can come of it otherwise than it seems: sentences.
    pub warnings: Vec<String>,
}

/// What a creator should know of a decision that has begun.
fn warned(chain: &Chain) -> Vec<String> {
    let draft = chain.draft();
    let sentence = |warning: &Warning| match warning {
        Warning::TwoPeople => {
            "Of two people each can often tell the other's answer by the result.".to_owned()
        }
        Warning::LoneAnswer { ballot } => format!(
            "A result of ballot {} comes out only if exactly one person takes some option: it finds a lone answer.",
            ballot + 1
        ),
    };
    // Who asked for it need not be told.
    let all_must = (chain.needs_all() && !draft.all_needed).then(|| {
        "All must take part and answer: if somebody does not, there is no result.".to_owned()
    });
    let warnings = warnings(draft, draft.people.len());
    all_must.into_iter().chain(warnings.iter().map(sentence)).collect()
}

#[derive(Serialize)]
struct CreatedJson {
    id: String,
    link: String,
    people: Vec<PersonJson>,
}

/// Somebody who is asked, with the link.
#[derive(Serialize)]
pub struct PersonJson {
    /// The name.
    pub name: String,
    /// The link for this person.
    pub link: String,
}

impl Options {
    fn plan(&self) -> Result<Plan> {
        if let Some(file) = &self.file {
            return plan::read(file).context("--file");
        }
        let mut people: Vec<Asked> = self.person.iter().map(|person| plan::asked(person)).collect();
        if let Some(file) = &self.people {
            people.extend(plan::people(file).context("--people")?);
        }
        let ballot = PlannedBallot::only(&self.option, &self.function, self.assumed.as_deref());
        let question = self.question.clone().unwrap_or_default();
        Ok(Plan {
            question,
            ballots: vec![ballot],
            people,
            seconds: self.seconds,
            accept_seconds: self.accept_seconds,
            all_needed: self.all_needed,
            quorum: self.quorum,
            threshold: self.threshold,
            gathering: None,
        })
    }
}

/// Runs the command.
///
/// # Errors
/// If the plan cannot be, or a server does not answer or refuses.
pub async fn run(options: Options) -> Result<()> {
    let mut plan = options.plan()?;
    let token =
        options.token_file.as_deref().map(secret::read).transpose().context("--token-file")?;
    let mut account = options.state.account()?;
    let deployment =
        Deployment::open(&http_client()?, &options.server, options.servers.as_ref()).await?;
    let mut joining = match &options.join {
        Some(link) => Some(add_who_joined(link.clone(), &account, &mut plan).await?),
        None => None,
    };
    let created = begin(&deployment, &mut account, &plan, token.as_deref()).await?;
    if let Some(joining) = &mut joining {
        let decision = Some(created.link.decision);
        joining.say(&account.key(), |word| word.decision = decision).await?;
    }
    let people = created
        .links
        .iter()
        .map(|(name, link)| PersonJson { name: name.clone(), link: link.to_string() });
    let people: Vec<_> = people.collect();
    for warning in &created.warnings {
        eprintln!("{warning}");
    }
    if options.json {
        let (id, link) = (created.link.decision.to_hex(), created.link.to_string());
        return output::json(&CreatedJson { id, link, people });
    }
    for person in &people {
        output::message(format!("{}: {}", person.name, person.link).as_bytes())?;
    }
    eprintln!(
        "Each link lets one person take part: give it to nobody else. `decide invite` shows them again."
    );
    Ok(())
}

/// Adds to a plan those who have asked by a join link and were approved.
async fn add_who_joined(link: JoinLink, account: &Account, plan: &mut Plan) -> Result<Joining> {
    let joining = Joining::open(&http_client()?, link).await?;
    let operators = &joining.deployment.operators;
    let requests = joining.requests(&account.key()).await?;
    let admitted = |request: &&Request| {
        joining.word().is_some_and(|word| word.admitted.contains(&request.account))
    };
    let admitted: Vec<_> = requests.iter().filter(admitted).collect();
    let named = plan.people.iter().map(|asked| (asked.name().to_owned(), String::new()));
    let digits = |request: &Request| request.digits(operators).replace(' ', "");
    let joined = admitted.iter().map(|request| (request.name.trim().to_owned(), digits(request)));
    let bearers: Vec<_> = named.chain(joined).map(|(name, code)| Bearer { name, code }).collect();
    let (digits, first) = (told_apart(&bearers), plan.people.len());
    let joined = bearers[first..].iter().zip(&digits[first..]);
    for ((bearer, digits), request) in joined.zip(admitted) {
        let name = called(&bearer.name, digits);
        plan.people.push(Asked::Account(NamedAccount { name, account: request.account.to_hex() }));
    }
    if plan.question.is_empty() {
        plan.question.clone_from(&joining.gathering().question);
    }
    plan.gathering = Some(joining.link.gathering);
    Ok(joining)
}

/// Begins a decision.
///
/// # Errors
/// As [`run`].
pub async fn begin(
    deployment: &Arc<Deployment>,
    account: &mut Account,
    plan: &Plan,
    token: Option<&str>,
) -> Result<Created> {
    let digest = deployment.operators.digest;
    let Drafted { draft, invitations } = plan.draft(account.key().verifying_key(), digest)?;
    let (record, shown) =
        beginning::begin(deployment, account, &draft, &invitations, token).await?;
    let link = deployment.link(draft.id());
    let chain = Chain::begin(deployment.operators, &record).map_err(refused)?;
    let mut warnings = warned(&chain);
    if !shown {
        warnings
            .push("No second server shows it yet: its links work as soon as one does.".to_owned());
    }
    Ok(Created { links: links(&link, &draft, &invitations), warnings, link })
}

/// Everybody's link, by person.
pub fn links(
    link: &Link,
    draft: &Draft,
    invitations: &[Option<Invitation>],
) -> Vec<(String, Link)> {
    let of = |(person, invitation): (&ostrakon_decide::Person, &Option<Invitation>)| {
        (person.name.clone(), Link { invitation: invitation.clone(), ..link.clone() })
    };
    draft.people.iter().zip(invitations).map(of).collect()
}
