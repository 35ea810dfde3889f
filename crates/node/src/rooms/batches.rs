//! Batches of preprocessed material, as the servers agree on them.

use ostrakon_broadcast::engine::Form;
use ostrakon_party::PartyId;

use super::{BATCHES_KEPT, Effect, World};
use crate::config::SERVERS;

/// Every server's bit.
pub(super) const ALL: u8 = (1 << SERVERS) - 1;

/// What this server has of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Nothing yet, or nothing any more.
    Nothing,
    /// Its file.
    File,
}

/// A batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchInfo {
    /// What it is for.
    pub form: Form,
    /// The number of the scheduler's announcement that planned it.
    pub planned: u64,
    /// Bit j: server j announced that it holds it.
    pub ready: u8,
    /// The number of the announcement by which each of these first did.
    pub said: [u64; SERVERS],
    /// Bit j: server j announced that it does not and never will.
    pub dropped: u8,
    /// Whether a server that holds it has said so again: it has started again since, and its
    /// messages are gone that others may still need to prepare it.
    pub interrupted: bool,
    /// Whether an epoch was opened with it.
    pub used: bool,
    /// What this server has of it.
    pub held: Held,
}

impl BatchInfo {
    /// A batch that the scheduler has just planned, by this announcement.
    pub fn planned(form: Form, planned: u64) -> Self {
        let (ready, dropped, said) = Default::default();
        Self {
            form,
            planned,
            ready,
            said,
            dropped,
            interrupted: false,
            used: false,
            held: Held::Nothing,
        }
    }

    /// Whether it is, or will be, of use to an epoch to come.
    pub fn is_supply(&self) -> bool {
        !self.used && self.dropped == 0
    }

    /// Whether an epoch can be opened with it.
    pub fn is_usable(&self) -> bool {
        self.is_supply() && self.ready == ALL
    }

    /// Whether a server that knows so many announcements of each knows that all servers hold it.
    pub(super) fn is_ready_by(&self, after: &[u64; SERVERS]) -> bool {
        self.ready == ALL && self.said.iter().zip(after).all(|(said, known)| said < known)
    }
}

impl World {
    /// The number of the next batch.
    pub fn next_batch(&self) -> u64 {
        self.batches.last_key_value().map_or(self.first_batch, |(number, _)| number + 1)
    }

    /// Takes a planned batch into memory, and old ones out of it.
    pub(super) fn plan_batch(&mut self, number: u64, form: Form, planned: u64) -> Vec<Effect> {
        self.batches.insert(number, BatchInfo::planned(form, planned));
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
        let again = info.ready & (1 << party.0) != 0;
        info.interrupted |= again;
        info.ready |= 1 << party.0;
        if !again {
            info.said[party.index()] = announcement;
        }
        let all = info.ready == ALL;
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
        let (first, lost) = (info.dropped == 0, info.ready == ALL);
        let withdrawn = info.ready & (1 << party.0) != 0;
        info.dropped |= 1 << party.0;
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
