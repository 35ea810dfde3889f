//! What a server does when it starts with data: it rebuilds the state from the tables (never from
//! the logs, which are cut off behind), repeats what it had said, and takes up what it had not
//! finished.

use std::sync::Arc;

use ostrakon_broadcast::hosting::HostLog;
use ostrakon_crypto::Digest;
use ostrakon_job::Job;
use ostrakon_mixing::EpochId;
use ostrakon_mixing::engine::{Form, Shape};
use ostrakon_mixing::room::{EngineKind, RoomDescriptor, RoomId, Servers};
use ostrakon_party::{ByParty, PartyId, Roster, wire};
use ostrakon_store::{BatchRow, BatchState, EpochRow, EpochState, Error, JobWord};

use crate::core::Core;
use crate::disk::Disk;
use crate::jobs::{self, Jobs};
use crate::memory::introduction::Progress;
use crate::mixing::{runner, stock};
use crate::provider::trusts::Trusts;
use crate::renewal;
use crate::rooms::hosting;
use crate::state::announcement::Body;
use crate::state::epochs::{Conclusion, KEPT_VERDICTS};
use crate::state::{
    BATCHES_KEPT, BatchInfo, Collecting, Computing, Effect, Held, Owner, Room, World, scheduling,
};
use ostrakon_protocol::{LastEpoch, MixingPhase, Outcome};

/// Words of jobs that are read at once.
const READ_WORDS: u32 = 256;

/// How far this server is with the logs of announcements.
pub(crate) async fn progress(store: &Disk, roster: &Roster) -> Result<Progress, Error> {
    let generation = store.generation().await?;
    let base = renewal::base(generation.number);
    let mut progress =
        Progress { generation: generation.number, state: generation.digest, ..Progress::default() };
    // A party's number is its place.
    for author in roster.parties() {
        let delivered = store.delivered(author).await?.max(base);
        let newer = store.announcements(author, delivered).await?;
        progress.delivered.push(delivered);
        progress.kept.push(newer.last().map_or(delivered, |row| row.number + 1));
    }
    Ok(progress)
}

/// The state as the tables have it.
pub(crate) async fn world(
    store: &Disk,
    servers: &Servers,
    trusts: &Trusts,
    jobs: Vec<Arc<dyn Job>>,
) -> Result<World, Error> {
    let first_batch = renewal::base(store.generation().await?.number);
    let empty = World::new(servers.clone(), trusts.clone());
    let mut known = Vec::new();
    for job in jobs {
        let subjects = store.job_subjects(job.number()).await?;
        known.push((job, subjects.into_iter().collect()));
    }
    let jobs = Jobs::new(known, servers);
    let mut world = World { version: 1, first_batch, jobs, ..empty };
    for row in store.rooms().await? {
        let descriptor: RoomDescriptor =
            wire::decode(&row.descriptor).map_err(|_| Error::Corrupt("rooms.descriptor"))?;
        let mut room =
            Room { created: row.announcement, ..Room::new(descriptor, row.author, servers) };
        room.log = hosting::restore(store, &RoomId(row.room), room.log, None).await?;
        room.open = row.open && !room.log.closed();
        room.deleted = row.deleted;
        room.next_epoch = row.first_epoch;
        let (length, head) = store.board_head(&row.room).await?;
        room.board_length = length;
        room.head = head.unwrap_or(Digest([0; 32]));
        world.rooms.insert(RoomId(row.room), room);
    }
    replay_words(store, &mut world).await?;
    for row in store
        .batches(BATCHES_KEPT as u32)
        .await?
        .into_iter()
        .filter(|row| row.number >= first_batch)
    {
        world.batches.insert(row.number, batch(&row, trusts.parties())?);
    }
    for row in store.epochs(KEPT_VERDICTS as u32).await? {
        restore_epoch(store, &mut world, &row).await?;
    }
    restore_doubts(store, &mut world).await?;
    // A crash may have come before the file of a batch was deleted that had gone out of use.
    world.forget_old_batches();
    Ok(world)
}

