//! Participants: places, mask shares, rows, and when an epoch closes (spec V4 and V5).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ostrakon_agreement::Keys;
use ostrakon_crypto::VerifyingKey;
use ostrakon_robust::client::Submission;
use ostrakon_robust::message::bytes_of;
use rand_core::Rng;

use crate::board::{SignedEntry, in_statement};
use crate::disk::{Disk, Key, Write};
use crate::message::{Request, ToClient, ToServer, about_masks, seal_masks};
use crate::word::{Assignment, Declaration, MAX_ASSIGNED, MAX_DECLARED, Word};

use super::{Effects, Service};

/// So many times longer than usual an epoch waits for the minimum of rows.
const MINIMUM_WAIT: u32 = 8;
/// Own words about places that are not ordered at most.
const ASSIGNING: usize = 4;

/// What this server has of participants.
pub(super) struct Collected {
    /// Who asked this server for a place in the epoch that collects, and has had no answer in the
    /// order.
    asked: BTreeSet<[u8; 32]>,
    /// Of these, the ones for whom no word has been said.
    waiting: VecDeque<Assignment>,
    /// Own words about places that are not ordered.
    assigning: usize,
    /// Rows that are written down, by epoch and slot.
    pub rows: BTreeMap<(u64, u32), Submission>,
    /// Rows that are declared in this life.
    declared: BTreeSet<(u64, u32)>,
    undeclared: BTreeSet<(u64, u32)>,
    /// The epoch that collects, and for how many ticks it has had rows.
    age: (Option<u64>, u32),
}

impl Collected {
    pub fn load(disk: &Disk) -> Self {
        let row = |(key, value): (&Key, &Vec<u8>)| match key {
            Key::Row(epoch, slot) => {
                let elements = value.len().checked_sub(64)? / 8;
                Some(((*epoch, *slot), Submission::from_bytes(value, elements)?))
            }
            _ => None,
        };
        let rows: BTreeMap<_, _> = disk.0.iter().filter_map(row).collect();
        Self {
            asked: BTreeSet::new(),
            waiting: VecDeque::new(),
            assigning: 0,
            undeclared: rows.keys().copied().collect(),
            declared: BTreeSet::new(),
            rows,
            age: (None, 0),
        }
    }

    /// Counts for how long the epoch that collects has had rows: who comes first does not find it
    /// over.
    pub fn tick(&mut self, collecting: Option<u64>, has_rows: bool) {
        if self.age.0 == collecting {
            self.age.1 = self.age.1.saturating_add(has_rows.into());
        } else {
            self.age = (collecting, 0);
            self.forget_requests();
        }
    }

    /// Forgets who asked for a place: whoever still wants one asks again.
    pub fn forget_requests(&mut self) {
        self.asked.clear();
        self.waiting.clear();
        self.assigning = 0;
    }

    /// An own word about places has been ordered.
    pub fn ordered(&mut self, assigned: &[Assignment]) {
        self.assigning = self.assigning.saturating_sub(1);
        for assignment in assigned {
            self.asked.remove(&assignment.client.0);
        }
    }
}

impl Collected {
    /// For how many ticks an epoch has had rows.
    pub fn age_of(&self, number: u64) -> u32 {
        let (of, ticks) = self.age;
        if of == Some(number) { ticks } else { 0 }
    }

    /// Forgets what was said of epochs up to this one.
    pub fn forget_through(&mut self, number: u64) {
        self.declared.retain(|(epoch, _)| *epoch > number);
        self.undeclared.retain(|(epoch, _)| *epoch > number);
    }
}

impl<K: Keys> Service<K> {
    /// Answers a participant.
    pub(super) fn serve(&mut self, message: ToServer, effects: &mut Effects) {
        if !self.runs() {
            return;
        }
        match message {
            ToServer::Hello(client) => {
                let now = self.state.collecting().map(|(number, _)| number);
                effects.replies.push((client, ToClient::Now(now)));
            }
            ToServer::Request(request) => self.request(&request, effects),
            ToServer::Submit { client, epoch, slot, submission } => {
                self.submit((epoch, slot), &client, &submission, effects);
            }
        }
    }

