//! The state machine: events in; writes, sends, outputs and faults out. Its parts are what a server
//! is besides: an author, a voter, one that signs checkpoints, catches up, and is readmitted.

mod author;
mod checkpoints;
mod readmission;
mod sync;
mod voter;

use std::collections::{BTreeMap, BTreeSet};

use ostrakon_crypto::Digest;
use ostrakon_party::{PartyId, PartySet, wire};

use crate::block::{Certificate, CheckedBlock, Reference, Slot, Vote};
use crate::fault::Fault;
use crate::keys::Keys;
use crate::params::{Params, Round, WINDOW, coin_of};

use self::author::Author;
use self::readmission::Lost;
use self::sync::Sync;
use super::agreed::{Agreed, Commit, Incarnation, Settled};
use super::checkpoint::Checkpoints;
use super::coins::Coins;
use super::disk::{Disk, Key, Write};
use super::graph::{Graph, Held};
use super::message::Message;
use super::order::next_leaders;
use super::step::{Event, Output, Phase, Refused, Send, Step};

/// One server's end of the ledger.
pub struct Ledger<K> {
    params: Params,
    keys: K,
    me: PartyId,
    phase: Phase,
    graph: Graph,
    /// Blocks that are not certified, or whose references are not here.
    pending: BTreeMap<Slot, CheckedBlock>,
    /// Certificates whose blocks, or what those name, are not here.
    waiting: BTreeMap<Slot, Certificate>,
    /// What this server voted for.
    voted: BTreeMap<Slot, Digest>,
    coins: Coins,
    agreed: Agreed,
    /// Certified blocks with payload that are not ordered yet.
    unordered: BTreeSet<Slot>,
    author: Author,
    incarnation: Incarnation,
    checkpoints: Checkpoints,
    sync: Sync,
    lost: Lost,
    /// Whose faults have been reported with evidence.
    convicted: PartySet,
}

impl<K: Keys> Ledger<K> {
    fn empty(params: Params, keys: K, phase: Phase) -> Self {
        Self {
            me: keys.party(),
            phase,
            graph: Graph::new(params.parties()),
            pending: BTreeMap::new(),
            waiting: BTreeMap::new(),
            voted: BTreeMap::new(),
            coins: Coins::default(),
            agreed: Agreed::new(&params),
            unordered: BTreeSet::new(),
            author: Author::default(),
            incarnation: Incarnation::default(),
            checkpoints: Checkpoints::new(params.parties()),
            sync: Sync::new(params.parties()),
            lost: Lost::default(),
            convicted: PartySet::default(),
            params,
            keys,
        }
    }

    /// A server that is there when the ledger is founded.
    pub fn found(params: Params, keys: K) -> (Self, Step) {
        let mut step = Step::default();
        step.writes.push(Write::Put(Key::Founded, Vec::new()));
        step.outputs.push(Output::Started);
        (Self::empty(params, keys, Phase::Running), step)
    }

    /// A server that starts with what is on its disk. `nonce` is fresh.
    ///
    /// It asks n − t − 1 others what they have heard of it before it says anything of its own. What
    /// was committed since the last checkpoint is committed again.
    pub fn restore(params: Params, keys: K, disk: &Disk, nonce: [u8; 32]) -> (Self, Step) {
        let mut ledger = Self::empty(params, keys, Phase::Starting);
        let mut step = Step::default();
        ledger.sync.nonce = nonce;
        ledger.load(disk);
        // It may have been written, and the application not told.
        if let Some(stable) = &ledger.checkpoints.stable {
            let (commits, state) = (stable.agreed.commits, stable.state);
            step.outputs.push(Output::Adopted { commits, state });
        }
        ledger.advance(&mut step);
        if ledger.lost.asked.is_some() || !disk.0.contains_key(&Key::Founded) {
            ledger.lose(&mut step);
        }
        ledger.start_if_welcome(&mut step);
        ledger.tick(&mut step);
        (ledger, step)
    }

    /// Takes over what is on the disk. What does not decode is as if it were not there: only this
    /// server writes there, so the data are lost then, which the others' welcome shows.
    fn load(&mut self, disk: &Disk) {
        for (key, value) in &disk.0 {
            match *key {
                Key::Founded => {}
                Key::Lost => self.lost.asked = Some(wire::decode(value).unwrap_or_default()),
                Key::Incarnation => self.incarnation = wire::decode(value).unwrap_or_default(),
                Key::Checkpoint => {
                    if let Ok(checkpoint) = wire::decode(value) {
                        self.restore_checkpoint(checkpoint);
                    }
                }
                Key::Record(number) => self.author.load_record(number, value.clone()),
                Key::Block(..) => {
                    let checked = wire::decode(value).ok().and_then(|signed| {
                        CheckedBlock::check(signed, &self.params, &self.keys).ok()
                    });
                    if let Some(block) = checked {
                        self.take_block(block);
                    }
                }
                Key::Voted(round, author) => {
                    if let Ok(digest) = wire::decode(value) {
                        self.voted.insert((round, author), digest);
                    }
                }
                Key::Certificate(round, author) => {
                    if let Ok(certificate) = wire::decode::<Certificate>(value) {
                        self.note_votes(&certificate);
                        self.waiting.insert((round, author), certificate);
                    }
                }
            }
        }
        self.load_own_blocks();
    }

