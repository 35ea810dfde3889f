//! Erasing bodies: what a host asks for, what is over by the room's retention, and rooms that this
//! server's operator has deleted (`docs/spec/hosting.md`, steps 8 to 11 and 14).
//!
//! A body is on a server's disk in at most two places: the board's entry, and what the server found
//! when it computed the epoch ([`Conclusion`]), which it keeps for a while for servers that lag
//! behind. Both are written anew without the body and its salt; digest, signatures and chain stay
//! as they are. Whatever is erased here is erased again after a restart, as far as it had not been:
//! the host log says what, and the day of publication.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ostrakon_broadcast::board::{Entry, Published};
use ostrakon_broadcast::hosting::{HostLog, MessageId};
use ostrakon_mixing::room::{EpochId, RoomId};
use ostrakon_party::wire;
use ostrakon_store::{EntryRow, Error};

use crate::core::Core;
use crate::state::Room;
use crate::state::epochs::Conclusion;

/// A day, in milliseconds.
const DAY_MS: u64 = 24 * 3600 * 1000;
/// Between two looks at what is over.
const SWEEP: Duration = Duration::from_secs(3600);
/// Between erasing something and emptying what the database keeps of it, so that much of it costs
/// once.
const SCRUB: Duration = Duration::from_secs(2);
/// Before an attempt that the disk stopped is repeated.
const RETRY: Duration = Duration::from_secs(2);
/// Entries that the store is asked for at once.
const AT_ONCE: u32 = 16;

/// The day, counted from 1970.
pub(crate) fn day(now: u64) -> u32 {
    u32::try_from(now / DAY_MS).unwrap_or(u32::MAX)
}

/// What is published before this day is over, in a room that keeps bodies for so many days: each
/// was there for that many whole days at least.
fn over_before(now: u64, retention_days: u32) -> u32 {
    day(now).saturating_sub(retention_days)
}

/// Which messages of an entry are to be erased.
#[derive(Clone, Copy)]
enum Which<'a> {
    /// Those that the hosts erased.
    Marked(&'a HostLog),
    /// All.
    All,
}

impl Which<'_> {
    fn holds(self, message: &MessageId) -> bool {
        match self {
            Which::Marked(log) => log.is_erased(message),
            Which::All => true,
        }
    }
}

/// Takes bodies out of an entry; whether there were any.
fn strip(entry: &mut Entry, which: Which<'_>) -> bool {
    let mut changed = false;
    for (index, message) in (0..).zip(&mut entry.messages) {
        let id = MessageId { epoch: entry.epoch.number, index };
        if matches!(message, Published::Kept { .. }) && which.holds(&id) {
            *message = message.erased();
            changed = true;
        }
    }
    changed
}

/// Step 9: an entry as it is put on the board: without what the hosts have erased already.
pub(crate) fn as_published(core: &Core, mut entry: Entry) -> Entry {
    if let Some(room) = core.world().rooms.get(&entry.epoch.room) {
        strip(&mut entry, if room.deleted { Which::All } else { Which::Marked(&room.log) });
    }
    entry
}

/// Whether a host, or this server's operator, has had this message erased.
pub(crate) fn is_asked_for(core: &Core, room: &RoomId, message: &MessageId) -> bool {
    let world = core.world();
    world.rooms.get(room).is_none_or(|room| room.deleted || room.log.is_erased(message))
}

/// Step 9: after a conclusion or an entry was written, since an action may have come just then.
pub(crate) async fn after_writing(core: &Arc<Core>, epoch: EpochId) {
    let (deleted, asked_for) = {
        let world = core.world();
        let room = world.rooms.get(&epoch.room);
        (
            room.is_some_and(|room| room.deleted),
            room.is_some_and(|room| asks(&room.log, epoch.number)),
        )
    };
    if deleted {
        erase_room(core, epoch.room).await;
    } else if asked_for {
        erase_epoch(core, epoch.room, epoch.number).await;
    }
}

fn asks(log: &HostLog, epoch: u64) -> bool {
    let of_epoch = MessageId { epoch, index: 0 }..=MessageId { epoch, index: u32::MAX };
    log.all_erased() || log.marks().range(of_epoch).any(|(_, marks)| marks.erased)
}

/// Step 8: erases what the hosts have erased in an epoch.
pub(crate) async fn erase_epoch(core: &Arc<Core>, room: RoomId, epoch: u64) {
    let Some(log) = log_of(core, &room) else { return };
    persist(core, || rewrite(core, room, epoch, Which::Marked(&log))).await;
}

/// Steps 8 and 14: erases all messages of a room.
pub(crate) async fn erase_room(core: &Arc<Core>, room: RoomId) {
    persist(core, || async { erase_before(core, room, u32::MAX, &mut 0).await }).await;
}

fn log_of(core: &Core, room: &RoomId) -> Option<HostLog> {
    Some(core.world().rooms.get(room)?.log.clone())
}

/// Tries until the disk does it.
async fn persist<F: Future<Output = Result<(), Error>>>(core: &Core, work: impl Fn() -> F) {
    while let Err(error) = work().await {
        core.store.complain(&error, "messages cannot be erased; trying again");
        core.platform.sleep(RETRY).await;
    }
}

/// Writes an epoch's entry and conclusion anew, without bodies.
async fn rewrite(core: &Core, room: RoomId, epoch: u64, which: Which<'_>) -> Result<(), Error> {
    rewrite_entry(core, room, epoch, which).await?;
    rewrite_conclusion(core, room, epoch, which).await
}

