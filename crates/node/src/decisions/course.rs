//! What servers do about decisions by themselves: the scheduler accepts for people from their
//! stock, lets it go on without who is late, closes and lapses; the others say when it is time for
//! that; every server examines what is closed, opens it, and erases what it kept for it.
//! `docs/spec/decide.md` is the specification; its steps are named here.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ostrakon_crypto::{Digest, Secret, VerifyingKey};
use ostrakon_decide::keys::GRACE;
use ostrakon_decide::{
    CertifiedKey, Chain, Content, Date, DecisionId, Held, HeldShare, Opening, Refused,
    SignedRecord, Stage, examine,
};
use ostrakon_party::{PartyId, wire};
use ostrakon_store::{Error, OneTimeName};

use crate::core::Core;
use crate::decisions::holding;
use crate::decisions::records::randomness;
use crate::disk::{Disk, audit};
use crate::state::announcement::Body;
use crate::state::decisions::{Decision, is_takeable};
use crate::state::{SCHEDULER, World};

/// How often a server looks at the dates.
const LOOK: Duration = Duration::from_secs(1);
/// Every so many looks it looks at the stocks, too, and at what has expired.
const LOOKS_AT_STOCKS: u64 = 60;
/// How long a draft may wait for being begun after a server has drawn its layer, in seconds.
const DRAFT_SECONDS: u64 = 24 * 3600;
/// The longest sleep before a server looks at its clock again.
const DOZE: Duration = Duration::from_secs(2);
/// How long to wait before something is tried again that failed.
const AGAIN: Duration = Duration::from_secs(5);
/// Records that the store is asked for at once.
const READ_RECORDS: u32 = 16;

/// Looks at the dates, at stocks, and at what has expired, until the server stops.
pub(crate) async fn run(core: Arc<Core>) {
    for look in 0u64.. {
        if look.is_multiple_of(LOOKS_AT_STOCKS) {
            forget_what_expired(&core).await;
            erase_what_is_over(&core).await;
        }
        if core.me() == SCHEDULER {
            keep_order(&core, look).await;
        } else {
            holding::say_what_is_due(&core).await;
        }
        core.platform.sleep(LOOK).await;
    }
}

/// Shares that nobody used in time, what was drawn for drafts that were never begun, and join links
/// whose time is over.
async fn forget_what_expired(core: &Core) {
    let now = core.platform.now_ms() / 1000;
    match core.store.forget_shares(now).await {
        Ok(0) => {}
        Ok(_) => match core.store.held_shares().await {
            Ok(shares) => core.decisions.shares.store(shares, Ordering::Relaxed),
            Err(error) => tracing::error!(%error, "shares of one-time keys cannot be counted"),
        },
        Err(error) => tracing::error!(%error, "expired shares cannot be deleted"),
    }
    if let Err(error) = core.store.forget_layers(now.saturating_sub(DRAFT_SECONDS)).await {
        tracing::error!(%error, "what was drawn for drafts cannot be deleted");
    }
    if let Err(error) = core.store.forget_gatherings(now).await {
        tracing::error!(%error, "join links whose time is over cannot be deleted");
    }
}

/// Steps 7 and 14: what the scheduler does at every look.
async fn keep_order(core: &Arc<Core>, look: u64) {
    // Mostly this was done when the decision or the keys came; unless the others were away, or this
    // server was stopped.
    if look.is_multiple_of(LOOKS_AT_STOCKS) {
        for id in waiting_for_stock(core, |_| true) {
            fill_from_stock(Arc::clone(core), id).await;
        }
    }
    for id in holding::held_back(core) {
        holding::take_what_is_held(Arc::clone(core), id).await;
    }
    for (id, chain, content) in due(core) {
        append(core, id, &chain, content).await;
    }
}

/// The decisions that wait for a key of such an account.
fn waiting_for_stock(core: &Core, whose: impl Fn(&VerifyingKey) -> bool) -> Vec<DecisionId> {
    let world = core.world();
    let for_it = |chain: &Chain| chain.waits_for_stock().iter().any(|(_, account)| whose(account));
    let waiting =
        world.decisions.kept.iter().filter(|(_, decision)| decision.chain().is_some_and(for_it));
    waiting.map(|(id, _)| *id).collect()
}

