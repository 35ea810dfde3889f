//! What servers do about decisions by themselves: the scheduler accepts for people from their
//! stock, lets it go on without who is late, closes and lapses; the others say when it is time for
//! that; every server examines what is closed, opens it, and erases what it kept for it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ostrakon_crypto::VerifyingKey;
use ostrakon_decide::keys::GRACE;
use ostrakon_decide::{
    CertifiedKey, Chain, Content, DecisionId, Held, HeldShare, KeyName, Opening, Refused,
    SignedRecord, Stage, examine,
};
use ostrakon_job::{Failed, SCHEDULER};
use ostrakon_party::{PartyId, wire};

use crate::holding;
use crate::server::DecisionServer;
use crate::state::{Decision, Decisions, is_takeable};
use crate::word::{RECORDS, Word};

/// How often a server looks at the dates.
const LOOK: Duration = Duration::from_secs(1);
/// Every so many looks it looks at the stocks, too, and at what has expired.
const LOOKS_AT_STOCKS: u64 = 60;
/// The longest sleep before a server looks at its clock again.
const DOZE: Duration = Duration::from_secs(2);
/// How long to wait before something is tried again that failed.
const AGAIN: Duration = Duration::from_secs(5);
/// Records that the store is asked for at once.
const READ_RECORDS: u32 = 16;

/// Looks at the dates, at stocks, and at what has expired, until the server stops.
pub(crate) async fn run(server: &Arc<DecisionServer>) {
    count_shares(server).await;
    for look in 0u64.. {
        if look.is_multiple_of(LOOKS_AT_STOCKS) {
            forget_what_expired(server).await;
            // At first also whatever was under way when the process ended.
            erase_what_is_over(server).await;
        }
        if server.me() == SCHEDULER {
            keep_order(server, look).await;
        } else {
            holding::say_what_is_due(server).await;
        }
        server.port.sleep(LOOK).await;
    }
}

async fn count_shares(server: &DecisionServer) {
    match server.keep().shares(None).await {
        Ok(shares) => server.limits.shares.store(shares, Ordering::Relaxed),
        Err(error) => tracing::error!(%error, "shares of one-time keys cannot be counted"),
    }
}

/// Shares that nobody used in time, what was drawn for drafts that were never begun, and join links
/// whose time is over.
async fn forget_what_expired(server: &DecisionServer) {
    let (now, keep) = (server.now(), server.keep());
    match keep.forget_shares(now).await {
        Ok(0) => {}
        Ok(_) => count_shares(server).await,
        Err(error) => tracing::error!(%error, "expired shares cannot be deleted"),
    }
    if let Err(error) = keep.forget_drafts(now).await {
        tracing::error!(%error, "what was drawn for drafts cannot be deleted");
    }
    if let Err(error) = keep.forget_links(now).await {
        tracing::error!(%error, "join links whose time is over cannot be deleted");
    }
}

/// Steps 7 and 14: what the scheduler does at every look.
async fn keep_order(server: &Arc<DecisionServer>, look: u64) {
    // Mostly this was done when the decision or the keys came; unless the others were away, or this
    // server was stopped.
    if look.is_multiple_of(LOOKS_AT_STOCKS) {
        for id in waiting_for_stock(server, |_| true) {
            fill_from_stock(server, id).await;
        }
    }
    for id in holding::held_back(server) {
        holding::take_what_is_held(server, id).await;
    }
    for (id, chain, content) in due(server) {
        append(server, id, &chain, content).await;
    }
}

/// The decisions that wait for a key of such an account.
fn waiting_for_stock(
    server: &DecisionServer,
    whose: impl Fn(&VerifyingKey) -> bool,
) -> Vec<DecisionId> {
    let for_it = |chain: &Chain| chain.waits_for_stock().iter().any(|(_, account)| whose(account));
    let waits = |decision: &Decision| decision.chain().is_some_and(&for_it);
    server.read(|decisions| {
        decisions.all().filter(|(_, decision)| waits(decision)).map(|(id, _)| *id).collect()
    })
}

/// Step 14: what is to be appended by now. Who is left out is so when the others vouch for it, and
/// nothing that they hold waits.
fn due(server: &DecisionServer) -> Vec<(DecisionId, Chain, Content)> {
    let now = server.now();
    server.read(|decisions| {
        let due = |(id, decision): (&DecisionId, &Decision)| {
            let chain = decision.chain()?;
            let content = chain.due(now)?;
            let all_there = matches!(&content, Content::Close { absent } if absent.is_empty());
            let vouched = chain.awaits().is_some_and(|date| decision.vouching.all_say_due(date));
            let takeable = |held: &Held| is_takeable(held, &decisions.spent);
            let waits = decision.vouching.waiting(&chain.head()).any(takeable);
            (all_there || (vouched && !waits)).then(|| (*id, chain.clone(), content))
        };
        decisions.all().filter_map(due).collect()
    })
}

