//! Computes sealed epochs and brings them to the board.
//!
//! What is written before what:
//! 1. the seal (with the announcement that closed the epoch): from then on the submissions are
//!    fixed;
//! 2. the engine's marks, while it computes ([`crate::disk::journal`]);
//! 3. the conclusion, before the others are told the verdict;
//! 4. the outcome and the entry with enough signatures, before anybody is shown it;
//! 5. when all verdicts are there: that the epoch is finished; then the batch's file is
//!    deleted.
//!
//! A crash at any point repeats what comes after the last thing written. Until an epoch is
//! finished, a server that starts again also computes it again, even if it has its own conclusion,
//! because another may still need its messages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use ostrakon_broadcast::board::Entry;
use ostrakon_crypto::{Digest, Signature};
use ostrakon_mixing::engine::{Opened, SlotState, Stopped};
use ostrakon_mixing::room::RoomDescriptor;
use ostrakon_mixing::{EpochContext, EpochId};
use ostrakon_party::{ByParty, Instance, InstanceKind, Length, PartyId, Trust, wire};
use ostrakon_store::{AssignmentRow, Error, NewEntry, SubmissionRow};

use crate::boards::erasure;
use crate::core::Core;
use crate::disk::journal::StoreJournal;
use crate::ledger::evidence::Evidence;
use crate::ledger::steps::ControlStep;
use crate::state::Computing;
use crate::state::epochs::{self, Conclusion, KEPT_VERDICTS, LONGEST_VERDICT, Tally, Verdict};
use ostrakon_protocol::{LastEpoch, MixingPhase, Outcome};

/// The pause before a computation is tried again that the disk stopped.
const RETRY: Duration = Duration::from_secs(2);

/// The instance of the servers' verdicts on an epoch.
pub(crate) fn verdict_instance(epoch: EpochId) -> Instance {
    Instance { kind: InstanceKind::Control, scope: epoch.room.0, number: epoch.number }
}

/// Computes a sealed epoch, agrees on its outcome and publishes it.
pub(crate) async fn compute(core: Arc<Core>, epoch: EpochId) {
    let Some((descriptor, context)) = setting(&core, epoch) else { return };
    doubt_by_marks(&core, &context).await;
    let computed = loop {
        if let Some(result) = mix(&core, &context).await {
            let read = match &result {
                Ok(opened) => Some(epochs::read_rows(&descriptor, epoch.number, opened)),
                Err(stopped) => epochs::read_stop(stopped),
            };
            keep_faults(&core, &result).await;
            if let Err(Stopped::Aborted { pair: Some(pair), .. }) = &result {
                core.history().aborted(*pair);
            }
            match read {
                Some(computed) => break computed,
                None => tracing::error!(
                    epoch = epoch.number,
                    "the journal cannot be written; trying again"
                ),
            }
        }
        core.platform.sleep(RETRY).await;
    };
    wait_for_turn(&core, epoch).await;
    let previous = core.world().rooms.get(&epoch.room).map_or(Digest([0; 32]), |room| room.head);
    let conclusion = computed.conclude(epoch, previous);
    let bytes = wire::encode(&conclusion);
    while let Err(error) = core.store.conclude_epoch(&epoch.room.0, epoch.number, &bytes).await {
        let what =
            format!("what was found in epoch {} cannot be recorded; trying again", epoch.number);
        core.store.complain(&error, &what);
        core.platform.sleep(RETRY).await;
    }
    erasure::after_writing(&core, epoch).await;
    core.history().mixed(epoch, core.platform.now_ms());
    conclude(core, epoch, conclusion, false).await;
}

/// Takes up an epoch that had been concluded before a restart. `settled`: its outcome stood
/// already.
pub(crate) async fn resume(core: Arc<Core>, epoch: EpochId, conclusion: Conclusion, settled: bool) {
    if let Some((_, context)) = setting(&core, epoch) {
        let helper = Arc::clone(&core);
        core.spawn(async move {
            // The result is known; the others may need the messages.
            drop(mix(&helper, &context).await);
        });
    }
    if !settled {
        wait_for_turn(&core, epoch).await;
    }
    conclude(core, epoch, conclusion, settled).await;
}

