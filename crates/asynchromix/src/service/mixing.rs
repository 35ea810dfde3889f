//! The seal, the shuffle and the entry (spec V6 and V7).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostrakon_agreement::Keys;
use ostrakon_crypto::{Digest, Secret, Signature};
use ostrakon_field::Fp;
use ostrakon_party::{PartyId, wire};
use ostrakon_robust::Tape;
use ostrakon_robust::client::{Submission, from_elements};
use ostrakon_robust::machine::{Machine, Outcome as Ended, Step};
use ostrakon_robust::offline::Journal;
use ostrakon_robust::online::shuffle::DealersShuffle;
use rand_core::Rng;

use crate::board::{Entry, Outcome, SignedEntry, statement};
use crate::disk::{Disk, Key, Write};
use crate::message::{Message, RunId};
use crate::row::{self, Said};
use crate::word::Word;

use super::{Effects, Service, Told};

/// Rows that are asked for at a tick at most.
const ASKED: usize = 256;

/// What this server has of epochs that are sealed.
pub(super) struct Mixing {
    runs: BTreeMap<u64, Machine<DealersShuffle>>,
    /// Epochs whose runs were begun, with the names of the batches that they use up.
    begun: BTreeMap<u64, Digest>,
    /// What came out of epochs that are not on the board.
    outcomes: BTreeMap<u64, Outcome>,
    /// Entries that this server has signed.
    drafts: BTreeMap<u64, Entry>,
    /// On what batches are spent.
    spent: BTreeMap<Digest, Digest>,
    /// How often rows were asked for.
    turn: usize,
}

/// Writes a mark, unless there is another one.
struct Marks<'a> {
    spent: &'a mut BTreeMap<Digest, Digest>,
    writes: &'a mut Vec<Write>,
}

impl Journal for Marks<'_> {
    fn spend(&mut self, batch: Digest, purpose: Digest) -> bool {
        if let Some(mark) = self.spent.get(&batch) {
            return *mark == purpose;
        }
        self.spent.insert(batch, purpose);
        self.writes.push(Write::Put(Key::Spent(batch), purpose.0.to_vec()));
        true
    }
}

impl Mixing {
    pub fn load(disk: &Disk) -> Self {
        let mark = |(key, value): (&Key, &Vec<u8>)| match key {
            Key::Spent(batch) => Some((*batch, Digest(value[..].try_into().ok()?))),
            _ => None,
        };
        let draft = |(key, value): (&Key, &Vec<u8>)| match key {
            Key::Draft(number) => Some((*number, wire::decode(value).ok()?)),
            _ => None,
        };
        Self {
            runs: BTreeMap::new(),
            begun: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            drafts: disk.0.iter().filter_map(draft).collect(),
            spent: disk.0.iter().filter_map(mark).collect(),
            turn: 0,
        }
    }

    /// Lets go of all runs.
    pub fn forget(&mut self) {
        self.runs.clear();
        self.outcomes.clear();
        self.drafts.clear();
    }
}

impl<K: Keys> Service<K> {
    pub(super) fn sealed(&mut self, number: u64, effects: &mut Effects) {
        let Some(seal) = self.state.epochs.get(&number).and_then(|epoch| epoch.seal.as_ref())
        else {
            return;
        };
        let rows = seal.rows.iter().flatten().count();
        effects.told.push(Told::Sealed(number, rows, seal.enough));
    }

    /// Begins the shuffle of every sealed epoch whose rows are here, and signs the next entry.
    pub(super) fn mix(&mut self, effects: &mut Effects) {
        let numbers: Vec<u64> = self.state.epochs.keys().copied().collect();
        for number in numbers {
            let Some(seal) = self.state.epochs.get(&number).and_then(|e| e.seal.as_ref()) else {
                continue;
            };
            if seal.enough {
                self.begin_shuffle(number, effects);
            } else {
                // Nothing is opened. The masks go with the batch, when the entry is on the board.
                self.mixing.outcomes.entry(number).or_insert(Outcome::TooFew);
            }
        }
        self.sign_entry(effects);
    }

    /// Sealed rows that this server lacks.
    fn lacking(&self, number: u64) -> Vec<(u32, Digest)> {
        let Some(seal) = self.state.epochs.get(&number).and_then(|epoch| epoch.seal.as_ref())
        else {
            return Vec::new();
        };
        let sealed = (0u32..).zip(&seal.rows).filter_map(|(slot, row)| Some((slot, (*row)?)));
        let here = |slot, row: &Digest| {
            self.collected.rows.get(&(number, slot)).is_some_and(|here| here.row() == *row)
        };
        sealed.filter(|(slot, row)| !here(*slot, row)).collect()
    }