/// Step 14: what is to be appended by now. Who is left out is so when the others vouch for it, and
/// nothing that they hold waits.
fn due(core: &Core) -> Vec<(DecisionId, Chain, Content)> {
    let now = core.platform.now_ms() / 1000;
    let world = core.world();
    let due = |(id, decision): (&DecisionId, &Decision)| {
        let chain = decision.chain()?;
        let content = chain.due(now)?;
        let all_there = matches!(&content, Content::Close { absent } if absent.is_empty());
        let vouched = chain.awaits().is_some_and(|date| decision.vouching.all_say_due(date));
        let takeable = |held: &Held| is_takeable(held, &world.decisions.spent);
        let waits = decision.vouching.waiting(&chain.head()).any(takeable);
        (all_there || (vouched && !waits)).then(|| (*id, chain.clone(), content))
    };
    world.decisions.kept.iter().filter_map(due).collect()
}

/// Appends a record of the scheduler's own, if it can.
async fn append(core: &Arc<Core>, id: DecisionId, chain: &Chain, content: Content) {
    let now = core.platform.now_ms();
    let what = match &content {
        Content::Close { .. } => Some("close decision"),
        Content::Lapse => Some("let decision lapse"),
        Content::Begin { .. } => Some("let decision go on without who is late"),
        _ => None,
    };
    let record = chain.next(&core.identity, now / 1000, content);
    if let Err(error) = core.announce_record(id, record.encode()).await {
        // Another record has come in between, or the others are away: the next look decides afresh.
        return tracing::debug!(%error, "a record of a decision could not be announced");
    }
    if let Some(what) = what {
        audit::note(&core.store, now, "server", what, &id.to_hex()).await;
    }
}

/// Step 7, for every decision that waits for this account.
pub(crate) async fn serve_account(core: Arc<Core>, owner: VerifyingKey) {
    for id in waiting_for_stock(&core, |account| *account == owner) {
        fill_from_stock(Arc::clone(&core), id).await;
    }
}