/// Tells devices that an epoch may be read by somebody, although it may never be published: as soon
/// as this server may have given away what others lack for reading it, whatever they say then. A
/// server that reads it and says nothing keeps nobody from knowing.
fn doubt(core: &Core, epoch: EpochId) {
    core.change(|world| {
        if let Some(room) = world.rooms.get_mut(&epoch.room) {
            room.may_have_opened.insert(epoch.number);
        }
        world.touch(&epoch.room);
    });
}

/// The same after a restart, of an epoch for which this server had been ready. It may be unable to
/// repeat the computation.
async fn doubt_by_marks(core: &Core, context: &EpochContext) {
    let EpochId { room, number } = context.epoch;
    let marks = loop {
        match core.store.marks_of(&room.0, number).await {
            Ok(marks) => break marks,
            Err(error) => {
                tracing::error!(epoch = number, %error, "marks cannot be read; trying again")
            }
        }
        core.platform.sleep(RETRY).await;
    };
    let session = &core.servers.session;
    if !marks.is_empty() && core.provider.may_have_opened(session, context, &marks) {
        doubt(core, context.epoch);
    }
}

fn setting(core: &Core, epoch: EpochId) -> Option<(RoomDescriptor, EpochContext)> {
    let world = core.world();
    let room = world.rooms.get(&epoch.room)?;
    let Computing { batch, minimum, .. } = *room.computing.get(&epoch.number)?;
    Some((room.descriptor.clone(), room.context(epoch.number, batch, minimum)))
}

/// Mixes and opens on a thread of its own. `None` if it could not run to its end; it may be tried
/// again.
async fn mix(core: &Arc<Core>, context: &EpochContext) -> Option<Result<Opened, Stopped>> {
    let slots = match slots(core, context.epoch).await {
        Ok(slots) => slots,
        Err(error) => {
            tracing::error!(%error, "submissions cannot be read");
            return None;
        }
    };
    // Of an epoch that is over, what was handed in is being forgotten: what was read may be a part
    // of it, and with the same batch that would be another table.
    setting(core, context.epoch)?;
    let taking = Arc::clone(core);
    let number = context.batch;
    let loaded = core.platform.blocking(move || taking.loaded.take(number)).await.flatten();
    let batch = match loaded {
        Some(batch) => batch,
        None => match core.load_batch(number, context.form()).await {
            Ok(batch) => batch,
            Err(error) => {
                tracing::error!(batch = number, %error, "a sealed epoch waits because its batch cannot be read");
                return None;
            }
        },
    };
    let journal = Arc::new(StoreJournal { disk: core.store.clone(), epoch: context.epoch });
    let context = context.clone();
    let epoch = context.epoch;
    let EpochId { room, number } = epoch;
    let opening = Arc::clone(core);
    let work = async move {
        let mixed = batch.mix(context, slots, journal).await?;
        doubt(&opening, epoch);
        mixed.open().await
    };
    let watching = Arc::clone(core);
    let finished = async move {
        let over = |world: &crate::state::World| {
            world.rooms.get(&room).is_none_or(|room| !room.computing.contains_key(&number))
        };
        watching.wait_until(over).await;
    };
    core.on_engine_thread(work, finished).await
}

async fn slots(core: &Core, epoch: EpochId) -> Result<Vec<SlotState>, Error> {
    let assigned = core.store.assignments(&epoch.room.0, epoch.number).await?;
    let submissions = core.store.submissions(&epoch.room.0, epoch.number).await?;
    let handed_in: BTreeSet<_> = submissions.iter().map(|row| row.key).collect();
    let slots = states(assigned, submissions);
    let now = core.platform.now_ms();
    let mut presence = core.presence.lock().expect("no panic while held");
    for slot in slots.iter().filter(|slot| !handed_in.contains(&slot.owner)) {
        presence.missed(&epoch.room, &slot.owner, now);
    }
    Ok(slots)
}