async fn rewrite_entry(
    core: &Core,
    room: RoomId,
    epoch: u64,
    which: Which<'_>,
) -> Result<(), Error> {
    // One at a time: what one erases, another must not write back.
    let _turn = core.under_way.erasing.lock().await;
    if let Some(body) = core.store.entry_of(&room.0, epoch).await? {
        let mut entry: Entry = wire::decode(&body).map_err(|_| Error::Corrupt("entries.body"))?;
        if strip(&mut entry, which) {
            core.store.rewrite_entry(&room.0, epoch, &wire::encode(&entry)).await?;
            core.under_way.erased.notify_one();
        }
    }
    Ok(())
}

async fn rewrite_conclusion(
    core: &Core,
    room: RoomId,
    epoch: u64,
    which: Which<'_>,
) -> Result<(), Error> {
    let _turn = core.under_way.erasing.lock().await;
    if let Some(body) = core.store.conclusion_of(&room.0, epoch).await? {
        let mut conclusion: Conclusion =
            wire::decode(&body).map_err(|_| Error::Corrupt("epochs.conclusion"))?;
        if conclusion.entry.as_mut().is_some_and(|entry| strip(entry, which)) {
            core.store.rewrite_conclusion(&room.0, epoch, &wire::encode(&conclusion)).await?;
            core.under_way.erased.notify_one();
        }
    }
    Ok(())
}

/// Erases what was published before a day, from an index on, below which all is erased; it is moved
/// on. And what was found in epochs that began before that day, published or not.
async fn erase_before(core: &Core, room: RoomId, before: u32, done: &mut u64) -> Result<(), Error> {
    let mut from = *done;
    loop {
        let rows: Vec<EntryRow> = core.store.entries_before(&room.0, before, from, AT_ONCE).await?;
        let Some(last) = rows.last().map(|row| row.position) else { break };
        for row in rows {
            let mut entry: Entry =
                wire::decode(&row.body).map_err(|_| Error::Corrupt("entries.body"))?;
            if strip(&mut entry, Which::All) {
                rewrite_entry(core, room, row.epoch, Which::All).await?;
            }
            // Where the clock was set back, days are not in the order of the board.
            if row.position == *done {
                *done += 1;
            }
        }
        from = last + 1;
    }
    for (epoch, _) in
        core.store.conclusions_before(&room.0, u64::from(before).saturating_mul(DAY_MS)).await?
    {
        rewrite_conclusion(core, room, epoch, Which::All).await?;
    }
    Ok(())
}

/// Step 11: finishes what an end of the process interrupted.
async fn catch_up(core: &Arc<Core>) {
    let rooms: Vec<(RoomId, bool, BTreeSet<u64>)> = {
        let world = core.world();
        let asked = |log: &HostLog| {
            log.marks().iter().filter(|(_, marks)| marks.erased).map(|(id, _)| id.epoch).collect()
        };
        let all = |room: &Room| room.deleted || room.log.all_erased();
        world.rooms.iter().map(|(id, room)| (*id, all(room), asked(&room.log))).collect()
    };
    for (room, all, epochs) in rooms {
        if all {
            erase_room(core, room).await;
            continue;
        }
        for epoch in epochs {
            erase_epoch(core, room, epoch).await;
        }
    }
}

/// Step 10: erases what is older than the rooms keep it. `done` remembers how far each board is
/// erased.
async fn sweep(core: &Arc<Core>, done: &mut BTreeMap<RoomId, u64>) {
    let now = core.platform.now_ms();
    let kept = |(id, room): (&RoomId, &Room)| Some((*id, room.descriptor.retention_days?));
    let rooms: Vec<_> = core.world().rooms.iter().filter_map(kept).collect();
    for (room, days) in rooms {
        let from = done.entry(room).or_default();
        if let Err(error) = erase_before(core, room, over_before(now, days), from).await {
            let what = "messages whose time is over cannot be erased; trying again later";
            core.store.complain(&error, what);
        }
    }
}

/// Erases what is over, hour by hour, and empties what the database keeps of what was erased.
pub(crate) async fn run(core: Arc<Core>) {
    catch_up(&core).await;
    // Something may have been erased just before the process ended.
    core.under_way.erased.notify_one();
    let mut done = BTreeMap::new();
    loop {
        sweep(&core, &mut done).await;
        let next = core.platform.sleep(SWEEP);
        tokio::pin!(next);
        loop {
            tokio::select! {
                biased;
                () = &mut next => break,
                () = core.under_way.erased.notified() => {}
            }
            core.platform.sleep(SCRUB).await;
            scrub(&core).await;
        }
    }
}

async fn scrub(core: &Core) {
    match core.store.scrub().await {
        Ok(true) => {}
        // A reader is in the way.
        Ok(false) => core.under_way.erased.notify_one(),
        Err(error) => {
            let what = "the database cannot be rid of what was erased; trying again";
            core.store.complain(&error, what);
            core.under_way.erased.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_stays_for_as_many_whole_days_as_the_room_says() {
        let published = 100 * DAY_MS + DAY_MS - 1;
        let is_over = |now| day(published) < over_before(now, 2);
        assert!(!is_over(published + 2 * DAY_MS), "not before two days have passed");
        assert!(is_over(published + 2 * DAY_MS + 1));
        assert_eq!(over_before(DAY_MS, 3650), 0);
    }
}
