//! Catching up: every tick a server tells how far it is, and is sent what it lacks.

use std::collections::BTreeSet;

use ostrakon_party::{ByParty, PartyId, PartySet};

use crate::block::{Certificate, Slot, Vote};
use crate::fault::Fault;
use crate::keys::Keys;
use crate::params::{MAX_ITEMS, MAX_MISSING, MAX_WELCOME_VOTES, WINDOW};

use super::Ledger;
use crate::dag::message::{Message, Status, Welcome};
use crate::dag::step::{Output, Phase, Step};

/// What is remembered of others between ticks.
#[derive(Clone, Debug)]
pub(super) struct Sync {
    /// Who has been answered since the last tick: nobody makes this server send without end.
    answered: PartySet,
    /// Who has been told what this server has heard of it since then.
    greeted: PartySet,
    /// The newest vote of each server.
    votes: ByParty<Option<Vote>>,
    /// How many leaders each server has said last that it has committed.
    commits: ByParty<Option<u64>>,
    /// The nonce of this start.
    pub nonce: [u8; 32],
    /// Who has told what it heard of this server.
    welcomed: PartySet,
}

impl Sync {
    pub fn new(parties: usize) -> Self {
        Self {
            answered: PartySet::default(),
            greeted: PartySet::default(),
            votes: ByParty::new(parties, |_| None),
            commits: ByParty::new(parties, |_| None),
            nonce: [0; 32],
            welcomed: PartySet::default(),
        }
    }

    /// Remembers a verified vote.
    pub fn note_vote(&mut self, vote: Vote) {
        let newest = &mut self.votes[vote.voter];
        if newest.is_none_or(|newest| newest.block.round <= vote.block.round) {
            *newest = Some(vote);
        }
    }
}

impl<K: Keys> Ledger<K> {
    /// Says again what may have been lost.
    pub(super) fn tick(&mut self, step: &mut Step) {
        self.sync.answered = PartySet::default();
        self.sync.greeted = PartySet::default();
        match self.phase {
            Phase::Starting => self.send_all(&Message::Hello(self.sync.nonce), step),
            Phase::Running => self.pace_author(step),
            Phase::Lost => self.pace_readmission(step),
        }
        self.send_all(&Message::Status(self.status()), step);
    }

    /// Remembers the votes of a verified certificate.
    pub(super) fn note_votes(&mut self, certificate: &Certificate) {
        for (voter, signature) in &certificate.votes {
            let vote = Vote { voter: *voter, block: certificate.block, signature: *signature };
            self.sync.note_vote(vote);
        }
    }

    fn status(&self) -> Status {
        let held = PartySet::all(self.params.parties()).iter().map(|author| {
            let newest = self.graph.newest(author).map_or(0, |newest| newest.round);
            let line = self.agreed.line(&self.params);
            let there = |round| round <= line || self.graph.get((round, author)).is_some();
            let bits = (0..64).filter(|bit| newest.checked_sub(bit + 1).is_none_or(there));
            (newest, bits.map(|bit| 1 << bit).sum())
        });
        Status {
            commits: self.agreed.commits,
            last: self.agreed.last,
            held: held.collect(),
            missing: self.missing(),
        }
    }

    /// Certified blocks that this server knows of and lacks: first what certified blocks need,
    /// which exists, then what others name, which may not.
    fn missing(&self) -> Vec<Slot> {
        let mut certain = BTreeSet::new();
        let mut named = BTreeSet::new();
        for (slot, certificate) in &self.waiting {
            let here = self.pending.get(slot);
            if here.is_none_or(|block| block.digest() != certificate.block.digest) {
                certain.insert(*slot);
            }
        }
        for (slot, block) in &self.pending {
            let lacking = block.block().references().filter(|named| !self.is_settled(named));
            let certified = self.waiting.get(slot).map(|certificate| certificate.block.digest);
            let to = if certified == Some(block.digest()) { &mut certain } else { &mut named };
            to.extend(lacking.map(|reference| reference.slot()));
        }
        let rest = named.difference(&certain);
        certain.iter().chain(rest).take(MAX_MISSING).copied().collect()
    }

    /// How many leaders another server has committed, as it said last: its own word. `None` before
    /// it has said so since this server's start.
    pub fn commits_of(&self, party: PartyId) -> Option<u64> {
        self.sync.commits[party]
    }

