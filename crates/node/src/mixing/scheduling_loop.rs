//! The beat of a server: every [`BEAT`] it says which epochs are due and what is due in its jobs,
//! notes which epochs are overdue, and, if it is the scheduler, takes the next decisions. Slots it
//! gives out every beat, and between two when others' words let it.
//!
//! The decisions are pure ([`crate::state::scheduling`]); here they get the clock and are
//! announced.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_crypto::VerifyingKey;
use ostrakon_mixing::room::RoomId;
use ostrakon_party::ByParty;

use crate::core::Core;
use crate::state::announcement::Body;
use crate::state::{Collecting, SCHEDULER, overdue, scheduling};

/// How often.
const BEAT: Duration = Duration::from_millis(100);
/// How often slots are given out per beat at most: however much another server says, it has this
/// one look through all rooms no more often.
const TURNS: usize = 16;
/// Decisions of a kind per beat at most.
const DECISIONS: usize = 64;

/// Runs the scheduling loop until the server stops.
pub(crate) async fn run(core: Arc<Core>) {
    loop {
        let now = core.platform.now_ms();
        let enough = scheduling::newly_enough(&core.world());
        if !enough.is_empty() {
            core.change(|world| scheduling::note_enough(world, &enough, now));
        }
        overdue::note_owed(&mut core.world(), now);
        let rooms = overdue::newly_overdue(&core.world(), core.me(), now);
        if !rooms.is_empty() {
            core.change(|world| overdue::note_overdue(world, &rooms));
            tracing::warn!(
                rooms = rooms.len(),
                "epochs could have been closed or opened and are not: the operator's page says whose word is missing"
            );
        }
        while_announced(&core, || {
            scheduling::due(&core.world(), core.me(), core.platform.now_ms())
        })
        .await;
        while_announced(&core, || {
            let due = core.world().jobs.due(core.me(), core.platform.now_ms());
            due.map(|(job, subject, word)| Body::Job { job, subject, word })
        })
        .await;
        if core.me() == SCHEDULER {
            let ready = core.config.stock.ready;
            while_announced(&core, || {
                scheduling::decide(&core.world(), core.platform.now_ms(), ready)
            })
            .await;
        }
        give_out(&core).await;
    }
}

/// Gives out slots until the beat is over. While somebody waits because the others have given out
/// too few, their words count when they come: by the beat alone a large group would come in by an
/// eighth every tenth of a second ([`scheduling::assign`]).
async fn give_out(core: &Arc<Core>) {
    let mut over = core.platform.sleep(BEAT);
    let mut heard = core.logs.delivered.subscribe();
    for _ in 0..TURNS {
        let known = heard.borrow_and_update().clone();
        let (bodies, waits) = assignments(core);
        for body in bodies {
            announce(core, body).await;
        }
        if !waits {
            break;
        }
        let said = |now: &ByParty<u64>| {
            now.iter().any(|(party, said)| party != core.me() && *said > known[party])
        };
        tokio::select! {
            biased;
            () = &mut over => return,
            // The sender lives in `core`, so this does not fail.
            _ = heard.wait_for(said) => {}
        }
    }
    over.await;
}

/// Announces what is to be said now, until there is nothing more, or too much for one beat.
async fn while_announced(core: &Arc<Core>, next: impl Fn() -> Option<Body>) {
    for _ in 0..DECISIONS {
        let Some(body) = next() else { return };
        if !announce(core, body).await {
            return;
        }
    }
}

/// What is to be assigned now, room by room; and whether somebody who waits is given nothing by it.
fn assignments(core: &Core) -> (Vec<Body>, bool) {
    let now = core.platform.now_ms();
    let world = core.world();
    let mut presence = core.presence.lock().expect("no panic while held");
    presence.forget(now);
    let collecting = world.rooms.iter().filter(|(_, room)| room.open);
    let collecting = collecting.filter_map(|(id, room)| Some((id, room.collecting.as_ref()?)));
    let mut waits = false;
    let assign = |(id, collecting): (&RoomId, &Collecting)| {
        let seated = |key: &VerifyingKey| collecting.slot_of(key).is_some();
        let patience = world.rooms.get(id).map_or(0, scheduling::patience);
        let waiting = presence.waiting(id, (collecting.number, patience), now, seated);
        if waiting.is_empty() {
            return None;
        }
        let body = scheduling::assign(&world, core.me(), id, &waiting);
        let given = match &body {
            Some(Body::Assigned { slots, .. }) => slots.len(),
            _ => 0,
        };
        waits |= given < waiting.len();
        body
    };
    let bodies = collecting.filter_map(assign).collect();
    (bodies, waits)
}

/// Whether it was announced.
async fn announce(core: &Arc<Core>, body: Body) -> bool {
    match core.announce(body).await {
        Ok(_) => true,
        Err(error) => {
            // The state has changed since the decision, or the disk does not work: the next beat
            // decides afresh.
            if core.store.trouble().is_none() {
                tracing::warn!(%error, "a decision could not be announced");
            }
            false
        }
    }
}
