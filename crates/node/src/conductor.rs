//! The beat of a server: every [`BEAT`] it gives out slots, and, if it is the scheduler, takes the next decisions.
//!
//! The decisions are pure ([`crate::scheduling`]); here they get the clock and are announced.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_broadcast::room::RoomId;
use ostrakon_crypto::VerifyingKey;

use crate::announcement::Body;
use crate::core::Core;
use crate::rooms::{Collecting, SCHEDULER};
use crate::scheduling;

/// How often. Slots are given out in one announcement per room and beat.
const BEAT: Duration = Duration::from_millis(100);
/// Decisions of the scheduler per beat at most.
const DECISIONS: usize = 64;

/// Conducts, until the server stops.
pub(crate) async fn run(core: Arc<Core>) {
    loop {
        if core.me() == SCHEDULER {
            for _ in 0..DECISIONS {
                let decision = scheduling::decide(
                    &core.world(),
                    core.platform.now_ms(),
                    core.config.stock.ready,
                );
                let Some(body) = decision else { break };
                if !announce(&core, body).await {
                    break;
                }
            }
        }
        for body in assignments(&core) {
            announce(&core, body).await;
        }
        core.platform.sleep(BEAT).await;
    }
}

/// What is to be assigned now, room by room.
fn assignments(core: &Core) -> Vec<Body> {
    let now = core.platform.now_ms();
    let world = core.world();
    let mut presence = core.presence.lock().expect("no panic while held");
    presence.forget(now);
    let collecting = world.rooms.iter().filter(|(_, room)| room.open);
    let collecting = collecting.filter_map(|(id, room)| Some((id, room.collecting.as_ref()?)));
    let assign = |(id, collecting): (&RoomId, &Collecting)| {
        let seated = |key: &VerifyingKey| collecting.slot_of(key).is_some();
        let waiting = presence.waiting(id, collecting.number, now, seated);
        if waiting.is_empty() { None } else { scheduling::assign(&world, core.me(), id, &waiting) }
    };
    collecting.filter_map(assign).collect()
}

/// Whether it was announced.
async fn announce(core: &Arc<Core>, body: Body) -> bool {
    match core.announce(body).await {
        Ok(_) => true,
        Err(error) => {
            // The state has changed since the decision, or the disk does not work: the next beat decides afresh.
            tracing::warn!(%error, "a decision could not be announced");
            false
        }
    }
}
