//! `ostrakon decide invite`.

use anyhow::{Context, Result, bail};
use ostrakon_decide::Link;
use ostrakon_decide::record::mail_digest;
use ostrakon_protocol::decisions::MailRequest;
use serde::Serialize;

use super::State;
use super::create::{PersonJson, links};
use crate::client::Decision;
use crate::failure::CallError;
use crate::{failure, output, secret};

/// Options of `decide invite`.
#[derive(clap::Args)]
pub struct Options {
    /// The decision's link; `-` takes it from standard input, `@FILE` from a file.
    #[arg(value_parser = secret::link::<Link>)]
    link: Link,
    /// Only this person.
    #[arg(long, value_name = "NAME")]
    person: Option<String>,
    /// Sends the person's link to this address, if the first server has a mail server. The address
    /// is not kept. That server reads the link, and whoever uses it first takes the place: hand it
    /// over yourself if that must not be.
    #[arg(long, value_name = "ADDRESS", requires = "person")]
    mail: Option<String>,
    /// The language of the message: en or de.
    #[arg(long, default_value = "en", value_parser = ["en", "de"])]
    locale: String,
    #[command(flatten)]
    state: State,
    /// Prints a JSON list.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// If the decision was not created on this device, or there is no such person.
pub async fn run(options: Options) -> Result<()> {
    let mut account = options.state.account()?;
    let link = Link { invitation: None, ..options.link };
    let invitations = account.invitations(&link.decision);
    let invitations = invitations
        .context("this device has not created the decision, so it has no invitations to it")?;
    let decision = super::read(link.clone(), &mut account).await?;
    let all = links(&link, decision.chain()?.draft(), &invitations);
    let wanted =
        |(name, _): &&(String, Link)| options.person.as_ref().is_none_or(|person| person == name);
    let chosen: Vec<_> = all.iter().filter(wanted).collect();
    if chosen.is_empty() {
        bail!("nobody of that name is asked");
    }
    if let Some(address) = &options.mail {
        let (name, link) = chosen[0];
        let person = all.iter().position(|(other, _)| other == name).context("found above")?;
        let (person, link) = (u16::try_from(person)?, link.to_string());
        let locale = options.locale.clone();
        let digest = mail_digest(
            &decision.deployment.operators,
            &decision.link.decision,
            person,
            address,
            &link,
            &locale,
        );
        let signature = account.key().sign(&digest);
        let request = MailRequest { person, address: address.clone(), link, locale, signature };
        return send(&decision, &request).await;
    }
    let people: Vec<_> = chosen
        .iter()
        .map(|(name, link)| PersonJson { name: name.clone(), link: link.to_string() })
        .collect();
    if options.json {
        return output::json(&people);
    }
    people.iter().try_for_each(|person| {
        output::message(format!("{}: {}", person.name, person.link).as_bytes())
    })
}

async fn send(decision: &Decision, request: &(impl Serialize + Sync)) -> Result<()> {
    let path = format!("decisions/{}/mail", decision.link.decision.to_hex());
    let sent: Result<(), CallError> =
        decision.deployment.connections[0].post_silently(&path, request).await;
    sent.map_err(failure::call)?;
    eprintln!("The mail server has taken the message.");
    Ok(())
}
