//! Batches of preprocessed material, as the servers agree on them.

use ostrakon_mixing::engine::Form;
use ostrakon_party::{ByParty, PartyId, PartySet};

use super::{BATCHES_KEPT, Effect, World};

/// What this server has of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Nothing yet, or nothing any more.
    Nothing,
    /// Its file.
    File,
}

/// A batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchInfo {
    /// What it is for.
    pub form: Form,
    /// The number of the scheduler's announcement that planned it.
    pub planned: u64,
    /// The number of the announcement by which each server first said that it holds it.
    pub said: ByParty<Option<u64>>,
    /// Who announced not to hold it, and never to do so.
    pub dropped: PartySet,
    /// Whether a server that holds it has said so again: it has started again since, and its
    /// messages are gone that others may still need to prepare it.
    pub interrupted: bool,
    /// Whether an epoch was opened with it.
    pub used: bool,
    /// What this server has of it.
    pub held: Held,
}

impl BatchInfo {
    /// A batch that the scheduler has just planned, by this announcement, of so many servers.
    pub fn planned(form: Form, planned: u64, parties: usize) -> Self {
        Self {
            form,
            planned,
            said: ByParty::new(parties, |_| None),
            dropped: PartySet::default(),
            interrupted: false,
            used: false,
            held: Held::Nothing,
        }
    }

    /// Whether it is, or will be, of use to an epoch to come.
    pub fn is_supply(&self) -> bool {
        !self.used && self.dropped.is_empty()
    }

    /// Whether every server has said that it holds it.
    pub fn is_held_by_all(&self) -> bool {
        self.said.iter().all(|(_, said)| said.is_some())
    }

    /// Whether an epoch can be opened with it.
    pub fn is_usable(&self) -> bool {
        self.is_supply() && self.is_held_by_all()
    }

    /// Whether a server that knows so many announcements of each knows that all servers hold it.
    pub(super) fn is_ready_by(&self, after: &[u64]) -> bool {
        let heard = |((_, said), known): ((PartyId, &Option<u64>), &u64)| {
            said.is_some_and(|said| said < *known)
        };
        self.said.iter().zip(after).all(heard)
    }
}

impl World {
    /// The number of the next batch.
    pub fn next_batch(&self) -> u64 {
        self.batches.last_key_value().map_or(self.first_batch, |(number, _)| number + 1)
    }

    /// Takes a planned batch into memory, and old ones out of it.
    pub(super) fn plan_batch(&mut self, number: u64, form: Form, planned: u64) -> Vec<Effect> {
        self.batches.insert(number, BatchInfo::planned(form, planned, self.trusts.parties()));
        let unused = self.forget_old_batches().into_iter().map(Effect::Discard);
        std::iter::once(Effect::Prepare(number)).chain(unused).collect()
    }

    /// Takes out of memory what was planned [`BATCHES_KEPT`] or more before the newest batch, and
    /// returns which of it was never used. It is out of use on every server from the same
    /// announcement on, unless an epoch has waited with it all the while.
    pub fn forget_old_batches(&mut self) -> Vec<u64> {
        let newest = self.batches.last_key_value().map(|(number, _)| *number);
        let Some(oldest) = newest.and_then(|newest| newest.checked_sub(BATCHES_KEPT)) else {
            return Vec::new();
        };
        let newer = self.batches.split_off(&(oldest + 1));
        let mut older = std::mem::replace(&mut self.batches, newer);
        for batch in self.rooms.values().filter_map(|room| Some(room.collecting.as_ref()?.batch)) {
            self.batches.extend(older.remove_entry(&batch));
        }
        older.into_iter().filter(|(_, info)| !info.used).map(|(number, _)| number).collect()
    }

    /// A server holds a batch, or says so again.
    pub(super) fn batch_ready(
        &mut self,
        number: u64,
        party: PartyId,
        announcement: u64,
    ) -> Vec<Effect> {
        let Some(info) = self.batches.get_mut(&number) else { return Vec::new() };
        info.interrupted |= info.said[party].is_some();
        info.said[party].get_or_insert(announcement);
        let all = info.is_held_by_all();
        if info.is_usable() {
            self.setbacks.0 = 0;
            let form = info.form;
            let rooms: Vec<_> = self.rooms_of(form).collect();
            rooms.iter().for_each(|room| self.touch(room));
        }
        if all { vec![Effect::Retire(number)] } else { Vec::new() }
    }

    /// A server does not hold a batch and never will.
    pub(super) fn batch_dropped(&mut self, number: u64, party: PartyId, now: u64) -> Vec<Effect> {
        self.version += 1;
        let Some(info) = self.batches.get_mut(&number) else { return Vec::new() };
        let (first, lost) = (info.dropped.is_empty(), info.is_held_by_all());
        let withdrawn = info.said[party].is_some();
        info.dropped.insert(party);
        let discard = (!info.used).then_some(Effect::Discard(number));
        if first {
            // Losing what was there says nothing about preparing more: it counts once, however much
            // is lost.
            let (setbacks, _) = self.setbacks;
            let setbacks = if lost { setbacks.max(1) } else { setbacks.saturating_add(1) };
            self.setbacks = (setbacks, now);
        }
        let note = (first && withdrawn).then_some(Effect::Withdrawn(number, party));
        discard.into_iter().chain(note).collect()
    }
}
