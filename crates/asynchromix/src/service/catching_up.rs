//! What a server that was away, or is not of an epoch's set, asks others for (spec V8).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use ostrakon_agreement::Keys;
use ostrakon_agreement::dag::Output;
use ostrakon_crypto::Digest;
use ostrakon_party::{PartyId, wire};

use crate::board::SignedEntry;
use crate::disk::{Disk, Key, Write};
use crate::message::Message;
use crate::state::State;

use super::{Effects, Service};

/// Entries of the board that are held in memory, for others and for participants.
pub const KEPT: usize = 256;
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
                        catching.keep(Arc::new(entry));
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

    /// Keeps an entry, and no more than the newest few.
    pub fn keep(&mut self, signed: Arc<SignedEntry>) {
        self.board.insert(signed.entry.epoch, signed);
        if self.board.len() > KEPT {
            self.board.pop_first();
        }
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
                if let Some(row) = self.desk.rows.get(&(number, slot)) {
                    effects.send(from, &Message::Row(number, slot, row.to_bytes().into()));
                }
            }
            Message::AskState(commits) if self.catching.serves(from, OF_STATE) => {
                if let Some(bytes) = self.catching.states.get(&commits) {
                    effects.send(from, &Message::State(commits, Bytes::copy_from_slice(bytes)));
                }
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
