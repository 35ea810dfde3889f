//! Reads batches from the disk, and takes them into use.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_mixing::engine::Form;
use ostrakon_mixing::{Batch, EpochId};

use crate::core::Core;

/// How long after the database could not be asked for a batch it is asked again.
const LOAD_AGAIN: Duration = Duration::from_secs(1);

/// Why a batch cannot be taken into use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unloaded {
    /// The store does not give it.
    #[error(transparent)]
    Store(#[from] ostrakon_store::Error),
    /// The engine does not take it.
    #[error("{0}")]
    Engine(String),
}

impl Unloaded {
    /// Whether it may be there when it is asked for again: the database could not be asked.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Store(ostrakon_store::Error::Database(_)))
    }
}

impl Core {
    /// Reads a batch from disk.
    pub(crate) async fn load_batch(
        &self,
        number: u64,
        form: Form,
    ) -> Result<Box<dyn Batch>, Unloaded> {
        let bytes = self.store.batch(number).await?;
        let engine = Arc::clone(self.engine(form.engine).map_err(Unloaded::Engine)?);
        let load = self.platform.blocking(move || engine.load(number, form.shape, &bytes));
        let failed = || Unloaded::Engine("the engine failed while it read the batch".to_owned());
        load.await.ok_or_else(failed)?.map_err(Unloaded::Engine)
    }
}

/// Takes an epoch's batch into use.
pub(crate) async fn load(core: Arc<Core>, epoch: EpochId) {
    let collecting = || {
        let world = core.world();
        let room = world.rooms.get(&epoch.room)?;
        let collecting = room.collecting(epoch.number)?;
        Some(room.context(epoch.number, collecting.batch, collecting.minimum))
    };
    let (context, loaded) = loop {
        let Some(context) = collecting() else { return };
        match core.load_batch(context.batch, context.form()).await {
            Err(error) if error.may_pass() => {
                tracing::warn!(batch = context.batch, %error, "a batch cannot be read; trying again");
                core.platform.sleep(LOAD_AGAIN).await;
            }
            loaded => break (context, loaded),
        }
    };
    match loaded {
        Ok(batch) => {
            // The epoch may have been sealed or voided meanwhile: nobody would ask for the
            // batch any more, or let go of it.
            let late = core.change(|world| {
                let room = world.rooms.get(&epoch.room);
                let collecting = room.and_then(|room| room.collecting(epoch.number));
                if collecting.is_none_or(|collecting| collecting.batch != context.batch) {
                    return Some(batch);
                }
                core.loaded.put(context.batch, batch);
                world.touch(&epoch.room);
                None
            });
            drop(late);
        }
        Err(error) => {
            tracing::error!(batch = context.batch, %error, "a batch cannot be used");
            let dropped = crate::state::announcement::Body::BatchDropped { number: context.batch };
            if let Err(error) = core.announce(dropped).await {
                tracing::error!(%error, "the loss of a batch cannot be announced");
            }
        }
    }
}