/// Appends a record of the scheduler's own, if it can.
async fn append(server: &DecisionServer, id: DecisionId, chain: &Chain, content: Content) {
    let what = match &content {
        Content::Close { .. } => Some("close decision"),
        Content::Lapse => Some("let decision lapse"),
        Content::Begin { .. } => Some("let decision go on without who is late"),
        _ => None,
    };
    let record = chain.next(server.port.identity(), server.now(), content);
    if let Err(error) = server.say(id, Word::Record(record.encode())).await {
        // Another record has come in between, or the others are away: the next look decides afresh.
        return tracing::debug!(%error, "a record of a decision could not be announced");
    }
    if let Some(what) = what {
        server.note("server", what, &id.to_hex()).await;
    }
}

/// Step 7, for every decision that waits for this account.
pub(crate) async fn serve_account(server: &Arc<DecisionServer>, owner: VerifyingKey) {
    for id in waiting_for_stock(server, |account| *account == owner) {
        fill_from_stock(server, id).await;
    }
}

/// Step 7: accepts for the people of a decision who have a key in stock.
pub(crate) async fn fill_from_stock(server: &Arc<DecisionServer>, id: DecisionId) {
    let Ok(Some(chain)) = server.chain(&id) else { return };
    for (person, account) in chain.waits_for_stock() {
        let stock = match server.keep().stock(&account).await {
            Ok(stock) => stock,
            Err(error) => return tracing::error!(%error, "a stock of one-time keys cannot be read"),
        };
        let keys = stock.iter().filter_map(|key| wire::decode::<CertifiedKey>(key).ok());
        let draft = chain.draft();
        let fits = |key: &CertifiedKey| {
            let lasts = key.statement.expires >= draft.deadline.saturating_add(GRACE);
            key.statement.threshold == draft.threshold && lasts
        };
        let Some(key) = keys.into_iter().find(fits) else {
            continue;
        };
        // Somebody else's record may have come in between: then the chain is another one.
        let Ok(Some(chain)) = server.chain(&id) else { return };
        append(server, id, &chain, Content::Accept { person, key, claim: None }).await;
    }
}

/// Step 15: examines a closed decision and opens it, however often it takes.
pub(crate) async fn open(server: &DecisionServer, id: DecisionId) {
    loop {
        match try_to_open(server, &id).await {
            Ok(Attempt::Done) => return erase(server, id).await,
            Ok(Attempt::Wait(time)) => server.port.sleep(time).await,
            Ok(Attempt::Refused(refused)) => {
                refuse(server, id, refused).await;
                // It will never be opened here.
                return erase(server, id).await;
            }
            Err(error) => {
                tracing::error!(%error, "a decision cannot be opened now");
                server.port.sleep(AGAIN).await;
            }
        }
    }
}

/// Says to whoever asks, and to the operator, why it is not opened.
async fn refuse(server: &DecisionServer, id: DecisionId, refused: Refused) {
    tracing::error!(decision = id.to_hex(), %refused, "a decision is not opened");
    let detail = format!("{}: {refused}", id.to_hex());
    server.note("server", "refuse to open decision", &detail).await;
    server.limits.refusals.lock().expect("no panic while held").insert(id, refused.to_string());
    server.port.touch(&id.0);
}

enum Attempt {
    Done,
    Wait(Duration),
    Refused(Refused),
}

fn stopping() -> Failed {
    Failed("the process is shutting down".into())
}

fn cannot_be() -> Failed {
    Failed("a decision is opened after its close, by three servers".into())
}

async fn try_to_open(server: &DecisionServer, id: &DecisionId) -> Result<Attempt, Failed> {
    let me = server.me();
    let is_opened = |decision: &Decision| decision.opened.contains(&me);
    if server.read(|decisions| decisions.get(id).is_none_or(is_opened)) {
        return Ok(Attempt::Done);
    }
    if let Some(deadline) = server.read(|decisions| stands_in_until(decisions, id)) {
        let now = server.now();
        if now < deadline {
            return Ok(Attempt::Wait(Duration::from_secs(deadline - now).min(DOZE)));
        }
    }
    let _turn = server.limits.examining.acquire().await.map_err(|_| stopping())?;
    let records = all_records(server, id).await?;
    let operators = server.read(|decisions| decisions.operators).ok_or_else(cannot_be)?;
    let mut drawn = server.randomness();
    let examined = server.port.blocking(move || examine(operators, &records, &mut drawn)).await;
    let examined = match examined {
        Some(Ok(examined)) => examined,
        Some(Err(refused)) => return Ok(Attempt::Refused(refused)),
        None => return Err(stopping()),
    };
    if examined.may_open(server.now()).is_err() {
        // The clock was put back.
        return Ok(Attempt::Wait(AGAIN));
    }
    let (close, _) = examined.chain().close().ok_or_else(cannot_be)?;
    let names = examined.absent_keys();
    let refused = |reason: &str| {
        Ok(Attempt::Refused(Refused::Opening { party: me.0, reason: reason.into() }))
    };
    let Some(layer) = server.keep().layer(id).await? else {
        return refused(
            "this server has not kept what it drew for its layer: the decision was begun too long after that",
        );
    };
    let Some(bound) = server.keep().bind_opening(id, &close.0, &names).await? else {
        return refused("this server has opened another close of it before");
    };
    let shares = shares(server, &bound).await?;
    let mut drawn = server.randomness();
    let opening =
        server.port.blocking(move || examined.open(&layer.seed, me, &shares, &mut drawn)).await;
    match opening {
        Some(Ok(opening)) => {
            if opening.absent.len() < names.len() {
                note_lack(server, id, opening.absent.len(), names.len()).await;
            }
            Ok(announce_opening(server, *id, &opening).await)
        }
        Some(Err(refused)) => Ok(Attempt::Refused(refused)),
        None => Err(stopping()),
    }
}