/// Plays the words of jobs of this generation to their states. What they asked to be done was done,
/// or is taken up ([`take_up`]). Those of a job that this release does not know are kept for one
/// that does, which judges them first, and files those that are valid.
async fn replay_words(store: &Disk, world: &mut World) -> Result<(), Error> {
    let jobs = world.jobs.all();
    let mut last = 0;
    loop {
        let rows = store.job_words(last, READ_WORDS).await?;
        let complete = rows.len() < READ_WORDS as usize;
        for row in rows {
            last = row.id;
            let mut said = row.said;
            let servers = world.servers.keys.len();
            if said.author.index() >= servers {
                return Err(Error::Corrupt("job_words.author"));
            }
            if said.unjudged.as_ref().is_some_and(|after| after.len() != servers) {
                return Err(Error::Corrupt("job_words.unjudged"));
            }
            if said.unjudged.is_some() {
                let valid = world.judge_late(row.announcement, &said);
                let is_known = valid.as_ref().is_none_or(|valid| valid.unjudged.is_none());
                if is_known {
                    store.file_word(row.id, valid.as_ref()).await?;
                }
                let Some(valid) = valid else { continue };
                said = valid;
            }
            let JobWord { job, subject, author, word, .. } = &said;
            if jobs::is_never_valid(&jobs, *author, (*job, subject, word)) {
                return Err(Error::Corrupt("job_words.word"));
            }
            let replayed = world.replay_word(&said, row.announcement);
            replayed.map_err(|_| Error::Corrupt("job_words.word"))?;
        }
        if complete {
            return Ok(());
        }
    }
}

/// What servers said, by server, of so many.
fn by_party(
    said: &[(PartyId, u64)],
    parties: usize,
    column: &'static str,
) -> Result<ByParty<Option<u64>>, Error> {
    let mut all = ByParty::new(parties, |_| None);
    for (party, announcement) in said {
        *all.get_mut(*party).ok_or(Error::Corrupt(column))? = Some(*announcement);
    }
    Ok(all)
}

fn batch(row: &BatchRow, parties: usize) -> Result<BatchInfo, Error> {
    let held = if row.on_disk { Held::File } else { Held::Nothing };
    let engine = EngineKind::of_number(row.engine).ok_or(Error::Corrupt("batches.engine"))?;
    let form = Form { engine, shape: Shape { rows: row.rows, width: row.width } };
    let BatchRow { planned, dropped, used, .. } = *row;
    let said = by_party(&row.said, parties, "batch_holders.party")?;
    Ok(BatchInfo { form, planned, said, dropped, interrupted: false, used, held })
}

/// Which epochs may have been read without being published, as far back as there are any.
async fn restore_doubts(store: &Disk, world: &mut World) -> Result<(), Error> {
    for (room, outcome) in store.unpublished().await? {
        let room = world.rooms.get_mut(&RoomId(room)).ok_or(Error::Corrupt("epochs.room"))?;
        let ended: LastEpoch =
            wire::decode(&outcome).map_err(|_| Error::Corrupt("epochs.outcome"))?;
        if ended.outcome == Outcome::MayHaveOpened {
            room.may_have_opened.insert(ended.number);
        }
    }
    Ok(())
}

/// What this server found when it computed an epoch.
fn conclusion(row: &EpochRow) -> Result<Option<Conclusion>, Error> {
    let conclusion = row.conclusion.as_deref().map(wire::decode::<Conclusion>);
    conclusion.transpose().map_err(|_| Error::Corrupt("epochs.conclusion"))
}

