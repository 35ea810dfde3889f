//! Taking part in a decision: accepting an invitation, answering, and making sure that the answer
//! has arrived.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use ostrakon_crypto::{Signature, SigningKey};
use ostrakon_decide::keys::shares::new_key;
use ostrakon_decide::keys::{GRACE, MOST_LIFETIME, STOCK_THRESHOLD, certify, stock_digest};
use ostrakon_decide::{CertifiedKey, Chain, HelperKey, Receipt, Serial, Stage, Visit};
use ostrakon_party::wire;
use ostrakon_protocol::decisions::{DepositReceipt, StockLevel};
use serde::Serialize;

use super::account::Account;
use super::connection::Pauses;
use super::decision::{Decision, Deployment, Handed, refused, verify};
use crate::failure;
use crate::system;

/// What is asked of a stock.
#[derive(Serialize)]
struct StockQuery {
    time: u64,
    signature: Signature,
}

/// How long a server may wait for news before it answers that there is none.
const WAIT: Duration = Duration::from_secs(20);
/// How often the other servers are asked whether they have an answer.
const CONFIRMATIONS: u32 = 12;
/// How often somebody else may be faster.
const ATTEMPTS: u32 = 1000;

/// A fresh one-time key of the account, kept until `expires`, shared among the servers and
/// certified.
///
/// # Errors
/// If one of the three servers does not answer, or its answer is not genuine.
pub async fn fresh_key(
    deployment: &Deployment,
    key: &SigningKey,
    (threshold, expires): (u8, u64),
) -> Result<CertifiedKey> {
    let mut helpers = Vec::new();
    if threshold > 0 {
        for connection in &deployment.connections {
            helpers.push(connection.get::<HelperKey>("helper", &()).await.map_err(failure::call)?);
        }
    }
    let (operators, terms) = (&deployment.operators, (threshold, expires));
    let serial = Serial(system::random());
    let new = new_key(key, serial, terms, operators, &helpers, &mut system::entropy());
    let new = new.map_err(|error| failure::unproven(error.to_string()))?;
    let mut receipts = Vec::new();
    for (connection, deposit) in deployment.connections.iter().zip(&new.deposits) {
        let answer =
            connection.post_bytes::<DepositReceipt>("shares", None, wire::encode(deposit)).await;
        receipts.push(answer.map_err(failure::call)?.receipt);
    }
    certify(key, new.statement, receipts, operators)
        .map_err(|error| failure::unproven(error.to_string()))
}

/// Fills the stock of one-time keys with which the account can be asked while it is away.
///
/// # Errors
/// If a server does not answer or refuses.
pub async fn refill(deployment: &Deployment, account: &Account) -> Result<()> {
    let (key, now) = (account.key(), system::unix_time());
    let owner = key.verifying_key();
    let path = format!("accounts/{}", owner.to_hex());
    let signature = key.sign(&stock_digest(&deployment.operators, &owner, now));
    let query = StockQuery { time: now, signature };
    let connection = &deployment.connections[super::decision::SEQUENCER];
    let level: StockLevel = connection.get(&path, &query).await.map_err(failure::call)?;
    let mut keys = Vec::new();
    for _ in level.stock..level.wanted.min(ostrakon_decide::keys::STOCK as u64) {
        // An hour less than the longest, for clocks that differ.
        let terms = (STOCK_THRESHOLD, now.saturating_add(MOST_LIFETIME - 3600));
        keys.push(fresh_key(deployment, &key, terms).await?);
    }
    if !keys.is_empty() {
        let taken =
            deployment.post::<StockLevel>(&format!("{path}/keys"), None, wire::encode(&keys)).await;
        taken.map_err(failure::call)?;
    }
    Ok(())
}

/// What was read, which is something.
pub fn chain(visit: &Visit) -> Result<&Chain> {
    visit.chain().context("the servers show no record of this decision")
}

