//! A server as a voter: it checks, writes down, then signs (spec 2).

use ostrakon_party::{PartyId, wire};

use crate::block::{BadBlock, Block, Certificate, CheckedBlock, SignedBlock, Slot, Vote};
use crate::fault::Fault;
use crate::keys::Keys;

use super::Ledger;
use crate::dag::disk::{Key, Write};
use crate::dag::message::Message;
use crate::dag::step::{Phase, Step};

impl<K: Keys> Ledger<K> {
    /// Keeps a block that its author sent, if it is the first one in its place.
    pub(super) fn receive_block(&mut self, from: PartyId, signed: SignedBlock, step: &mut Step) {
        let slot = signed.block.slot();
        if signed.block.author != from {
            step.faults.push(Fault::Malformed(from));
            return;
        }
        if !self.in_window(slot.0) || self.is_told_again(&signed, slot, step) {
            return;
        }
        let Some(block) = self.check_block(from, signed, step) else { return };
        let here = self.pending.get(&slot).or_else(|| Some(&*self.graph.get(slot)?.block));
        match here.map(CheckedBlock::signed) {
            None => self.take_block(block),
            Some(here) => {
                let fault = Fault::TwoBlocks(here.header(), block.signed().header());
                self.convict(fault, step);
            }
        }
    }

    /// Answers a block that is here already with the vote that it had.
    fn is_told_again(&self, signed: &SignedBlock, slot: Slot, step: &mut Step) -> bool {
        let held = self.graph.get(slot).map(|held| &*held.block);
        let Some(here) = held.or_else(|| self.pending.get(&slot)) else { return false };
        if here.signed() != signed {
            return false;
        }
        if self.phase == Phase::Running && self.voted.get(&slot) == Some(&here.digest()) {
            let vote = self.own_vote(here.reference());
            self.send(slot.1, &Message::Vote(vote), step);
        }
        true
    }

    fn check_block(
        &mut self,
        from: PartyId,
        signed: SignedBlock,
        step: &mut Step,
    ) -> Option<CheckedBlock> {
        match CheckedBlock::check(signed.clone(), &self.params, &self.keys) {
            Ok(block) => Some(block),
            Err(BadBlock::Malformed) => {
                step.faults.push(Fault::Malformed(from));
                None
            }
            Err(BadBlock::Share) => {
                self.convict(Fault::Share(Box::new(signed)), step);
                None
            }
        }
    }

    pub(super) fn receive_certificate(
        &mut self,
        from: PartyId,
        certificate: Certificate,
        step: &mut Step,
    ) -> bool {
        let slot = certificate.block.slot();
        let here = self.waiting.get(&slot).or_else(|| Some(&self.graph.get(slot)?.certificate));
        if here.is_some_and(|here| here.block == certificate.block) {
            return true;
        }
        if !self.in_window(slot.0) {
            return false;
        }
        if !certificate.verifies(&self.params, &self.keys) {
            step.faults.push(Fault::Malformed(from));
            return false;
        }
        if let Some(here) = here.cloned() {
            // More servers than the ledger bears are corrupt; at least they are known now.
            self.convict_double_voters(&here, &certificate, step);
            return false;
        }
        self.note_votes(&certificate);
        self.waiting.insert(slot, certificate);
        true
    }

    fn convict_double_voters(&mut self, a: &Certificate, b: &Certificate, step: &mut Step) {
        for (voter, signature) in &a.votes {
            if let Ok(at) = b.votes.binary_search_by_key(voter, |vote| vote.0) {
                let first = Vote { voter: *voter, block: a.block, signature: *signature };
                let second = Vote { voter: *voter, block: b.block, signature: b.votes[at].1 };
                self.convict(Fault::TwoVotes(first, second), step);
            }
        }
    }

    /// A block with its certificate, from anybody: the certificate decides which block it is.
    pub(super) fn receive_item(
        &mut self,
        from: PartyId,
        signed: SignedBlock,
        certificate: Certificate,
        step: &mut Step,
    ) {
        let slot = signed.block.slot();
        let digest = certificate.block.digest;
        if certificate.block.slot() != slot {
            step.faults.push(Fault::Malformed(from));
            return;
        }
        if self.graph.get(slot).is_some()
            || !self.receive_certificate(from, certificate, step)
            || self.pending.get(&slot).is_some_and(|here| here.digest() == digest)
        {
            return;
        }
        let Some(block) = self.check_block(from, signed, step) else { return };
        if block.digest() != digest {
            step.faults.push(Fault::Malformed(from));
            return;
        }
        if let Some(here) = self.pending.get(&slot) {
            let fault = Fault::TwoBlocks(here.signed().header(), block.signed().header());
            self.convict(fault, step);
        }
        self.take_block(block);
    }

    /// Votes for every pending block whose references are here.
    pub(super) fn vote(&mut self, step: &mut Step) {
        if self.phase != Phase::Running {
            return;
        }
        let fit = |(slot, block): (&Slot, &CheckedBlock)| {
            let fresh = !self.voted.contains_key(slot) && slot.1 != self.me;
            (fresh && self.may_vote(block.block())).then(|| block.reference())
        };
        let fit: Vec<_> = self.pending.iter().filter_map(fit).collect();
        for reference in fit {
            self.write_vote(reference.slot(), step);
            let vote = self.own_vote(reference);
            self.send(reference.author, &Message::Vote(vote), step);
        }
    }

    /// Whether this server may vote for a block, if it has voted for nothing in its place. It does
    /// not for one that no leader to come orders: its certificate could only stop who is slower.
    fn may_vote(&self, block: &Block) -> bool {
        let incarnation = self.agreed.incarnations[block.author.index()];
        block.round > self.graph.floor().max(self.agreed.line(&self.params))
            && block.round >= self.incarnation.from
            && block.incarnation == incarnation.number
            && block.round >= incarnation.from
            && block.references().all(|reference| self.is_known(&reference))
    }

    /// Writes down which block of a place this server votes for, with the block.
    pub(super) fn write_vote(&mut self, slot: Slot, step: &mut Step) {
        let block = &self.pending[&slot];
        let (round, author) = slot;
        step.writes.push(Write::Put(Key::Block(round, author), wire::encode(block.signed())));
        step.writes.push(Write::Put(Key::Voted(round, author), wire::encode(&block.digest())));
        self.voted.insert(slot, block.digest());
    }
}
