//! Sets in motion what follows from changes of the state.

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::core::Core;
use crate::mixing::{loading, runner, stock};
use crate::ports::Drivers;
use crate::rooms::hosting;
use crate::state::Effect;

/// Does what follows from changes, in their order, until the server stops. Numbers of batches to
/// prepare go to `to_prepare`.
pub(crate) async fn run(
    core: Arc<Core>,
    drivers: Drivers,
    mut effects: mpsc::UnboundedReceiver<Effect>,
    to_prepare: mpsc::UnboundedSender<u64>,
) {
    while let Some(effect) = effects.recv().await {
        let own = Arc::clone(&core);
        match effect {
            // The receiver ends with the server.
            Effect::Prepare(number) => drop(to_prepare.send(number)),
            Effect::Retire(number) => stock::retire(&core, number),
            Effect::Discard(number) => {
                core.spawn(async move { stock::discard(&own, number).await });
            }
            Effect::Withdrawn(number, party) => {
                core.spawn(async move { stock::note_withdrawn(&own, number, party).await });
            }
            Effect::Load(epoch) => core.spawn(loading::load(own, epoch)),
            Effect::Compute(epoch) => core.spawn(runner::compute(own, epoch)),
            Effect::Job(job, deed) => core.spawn(drivers.follow(job, deed)),
            Effect::Hosted(room, number) => core.spawn(hosting::follow_up(own, room, number)),
        }
    }
}