async fn restore_epoch(store: &Disk, world: &mut World, row: &EpochRow) -> Result<(), Error> {
    let room = world.rooms.get_mut(&RoomId(row.room)).ok_or(Error::Corrupt("epochs.room"))?;
    room.next_epoch = room.next_epoch.max(row.number + 1);
    room.active_at = room.active_at.max(row.begun_at.unwrap_or(0));
    if let Some(outcome) = &row.outcome {
        room.ended(wire::decode(outcome).map_err(|_| Error::Corrupt("epochs.outcome"))?);
    }
    let minimum = row.minimum;
    let phase = match row.state {
        EpochState::Finished => return Ok(()),
        EpochState::Settled => None,
        EpochState::Sealed => match conclusion(row)? {
            None => Some(MixingPhase::Mixing),
            Some(found) => {
                if found.entry.is_some() {
                    room.may_have_opened.insert(row.number);
                }
                Some(MixingPhase::Signing)
            }
        },
        EpochState::Collecting => {
            let empty = HostLog::new(&world.servers, &room.descriptor);
            let trust = world.trusts.of(room.descriptor.engine);
            let mut collecting =
                Collecting::new(row.number, row.batch, row.opened_at, minimum, None, trust);
            collecting.opened = row.announcement;
            collecting.due = by_party(&row.due, trust.parties(), "epoch_due.party")?;
            let opened = Some((row.actions, &mut collecting));
            hosting::restore(store, &RoomId(row.room), empty, opened).await?;
            collecting.begun_at = row.begun_at;
            for slot in store.assignments(&row.room, row.number).await? {
                collecting
                    .assign(slot.slot, Owner { key: slot.key, announcement: slot.announcement });
            }
            let submissions = store.submissions(&row.room, row.number).await?;
            collecting.submitted = submissions.into_iter().map(|row| row.slot).collect();
            scheduling::restored(&mut collecting);
            room.collecting = Some(collecting);
            return Ok(());
        }
    };
    room.computing.insert(row.number, Computing { batch: row.batch, minimum, phase });
    Ok(())
}

/// Takes the batches of epochs that collect into use. It says nothing to anybody.
pub(crate) async fn load(core: &Arc<Core>) -> Result<(), Error> {
    for row in core.store.epochs(KEPT_VERDICTS as u32).await? {
        if row.state == EpochState::Collecting {
            let epoch = EpochId { room: RoomId(row.room), number: row.number };
            core.dispatch(vec![Effect::Load(epoch)]);
        }
    }
    Ok(())
}

/// Repeats what was said, and takes up what was not finished.
pub(crate) async fn take_up(core: &Arc<Core>) -> Result<(), Error> {
    core.repeat_announcements().await?;
    for row in core.store.epochs(KEPT_VERDICTS as u32).await? {
        let epoch = EpochId { room: RoomId(row.room), number: row.number };
        match (row.state, conclusion(&row)?) {
            (EpochState::Sealed, None) => core.dispatch(vec![Effect::Compute(epoch)]),
            (EpochState::Sealed | EpochState::Settled, Some(conclusion)) => {
                let settled = row.state == EpochState::Settled;
                core.spawn(runner::resume(Arc::clone(core), epoch, conclusion, settled));
            }
            (EpochState::Finished, Some(conclusion)) => {
                runner::speak(core, epoch, &conclusion);
            }
            (EpochState::Collecting, _) | (EpochState::Settled | EpochState::Finished, None) => {}
        }
    }
    for row in core.store.batches(BATCHES_KEPT as u32).await? {
        take_up_batch(core, &row).await;
    }
    let undone = core.world().jobs.undone(core.me());
    core.dispatch(undone.into_iter().map(|(job, deed)| Effect::Job(job, deed)).collect());
    Ok(())
}

/// What is to be said of a batch at a start: its preparation may have been cut short, and the
/// messages of it are gone.
///
/// Who has said that it holds a batch never takes that back: the scheduler may be opening an epoch
/// with it this moment, and without this server's part the epoch could not be computed once it is
/// sealed. It says it once more, whereupon those who still prepare the batch, and so have not said
/// yet that they hold it, drop it.
fn unfinished(row: &BatchRow, me: PartyId, parties: usize) -> Option<Body> {
    let number = row.number;
    let held_here = row.said.iter().any(|(party, _)| *party == me);
    match row.state {
        _ if row.dropped.contains(me) => None,
        BatchState::Planned => Some(Body::BatchDropped { number }),
        BatchState::Stored if !held_here => Some(Body::BatchDropped { number }),
        BatchState::Stored => (row.said.len() < parties).then_some(Body::BatchReady { number }),
        BatchState::Reserved | BatchState::Spent | BatchState::Discarded => None,
    }
}

/// Says what is to be said of a batch, and clears away what is of no use.
async fn take_up_batch(core: &Arc<Core>, row: &BatchRow) {
    if is_of_no_use(&core.world(), row) {
        stock::discard(core, row.number).await;
    } else if let Some(body) = unfinished(row, core.me(), core.trusts.parties()) {
        let owned = Arc::clone(core);
        let number = row.number;
        core.spawn(async move {
            if let Err(error) = owned.announce(body).await {
                tracing::error!(batch = number, %error, "the fate of a batch cannot be announced");
            }
        });
    }
}