    fn request(&mut self, request: &Request, effects: &mut Effects) {
        if !request.verifies(&self.room) {
            return;
        }
        let client = request.client;
        if let Some(entry) = self.catching.board.get(&request.epoch) {
            effects.replies.push((client, ToClient::Entry(SignedEntry::clone(entry))));
            return;
        }
        let Some(epoch) = self.state.epochs.get(&request.epoch) else {
            let now = self.state.collecting().map(|(number, _)| number);
            effects.replies.push((client, ToClient::Now(now)));
            return;
        };
        match epoch.slot_of(&client) {
            Some(slot) => {
                let place = epoch.place(slot);
                if place.is_some_and(|place| epoch.evens_out(&self.room, place, self.me)) {
                    self.ask_place(request);
                }
                self.give_masks(request, slot, effects);
                self.show_in(request.epoch, slot, effects);
            }
            None if epoch.collects() => self.ask_place(request),
            None => {
                let now = self.state.collecting().map(|(number, _)| number);
                effects.replies.push((client, ToClient::Now(now)));
            }
        }
    }

    /// Remembers who asks this home for a place. Bounded by what a home may still give out, whether
    /// a word about them has been said or not; whoever comes later is told nothing, and asks
    /// another home. Who has got a place elsewhere meanwhile takes none of them.
    fn ask_place(&mut self, request: &Request) {
        let Some(epoch) = self.state.epochs.get(&request.epoch).filter(|epoch| epoch.collects())
        else {
            return;
        };
        let room = self.room.quota().saturating_sub(epoch.of_home(self.me));
        let admitted = self.room.admits(&request.client);
        let mine = request.home == self.me && self.collected.asked.len() < room && admitted;
        if mine && self.collected.asked.insert(request.client.0) {
            self.collected.waiting.push_back(request.assignment());
            self.stirred = true;
        }
    }

    /// Gives a slot's owner this server's shares of the slot's masks. The assignment is committed,
    /// hence written down, and one slot of one batch is assigned to one key for ever.
    fn give_masks(&mut self, request: &Request, slot: u32, effects: &mut Effects) {
        let Some(epoch) = self.state.epochs.get(&request.epoch) else { return };
        // Who has handed in needs no masks.
        let late = epoch.is_sealed() || self.collected.rows.contains_key(&(request.epoch, slot));
        let batch = epoch.batch;
        let Some(checked) = self.stock.get(&batch).filter(|_| !late) else { return };
        let Ok(at) = usize::try_from(slot) else { return };
        let mut shares = bytes_of(&checked.stock().masks(at));
        let mut about = about_masks(&self.room.digest(), self.me, (request.epoch, slot, batch));
        let mut randomness = [0; 32];
        self.rng.fill_bytes(&mut randomness);
        let sealed = seal_masks(&mut about, &request.exchange, &shares, randomness);
        zeroize::Zeroize::zeroize(&mut shares);
        let masks = ToClient::Masks { epoch: request.epoch, slot, batch, sealed };
        effects.replies.push((request.client, masks));
    }

    /// Signs that a row is in, if the committed state has t + 1 declarations of it.
    fn show_in(&self, number: u64, slot: u32, effects: &mut Effects) {
        let Some(epoch) = self.state.epochs.get(&number) else { return };
        let Some(place) = epoch.place(slot) else { return };
        let row = match &epoch.seal {
            None => place.agreed(self.room.trust().believed()),
            Some(seal) => usize::try_from(slot).ok().and_then(|at| *seal.rows.get(at)?),
        };
        if let Some(row) = row {
            let statement = in_statement(&self.room.digest(), number, slot, &row);
            let signature = self.signing.sign(&statement);
            let shown = ToClient::In { epoch: number, slot, row, signature };
            effects.replies.push((place.client, shown));
        }
    }

