//! `ostrakon decide gather` and `ostrakon decide requests`: one link for all.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use ostrakon_client::JoiningPlan;
use ostrakon_client::asking::look;
use ostrakon_decide::draft::gathering::{Request, Word};
use ostrakon_decide::{Invitation, JoinLink};
use serde::Serialize;

use super::State;
use crate::client::joining::{Joining, hand_in};
use crate::client::{Deployment, http_client, origin};
use crate::{output, secret, system};

/// Options of `decide gather`.
#[derive(clap::Args)]
pub struct Options {
    /// Any one of the servers: scheme, host and port.
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    server: String,
    /// A file with a token, where the servers ask for one.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// What will be asked.
    #[arg(long)]
    question: String,
    /// Seconds for which people can ask: three days unless given, at most 60 days.
    #[arg(long, default_value_t = 3 * 24 * 3600)]
    seconds: u64,
    #[command(flatten)]
    state: State,
}

/// Makes a join link.
///
/// # Errors
/// If something in it cannot be, or no server takes it.
pub async fn run(options: Options) -> Result<()> {
    let token =
        options.token_file.as_deref().map(secret::read).transpose().context("--token-file")?;
    let key = options.state.account()?.key();
    let deployment = Deployment::open(&http_client()?, &options.server, None).await?;
    let operators = &deployment.operators;
    let link = Invitation(system::random());
    let now = system::unix_time();
    let plan = JoiningPlan {
        question: options.question,
        link: link.key().verifying_key(),
        until: now.saturating_add(options.seconds),
        nonce: system::random(),
    };
    let made = ostrakon_client::Joining::make(*operators, &key, plan, now)?;
    hand_in(&deployment, made.bytes(), token.as_deref()).await?;
    let link = JoinLink {
        origin: deployment.entrance.clone(),
        gathering: made.id(),
        servers: operators.digest,
        secret: link,
    };
    output::line(&link.to_string())?;
    eprintln!(
        "Whoever has this link can ask: `decide join`. `decide requests` shows who has, and approves; `decide create --join` begins with those whom you approved."
    );
    Ok(())
}

/// Options of `decide requests`.
#[derive(clap::Args)]
pub struct Answers {
    /// The join link that this device made; `-` takes it from standard input, `@FILE` from a file.
    #[arg(value_parser = secret::link::<JoinLink>)]
    link: JoinLink,
    /// Takes somebody in: the digits of a request, or the name if only one has it. Compare the
    /// digits with the person: everybody who has the link can give every name.
    #[arg(long, value_name = "WHO")]
    approve: Vec<String>,
    /// Takes in everybody who waits now.
    #[arg(long)]
    approve_all: bool,
    /// Does not take somebody in, or not any more.
    #[arg(long, value_name = "WHO")]
    refuse: Vec<String>,
    #[command(flatten)]
    state: State,
    /// Prints a JSON list.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct RequestJson {
    name: String,
    digits: String,
    time: u64,
    state: &'static str,
}

/// The one request that a text means: by its digits, or by its name, if no other one looks like it.
fn meant<'a>(requests: &'a [(Request, String)], who: &str) -> Result<&'a Request> {
    let plain = |text: &str| text.replace(' ', "");
    let (digits_meant, name_meant) = (plain(who), look(who));
    let is_meant = |(request, digits): &&(Request, String)| {
        plain(digits) == digits_meant || look(&request.name) == name_meant
    };
    let mut of = requests.iter().filter(is_meant);
    match (of.next(), of.next()) {
        (Some((request, _)), None) => Ok(request),
        (Some(_), Some(_)) => bail!("several have asked as “{who}”: give the digits of one"),
        (None, _) => bail!("nobody has asked as “{who}”, or with these digits"),
    }
}

/// Shows who asks, and says who is taken in.
///
/// # Errors
/// If this device did not make the link, somebody who is named has not asked, or no server answers.
pub async fn answer(options: Answers) -> Result<()> {
    let key = options.state.account()?.key();
    let mut joining = Joining::open(&http_client()?, options.link).await?;
    ensure!(
        joining.gathering().creator == key.verifying_key(),
        "this device has not made the join link: only its creator sees who asks"
    );
    let operators = joining.deployment.operators;
    let requests: Vec<_> = joining
        .requests(&key)
        .await?
        .into_iter()
        .map(|request| (request.digits(&operators), request))
        .map(|(digits, request)| (request, digits))
        .collect();
    let accounts = |named: &[String]| -> Result<Vec<_>> {
        named.iter().map(|who| Ok(meant(&requests, who)?.account)).collect()
    };
    let (mut approved, refused) = (accounts(&options.approve)?, accounts(&options.refuse)?);
    if options.approve_all {
        approved.extend(requests.iter().map(|(request, _)| request.account));
    }
    if !(approved.is_empty() && refused.is_empty()) {
        let change = |word: &mut Word| {
            for account in approved {
                word.refused.remove(&account);
                word.admitted.insert(account);
            }
            for account in refused {
                word.admitted.remove(&account);
                word.refused.insert(account);
            }
        };
        joining.say(&key, change).await?;
    }
    let state = |request: &Request| match joining.word() {
        Some(word) if word.admitted.contains(&request.account) => "approved",
        Some(word) if word.refused.contains(&request.account) => "refused",
        _ => "waiting",
    };
    let rows = requests.iter().map(|(request, digits)| RequestJson {
        name: request.name.clone(),
        digits: digits.clone(),
        time: request.time,
        state: state(request),
    });
    let rows: Vec<_> = rows.collect();
    if options.json {
        return output::json(&rows);
    }
    for RequestJson { name, digits, state, .. } in &rows {
        output::message(format!("{digits}  {state:8}  {name}").as_bytes())?;
    }
    Ok(())
}