/// Step 7: accepts for the people of a decision who have a key in stock.
pub(crate) async fn fill_from_stock(core: Arc<Core>, id: DecisionId) {
    let Ok(Some(chain)) = core.chain(&id) else { return };
    for (person, account) in chain.waits_for_stock() {
        let stock = match core.store.stock_keys(&account.0).await {
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
        let Ok(Some(chain)) = core.chain(&id) else { return };
        append(&core, id, &chain, Content::Accept { person, key, claim: None }).await;
    }
}

/// Step 15: examines a closed decision and opens it, however often it takes.
pub(crate) async fn open(core: Arc<Core>, id: DecisionId) {
    loop {
        match try_to_open(&core, &id).await {
            Ok(Attempt::Done) => return erase(&core, id).await,
            Ok(Attempt::Wait(time)) => core.platform.sleep(time).await,
            Ok(Attempt::Refused(refused)) => {
                refuse(&core, id, refused).await;
                // It will never be opened here.
                return erase(&core, id).await;
            }
            Err(error) => {
                tracing::error!(%error, "a decision cannot be opened now");
                core.platform.sleep(AGAIN).await;
            }
        }
    }
}

/// Says to whoever asks, and to the operator, why it is not opened.
async fn refuse(core: &Core, id: DecisionId, refused: Refused) {
    tracing::error!(decision = id.to_hex(), %refused, "a decision is not opened");
    let detail = format!("{}: {refused}", id.to_hex());
    audit::note(&core.store, core.platform.now_ms(), "server", "refuse to open decision", &detail)
        .await;
    core.decisions.refusals.lock().expect("no panic while held").insert(id, refused.to_string());
    core.change(|world| world.version += 1);
}

enum Attempt {
    Done,
    Wait(Duration),
    Refused(Refused),
}

async fn try_to_open(core: &Arc<Core>, id: &DecisionId) -> Result<Attempt, Error> {
    let me = core.me();
    let opened = |world: &World| {
        world.decisions.kept.get(id).is_none_or(|decision| decision.opened.contains(&me))
    };
    if opened(&core.world()) {
        return Ok(Attempt::Done);
    }
    if let Some(deadline) = stands_in_until(&core.world(), id) {
        let now = core.platform.now_ms() / 1000;
        if now < deadline {
            return Ok(Attempt::Wait(Duration::from_secs(deadline - now).min(DOZE)));
        }
    }
    let _turn = core
        .decisions
        .examining
        .acquire()
        .await
        .map_err(|_| Error::State("the process is shutting down"))?;
    let records = all_records(&core.store, id).await?;
    let operators = core.world().operators();
    let operators = operators.ok_or(Error::State("decisions are made with three servers"))?;
    let mut drawn = randomness(&core.platform);
    let examined = core.platform.blocking(move || examine(operators, &records, &mut drawn)).await;
    let examined = match examined {
        Some(Ok(examined)) => examined,
        Some(Err(refused)) => return Ok(Attempt::Refused(refused)),
        None => return Err(Error::State("the process is shutting down")),
    };
    if examined.may_open(core.platform.now_ms() / 1000).is_err() {
        // The clock was put back.
        return Ok(Attempt::Wait(AGAIN));
    }
    let (close, _) =
        examined.chain().close().ok_or(Error::State("a decision is opened after its close"))?;
    let names: Vec<OneTimeName> =
        examined.absent_keys().iter().map(|name| (name.owner.0, name.serial.0)).collect();
    let layer = core.store.layer(&id.0).await?;
    let Some(layer) = layer.and_then(|drawn| <[u8; 32]>::try_from(drawn.seed).ok()) else {
        let reason = "this server has not kept what it drew for its layer: the decision was begun too long after that";
        return Ok(Attempt::Refused(Refused::Opening { party: me.0, reason: reason.into() }));
    };
    let layer = Secret::new(layer);
    let Some(bound) = core.store.bind_opening(&id.0, &close.0, &names).await? else {
        let reason = "this server has opened another close of it before";
        return Ok(Attempt::Refused(Refused::Opening { party: me.0, reason: reason.into() }));
    };
    let shares = shares(core, &bound).await?;
    let mut drawn = randomness(&core.platform);
    let opening =
        core.platform.blocking(move || examined.open(&layer, me, &shares, &mut drawn)).await;
    match opening {
        Some(Ok(opening)) => {
            if opening.absent.len() < names.len() {
                note_lack(core, id, opening.absent.len(), names.len()).await;
            }
            announce_opening(core, *id, me, &opening).await
        }
        Some(Err(refused)) => Ok(Attempt::Refused(refused)),
        None => Err(Error::State("the process is shutting down")),
    }
}

/// Tells the operator that the server stands in for fewer people than were absent.
async fn note_lack(core: &Core, id: &DecisionId, given: usize, wanted: usize) {
    let detail = format!("{}: for {given} of {wanted} who stayed away", id.to_hex());
    tracing::warn!(detail, "a decision is opened without all shares of one-time keys");
    audit::note(
        &core.store,
        core.platform.now_ms(),
        "server",
        "open decision without all shares",
        &detail,
    )
    .await;
}

/// Puts on record that another server gave no part for somebody who stayed away: it has signed for
/// a share of that person's key.
pub(crate) async fn note_lacking(core: &Core, id: DecisionId, party: PartyId) {
    if party == core.me() {
        return;
    }
    let detail = format!("{}: server {} has signed for the shares", id.to_hex(), party.0);
    tracing::warn!(detail, "another server opened a decision without all shares of one-time keys");
    let now = core.platform.now_ms();
    audit::note(&core.store, now, "server", "parts for absentees missing", &detail).await;
}

async fn announce_opening(
    core: &Arc<Core>,
    id: DecisionId,
    me: PartyId,
    opening: &Opening,
) -> Result<Attempt, Error> {
    match core.announce(Body::DecisionOpened { decision: id, opening: opening.encode() }).await {
        Ok(_) => Ok(Attempt::Done),
        Err(error) => {
            tracing::error!(%error, party = %me, "an opening could not be announced");
            Ok(Attempt::Wait(AGAIN))
        }
    }
}

/// Step 17: erases what was kept for a decision that is over here: its shares first, then what was
/// drawn for its layer. If it fails, the next look at what has expired tries again.
pub(crate) async fn erase(core: &Core, id: DecisionId) {
    let erased = async {
        if core.store.is_erased(&id.0).await? {
            return Ok(());
        }
        let records = all_records(&core.store, &id).await?;
        let spent = |record: &Vec<u8>| SignedRecord::decode(record).ok()?.record.spends();
        let names: Vec<OneTimeName> =
            records.iter().filter_map(spent).map(|name| (name.owner.0, name.serial.0)).collect();
        core.store.erase_shares(&id.0, &names).await?;
        core.store.erase_layer(&id.0).await
    };
    let erased: Result<(), Error> = erased.await;
    match erased {
        Ok(()) => {
            core.decisions.erased.lock().expect("no panic while held").insert(id);
        }
        Err(error) => {
            tracing::error!(%error, "what was kept for a decision cannot be erased now; it is tried again");
        }
    }
}

/// The same for all decisions that are over here, where it has not succeeded yet.
async fn erase_what_is_over(core: &Core) {
    for id in over(core) {
        erase(core, id).await;
    }
}

/// Decisions that are over here, or will never be opened here, and for which this process has not
/// erased everything.
fn over(core: &Core) -> Vec<DecisionId> {
    let (world, me) = (core.world(), core.me());
    let refusals = core.decisions.refusals.lock().expect("no panic while held");
    let erased = core.decisions.erased.lock().expect("no panic while held");
    let over = |(id, decision): &(&DecisionId, &Decision)| {
        let ended = matches!(decision.stage(), Stage::Lapsed | Stage::Cancelled);
        !erased.contains(id)
            && (ended || decision.opened.contains(&me) || refusals.contains_key(id))
    };
    world.decisions.kept.iter().filter(over).map(|(id, _)| *id).collect()
}

/// The shares of these names. One that cannot be read is as good as none: the others stand in.
async fn shares(core: &Core, names: &[OneTimeName]) -> Result<Vec<HeldShare>, Error> {
    let mut shares = Vec::new();
    for name in names {
        let row = core.store.held_share(name).await?;
        let read = row.as_deref().map(HeldShare::from_bytes);
        if matches!(read, Some(None)) {
            tracing::error!("a share of a one-time key is damaged on the disk");
        }
        shares.extend(read.flatten());
    }
    Ok(shares)
}

/// The deadline of a decision that somebody was absent from.
fn stands_in_until(world: &World, id: &DecisionId) -> Option<u64> {
    let chain = world.decisions.kept.get(id)?.chain()?;
    let (_, absent) = chain.close()?;
    (!absent.is_empty()).then_some(chain.draft().deadline)
}

async fn all_records(store: &Disk, id: &DecisionId) -> Result<Vec<Vec<u8>>, Error> {
    let mut records = Vec::new();
    loop {
        let rows = store.decision_records(&id.0, records.len() as u32, READ_RECORDS).await?;
        let complete = rows.len() < READ_RECORDS as usize;
        records.extend(rows);
        if complete {
            return Ok(records);
        }
    }
}

/// Rebuilds the decisions from the tables, at a start. `base` is the number of the generation's
/// first announcement.
pub(crate) async fn restore(store: &Disk, world: &mut World, base: u64) -> Result<(), Error> {
    for row in store.decisions().await? {
        let id = DecisionId(row.id);
        if row.created < base {
            world.decisions.ended.insert(id);
            continue;
        }
        for body in all_records(store, &id).await? {
            let signed = SignedRecord::decode(&body).map_err(|_| damaged())?;
            world.extend_decision(&signed).map_err(|_| damaged())?;
        }
        let decision = world.decisions.kept.get_mut(&id).ok_or_else(damaged)?;
        decision.closed = row.closed;
        for (date, party, announcement) in store.decision_due(&row.id).await? {
            let date = Date::of(date).ok_or_else(damaged)?;
            decision.vouching.note_due(party, date, announcement);
        }
        for held in store.decision_held(&row.id).await? {
            decision.vouching.hold(Held {
                by: held.party,
                announcement: held.announcement,
                person: held.person,
                previous: Digest(held.previous),
                record: held.body,
            });
        }
        for (party, opening) in store.decision_openings(&row.id).await? {
            decision.take_opening(party, &opening);
        }
    }
    Ok(())
}

fn damaged() -> Error {
    Error::Corrupt("decision_records.body")
}

/// After a start: counts the shares, and opens what was closed.
pub(crate) async fn take_up(core: &Arc<Core>) -> Result<(), Error> {
    core.decisions.shares.store(core.store.held_shares().await?, Ordering::Relaxed);
    let closed: Vec<DecisionId> = {
        let world = core.world();
        let unopened = world
            .decisions
            .kept
            .iter()
            .filter(|(_, decision)| decision.closed.is_some() && !decision.is_opened());
        unopened.map(|(id, _)| *id).collect()
    };
    for id in closed {
        core.spawn(open(Arc::clone(core), id));
    }
    // Whatever was under way when the process ended.
    erase_what_is_over(core).await;
    let waiting: Vec<DecisionId> = {
        let world = core.world();
        let all = world.decisions.kept.iter();
        all.filter(|(_, one)| one.chain().is_some()).map(|(id, _)| *id).collect()
    };
    for id in waiting {
        core.spawn(holding::take_what_is_held(Arc::clone(core), id));
    }
    Ok(())
}
