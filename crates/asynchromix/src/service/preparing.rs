//! Stock: batches are begun, prepared and kept (spec V3).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostrakon_agreement::Keys;
use ostrakon_crypto::{Digest, Secret};
use ostrakon_party::{PartyId, wire};
use ostrakon_robust::machine::Step;
use ostrakon_robust::offline::{Batch, Checked, Event, Record, Shuffle, ShuffleStock};
use rand_core::Rng;

use crate::disk::{Disk, Key, Write};
use crate::evidence::Shown;
use crate::message::RunId;
use crate::state::State;
use crate::word::Word;

use super::{Effects, Service, Told};

/// Ticks for which a new batch gives way to an epoch that is closed and not on the board: for the
/// board people wait, for stock nobody does. It is begun afterwards whatever comes of the epoch.
const GIVES_WAY: u32 = 100;

/// What this server has of batches that are not ready.
pub(super) struct Preparing {
    running: BTreeMap<u64, Batch<Shuffle>>,
    /// What this server shows of batches that were burnt, until that is ordered.
    shown: BTreeMap<u64, Shown>,
    /// Batches that this disk has begun: none is begun a second time.
    begun: BTreeSet<u64>,
    /// Shares that were written down and are not in use, with the batches' names.
    dormant: BTreeMap<u64, Vec<u8>>,
    /// Ticks for which new batches still give way to what is mixed.
    gives_way: u32,
}

impl Preparing {
    pub fn load(disk: &Disk) -> Self {
        let mut preparing = Self {
            running: BTreeMap::new(),
            shown: BTreeMap::new(),
            begun: BTreeSet::new(),
            dormant: BTreeMap::new(),
            gives_way: GIVES_WAY,
        };
        for (key, value) in &disk.0 {
            match key {
                Key::Begun(number) => drop(preparing.begun.insert(*number)),
                Key::Stock(number) => drop(preparing.dormant.insert(*number, value.clone())),
                Key::Shown(number) => {
                    let shown = wire::decode(value).ok();
                    preparing.shown.extend(shown.map(|shown| (*number, shown)));
                }
                _ => {}
            }
        }
        preparing
    }

    /// Some time has passed.
    pub fn tick(&mut self) {
        self.gives_way = self.gives_way.saturating_sub(1);
    }

    pub fn len(&self) -> usize {
        self.running.len() + self.shown.len() + self.dormant.len()
    }
}

impl<K: Keys> Service<K> {
    /// Begins every batch of the state that this server has a part in, once; says that it is out of
    /// those that an earlier life began and did not end.
    pub(super) fn prepare(&mut self, effects: &mut Effects) {
        let lacking = |(number, batch): (&u64, &crate::state::Batch)| {
            let member = self.room.committee_of(*number).position(self.me).is_some();
            let here = self.preparing.running.contains_key(number)
                || self.preparing.dormant.contains_key(number);
            (member && !here && !batch.ready).then_some(*number)
        };
        let lacking: Vec<_> = self.state.stock.batches.iter().filter_map(lacking).collect();
        self.say_right_again();
        self.show_again(effects);
        let mixes = self.state.epochs.values().any(|epoch| !epoch.collects());
        if !mixes {
            self.preparing.gives_way = GIVES_WAY;
        }
        for number in lacking {
            if self.preparing.begun.contains(&number) {
                self.say_once("out", number, Word::Out(number));
            } else if !mixes || self.preparing.gives_way == 0 {
                self.begin_batch(number, effects);
            }
        }
    }

    /// Says that the own part of a batch is right, if its shares were written down and the word was
    /// not: by a life that ended just then.
    fn say_right_again(&mut self) {
        let lacking = |(number, batch): (&u64, &crate::state::Batch)| {
            let position = self.room.committee_of(*number).position(self.me)?;
            let finished = self.preparing.dormant.contains_key(number)
                && !self.preparing.running.contains_key(number);
            (finished && !batch.ready && !batch.is_right_for(position)).then_some(*number)
        };
        let lacking: Vec<u64> = self.state.stock.batches.iter().filter_map(lacking).collect();
        for number in lacking {
            self.say_once("right", number, Word::Batch(number, Record::Right.to_bytes()));
        }
    }

    /// Shows what this server has of burnt batches, also after a restart: without what all members
    /// have nobody is convicted.
    fn show_again(&mut self, effects: &mut Effects) {
        let stock = &self.state.stock;
        let mut over = Vec::new();
        let mut lacking = Vec::new();
        for (number, shown) in &self.preparing.shown {
            let position = self.room.committee_of(*number).position(self.me);
            match (stock.burnt().get(number), position) {
                (Some(burnt), Some(position)) if !burnt.has_shown(position) => {
                    lacking.push((*number, shown.clone()));
                }
                (Some(_), _) => {}
                // The state may not have come so far.
                (None, _) if !stock.has_begun(*number) || stock.batches.contains_key(number) => {}
                (None, _) => over.push(*number),
            }
        }
        for (number, shown) in lacking {
            self.say_once("show", number, Word::Show(number, shown));
        }
        for number in over {
            self.preparing.shown.remove(&number);
            self.said.remove(&("show", number));
            effects.writes.push(Write::Delete(Key::Shown(number)));
        }
    }

