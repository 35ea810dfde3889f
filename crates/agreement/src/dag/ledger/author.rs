//! A server as an author: what it has to say, and its one block under way (spec 2 and 5).

use std::collections::{BTreeMap, VecDeque};

use ostrakon_crypto::{Digest, Signature};
use ostrakon_party::{PartyId, PartySet, wire};

use crate::block::{Block, Certificate, CheckedBlock, ReadmissionVote, Reference, Vote, genesis};
use crate::fault::Fault;
use crate::keys::Keys;
use crate::params::{
    MAX_BEACONS, MAX_OPEN_BEACONS, MAX_QUEUE, MAX_READMISSIONS, MAX_RECORD, MAX_RECORD_COUNT,
    MAX_RECORDS, PATIENCE, Round, coin_of,
};

use super::Ledger;
use crate::dag::disk::{Key, Write};
use crate::dag::message::Message;
use crate::dag::step::{Phase, Refused, Step};

/// What of an own block is owed again if the block is never ordered.
#[derive(Clone, Debug, Default)]
struct Payload {
    records: Vec<u64>,
    beacons: Vec<Digest>,
    readmissions: Vec<ReadmissionVote>,
}

/// An own block without a certificate.
#[derive(Clone, Debug)]
struct InFlight {
    reference: Reference,
    votes: BTreeMap<PartyId, Signature>,
    ticks: u32,
}

/// What this server has to say.
#[derive(Clone, Debug, Default)]
pub(super) struct Author {
    /// The highest round of an own block.
    pub round: Round,
    in_flight: Option<InFlight>,
    /// Blocks given up since the last certificate: each doubles the time for the next one, or who
    /// is slower than it were never heard.
    given_up: u32,
    /// Records that are not ordered yet, by number.
    records: BTreeMap<u64, Vec<u8>>,
    /// Of these, the ones that are in no live block.
    queue: VecDeque<u64>,
    bytes: usize,
    next: u64,
    beacons: VecDeque<Digest>,
    readmissions: VecDeque<ReadmissionVote>,
    /// Own blocks that may still be ordered.
    live: BTreeMap<Round, Payload>,
    /// The checkpoint whose signature was last put into a block.
    pub checkpoint: u64,
}

impl Author {
    pub fn take_record(&mut self, record: Vec<u8>, step: &mut Step) -> Result<(), Refused> {
        if record.len() > MAX_RECORD {
            return Err(Refused::TooLong);
        }
        if self.bytes + record.len() > MAX_QUEUE || self.records.len() >= MAX_QUEUE / 16 {
            return Err(Refused::Full);
        }
        step.writes.push(Write::Put(Key::Record(self.next), record.clone()));
        self.load_record(self.next, record);
        Ok(())
    }

    pub fn load_record(&mut self, number: u64, record: Vec<u8>) {
        self.bytes += record.len();
        self.records.insert(number, record);
        self.queue.push_back(number);
        self.next = self.next.max(number + 1);
    }

    /// Owes the share of a beacon; one that is owed or under way already is not owed twice.
    pub fn owe_beacon(&mut self, name: Digest) {
        let under_way = self.live.values().any(|payload| payload.beacons.contains(&name));
        if self.beacons.len() < MAX_OPEN_BEACONS && !under_way && !self.beacons.contains(&name) {
            self.beacons.push_back(name);
        }
    }

    /// Owes a vote to readmit a server, instead of an earlier one for it.
    pub fn owe_readmission(&mut self, vote: ReadmissionVote) {
        let under_way = self.live.values().any(|payload| payload.readmissions.contains(&vote));
        self.readmissions.retain(|other| other.party != vote.party);
        if !under_way {
            self.readmissions.push_back(vote);
        }
    }