/// Every slot that was given out, with what was handed in for it. Two servers may have given one
/// key a slot each: which of them counts is for the engine to say, by what was handed in. If the
/// lowest counted, a server could silence whom it likes, by giving it a lower slot once it has
/// handed in.
fn states(assigned: Vec<AssignmentRow>, submissions: Vec<SubmissionRow>) -> Vec<SlotState> {
    let mut bodies: BTreeMap<_, _> =
        submissions.into_iter().map(|row| (row.slot, row.body)).collect();
    let state = |row: AssignmentRow| SlotState {
        slot: row.slot,
        owner: row.key,
        submission: bodies.remove(&row.slot),
    };
    assigned.into_iter().map(state).collect()
}

async fn keep_faults(core: &Core, result: &Result<Opened, Stopped>) {
    let fault = match result {
        Ok(opened) => opened.fault.as_ref(),
        Err(Stopped::Cheated(fault)) => Some(fault),
        Err(_) => None,
    };
    if let Some(fault) = fault {
        core.keep_fault(fault.culprit, &fault.what, Evidence::Engine(fault.evidence.clone())).await;
    }
}

/// Waits until the outcome of every earlier epoch of the room stands: an entry names the one before
/// it.
async fn wait_for_turn(core: &Core, epoch: EpochId) {
    core.wait_until(|world| {
        let Some(room) = world.rooms.get(&epoch.room) else { return true };
        room.computing.range(..epoch.number).all(|(_, earlier)| earlier.phase.is_none())
    })
    .await;
}

/// An epoch between this server's conclusion and its end.
struct Ballot {
    core: Arc<Core>,
    epoch: EpochId,
    conclusion: Conclusion,
    verdicts: ByParty<Option<Verdict>>,
    /// What the room's engine bears.
    trust: Trust,
    settled: bool,
    /// The digest of what was published.
    published: Option<Digest>,
}

/// Tells the others what was found, settles the epoch as soon as enough say the same, and finishes
/// it when all have spoken.
async fn conclude(core: Arc<Core>, epoch: EpochId, conclusion: Conclusion, settled: bool) {
    if !settled {
        set_phase(&core, epoch, Some(MixingPhase::Signing));
    }
    let verdict = speak(&core, epoch, &conclusion);
    let engine = setting(&core, epoch).map(|(descriptor, _)| descriptor.engine);
    let trust = engine.map_or(core.trusts.ledger(), |engine| core.trusts.of(engine));
    let mut verdicts = ByParty::new(core.trusts.parties(), |_| None);
    verdicts[core.me()] = Some(verdict);
    let published =
        conclusion.entry.as_ref().map(|entry| entry.digest(&core.servers)).filter(|_| settled);
    let mut ballot =
        Ballot { core: Arc::clone(&core), epoch, conclusion, verdicts, trust, settled, published };
    let mut others: FuturesUnordered<_> =
        core.party.peers().map(|peer| hear(&core, epoch, peer)).collect();
    while let Some((peer, verdict)) = others.next().await {
        ballot.count(peer, verdict).await;
        if ballot.settled || matches!(ballot.tally(), Tally::Open) {
            continue;
        }
        // Enough agree. If the last one speaks soon, its signature is published with the others.
        if !others.is_empty() {
            tokio::select! {
                biased;
                Some((peer, verdict)) = others.next() => ballot.count(peer, verdict).await,
                () = core.party.patience() => {}
            }
        }
        ballot.settle().await;
    }
    // With all heard and too few alike there is no way on but an operator's.
    if ballot.settled {
        ballot.finish().await;
    } else {
        tracing::error!(
            epoch = epoch.number,
            "the servers found different things; the room stands still"
        );
    }
}

