//! What servers do about decisions by themselves: the scheduler accepts for people from their
//! stock, closes and lapses; every server examines what is closed, and opens it.
//! `docs/spec/decide.md` is the specification; its steps are named here.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ostrakon_crypto::VerifyingKey;
use ostrakon_decide::{
    CertifiedKey, Chain, Content, DecisionId, HeldShare, Opening, Refused, SignedRecord, examine,
};
use ostrakon_party::{PartyId, wire};
use ostrakon_store::{Error, OneTimeName};

use crate::announcement::Body;
use crate::audit;
use crate::core::Core;
use crate::deciding::randomness;
use crate::disk::Disk;
use crate::rooms::{SCHEDULER, World};

/// How often the scheduler looks at the deadlines.
const LOOK: Duration = Duration::from_secs(1);
/// Every so many looks it looks at the stocks, too.
const LOOKS_AT_STOCKS: u64 = 60;
/// The longest sleep before a server looks at its clock again.
const DOZE: Duration = Duration::from_secs(2);
/// How long to wait before something is tried again that failed.
const AGAIN: Duration = Duration::from_secs(5);
/// Records that the store is asked for at once.
const READ_RECORDS: u32 = 16;

/// Looks at the deadlines and at stocks, until the server stops.
pub(crate) async fn run(core: Arc<Core>) {
    if core.me() != SCHEDULER {
        return;
    }
    for look in 0u64.. {
        // Mostly this was done when the decision or the keys came; unless the others were away, or
        // this server was stopped.
        if look.is_multiple_of(LOOKS_AT_STOCKS) {
            for id in waiting_for_stock(&core, |_| true) {
                fill_from_stock(Arc::clone(&core), id).await;
            }
        }
        for (id, chain, content) in due(&core) {
            append(&core, id, &chain, content).await;
        }
        core.platform.sleep(LOOK).await;
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

/// Step 14: what is to be appended by now.
fn due(core: &Core) -> Vec<(DecisionId, Chain, Content)> {
    let now = core.platform.now_ms() / 1000;
    let world = core.world();
    let chains =
        world.decisions.kept.iter().filter_map(|(id, decision)| Some((id, decision.chain()?)));
    chains.filter_map(|(id, chain)| Some((*id, chain.clone(), chain.due(now)?))).collect()
}

/// Appends a record of the scheduler's own, if it can.
async fn append(core: &Arc<Core>, id: DecisionId, chain: &Chain, content: Content) {
    let now = core.platform.now_ms();
    let what = match &content {
        Content::Close { .. } => Some("close decision"),
        Content::Lapse => Some("let decision lapse"),
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
        let Some(key) =
            keys.into_iter().find(|key| key.statement.threshold == chain.draft().threshold)
        else {
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
            Ok(Attempt::Done) => return,
            Ok(Attempt::Wait(time)) => core.platform.sleep(time).await,
            Ok(Attempt::Refused(refused)) => {
                return refuse(&core, id, refused).await;
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
    let Some(bound) = core.store.bind_opening(&id.0, &close.0, &names).await? else {
        let reason = "this server has opened another close of it before";
        return Ok(Attempt::Refused(Refused::Opening { party: me.0, reason: reason.into() }));
    };
    let shares = shares(core, &bound).await?;
    let (identity, mut drawn) = (Arc::clone(&core.identity), randomness(&core.platform));
    let opening =
        core.platform.blocking(move || examined.open(&identity, me, &shares, &mut drawn)).await;
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
    Ok(())
}