    fn begin_batch(&mut self, number: u64, effects: &mut Effects) {
        let committee = Arc::clone(self.room.committee_of(number));
        let Some(me) = committee.position(self.me) else { return };
        // Step B1: the number is written down before the commitment leaves.
        effects.writes.push(Write::Put(Key::Begun(number), Vec::new()));
        self.preparing.begun.insert(number);
        let mut seed = [0; 32];
        self.rng.fill_bytes(&mut seed);
        let subject = self.room.subject_of(number);
        let (signing, recipe) = (Arc::clone(&self.signing), self.room.shuffle_of(number));
        let (mut batch, record) = Batch::new(subject, recipe, me, signing, Secret::new(seed));
        self.backlog.push_back(Word::Batch(number, record.to_bytes()));
        // Others may have committed already, in what this server did not see ordered.
        let committed = self.state.stock.batches.get(&number).map(|batch| &batch.committed);
        for (position, digest) in committed.into_iter().flatten() {
            let member = committee.members()[*position];
            drop(batch.ordered(member, Record::Commit(*digest), &mut self.rng));
        }
        self.preparing.running.insert(number, batch);
    }

    /// A record about a batch has been ordered.
    pub(super) fn batch_record(
        &mut self,
        number: u64,
        author: PartyId,
        record: &[u8],
        effects: &mut Effects,
    ) {
        let Some(batch) = self.preparing.running.get_mut(&number) else { return };
        // What members show they sign: that is another word.
        if let Some(record @ (Record::Commit(_) | Record::Right)) = Record::from_bytes(record) {
            let step = batch.ordered(author, record, &mut self.rng);
            self.batch_step(number, step, effects);
        }
    }

    pub(super) fn batch_message(
        &mut self,
        number: u64,
        from: PartyId,
        bytes: &[u8],
        effects: &mut Effects,
    ) {
        let Some(batch) = self.preparing.running.get_mut(&number) else { return };
        let steps = batch.instance().map_or(0, |instance| 2 * instance.phases.len());
        self.delivery.came(RunId::Batch(number), from, bytes, steps);
        let step = batch.handle(from, bytes, &mut self.rng);
        self.batch_step(number, step, effects);
    }

    fn batch_step(&mut self, number: u64, step: Step<Event<ShuffleStock>>, effects: &mut Effects) {
        let run = RunId::Batch(number);
        let running = self.preparing.running.get(&number);
        let dealing = running.is_some_and(|batch| batch.instance().is_some());
        if dealing && self.delivery.begin(run) {
            self.ask_again(run, effects);
        }
        self.send_run(run, step.sends, effects);
        self.run_faults(step.faults, effects);
        for event in step.outputs {
            match event {
                Event::Propose(record) => {
                    if matches!(record, Record::Right) {
                        self.write_stock(number, effects);
                        self.delivery.done(run);
                        let sent = self.delivery.elements(run);
                        effects.told.push(Told::Prepared(number, sent));
                    }
                    let batch = self.preparing.running.get(&number);
                    let word = match (&record, batch.and_then(Batch::instance)) {
                        (Record::Complaint(_), Some(instance)) => {
                            let shown = Shown::sign(&instance.name, &record, &self.signing);
                            Word::Show(number, shown)
                        }
                        _ => Word::Batch(number, record.to_bytes()),
                    };
                    self.backlog.push_back(word);
                    self.stirred = true;
                }
                Event::Ready(checked) => drop(self.stock.insert(number, checked)),
                // What all show is judged in the agreed state.
                Event::Burned | Event::Judged(_) => {}
            }
        }
    }

    /// Writes the own shares down before saying that they are right: a restart does not cost them.
    fn write_stock(&mut self, number: u64, effects: &mut Effects) {
        let batch = self.preparing.running.get(&number);
        if let Some((name, stock)) = batch.and_then(Batch::finished) {
            let bytes = [&name.0[..], &stock.to_bytes()].concat();
            // In use when the batch is ready, however this server comes to know it.
            self.preparing.dormant.insert(number, bytes.clone());
            effects.writes.push(Write::Put(Key::Stock(number), bytes));
        }
    }

    /// A batch is ready: its shares are in use from here on, those of an earlier life too.
    pub(super) fn ready(&mut self, number: u64) {
        self.preparing.running.remove(&number);
        self.delivery.forget(RunId::Batch(number));
        self.awaken(number);
    }