    fn begin_shuffle(&mut self, number: u64, effects: &mut Effects) {
        let Some(epoch) = self.state.epochs.get(&number) else { return };
        let batch = epoch.batch;
        if self.mixing.begun.contains_key(&number)
            || !self.stock.contains_key(&batch)
            || !self.lacking(number).is_empty()
        {
            return;
        }
        let (Some(seal), Some(purpose)) = (&epoch.seal, epoch.purpose(&self.room, number)) else {
            return;
        };
        let slots = (0u32..).zip(&seal.rows).map(|(slot, row)| {
            row.and_then(|_| self.collected.rows.get(&(number, slot)))
                .map(|submission| submission.masked.clone())
        });
        let submissions: Vec<_> = slots.collect();
        let Some(checked) = self.stock.remove(&batch) else { return };
        self.mixing.begun.insert(number, checked.batch());
        // "Spent" is written down before the first δ leaves.
        let mut marks = Marks { spent: &mut self.mixing.spent, writes: &mut effects.writes };
        let Ok(spent) = checked.spend(purpose, &mut marks) else { return };
        let committee = Arc::clone(self.room.committee_of(batch));
        let Some(me) = committee.position(self.me) else { return };
        let keys = self.room.keys_of(&committee);
        let phases =
            DealersShuffle::phases_of(&spent.stock().shape, submissions.iter().flatten().count());
        let name = spent.name();
        let program = DealersShuffle::new(spent, submissions);
        let instance = ostrakon_robust::message::Instance { name, committee, keys, phases };
        let mut seed = [0; 32];
        self.rng.fill_bytes(&mut seed);
        let tape = Tape::new(&Secret::new(seed));
        let signing = Arc::clone(&self.signing);
        let mut machine = Machine::new(Arc::new(instance), me, signing, program, tape);
        effects.told.push(Told::Mixing(number));
        let run = RunId::Epoch(number);
        self.delivery.begin(run);
        let step = machine.start(&mut self.rng);
        self.mixing.runs.insert(number, machine);
        self.ask_again(run, effects);
        self.shuffle_step(number, step, effects);
    }

    pub(super) fn shuffle_message(
        &mut self,
        number: u64,
        from: PartyId,
        bytes: &[u8],
        effects: &mut Effects,
    ) {
        let Some(machine) = self.mixing.runs.get_mut(&number) else { return };
        let steps = 2 * machine.instance().phases.len();
        self.delivery.came(RunId::Epoch(number), from, bytes, steps);
        let step = machine.handle(from, bytes, &mut self.rng);
        self.shuffle_step(number, step, effects);
    }

    fn shuffle_step(&mut self, number: u64, step: Step<Ended<Vec<Fp>>>, effects: &mut Effects) {
        self.send_run(RunId::Epoch(number), step.sends, effects);
        self.run_faults(step.faults, effects);
        for outcome in step.outputs {
            // Openings of checked material are robust, so nothing else comes.
            if let Ended::Done(values) = outcome {
                self.mixing.runs.remove(&number);
                let sent = self.delivery.elements(RunId::Epoch(number));
                self.delivery.done(RunId::Epoch(number));
                let messages = self.messages(number, &values);
                self.mixing.outcomes.insert(number, Outcome::Messages(messages));
                self.stirred = true;
                effects.told.push(Told::Mixed(number, sent));
            }
        }
    }

    /// The messages among the rows that came out, in their order. Covers, and the masks of places
    /// without a row, are left out.
    fn messages(&self, number: u64, values: &[Fp]) -> Vec<Vec<u8>> {
        let length = row::bytes(self.room.shape().payload);
        let room = self.room.digest();
        let said = values.chunks_exact(self.room.width()).filter_map(|elements| {
            let row = from_elements(elements, length)?;
            row::decode(&room, number, &row)
        });
        said.filter_map(|said| match said {
            Said::Message(message) => Some(message),
            Said::Cover => None,
        })
        .collect()
    }

    /// Signs the entry that comes next on the board, if this server has what it says. The entry is
    /// written down first: once t + 1 have signed, the shares from which it came are forgotten.
    fn sign_entry(&mut self, effects: &mut Effects) {
        let number = self.state.entries;
        let Some(epoch) = self.state.epochs.get(&number).filter(|e| !e.has_signed(self.me)) else {
            return;
        };
        let Some(seal) = &epoch.seal else { return };
        let Some(outcome) = self.mixing.outcomes.get(&number).cloned() else { return };
        let slots = (0u32..).zip(&seal.rows).filter(|(_, row)| row.is_some());
        let sealed = slots.map(|(slot, _)| slot).collect();
        let entry = Entry { epoch: number, previous: self.state.head, sealed, outcome };
        let digest = self.digest_of(&entry);
        let signature = self.signing.sign(&statement(&self.room.digest(), number, &digest));
        effects.writes.push(Write::Put(Key::Draft(number), wire::encode(&entry)));
        self.mixing.drafts.insert(number, entry);
        self.say_once("board", number, Word::Board(number, digest, signature));
    }

    /// t + 1 servers signed an entry: the own draft is it, or it is asked for.
    pub(super) fn published(
        &mut self,
        number: u64,
        digest: Digest,
        signatures: Vec<(PartyId, Signature)>,
        effects: &mut Effects,
    ) {
        let draft = self.mixing.drafts.get(&number);
        // Otherwise it is asked for at the next tick.
        if let Some(entry) = draft.filter(|draft| self.digest_of(draft) == digest).cloned() {
            self.keep_entry(SignedEntry { entry, signatures }, effects);
        }
    }