/// Whether a batch's file is only left because a crash came before it was deleted. From what two
/// servers kept of a published epoch its permutation could be told.
fn is_of_no_use(world: &World, row: &BatchRow) -> bool {
    let over = match row.state {
        BatchState::Discarded => true,
        BatchState::Spent => !world.rooms.values().any(|room| room.uses(row.number)),
        BatchState::Planned | BatchState::Stored => !world.batches.contains_key(&row.number),
        BatchState::Reserved => false,
    };
    over && row.on_disk
}

#[cfg(test)]
mod tests {
    use ostrakon_party::SessionId;

    use super::*;

    /// Which of three servers these bits name.
    fn named(bits: u8) -> impl Iterator<Item = PartyId> {
        (0..3).map(PartyId).filter(move |party| bits & (1 << party.0) != 0)
    }

    fn row(state: BatchState, ready: u8, dropped: u8) -> BatchRow {
        BatchRow {
            number: 4,
            engine: 1,
            rows: 9,
            width: 48,
            state,
            planned: 0,
            said: named(ready).map(|party| (party, 0)).collect(),
            dropped: named(dropped).collect(),
            on_disk: true,
            used: false,
        }
    }

    #[test]
    fn what_a_crash_left_of_a_batch_goes_at_the_next_start_and_nothing_that_is_needed() {
        let servers = Servers { session: SessionId(Digest([9; 32])), keys: Vec::new() };
        let mut world = World::new(servers.clone(), crate::provider::trusts::tests::three());
        let descriptor = RoomDescriptor::new("r");
        let id = descriptor.id();
        world.rooms.insert(id, Room::new(descriptor, PartyId(0), &servers));
        world.batches.insert(4, batch(&row(BatchState::Stored, 0b111, 0), 3).unwrap());
        let gone = |world: &World, state| is_of_no_use(world, &row(state, 0b111, 0));
        assert!(gone(&world, BatchState::Discarded));
        assert!(!gone(&world, BatchState::Planned) && !gone(&world, BatchState::Stored));
        assert!(gone(&world, BatchState::Spent), "its epoch is finished");
        let computing = Computing { batch: 4, minimum: 1, phase: None };
        world.rooms.get_mut(&id).unwrap().computing.insert(7, computing);
        assert!(
            !gone(&world, BatchState::Spent),
            "another server may need the messages of its epoch"
        );
        let newest = batch(&row(BatchState::Planned, 0, 0), 3).unwrap();
        world.batches.insert(4 + BATCHES_KEPT, newest);
        assert_eq!(world.forget_old_batches(), [4], "as on the servers that did not stop");
        assert!(gone(&world, BatchState::Stored));
        assert!(!is_of_no_use(
            &world,
            &BatchRow { on_disk: false, ..row(BatchState::Discarded, 0, 0) }
        ));
    }

    #[test]
    fn who_has_said_that_it_holds_a_batch_does_not_take_it_back() {
        let me = PartyId(1);
        let (ready, dropped) = (Body::BatchReady { number: 4 }, Body::BatchDropped { number: 4 });
        assert_eq!(unfinished(&row(BatchState::Planned, 0b101, 0), me, 3), Some(dropped.clone()));
        assert_eq!(
            unfinished(&row(BatchState::Planned, 0b101, 0b010), me, 3),
            None,
            "it has said so"
        );
        assert_eq!(
            unfinished(&row(BatchState::Stored, 0b101, 0), me, 3),
            Some(dropped),
            "written, but not said yet"
        );
        assert_eq!(unfinished(&row(BatchState::Stored, 0b011, 0), me, 3), Some(ready));
        assert_eq!(unfinished(&row(BatchState::Stored, 0b111, 0), me, 3), None);
        let of_four = Some(Body::BatchReady { number: 4 });
        assert_eq!(unfinished(&row(BatchState::Stored, 0b111, 0), me, 4), of_four, "one of four");
        assert_eq!(unfinished(&row(BatchState::Reserved, 0b111, 0), me, 3), None);
    }
}
