//! What a server that was away, or is not of an epoch's set, asks others for (spec V8).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use ostrakon_agreement::Keys;
use ostrakon_agreement::dag::{Output, SignedCheckpoint};
use ostrakon_crypto::Digest;
use ostrakon_party::{PartyId, wire};

use crate::board::SignedEntry;
use crate::disk::{Disk, Key, Write};
use crate::message::Message;
use crate::room::KEPT;
use crate::state::State;
use crate::visit::{ENTRY_BYTES, MAX_ENTRIES};

use super::{Effects, Service, Told};

/// What one other server is given between two ticks, in rows.
const SERVED: usize = 256;
/// What an entry and a state count.
const OF_ENTRY: usize = 16;
const OF_STATE: usize = 128;
/// Entries that are asked for at a tick at most.
const ENTRIES: usize = 16;

/// What this server lacks, and what it has for others.
pub(super) struct CatchingUp {
    /// The state that was adopted, and is not here.
    missing: Option<(u64, Digest)>,
    /// Outputs of the ledger since.
    pub waiting: VecDeque<Output>,
    /// States by commits: of the newest checkpoint and of those under way.
    pub states: BTreeMap<u64, Arc<[u8]>>,
    /// The newest entries of the board.
    pub board: BTreeMap<u64, Arc<SignedEntry>>,
    /// The newest checkpoint, with its commits: for who lacks the state of one before.
    pub checkpoint: Option<(u64, Bytes)>,
    served: BTreeMap<PartyId, usize>,
    turn: usize,
}

impl CatchingUp {
    pub fn load(disk: &Disk) -> Self {
        let mut catching = Self {
            missing: None,
            waiting: VecDeque::new(),
            states: BTreeMap::new(),
            board: BTreeMap::new(),
            checkpoint: None,
            served: BTreeMap::new(),
            turn: 0,
        };
        for (key, value) in &disk.0 {
            match key {
                Key::State(commits) => {
                    catching.states.insert(*commits, value.clone().into());
                }
                Key::Entry(_) => {
                    if let Ok(entry) = wire::decode(value) {
                        _ = catching.keep(Arc::new(entry));
                    }
                }
                _ => {}
            }
        }
        catching
    }

    pub fn lacks_state(&self) -> bool {
        self.missing.is_some()
    }

    /// Keeps an entry, and no more than the newest few; the one that it drops for it.
    pub fn keep(&mut self, signed: Arc<SignedEntry>) -> Option<u64> {
        self.board.insert(signed.entry.epoch, signed);
        let oldest = (self.board.len() > KEPT).then(|| self.board.pop_first()).flatten();
        oldest.map(|(number, _)| number)
    }

    /// Forgets entries on the disk that are not kept.
    pub fn drop_entries(&self, disk: &Disk, writes: &mut Vec<Write>) {
        let old = disk.0.keys().filter(|key| match key {
            Key::Entry(number) => !self.board.contains_key(number),
            _ => false,
        });
        writes.extend(old.map(|key| Write::Delete(*key)));
    }

    /// Entries from one on, as many as an answer may have.
    pub fn entries_from(&self, number: u64) -> Vec<SignedEntry> {
        let mut bytes = 0;
        let entries = self.board.range(number..).map(|(_, signed)| &**signed);
        let fitting = entries.take_while(|signed| {
            let first = bytes == 0;
            bytes += signed.size();
            first || bytes <= ENTRY_BYTES
        });
        fitting.take(MAX_ENTRIES).cloned().collect()
    }

    /// States of before a checkpoint are of no use.
    pub fn drop_states(&mut self, commits: u64, writes: &mut Vec<Write>) {
        let kept = self.states.split_off(&commits);
        for old in std::mem::replace(&mut self.states, kept).into_keys() {
            writes.push(Write::Delete(Key::State(old)));
        }
    }

    /// Whether a server may be given something now.
    fn serves(&mut self, party: PartyId, cost: usize) -> bool {
        let served = self.served.entry(party).or_default();
        *served += cost;
        *served <= SERVED
    }
}

impl<K: Keys> Service<K> {
    /// The ledger went on from a checkpoint.
    pub(super) fn adopt(&mut self, commits: u64, digest: Digest, effects: &mut Effects) {
        self.catching.waiting.clear();
        self.catching.missing = Some((commits, digest));
        match self.catching.states.get(&commits).cloned() {
            Some(bytes) => self.take_state(commits, &bytes, effects),
            None => self.ask_state(effects),
        }
    }

    fn ask_state(&mut self, effects: &mut Effects) {
        if let Some((commits, _)) = self.catching.missing {
            let others: Vec<PartyId> = self.others().collect();
            if let Some(other) = others.get(self.catching.turn % others.len().max(1)) {
                effects.send(*other, &Message::AskState(commits));
            }
        }
    }