    pub fn is_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }

    /// Whether anything waits for an own block.
    fn has_payload(&self) -> bool {
        !(self.queue.is_empty() && self.beacons.is_empty() && self.readmissions.is_empty())
    }

    /// An own block was ordered.
    pub fn ordered(&mut self, round: Round, step: &mut Step) {
        for number in self.live.remove(&round).unwrap_or_default().records {
            if let Some(record) = self.records.remove(&number) {
                self.bytes -= record.len();
                step.writes.push(Write::Delete(Key::Record(number)));
            }
        }
    }

    /// Own blocks of `line` and below will not be ordered: what they say is owed again.
    pub fn expire(&mut self, line: Round) {
        let kept = self.live.split_off(&(line + 1));
        for payload in std::mem::replace(&mut self.live, kept).into_values().rev() {
            self.owe_again(payload);
        }
        if self.in_flight.as_ref().is_some_and(|flight| flight.reference.round <= line) {
            self.in_flight = None;
        }
    }

    fn owe_again(&mut self, payload: Payload) {
        for number in payload.records.into_iter().rev() {
            if self.records.contains_key(&number) {
                self.queue.push_front(number);
            }
        }
        self.beacons.extend(payload.beacons);
        self.readmissions.extend(payload.readmissions);
    }

    /// Gives up the block under way. Nobody but its author collects its votes, so it is never
    /// certified.
    pub fn abandon(&mut self) {
        if let Some(flight) = self.in_flight.take()
            && let Some(payload) = self.live.remove(&flight.reference.round)
        {
            self.owe_again(payload);
            self.checkpoint = 0;
        }
    }

    /// What goes into the next block, oldest first.
    fn pack(&mut self) -> Payload {
        let mut payload = Payload::default();
        let mut bytes = 0;
        while let Some(number) = self.queue.front() {
            bytes += self.records[number].len() + 4;
            if bytes > MAX_RECORDS || payload.records.len() == MAX_RECORD_COUNT {
                break;
            }
            payload.records.extend(self.queue.pop_front());
        }
        let beacons = self.beacons.len().min(MAX_BEACONS);
        payload.beacons = self.beacons.drain(..beacons).collect();
        let readmissions = self.readmissions.len().min(MAX_READMISSIONS);
        payload.readmissions = self.readmissions.drain(..readmissions).collect();
        payload
    }

    /// Finds the records of a block from the disk in the queue.
    fn unpack(&mut self, block: &Block) -> Payload {
        let mut payload = Payload {
            records: Vec::new(),
            beacons: block.beacons.iter().map(|(name, _)| *name).collect(),
            readmissions: block.readmissions.clone(),
        };
        for record in &block.records {
            let same = |number: &u64| self.records[number] == *record;
            if let Some(at) = self.queue.iter().position(same) {
                payload.records.extend(self.queue.remove(at));
            }
        }
        payload
    }
}

impl<K: Keys> Ledger<K> {
    /// Whether this server must make blocks (spec 5): while something of its own or something that
    /// it holds is not ordered, while its coin share may be what another lacks, while a checkpoint
    /// signature is owed, and until a server that was readmitted can take part. Besides, it fills
    /// every round that anybody has begun: who has something to say needs q blocks of the round
    /// before, and those who have nothing to say might not make them.
    pub(super) fn owes_block(&self) -> bool {
        let returning = self.agreed.incarnations.iter().map(|i| i.from).max().unwrap_or(0);
        self.phase == Phase::Running
            && (self.author.has_payload()
                || !self.unordered.is_empty()
                || (self.agreed.last > 0 && self.author.round < self.agreed.last + 2)
                || self.author.round < self.graph.top()
                || self.owes_signature()
                || self.graph.highest_with(self.params.quorum()) + 1 < returning)
    }

    fn owes_signature(&self) -> bool {
        self.checkpoints.signed() > self.author.checkpoint
    }

    /// The highest round in which an own block is possible now.
    fn next_round(&self) -> Option<Round> {
        let round = self.graph.highest_with(self.params.quorum()) + 1;
        let reached = round > self.author.round && round > self.graph.floor();
        (reached && round >= self.incarnation.from).then_some(round)
    }

    /// Makes the next block, if one is owed and possible and none is under way.
    pub(super) fn make_block(&mut self, step: &mut Step) -> bool {
        if self.author.is_in_flight() || !self.owes_block() {
            return false;
        }
        let Some(round) = self.next_round() else { return false };
        let payload = self.author.pack();
        let block = self.compose(round, &payload);
        let signed = block.sign(&self.params, &self.keys);
        let Ok(block) = CheckedBlock::check(signed, &self.params, &self.keys) else {
            unreachable!("an own block has the form that is checked");
        };
        self.author.checkpoint = self.checkpoints.signed();
        self.author.live.insert(round, payload);
        let message = Message::Block(Box::new(block.signed().clone()));
        self.launch(block);
        self.write_vote((round, self.me), step);
        self.send_all(&message, step);
        self.certify(step);
        true
    }

    fn compose(&self, round: Round, payload: &Payload) -> Block {
        let parents: Vec<_> = if round == 1 {
            genesis(&self.params)
        } else {
            let held = self.graph.round(round - 1).map(|held| held.block.reference());
            held.map(|reference| (reference.author, reference.digest)).collect()
        };
        let named = |author: PartyId| parents.iter().any(|(other, _)| *other == author);
        let others = PartySet::all(self.params.parties()).iter().filter(|author| !named(*author));
        let older = others
            .filter_map(|author| self.newest_below(author, round))
            .filter(|older| round - older.round < self.params.horizon())
            .collect();
        let share = |label| self.keys.share(&label);
        Block {
            incarnation: self.incarnation.number,
            author: self.me,
            round,
            older,
            records: payload.records.iter().map(|i| self.author.records[i].clone()).collect(),
            coin: coin_of(round).and_then(|leader| share(self.params.coin_label(leader))),
            beacons: payload
                .beacons
                .iter()
                .filter_map(|name| Some((*name, share(self.params.beacon_label(name))?)))
                .collect(),
            checkpoint: self.checkpoints.newest_signature().filter(|_| self.owes_signature()),
            readmissions: payload.readmissions.clone(),
            parents,
        }
    }