    /// Sends what the status shows to be lacking, once a tick.
    pub(super) fn receive_status(&mut self, from: PartyId, status: &Status, step: &mut Step) {
        if !status.is_well_formed(&self.params) {
            step.faults.push(Fault::Malformed(from));
            return;
        }
        self.sync.commits[from] = Some(status.commits);
        if !self.sync.answered.insert(from) {
            return;
        }
        let floor = self.graph.floor();
        if let Some(stable) = &self.checkpoints.stable
            && stable.agreed.commits > status.commits
            && (status.top() <= floor || status.missing.iter().any(|(round, _)| *round <= floor))
        {
            self.send(from, &Message::Checkpoint(Box::new(stable.clone())), step);
        }
        let line = status.last.saturating_sub(self.params.horizon());
        let limit = status.top().saturating_add(WINDOW);
        let named = status.missing.iter().filter_map(|slot| self.graph.get(*slot));
        let lacking = self.graph.above(line).filter(|held| {
            let slot = held.block.block().slot();
            slot.0 <= limit && !status.has(slot) && !status.missing.contains(&slot)
        });
        let items: Vec<_> = named.chain(lacking).take(MAX_ITEMS).collect();
        for held in items {
            let signed = Box::new(held.block.signed().clone());
            self.send(from, &Message::Item(signed, held.certificate.clone()), step);
        }
    }

    /// Tells a server that starts what this one has heard of it, once a tick.
    pub(super) fn welcome(&mut self, from: PartyId, nonce: [u8; 32], step: &mut Step) {
        if !self.sync.greeted.insert(from) {
            return;
        }
        let pending = self.pending.values().rev().find(|block| block.block().author == from);
        let newest = self.graph.newest(from).and_then(|newest| self.graph.get(newest.slot()));
        let blocks = pending.into_iter().chain(newest.map(|held| &*held.block));
        let block = blocks.max_by_key(|block| block.block().round);
        let welcome = Welcome {
            nonce,
            block: block.map(|block| block.signed().header()),
            votes: self.votes_of(from),
        };
        self.send(from, &Message::Welcome(welcome), step);
    }

    /// The newest votes of a server that this one knows of, from certificates and for its own
    /// block.
    fn votes_of(&self, voter: PartyId) -> Vec<Vote> {
        let held = self.graph.above(self.graph.floor()).map(|held| &held.certificate);
        let in_certificate = |certificate: &Certificate| {
            let at = certificate.votes.binary_search_by_key(&voter, |vote| vote.0).ok()?;
            Some(Vote { voter, block: certificate.block, signature: certificate.votes[at].1 })
        };
        let certified = held.chain(self.waiting.values()).filter_map(in_certificate);
        let mut votes: Vec<_> = certified.chain(self.sync.votes[voter]).collect();
        votes.sort_unstable_by_key(|vote| std::cmp::Reverse(vote.block));
        votes.dedup_by_key(|vote| vote.block);
        votes.truncate(MAX_WELCOME_VOTES);
        votes
    }

    /// Hears what another server has heard of this one. What it has signed and does not have on its
    /// disk means that the disk is not the one that it had.
    pub(super) fn receive_welcome(&mut self, from: PartyId, welcome: &Welcome, step: &mut Step) {
        if self.phase != Phase::Starting || welcome.nonce != self.sync.nonce {
            return;
        }
        if welcome.votes.len() > MAX_WELCOME_VOTES {
            step.faults.push(Fault::Malformed(from));
            return;
        }
        let forgotten = |slot: Slot, digest| {
            let current = slot.0 > self.graph.floor() && slot.0 >= self.incarnation.from;
            current && self.voted.get(&slot) != Some(&digest)
        };
        let own_block = welcome.block.is_some_and(|block| {
            let header = block.header;
            header.author == self.me
                && forgotten((header.round, self.me), header.digest)
                && block.verifies(&self.params, &self.keys)
        });
        let own_vote = welcome.votes.iter().any(|vote| {
            vote.voter == self.me
                && forgotten(vote.block.slot(), vote.block.digest)
                && vote.verifies(&self.params, &self.keys)
        });
        if own_block || own_vote {
            self.lose(step);
            return;
        }
        self.sync.welcomed.insert(from);
        self.start_if_welcome(step);
    }

    /// Begins to take part once n − t − 1 others have told nothing that this server does not know:
    /// so many are there whatever the corrupt ones do.
    pub(super) fn start_if_welcome(&mut self, step: &mut Step) {
        let needed = self.params.quorum() - 1;
        if self.phase == Phase::Starting && self.sync.welcomed.len() >= needed {
            self.phase = Phase::Running;
            step.outputs.push(Output::Started);
        }
    }
}