    /// Takes shares from the disk into use.
    fn awaken(&mut self, number: u64) {
        let Some(bytes) = self.preparing.dormant.remove(&number) else { return };
        if self.stock.contains_key(&number) {
            return;
        }
        let committee = Arc::clone(self.room.committee_of(number));
        let Some((name, rest)) = bytes.split_first_chunk::<32>() else { return };
        if let Some(stock) = ShuffleStock::from_bytes(&self.room.shuffle_of(number), rest) {
            self.stock.insert(number, Checked::restore(Digest(*name), committee, stock));
        }
    }

    pub(super) fn burnt(&mut self, number: u64, effects: &mut Effects) {
        let running = self.preparing.running.remove(&number);
        if let Some(shown) = running.and_then(|batch| self.own_part(number, batch)) {
            // It is written down: a restart must not be what leaves a liar unnamed.
            effects.writes.push(Write::Put(Key::Shown(number), wire::encode(&shown)));
            self.preparing.shown.insert(number, shown);
        }
        self.drop_batch(number, effects);
    }

    /// What this server has of a batch that was burnt, if it has taken part in it.
    fn own_part(&mut self, number: u64, mut batch: Batch<Shuffle>) -> Option<Shown> {
        let (complainer, complaint) = self.state.stock.burnt().get(&number)?.complaint()?;
        let author = self.room.committee_of(number).members()[complainer];
        let step = batch.ordered(author, Record::Complaint(complaint), &mut self.rng);
        let name = batch.instance()?.name;
        step.outputs.into_iter().find_map(|event| match event {
            Event::Propose(record) => Some(Shown::sign(&name, &record, &self.signing)),
            _ => None,
        })
    }

    /// Forgets a batch, on the disk too. The shares go first: without the mark that it was begun
    /// they would be begun again.
    pub(super) fn drop_batch(&mut self, number: u64, effects: &mut Effects) {
        self.preparing.running.remove(&number);
        self.preparing.dormant.remove(&number);
        self.delivery.forget(RunId::Batch(number));
        self.said.remove(&("out", number));
        self.said.remove(&("right", number));
        effects.writes.push(Write::Delete(Key::Stock(number)));
        if let Some(checked) = self.stock.remove(&number) {
            self.drop_mark(checked.batch(), effects);
        }
        if self.preparing.begun.remove(&number) {
            effects.writes.push(Write::Delete(Key::Begun(number)));
        }
    }

    /// After the state was taken over whole: what it does not have is dropped, what it has ready is
    /// taken into use.
    pub(super) fn reconcile_batches(&mut self, effects: &mut Effects) {
        let state = &self.state;
        let used =
            |state: &State, number: &u64| state.epochs.values().any(|epoch| epoch.batch == *number);
        // A batch that this state has not come to yet is not gone: a start goes on from the newest
        // checkpoint, and what was ordered since follows.
        let gone = |number: &&u64| {
            let stock = &state.stock;
            let over = stock.has_begun(**number) && !stock.batches.contains_key(number);
            over && !used(state, number)
        };
        let Preparing { running, begun, dormant, .. } = &self.preparing;
        let known: BTreeSet<u64> = running
            .keys()
            .chain(begun)
            .chain(dormant.keys())
            .chain(self.stock.keys())
            .copied()
            .collect();
        let gone: Vec<u64> = known.iter().filter(gone).copied().collect();
        let in_use: Vec<u64> = known
            .iter()
            .filter(|number| {
                used(state, number) || state.stock.batches.get(number).is_some_and(|b| b.ready)
            })
            .copied()
            .collect();
        // What was ordered about a batch under way has been missed: this server cannot go on.
        let missed: Vec<u64> = running.keys().copied().collect();
        gone.into_iter().for_each(|number| self.drop_batch(number, effects));
        in_use.into_iter().for_each(|number| self.awaken(number));
        for number in missed {
            self.preparing.running.remove(&number);
            self.delivery.forget(RunId::Batch(number));
        }
    }

    /// This server's data are lost: it uses nothing that it held.
    pub(super) fn forget_material(&mut self, effects: &mut Effects) {
        let Preparing { running, dormant, .. } = &self.preparing;
        let held: BTreeSet<u64> =
            running.keys().chain(dormant.keys()).chain(self.stock.keys()).copied().collect();
        for number in held {
            self.preparing.running.remove(&number);
            self.preparing.dormant.remove(&number);
            self.stock.remove(&number);
            self.delivery.forget(RunId::Batch(number));
            effects.writes.push(Write::Delete(Key::Stock(number)));
        }
        for number in std::mem::take(&mut self.preparing.shown).into_keys() {
            effects.writes.push(Write::Delete(Key::Shown(number)));
        }
        self.backlog.clear();
        self.collected.forget_requests();
        self.mixing.forget();
    }
}