/// Sends this server's verdict, and holds the entry ready for whoever lacks it.
pub(crate) fn speak(core: &Core, epoch: EpochId, conclusion: &Conclusion) -> Verdict {
    let instance = verdict_instance(epoch);
    let verdict = match &conclusion.entry {
        None => Verdict::Nothing,
        Some(entry) => {
            let digest = entry.digest(&core.servers);
            let body = Bytes::from(wire::encode(entry));
            for peer in core.party.peers() {
                core.party.offer(peer, ControlStep::Entry.of(instance), body.clone());
            }
            Verdict::Publish(digest, core.party.sign(&digest))
        }
    };
    core.party.send_all(ControlStep::Verdict.of(instance), wire::encode(&verdict));
    verdict
}

async fn hear(core: &Core, epoch: EpochId, peer: PartyId) -> (PartyId, Verdict) {
    let tag = ControlStep::Verdict.of(verdict_instance(epoch));
    let heard = core.party.receive(peer, tag, Length::AtMost(LONGEST_VERDICT)).await;
    // What cannot be understood supports nothing.
    let verdict = heard.ok().and_then(|heard| wire::decode(&heard.body).ok());
    (peer, verdict.unwrap_or(Verdict::Nothing))
}

fn set_phase(core: &Core, epoch: EpochId, phase: Option<MixingPhase>) {
    core.change(|world| {
        let computing =
            world.rooms.get_mut(&epoch.room).and_then(|room| room.computing.get_mut(&epoch.number));
        if let Some(Computing { phase: current, .. }) = computing {
            *current = phase;
        }
        world.touch(&epoch.room);
    });
}

impl Ballot {
    fn tally(&self) -> Tally {
        epochs::tally(&self.verdicts, &self.core.servers, &self.trust)
    }

    /// Counts a verdict; a signature that comes after publication is added to the entry.
    async fn count(&mut self, peer: PartyId, verdict: Verdict) {
        self.verdicts[peer] = Some(verdict);
        let Verdict::Publish(digest, signature) = verdict else { return };
        if self.published == Some(digest)
            && self.core.servers.keys[peer.index()].verifies(&digest, &signature)
        {
            self.add_signature(peer, &signature).await;
        }
    }

    async fn add_signature(&self, peer: PartyId, signature: &Signature) {
        let EpochId { room, number } = self.epoch;
        if let Err(error) = self.core.store.add_signature(&room.0, number, peer, signature).await {
            tracing::error!(%error, "a signature cannot be added");
        }
    }

    async fn settle(&mut self) {
        let mut accepted = None;
        let (mut last, entry) = match self.tally() {
            Tally::Open => return,
            Tally::Nothing => (self.conclusion.last.clone(), None),
            Tally::Publish(digest, signatures) => {
                let Some(entry) = self.entry(digest, &signatures).await else { return };
                self.published = Some(digest);
                accepted = Some(entry.accepted);
                let last =
                    LastEpoch { outcome: Outcome::Published, ..self.conclusion.last.clone() };
                let published_on = erasure::day(self.core.platform.now_ms());
                let entry = erasure::as_published(&self.core, entry);
                let new = NewEntry { digest, body: wire::encode(&entry), published_on, signatures };
                (last, Some(new))
            }
        };
        if entry.is_none() && last.outcome == Outcome::Published {
            last.outcome = Outcome::MayHaveOpened;
            last.detail = "the other servers published nothing".into();
        }
        let outcome = last.outcome;
        self.record(last, entry).await;
        self.core.history().settled(self.epoch, outcome, accepted, self.core.platform.now_ms());
        erasure::after_writing(&self.core, self.epoch).await;
        self.settled = true;
    }

    /// The entry with this digest: this server's own, or else one of the signers'.
    async fn entry(&self, digest: Digest, signatures: &[(PartyId, Signature)]) -> Option<Entry> {
        let own = self
            .conclusion
            .entry
            .as_ref()
            .filter(|entry| entry.digest(&self.core.servers) == digest);
        if let Some(entry) = own {
            return Some(entry.clone());
        }
        let tag = ControlStep::Entry.of(verdict_instance(self.epoch));
        let limit = entry_limit(&self.core, self.epoch)?;
        let mut offers: FuturesUnordered<_> = signatures
            .iter()
            .filter(|(signer, _)| *signer != self.core.me())
            .map(|(signer, _)| self.core.party.receive(*signer, tag, Length::AtMost(limit)))
            .collect();
        while let Some(offer) = offers.next().await {
            let entry = offer.ok().and_then(|offer| wire::decode::<Entry>(&offer.body).ok());
            if let Some(entry) = entry.filter(|entry| entry.digest(&self.core.servers) == digest) {
                return Some(entry);
            }
        }
        None
    }

