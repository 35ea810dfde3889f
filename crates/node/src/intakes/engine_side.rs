//! What an engine process does for the intake processes beside it: every beat it reads who is there
//! and what was handed in, lays out what is to be given to the owners of slots, and shows how every
//! room stands.
//!
//! What is laid out is signed and bears its owner's key ([`ostrakon_mixing::envelope::offer`]),
//! so an intake process needs no key of the server's. Nothing here must survive: after a restart,
//! and after a crash of the database, everything is laid out and shown again.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use ostrakon_crypto::VerifyingKey;
use ostrakon_mixing::envelope;
use ostrakon_mixing::envelope::{IssueName, Issued};
use ostrakon_mixing::room::RoomId;
use ostrakon_mixing::{EpochContext, EpochId};
use ostrakon_store::{Arrivals, Error, Offer};
use serde::{Deserialize, Serialize};

use crate::core::Core;
use crate::memory::batches::LoadedBatch;
use crate::memory::presence::{Bound, LASTING_MS, Visitor};
use crate::state::Collecting;
use ostrakon_protocol::{RoomInfo, ServersInfo, Status};

/// How often.
const BEAT: Duration = Duration::from_millis(100);
/// Intake processes note the time before they write, so what was noted earlier may appear later, by
/// so many milliseconds: mostly, and at most.
const OVERLAP_MS: u64 = 300;
const LONG_OVERLAP_MS: u64 = 5_000;
/// How often what appears so late is looked for, in milliseconds.
const LATE_MS: u64 = 1_000;
/// How often, at most, all that was handed in is read again, in milliseconds, and of how many parts
/// of the time one at most is for that. Arrivals tell of everything, unless a process took
/// something in that leaves none: one of an earlier version.
const RECOUNT_MS: u64 = 10_000;
const RECOUNTING: u64 = 20;
/// After how long the same trouble is told again, in milliseconds.
const TELL_AGAIN_MS: u64 = 60_000;
/// How often the engine shows that it is alive, in milliseconds.
pub(crate) const ALIVE_MS: u64 = 1_000;

/// The name under which [`Alive`] is shown.
pub(crate) const ALIVE: &str = "engine";

/// That the engine is at work.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Alive {
    /// The deployment.
    pub servers: ServersInfo,
    /// Names of the servers that the engine cannot reach.
    pub missing: Vec<String>,
    /// Why the engine can write nothing; engines of earlier versions do not say.
    #[serde(default)]
    pub unwritable: Option<String>,
}

/// How a room stands. Its id is the name under which it is shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RoomView {
    pub info: RoomInfo,
    pub status: Status,
}

/// Slots of an epoch whose owners have not been offered anything yet.
struct Unoffered {
    context: EpochContext,
    loaded: LoadedBatch,
    owners: Vec<(u32, VerifyingKey)>,
}

/// What was shared so far.
#[derive(Default)]
struct Sharing {
    /// Who was there until then has been read, in milliseconds since 1970.
    read_until: u64,
    /// When those who appear late are looked for again, in milliseconds since 1970.
    late_due: u64,
    /// The collecting epoch of each room, and for how many of its slots, in their order, offers are
    /// laid out.
    laid_out: BTreeMap<RoomId, (u64, usize)>,
    /// Whether arrivals may have been taken and not been noted.
    unnoted: bool,
    /// When all that was handed in is read again, in milliseconds since 1970.
    recount_due: u64,
    /// What each room's view was, but for the time that is left.
    shown: BTreeMap<RoomId, Vec<u8>>,
    shown_alive: u64,
    trouble: Trouble,
}

/// What does not succeed, so that a database that is away for an hour does not fill the log with as
/// many lines as there were beats.
#[derive(Default)]
pub(crate) struct Trouble {
    steps: Vec<&'static str>,
    /// When it was last told, in milliseconds since 1970.
    told: u64,
}

impl Trouble {
    /// Whether the steps that failed in this beat are to be told: others than before, or the same
    /// ones for long enough.
    pub(crate) fn is_news(&mut self, failed: Vec<&'static str>, now: u64) -> bool {
        let news = self.steps != failed
            || (!failed.is_empty() && now.saturating_sub(self.told) >= TELL_AGAIN_MS);
        if news {
            self.told = now;
        }
        self.steps = failed;
        news
    }
}

/// Shares, until the server stops.
pub(crate) async fn run(core: Arc<Core>) {
    let mut sharing = Sharing::default();
    // An engine that must not write any more leaves the database to the other one.
    while core.store.end_of_writing().is_none() {
        sharing.beat(&core).await;
        core.platform.sleep(BEAT).await;
    }
}