/// Tells the operator that the server stands in for fewer people than were absent.
async fn note_lack(server: &DecisionServer, id: &DecisionId, given: usize, wanted: usize) {
    let detail = format!("{}: for {given} of {wanted} who stayed away", id.to_hex());
    tracing::warn!(detail, "a decision is opened without all shares of one-time keys");
    server.note("server", "open decision without all shares", &detail).await;
}

/// Puts on record that another server gave no part for somebody who stayed away: it has signed for
/// a share of that person's key.
pub(crate) async fn note_lacking(server: &DecisionServer, id: DecisionId, party: PartyId) {
    if party == server.me() {
        return;
    }
    let detail = format!("{}: server {} has signed for the shares", id.to_hex(), party.0);
    tracing::warn!(detail, "another server opened a decision without all shares of one-time keys");
    server.note("server", "parts for absentees missing", &detail).await;
}

async fn announce_opening(server: &DecisionServer, id: DecisionId, opening: &Opening) -> Attempt {
    match server.port.say(id.0, Word::Opened(opening.encode()).encode()).await {
        Ok(()) => Attempt::Done,
        Err(error) => {
            tracing::error!(%error, party = %server.me(), "an opening could not be announced");
            Attempt::Wait(AGAIN)
        }
    }
}

/// Step 17: erases what was kept for a decision that is over here: its shares first, then what was
/// drawn for its layer. If it fails, the next look at what has expired tries again.
pub(crate) async fn erase(server: &DecisionServer, id: DecisionId) {
    match try_to_erase(server, &id).await {
        Ok(()) => {
            server.limits.erased.lock().expect("no panic while held").insert(id);
        }
        Err(error) => {
            tracing::error!(%error, "what was kept for a decision cannot be erased now; it is tried again");
        }
    }
}

async fn try_to_erase(server: &DecisionServer, id: &DecisionId) -> Result<(), Failed> {
    let keep = server.keep();
    if keep.is_erased(id).await? {
        return Ok(());
    }
    let records = all_records(server, id).await?;
    let spent = |record: &Vec<u8>| SignedRecord::decode(record).ok()?.record.spends();
    let names: Vec<KeyName> = records.iter().filter_map(spent).collect();
    keep.erase_shares(id, &names).await?;
    keep.erase_layer(id).await
}

/// The same for all decisions that are over here, where it has not succeeded yet.
async fn erase_what_is_over(server: &DecisionServer) {
    for id in over(server) {
        erase(server, id).await;
    }
}

/// Decisions that are over here, or will never be opened here, and for which this process has not
/// erased everything.
fn over(server: &DecisionServer) -> Vec<DecisionId> {
    let me = server.me();
    let refusals = server.limits.refusals.lock().expect("no panic while held");
    let erased = server.limits.erased.lock().expect("no panic while held");
    let over = |(id, decision): &(&DecisionId, &Decision)| {
        let ended = matches!(decision.stage(), Stage::Lapsed | Stage::Cancelled);
        !erased.contains(id)
            && (ended || decision.opened.contains(&me) || refusals.contains_key(id))
    };
    server.read(|decisions| decisions.all().filter(over).map(|(id, _)| *id).collect())
}

/// The shares of these names. One that cannot be read is as good as none: the others stand in.
async fn shares(server: &DecisionServer, names: &[KeyName]) -> Result<Vec<HeldShare>, Failed> {
    let mut shares = Vec::new();
    for name in names {
        let kept = server.keep().share(name).await?;
        let read = kept.as_deref().map(HeldShare::from_bytes);
        if matches!(read, Some(None)) {
            tracing::error!("a share of a one-time key is damaged on the disk");
        }
        shares.extend(read.flatten());
    }
    Ok(shares)
}

/// The deadline of a decision that somebody was absent from.
fn stands_in_until(decisions: &Decisions, id: &DecisionId) -> Option<u64> {
    let chain = decisions.get(id)?.chain()?;
    let (_, absent) = chain.close()?;
    (!absent.is_empty()).then_some(chain.draft().deadline)
}

async fn all_records(server: &DecisionServer, id: &DecisionId) -> Result<Vec<Vec<u8>>, Failed> {
    let mut records = Vec::new();
    loop {
        let more = server.filed(id, RECORDS, (records.len() as u64, READ_RECORDS)).await?;
        let complete = more.len() < READ_RECORDS as usize;
        records.extend(more.into_iter().map(|(_, record)| record));
        if complete {
            return Ok(records);
        }
    }
}