    /// Handles one event.
    pub fn handle(&mut self, event: Event<'_>) -> Step {
        let mut step = Step::default();
        match event {
            Event::Receive(from, bytes) => self.receive(from, bytes, &mut step),
            Event::Tick => self.tick(&mut step),
            Event::State { commits, digest } => self.sign_checkpoint(commits, digest, &mut step),
            Event::Beacon(name) => self.author.owe_beacon(name),
            Event::Readmit(nonce) => self.ask_readmission(nonce, &mut step),
        }
        self.advance(&mut step);
        step
    }

    /// Takes a record that is to come into the order. It is kept until it is ordered; after a loss
    /// of this server's data, or an adopted checkpoint, it may come in twice or not at all.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn propose(&mut self, record: Vec<u8>) -> Result<Step, Refused> {
        let mut step = Step::default();
        self.author.take_record(record, &mut step)?;
        self.advance(&mut step);
        Ok(step)
    }

    /// Whether this server takes part.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The state after the last commit.
    pub fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    /// The highest round of which this server holds a certified block, or that was committed.
    pub fn top(&self) -> Round {
        self.graph.top().max(self.agreed.last)
    }

    /// How many blocks and certificates are held in memory, ordered or not.
    pub fn held(&self) -> usize {
        self.graph.above(0).count() + self.pending.len() + self.waiting.len()
    }

    /// Whether this server still has something to say or to see ordered.
    pub fn is_busy(&self) -> bool {
        self.author.is_in_flight() || self.owes_block()
    }

    fn receive(&mut self, from: PartyId, bytes: &[u8], step: &mut Step) {
        if !self.params.has(from) || from == self.me {
            return;
        }
        let Ok(message) = Message::decode(bytes, &self.params) else {
            step.faults.push(Fault::Malformed(from));
            return;
        };
        match message {
            Message::Block(signed) => self.receive_block(from, *signed, step),
            Message::Vote(vote) => self.receive_vote(from, vote, step),
            Message::Certificate(certificate) => {
                self.receive_certificate(from, certificate, step);
            }
            Message::Item(signed, certificate) => {
                self.receive_item(from, *signed, certificate, step);
            }
            Message::Status(status) => self.receive_status(from, &status, step),
            Message::Checkpoint(checkpoint) => self.receive_checkpoint(from, *checkpoint, step),
            Message::Hello(nonce) => self.welcome(from, nonce, step),
            Message::Welcome(welcome) => self.receive_welcome(from, &welcome, step),
            Message::Ask(ask) => self.answer(from, ask, step),
            Message::Answer(answer) => self.receive_answer(from, answer, step),
            Message::Petition(petition) => self.receive_petition(from, &petition),
        }
    }

    /// Does what has become possible, until nothing more is.
    fn advance(&mut self, step: &mut Step) {
        loop {
            let accepted = self.accept(step);
            self.vote(step);
            let committed = self.commit(step);
            let made = self.make_block(step);
            self.stabilise(step);
            if !(accepted || committed || made) {
                return;
            }
        }
    }

    /// Whether a block of `round` is worth keeping: above what was dropped, and not further ahead
    /// than the window.
    fn in_window(&self, round: Round) -> bool {
        round > self.graph.floor() && round <= self.top().saturating_add(WINDOW)
    }

    /// Whether a named block needs no waiting for: it is here, or was ordered, or will never be.
    fn is_settled(&self, reference: &Reference) -> bool {
        self.is_known(reference) || reference.round <= self.agreed.line(&self.params)
    }

    /// Whether a named block is here, or was ordered.
    fn is_known(&self, reference: &Reference) -> bool {
        self.graph.has(reference) || self.agreed.has_ordered(reference)
    }

    /// Moves certified blocks into the graph whose references are settled.
    fn accept(&mut self, step: &mut Step) -> bool {
        let mut any = false;
        let slots: Vec<_> = self.waiting.keys().copied().collect();
        for slot in slots {
            if self.graph.get(slot).is_some() || slot.0 <= self.graph.floor() {
                self.waiting.remove(&slot);
                continue;
            }
            let certificate = &self.waiting[&slot];
            let Some(block) = self.pending.get(&slot) else { continue };
            let right = block.digest() == certificate.block.digest;
            if right && block.block().references().all(|reference| self.is_settled(&reference)) {
                let certificate = self.waiting.remove(&slot).expect("it was just there");
                let block = self.pending.remove(&slot).expect("it was just there");
                self.hold(block, certificate, step);
                any = true;
            }
        }
        any
    }

    fn hold(&mut self, block: CheckedBlock, certificate: Certificate, step: &mut Step) {
        let slot @ (round, author) = block.block().slot();
        step.writes.push(Write::Put(Key::Block(round, author), wire::encode(block.signed())));
        step.writes.push(Write::Put(Key::Certificate(round, author), wire::encode(&certificate)));
        let ordered = self.agreed.has_ordered(&block.reference());
        if block.block().has_payload() && !ordered && round > self.agreed.line(&self.params) {
            self.unordered.insert(slot);
        }
        let current = round >= self.incarnation.from;
        if author == self.me && current && self.voted.get(&slot) != Some(&block.digest()) {
            self.lose(step);
        }
        self.graph.insert(Held { block: block.into(), certificate });
    }

    /// Takes the shares of a checked block and keeps the block; certificates decide between two.
    fn take_block(&mut self, block: CheckedBlock) {
        let (round, author) = block.block().slot();
        if let (Some(leader), Some(share)) = (coin_of(round), block.block().coin)
            && leader > self.agreed.last
        {
            self.coins.add(leader, author, share, &self.params, &self.keys);
        }
        if let Some(signature) = block.block().checkpoint {
            self.checkpoints.note(author, signature);
        }
        self.pending.insert((round, author), block);
    }

    fn commit(&mut self, step: &mut Step) -> bool {
        let leaders = next_leaders(&self.graph, self.agreed.last, &self.params, |round| {
            self.coins.leader(round)
        });
        for leader in &leaders {
            self.commit_leader(leader, step);
        }
        !leaders.is_empty()
    }

    /// Orders what a leader has below it, down to its horizon.
    fn commit_leader(&mut self, leader: &Reference, step: &mut Step) {
        let horizon = leader.round.saturating_sub(self.params.horizon());
        let blocks = self.graph.history(leader, |reference| {
            reference.round <= horizon || self.agreed.has_ordered(reference)
        });
        let settled = self.agreed.commit(leader, &blocks, &self.params);
        self.coins.forget(leader.round);
        for block in &blocks {
            self.unordered.remove(&block.block().slot());
            if block.block().author == self.me {
                self.author.ordered(block.block().round, step);
            }
        }
        let number = self.agreed.commits;
        step.outputs.push(Output::Commit(Commit { number, leader: *leader, blocks }));
        for settled in settled {
            self.settle(settled, step);
        }
        self.expire(step);
        if number.is_multiple_of(self.params.interval()) {
            self.checkpoints.due(self.agreed.clone());
            step.outputs.push(Output::CheckpointDue(number));
        }
    }

    fn settle(&mut self, settled: Settled, step: &mut Step) {
        match settled {
            Settled::Beacon(name, shares) => {
                let label = self.params.beacon_label(&name);
                if let Some(value) = self.keys.combine(&label, &shares) {
                    step.outputs.push(Output::Beacon(name, value));
                }
            }
            Settled::Readmitted(party, incarnation) => {
                step.outputs.push(Output::Readmitted(party, incarnation));
            }
        }
        self.heed_incarnation(step);
    }

    /// Lets go of what no leader to come can order; own payload is proposed anew.
    fn expire(&mut self, step: &mut Step) {
        let line = self.agreed.line(&self.params);
        self.unordered.retain(|(round, _)| *round > line);
        self.pending.retain(|(round, _), _| *round > line);
        self.waiting.retain(|(round, _), _| *round > line);
        self.author.expire(line);
        self.heed_incarnation(step);
    }

    /// Reports a fault that convicts, once for each culprit.
    fn convict(&mut self, fault: Fault, step: &mut Step) {
        if self.convicted.insert(fault.culprit()) {
            step.faults.push(fault);
        }
    }

    fn send(&self, to: PartyId, message: &Message, step: &mut Step) {
        step.sends.push(Send { to, bytes: message.encode().into() });
    }

    fn send_all(&self, message: &Message, step: &mut Step) {
        let bytes: std::sync::Arc<[u8]> = message.encode().into();
        for to in PartySet::all(self.params.parties()).iter().filter(|to| *to != self.me) {
            step.sends.push(Send { to, bytes: bytes.clone() });
        }
    }

    /// This server's vote for a block, which it has written down.
    fn own_vote(&self, block: Reference) -> Vote {
        Vote::sign(&self.params, &self.keys, block)
    }
}