    /// Takes a row: the first one of its slot, while the epoch collects.
    fn submit(
        &mut self,
        at: (u64, u32),
        client: &VerifyingKey,
        bytes: &[u8],
        effects: &mut Effects,
    ) {
        let (number, slot) = at;
        let Some(epoch) = self.state.epochs.get(&number) else { return };
        let owner = epoch.place(slot).is_some_and(|place| place.client == *client);
        if !owner || !epoch.collects() || self.collected.rows.contains_key(&at) {
            return;
        }
        let Some(submission) = Submission::from_bytes(bytes, self.room.width()) else { return };
        let place = epoch.place_in(&self.room, number, slot);
        if !place.vouches(client, &submission) {
            return;
        }
        effects.writes.push(Write::Put(Key::Row(number, slot), submission.to_bytes()));
        self.collected.rows.insert(at, submission);
        self.collected.undeclared.insert(at);
        self.stirred = true;
    }

    /// Says what participants want said, and votes to close, and ends the own list.
    pub(super) fn collect(&mut self) {
        self.declare_rows();
        if let Some((number, epoch)) = self.state.collecting() {
            let age = self.collected.age_of(number);
            let usual = self.room.shape().ticks;
            // Too few would be told so, at the price of a batch: they wait for company first.
            let due = age >= usual && epoch.has_minimum(&self.room)
                || age >= usual.saturating_mul(MINIMUM_WAIT) && epoch.has_rows(&self.room)
                || epoch.is_full(&self.room);
            if due && !epoch.has_voted(self.me) {
                self.say_once("close", number, Word::Close(number));
            }
        }
        self.end_lists();
        self.assign_waiting();
    }

    /// Says who asks for places, many in one word, and few words at a time: what the protocol needs
    /// said does not stand in line behind what participants ask.
    fn assign_waiting(&mut self) {
        let Some((number, _)) = self.state.collecting() else { return };
        while self.collected.assigning < ASSIGNING && !self.collected.waiting.is_empty() {
            let count = self.collected.waiting.len().min(MAX_ASSIGNED);
            let assigned = self.collected.waiting.drain(..count).collect();
            self.backlog.push_back(Word::Assign(number, assigned));
            self.collected.assigning += 1;
        }
    }

    fn declare_rows(&mut self) {
        let mut by_epoch: BTreeMap<u64, Vec<Declaration>> = BTreeMap::new();
        for at @ (number, slot) in std::mem::take(&mut self.collected.undeclared) {
            let Some(epoch) = self.state.epochs.get(&number) else {
                // The epoch may be one that this server has not come to yet.
                if number >= self.state.next {
                    self.collected.undeclared.insert(at);
                }
                continue;
            };
            let Some(place) = epoch.place(slot) else {
                self.collected.undeclared.insert(at);
                continue;
            };
            let done = epoch.is_sealed() || place.is_declared_by(self.me);
            let fresh = !done && self.collected.declared.insert(at);
            if let Some(row) = self.collected.rows.get(&at).filter(|_| fresh) {
                let declaration = Declaration { slot, row: row.row(), signature: row.signature };
                by_epoch.entry(number).or_default().push(declaration);
            }
        }
        for (number, declarations) in by_epoch {
            for part in declarations.chunks(MAX_DECLARED) {
                self.backlog.push_back(Word::Declare(number, part.to_vec()));
            }
        }
    }

    /// In epochs that are closed: everything of this server is declared, so its list ends.
    fn end_lists(&mut self) {
        let ending = self.state.epochs.iter().filter(|(_, epoch)| {
            !epoch.collects() && !epoch.is_sealed() && !epoch.is_final(self.me)
        });
        let ending: Vec<u64> = ending.map(|(number, _)| *number).collect();
        for number in ending {
            self.say_once("final", number, Word::Final(number));
        }
    }
}
