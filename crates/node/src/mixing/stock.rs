//! Fills the stock: prepares the batches that the scheduler plans, one after another, in the order
//! planned.
//!
//! All servers work on the same batch, since the order is that of the scheduler's log. A server
//! that cannot or will not have a batch announces that it dropped it, whereupon the others stop: a
//! batch serves only if all hold it. The order of writing: file, index, announcement. After a
//! restart the messages of a preparation are gone. A batch that this server does not hold, or did
//! not say that it holds, is dropped; of one that it holds it says so again, and whoever still
//! prepares that one drops it ([`crate::recovery`]). The number of a dropped batch is never used
//! again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ostrakon_mixing::engine::Form;
use ostrakon_party::PartyId;
use tokio::sync::mpsc;

use crate::core::Core;
use crate::disk::audit;
use crate::ledger::evidence::Evidence;
use crate::state::Held;
use crate::state::announcement::Body;

/// A preparation that takes longer is given up: the rest of the stock shall not wait for ever for a
/// server that was cut off in the middle of one. Dropping a batch harms nothing.
const LONGEST_PREPARATION: Duration = Duration::from_secs(600);

/// Prepares batches until the server stops.
pub(crate) async fn run(core: Arc<Core>, mut planned: mpsc::UnboundedReceiver<u64>) {
    while let Some(number) = planned.recv().await {
        let info = core.world().batches.get(&number).cloned();
        let Some(info) = info.filter(|info| info.is_supply() && info.held == Held::Nothing) else {
            continue;
        };
        let body = match prepare(&core, number, info.form).await {
            Ok(()) => Body::BatchReady { number },
            Err(reason) => {
                tracing::warn!(batch = number, reason, "a batch is not prepared");
                Body::BatchDropped { number }
            }
        };
        if core.world().batches.get(&number).is_some_and(|info| info.dropped.contains(core.me())) {
            continue;
        }
        if let Err(error) = core.announce(body).await {
            tracing::error!(batch = number, %error, "the fate of a batch cannot be announced");
        }
    }
}

async fn prepare(core: &Arc<Core>, number: u64, form: Form) -> Result<(), String> {
    let used = core.store.stock_bytes().await.map_err(|error| error.to_string())?;
    if used >= core.config.stock.bytes {
        return Err(format!(
            "the stock has {used} bytes, as many as `stock.bytes` allows; raise it or close rooms"
        ));
    }
    let engine = core.engine(form.engine)?;
    let work = engine.prepare(number, form.shape, core.platform.random());
    let watching = Arc::clone(core);
    let limit = core.platform.sleep(LONGEST_PREPARATION);
    let given_up = async move {
        let lost = |world: &crate::state::World| {
            world
                .batches
                .get(&number)
                .is_none_or(|info| !info.dropped.is_empty() || info.interrupted)
        };
        tokio::select! {
            biased;
            () = watching.wait_until(lost) => {}
            () = limit => {}
        }
    };
    let Some(result) = core.on_engine_thread(work, given_up).await else {
        return Err(
            "another server dropped it or started again, or has been silent for too long".into()
        );
    };
    let bytes = match result {
        Ok(bytes) => bytes,
        Err(fault) => {
            core.keep_fault(fault.culprit, &fault.what, Evidence::Engine(fault.evidence.clone()))
                .await;
            return Err(fault.to_string());
        }
    };
    core.store.put_batch(number, bytes).await.map_err(|error| error.to_string())?;
    core.counters.prepared.fetch_add(1, Ordering::Relaxed);
    core.change(|world| {
        if let Some(info) = world.batches.get_mut(&number) {
            info.held = Held::File;
        }
    });
    Ok(())
}

/// Puts on record that a server no longer has what it said it has. It may have lost a disk; who
/// does so again and again keeps rooms from being mixed, and leaves nothing else behind.
pub(crate) async fn note_withdrawn(core: &Core, number: u64, party: PartyId) {
    core.counters.withdrawn[party].fetch_add(1, Ordering::Relaxed);
    let name = core.config.servers.get(party.index()).map_or("?", |server| &server.name);
    let detail = format!("{party} ({name}) dropped batch {number}, which it had said it holds");
    tracing::warn!(batch = number, %party, "a server dropped a batch that it had said it holds");
    let now = core.platform.now_ms();
    audit::note(&core.store, now, "server", "batch withdrawn", &detail).await;
}

/// Forgets the messages of a batch's preparation.
pub(crate) fn retire(core: &Core, number: u64) {
    let form = core.world().batches.get(&number).map(|info| info.form);
    if let Some(form) = form
        && let Ok(engine) = core.engine(form.engine)
    {
        engine.retire_batch(number, form.shape);
    }
}

/// Deletes a batch that will not be used (any more).
pub(crate) async fn discard(core: &Core, number: u64) {
    retire(core, number);
    // It is in use if its epoch was voided; those who are just using it finish first.
    drop(core.loaded.remove(number));
    let delete = async {
        core.store.discard_batch(number).await?;
        core.store.delete_batch(number).await
    };
    if let Err(error) = delete.await {
        tracing::error!(batch = number, %error, "a batch cannot be deleted");
    }
    core.change(|world| {
        if let Some(info) = world.batches.get_mut(&number) {
            info.held = Held::Nothing;
        }
    });
}