    /// Writes the outcome down, then shows it.
    async fn record(&self, last: LastEpoch, entry: Option<NewEntry>) {
        let EpochId { room, number } = self.epoch;
        let outcome = wire::encode(&last);
        while let Err(error) =
            self.core.store.settle_epoch(&room.0, number, &outcome, entry.as_ref()).await
        {
            let what = format!("the outcome of epoch {number} cannot be recorded; trying again");
            self.core.store.complain(&error, &what);
            self.core.platform.sleep(RETRY).await;
        }
        let counters = &self.core.counters;
        let counter = match last.outcome {
            Outcome::Published => &counters.published,
            Outcome::TooFew => &counters.too_few,
            Outcome::Cheated | Outcome::Failed | Outcome::MayHaveOpened => &counters.stopped,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        self.core.change(|world| {
            if let Some(state) = world.rooms.get_mut(&room) {
                state.ended(last);
                if let Some(entry) = &entry {
                    state.head = entry.digest;
                    state.board_length += 1;
                }
            }
        });
        set_phase(&self.core, self.epoch, None);
    }

    /// Nobody needs anything of the epoch any more.
    async fn finish(&self) {
        let EpochId { room, number } = self.epoch;
        let Some((_, context)) = setting(&self.core, self.epoch) else { return };
        // In memory first: who reads what was handed in and finds the epoch here afterwards has
        // read all of it.
        self.core.change(|world| {
            if let Some(room) = world.rooms.get_mut(&room) {
                room.computing.remove(&number);
            }
            world.touch(&room);
        });
        self.insist("that an epoch is finished", || {
            self.core.store.finish_epoch(&room.0, number, KEPT_VERDICTS)
        })
        .await;
        if let Ok(engine) = self.core.engine(context.engine) {
            engine.retire_epoch(&context);
        }
        if let Some(old) = number.checked_sub(KEPT_VERDICTS) {
            self.core.party.retire(verdict_instance(EpochId { room, number: old }));
        }
        self.insist("that a spent batch is deleted", || {
            self.core.store.delete_batch(context.batch)
        })
        .await;
    }

    /// Writes something down, as often as the disk needs; what stands already is not written again.
    async fn insist<F: Future<Output = Result<(), Error>>>(
        &self,
        what: &str,
        write: impl Fn() -> F,
    ) {
        while let Err(error) = write().await {
            let Self { core, epoch, .. } = self;
            let what = format!("epoch {}: {what} cannot be recorded; trying again", epoch.number);
            core.store.complain(&error, &what);
            if let Error::State(_) = error {
                return;
            }
            self.core.platform.sleep(RETRY).await;
        }
    }
}

/// Bytes of a room's longest entry.
fn entry_limit(core: &Core, epoch: EpochId) -> Option<u64> {
    let world = core.world();
    Some(epochs::longest_entry(&world.rooms.get(&epoch.room)?.descriptor))
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::VerifyingKey;

    use super::*;

    /// A corrupt server gives a lower slot to somebody who has handed in for another one.
    #[test]
    fn a_second_slot_silences_nobody() {
        let key = VerifyingKey([1; 32]);
        let row = |slot: u32| AssignmentRow {
            slot,
            key,
            author: ostrakon_mixing::engine::slot_class(slot, 3),
            announcement: 7,
            issued: true,
        };
        let submitted = SubmissionRow { slot: 4, key, body: vec![9] };
        let slots: Vec<_> = states(vec![row(2), row(4)], vec![submitted]);
        let held: Vec<_> =
            slots.iter().map(|slot| (slot.slot, slot.submission.as_deref())).collect();
        assert_eq!(held, [(2, None), (4, Some(&[9][..]))]);
    }
}