impl Sharing {
    /// None of the steps waits for another one that fails. That the engine is alive comes first: so
    /// what it shows is older than whatever is shown after it, and a database that has lost one has
    /// lost both.
    async fn beat(&mut self, core: &Core) {
        let mut failed = Vec::new();
        let mut cause = None;
        for (step, done) in [
            ("show that the engine works", self.show_alive(core).await),
            ("read who is there", self.read_presence(core).await),
            ("read what was handed in", self.note_arrivals(core).await),
            ("lay out what the owners of slots get", self.lay_out(core).await),
            ("show how rooms stand", self.show_rooms(core).await),
        ] {
            if let Err(error) = done {
                failed.push(step);
                cause.get_or_insert(error);
            }
        }
        let steps = failed.join(", ");
        match (self.trouble.is_news(failed, core.platform.now_ms()), cause) {
            (true, Some(error)) => {
                tracing::warn!(%error, "with intake processes beside, this does not succeed and is tried again: {steps}");
            }
            (true, None) => {
                tracing::info!("with intake processes beside, everything succeeds again")
            }
            (false, _) => (),
        }
    }

    async fn read_presence(&mut self, core: &Core) -> Result<(), Error> {
        let now = core.platform.now_ms();
        let late = now >= self.late_due;
        let overlap = if late { LONG_OVERLAP_MS } else { OVERLAP_MS };
        let rows = core.store.seen_since(self.read_until.saturating_sub(overlap)).await?;
        if late {
            self.late_due = now + LATE_MS;
        }
        let world = core.world();
        let mut presence = core.presence.lock().expect("no panic while held");
        for seen in rows {
            let id = RoomId(seen.room);
            // An intake process may be wrong, or worse: what counts is checked here again, but for
            // the signature.
            let Some(room) =
                world.rooms.get(&id).filter(|room| room.open && room.log.admits(&seen.key))
            else {
                continue;
            };
            let at = seen.at.min(now);
            if at + LASTING_MS > now {
                let capacity = room.descriptor.capacity;
                let bound = Bound { all: capacity, of_origin: capacity };
                // Who does not fit in is told so when it next says that it is there.
                let _full = presence.note(id, Visitor { key: seen.key, origin: None }, at, bound);
            }
            self.read_until = self.read_until.max(at);
        }
        Ok(())
    }

    /// Notes which slots have submitted by way of intake processes. What was handed in before this
    /// process started, recovery has read; an arrival that is not taken yet is taken in a later
    /// beat.
    async fn note_arrivals(&mut self, core: &Core) -> Result<(), Error> {
        let now = core.platform.now_ms();
        if self.unnoted || now >= self.recount_due {
            read_submissions(core).await?;
            let taken = core.platform.now_ms().saturating_sub(now);
            self.recount_due = now + RECOUNT_MS.max(taken * RECOUNTING);
        }
        // Who is told of a failure does not know whether they are there still.
        self.unnoted = true;
        for Arrivals { room, epoch, slots } in core.store.take_arrivals().await? {
            note_submitted(core, RoomId(room), epoch, slots);
        }
        self.unnoted = false;
        Ok(())
    }

    async fn lay_out(&mut self, core: &Core) -> Result<(), Error> {
        for Unoffered { context, loaded, owners } in self.unoffered(core) {
            let EpochId { room: id, number } = context.epoch;
            let laid_out = self.laid_out.entry(id).or_default();
            if laid_out.0 != number || laid_out.1 == 0 {
                core.store.clear_offers(&id.0, number).await?;
                *laid_out = (number, 0);
            }
            let Some(offers) = offers(core, context, loaded, owners).await else { continue };
            core.store.lay_out(&id.0, number, &offers).await?;
            laid_out.1 += offers.len();
        }
        Ok(())
    }

    /// The slots that have owners but no offers yet, of epochs whose batch is in memory.
    fn unoffered(&self, core: &Core) -> Vec<Unoffered> {
        let world = core.world();
        let mut unoffered = Vec::new();
        for (id, room) in &world.rooms {
            let Some(collecting) = &room.collecting else { continue };
            let Some(loaded) = core.loaded.get(collecting.batch) else { continue };
            let done = self.laid_out.get(id).filter(|(number, _)| *number == collecting.number);
            let new = collecting.order.iter().skip(done.map_or(0, |(_, count)| *count));
            let owners: Vec<_> = new.map(|slot| (*slot, collecting.slots[slot].key)).collect();
            if !owners.is_empty() {
                let Collecting { number, batch, minimum, .. } = *collecting;
                let context = room.context(number, batch, minimum);
                unoffered.push(Unoffered { context, loaded, owners });
            }
        }
        unoffered
    }