    /// Keeps an entry. Participants ask for it.
    pub(super) fn keep_entry(&mut self, signed: SignedEntry, effects: &mut Effects) {
        let number = signed.entry.epoch;
        effects.writes.push(Write::Put(Key::Entry(number), wire::encode(&signed)));
        let old = self.catching.keep(Arc::new(signed));
        effects.writes.extend(old.map(|number| Write::Delete(Key::Entry(number))));
    }

    /// Forgets everything of an epoch that is on the board: rows, masks, messages.
    pub(super) fn drop_epoch(&mut self, number: u64, batch: Option<u64>, effects: &mut Effects) {
        self.mixing.runs.remove(&number);
        self.mixing.outcomes.remove(&number);
        if self.mixing.drafts.remove(&number).is_some() {
            effects.writes.push(Write::Delete(Key::Draft(number)));
        }
        self.delivery.forget(RunId::Epoch(number));
        batch.into_iter().for_each(|batch| self.drop_batch(batch, effects));
        // The shares are gone from the disk, so the mark may go.
        if let Some(name) = self.mixing.begun.remove(&number) {
            self.drop_mark(name, effects);
        }
        let kept = self.collected.rows.split_off(&(number + 1, 0));
        for (epoch, slot) in std::mem::replace(&mut self.collected.rows, kept).into_keys() {
            effects.writes.push(Write::Delete(Key::Row(epoch, slot)));
        }
        self.collected.forget_through(number);
        self.said.retain(|(kind, about)| {
            !(matches!(*kind, "close" | "final" | "board") && *about <= number)
        });
    }

    /// Forgets on what a batch was spent.
    pub(super) fn drop_mark(&mut self, batch: Digest, effects: &mut Effects) {
        if self.mixing.spent.remove(&batch).is_some() {
            effects.writes.push(Write::Delete(Key::Spent(batch)));
        }
    }

    /// Keeps the entries that this server has signed and did not see signed by others: nobody else
    /// honest may have them.
    fn keep_drafts(&mut self, effects: &mut Effects) {
        let proven = self.mixing.drafts.iter().filter_map(|(number, draft)| {
            let (digest, signatures) = self.state.proof(*number)?;
            let right = *digest == self.digest_of(draft);
            right.then(|| SignedEntry { entry: draft.clone(), signatures: signatures.clone() })
        });
        let proven: Vec<SignedEntry> = proven.collect();
        for signed in proven {
            if !self.catching.board.contains_key(&signed.entry.epoch) {
                self.keep_entry(signed, effects);
            }
        }
    }

    /// Forgets epochs that the state has not, after it was taken over whole.
    pub(super) fn reconcile_epochs(&mut self, effects: &mut Effects) {
        self.keep_drafts(effects);
        let Mixing { runs, begun, outcomes, drafts, .. } = &self.mixing;
        let rows = self.collected.rows.keys().map(|(number, _)| number);
        let known = runs.keys().chain(begun.keys()).chain(outcomes.keys()).chain(drafts.keys());
        let known = known.chain(rows);
        let over: BTreeSet<u64> =
            known.filter(|number| **number < self.state.entries).copied().collect();
        for number in over {
            self.drop_epoch(number, None, effects);
        }
    }

    /// Asks those who declared them for sealed rows that this server lacks, one after another.
    pub(super) fn ask_rows(&mut self, effects: &mut Effects) {
        self.mixing.turn += 1;
        let numbers: Vec<u64> = self.state.epochs.keys().copied().collect();
        for number in numbers {
            let Some(epoch) = self.state.epochs.get(&number) else { continue };
            let spending = self.stock.contains_key(&epoch.batch);
            if !spending || !epoch.seal.as_ref().is_some_and(|seal| seal.enough) {
                continue;
            }
            for (slot, row) in self.lacking(number).into_iter().take(ASKED) {
                let Some(place) = epoch.place(slot) else { continue };
                let holders: Vec<_> = place.holders(row).filter(|p| *p != self.me).collect();
                if let Some(holder) = holders.get(self.mixing.turn % holders.len().max(1)) {
                    effects.send(*holder, &Message::AskRow(number, slot));
                }
            }
        }
    }

    /// Takes a row that was asked for. The seal names its digest, so whoever sends it decides
    /// nothing.
    pub(super) fn take_row(
        &mut self,
        from: PartyId,
        (number, slot): (u64, u32),
        bytes: &[u8],
        effects: &mut Effects,
    ) {
        let Some((_, wanted)) = self.lacking(number).into_iter().find(|(of, _)| *of == slot) else {
            return;
        };
        match Submission::from_bytes(bytes, self.room.width()) {
            Some(submission) if submission.row() == wanted => {
                let key = Key::Row(number, slot);
                effects.writes.push(Write::Put(key, submission.to_bytes()));
                self.collected.rows.insert((number, slot), submission);
                self.stirred = true;
            }
            _ => self.fault(from, "a row that is not the sealed one", effects),
        }
    }
}
