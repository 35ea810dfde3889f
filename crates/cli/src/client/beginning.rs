//! Beginning a decision: drives [`Beginning`], which says which server is asked for what, when the
//! invitations are to be kept, and when the decision counts as begun.

use std::sync::Arc;

use anyhow::Result;
use ostrakon_client::visitor::{Beginning, BeginningAction, BeginningNews, NotBegun};
use ostrakon_crypto::Secret;
use ostrakon_decide::{Draft, Invitation, Link, SignedRecord};

use super::account::Account;
use super::connection::driver::Driver;
use super::decision::{Creator, Deployment, refused};
use crate::{failure, output, system};

/// Begins a decision, whose invitations the account keeps before there is one: the first record,
/// and whether a second server shows it. Its link is printed as soon as it has begun: what comes
/// after may fail, or be broken off.
///
/// # Errors
/// If the draft cannot be, a server does not answer or refuses, or the invitations cannot be kept.
/// If it may have begun all the same, the error names its link.
pub async fn begin(
    deployment: &Arc<Deployment>,
    account: &mut Account,
    draft: &Draft,
    invitations: &[Option<Invitation>],
    token: Option<&str>,
) -> Result<(SignedRecord, bool)> {
    let seed = Secret::new(system::random());
    let machine = Beginning::new(deployment.operators, account.key(), draft.clone(), &seed);
    let (deployment, token) = (Arc::clone(deployment), token.map(str::to_owned));
    let mut driver =
        Driver::new(machine, Arc::new(Creator { deployment: deployment.clone(), token }));
    let (id, mut record) = (draft.id(), None);
    driver.happen(Beginning::wake);
    loop {
        while let Some(action) = driver.next_other() {
            match action {
                BeginningAction::Keep => {
                    let kept = account.keep_invitations(id, invitations);
                    driver.happen(|machine, now| machine.kept(now, kept.is_ok()));
                    kept?;
                }
                BeginningAction::Forget => account.forget_invitations(&id)?,
                BeginningAction::Tell(BeginningNews::Stocked) => {}
                BeginningAction::Tell(BeginningNews::Begun(begun)) => {
                    let link = deployment.link(id).to_string();
                    eprintln!("The decision has begun: {}", output::harmless(link.as_bytes()));
                    record = Some(*begun);
                }
                BeginningAction::Tell(end @ (BeginningNews::Shown | BeginningNews::Late)) => {
                    if let Some(record) = record.take() {
                        return Ok((record, end == BeginningNews::Shown));
                    }
                }
                BeginningAction::Tell(BeginningNews::Failed(why)) => {
                    return Err(failed(&deployment, why));
                }
                BeginningAction::Tell(BeginningNews::Doubtful(why)) => {
                    return Err(doubtful(&deployment.link(id), failed(&deployment, why)));
                }
                BeginningAction::Ask(_) => unreachable!("the driver asks"),
            }
        }
        driver.turn().await;
    }
}

/// What is kept can be reached by the link, should there be the decision.
fn doubtful(link: &Link, why: anyhow::Error) -> anyhow::Error {
    why.context(format!(
        "perhaps the decision was begun all the same: before you begin it again, see whether there is one by `ostrakon decide status {link}`, and its invitations by `ostrakon decide invite {link}`"
    ))
}

fn failed(deployment: &Deployment, why: NotBegun) -> anyhow::Error {
    match why {
        NotBegun::Refused(why) => refused(why),
        NotBegun::Server { party, refusal } => deployment.said(party, Some(refusal)),
        NotBegun::Layer(party) => failure::unproven(format!(
            "{} gave a layer key that is not its own",
            deployment.origin(party)
        )),
        NotBegun::Away(party) => deployment.said(party, None),
        NotBegun::Altered => {
            failure::unproven("the server has made another decision than was asked for")
        }
        NotBegun::NotKept => anyhow::anyhow!("the invitations cannot be written down"),
    }
}

#[cfg(test)]
mod tests;