/// Sees to it that the account takes part, after everything was read; by the link's invitation if
/// there is one.
///
/// # Errors
/// If there is no place for the account, or a server does not answer.
pub async fn accept(decision: &Decision, account: &Account, visit: &mut Visit) -> Result<()> {
    let key = account.key_in(chain(visit)?);
    if chain(visit)?.person(&key.verifying_key()).is_some() {
        return Ok(());
    }
    ensure!(chain(visit)?.stage() == Stage::Accepting, "nobody can join this decision any more");
    // Asked first, so that no key is made for somebody who has no place.
    let draft = chain(visit)?.draft();
    let terms = (draft.threshold, draft.deadline.saturating_add(2 * GRACE));
    let certified = fresh_key(&decision.deployment, &key, terms).await?;
    for _ in 0..ATTEMPTS {
        let invitation = decision.link.invitation.as_ref();
        let record = visit
            .accept(&key, certified.clone(), invitation, system::unix_time())
            .map_err(refused)?;
        let handed = decision.hand_in(&record, visit).await?;
        if !matches!(handed, Handed::Overtaken)
            || chain(visit)?.person(&key.verifying_key()).is_some()
        {
            return Ok(());
        }
    }
    bail!("others are always faster; try again")
}

/// Waits until answers are taken.
///
/// # Errors
/// If the decision ends before, or a server shows what cannot be.
pub async fn until_answers_are_taken(decision: &Decision, visit: &mut Visit) -> Result<()> {
    let mut pauses = Pauses::new(Duration::from_millis(200), Duration::from_secs(5));
    let mut parties = (0..decision.deployment.connections.len()).cycle();
    while chain(visit)?.stage() == Stage::Accepting {
        // One server alone cannot have this wait for ever.
        let party = parties.next().unwrap_or(super::decision::SEQUENCER);
        decision.news(party, visit, 0, WAIT).await;
        match decision.read_on(visit, |_| {}).await {
            Ok(_) => {}
            Err(error) if failure::is_unreachable(&error) => pauses.pause().await,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Answers, after what was read and verified. The answers are on disk before the first byte leaves,
/// and are the only ones that this device will ever give.
///
/// # Errors
/// If answers are not taken, the device has answered otherwise, or the sequencer does not answer:
/// then the same command answers again.
pub async fn answer(
    decision: &Decision,
    account: &mut Account,
    visit: &mut Visit,
    answers: &[u8],
) -> Result<()> {
    let key = account.key_in(chain(visit)?);
    for _ in 0..ATTEMPTS {
        verify(visit)?;
        if chain(visit)?
            .person(&key.verifying_key())
            .is_some_and(|place| has_answered(visit, place))
        {
            return Ok(());
        }
        let made = account.remember(|memory| {
            tokio::task::block_in_place(|| {
                visit.answer(&key, answers, memory, system::unix_time(), &mut system::entropy())
            })
        })?;
        match decision.hand_in(&made.map_err(refused)?, visit).await? {
            Handed::Taken | Handed::Held => return Ok(()),
            Handed::Overtaken => {}
        }
    }
    bail!("others are always faster; try again, with the same answers")
}

fn has_answered(visit: &Visit, place: u16) -> bool {
    visit.chain().is_some_and(|chain| chain.people()[usize::from(place)].answered().is_some())
}

/// Reads on until two servers have signed for the account's answers; only then they are forgotten.
///
/// # Errors
/// If no two have after a while: the same command asks again.
pub async fn confirm(
    decision: &Decision,
    account: &mut Account,
    visit: &mut Visit,
) -> Result<Receipt> {
    let key = account.key_in(chain(visit)?).verifying_key();
    for attempt in 0..CONFIRMATIONS {
        match decision.read_on(visit, |_| {}).await {
            Ok(_) => {}
            Err(error) if failure::is_unreachable(&error) => {}
            Err(error) => return Err(error),
        }
        let mut memory = account.memory().clone();
        visit.remember(&key, &mut memory).map_err(refused)?;
        if let Some(mut receipt) = visit.confirmed(&key, &mut memory) {
            decision.sign_receipt(&mut receipt).await;
            if receipt.is_complete() {
                account.remember(|kept| *kept = memory)?;
                return Ok(receipt);
            }
        }
        let other = 1 + (attempt as usize) % (decision.deployment.connections.len() - 1);
        decision.news(other, visit, 0, Duration::from_secs(2)).await;
    }
    Err(failure::unreachable(
        "the answer was sent, but no two servers have signed for it yet: give the same command again to be sure of it",
    ))
}