    /// Takes over the state, if it is the one that t + 1 servers signed the digest of.
    fn take_state(&mut self, commits: u64, bytes: &[u8], effects: &mut Effects) {
        let wanted = (commits, State::digest(bytes));
        if self.catching.missing != Some(wanted) {
            return;
        }
        let Ok(state) = wire::decode(bytes) else { return };
        self.state = state;
        self.applied = commits;
        self.catching.missing = None;
        effects.told.push(Told::CaughtUp(commits));
        // Whether their words were ordered may have been missed.
        self.collected.forget_requests();
        self.catching.states.entry(commits).or_insert_with(|| {
            effects.writes.push(Write::Put(Key::State(commits), bytes.to_vec()));
            bytes.into()
        });
        self.reconcile_epochs(effects);
        self.reconcile_batches(effects);
        for output in self.catching.waiting.drain(..).rev() {
            self.outputs.push_front(output);
        }
        self.stirred = true;
    }

    /// Takes over the state of a later checkpoint than the one that was adopted: the others may
    /// have dropped that state since. The ledger has come past it by itself meanwhile.
    fn take_later(&mut self, checkpoint: &[u8], bytes: &[u8], effects: &mut Effects) {
        let Ok(checkpoint) = wire::decode::<SignedCheckpoint>(checkpoint) else { return };
        let commits = checkpoint.agreed.commits;
        let is_due = |output: &Output| matches!(output, Output::CheckpointDue(c) if *c == commits);
        let Some(due) = self.catching.waiting.iter().position(is_due) else { return };
        let later = self.catching.missing.is_some_and(|(missing, _)| commits > missing);
        let right = checkpoint.state == State::digest(bytes);
        if !later || !right || !self.ledger.believes(&checkpoint) {
            return;
        }
        // What was ordered until then is in the state; that it is due is the first to be seen to.
        self.catching.waiting.drain(..due);
        self.catching.missing = Some((commits, checkpoint.state));
        self.take_state(commits, bytes, effects);
    }

    /// The state that is asked for, or that of the newest checkpoint if it is gone.
    fn give_state(&mut self, to: PartyId, commits: u64, effects: &mut Effects) {
        let states = &self.catching.states;
        if let Some(bytes) = states.get(&commits) {
            return effects.send(to, &Message::State(commits, Bytes::copy_from_slice(bytes)));
        }
        let Some((newest, checkpoint)) = &self.catching.checkpoint else { return };
        if let Some(bytes) = states.get(newest).filter(|_| *newest > commits) {
            let bytes = Bytes::copy_from_slice(bytes);
            effects.send(to, &Message::Later(checkpoint.clone(), bytes));
        }
    }

    /// Asks, at a tick, for everything that this server lacks.
    pub(super) fn ask_others(&mut self, effects: &mut Effects) {
        self.catching.served.clear();
        self.catching.turn = self.catching.turn.wrapping_add(1);
        if self.catching.lacks_state() {
            return self.ask_state(effects);
        }
        self.ask_rows(effects);
        let others: Vec<PartyId> = self.others().collect();
        let Some(other) = others.get(self.catching.turn % others.len().max(1)) else { return };
        let first = self.state.entries.saturating_sub(KEPT as u64);
        let lacking = (first..self.state.entries).rev();
        let lacking = lacking.filter(|number| !self.catching.board.contains_key(number));
        for number in lacking.take(ENTRIES) {
            effects.send(*other, &Message::AskEntry(number));
        }
    }

    /// Answers what others lack, and takes what this server lacks.
    pub(super) fn catch_up(&mut self, from: PartyId, message: Message, effects: &mut Effects) {
        match message {
            Message::AskRow(number, slot) if self.catching.serves(from, 1) => {
                if let Some(row) = self.collected.rows.get(&(number, slot)) {
                    effects.send(from, &Message::Row(number, slot, row.to_bytes().into()));
                }
            }
            Message::AskState(commits) if self.catching.serves(from, OF_STATE) => {
                self.give_state(from, commits, effects);
            }
            Message::AskEntry(number) if self.catching.serves(from, OF_ENTRY) => {
                if let Some(entry) = self.catching.board.get(&number) {
                    effects.send(from, &Message::Entry(SignedEntry::clone(entry)));
                }
            }
            Message::Row(number, slot, bytes) => {
                self.take_row(from, (number, slot), &bytes, effects);
            }
            Message::State(commits, bytes) => self.take_state(commits, &bytes, effects),
            Message::Later(checkpoint, bytes) => self.take_later(&checkpoint, &bytes, effects),
            Message::Entry(signed) => {
                let number = signed.entry.epoch;
                let lacked = number < self.state.entries
                    && number + KEPT as u64 >= self.state.entries
                    && !self.catching.board.contains_key(&number);
                if lacked && signed.verifies(&self.room) {
                    self.keep_entry(signed, effects);
                } else if lacked {
                    self.fault(from, "a board's entry that is not signed", effects);
                }
            }
            _ => {}
        }
    }
}