    /// The newest certified block of an author of a round before the parents'.
    fn newest_below(&self, author: PartyId, round: Round) -> Option<Reference> {
        let newest = self.graph.newest(author)?;
        if newest.round + 1 < round {
            return Some(newest);
        }
        let lowest = round.saturating_sub(self.params.horizon());
        let rounds = (lowest + 1..round.saturating_sub(1)).rev();
        let mut held = rounds.filter_map(|round| self.graph.get((round, author)));
        held.next().map(|held| held.block.reference())
    }

    /// Puts a written own block under way, with the own vote.
    fn launch(&mut self, block: CheckedBlock) {
        let reference = block.reference();
        let own = self.own_vote(reference);
        self.author.round = self.author.round.max(reference.round);
        let votes = [(self.me, own.signature)].into();
        self.author.in_flight = Some(InFlight { reference, votes, ticks: 0 });
        self.take_block(block);
    }

    pub(super) fn receive_vote(&mut self, from: PartyId, vote: Vote, step: &mut Step) {
        if vote.voter != from || !vote.verifies(&self.params, &self.keys) {
            step.faults.push(Fault::Malformed(from));
            return;
        }
        if vote.block.author != self.me {
            step.faults.push(Fault::Malformed(from));
            return;
        }
        self.sync.note_vote(vote);
        let Some(flight) = &mut self.author.in_flight else { return };
        if flight.reference == vote.block {
            flight.votes.insert(vote.voter, vote.signature);
            self.certify(step);
        } else if flight.reference.round == vote.block.round
            && let Some(signature) = flight.votes.get(&from)
        {
            let first = Vote { voter: from, block: flight.reference, signature: *signature };
            self.convict(Fault::TwoVotes(first, vote), step);
        }
    }

    /// Makes the certificate of the block under way, once q servers voted for it.
    fn certify(&mut self, step: &mut Step) {
        let quorum = self.params.quorum();
        let Some(flight) = self.author.in_flight.take_if(|flight| flight.votes.len() >= quorum)
        else {
            return;
        };
        self.author.given_up = 0;
        let votes = flight.votes.into_iter().take(quorum).collect();
        let certificate = Certificate { block: flight.reference, votes };
        let slot @ (round, author) = flight.reference.slot();
        let bytes = wire::encode(&certificate);
        step.writes.push(Write::Put(Key::Certificate(round, author), bytes));
        self.send_all(&Message::Certificate(certificate.clone()), step);
        self.note_votes(&certificate);
        self.waiting.insert(slot, certificate);
    }

    /// Says the block under way again to who has not voted, or gives it up for a later round.
    pub(super) fn pace_author(&mut self, step: &mut Step) {
        let later = self.next_round().is_some();
        let Some(flight) = &mut self.author.in_flight else { return };
        flight.ticks += 1;
        let patience = PATIENCE.saturating_mul(1 << self.author.given_up.min(24));
        if flight.ticks >= patience && later {
            self.author.given_up += 1;
            self.author.abandon();
            return;
        }
        let silent: Vec<_> = PartySet::all(self.params.parties())
            .iter()
            .filter(|party| !flight.votes.contains_key(party))
            .collect();
        let slot = flight.reference.slot();
        let Some(block) = self.pending.get(&slot) else { return };
        let message = Message::Block(Box::new(block.signed().clone()));
        for party in silent {
            self.send(party, &message, step);
        }
    }

    /// Own blocks from the disk: the newest is under way if it is not certified, an earlier one
    /// without a certificate was given up.
    pub(super) fn load_own_blocks(&mut self) {
        // A block without the vote was not sent: the server stopped between the two writes.
        self.pending.retain(|slot, block| {
            slot.1 != self.me || self.voted.get(slot) == Some(&block.digest())
        });
        let own = self.pending.values().filter(|block| block.block().author == self.me);
        let own: Vec<_> = own.cloned().collect();
        let newest = own.last().map_or(0, |block| block.block().round);
        self.author.round = newest.max(self.graph.floor());
        for block in own {
            let reference = block.reference();
            let certified = self.waiting.contains_key(&reference.slot());
            if self.agreed.has_ordered(&reference) || !(certified || reference.round == newest) {
                continue;
            }
            let payload = self.author.unpack(block.block());
            self.author.live.insert(reference.round, payload);
            if !certified {
                self.launch(block);
            }
        }
    }
}