    async fn show_rooms(&mut self, core: &Core) -> Result<(), Error> {
        let rooms: Vec<_> =
            core.world().rooms.iter().map(|(id, room)| (*id, room.deleted)).collect();
        for (id, deleted) in rooms {
            if deleted {
                self.hide_room(core, id).await?;
                continue;
            }
            let (Ok(info), Ok(status)) = (core.room(id), core.status_now(&id)) else { continue };
            let mut view = RoomView { info, status };
            let value = encode(&view);
            if let Some(epoch) = &mut view.status.epoch {
                epoch.closes_in_ms = epoch.closes_in_ms.map(|_| 0);
            }
            if let Some(overdue) = &mut view.status.overdue {
                overdue.for_ms = 0;
            }
            let timeless = encode(&view);
            if self.shown.get(&id) != Some(&timeless) {
                core.store.show(&id.to_hex(), &value, core.platform.now_ms()).await?;
                self.shown.insert(id, timeless);
            }
        }
        Ok(())
    }

    /// What cannot be read as a room's view takes the one before away.
    async fn hide_room(&mut self, core: &Core, id: RoomId) -> Result<(), Error> {
        const NOTHING: &[u8] = b"null";
        if self.shown.get(&id).is_none_or(|shown| shown != NOTHING) {
            core.store.show(&id.to_hex(), NOTHING, core.platform.now_ms()).await?;
            self.shown.insert(id, NOTHING.to_vec());
        }
        Ok(())
    }

    async fn show_alive(&mut self, core: &Core) -> Result<(), Error> {
        let now = core.platform.now_ms();
        if now.saturating_sub(self.shown_alive) < ALIVE_MS {
            return Ok(());
        }
        let alive = Alive {
            servers: core.servers_info(),
            missing: core.missing(),
            unwritable: core.store.trouble(),
        };
        let there = core.store.show(ALIVE, &encode(&alive), now).await;
        // A crash of the database has emptied what is not logged: everything is laid out and shown
        // again. Who is not told whether it has cannot ask a second time.
        if there.is_err() || matches!(there, Ok(false)) && self.shown_alive > 0 {
            // Not at every try, while the database is away.
            if self.shown_alive > 0 {
                tracing::warn!(
                    "the database may have lost what was shown to the intake processes, showing all of it again"
                );
            }
            *self = Self { unnoted: true, ..Self::default() };
        }
        there?;
        self.shown_alive = now;
        core.store.forget_presence(now.saturating_sub(2 * LASTING_MS)).await
    }
}

fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain values can be written as JSON")
}

/// Notes for every epoch that collects which slots have submitted, by way of whichever process.
async fn read_submissions(core: &Core) -> Result<(), Error> {
    let collecting: Vec<_> = {
        let world = core.world();
        let rooms = world.rooms.iter();
        rooms.filter_map(|(id, room)| Some((*id, room.collecting.as_ref()?.number))).collect()
    };
    for (id, number) in collecting {
        note_submitted(core, id, number, core.store.submitted(&id.0, number).await?);
    }
    Ok(())
}

fn note_submitted(core: &Core, id: RoomId, epoch: u64, slots: Vec<u32>) {
    let mut world = core.world();
    let room = world.rooms.get_mut(&id).and_then(|room| room.collecting.as_mut());
    if let Some(collecting) = room.filter(|collecting| collecting.number == epoch) {
        collecting.submitted.extend(slots);
    }
}

/// What this server gives to owners of slots, signed. `None` if the epoch is over.
async fn offers(
    core: &Core,
    context: EpochContext,
    loaded: LoadedBatch,
    owners: Vec<(u32, VerifyingKey)>,
) -> Option<Vec<Offer>> {
    let (servers, party) = (core.servers.clone(), core.party.clone());
    let name =
        IssueName { room: context.epoch.room, number: context.epoch.number, party: party.id };
    let work = move || {
        let loaded = loaded.read().unwrap_or_else(PoisonError::into_inner);
        let batch = loaded.as_ref()?;
        let offer = |(slot, key): (u32, VerifyingKey)| {
            let issued = Issued { context: context.clone(), slot, issue: batch.issue(slot) };
            let offer = envelope::offer(&servers, &name, &key, issued, |digest| party.sign(digest));
            Offer { slot, key, offer }
        };
        Some(owners.into_iter().map(offer).collect())
    };
    core.platform.blocking(work).await?
}

#[cfg(test)]
mod tests {
    use super::{TELL_AGAIN_MS, Trouble};

    #[test]
    fn trouble_is_told_when_it_begins_changes_lasts_and_ends() {
        let mut trouble = Trouble::default();
        let away = || vec!["read who is there", "show how rooms stand"];
        assert!(!trouble.is_news(vec![], 0), "nothing has happened");
        assert!(trouble.is_news(away(), 100));
        assert!(!trouble.is_news(away(), 200));
        assert!(trouble.is_news(vec!["read who is there"], 300));
        assert!(!trouble.is_news(vec!["read who is there"], 299 + TELL_AGAIN_MS));
        assert!(trouble.is_news(vec!["read who is there"], 300 + TELL_AGAIN_MS));
        assert!(trouble.is_news(vec![], 400 + TELL_AGAIN_MS));
        assert!(!trouble.is_news(vec![], 500 + 9 * TELL_AGAIN_MS));
    }
}
